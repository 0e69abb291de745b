#!/usr/bin/env python3
"""The calls of the airline sample, made by rule from gold actions.

    python ../../adapters/tau2_tasks.py airline | python airline_steps.py gold > gold_tasks.jsonl
    python ../../adapters/tau2_tasks.py airline | python airline_steps.py probe > probe_tasks.jsonl

`gold` makes the gold actions of a task. `probe` makes them too, with calls around them that agents are
known to make (see `probe_steps`). `step` says of each call why it is made.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

JsonObject = dict[str, Any]

# One action shows nothing along a trajectory, and more would take the two files over 2 MiB, since every
# run repeats its catalog.
ACTIONS = range(2, 5)

WRITES = {
    "book_reservation",
    "cancel_reservation",
    "send_certificate",
    "update_reservation_baggages",
    "update_reservation_flights",
    "update_reservation_passengers",
}


@dataclass(frozen=True)
class Step:
    """One call to make. `kind` is `gold`, or why a probe makes it."""

    kind: str
    call_id: str
    name: str
    arguments: JsonObject


def gold_steps(task: JsonObject) -> list[Step]:
    """The gold actions of a task, in order."""
    return [Step("gold", action["id"], action["name"], action["arguments"]) for action in task["gold"]]


def probe_steps(task: JsonObject, made: Counter[str]) -> list[Step]:
    """Gold actions, each after a flawed attempt; writes are repeated and read back.

    A read gets one flawed attempt and a write two. Which flaw comes next rotates per tool (`made`
    counts the attempts so far), so that a set of tasks covers all flaws that fit a tool.
    """
    steps: list[Step] = []
    for gold in gold_steps(task):
        is_write = gold.name in WRITES
        flaws = list(flawed(gold))
        for _ in range(2 if is_write else 1):
            steps.append(flaws[made[gold.name] % len(flaws)])
            made[gold.name] += 1
        steps.append(gold)
        if is_write:
            steps.append(Step("again", f"{gold.call_id}.again", gold.name, gold.arguments))
            steps.extend(read_back(gold))
    return steps


def read_back(write: Step) -> Iterator[Step]:
    """Read what a write should have changed."""
    if "reservation_id" in write.arguments:
        arguments = {"reservation_id": write.arguments["reservation_id"]}
        yield Step("read_back", f"{write.call_id}.reservation", "get_reservation_details", arguments)
    else:
        arguments = {"user_id": write.arguments["user_id"]}
        yield Step("read_back", f"{write.call_id}.user", "get_user_details", arguments)
    for flight in write.arguments.get("flights", [])[:1]:
        arguments = {"flight_number": flight["flight_number"], "date": flight["date"]}
        yield Step("read_back", f"{write.call_id}.flight", "get_flight_status", arguments)


def flawed(gold: Step) -> Iterator[Step]:
    """The gold call with one flaw, for each flaw that fits its arguments.

    The flaws are those seen in agents' recorded calls: arguments left out or made up, ids that do not
    exist, numbers and arrays sent as text, values outside the listed choices, incomplete items.
    """

    def step(kind: str, changes: JsonObject, name: str = gold.name) -> Step:
        return Step(kind, f"{gold.call_id}.{kind}", name, {**gold.arguments, **changes})

    arguments = gold.arguments
    choices: list[str] = [key for key in ("flight_type", "cabin", "insurance") if key in arguments]
    lists = [key for key, value in arguments.items() if isinstance(value, list)]
    numbers = {key: str(value) for key, value in arguments.items() if isinstance(value, int)}

    for key in choices:
        yield step(f"unlisted_{key}", {key: arguments[key].replace("_", "").upper()})
    for key in lists:
        items = [dict(list(item.items())[:-1]) for item in arguments[key]]
        yield step(f"incomplete_{key}", {key: items})
    if numbers:
        yield step("number_as_text", numbers)
    for key in lists:
        yield step(f"extra_field_in_{key}", {key: [{**item, "note": ""} for item in arguments[key]]})
    if gold.name == "search_direct_flight":
        yield step("other_tool", {}, name="search_onestop_flight")
    missing = list(arguments)[-1]
    yield Step(
        "missing_argument",
        f"{gold.call_id}.missing_argument",
        gold.name,
        {key: value for key, value in arguments.items() if key != missing},
    )
    for key in [key for key in arguments if key.endswith("_id")][:1]:
        yield step("unknown_id", {key: f"{arguments[key]}X"})
    for key in lists:
        yield step(f"text_for_{key}", {key: json.dumps(arguments[key])})
    yield step("extra_argument", {"reason": "requested by the user"})
    head, *tail = gold.name.split("_")
    yield step("unknown_tool", {}, name=head + "".join(part.title() for part in tail))


def run(task: JsonObject, plan: str, steps: list[Step]) -> JsonObject:
    """The task with the calls to make, as a run in the native form."""
    calls = [
        {
            "turn": turn,
            "index": 0,
            "id": step.call_id,
            "name": step.name,
            "arguments": step.arguments,
            "step": step.kind,
        }
        for turn, step in enumerate(steps)
    ]
    return {
        **task,
        "trajectory_id": f"airline/{plan}/{task['task_id']}",
        "policy": plan,
        "labels": {"plan": plan},
        "calls": calls,
    }


def main() -> int:
    if sys.argv[1:] not in (["gold"], ["probe"]):
        print("usage: airline_steps.py gold|probe < tasks.jsonl", file=sys.stderr)
        return 2
    plan = sys.argv[1]
    made: Counter[str] = Counter()
    for line in sys.stdin:
        task = json.loads(line)
        gold = gold_steps(task)
        writes = any(step.name in WRITES for step in gold)
        if len(gold) not in ACTIONS or not (writes or plan == "gold"):
            continue
        steps = gold if plan == "gold" else probe_steps(task, made)
        print(json.dumps(run(task, plan, steps), ensure_ascii=False, separators=(",", ":")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
