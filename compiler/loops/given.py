"""What a call gives to a loop and gets from it, word by word; and what it was lowered from."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import BuiltinMethodType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from opweave.compiler.captures.kinds import BY_TYPE, is_constant
from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.left import Result
from opweave.compiler.lines.lists import Appended, KeptName
from opweave.compiler.lines.numbers import literal
from opweave.compiler.lines.read_lists import ReadList
from opweave.compiler.lines.values import Held, Number, NumberType, Several, Size, Unchanging
from opweave.compiler.loops.functions.joining import of_numpy

# Python's integers that a call gives may be so large.
LARGEST_GIVEN = 1 << 40
FUNCTION = "loop"
# What Python may raise where it computes numbers before the loop, to which it may never come.
ERRORS_OUTSIDE = (
    ArithmeticError, AttributeError, LookupError, NameError, TypeError, ValueError,
)  # fmt: skip
# Attributes of a function of the user's that say what it does.
OWN = ("__code__", "__defaults__")


class Parameter(NamedTuple):
    """A word that C gets from a call.

    Attributes:
        name: of Python.
        part: "pointer", "size", "stride" or "number" of what it holds, "real" or "imag" of a
            complex number, or "outside": Python computes ``code`` of what names hold; or
            "library": the routines of BLAS.
    """

    c_type: str
    c_name: str
    part: str
    name: str
    axis: int = 0
    code: Any = None
    type: NumberType = int


class OutsideName(NamedTuple):
    """A name outside of the loop, and what it has held."""

    owner: Any
    name: str
    value: Any

    @property
    def holds(self) -> bool:
        """Whether it still holds that."""
        try:
            found = found_in(self.owner, self.name)
        except NoLoopError:
            return False
        if type(self.value) in BY_TYPE | {str}:
            return type(found) is type(self.value) and repr(found) == repr(self.value)
        if isinstance(self.value, BuiltinMethodType):  # np.add.outer is made anew at each look
            return bool(found == self.value)
        return found is self.value


class OutsideNames:
    """The names outside of a loop that were asked for."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, str], OutsideName] = {}

    @property
    def all(self) -> tuple[OutsideName, ...]:
        return tuple(self._found.values())

    def value(self, owner: Any, name: str) -> Any:
        """What a name of a module holds, or one that a function reads from outside."""
        if (key := (id(owner), name)) not in self._found:
            self._found[key] = OutsideName(owner, name, found_in(owner, name))
        return self._found[key].value


def checked(asked: Sequence[OutsideName]) -> Callable[[], bool]:
    """A function that asks whether all names still hold what they held.

    It is made as text, since it is called often: it looks at the objects.  Where one is another,
    they are compared once more.
    """
    known: dict[str, Any] = {"slowly": lambda: all(each.holds for each in asked)}
    parts = []
    for n, each in enumerate(asked):
        owner, name = each.owner, each.name
        known |= {f"o{n}": owner, f"v{n}": each.value}
        if not isinstance(owner, FunctionType) or name in OWN:
            parts.append(f"o{n}.{name} is v{n}")
        elif name in owner.__globals__:
            known[f"o{n}"] = owner.__globals__
            parts.append(f"o{n}.get({name!r}) is v{n}")
        elif name not in owner.__code__.co_freevars:
            known[f"o{n}"] = owner.__globals__
            parts.append(f"{name!r} not in o{n} and builtins.{name} is v{n}")
    known["builtins"] = builtins
    text = " and ".join([*parts, "True" if len(parts) == len(asked) else "slowly()"])
    made: Callable[[], bool] = eval(f"lambda: ({text}) or slowly()", known)
    return made


