"""A budget where the surrogate is weak: what five agents really lost on ACEBench's perturbed items, bought by need.

    benches/budget_acebench.py FIDELAKE dev.jsonl.zst [REPLAYS]

`dev.jsonl.zst` holds the two arms of every item (plain and perturbed) with the verdicts of the agents. A unit is an agent's
attempt at an item, its region the kind of perturbation. Its gap is 1 where the agent was right on one arm and wrong on the
other, else 0: a real judgement, not a model of one. All that the surrogate knows of a unit is the decision gap of its item
(`fidelake profile`), which stands in a made-up lake as the length of the simulator's answer, one of the surrogate's
features. Printed: the correlation of the two, and `fidelake simulate-budget` on that lake.
"""

import io
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import pyarrow

PROGRAM, FILE = sys.argv[1], pathlib.Path(sys.argv[2])
REPLAYS = sys.argv[3] if len(sys.argv) > 3 else "500"


def verdicts(file):
    """Success by (trajectory, arm, agent), and the perturbation of every trajectory."""
    right, kinds = {}, {}
    with pyarrow.input_stream(str(file), compression="zstd") as stream:
        for line in io.TextIOWrapper(io.BufferedReader(stream), encoding="utf-8"):
            run = json.loads(line)
            kinds[run["trajectory_id"]] = (run.get("labels") or {}).get("perturbation")
            for verdict in run.get("verdicts", []):
                if verdict.get("success") is not None and verdict.get("agent"):
                    right[run["trajectory_id"], run["arm"], verdict["agent"]] = verdict["success"]
    return right, kinds


def run(trajectory, arm, api, content, failed):
    result = {"content": content, "is_error": failed}
    if failed:
        result["error_type"] = "tool_error"
    call = {"turn": 0, "index": 0, "name": api, "arguments": {}, "result": result}
    return {"fidelake": 1, "trajectory_id": trajectory, "environment": "judged", "arm": arm, "calls": [call]}


with tempfile.TemporaryDirectory() as folder:
    root = pathlib.Path(folder)

    def fidelake(lake, *args):
        command = [PROGRAM, "--lake", str(root / lake), "--quiet", *args]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    fidelake("items", "import", str(FILE))
    fidelake("items", "profile")
    rows = fidelake("items", "sql", "--format", "ndjson", "SELECT trajectory_id, gap_decision FROM profiles_now")
    gaps = {row["trajectory_id"]: row.get("gap_decision") for row in map(json.loads, io.StringIO(rows))}
    right, kinds = verdicts(FILE)
    made, pairs = [], []
    for (trajectory, arm, agent), sim in right.items():
        real = right.get((trajectory, "real", agent))
        if arm != "sim" or real is None or not kinds[trajectory]:
            continue
        known = gaps.get(trajectory) or 0.0
        harm = sim != real
        pairs.append((known, harm))
        name, answer = f"{trajectory}/{agent}", "x" * (1 + round(200 * known))
        made.append(run(name, "sim", kinds[trajectory], answer, False))
        made.append(run(name, "real", kinds[trajectory], answer, harm))
    known, harm = numpy.array(pairs, dtype=float).T
    print(f"{len(pairs)} attempts, {harm.mean():.3f} of them with a gap; correlation with the decision gap {numpy.corrcoef(known, harm)[0, 1]:.3f}")
    (root / "made.jsonl").write_text("".join(json.dumps(line) + "\n" for line in made), encoding="utf-8")
    fidelake("made", "import", str(root / "made.jsonl"))
    fidelake("made", "profile")
    print(fidelake("made", "simulate-budget", "--dimension", "outcome", "--replays", REPLAYS, "--budgets", "10,20,50", "--least", "20"))
