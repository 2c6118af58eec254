"""Captures: what a function reads besides its arguments.

The globals of its module and the variables of enclosing functions are read again at each call, as
Python does.  Arrays among them become inputs of the graph, everything else part of the guard;
while the function is traced, a copy of it sees traced values in their place.  Functions of the
same module or package that it calls are searched, and copied, too.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from opweave.opcodes.errors import TraceError

Function = types.FunctionType
READS = ("LOAD_GLOBAL", "LOAD_NAME")


class Missing:
    """The value of a name that is not there."""


@dataclass(frozen=True)
class Place:
    """A name outside of a function, which holds a value at each call.

    Attributes:
        name: as the function's source spells it.
        number: identity of the scope.
        scope: the module's dict, or the cell of a variable.
    """

    name: str
    number: int
    scope: Any = field(compare=False, repr=False)

    @classmethod
    def of(cls, name: str, scope: Any) -> Place:
        return cls(name, id(scope), scope)

    def read(self) -> Any:
        """The value now; ``Missing`` where there is none."""
        if isinstance(self.scope, dict):
            return self.scope.get(self.name, Missing)
        try:
            return self.scope.cell_contents
        except ValueError:  # an empty cell
            return Missing


def places_of(fn: Callable[..., Any]) -> tuple[Place, ...]:
    """What a function, and the functions of its module that it calls, read from outside.

    Modules, classes and what is built in are left out: nobody puts another in their place.
    """
    return tuple(dict.fromkeys(_places(fn, set())))


def _places(fn: Any, seen: set[int]) -> Iterator[Place]:
    if not isinstance(fn, Function) or id(fn) in seen:
        return
    seen.add(id(fn))
    for place in _named(fn):
        value = place.read()
        if value is Missing or isinstance(value, types.ModuleType | type):
            continue
        yield place
        inner = getattr(value, "__wrapped__", value)
        if is_helper(inner, fn):
            yield from _places(inner, seen)


def is_helper(value: Any, fn: Function) -> bool:
    """True for a function of the same module or package, whose source is part of the function."""
    if not isinstance(value, Function):
        return False
    roots = {str(f.__module__).split(".")[0] for f in (value, fn)}
    return value.__globals__ is fn.__globals__ or (len(roots) == 1 and "__main__" not in roots)


def _named(fn: Function) -> Iterator[Place]:
    cells = zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
    yield from (Place.of(name, cell) for name, cell in cells)
    yield from (Place.of(n, fn.__globals__) for n in _globals(fn.__code__) if n in fn.__globals__)


def _globals(code: types.CodeType) -> Iterator[str]:
    """Names that are read from a module, by nested functions too."""
    yield from (i.argval for i in dis.get_instructions(code) if i.opname in READS)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _globals(constant)


class Substituted:
    """A function and its helpers, copied so that they see other values in given places."""

    def __init__(
        self, fn: Callable[..., Any], values: Mapping[Place, Any], modules: Callable[[Any], Any]
    ):
        self.values = dict(values)
        self.modules = modules
        self.scopes: dict[int, dict[str, Any]] = {}
        self.made: dict[int, Any] = {}
        self.function = self._copy(fn)
        self.before = {number: dict(scope) for number, scope in self.scopes.items()}

    def _copy(self, fn: Any) -> Any:
        """The function to trace; what is no function of Python's stays as it is."""
        if not isinstance(fn, Function):
            return fn
        if id(fn) in self.made:
            return self.made[id(fn)]
        scope = self.scopes.setdefault(id(fn.__globals__), dict(fn.__globals__))
        cells = tuple(types.CellType() for _ in fn.__closure__ or ())
        made = Function(fn.__code__, scope, fn.__name__, fn.__defaults__, cells or None)
        made.__kwdefaults__ = fn.__kwdefaults__
        made.__dict__.update(fn.__dict__)
        self.made[id(fn)] = made
        places = list(_named(fn))
        for cell, place in zip(cells, places, strict=False):
            if place.read() is not Missing:
                cell.cell_contents = self._value(place, fn)
        for place in places[len(cells) :]:
            scope[place.name] = self._value(place, fn)
        return made

    def _value(self, place: Place, fn: Function) -> Any:
        value = place.read()
        if is_helper(value, fn):
            return self._copy(value)
        if hasattr(value, "__opweave_fused__") and is_helper(value.__wrapped__, fn):
            return self._copy(value.__wrapped__)  # inside another it is the function itself
        return self.values[place] if place in self.values else self.modules(value)

    def check(self, function: str) -> None:
        """Refuse what the function assigned outside of itself: its copy has it, the user not.

        Raises:
            TraceError: names it.
        """
        for number, scope in self.scopes.items():
            before = self.before[number]
            for name, value in scope.items():
                if before.get(name, Missing) is not value:
                    raise TraceError(
                        f"{function}: assigns the global {name!r}, which a compiled function "
                        "would do once and not at each call; return the value instead"
                    )
