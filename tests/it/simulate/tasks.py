"""Tasks with the mistakes and looks of an agent, made by rule from gold actions: `tasks.py < airline_tasks.jsonl`.

Before a read one of the same kind asks for what is not there, and behind every write what it named is read back.
"""

import json
import sys

READ_BACK = {"reservation_id": "get_reservation_details", "order_id": "get_order_details", "user_id": "get_user_details"}

for line in sys.stdin:
    run = json.loads(line)
    calls = []
    for at, action in enumerate(run.pop("gold")):
        name, arguments = action["name"], action["arguments"]
        key = next((key for key in READ_BACK if isinstance(arguments.get(key), str)), None)
        if name in READ_BACK.values() and key:
            calls.append((name, {key: f"{arguments[key]}_{run['task_id']}{at}"}))
        calls.append((name, arguments))
        reads = name.startswith(("get_", "search_", "list_", "find_", "calculate", "think", "transfer"))
        if key and not reads:
            calls.append((READ_BACK[key], {key: arguments[key]}))
    run["calls"] = [{"turn": turn, "index": 0, "name": name, "arguments": arguments}
                    for turn, (name, arguments) in enumerate(calls)]
    print(json.dumps(run))
