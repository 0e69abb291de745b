"""Shards against `datasets`: seconds and peak memory of `fidelake curate` and of `Dataset.to_parquet` on the same rows.

Usage: curate_bench.py FIDELAKE [--rows 20000] [--rounds 3] [--formats parquet,verl-rl]

fidelake reads the lake, weighs, builds every conversation, writes, hashes and
records; `datasets` reads the finished shards into its own memory map first, and
only the call of `to_parquet` is timed: it is given the rows ready-made. Figures
are medians; the programs take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SAMPLES = pathlib.Path(__file__).resolve().parent.parent / "sample_data"

TO_PARQUET = """
import glob, resource, sys, time
import datasets
datasets.disable_progress_bars()
files = sorted(glob.glob(sys.argv[1] + "/**/data/*.parquet", recursive=True))
rows = datasets.load_dataset("parquet", data_files=files, split="train", cache_dir=sys.argv[2])
start = time.perf_counter()
rows.to_parquet(sys.argv[2] + "/again.parquet")
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
"""


def generate(path: pathlib.Path, rows: int) -> None:
    """Sample runs of the simulator again and again, four to a group, each with a name, a mark and a reward of its own."""
    runs = [json.loads(line) for line in (SAMPLES / "airline_gold.jsonl").read_text().splitlines()]
    runs = [run for run in runs if run["arm"] == "sim"]
    with path.open("w") as out:
        for at in range(rows):
            run = dict(runs[(at // 4) % len(runs)])
            run["trajectory_id"] = f"bench/{at}"
            run["task_id"] = run["group_id"] = f"task/{at // 4}"
            run["repeat"] = 0
            run["calls"] = [dict(call, result=dict(call["result"], content=f"{call['result']['content']} #{at}")) for call in run["calls"]]
            run["verdicts"] = [{"judge": "bench", "reward": float(at * 7919 % 5 < 2)}]
            out.write(json.dumps(run, ensure_ascii=False) + "\n")


def run(command: list[str]) -> tuple[float, int]:
    """Wall seconds and peak memory in MiB of one process."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    return time.perf_counter() - start, usage.ru_maxrss >> 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fidelake", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--formats", default="parquet")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as root:
        folder = pathlib.Path(root)
        lake = [str(options.fidelake.resolve()), "--lake", str(folder / "lake"), "--quiet"]
        generate(folder / "runs.jsonl", options.rows)
        wall, peak = run([*lake, "import", str(folder / "runs.jsonl")])
        print(f"import: {wall:.1f} s, {peak} MiB")
        formats = json.dumps(options.formats.split(","))
        ours, theirs, memory, rival = [], [], 0, 0
        for at in range(options.rounds):
            # Another recipe each time: the lake records a curation once.
            recipe = folder / "recipe.toml"
            recipe.write_text(f'version = 1\n[output]\nname = "round {at}"\nformats = {formats}\n')
            out = folder / "shards"
            shutil.rmtree(out, ignore_errors=True)
            wall, peak = run([*lake, "curate", str(recipe), "--out", str(out)])
            ours.append(wall)
            memory = max(memory, peak)
            cache = folder / "cache"
            words = subprocess.run([sys.executable, "-c", TO_PARQUET, str(out), str(cache)], check=True, capture_output=True, text=True)
            seconds, peak = words.stdout.split()
            theirs.append(float(seconds))
            rival = max(rival, int(peak))
            shutil.rmtree(cache)
        size = sum(f.stat().st_size for f in out.rglob("*") if f.is_file()) / 1e6
        for name, times, peak in (("fidelake curate", ours, memory), ("datasets to_parquet", theirs, rival)):
            middle = statistics.median(times)
            print(f"{name}: {middle:.2f} s, {options.rows / middle:,.0f} rows/s, {size / middle:.1f} MB/s, {peak} MiB")


if __name__ == "__main__":
    main()
