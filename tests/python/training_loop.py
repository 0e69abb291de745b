"""A training loop that asks the monitor before each step, and stops when it says pause.

Each step makes rollouts in a simulator; a sample of their calls is also made for real, and both answers
go to the monitor. At a step that the loop does not know of, the real world begins to answer otherwise.

    python3 training_loop.py http://127.0.0.1:PORT TOKEN_FILE [--drift-at 40] [--steps 80]

Prints one JSON object: the step at which the drift was planted, and the step at which the loop stopped.
Only the standard library is used.
"""

import argparse
import json
import random
import urllib.request

parser = argparse.ArgumentParser()
parser.add_argument("monitor")
parser.add_argument("token_file")
parser.add_argument("--drift-at", type=int, default=40)
parser.add_argument("--steps", type=int, default=80)
parser.add_argument("--calls", type=int, default=8, help="calls per step that are also made for real")
parser.add_argument("--seed", type=int, default=1)
options = parser.parse_args()
token = open(options.token_file).read().strip()
chance = random.Random(options.seed)


def ask(path, body=None):
    request = urllib.request.Request(options.monitor + path, data=body)
    if body is not None:
        request.add_header("Authorization", "Bearer " + token)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def answers(step):
    """What the simulator says of an order, and what the real service says."""
    order = {"id": chance.randrange(10**6), "items": chance.randrange(1, 9), "state": "open", "total": chance.randrange(100)}
    sim = {"content": order, "latency_ms": 5}
    real = dict(order)
    # The service has always been a little ahead of the simulator.
    if chance.random() < 0.3:
        real["state"] = "paid"
    if step >= options.drift_at:
        # A release: totals are in cents from now on, under another name.
        real["total_cents"] = 100 * real.pop("total")
        real["items"] += 1
    return sim, {"content": real, "latency_ms": 80}


stopped = None
for step in range(options.steps):
    if ask("/v1/state")["state"] == "pause":
        stopped = step
        break
    # rollouts, gradients, the optimizer's step ...
    lines = []
    for call in range(options.calls):
        sim, real = answers(step)
        lines.append(json.dumps({
            "id": f"{step}/{call}", "environment": "shop", "api": "get_order",
            "step": step, "source": "worker-0", "sim": sim, "real": real,
        }))
    ask("/v1/observations", "\n".join(lines).encode())
print(json.dumps({"drift_at": options.drift_at, "stopped_at": stopped, "state": ask("/v1/state")}))
