"""Writes a large file in the native run form from the sample data.

Every run gets a trajectory id of its own, and every answer a mark, so that
nothing is a duplicate and compression has work to do.
"""

from __future__ import annotations

import argparse
import json
import pathlib

SAMPLES = pathlib.Path(__file__).resolve().parent.parent / "sample_data"


def plain(run: dict) -> dict:
    """The same run with one type per field."""
    kept = ("fidelake", "trajectory_id", "environment", "arm", "repeat", "environment_version", "task_id", "task")
    small = {key: run[key] for key in kept if key in run}
    small["calls"] = [
        {
            "turn": call["turn"],
            "index": call["index"],
            "id": call["id"],
            "name": call["name"],
            "arguments_raw": json.dumps(call["arguments"], ensure_ascii=False),
            "result": {
                "content": call["result"]["content"],
                "is_error": call["result"]["is_error"],
                "latency_ms": float(call["result"]["latency_ms"]),
            },
            "state_hash": call.get("state_hash"),
        }
        for call in run["calls"]
    ]
    return small


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--mib", type=int, default=256, help="size of the file, about")
    parser.add_argument("--pairs", type=int, help="stop after so many pairs of calls instead")
    parser.add_argument(
        "--plain",
        action="store_true",
        help="arguments as text, no catalogs: one type per field, so that readers which infer a schema can read it",
    )
    options = parser.parse_args()

    runs = []
    for path in sorted(SAMPLES.glob("airline_*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            run = json.loads(line)
            if run["repeat"] != 0:
                continue
            runs.append(plain(run) if options.plain else run)

    limit = options.mib << 20
    written = pairs = copy = 0
    with options.out.open("w", encoding="utf-8") as out:
        while written < limit:
            for run in runs:
                original = run["trajectory_id"]
                run["trajectory_id"] = f"{original}/copy-{copy}"
                calls = run["calls"]
                for call in calls:
                    call["id"] = f"call_{copy}_{call['turn']}_{call['index']}"
                line = json.dumps(run, ensure_ascii=False) + "\n"
                run["trajectory_id"] = original
                out.write(line)
                written += len(line.encode("utf-8"))
                if run["arm"] == "sim":
                    pairs += len(calls)
            copy += 1
            if options.pairs is not None and pairs >= options.pairs:
                break
    print(f"{written >> 20} MiB, {pairs} pairs of calls, {copy} copies")


if __name__ == "__main__":
    main()
