"""Lets the data set classes of trainers be imported without the libraries that they train with.

torch, transformers and their kin are hundreds of megabytes, and a data set class uses them for a base class and for a
last conversion. `install()` puts stand-ins into `sys.modules` for them: any attribute of such a module is an empty
class. The code of the data set classes is the real one, from PyPI.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import pathlib
import sys
import types

import numpy as np

STOOD_IN = {
    "PIL", "accelerate", "azure", "boto3", "botocore", "brotli", "codetiming", "google", "hydra", "matplotlib", "oci",
    "omegaconf", "paramiko", "peft", "ray", "snappy", "tensordict", "torch", "torchvision", "transformers", "zstd",
}  # fmt: skip


class Empty(type):
    """A class whose attributes are classes as empty as itself."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = Empty(name, (), {})
        setattr(cls, name, made)
        return made


class Stand(types.ModuleType):
    """A module of which every attribute is an empty class."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = Empty(name, (), {"__module__": self.__name__})
        setattr(self, name, made)
        return made


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, extra):
        self.extra = extra

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in STOOD_IN or name in self.extra:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Stand(spec.name)

    def exec_module(self, module):
        pass


def install(*extra):
    """Stand-ins for the heavy libraries, and for the modules of `extra`."""
    sys.meta_path.insert(0, Finder(set(extra)))
    import torch
    import torch.distributed
    import torch.utils.data

    # One process, no workers.
    torch.distributed.is_available = torch.distributed.is_initialized = lambda: False
    torch.utils.data.get_worker_info = lambda: None
    torch.tensor = lambda values, **_: np.asarray(values)
    torch.uint8 = np.uint8
    # Names that classes derive from or ask for must be classes of a kind.
    torch.utils.data.Dataset = type("Dataset", (), {})
    torch.utils.data.IterableDataset = type("IterableDataset", (), {})


def packages(root, *names):
    """Registers packages without running their `__init__`, which would import all that trains."""
    for name in names:
        package = types.ModuleType(name)
        package.__path__ = [str(pathlib.Path(root, *name.split(".")))]
        package.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        sys.modules[name] = package
        above, _, own = name.rpartition(".")
        if above:
            setattr(sys.modules[above], own, package)


def folder_of(package):
    """The folder that a package stands in, found without importing it."""
    spec = importlib.util.find_spec(package)
    return pathlib.Path(spec.origin).parent.parent
