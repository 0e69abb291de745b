#!/usr/bin/env python3
"""Stateful classes of PyPI `bfcl-eval` as an environment: `python bfcl_classes.py GorillaFileSystem TwitterAPI`.

A state to start from is a task's `initial_config`: an object with a scenario for each class. Without names, the
classes are those of the state, in its order. The snapshot
is what BFCL's own checker compares: the attributes of the instances that do not start with `_`.
"""

import copy
import importlib
import importlib.metadata
import json
import sys
from pathlib import Path

import bfcl_eval
from bfcl_eval.constants.executable_backend_config import (
    CLASS_FILE_PATH_MAPPING,
    MULTI_TURN_FUNC_DOC_FILE_MAPPING,
    STATELESS_CLASSES,
)
from protocol import serve

DOCS = Path(bfcl_eval.__file__).parent / "data" / "multi_turn_func_doc"


class Bfcl:
    version = f"bfcl-eval {importlib.metadata.version('bfcl-eval')}"

    def __init__(self, names):
        self.names = names
        self.classes = {}

    def open(self, state):
        names = self.names or list(state or {})
        self.classes = {name: getattr(importlib.import_module(CLASS_FILE_PATH_MAPPING[name]), name) for name in names}
        self.instances = {name: kind() for name, kind in self.classes.items()}
        for name, instance in self.instances.items():
            if name not in STATELESS_CLASSES:
                instance._load_scenario(copy.deepcopy((state or {}).get(name, {})))

    def tools(self):
        lines = [line for n in self.classes for line in open(DOCS / MULTI_TURN_FUNC_DOC_FILE_MAPPING[n])]
        return [json.loads(line) for line in lines if line.strip()]

    def call(self, name, arguments):
        for instance in self.instances.values():
            if not name.startswith("_") and callable(getattr(instance, name, None)):
                try:
                    result = getattr(instance, name)(**arguments)
                except Exception as error:  # what BFCL shows the model
                    return {"content": f"Error during execution: {error}", "is_error": True}
                return {"content": result, "is_error": isinstance(result, dict) and "error" in result}
        return {"content": f"no function called {name}", "is_error": True, "error_type": "unknown_tool"}

    def snapshot(self):
        return {"state": {name: shown(instance) for name, instance in self.instances.items()}}


def shown(value):
    """Plain JSON: objects by their attributes, without the private ones and the way back to the parent."""
    if isinstance(value, dict):
        return {str(key): shown(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [shown(item) for item in value]
    if hasattr(value, "__dict__"):
        attributes = vars(value).items()
        return {key: shown(item) for key, item in attributes if key[0] != "_" and key != "parent"}
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


serve(Bfcl(sys.argv[1:]))
