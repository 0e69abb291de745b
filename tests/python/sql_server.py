"""Real clients of `fidelake serve --pg`: psycopg and ADBC, over every kind of statement.

    python sql_server.py CASE PORT [ARGUMENT]

Ends with 0 if all that is asserted holds.
"""

import sys
import threading
import time

import psycopg

CASE, PORT = sys.argv[1], int(sys.argv[2])
ARGUMENT = sys.argv[3] if len(sys.argv) > 3 else None


def connect(**more):
    options = {"host": "127.0.0.1", "port": PORT, "user": "anybody", "dbname": "lake", "autocommit": True}
    return psycopg.connect(**{**options, **more})


def refused(connection, text, state, says="", parameters=None):
    """The statement fails with a state of PostgreSQL, and the connection goes on."""
    try:
        connection.execute(text, parameters).fetchall()
    except psycopg.Error as error:
        assert error.sqlstate == state, f"{text}: {error.sqlstate} {error}"
        assert says in str(error), f"{text}: {error}"
    else:
        raise AssertionError(f"not refused: {text}")
    assert connection.execute("SELECT 1").fetchone() == (1,)


def reading():
    with connect() as c:
        calls = c.execute("SELECT count(*) FROM calls").fetchone()[0]
        assert calls == int(ARGUMENT), calls
        # Parameters, in both formats and prepared by the server.
        text = "SELECT call_name, turn FROM calls WHERE turn >= %s AND call_name <> %s ORDER BY call_id, arm, repeat LIMIT 5"
        text = "SELECT name, turn FROM calls WHERE turn >= %s AND name <> %s ORDER BY run_id, turn, \"index\" LIMIT 5"
        plain = c.execute(text, (1, "nothing")).fetchall()
        assert len(plain) == 5 and plain == c.execute(text, (1, "nothing"), binary=True).fetchall()
        for _ in range(7):
            assert c.execute(text, (1, "nothing"), prepare=True).fetchall() == plain
        # Every table and view, every column, both ways.
        names = [row[0] for row in c.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")]
        assert {"calls", "profiles_now", "call_gaps_now"} <= set(names), names
        for name in names:
            rows = c.execute(f"SELECT * FROM {name} LIMIT 200").fetchall()
            with c.cursor(binary=True) as cursor:
                same = cursor.execute(f"SELECT * FROM {name} LIMIT 200").fetchall()
            assert len(rows) == len(same), name
        # Our functions.
        assert c.execute("SELECT json_gap('{\"a\": 1}', '{\"a\": 1.0}')").fetchone()[0] < 1
        assert c.execute("SELECT outcome_of(429, NULL, NULL, NULL) IS NOT NULL").fetchone() is not None
        # Rows as they come, and many at once.
        assert sum(1 for _ in c.cursor().stream("SELECT * FROM calls")) == calls
        with c.cursor().copy("COPY (SELECT name, turn FROM calls) TO STDOUT (FORMAT binary)") as copy:
            copy.set_types(["text", "int4"])
            assert sum(1 for _ in copy.rows()) == calls
        with c.cursor().copy("COPY calls (name) TO STDOUT") as copy:
            assert sum(1 for _ in copy.rows()) == calls
        with c.cursor().copy("COPY (SELECT name AS \"the \"\"name\" FROM calls) TO STDOUT (FORMAT csv, HEADER)") as copy:
            lines = b"".join(bytes(part) for part in copy).decode().splitlines()
        assert lines[0] == '"the ""name"' and len(lines) == calls + 1, lines[:2]
        # A limit holds where the log alone answers, and subqueries mean what they say.
        assert len(c.execute("SELECT environment FROM calls LIMIT 1").fetchall()) == 1
        assert len(c.execute("SELECT 1 FROM calls LIMIT 3 OFFSET 1").fetchall()) == 3
        text = "SELECT t.environment, (SELECT count(*) FROM runs r WHERE r.environment = t.environment) FROM trajectories t"
        assert all(count > 0 for _, count in c.execute(text).fetchall())
        # Several statements at once, and transactions.
        assert c.execute("BEGIN; SELECT 1; COMMIT") is not None
        with c.transaction():
            assert c.execute("SELECT 2").fetchone() == (2,)
    with connect(autocommit=False) as c:
        try:
            c.execute("SELECT no_such_column FROM calls")
            raise AssertionError("not refused")
        except psycopg.errors.UndefinedColumn:
            pass
        try:
            c.execute("SELECT 1")
            raise AssertionError("a failed transaction goes on")
        except psycopg.Error as error:
            assert "aborted" in str(error), error
        c.rollback()
        assert c.execute("SELECT 1").fetchone() == (1,)


def hostile():
    with connect() as c:
        for text in [
            "COPY calls TO '/tmp/fidelake-stolen.csv'",
            "COPY (SELECT 1) TO '/tmp/fidelake-stolen.csv'",
            "COPY (SELECT 1) TO PROGRAM 'touch /tmp/fidelake-stolen.csv'",
            "COPY calls FROM '/etc/passwd'",
            "COPY calls FROM STDIN",
            "CREATE EXTERNAL TABLE stolen STORED AS CSV LOCATION '/etc/passwd'",
            "CREATE TABLE mine AS SELECT 1",
            "CREATE VIEW mine AS SELECT 1",
            "INSERT INTO calls SELECT * FROM calls",
            "UPDATE calls SET name = 'x'",
            "DELETE FROM calls",
            "DROP TABLE calls",
            "DROP VIEW profiles_now",
            "TRUNCATE calls",
            "EXPLAIN ANALYZE INSERT INTO calls SELECT * FROM calls",
            "PREPARE p AS SELECT 1",
            "LOAD 'x'",
            "SELECT * FROM '/etc/passwd'",
            "SELECT * FROM read_csv('/etc/passwd')",
        ]:
            for prepare in [False, True]:
                try:
                    rows = c.execute(text, prepare=prepare).fetchall()
                    raise AssertionError(f"not refused: {text}: {rows}")
                except psycopg.Error as error:
                    assert error.sqlstate[:2] in ("25", "42", "0A", "XX"), f"{text}: {error.sqlstate} {error}"
                assert c.execute("SELECT 1").fetchone() == (1,)
        refused(c, "INSERT INTO calls SELECT * FROM calls", "25006", "only reading")
        refused(c, "SET datafusion.execution.batch_size = 1", "42704", "cannot be set here")
        for text in ["COPY (SELECT 1) TO '/tmp/x'", "COPY (SELECT 1) TO PROGRAM 'id'", "INSERT INTO runs VALUES (1)", "DROP TABLE calls"]:
            refused(c, text, "25006")
        refused(c, "PREPARE p AS SELECT 1", "0A000")
        for value, kept in [("'2 min'", "120000ms"), ("'5s'", "5000ms"), ("DEFAULT", "0")]:
            c.execute(f"SET statement_timeout = {value}")
            assert c.execute("SHOW statement_timeout").fetchone()[0] == kept, value
        for value in ["'abc'", "-5", "'1 fortnight'"]:
            refused(c, f"SET statement_timeout = {value}", "22023", "write milliseconds")
        refused(c, "SHOW nonsense", "42704", "there is no setting nonsense")
        assert c.execute("SHOW timezone").fetchone() == ("UTC",)
        for options, says in [("-c datafusion.execution.batch_size=1", "no setting"), ("-c statement_timeout=abc", "milliseconds")]:
            try:
                connect(options=options).close()
                raise AssertionError(f"let in with {options}")
            except psycopg.OperationalError as error:
                assert says in str(error), error
        with connect(options="-c statement_timeout=2000 -c fidelake.lake_version=1") as other:
            assert other.execute("SHOW statement_timeout").fetchone()[0] == "2000ms"
            assert other.execute("SHOW fidelake.lake_version").fetchone()[0] == "1"
        refused(c, "SET client_encoding = 'LATIN1'", "22023", "UTF8 only")
        # Nothing of a client is another's.
        with connect() as other:
            c.execute("SET statement_timeout = 5000")
            assert other.execute("SHOW statement_timeout").fetchone()[0] == "0"
        # Products.
        started = time.time()
        big = "SELECT count(*) FROM generate_series(1, 1000000) AS a, generate_series(1, 1000000) AS b"
        refused(c, big, "54001", "without an equality")
        unequal = "SELECT count(*) FROM generate_series(1, 1000000) AS a(x) JOIN generate_series(1, 1000000) AS b(y) ON a.x < b.y"
        refused(c, unequal, "54001", "without an equality")
        assert time.time() - started < 20
        # Depth.
        deep = [
            "SELECT " + "(" * 20000 + "1" + ")" * 20000,
            "SELECT " + "+".join(["1"] * 100000),
            "SELECT 1 WHERE " + " OR ".join(["1=1"] * 30000),
            "SELECT " + "-" * 1 + "(-" * 5000 + "1" + ")" * 5000,
            "SELECT * FROM " + "(SELECT * FROM " * 3000 + "calls" + ") AS x" * 3000,
            "SELECT 1" + " UNION ALL SELECT 1" * 10000,
            "SELECT " + "ARRAY[" * 60 + "1" + "]" * 60,
            "SELECT " + "ARRAY[" * 8 + "1 1" + "]" * 8,
            "SELECT " + "ARRAY[(" * 30 + "1" + ")]" * 30,
            "SELECT " + "ARRAY[" * 5000 + "1" + "]" * 5000,
            "SELECT " + "CASE WHEN true THEN " * 5000 + "1" + " END" * 5000,
            "SELECT '" + "x" * (2 << 20) + "'",
            "SELECT " + "+".join(["1"] * 4900),
            "SELECT 1 WHERE " + " OR ".join(["1=1"] * 2400),
            "SELECT 1" + " UNION ALL SELECT 1" * 2400,
            "SELECT " + "NOT " * 9000 + "true",
            "SELECT 1 WHERE 1 IN (" + ",".join(["1"] * 100000) + ")",
        ]
        for text in deep:
            started = time.time()
            try:
                with connect() as d:
                    d.execute(text).fetchall()
            except psycopg.Error as error:
                assert error.sqlstate, f"{text[:60]}: {error}"
            assert time.time() - started < 30, text[:60]
            assert c.execute("SELECT 1").fetchone() == (1,), text[:60]
        # Memory.
        try:
            c.execute("SELECT array_agg(a.x || b.x) FROM (SELECT repeat('x', 1000) AS x FROM generate_series(1, 10000)) a, generate_series(1, 1000) AS b(x)").fetchall()
        except psycopg.Error as error:
            assert error.sqlstate in ("53200", "57014", "54001", "XX000"), error
        assert c.execute("SELECT 1").fetchone() == (1,)
    # A message that is too long ends the connection, with a word.
    try:
        with connect() as c:
            c.execute("SELECT '" + "x" * (9 << 20) + "'")
        raise AssertionError("not refused")
    except psycopg.OperationalError:
        pass
    with connect() as c:
        assert c.execute("SELECT 1").fetchone() == (1,)


LONG = "SELECT count(*), sum(a.x * b.x) FROM (SELECT value AS x, value % 2 AS k FROM generate_series(1, 400000)) a JOIN (SELECT value AS x, value % 2 AS k FROM generate_series(1, 400000)) b ON a.k = b.k"


def stopping():
    """`statement_timeout`, cancel, and the server's own limit, against a query that computes without end."""
    with connect() as c:
        c.execute("SET statement_timeout = '700ms'")
        started = time.time()
        refused(c, LONG, "57014", "timeout")
        assert time.time() - started < 10, time.time() - started
        c.execute("SET statement_timeout = 0")
        for _ in range(2):
            timer = threading.Timer(0.7, c.cancel)
            timer.start()
            started = time.time()
            refused(c, LONG, "57014", "user request")
            assert time.time() - started < 10, time.time() - started
        # A cancel that comes too late stops nothing.
        c.cancel()
        time.sleep(0.3)
        assert c.execute("SELECT count(*) > 0 FROM calls").fetchone() == (True,)


def limited():
    """Started with --timeout 2: no client can have more."""
    with connect() as c:
        c.execute("SET statement_timeout = '10min'")
        started = time.time()
        refused(c, LONG, "57014", "timeout")
        assert 1 < time.time() - started < 15, time.time() - started


def pinned():
    """The lake grows meanwhile: ARGUMENT is a file that tells when."""
    import os

    with connect() as c, connect() as other:
        before = c.execute("SELECT count(*) FROM runs").fetchone()[0]
        text = "SELECT count(*) FROM runs WHERE repeat >= %s"
        for _ in range(7):
            assert other.execute(text, (0,), prepare=True).fetchone()[0] == before
        version = c.execute("SHOW fidelake.lake_version").fetchone()[0]
        print(before, flush=True)
        while not os.path.exists(ARGUMENT):
            time.sleep(0.05)
        assert c.execute("SELECT count(*) FROM runs").fetchone()[0] == before
        with connect() as third:
            after = third.execute("SELECT count(*) FROM runs").fetchone()[0]
        assert after > before, (before, after)
        other.execute("SET fidelake.lake_version = 'newest'")
        assert other.execute(text, (0,), prepare=True).fetchone()[0] == after
        assert c.execute("SELECT count(*) FROM runs").fetchone()[0] == before
        other.execute(f"SET fidelake.lake_version = {version}")
        assert other.execute("SELECT count(*) FROM runs").fetchone()[0] == before
        other.execute("DISCARD ALL")
        assert other.execute("SELECT count(*) FROM runs").fetchone()[0] == after
        refused(c, "SET fidelake.lake_version = 999999", "22023", "no lake version 999999")
        refused(c, "SET fidelake.lake_version = 'yesterday'", "22023", "write 'newest'")


def locked():
    """SCRAM over TLS; ARGUMENT is the certificate."""
    good = {"user": "ana:lyst".split(":")[0], "password": "correct horse battery", "sslmode": "verify-ca", "sslrootcert": ARGUMENT}
    with connect(**good) as c:
        assert c.execute("SELECT 1").fetchone() == (1,)
    with connect(**{**good, "channel_binding": "require"}) as c:
        assert c.execute("SELECT 1").fetchone() == (1,)
    for wrong, says in [
        ({"password": "wrong"}, "password authentication failed"),
        ({"password": ""}, "password"),
        ({"user": "nobody"}, "password authentication failed"),
        ({"sslmode": "disable"}, "TLS only"),
    ]:
        try:
            connect(**{**good, **wrong}).close()
            raise AssertionError(f"let in: {wrong}")
        except psycopg.OperationalError as error:
            assert says.lower() in str(error).lower(), f"{wrong}: {error}"


def crowd():
    """ARGUMENT clients ask mixed slices for some seconds; none sees an error."""
    clients, seconds = (int(part) for part in ARGUMENT.split(","))
    texts = [
        "SELECT environment, count(*) FROM calls GROUP BY 1 ORDER BY 1",
        "SELECT api, gap_ratio(weight, obs_raw, obs_reliability) FROM call_gaps_now GROUP BY 1 ORDER BY 2 DESC LIMIT 10",
        "SELECT c.name, o.outcome, count(*) FROM calls c JOIN observations o ON c.run_id = o.run_id AND c.turn = o.turn AND c.\"index\" = o.\"index\" GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 20",
        "SELECT avg(fidelity) FROM profiles_now",
        "SELECT * FROM calls ORDER BY run_id LIMIT 50",
    ]
    until = time.time() + seconds
    done, wrong = [0] * clients, []

    def ask(number):
        try:
            with connect() as c:
                turn = number
                while time.time() < until:
                    c.execute(texts[turn % len(texts)]).fetchall()
                    turn += 1
                    done[number] += 1
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told
            wrong.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{sum(done)} queries of {clients} clients, {len(wrong)} errors")
    assert not wrong and min(done) > 0, (wrong[:3], min(done))


def adbc():
    import adbc_driver_postgresql.dbapi as driver

    with driver.connect(f"postgresql://anybody@127.0.0.1:{PORT}/lake") as c, c.cursor() as cursor:
        cursor.execute("SELECT name, turn, arguments FROM calls")
        table = cursor.fetch_arrow_table()
        assert table.num_rows == int(ARGUMENT) and table.column_names == ["name", "turn", "arguments"], table.schema
        cursor.execute("SELECT count(*) AS n FROM calls WHERE turn >= $1", parameters=(0,))
        assert cursor.fetchone()[0] == int(ARGUMENT)


globals()[CASE]()
