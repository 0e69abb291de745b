"""An MCP server over stdio that misbehaves as its tools and its own arguments say."""

import json
import os
import sys
import time

MODE = sys.argv[1] if len(sys.argv) > 1 else ""
cancelled = []
tools = [{"name": f"t{n}", "inputSchema": {"type": "object", "n": 1.10}} for n in range(5000)]


def say(value):
    sys.stdout.write((value if isinstance(value, str) else json.dumps(value)) + "\n")
    sys.stdout.flush()


def answer(id, result):
    say({"jsonrpc": "2.0", "id": id, "result": result})


def text(id, said):
    answer(id, {"content": [{"type": "text", "text": said}]})


def call(id, name, line):
    if name == "exact":
        say('{"jsonrpc":"2.0","id":%d,"result":{"content":[{"text":"a","type":"text"}],'
            '"structuredContent":{"b":1.10,"a":18446744073709551617,"n":NaN,"e":1e400,"s":"\\ud83d"},"isError":false}}' % id)
    elif name == "echo":
        text(id, line)
    elif name == "cancelled":
        text(id, json.dumps(cancelled))
    elif name == "noise":
        say("listening")
        say({"level": "info", "msg": "a log line of JSON"})
        text(id, "done")
    elif name == "deep":
        deep = "[" * 3000 + "]" * 3000
        say('{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"deep":%s}}}' % (id, deep))
    elif name == "no_result":
        say({"jsonrpc": "2.0", "id": id, "result": None})
    elif name == "text_result":
        answer(id, "done")
    elif name == "error":
        say({"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": "Unknown tool", "data": 1}})
    elif name == "odd_error":
        say({"jsonrpc": "2.0", "id": id, "error": "it broke"})
    elif name == "invalid":
        say('{"jsonrpc":"2.0","id":%d,"result":{"content":[{' % id)
    elif name == "garbled":
        say('{"result":{"content":[{')
    elif name == "unknown_id":
        text(987654, "whose?")
        text(id, "mine")
    elif name == "late":
        time.sleep(0.6)
        text(id, "too late")
    elif name == "hang":
        pass
    elif name == "exit":
        print("out of memory", file=sys.stderr, flush=True)
        os._exit(3)
    elif name == "flood":
        while True:
            sys.stdout.write("x" * 65536 + "\n")
    elif name == "endless_line":
        say('{"result":"' + "x" * (8 << 20))
    elif name == "batch":
        say([{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}},
             {"jsonrpc": "2.0", "id": id, "result": {"content": []}}])
    elif name == "change":
        tools[:] = [{"name": "other", "inputSchema": {"type": "object"}}]
        say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        text(id, "changed")
    elif name == "progress":
        token = json.loads(line)["params"]["_meta"]["progressToken"]
        for n in range(3):
            say({"jsonrpc": "2.0", "method": "notifications/progress",
                 "params": {"progressToken": token, "progress": n, "total": 3}})
        text(id, "done")
    elif name == "asks":
        say({"jsonrpc": "2.0", "id": "s1", "method": "sampling/createMessage",
             "params": {"messages": [], "maxTokens": 1}})
        text(id, "refused: " + sys.stdin.readline())
    elif name == "input":
        answer(id, {"resultType": "input_required", "inputRequests": {}, "requestState": "x"})
    else:
        answer(id, {})


print("starting up", flush=True)
if MODE == "hang":
    time.sleep(3600)
for line in sys.stdin:
    question = json.loads(line)
    method, id = question.get("method"), question.get("id")
    if method == "server/discover":
        if MODE == "dies-on-discover":
            print("what?", file=sys.stderr, flush=True)
            sys.exit(1)
        if MODE == "modern":
            answer(id, {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                        "ttlMs": 0, "cacheScope": "private"})
        elif MODE != "silent":
            say({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}})
    elif method == "initialize":
        if MODE == "refuses":
            say({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": "licence expired"}})
            continue
        answer(id, {"protocolVersion": question["params"]["protocolVersion"], "capabilities": {"tools": {}},
                    "serverInfo": {"name": "hostile", "version": "1"}})
    elif method == "tools/list":
        start = int((question.get("params") or {}).get("cursor") or 0)
        page = {"tools": tools[start:start + 700]}
        if start + 700 < len(tools):
            page["nextCursor"] = str(start + 700)
        if MODE == "modern":
            page |= {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        if MODE == "endless-list":
            page["nextCursor"] = "0"
        answer(id, page)
    elif method == "notifications/cancelled":
        cancelled.append(question["params"]["requestId"])
    elif method == "tools/call":
        call(id, question["params"]["name"], line)
