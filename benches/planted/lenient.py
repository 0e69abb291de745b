#!/usr/bin/env python3
"""An environment that answers undeclared parameters: `python lenient.py calculate -- python tau2_domain.py airline`.

It stands before another environment of kind `process` and leaves out, for the tools named, every argument that their
schema does not declare. So the tool answers as if it had not been asked for it, as a simulator that makes things up does.
"""

import json
import subprocess
import sys

at = sys.argv.index("--")
lenient, command = set(sys.argv[1:at]), sys.argv[at + 1 :]
inner = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
declared = {}


def ask(question):
    inner.stdin.write((json.dumps(question) + "\n").encode())
    inner.stdin.flush()
    return json.loads(inner.stdout.readline())


for line in sys.stdin.buffer:
    question = json.loads(line)
    name = question.get("name")
    if question["op"] == "call" and name in lenient:
        if not declared:
            tools = ask({"id": question["id"], "op": "tools"}).get("tools", [])
            declared = {tool["name"]: set(tool["parameters"].get("properties", {})) for tool in tools}
        given = question["arguments"]
        question["arguments"] = {key: given[key] for key in given if key in declared.get(name, given)}
    print(json.dumps(ask(question)), flush=True)
    if question["op"] == "close":
        break
inner.stdin.close()
inner.wait()
