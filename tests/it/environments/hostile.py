"""A process environment that misbehaves as its tools say (`kind = "process"`)."""

import json
import os
import subprocess
import sys
import time


def say(value):
    sys.stdout.write((value if isinstance(value, str) else json.dumps(value)) + "\n")
    sys.stdout.flush()


state = {"n": 0}
print("starting up", flush=True)
print("a warning", file=sys.stderr, flush=True)
if "hang" in sys.argv:
    time.sleep(3600)
if "die" in sys.argv:
    print("no database", file=sys.stderr)
    sys.exit(7)
for line in sys.stdin:
    question = json.loads(line)
    id, op = question["id"], question["op"]
    if op == "open":
        state = question["state"] or {"n": 0}
        say({"id": id, "version": "hostile 1", "resets": "resets" in sys.argv})
    elif op == "tools":
        say({"id": id, "tools": [{"name": f"t{n}", "mutates": n % 2 == 0} for n in range(5000)]})
    elif op == "snapshot":
        say({"id": id, "state": state, "state_hash": f"h{state['n']}"})
    elif op == "close":
        if "stay" in sys.argv:
            time.sleep(3600)
        say({"id": id})
        break
    else:
        name, arguments = question["name"], question["arguments"]
        if name == "add":
            state["n"] += 1
            say('{"id": %d, "content": {"b": 1.10, "a": 18446744073709551617, "n": NaN}, "is_error": false}' % id)
        elif name == "echo":
            say('{"id": %d, "content": %s}' % (id, json.dumps(line)))
        elif name == "noise":
            for n in range(100):
                say(f"progress {n}")
            say({"level": "info"})
            say({"id": id, "content": "done"})
        elif name == "exit":
            print("out of memory", file=sys.stderr, flush=True)
            os._exit(3)
        elif name == "hang":
            time.sleep(3600)
        elif name == "late":
            time.sleep(0.6)
            say({"id": id, "content": "too late"})
        elif name == "invalid":
            say('{"id": %d, "content": tru' % id)
        elif name == "garbled":
            say('{"content": [1, 2')
        elif name == "unknown_id":
            say({"id": 999999, "content": "whose?"})
            say({"id": id, "content": "mine"})
        elif name == "flood":
            while True:
                sys.stdout.write("x" * 65536 + "\n")
        elif name == "endless_line":
            sys.stdout.write("{" + "x" * (8 << 20) + "\n")
            sys.stdout.flush()
        elif name == "bytes":
            sys.stdout.flush()
            sys.stdout.buffer.write(b'{"id": %d, "content": "a\xff"}\n' % id)
            sys.stdout.buffer.flush()
        elif name == "children":
            held = [subprocess.Popen(["sleep", "3600"], start_new_session=n == 1) for n in range(2)]
            say({"id": id, "content": [child.pid for child in held]})
        elif name == "limited":
            say({"id": id, "content": "slow down", "is_error": True, "status": 429, "retry_after": 0.25})
        elif name == "broken":
            say({"id": id, "error": "KeyError: 'x'"})
        else:
            say({"id": id, "result": arguments})