@dataclass(frozen=True)
class LoweredLoop:
    """A loop in C.

    Attributes:
        source: text of the function ``loop``.
        parameters: what it gets.
        results: what it leaves to names of Python.
        asked: what it read of modules and globals.
        lists: what it appends to; their words stand behind those of the results.
        linked: names by the lists whose last item is what they hold.
        kept: names whose values are handed over however it ends; their words stand behind lists.
        items: lists that it reads or makes; their words stand behind those.
        new_lists: names that hold a list that it has made, and which.
        unbound: names that may be unbound where they are read, by their numbers.
        turns: names that hold the array of one of several names; its place says of which.
        entered: names that may hold what they held before; these arrays are called -1, -2, ...
    """

    source: str
    parameters: tuple[Parameter, ...]
    results: tuple[Result, ...]
    asked: tuple[OutsideName, ...]
    lists: tuple[Appended, ...] = ()
    linked: Mapping[str, str] = field(default_factory=dict)
    kept: tuple[KeptName, ...] = ()
    items: tuple[ReadList, ...] = ()
    new_lists: Mapping[str, ReadList] = field(default_factory=dict)
    unbound: tuple[str, ...] = ()
    turns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    entered: tuple[str, ...] = ()


@dataclass
class LoopCall:
    """What the names of a loop hold at the call that it is lowered for.

    Attributes:
        extents: the number of elements of each name of an extent.
    """

    values: Mapping[str, Any]
    extents: dict[str, int] = field(default_factory=dict)

    def size(self, extent: int) -> Size:
        """The name of an extent: those that are equal in one call are in all that are served."""
        if extent == 1:
            return Size.of(1)
        name = next((n for n, e in self.extents.items() if e == extent), None)
        if name is None:
            name = f"n{len(self.extents)}"
            self.extents[name] = extent
        return Size.of(name)


def locals_of(function: FunctionType) -> frozenset[str]:
    """The names that a function has itself."""
    return frozenset((*function.__code__.co_varnames, *function.__code__.co_cellvars))


def found_in(owner: Any, name: str) -> Any:
    """What a name of a module is, or one that a function reads from outside.

    Raises:
        NoLoopError: there is no such name.
    """
    try:
        if not isinstance(owner, FunctionType) or name in OWN:
            return getattr(owner, name)
        if name in owner.__code__.co_freevars:
            cells = owner.__closure__ or ()
            return cells[owner.__code__.co_freevars.index(name)].cell_contents
        if name in owner.__globals__:
            return owner.__globals__[name]
        return getattr(builtins, name)
    except (AttributeError, ValueError):
        raise NoLoopError(f"{name}, which may not be there") from None


def constant(value: Any) -> Held:
    """What never changes; a tuple of numbers is known item by item."""
    if type(value) is tuple and is_constant(value):
        return Several(tuple(map(constant, value)))
    return literal(value) if type(value) in BY_TYPE else Unchanging(value)


def number_type(value: Any) -> NumberType | None:
    """The type of a number; None for anything else.

    Raises:
        NoLoopError: an integer that is too large for a loop.
    """
    kind = type(value)
    if kind in (bool, float, complex):
        return kind
    if kind is int:
        if abs(value) > LARGEST_GIVEN:
            raise NoLoopError("an integer that is large")
        return int
    if isinstance(value, np.generic):
        found = of_numpy(value.dtype)
        if not Number(found, "").words:
            raise NoLoopError(f"a number of {found}")
        return found
    return None


def is_number(kind: type) -> bool:
    """Whether a word holds numbers of a type."""
    if kind in (bool, int, float):
        return True
    is_numpys = issubclass(kind, np.generic) and np.dtype(kind).kind in "biuf"
    return is_numpys and Number(of_numpy(np.dtype(kind)), "").is_word


def type_of(kind: type) -> NumberType:
    """The type of numbers of Python or NumPy."""
    return kind if kind in (bool, int, float) else of_numpy(np.dtype(kind))


def computed_outside(code: Any, values: Mapping[str, Any]) -> Any:
    """What Python makes of numbers before the loop."""
    return eval(code, {"__builtins__": {}}, dict(values))
