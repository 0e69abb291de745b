"""Many clients at once against `fidelake serve --pg`: errors, rate, and whether its memory grows.

    python benches/sql_clients.py --fidelake PATH --lake LAKE [--clients 50] [--minutes 10]

The clients ask mixed slices (tests/python/sql_server.py, `crowd`), each over one connection. The server's
resident memory is read every ten seconds; the last third of the readings is compared with the middle third.
"""

import argparse
import pathlib
import subprocess
import sys
import threading
import time


def resident(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) // 1024
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fidelake", required=True)
    parser.add_argument("--lake", required=True)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=10)
    given = parser.parse_args()
    command = [given.fidelake, "--lake", given.lake, "serve", "--pg", "127.0.0.1:0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    readings = []
    try:
        port = server.stdout.readline().split(":")[-1].split("/")[0]

        def watch():
            while server.poll() is None:
                readings.append(resident(server.pid))
                time.sleep(10)

        threading.Thread(target=watch, daemon=True).start()
        script = pathlib.Path(__file__).resolve().parent.parent / "tests/python/sql_server.py"
        how = f"{given.clients},{int(given.minutes * 60)}"
        ended = subprocess.run([sys.executable, script, "crowd", port, how])
    finally:
        server.terminate()
        server.wait()
    third = max(1, len(readings) // 3)
    middle, last = readings[third : 2 * third] or readings, readings[-third:]
    print(f"memory in MiB: begun {readings[0]}, middle third {min(middle)} to {max(middle)}, last third {min(last)} to {max(last)}")
    sys.exit(ended.returncode)


main()
