"""Captures: what a function reads besides its arguments.

The globals of its module, attributes of modules, and the variables of enclosing functions are read
again at each call, as Python does.  Arrays among them become inputs of the graph, everything else
part of the guard; while the function is traced, a copy of it sees traced values in their place.
Functions that it calls, and methods of the objects that it is given, are searched, and copied,
too: all but those of installed packages.
"""

from __future__ import annotations

import dis
import sysconfig
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from opweave.compiler.tree import LIBRARIES
from opweave.opcodes.errors import TraceError

Function = types.FunctionType
READS = ("LOAD_GLOBAL", "LOAD_NAME")
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
INSTALLED = tuple(
    sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")
)


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


def places_of(fn: Any) -> tuple[Place, ...]:
    """What a function, and the functions that it calls, read from outside.

    Of a class: what its methods do.  Modules and classes are left out: nobody puts another in
    their place.
    """
    seen: set[int] = set()
    found = (p for f in (methods(fn).values() if isinstance(fn, type) else (fn,))
             for p in _places(f, seen))  # fmt: skip
    return tuple(dict.fromkeys(found))


def methods(cls: type) -> dict[str, Function]:
    """The functions of a user's class and of its bases, by name."""
    found: dict[str, Function] = {}
    for base in reversed(cls.__mro__):
        for name, value in vars(base).items():
            inner = getattr(value, "__wrapped__", value)
            if is_helper(inner):
                found[name] = inner
    return found


def _places(fn: Any, seen: set[int]) -> Iterator[Place]:
    if not isinstance(fn, Function) or id(fn) in seen:
        return
    seen.add(id(fn))
    for *_, place in chains(fn):
        value = place.read()
        if value is Missing or isinstance(value, types.ModuleType | type):
            continue
        yield place
        inner = getattr(value, "__wrapped__", value)
        if is_helper(inner) or getattr(inner, "__globals__", None) is fn.__globals__:
            yield from _places(inner, seen)


@cache
def _is_installed(file: str) -> bool:
    return file.startswith(INSTALLED) or "-packages" in file


def is_helper(value: Any) -> bool:
    """True for a function of the user's own: neither built in nor of an installed package."""
    return (
        isinstance(value, Function)
        and str(value.__module__).split(".")[0] not in LIBRARIES
        and not _is_installed(value.__code__.co_filename)
    )


def is_own_module(value: Any) -> bool:
    """True for a module of the user's own."""
    return (
        isinstance(value, types.ModuleType)
        and value.__name__.split(".")[0] not in LIBRARIES
        and not _is_installed(getattr(value, "__file__", None) or "")
    )


def chains(fn: Function) -> Iterator[tuple[Place, ...]]:
    """The ways from a function to what it reads: a name, or modules and an attribute."""
    cells = zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
    yield from ((Place.of(name, cell),) for name, cell in cells)
    for first, *attributes in _reads(fn.__code__):
        found = [Place.of(first, fn.__globals__)]
        for name in attributes:
            module = found[-1].read()
            if not is_own_module(module) or name not in vars(module):
                break
            found.append(Place.of(name, vars(module)))
        if found[-1].read() is not Missing:
            yield tuple(found)


@cache
def _reads(code: types.CodeType) -> tuple[tuple[str, ...], ...]:
    """Global names that are read, by nested functions too, each with the attributes behind it."""
    return tuple(map(tuple, _read_in(code)))


def _read_in(code: types.CodeType) -> Iterator[Sequence[str]]:
    path: list[str] = []
    for instruction in dis.get_instructions(code):
        if path and instruction.opname in ATTRIBUTES:
            path.append(instruction.argval)
            continue
        if path:
            yield path
        path = [instruction.argval] if instruction.opname in READS else []
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _reads(constant)


class Outside:
    """A module as a traced function sees it: the copy of its names."""

    def __init__(self, scope: dict[str, Any]):
        self.__dict__ = scope


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
        self.before: dict[int, dict[str, Any]] = {}

    def dress(self, value: Any) -> None:
        """Give an object, which was made again from its attributes, copies of its methods."""
        kind = type(value)
        copies = {name: self._copy(fn) for name, fn in methods(kind).items()}
        dressed = type(kind.__name__, (kind,), {
            **copies, "__module__": kind.__module__, "__opweave_of__": kind,
        })  # fmt: skip
        object.__setattr__(value, "__class__", dressed)  # also of what is frozen

    def begin(self) -> None:
        """Remember what there is before the function runs, see ``check``."""
        self.before = {number: dict(scope) for number, scope in self.scopes.items()}

    def _copy(self, fn: Any) -> Any:
        """The function to trace; what is no function of Python's stays as it is."""
        if not isinstance(fn, Function):
            return fn
        if id(fn) in self.made:
            return self.made[id(fn)]
        cells = tuple(types.CellType() for _ in fn.__closure__ or ())
        scope = self._scope(fn.__globals__)
        made = Function(fn.__code__, scope, fn.__name__, fn.__defaults__, cells or None)
        made.__kwdefaults__ = fn.__kwdefaults__
        made.__dict__.update(fn.__dict__)
        self.made[id(fn)] = made
        ways = list(chains(fn))
        for cell, (place,) in zip(cells, ways, strict=False):
            if place.read() is not Missing:
                cell.cell_contents = self._value(place)
        for place in (place for way in ways[len(cells) :] for place in way):
            self._scope(place.scope)[place.name] = self._value(place)
        return made

    def _scope(self, names: dict[str, Any]) -> dict[str, Any]:
        """One copy of a module's names for all that read them."""
        return self.scopes.setdefault(id(names), dict(names))

    def _value(self, place: Place) -> Any:
        value = place.read()
        if is_own_module(value):
            return Outside(self._scope(vars(value)))
        same = getattr(value, "__globals__", None) is place.scope
        if is_helper(value) or same:
            return self._copy(value)
        if hasattr(value, "__opweave_fused__") and is_helper(value.__wrapped__):
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
                if before.get(name, Missing) is not value and not name.startswith("__"):
                    raise TraceError(
                        f"{function}: assigns the global {name!r}, which a compiled function "
                        "would do once and not at each call; return the value instead"
                    )
