"""Import against reading the same file into a frame: MB/s of each, in turn, and peak memory.

Usage: import_bench.py FIDELAKE [--mib 512] [--rounds 3]

The frame readers only parse; fidelake parses, hashes, masks, structures, checks
for duplicates, compresses and commits. Figures are medians over the rounds; the
programs take turns, so that a busy machine is busy for all of them.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PYARROW = "import sys, pyarrow.json as j; j.read_json(sys.argv[1], read_options=j.ReadOptions(block_size=1 << 26))"
POLARS = "import sys, polars as p; p.read_ndjson(sys.argv[1])"


def run(command: list[str]) -> tuple[float, int]:
    """Wall seconds and peak memory in MiB of one process."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{command[0]} failed")
    return time.perf_counter() - start, usage.ru_maxrss >> 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fidelake", type=pathlib.Path)
    parser.add_argument("--mib", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "runs.jsonl"
        lake = pathlib.Path(folder) / "lake"
        generate = pathlib.Path(__file__).with_name("generate.py")
        subprocess.run([sys.executable, generate, file, "--mib", str(options.mib), "--plain"], check=True)
        megabytes = file.stat().st_size / 1e6
        commands = {
            "fidelake import": [str(options.fidelake), "--lake", str(lake), "--quiet", "import", str(file)],
            "pyarrow read_json": [sys.executable, "-c", PYARROW, str(file)],
            "polars read_ndjson": [sys.executable, "-c", POLARS, str(file)],
        }
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        memory: dict[str, int] = dict.fromkeys(commands, 0)
        for _ in range(options.rounds):
            for name, command in commands.items():
                shutil.rmtree(lake, ignore_errors=True)
                wall, peak = run(command)
                seconds[name].append(wall)
                memory[name] = max(memory[name], peak)
        print(f"{'':20} {'MB/s':>8} {'s':>8} {'peak MiB':>9}")
        for name, walls in seconds.items():
            wall = statistics.median(walls)
            print(f"{name:20} {megabytes / wall:8.0f} {wall:8.2f} {memory[name]:9}")


if __name__ == "__main__":
    main()
