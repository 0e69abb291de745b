"""A small world with a state (`kind = "process"`) that writes down every call it sees.

SEEN: the file of calls, one line each, written before anything else is done.
DOWN: while this file exists, nothing starts. SALT: what its ids are made of.
"""

import hashlib
import json
import os
import sys
import time

seen = os.open(os.environ["SEEN"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
if os.path.exists(os.environ.get("DOWN", "")):
    print("the world is down", file=sys.stderr)
    sys.exit(7)

TOOLS = [("get", False), ("find", False), ("put", True), ("add", True), ("slow", False), ("silent", False),
         ("die", True), ("limited", False), ("unsure", None)]


def say(value):
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def call(name, arguments):
    if name == "get":
        return state.get(arguments["key"])
    if name == "find":
        salt = os.environ.get("SALT", "")
        ident = hashlib.sha256((salt + arguments["name"]).encode()).hexdigest()[:8]
        return {"found": [{"id": ident, "name": arguments["name"]}], "token": "sk-proj-" + "Zx9Kq2Lm7Pw4Rt8Y" * 3}
    if name == "put":
        state[arguments["key"]] = arguments["value"]
        return "done"
    if name == "add":
        state[arguments["key"]] = state.get(arguments["key"], 0) + arguments["n"]
        return state[arguments["key"]]
    if name == "slow":
        time.sleep(arguments["s"])
        return "slept"
    raise KeyError(name)


state = {}
for line in sys.stdin:
    question = json.loads(line)
    ident, op = question["id"], question["op"]
    if op == "open":
        state = question["state"] or {}
        say({"id": ident, "version": "world 1", "resets": True})
    elif op == "tools":
        say({"id": ident, "tools": [
            {"name": name, "mutates": mutates, "parameters": {"type": "object"}} for name, mutates in TOOLS]})
    elif op == "snapshot":
        say({"id": ident, "state": state})
    elif op == "close":
        say({"id": ident})
        break
    elif op == "call":
        name, arguments = question["name"], question["arguments"]
        os.write(seen, (json.dumps([time.time(), name, arguments]) + "\n").encode())
        if name == "die":
            sys.exit(3)
        if name == "silent":
            continue
        answer = {"id": ident}
        if name == "limited":
            answer |= {"content": "too many", "is_error": True, "status": 429, "retry_after": arguments["s"]}
        else:
            try:
                answer["content"] = call(name, arguments)
            except (KeyError, TypeError) as error:
                answer |= {"content": repr(error), "is_error": True}
        answer["state_hash"] = hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()[:16]
        say(answer)
