"""Gaps and profiles against pandas + deepdiff: pairs of calls per second, in one run.

Usage: profile_bench.py FIDELAKE FILE [--pairs 100000]

FILE holds runs of both arms in the native form, one answer per call. The script
compares (1) `json_gap` over the pairs inside the engine, (2) the whole command
`fidelake profile` with its commits, (3) pandas + deepdiff computing a distance
per pair. deepdiff is timed on at most 1,000 pairs.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import tempfile
import time

import pandas
from deepdiff import DeepDiff

JOIN = """
SELECT {what} FROM observations AS a JOIN observations AS b
ON a.trajectory_key = b.trajectory_key AND a.turn = b.turn AND a.index = b.index
WHERE a.arm = 'sim' AND b.arm = 'real' AND a.repeat = 0 AND b.repeat = 0
"""


def read(path: pathlib.Path) -> pandas.DataFrame:
    rows = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            run = json.loads(line)
            for call in run["calls"]:
                place = (run["trajectory_id"], call["turn"], call["index"])
                rows.append((*place, run["arm"], run.get("repeat", 0), call["result"]["content"]))
    return pandas.DataFrame(rows, columns=["trajectory", "turn", "index", "arm", "repeat", "content"])


def value(text: str) -> object:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text


def distance(a: str, b: str) -> float:
    left, right = value(a), value(b)
    if left == right:
        return 0.0
    diff = DeepDiff(left, right, get_deep_distance=True, ignore_order=False)
    return float(diff.get("deep_distance", 0.0))


def deepdiff_rate(frame: pandas.DataFrame) -> float:
    first = frame[frame.repeat == 0]
    keys = ["trajectory", "turn", "index"]
    pairs = first[first.arm == "sim"].merge(first[first.arm == "real"], on=keys).head(1000)
    start = time.perf_counter()
    pairs.apply(lambda row: distance(row.content_x, row.content_y), axis=1)
    return len(pairs) / (time.perf_counter() - start)


def timed(command: list[str]) -> tuple[float, str]:
    start = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return time.perf_counter() - start, done.stdout


def multiply(path: pathlib.Path, out: pathlib.Path, pairs: int) -> None:
    """Copies of the runs under new trajectory ids until there are so many pairs."""
    runs = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    written = copy = 0
    with out.open("w", encoding="utf-8") as file:
        while written < pairs:
            for run in runs:
                name = run["trajectory_id"]
                run["trajectory_id"] = f"{name}/copy-{copy}"
                file.write(json.dumps(run, ensure_ascii=False) + "\n")
                run["trajectory_id"] = name
                if run["arm"] == "sim" and run.get("repeat", 0) == 0:
                    written += len(run["calls"])
            copy += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fidelake")
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--pairs", type=int, default=100_000)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        big = pathlib.Path(folder) / "pairs.jsonl"
        multiply(options.file, big, options.pairs)
        rival = deepdiff_rate(read(options.file))
        print(f"pandas + deepdiff          {rival:12,.0f} pairs/s")
        for label, file in (("as given", options.file), (f"{options.pairs:,} pairs", big)):
            lake = ["--lake", f"{folder}/lake-{file.stem}", "--quiet"]
            subprocess.run([options.fidelake, *lake, "import", str(file)], check=True, stdout=subprocess.DEVNULL)

            def sql(what: str) -> tuple[float, str]:
                query = JOIN.format(what=what)
                return timed([options.fidelake, *lake, "--format", "csv", "sql", query])

            gap = "exact_sum(json_gap(a.content, b.content)), count(*)"
            # What the scan and the join alone take is not the function's.
            base = min(sql("sum(length(a.content) + length(b.content)), count(*)")[0] for _ in range(3))
            runs = [sql(gap) for _ in range(3)]
            whole = min(wall for wall, _ in runs)
            count = int(runs[0][1].strip().splitlines()[-1].split(",")[-1])
            profile, _ = timed([options.fidelake, *lake, "profile"])
            alone = whole - base
            # So few pairs drown in the noise of starting a process: no figure then.
            if alone < 0.05:
                print(f"json_gap, {label:15}  too short to time beside the scan")
            else:
                print(f"json_gap, {label:15}  {count / alone:12,.0f} pairs/s  {count / alone / rival:8,.0f} x")
            print(f"profile,  {label:15}  {count / profile:12,.0f} pairs/s  {count / profile / rival:8,.0f} x")


if __name__ == "__main__":
    main()
