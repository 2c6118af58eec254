"""Assumptions: what a trace takes for granted, and no value stands for.

The code and the defaults of each function that is run, the methods of each class, the modules and
built-in functions behind names, and that a name which is not there stays away.  They are
compared by identity.  Classes, and the names of modules of others, are looked at only when their
version has changed, see ``versions.py``.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from opweave.compiler.captures.bytecode import names_in
from opweave.compiler.captures.capture import reads_of
from opweave.compiler.captures.checks import (
    CODE,
    DEFAULTS,
    GIVES,
    IN_SCOPE,
    KEYWORDS,
    STILL,
    Check,
    Checked,
    of_place,
)
from opweave.compiler.captures.owners import Function, is_helper, is_own_class, is_own_module
from opweave.compiler.captures.places import Missing, Place
from opweave.compiler.captures.versions import NEVER, version, version_field

# What asks an object for a name that is a value.
ASKING = frozenset({"getattr", "hasattr", "attrgetter", "getattr_static", "__dict__", "dir"})
# What Python and the standard library add to a class where somebody asks for it.
ADDED = frozenset({"__slotnames__", "__annotations__", "__annotations_cache__"})
# A class of C's, in which nothing can be replaced.
IMMUTABLE = 1 << 8


class Versioned:
    """What a class or a scope has; looked at where its version is another."""

    __slots__ = ("field", "found", "owner", "read", "version")

    def __init__(self, owner: Any, read: Callable[[], Mapping[Any, Any]]):
        self.owner = owner
        self.read = read
        self.field = version_field(owner)
        self._look()

    def _look(self) -> None:
        self.found: Mapping[Any, Any] = self.read()
        self.version = NEVER
        self.still()

    def still(self) -> bool:
        """Whether all is as it was, also where the version is another."""
        before, now = version(self.owner, self.field), self.read()
        if not _alike(self.found, now):
            return False
        self.version = before
        return True


class Names:
    """Some names of a scope, and what they stand for there; all of them for None."""

    def __init__(self, scope: dict[str, Any], names: frozenset[str] | None):
        self.scope = scope
        self.names = names

    def __call__(self) -> Mapping[str, Any]:
        if self.names is None:
            return dict(self.scope)
        return {name: self.scope.get(name, Missing) for name in self.names}


class Assumptions(Checked):
    """What is taken for granted, to be asked whether it still holds.

    Attributes:
        added: how often something was added.
    """

    def __init__(self) -> None:
        self.added = 0
        self.checks: list[Check] = []
        self.watched: list[Versioned] = []
        self._checked: set[tuple[int, str]] = set()
        self._names: dict[int, Names] = {}

    @property
    def all(self) -> Sequence[Check]:
        """All checks."""
        return [*self.checks, *[(STILL, watched) for watched in self.watched]]

    def _add(self, *check: Any) -> None:
        self.checks.append(check)
        self._grown()

    def _grown(self) -> None:
        self.added += 1
        self.changed()

    def add_name(self, scope: dict[str, Any], name: str) -> None:
        """What a name stands for in a scope that may change at each call."""
        if (id(scope), name) not in self._checked:
            self._checked.add((id(scope), name))
            self._add(IN_SCOPE, scope, name, scope.get(name, Missing))

    def add_names(self, scope: dict[str, Any], names: Iterable[str] | None) -> None:
        """What some names stand for in a scope that seldom changes; all for None."""
        known = self._names.get(id(scope), Names(scope, frozenset()))
        is_whole = names is None or known.names is None
        wanted = None if is_whole else frozenset((*(known.names or ()), *(names or ())))
        if wanted != known.names:
            self._names[id(scope)] = made = Names(scope, wanted)
            self.watched = [w for w in self.watched if w.read is not known]
            self._watch(scope, made)

    def add_looked_up(self, scope: dict[str, Any], name: str, is_steady: bool) -> None:
        """A name in a scope; ``is_steady`` for one that seldom changes."""
        if is_steady:
            self.add_names(scope, (name,))
        else:
            self.add_name(scope, name)

    def add_function(self, fn: Function, is_called: bool = True) -> None:
        """A function's code and defaults, and the names in it.

        Of one that is not called by a name the defaults come with the arguments.
        """
        self._add(CODE, fn, fn.__code__)
        if is_called:
            self.add_defaults(fn)
        for scope, name, is_steady in _looked_up(fn):
            if isinstance(scope, Place):
                self._add(*of_place(scope, scope.read()))
            else:
                self.add_looked_up(scope, name, is_steady)
        if not ASKING.isdisjoint(names_in(fn.__code__)):
            for helper in filter(is_helper, _named(fn)):
                self.add_names(vars(helper), None)

    def add_defaults(self, fn: Function) -> None:
        """The default values of a function's parameters."""
        self._add(DEFAULTS, fn, fn.__defaults__)
        self._add(KEYWORDS, fn, fn.__kwdefaults__)
        if fn.__kwdefaults__:
            self.add_given(len, fn.__kwdefaults__)
            for name in fn.__kwdefaults__:
                self.add_name(fn.__kwdefaults__, name)

    def add_given(self, function: Callable[[Any], Any], argument: Any) -> None:
        """What a function gives for an argument, always the same object."""
        self._add(GIVES, function, argument, function(argument))

    def add_class(self, cls: type) -> None:
        """The methods of a class and of its bases, and the names of what else they have."""
        self._watch(cls, lambda: _members(cls))
        if type(cls) is not type and is_own_class(type(cls)):
            self._watch(type(cls), lambda: _members(type(cls)))

    def _watch(self, owner: Any, read: Callable[[], Mapping[Any, Any]]) -> None:
        self.watched.append(Versioned(owner, read))
        self._grown()


def _alike(a: Mapping[Any, Any], b: Mapping[Any, Any]) -> bool:
    """The same names for the very same objects."""
    return len(a) == len(b) and all(k in b and b[k] is v for k, v in a.items())


def _members(cls: type) -> Mapping[Any, Any]:
    """What a class's look-ups find, but for values: these are read where they are, see capture."""
    found: dict[Any, Any] = {}
    for number, base in enumerate(cls.__mro__):
        found[number] = base
        if base.__flags__ & IMMUTABLE:
            continue
        for name, value in list(vars(base).items()):
            if name not in ADDED:
                found[number, name] = value if _is_method(name, value) else None
    return found


def _is_method(name: str, value: Any) -> bool:
    return name.startswith(("__", "_abc_")) or hasattr(type(value), "__get__")


def _looked_up(fn: Function) -> Iterator[tuple[Any, str, bool]]:
    """Names that a function looks up and that no place has: a scope or cell, and the name.

    Last whether the scope is of others, and seldom changes.
    """
    for place, attributes in reads_of(fn):
        found, is_global = place.read(), isinstance(place.scope, dict)
        if found is Missing or isinstance(found, types.ModuleType):
            yield place.scope if is_global else place, place.name, False
        if found is Missing and is_global:
            yield fn.__builtins__, place.name, True
        for name in attributes:
            is_module = isinstance(found, types.ModuleType)
            if not is_module and not (is_helper(found) and not hasattr(Function, name)):
                break
            names, is_own = vars(found), not is_module or is_own_module(found)
            found = names.get(name, Missing)
            if found is Missing or isinstance(found, types.ModuleType) or not is_own:
                yield names, name, not is_own


def _named(fn: Function) -> Iterator[Any]:
    """What the names of a function, and of modules of the user's in it, stand for."""
    for place, attributes in reads_of(fn):
        found = place.read()
        yield found
        for name in attributes:
            if not is_own_module(found):
                break
            found = vars(found).get(name, Missing)
            yield found
