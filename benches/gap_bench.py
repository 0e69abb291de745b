"""The gap engine at scale: profiles per second, memory, what 1 % new data costs.

Usage: gap_bench.py FIDELAKE FILE [--pairs 10000 100000 1000000] [--calls 6] [--short]
                    [--deepdiff N] [--keep FOLDER]

FILE holds runs of both arms in the native form (plain or .zst); its pairs of answers are
repeated, in order, under new trajectory ids, `--calls` of them in each trajectory, until
there are so many. `--short` cuts every answer to a small object instead (for many pairs).
In one run, for each size:

* `profile`: the whole command with its commits, and its peak memory;
* the gap functions alone: `answer_gap` over the columns that hold canonical values, and
  `json_gap` over the answers as given, less what the scan and the join take;
* the floor: DuckDB scans the same Parquet columns (structured and content) and checks
  every answer with its JSON parser (yyjson), on all cores;
* the rival: pandas + deepdiff, a distance per pair, on `--deepdiff` pairs;
* 1 % more trajectories: import, then `profile` again.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import duckdb
import pandas
import pyarrow
from deltalake import DeltaTable

import profile_bench

JOIN = """
SELECT {what} FROM observations AS a JOIN observations AS b
ON a.trajectory_key = b.trajectory_key AND a.turn = b.turn AND a.index = b.index
WHERE a.arm = 'sim' AND b.arm = 'real'
"""
SIDES = ", ".join(f"{side}.{column}" for side in "ab" for column in ("structured", "content", "structured_rule", "truncated"))


def pairs_of(path: pathlib.Path) -> list[tuple[dict, dict]]:
    """The calls of both arms, side by side."""
    with pyarrow.input_stream(str(path), compression="detect") as stream:
        raw = stream.read()
    arms: dict[str, dict] = {"sim": {}, "real": {}}
    for line in raw.splitlines():
        run = json.loads(line)
        if run.get("repeat", 0) == 0:
            for call in run["calls"]:
                place = (run["trajectory_id"], call["turn"], call["index"])
                arms[run["arm"]][place] = call
    return [(call, arms["real"][place]) for place, call in arms["sim"].items() if place in arms["real"]]


def renumbered(pair: tuple[dict, dict], number: int) -> tuple[dict, dict]:
    """The same pair with other digits, the same ones in both arms: real lakes do not hold
    one answer a thousand times, and what is repeated is unpacked for nothing."""
    digits = list("123456789")
    random.Random(number).shuffle(digits)
    table = str.maketrans("123456789", "".join(digits))

    def other(call: dict) -> dict:
        result = call["result"]
        return {**call, "result": {**result, "content": result["content"].translate(table)}}

    return other(pair[0]), other(pair[1])


def short(pair: tuple[dict, dict], number: int) -> tuple[dict, dict]:
    """The same calls with answers of about a hundred bytes."""

    def cut(call: dict, shift: int) -> dict:
        content = json.dumps({"id": number, "status": "ok", "seats": [number % 7, shift], "name": "a short answer"})
        return {**call, "result": {"content": content}}

    return cut(pair[0], 1), cut(pair[1], 1 + number % 2)


def write(out: pathlib.Path, pairs: list[tuple[dict, dict]], count: int, calls: int, start: int, small: bool) -> int:
    """`count` pairs in trajectories of `calls`; how many trajectories."""
    trajectories = 0
    with out.open("w", encoding="utf-8") as file:
        for first in range(start, start + count, calls):
            chosen = [pairs[n % len(pairs)] for n in range(first, min(first + calls, start + count))]
            change = short if small else renumbered
            chosen = [change(pair, first + n) for n, pair in enumerate(chosen)]
            for arm, name in enumerate(("sim", "real")):
                run = {"fidelake": 1, "trajectory_id": f"t{first}", "environment": "bench", "arm": name}
                run["calls"] = [{**pair[arm], "turn": turn, "index": 0} for turn, pair in enumerate(chosen)]
                file.write(json.dumps(run, ensure_ascii=False) + "\n")
            trajectories += 1
    return trajectories


def run(command: list[str]) -> tuple[float, float, str]:
    """Seconds, peak MiB and output of a command."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{command} failed")
    return time.perf_counter() - start, usage.ru_maxrss / 1024, output


