"""Who owns some code: the user, an installed package, or the standard library."""

from __future__ import annotations

import inspect
import sys
import sysconfig
import types
from enum import Enum
from functools import cache
from typing import Any

from opweave.compiler.captures.containers import LIBRARIES, remembered

Function = types.FunctionType
INSTALLED = tuple(
    sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")
)


def held(value: Any, name: str, default: Any = None) -> Any:
    """An attribute, unless only ``__getattr__`` may know it: a user's answers to any name."""
    if inspect.getattr_static(value, name, held) is held:
        return default
    return getattr(value, name, default)


@cache
def is_installed(file: str) -> bool:
    """True for a file of the standard library or of an installed package."""
    return file.startswith(INSTALLED) or "-packages" in file


def is_helper(value: Any) -> bool:
    """True for a function of the user's own: neither built in nor of an installed package."""
    return (
        isinstance(value, Function)
        and not is_of_library(value.__module__)
        and not is_installed(value.__code__.co_filename)
    )


def is_own_module(value: Any) -> bool:
    """True for a module of the user's own."""
    return (
        isinstance(value, types.ModuleType)
        and not is_of_library(value.__name__)
        and not is_installed(str(vars(value).get("__file__") or ""))
    )


def has_end(value: Any) -> bool:
    """True for a class of the user's that does something when its objects are gone."""
    return isinstance(value, type) and is_helper(getattr(value, "__del__", None))


@remembered
def is_own_class(cls: type) -> bool:
    """True for a class of the user's own whose attributes may change: no enumeration."""
    if is_of_library(cls.__module__) or issubclass(cls, Enum):
        return False
    module = sys.modules.get(str(cls.__module__))
    return module is None or is_own_module(module)


def is_of_library(module: Any) -> bool:
    """True for the name of a module that is the standard library's or NumPy's."""
    return str(module).split(".")[0] in LIBRARIES
