"""Python's questions about types, answered for a stand-in as for what it stands for.

A function asks ``type(x) is np.ndarray``, ``isinstance(x, Sized)`` or ``hasattr(x, "value")``.
Its copy finds the functions below in the place of the built-in ones, which they ask of all other
values.  Code that is not copied asks for ``__class__``, which stand-ins answer.
"""

from __future__ import annotations

import types
from abc import ABCMeta
from collections.abc import Callable
from typing import Any


def stands_in(kind: type) -> bool:
    """True for the types of stand-ins, whose objects name another class as their own."""
    return hasattr(kind, "__opweave_traced__") or hasattr(kind, "__opweave_stands__")


def class_of(value: Any) -> type:
    """``type(value)`` of the value that a stand-in stands for."""
    kind = type(value)
    if stands_in(kind):
        found: type = value.__class__
        return found
    of: type = vars(kind).get("__opweave_of__", kind)  # a class with copied methods
    return of


class StandIn:
    """Stands for a value, whose class it names as its own."""

    __slots__ = ()
    __opweave_stands__ = True
    _found: Any

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._found)

    def __repr__(self) -> str:
        return repr(self._found)


class ClassOf(StandIn):
    """A class of Python's as a copied function sees it."""

    _found: Any = type

    def __getattr__(self, name: str) -> Any:
        return getattr(self._found, name)

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, self._found)

    def __subclasscheck__(self, cls: type) -> bool:
        return issubclass(cls, self._found)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type]:
        return (self._found,)

    def __getitem__(self, item: Any) -> Any:
        return self._found[item]

    def __or__(self, other: Any) -> Any:
        return self._found | other

    def __ror__(self, other: Any) -> Any:
        return other | self._found

    def __eq__(self, other: object) -> bool:
        return other is self or other is self._found

    def __hash__(self) -> int:
        return hash(self._found)


class TypeOf(ClassOf):
    """``type``, which is asked of what a stand-in stands for."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = class_of(args[0]) if len(args) == 1 and not kwargs else type(*args, **kwargs)
        return self if found is type else found


class ByteArray(ClassOf):
    """``bytearray``, which reads an array's memory; of a stand-in it would read the elements."""

    _found = bytearray

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = (bytes(a) if hasattr(type(a), "_applied") else a for a in args)
        return bytearray(*given, **kwargs)


def is_instance(value: Any, classes: Any) -> bool:
    """``isinstance``: a traced array is an instance of what an array is an instance of."""
    kind = type(value)
    if not stands_in(kind):
        return isinstance(value, classes)
    if isinstance(classes, tuple):
        return any(is_instance(value, one) for one in classes)
    if type(classes) is types.UnionType:
        return any(is_instance(value, one) for one in classes.__args__)
    if type(classes) not in (type, ABCMeta):  # its metaclass may look at the object itself
        return isinstance(value, classes)
    return issubclass(class_of(value), classes)


def _has(value: Any, name: Any) -> bool:
    """Whether the value behind a traced one has an attribute; its class decides, as in NumPy."""
    return any(name in vars(base) for base in class_of(value).__mro__)


def _lacks(value: Any, name: Any) -> bool:
    """Whether a stand-in has an attribute that the value behind it lacks."""
    kind = type(value)
    if not isinstance(name, str) or not stands_in(kind):
        return False
    is_asked = hasattr(kind, "__opweave_traced__") or any(name in vars(b) for b in kind.__mro__)
    return is_asked and not _has(value, name)


def has_attribute(value: Any, name: str) -> bool:
    """``hasattr``."""
    if isinstance(name, str) and hasattr(type(value), "__opweave_traced__"):
        return _has(value, name)
    return not _lacks(value, name) and hasattr(value, name)


def get_attribute(value: Any, name: str, *default: Any) -> Any:
    """``getattr``."""
    if not _lacks(value, name):
        return getattr(value, name, *default)
    if default:
        return default[0]
    kind = class_of(value)
    raise AttributeError(f"'{kind.__module__}.{kind.__name__}' object has no attribute {name!r}")


def is_callable(value: Any) -> bool:
    """``callable``; not asked of a stand-in's own class, which has every method, to refuse."""
    return _has(value, "__call__") if stands_in(type(value)) else callable(value)


# They take the place of the built-in functions of these names.
QUESTIONS: dict[str, Callable[..., Any]] = {
    "type": TypeOf(),
    "isinstance": is_instance,
    "hasattr": has_attribute,
    "getattr": get_attribute,
    "callable": is_callable,
    "bytearray": ByteArray(),
}
