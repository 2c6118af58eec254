"""Settling: what a function that runs in parts has put into objects of others becomes plain.

The function computes with stand-ins for arrays and numbers.  An object that it sees itself, and
not as a copy, may hold some when it returns: these are replaced by what they stand for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from opweave.compiler.capture import is_own_class
from opweave.compiler.questions import stands_in

# Modules of the standard library whose objects hold what they are given.
HOLDING = ("collections", "queue", "types", "argparse")


class Settling:
    """Replaces stand-ins within objects.

    Args:
        concrete: says by what.
        known: what else is replaced, by the identities of copies.
    """

    def __init__(self, concrete: Callable[[Any], Any], known: Mapping[int, Any] = {}):
        self.concrete = concrete
        self.known = known
        self.seen: dict[int, Any] = {}

    def settled(self, value: Any) -> Any:
        """What a value is; an object is the same one, settled inside."""
        kind = type(value)
        if id(value) in self.known:
            return self.known[id(value)]
        if stands_in(kind) or kind is FunctionType:
            return self.concrete(value)
        if id(value) in self.seen:
            return self.seen[id(value)][1]
        self.seen[id(value)] = value, value  # held, so that nothing else gets its number
        if issubclass(kind, tuple):
            self.seen[id(value)] = value, self._tuple(value)
            return self.seen[id(value)][1]
        if issubclass(kind, dict):
            self._keys(value)
            self._fill(list(value.items()), value.__setitem__)
        elif issubclass(kind, list | deque):
            self._fill(list(enumerate(value)), value.__setitem__)
        elif issubclass(kind, set):
            self._set(value)
        if not issubclass(kind, type) and (kind.__module__ in HOLDING or is_own_class(kind)):
            self._object(value)
        return value

    def _fill(self, pairs: list[Any], put: Callable[[Any, Any], Any]) -> None:
        for key, item in pairs:
            made = self.settled(item)
            if made is not item:
                put(key, made)

    def _keys(self, value: dict[Any, Any]) -> None:
        if any(stands_in(type(key)) for key in value):
            items = [(self.settled(key), item) for key, item in value.items()]
            value.clear()
            value.update(items)

    def _tuple(self, value: Any) -> Any:
        items = list(map(self.settled, value))
        if all(a is b for a, b in zip(items, value, strict=True)):
            return value
        kind = type(value)
        return kind(*items) if hasattr(kind, "_fields") else kind(items)

    def _set(self, value: set[Any]) -> None:
        for item in list(value):
            made = self.settled(item)
            if made is not item:
                value.discard(item)
                value.add(made)

    def _object(self, value: Any) -> None:
        def put(name: str, made: Any) -> None:
            object.__setattr__(value, name, made)

        names = [name for base in type(value).__mro__ for name in _slots(base)]
        self._fill(list(getattr(value, "__dict__", {}).items()), put)
        held = [(name, getattr(value, name)) for name in names if hasattr(value, name)]
        self._fill(held, put)


def _slots(base: type) -> tuple[str, ...]:
    found = vars(base).get("__slots__", ())
    return (found,) if isinstance(found, str) else tuple(found)
