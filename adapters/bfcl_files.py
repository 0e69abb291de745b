#!/usr/bin/env python3
"""`GorillaFileSystem` of PyPI `bfcl-eval` behind the tools of the MCP filesystem server: `python bfcl_files.py`.

The class has a current directory and takes plain names; the server has none and takes paths. A call
walks to the folder of its path with `cd`, one level at a time, and then does what the class has for it.
Answers, errors of `cd` included, are the class's own. Paths start with `${workspace}`, as they do where
the server has a workspace. States are the files, as the snapshot of a workspace is:
`{"files": {"notes/a.txt": "text"}}`, in which folders without files do not show.
"""

import importlib
import importlib.metadata
import json
from pathlib import Path

import bfcl_eval
from bfcl_eval.constants.executable_backend_config import (
    CLASS_FILE_PATH_MAPPING,
    MULTI_TURN_FUNC_DOC_FILE_MAPPING,
)
from protocol import serve

NAME = "GorillaFileSystem"
DOCS = Path(bfcl_eval.__file__).parent / "data" / "multi_turn_func_doc" / MULTI_TURN_FUNC_DOC_FILE_MAPPING[NAME]
WORKSPACE = "${workspace}"

# Tool of the server: the class's functions, the required and the optional arguments, whether it writes.
TOOLS = {
    "list_directory": (["ls"], {"path": "string"}, {}, False),
    "read_text_file": (["cat", "tail"], {"path": "string"}, {"tail": "integer"}, False),
    "search_files": (["find"], {"path": "string", "pattern": "string"}, {}, False),
    "write_file": (["touch", "echo"], {"path": "string", "content": "string"}, {}, True),
    "create_directory": (["mkdir"], {"path": "string"}, {}, True),
    "move_file": (["mv"], {"source": "string", "destination": "string"}, {}, True),
}


class Refused(Exception):
    """What the class answered on the way."""


class Files:
    version = f"bfcl-eval {importlib.metadata.version('bfcl-eval')} {NAME}"

    def __init__(self):
        self.make = getattr(importlib.import_module(CLASS_FILE_PATH_MAPPING[NAME]), NAME)
        docs = [json.loads(line) for line in DOCS.read_text(encoding="utf-8").splitlines() if line.strip()]
        self.docs = {doc["name"]: doc["description"] for doc in docs}

    def open(self, state):
        top = {}
        for path, text in ((state or {}).get("files") or {}).items():
            folder = top
            *parents, name = path.split("/")
            for parent in parents:
                folder = folder.setdefault(parent, {"type": "directory", "contents": {}})["contents"]
            folder[name] = {"type": "file", "content": text}
        self.files = self.make()
        self.files._load_scenario({"root": {"workspace": {"type": "directory", "contents": top}}})

    def tools(self):
        return [
            {
                "name": name,
                "description": " ".join(self.docs[function] for function in functions),
                "parameters": {
                    "type": "object",
                    "properties": {key: {"type": kind} for key, kind in (required | optional).items()},
                    "required": list(required),
                },
                "mutates": mutates,
            }
            for name, (functions, required, optional, mutates) in TOOLS.items()
        ]

    def call(self, name, arguments):
        if name not in TOOLS:
            return {"content": f"no function called {name}", "is_error": True, "error_type": "unknown_tool"}
        try:
            result = getattr(self, name)(**arguments)
        except Refused as refused:
            (result,) = refused.args
        except TypeError as error:
            return {"content": str(error), "is_error": True, "error_type": "invalid_arguments"}
        return {"content": result, "is_error": isinstance(result, dict) and "error" in result}

    def snapshot(self):
        return {"state": {"files": dict(texts(self.files.root, ""))}}

    def list_directory(self, path):
        self.walk(parts(path))
        return self.files.ls(a=True)

    def read_text_file(self, path, tail=None):
        name = self.beside(path)
        return self.files.cat(name) if tail is None else self.files.tail(name, tail)

    def search_files(self, path, pattern):
        self.walk(parts(path))
        return self.files.find(name=pattern)

    def write_file(self, path, content):
        name = self.beside(path)
        # `echo` writes to files that exist.
        made = self.files.touch(name)
        if made and "File exists" not in made["error"]:
            return made
        return self.files.echo(content, name)

    def create_directory(self, path):
        return self.files.mkdir(self.beside(path))

    def move_file(self, source, destination):
        name = self.beside(source)
        here, there = parts(source)[:-1], parts(destination)
        # Into a folder beside it under the same name, or to another name in the same folder: more `mv` cannot.
        if there[:-2] == here and there[-1:] == [name]:
            return self.files.mv(name, there[-2])
        if there[:-1] == here:
            return self.files.mv(name, there[-1])
        return self.files.mv(name, "/".join(there))

    def beside(self, path):
        """Goes to the folder that a path is in; the last name of the path."""
        *folders, name = parts(path) or [""]
        self.walk(folders)
        return name

    def walk(self, folders):
        for folder in ["/", *folders]:
            went = self.files.cd(folder)
            if "error" in went:
                raise Refused(went)


def parts(path):
    return [part for part in path.removeprefix(WORKSPACE).split("/") if part]


def texts(folder, before):
    for name, item in folder.contents.items():
        if hasattr(item, "contents"):
            yield from texts(item, f"{before}{name}/")
        else:
            yield before + name, item.content


serve(Files())
