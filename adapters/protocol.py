"""The protocol of `kind = "process"` (docs/environments.md), for environments written in Python.

    from protocol import serve

    class Counter:
        version = "counter 1"
        def open(self, state):            # None: fresh
            self.n = state or 0
        def tools(self):
            return [{"name": "add", "parameters": {"type": "object"}, "mutates": True}]
        def call(self, name, arguments):
            self.n += arguments["by"]
            return {"content": self.n, "is_error": False}
        def snapshot(self):
            return {"state": self.n}

    serve(Counter())

An exception in `call` is an answer with `error`; the traceback goes to stderr.
"""

import json
import os
import sys
import traceback


def serve(environment):
    """Answers until stdin ends or `close` comes. What is printed meanwhile goes to stderr, not into the protocol."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="surrogatepass", newline="\n")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    for line in sys.stdin.buffer:
        question = json.loads(line)
        answer = {"id": question["id"]}
        try:
            answer |= _answer(environment, question)
        except Exception as error:  # the tool broke: that is an answer, not the end
            traceback.print_exc()
            answer |= {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer, ensure_ascii=True, default=str) + "\n")
        answers.flush()
        if question["op"] == "close":
            return


def _answer(environment, question):
    op = question["op"]
    if op == "open":
        environment.open(question["state"])
        return {"version": getattr(environment, "version", None), "resets": True}
    if op == "tools":
        return {"tools": environment.tools()}
    if op == "call":
        return environment.call(question["name"], question["arguments"])
    if op == "snapshot":
        return environment.snapshot() if hasattr(environment, "snapshot") else {}
    if op == "close":
        return {}
    raise ValueError(f"no message called {op!r}; this speaks open, tools, call, snapshot and close")
