"""The states of functions and classes: a number for each way in which they were found defined.

Before each call what was assumed of a function and of what it uses is looked at, see
``assumptions.py``.
Where one has changed (a method is replaced, a mock is set, code is reloaded, a class gains an
attribute), what is read from outside is searched again, and the function or class has another
state, whose number is part of the guard.  When all is as it was once, so is the number, and
nothing is traced again.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from itertools import count
from typing import Any, NamedTuple

from opweave.compiler.captures.assumptions import Assumptions
from opweave.compiler.captures.binding import function_behind
from opweave.compiler.captures.capture import places_of, places_of_class
from opweave.compiler.captures.owners import Function, is_of_library, is_own_class
from opweave.compiler.captures.places import Place
from opweave.compiler.captures.structure import Identity, Tree

# States of a function or class that are remembered.
MOST_STATES = 16
_numbers = count(1)


class Found(NamedTuple):
    """What a search has found: places that are read, and assumptions."""

    places: tuple[Place, ...]
    assumptions: Assumptions


class State(NamedTuple):
    """What was found once; no two states of a function or class have the same number."""

    number: int
    found: Found


class Definition:
    """A function or class, as it is defined now.

    Args:
        search: looks for what it reads from outside.
        is_first: nobody has asked for it before.
    """

    def __init__(self, search: Callable[[], Found], is_first: bool = True):
        self.search = search
        self.now = State(0 if is_first else next(_numbers), search())
        self.states = [self.now]

    def renewed(self) -> bool:
        """Look at it again; whether it has changed."""
        if self.now.found.assumptions.hold():
            return False
        known = (state for state in self.states if state.found.assumptions.hold())
        found = next(known, None)
        if found is None:
            found = State(next(_numbers), self.search())
            self.states = [*self.states[1 - MOST_STATES :], found]
        self.now = found
        return True


def search_function(fn: Any, is_called: bool = True) -> Found:
    """What a function, and those that it calls, read, and what they are made of."""
    seen: dict[int, Function] = {}
    places = places_of(fn, seen)
    assumptions = Assumptions()
    for function in seen.values():
        assumptions.add_function(function, is_called or function is not fn)
    if hasattr(fn, "__opweave_given__"):
        assumptions.add_given(function_behind, fn)
    return Found(places, assumptions)


def search_class(cls: type, of_objects: bool, asks_types: bool) -> Found:
    """The same of a class of the user's; ``asks_types`` where a function asks for its type."""
    seen: dict[int, Function] = {}
    places = places_of_class(cls, of_objects, seen)
    if asks_types:  # and may make objects of them
        places = (*places, *places_of_class(cls, of_objects=False))
    assumptions = Assumptions()
    assumptions.add_class(cls)
    for function in seen.values():
        assumptions.add_function(function)
    return Found(places, assumptions)


def search_methods(cls: type) -> Found:
    """The same of a class of which only the methods may be replaced."""
    assumptions = Assumptions()
    assumptions.add_class(cls)
    return Found((), assumptions)


def other_classes(leaves: Sequence[Any], trees: Sequence[Any]) -> Iterator[type]:
    """Classes of enumerations and of packages among some values that were taken apart."""
    for leaf in leaves:
        value = leaf.value if type(leaf) is Identity else leaf
        found = value.__self__ if type(value) is types.MethodType else value
        kind = found if isinstance(found, type) else type(found)
        if isinstance(found, type | Enum) and _is_other(kind):
            yield kind
    for tree in trees:
        if isinstance(tree, Tree):
            if _is_other(tree.type):
                yield tree.type
            yield from other_classes((), tree.children)


def _is_other(cls: type) -> bool:
    return not is_of_library(cls.__module__) and not is_own_class(cls)
