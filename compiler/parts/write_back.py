"""Settling: replace the stand-ins that a function in parts has put into objects of others.

The function computes with stand-ins for arrays and numbers.  When it returns, objects that it saw
themselves, not as copies, may hold some of these.  They are replaced by what they stand for.
"""

from __future__ import annotations

import functools
import gc
import itertools
from collections import deque
from collections.abc import Callable, Iterator, Mapping, MappingView
from functools import partial
from types import FunctionType, GeneratorType, MappingProxyType, MethodType, TracebackType
from typing import Any

import numpy as np

from opweave.compiler.captures.owners import is_own_class
from opweave.compiler.captures.structure import has_attributes
from opweave.compiler.tracing.questions import stands_in

# Modules of the standard library whose objects hold what they are given.
HOLDING = ("collections", "queue", "types", "argparse", "contextlib")
# What holds containers, and can be settled only inside of them.
ITERATING = (Iterator, MappingView, MappingProxyType)
ITERATED = ("builtins", "itertools", "collections")
# Iterators of other modules that are made again with what they hold.
AGAIN = (
    itertools.repeat, itertools.product, itertools.permutations, itertools.combinations,
    itertools.combinations_with_replacement,
)  # fmt: skip
# Objects whose code runs after the function, and its frames.
RUNNING = (FunctionType, GeneratorType, TracebackType)
# Where an exception holds others.
OF_ERRORS = ("args", "__cause__", "__context__", "__traceback__")
# Types whose objects hold no others.
PLAIN = frozenset({np.ndarray, int, float, complex, bool, str, bytes, type(None)})


class Settling:
    """Replaces stand-ins within objects.

    Objects that can be changed are changed in place.  They wait in a list, without recursion,
    since objects may hold others to any depth.

    Args:
        concrete: gives what a stand-in stands for.
        known: what takes the place of copies, by the identities of the copies.
    """

    def __init__(self, concrete: Callable[[Any], Any], known: Mapping[int, Any] = {}):
        self.concrete = concrete
        self.known = known
        self.seen: dict[int, Any] = {}
        self.waiting: list[Any] = []

    def settled(self, value: Any) -> Any:
        """A value without stand-ins; an object stays the same one, and is settled inside."""
        made = self._made(value)
        while self.waiting:
            self._inside(self.waiting.pop())
        return made

    def _made(self, value: Any) -> Any:
        """What takes the place of a value; what it holds may be settled later."""
        kind = type(value)
        if id(value) in self.known:
            return self.known[id(value)]
        if kind in PLAIN and not (kind is np.ndarray and value.dtype.hasobject):
            return value
        if stands_in(kind) or kind in RUNNING:
            return self.concrete(value)
        if id(value) in self.seen:
            return self.seen[id(value)][1]
        self.seen[id(value)] = value, value  # held, so that its id is not given to another object
        if issubclass(kind, tuple | frozenset):
            self.seen[id(value)] = value, self._tuple(value)
            return self.seen[id(value)][1]
        if kind is MethodType:
            self.seen[id(value)] = value, self._method(value)
            return self.seen[id(value)][1]
        if kind in AGAIN or (issubclass(kind, Iterator) and kind.__module__ == "builtins"):
            self.seen[id(value)] = value, self._iterator(value)
            return self.seen[id(value)][1]
        self.waiting.append(value)
        return value

    def _inside(self, value: Any) -> None:
        kind = type(value)
        if issubclass(kind, dict):
            self._keys(value)
            self._fill(list(value.items()), value.__setitem__)
        elif issubclass(kind, list | deque):
            self._fill(list(enumerate(value)), value.__setitem__)
        elif issubclass(kind, set):
            self._set(value)
        elif issubclass(kind, BaseException):
            self._fill(
                [(name, getattr(value, name)) for name in OF_ERRORS], partial(setattr, value)
            )
        elif issubclass(kind, partial):
            made = self._tuple((value.func, value.args, value.keywords))
            if any(a is not b for a, b in zip(made, (value.func, value.args), strict=False)):
                value.__setstate__((*made, vars(value)))
        elif issubclass(kind, type):
            if is_made_inside(value):
                self._class(value)
        elif issubclass(kind, np.ndarray) and value.dtype == object and value.flags.writeable:
            self._fill(list(enumerate(value.flat)), value.flat.__setitem__)
        elif issubclass(kind, ITERATING) and kind.__module__ in ITERATED:
            for item in gc.get_referents(value):
                self._made(item)
        if not issubclass(kind, type) and (kind.__module__ in HOLDING or is_own_class(kind)):
            self._object(value)

    def _fill(self, pairs: list[Any], put: Callable[[Any, Any], Any]) -> None:
        for key, item in pairs:
            made = self._made(item)
            if made is not item:
                put(key, made)

    def _keys(self, value: dict[Any, Any]) -> None:
        items = [(self._made(key), item) for key, item in value.items()]
        if any(made is not key for (made, _), key in zip(items, value, strict=True)):
            value.clear()
            for key, item in items:  # not by update(), which adds up in a Counter
                value[key] = item

    def _tuple(self, value: Any) -> Any:
        held = list(value)  # once: a set has no order of its own
        items = list(map(self._made, held))
        if all(a is b for a, b in zip(items, held, strict=True)):
            return value
        kind = type(value)
        return kind(*items) if hasattr(kind, "_fields") else kind(items)

    def _iterator(self, value: Any) -> Any:
        """One of Python's own iterators, made again; a new one where it goes over a tuple."""
        made = value.__reduce__()
        function, args, *states = found = self._tuple(made)
        if found is made:
            return value
        again = function(*args)
        for state in states:
            again.__setstate__(state)
        return again

    def _set(self, value: set[Any]) -> None:
        for item in list(value):
            made = self._made(item)
            if made is not item:
                value.discard(item)
                value.add(made)

    def _method(self, value: MethodType) -> Any:
        owner, function = value.__self__, value.__func__
        made = self._made(owner)
        if stands_in(type(owner)):
            return getattr(made, function.__name__)
        called = self._made(function)
        return value if made is owner and called is function else MethodType(called, made)

    def _class(self, value: type) -> None:
        """A class that the function has made, with what its methods hold."""
        for name, item in list(vars(value).items()):
            made = self._member(item)
            if made is not item:
                setattr(value, name, made)

    def _member(self, item: Any) -> Any:
        if isinstance(item, staticmethod | classmethod):
            made = self._made(item.__func__)
            return item if made is item.__func__ else type(item)(made)
        if type(item) is property:
            parts = item.fget, item.fset, item.fdel
            made = self._tuple(parts)
            return item if made is parts else property(made[0], made[1], made[2], item.__doc__)
        if isinstance(item, functools.cached_property):
            item.func = self._made(item.func)
        return self._made(item)

    def _object(self, value: Any) -> None:
        def put(name: str, made: Any) -> None:
            object.__setattr__(value, name, made)

        if is_made_inside(type(value)):
            self._made(type(value))
        names = [name for base in type(value).__mro__ for name in _slots(base)]
        self._fill(list(vars(value).items()) if has_attributes(value) else [], put)
        held = [(name, getattr(value, name)) for name in names if hasattr(value, name)]
        self._fill(held, put)


def is_made_inside(cls: type) -> bool:
    """True for a class of the user's own that may have been made by a call of a function."""
    return "<locals>" in cls.__qualname__ and is_own_class(cls)


def _slots(base: type) -> tuple[str, ...]:
    found = vars(base).get("__slots__", ())
    return (found,) if isinstance(found, str) else tuple(found)
