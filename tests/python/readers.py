"""Reads the tables of a lake with DuckDB and with Python's deltalake, and compares the rows with those of fidelake.

    python readers.py LAKE TABLE:VERSION:ROWS.jsonl ...

ROWS.jsonl holds what fidelake read: one JSON object per row, times as microseconds since 1970 UTC. Rows have no order:
each table is compared by its number of rows and by the sum of the hashes of its rows. Exits 1 if anything differs.
"""

import hashlib
import json
import os
import sys

import deltalake
import duckdb
import duckdb_extension_delta
import pyarrow as pa


def plain(table: pa.Table) -> list[dict]:
    """Rows as Python values; times as integers, since their zone has several names."""
    columns = {}
    for name, column in zip(table.column_names, table.columns):
        kind = column.type
        if pa.types.is_timestamp(kind):
            column = column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
        elif pa.types.is_dictionary(kind):
            column = column.cast(kind.value_type)
        columns[name] = column.to_pylist()
    names = list(columns)
    return [dict(zip(names, values)) for values in zip(*columns.values())]


def row_text(row: dict) -> str:
    return json.dumps(row, sort_keys=True, ensure_ascii=True)


def summary(rows: list[dict]) -> tuple[int, str]:
    total = 0
    for row in rows:
        total += int.from_bytes(hashlib.sha256(row_text(row).encode()).digest()[:16], "big")
    return len(rows), f"{total % (1 << 128):032x}"


def with_duckdb(lake: str, table: str, version: int) -> list[dict]:
    sql = f"SELECT * FROM delta_scan('{lake}/{table}', version => {version})"
    return plain(duck.sql(sql).to_arrow_table())


def with_deltalake(lake: str, table: str, version: int) -> list[dict]:
    return plain(deltalake.DeltaTable(f"{lake}/{table}", version=version).to_pyarrow_table())


duck = duckdb.connect()
duck.load_extension(f"{duckdb_extension_delta.__path__[0]}/extensions/v{duckdb.__version__}/delta.duckdb_extension")


def main() -> int:
    lake, *tables = sys.argv[1:]
    wrong = 0
    for argument in tables:
        table, version, file = argument.split(":", 2)
        with open(file, encoding="utf-8") as lines:
            wanted = [json.loads(line) for line in lines]
        expected = summary(wanted)
        texts = {row_text(row) for row in wanted}
        for name, read in (("duckdb", with_duckdb), ("deltalake", with_deltalake)):
            rows = read(lake, table, int(version))
            found = summary(rows)
            same = found == expected
            print(f"{table} version {version}: {name} {found[0]} rows {found[1]}, {'same' if same else 'DIFFERENT'}")
            if not same:
                wrong += 1
                print(f"  fidelake {expected[0]} rows {expected[1]}")
                for row in rows:
                    if row_text(row) not in texts:
                        print(f"  {name} has {row_text(row)[:2000]}")
                        print(f"  fidelake has {sorted(texts)[0][:2000] if texts else 'nothing'}")
                        break
    return 1 if wrong else 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    # The threads of the two native libraries end in an order that sometimes aborts a normal exit.
    os._exit(status)
