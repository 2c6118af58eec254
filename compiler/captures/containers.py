"""What is taken apart: containers, and objects of the user's own classes."""

from __future__ import annotations

import dataclasses
import sys
from abc import ABCMeta
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial, wraps
from typing import Any
from weakref import ReferenceType, ref

from opweave.compiler.captures.structure import MAPPINGS, is_namespace
from opweave.compiler.captures.versions import version, version_field
from opweave.compiler.traced.foreign import is_foreign

# Whose objects are never taken apart.
LIBRARIES = frozenset(
    {"builtins", "numpy", "cupy", "opweave", "functools", *sys.stdlib_module_names}
)


# Types whose objects are taken apart without a look at their class.
PLAIN_CONTAINERS = frozenset({tuple, list, type(None), partial, *MAPPINGS})


# Protocols of arrays, which are leaves.
ARRAYS = ("__array__", "__array_interface__", "__dlpack__", "__cuda_array_interface__")


def remembered(function: Callable[[type], bool]) -> Callable[[type], bool]:
    """Remember answers about classes until they change; drop a class that nobody else holds."""
    known: dict[int, tuple[ReferenceType[type], Sequence[int], int, bool]] = {}

    @wraps(function)
    def asked(kind: type) -> bool:
        number = id(kind)
        found = known.get(number)
        if found is None or found[0]() is not kind or found[1][0] != found[2]:
            watched, field = ref(kind, lambda _: known.pop(number, None)), version_field(kind)
            before = version(kind, field)
            found = known[number] = watched, field, before, function(kind)
        return found[3]

    return asked


def is_container(value: Any) -> bool:
    """True for what ``flatten`` takes apart."""
    kind = type(value)
    return (
        kind in PLAIN_CONTAINERS
        or is_namespace(kind)
        or (issubclass(kind, tuple) and hasattr(kind, "_fields"))
        or (dataclasses.is_dataclass(kind) and not _is_of_library(kind))
        or is_object(value)
    )


def _is_of_library(kind: type) -> bool:
    return kind.__module__.split(".")[0] in LIBRARIES


def is_object(value: Any) -> bool:
    """True for an instance of a user's own class, which holds its attributes in a dict alone."""
    return is_class_of_objects(type(value)) and type(getattr(value, "__dict__", None)) is dict


@remembered
def is_class_of_objects(kind: type) -> bool:
    """True for a user's own class of ``is_object``."""
    return (
        all(getattr(kind, n) is getattr(object, n) for n in ("__new__", "__getattribute__"))
        and not _is_of_library(kind)
        and not is_foreign(kind)
        and not issubclass(kind, type | Enum)
        and type(kind) in (type, ABCMeta)  # others, and the next, may keep a list of subclasses
        and not any("__init_subclass__" in vars(b) for b in kind.__mro__ if not _is_of_library(b))
        and not any(hasattr(kind, protocol) for protocol in ARRAYS)
        and not any(vars(base).get("__slots__") for base in kind.__mro__)
    )
