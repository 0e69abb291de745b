"""A small store (`kind = "process"`) that writes down every call that it sees in the file SEEN."""

import hashlib
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "adapters"))
from protocol import serve

TEXT = {"type": "string", "description": "The name of the entry"}


def tool(name, mutates, **parameters):
    schema = {"type": "object", "properties": parameters}
    return {"name": name, "description": f"Calls {name} of the store.", "mutates": mutates, "parameters": schema}


class Store:
    version = "store 1"

    def open(self, state):
        self.entries = dict(state or {})

    def tools(self):
        return [tool("get_entry", False, key=TEXT), tool("list_entries", False),
                tool("put_entry", True, key=TEXT, value={"type": "integer"}),
                tool("add_to", True, key=TEXT, n={"type": "integer"})]

    def call(self, name, arguments):
        if "SEEN" in os.environ:
            with open(os.environ["SEEN"], "a") as seen:
                seen.write(json.dumps([name, arguments]) + "\n")
        if name == "get_entry":
            content = {"entry_key": arguments["key"], "value": self.entries.get(arguments["key"])}
        elif name == "list_entries":
            content = {"entries": sorted(self.entries), "count": len(self.entries)}
        elif name == "put_entry":
            self.entries[arguments["key"]] = arguments["value"]
            content = {"done": True}
        elif name == "add_to":
            self.entries[arguments["key"]] = self.entries.get(arguments["key"], 0) + arguments["n"]
            content = {"done": True, "sum": self.entries[arguments["key"]]}
        else:
            raise KeyError(name)
        return {"content": content, "is_error": False, "state_hash": self.hash()}

    def hash(self):
        return hashlib.sha256(json.dumps(self.entries, sort_keys=True).encode()).hexdigest()[:16]

    def snapshot(self):
        return {"state": self.entries, "state_hash": self.hash()}


serve(Store())