def floor(lake: pathlib.Path) -> float:
    """Seconds to scan the answers and to parse each of them once."""
    files = DeltaTable(lake / "observations").file_uris()
    connection = duckdb.connect()
    names = ", ".join(f"'{file}'" for file in files)
    sql = f"""SELECT count(*) FILTER (WHERE json_valid(structured)), count(*) FILTER (WHERE json_valid(content))
              FROM read_parquet([{names}])"""
    return min(timed(lambda: connection.execute(sql).fetchall()) for _ in range(3))


def timed(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def deepdiff_rate(pairs: list[tuple[dict, dict]], count: int) -> float:
    contents = [[call["result"]["content"] for call in pair] for pair in pairs]
    contents = [contents[n % len(contents)] for n in range(count)]
    frame = pandas.DataFrame(contents, columns=["content_x", "content_y"])
    spent = timed(lambda: frame.apply(lambda row: profile_bench.distance(row.content_x, row.content_y), axis=1))
    return count / spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fidelake")
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--pairs", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--calls", type=int, default=6)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--deepdiff", type=int, default=1000)
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the lakes, instead of a temporary one")
    options = parser.parse_args()
    pairs = pairs_of(options.file)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        rival = deepdiff_rate(pairs, options.deepdiff) if options.deepdiff else None
        if rival:
            print(f"pandas + deepdiff {rival:12,.0f} pairs/s", flush=True)
        for count in options.pairs:
            measure(options, folder, pairs, count, rival)


def measure(options, folder: pathlib.Path, pairs: list, count: int, rival: float | None) -> None:
    def rate(what: str, seconds: float, extra: str = "") -> None:
        times = f"{count / seconds / rival:9,.0f} x" if rival else ""
        print(f"{count:>12,} pairs  {what:22}{count / seconds:12,.0f} pairs/s  {seconds:8.2f} s{times}  {extra}", flush=True)

    source = folder / "runs.jsonl"
    path = folder / f"lake-{count}"
    lake = [options.fidelake, "--lake", str(path), "--quiet"]
    write(source, pairs, count, options.calls, 0, options.short)
    megabytes = source.stat().st_size / 1e6
    seconds, peak, _ = run([*lake, "import", str(source)])
    rate("import", seconds, f"{megabytes / seconds:,.0f} MB/s, peak {peak:,.0f} MiB")
    whole, peak, _ = run([*lake, "profile"])
    rate("profile", whole, f"peak {peak:,.0f} MiB")

    def sql(what: str) -> float:
        query = JOIN.format(what=what)
        return min(run([*lake, "--format", "csv", "sql", query])[0] for _ in range(3))

    # The join of this query holds all answers of one arm in memory.
    if not options.short and count <= 200_000:
        base = sql("sum(length(a.structured) + length(b.structured) + length(a.content) + length(b.content))")
        for name, what in (
            ("answer_gap", f"exact_sum(answer_gap({SIDES})['gap'])"),
            ("json_gap", "exact_sum(json_gap(a.content, b.content))"),
        ):
            alone = sql(f"{what}, sum(length(a.structured) + length(b.structured) + length(a.content) + length(b.content))") - base
            if alone > 0.05:
                rate(name, alone)
    if not options.short:
        low = floor(path)
        rate("floor (DuckDB, yyjson)", low, f"profile takes {whole / low:.2f} x as long")

    more = max(count // 100, 1)
    write(source, pairs, more, options.calls, count, options.short)
    run([*lake, "import", str(source)])
    again, _, _ = run([*lake, "profile"])
    print(f"{count:>12,} pairs  profile after 1 % new: {again:.2f} s, {100 * again / whole:.1f} % of the whole", flush=True)
    source.unlink()


if __name__ == "__main__":
    main()
