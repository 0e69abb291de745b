#!/usr/bin/env python3
"""The multi-turn tasks of PyPI `bfcl-eval` with their right calls: `python bfcl_tasks.py base > bfcl_tasks.jsonl`.

One line per task, as `tau2_tasks.py` writes them: what the user says in all turns, the state to start from (for
`bfcl_classes.py` without names), and the right calls, each with its turn. A task with a call whose arguments are
no literals is left out and named on stderr.
"""

import ast
import importlib
import inspect
import json
import sys
from pathlib import Path

import bfcl_eval
from bfcl_eval.constants.executable_backend_config import CLASS_FILE_PATH_MAPPING

DATA = Path(bfcl_eval.__file__).parent / "data"


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def call(text, classes):
    """A call as it is spelled in Python, with the names of its positional arguments."""
    spelled = ast.parse(text, mode="eval").body
    method = next(getattr(kind, spelled.func.id) for kind in classes if hasattr(kind, spelled.func.id))
    names = list(inspect.signature(method).parameters)[1:]
    given = dict(zip(names, spelled.args)) | {keyword.arg: keyword.value for keyword in spelled.keywords}
    return spelled.func.id, {name: ast.literal_eval(value) for name, value in given.items()}


def run(task, answer):
    names = task["involved_classes"]
    classes = [getattr(importlib.import_module(CLASS_FILE_PATH_MAPPING[name]), name) for name in names]
    gold = []
    for turn, texts in enumerate(answer["ground_truth"]):
        for text in texts:
            name, arguments = call(text, classes)
            gold.append({"name": name, "arguments": arguments, "turn": turn})
    said = [message["content"] for turn in task["question"] for message in turn if message["role"] == "user"]
    return {
        "fidelake": 1,
        "trajectory_id": f"bfcl/gold/{task['id']}",
        "environment": "bfcl",
        "arm": "real",
        "policy": "gold",
        "task_id": task["id"],
        "group_id": task["id"],
        "task": "\n\n".join(said),
        "start_state": {name: task["initial_config"].get(name, {}) for name in names},
        "gold": gold,
        "calls": [],
    }


kind = sys.argv[1]
answers = {row["id"]: row for row in lines(DATA / "possible_answer" / f"BFCL_v4_multi_turn_{kind}.json")}
for task in lines(DATA / f"BFCL_v4_multi_turn_{kind}.json"):
    try:
        line = run(task, answers[task["id"]])
    except (ValueError, StopIteration) as error:
        print(f"{task['id']} is left out: {error!r}", file=sys.stderr)
        continue
    print(json.dumps(line, ensure_ascii=False, separators=(",", ":")))
