"""Four tools that answer alike whenever they are asked (`kind = "process"`)."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "adapters"))
from protocol import serve


class World:
    version = "world 1"

    def open(self, state):
        pass

    def tools(self):
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
        return [{"name": name, "mutates": False, "parameters": schema} for name in ("one", "two", "three", "four")]

    def call(self, name, arguments):
        words = " ".join(f"{name}{word}" for word in range(arguments["n"] % 5 + 12))
        return {"content": {"n": arguments["n"], "said": words}, "is_error": False}


serve(World())
