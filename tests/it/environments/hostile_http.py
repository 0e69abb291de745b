"""An HTTP API and an MCP server over streamable HTTP, both odd on purpose. Prints its port."""

import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

notes = {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, status, body, kind="application/json", **headers):
        body = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length).decode()
        path, _, query = self.path.partition("?")
        if path == "/mcp":
            return self.mcp(json.loads(body) if body else None)
        if path.startswith("/api/notes/"):
            id = path.removeprefix("/api/notes/")
            if self.command == "PUT":
                notes[id] = body
                return self.send(200, body)
            if id not in notes:
                return self.send(404, {"error": "no such note"})
            return self.send(200, notes[id])
        if path == "/api/notes":
            return self.send(200, json.dumps(sorted(notes)))
        if path == "/api/reset":
            notes.clear()
            return self.send(204, "")
        if path == "/api/echo":
            seen = {"query": query, "body": body, "method": self.command, "tag": self.headers.get("X-Tag"),
                    "cookie": self.headers.get("Cookie"), "type": self.headers.get("Content-Type"),
                    "token": self.headers.get("Authorization")}
            return self.send(200, seen)
        if path == "/api/exact":
            return self.send(200, '{"b": 1.10, "a": 18446744073709551617, "n": NaN}')
        if path == "/api/limited":
            return self.send(429, "slow down", "text/plain", Retry_After="2")
        if path == "/api/broken":
            return self.send(500, "<html>oops</html>", "text/html")
        if path == "/api/large":
            return self.send(200, "x" * 200_000, "text/plain")
        if path == "/api/slow":
            time.sleep(1)
            return self.send(200, "late")
        if path == "/api/moved":
            return self.send(302, "", Location="/api/exact")
        if path == "/api/away":
            return self.send(302, "", Location=f"http://localhost:{self.server.server_port}/api/exact")
        if path == "/api/cut":
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"half")
            self.close_connection = True
            return None
        return self.send(404, "nothing here", "text/plain")

    def mcp(self, message):
        if self.command == "GET":
            return self.send(405, "")
        if self.command == "DELETE" or "id" not in message:
            return self.send(202, "")
        id, method = message["id"], message["method"]
        head = '{"jsonrpc":"2.0","id":%d,"result":' % id
        if method == "initialize":
            result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                      "serverInfo": {"name": "odd", "version": "1"}}
            return self.send(200, head + json.dumps(result) + "}", Mcp_Session_Id="s1")
        if method == "server/discover":
            return self.send(400, "what?", "text/plain")
        if method == "tools/list":
            return self.send(200, head + '{"tools":[{"name":"exact","inputSchema":{"type":"object"}}]}}')
        if self.headers.get("Mcp-Session-Id") != "s1":
            return self.send(400, "no session", "text/plain")
        name = message["params"]["name"]
        odd = head + '{"content":[],"structuredContent":{"b":1.10,"a":18446744073709551617,"n":NaN}}}'
        if name == "exact":
            return self.send(200, odd)
        if name == "events":
            late = 'data: {"jsonrpc":"2.0","id":987,"result":{}}\n\n'
            return self.send(200, f": hello\n\n{late}data: {odd}\n\n", "text/event-stream")
        if name == "broken_event":
            return self.send(200, f"data: {odd[:-9]}\n\n", "text/event-stream")
        if name == "limited":
            return self.send(429, "slow down", "text/plain", Retry_After="2")
        if name == "html":
            return self.send(200, "<html>login</html>", "text/html")
        if name == "expired":
            return self.send(404, "gone", "text/plain")
        if name == "slow":
            time.sleep(1)
        return self.send(200, head + '{"content":[]}}')

    do_GET = do_POST = do_PUT = do_DELETE = answer


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
