#!/usr/bin/env python3
"""What the recorder adds to a call: latency direct and recorded, stdio and streamable HTTP.

    benches/record_bench.py PATH/TO/fidelake [calls]

Both ways are open at the same time and asked in turn, so that a busy machine is as busy for the one as for the other.
The server answers at once; only the Python standard library is needed.
"""

import http.client
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWER = {"content": [{"type": "text", "text": "x" * 400}]}


def answer(line):
    request = json.loads(line)
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": ANSWER}).encode()


def serve_stdio():
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(answer(line) + b"\n")
        sys.stdout.buffer.flush()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = answer(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Mcp-Session-Id", "bench")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()


def serve_http():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()


def request(number):
    params = {"name": "lookup", "arguments": {"order": f"#W{number:07}", "note": "y" * 200}}
    message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    return json.dumps(message).encode()


class Pipe:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, message):
        self.process.stdin.write(message + b"\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Http:
    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port)
        self.connection.connect()
        self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, message):
        headers = {"Content-Type": "application/json", "Mcp-Session-Id": "bench"}
        self.connection.request("POST", "/mcp", message, headers)
        return self.connection.getresponse().read()


def compare(name, direct, recorded, calls):
    times = {"direct": [], "recorded": []}
    for number in range(calls + 50):
        message = request(number)
        for way, client in (("direct", direct), ("recorded", recorded)):
            started = time.perf_counter()
            got = client.ask(message)
            passed = time.perf_counter() - started
            assert b"result" in got, got
            if number >= 50:
                times[way].append(passed * 1e3)
    row = {"transport": name, "calls": calls}
    for way, values in times.items():
        values.sort()
        row[f"{way}_median_ms"] = round(statistics.median(values), 3)
        row[f"{way}_p99_ms"] = round(values[int(len(values) * 0.99)], 3)
    row["added_median_ms"] = round(row["recorded_median_ms"] - row["direct_median_ms"], 3)
    row["added_p99_ms"] = round(row["recorded_p99_ms"] - row["direct_p99_ms"], 3)
    print(json.dumps(row), flush=True)


def main():
    program = os.path.abspath(sys.argv[1])
    calls = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    folder = tempfile.mkdtemp(prefix="fidelake-record-bench-")
    lake = os.path.join(folder, "lake")
    record = [program, "--quiet", "--lake", lake, "record", "--environment", "bench"]
    server = [sys.executable, os.path.abspath(__file__)]
    try:
        direct, recorded = Pipe([*server, "--stdio"]), Pipe([*record, "--", *server, "--stdio"])
        compare("stdio", direct, recorded, calls)
        direct.close()
        started = time.perf_counter()
        recorded.close()
        print(f"end of the recording and fold of {calls + 50} calls: {time.perf_counter() - started:.2f} s", file=sys.stderr)
        behind = subprocess.Popen([*server, "--http"], stdout=subprocess.PIPE, text=True)
        port = int(behind.stdout.readline())
        between = subprocess.Popen(
            [*record, "--listen", "127.0.0.1:0", "--to", f"http://127.0.0.1:{port}/mcp"],
            stdout=subprocess.PIPE,
            text=True,
        )
        address = between.stdout.readline().split("/")[2]
        compare("http", Http(port), Http(int(address.split(":")[1])), calls)
        between.terminate()
        between.wait()
        behind.kill()
        behind.wait()
        counted = subprocess.run(
            [program, "--lake", lake, "--format", "json", "sql", "SELECT count(*) AS n FROM calls WHERE call_status = 'answered'"],
            capture_output=True, text=True, check=True,
        )
        assert json.loads(counted.stdout)[0]["n"] == 2 * (calls + 50), counted.stdout
        print("every call is in the lake once", file=sys.stderr)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--stdio"]:
        serve_stdio()
    elif sys.argv[1:] == ["--http"]:
        serve_http()
    else:
        main()
