#!/usr/bin/env python3
"""Count how the two arms of a recording differ, with nothing but the standard library.

    python compare.py airline_gold.jsonl airline_probe.jsonl

These are plain counts, call by call, of what README.md says about the recording. They are no gap
measure: no noise is taken off and no weight is given. `--list` shows every call that differs.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

JsonObject = dict[str, Any]
Runs = dict[tuple[str, int], JsonObject]


def load(path: Path) -> dict[str, Runs]:
    """Runs by trajectory, then by (arm, repeat)."""
    trajectories: dict[str, Runs] = {}
    with path.open(encoding="utf-8") as file:
        for line in file:
            run = json.loads(line)
            trajectories.setdefault(run["trajectory_id"], {})[run["arm"], run["repeat"]] = run
    return trajectories


def parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def kind_of_difference(left: JsonObject, right: JsonObject) -> str:
    """Compare two results of the same call."""
    if left["is_error"] != right["is_error"]:
        return "error flag differs"
    if left["content"] == right["content"]:
        return "equal bytes, errors" if left["is_error"] else "equal bytes, answers"
    if parsed(left["content"]) == parsed(right["content"]):
        return "equal after JSON parsing only"
    return "error text differs" if left["is_error"] else "value differs"


def paired(left: JsonObject, right: JsonObject) -> list[tuple[JsonObject, JsonObject]]:
    pairs = list(zip(left["calls"], right["calls"], strict=True))
    assert all(a["name"] == b["name"] and a["arguments"] == b["arguments"] for a, b in pairs)
    return pairs


def show(name: str, counts: Counter[str]) -> None:
    print(f"\n{name}")
    for key, count in sorted(counts.items()):
        print(f"  {count:5}  {key}")


def compare(path: Path, list_calls: bool) -> None:
    trajectories = load(path)
    runs = [run for group in trajectories.values() for run in group.values()]
    print(f"{path.name}: {path.stat().st_size:,} bytes, {len(trajectories)} trajectories, {len(runs)} runs")
    print(f"  {sum(len(run['calls']) for run in runs)} calls recorded")

    results: Counter[str] = Counter()
    states: Counter[str] = Counter()
    verdicts: Counter[str] = Counter()
    steps: Counter[str] = Counter()
    repeats: Counter[str] = Counter()
    for trajectory_id, group in trajectories.items():
        for call, other in paired(group["sim", 0], group["real", 0]):
            kind = kind_of_difference(call["result"], other["result"])
            same_state = call["state_hash"] == other["state_hash"]
            results[kind] += 1
            states["same state after the call" if same_state else "other state after the call"] += 1
            steps[re.sub(r"_(in|for)_\w+$", "", call["step"]) + ": " + kind] += 1
            if list_calls and not (kind.startswith("equal bytes") and same_state):
                print(f"\n  {trajectory_id} {call['id']} {call['name']}: {kind}, same state: {same_state}")
                print(
                    f"    sim  {call['result']['content'][:300]}\n    real {other['result']['content'][:300]}"
                )
        judged = {arm: group[arm, 0]["verdicts"][0]["success"] for arm in ("sim", "real")}
        verdicts[f"final state equals gold replay: sim {judged['sim']}, real {judged['real']}"] += 1
        for arm in ("sim", "real"):
            for call, other in paired(group[arm, 0], group[arm, 1]):
                same = kind_of_difference(call["result"], other["result"]).startswith("equal bytes")
                same = same and call["state_hash"] == other["state_hash"]
                repeats[f"{arm}: " + ("equal bytes, flag and state" if same else "differ")] += 1

    show("sim against real, repeat 0, by result", results)
    show("sim against real, repeat 0, by state", states)
    show("sim against real, repeat 0, by verdict", verdicts)
    show("sim against real, repeat 0, by step", steps)
    show("repeat 0 against repeat 1", repeats)
    for arm in ("sim", "real"):
        latencies = sorted(
            call["result"]["latency_ms"] for run in runs if run["arm"] == arm for call in run["calls"]
        )
        median, worst = latencies[len(latencies) // 2], latencies[-1]
        print(f"\n{arm} latency, ms: median {median}, worst {worst}")
    offered = {arm: {tool["name"] for tool in runs_of(runs, arm)[0]["catalog"]} for arm in ("sim", "real")}
    only = {arm: sorted(offered[arm] - offered[other]) for arm, other in (("sim", "real"), ("real", "sim"))}
    print(f"tools: sim {len(offered['sim'])}, real {len(offered['real'])}, only in one arm: {only}\n")


def runs_of(runs: list[JsonObject], arm: str) -> list[JsonObject]:
    return [run for run in runs if run["arm"] == arm]


def main() -> None:
    parser = argparse.ArgumentParser(description="Count how the two arms of a recording differ.")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--list", action="store_true", help="show every call that differs")
    arguments = parser.parse_args()
    for path in arguments.files:
        compare(path, arguments.list)


if __name__ == "__main__":
    main()
