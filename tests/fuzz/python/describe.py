"""What a value is, as data that stays when the value changes; and the first difference of two.

An object that can change has a number, in the order in which objects are met: where two values are
one object by Python they are one by opweave.
"""

from __future__ import annotations

import collections
import functools
import io
import re
import threading
import types
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..scripts.judge import PLACES, bits_differ, differs

# Attributes of arrays of subclasses that are compared besides ``vars``.
OF_ARRAYS = ("mask", "unit", "tag")
DEEPEST = 12
# Types by Python and by opweave that are no difference: a memmap is read as the array that it is.
AS_GOOD = {("numpy.memmap", "numpy.ndarray")}

# Where an object lies, which differs between any two.
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}")


def placeless(text: str) -> str:
    """A text without the addresses of objects."""
    return ADDRESS.sub("0x", text)


@dataclass
class Described:
    """A value.

    Attributes:
        kind: its type.
        text: what it is, where that is a text.
        values: of an array or a number of NumPy.
        number: of the object, if it can change.
        parts: what it holds, by name.
    """

    kind: str
    text: str = ""
    values: Any = None
    number: int = 0
    parts: list[tuple[str, Described]] = field(default_factory=list)

    def __str__(self) -> str:
        shown = self.text or (f"{self.values!r}" if self.values is not None else "")
        parts = ", ".join(f"{n}: {p}" for n, p in self.parts[:4])
        return f"{self.kind} {shown or parts}"[:160]


class Describer:
    """Describes values of one side; objects keep their numbers from call to call."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        self.kept: list[Any] = []  # so that no id comes twice
        self.arrays: list[tuple[str, Any]] = []
        self.open: set[int] = set()

    def number(self, value: Any) -> int:
        if id(value) not in self.numbers:
            self.numbers[id(value)] = len(self.numbers) + 1
            self.kept.append(value)
        return self.numbers[id(value)]

    def __call__(self, value: Any, path: str = "", depth: int = 0) -> Described:
        kind = name_of(type(value))
        if depth > DEEPEST:
            return Described(kind)
        if issubclass(type(value), np.ndarray):  # an object may say that it is one
            return self.array(kind, value, path, depth)
        if issubclass(type(value), STEADY) or kind == "numpy.void":
            return Described(kind, placeless(f"{value!r}"))
        if issubclass(type(value), np.generic):
            return Described(kind, str(value.dtype), np.array(value))
        if issubclass(type(value), NAMED):
            return Described(kind, name_of(value))
        made = Described(
            kind, number=0 if type(value) in (tuple, frozenset) else self.number(value)
        )
        if id(value) in self.open:
            return made  # it holds itself
        self.open.add(id(value))
        for name, part in parts_of(value):
            made.parts.append((name, self(part, f"{path}{name}", depth + 1)))
        self.open.discard(id(value))
        return made

    def array(self, kind: str, value: Any, path: str, depth: int) -> Described:
        self.arrays.append((path, value))
        made = Described(kind, f"{value.dtype}{list(value.shape)}", number=self.number(value))
        plain = (
            np.array(value.view(np.ndarray))
            if not isinstance(value, np.ma.MaskedArray)
            else np.array(value.data)
        )
        if value.dtype.kind == "O":
            made.parts.append(("values", self(plain.tolist(), path, depth + 1)))
        elif value.dtype.kind in "VMmSU":
            made.parts.append(("values", Described("text", repr(plain.tolist()))))
        else:
            made.values = plain
        if type(value) is not np.ndarray:
            found = {n: getattr(value, n) for n in OF_ARRAYS if hasattr(value, n)}
            made.parts += [(f".{n}", self(v, f"{path}.{n}", depth + 1)) for n, v in found.items()]
        return made

    def sharing(self) -> list[tuple[str, str]]:
        """Paths of the arrays met since the last time that share memory."""
        arrays, self.arrays = self.arrays[:24], []
        return [
            (one, other)
            for n, (one, a) in enumerate(arrays)
            for other, b in arrays[:n]
            if a.dtype.kind != "O" and np.may_share_memory(a, b) and np.shares_memory(a, b)
        ]


STEADY = (
    type(None), bool, int, float, complex, str, bytes, np.dtype, slice, range, type(Ellipsis), type(NotImplemented),
)  # fmt: skip
# What is compared by its name.
NAMED = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, np.ufunc)


def name_of(value: Any) -> str:
    """Module and name of a class, function or module."""
    module = getattr(value, "__module__", None) or ""
    return f"{module}.{getattr(value, '__qualname__', None) or getattr(value, '__name__', value)}"


def parts_of(value: Any) -> Iterator[tuple[str, Any]]:
    """What an object holds; of an iterator nothing, since asking would change it."""
    if isinstance(value, Mapping | collections.UserDict):
        for n, key in enumerate(value):
            yield f"key {n}", key
            yield f"[{key!r:.20}]" if isinstance(key, str | int) else f"[{n}]", value[key]
    elif isinstance(value, Set):
        yield "items", sorted(map(repr, value))
    elif isinstance(value, list | tuple | collections.deque):
        for n, item in enumerate(value):
            yield f"[{n}]", item
    elif isinstance(value, BaseException | functools.partial):
        yield ".args", value.args
    elif type(value) is io.StringIO:
        yield "text", value.getvalue()
    elif type(value) is threading.Event:
        yield "is set", value.is_set()
    elif type(value) is np.random.Generator:
        yield "state", str(value.bit_generator.state)
    if isinstance(value, types.SimpleNamespace) or type(value).__module__ in OWN_MODULES:
        for name, item in _attributes(value).items():
            yield f".{name}", item


OWN_MODULES = ("fuzz_program", "fuzz_foreign", "fuzz_own")


def _attributes(value: Any) -> dict[str, Any]:
    slots = getattr(type(value), "__slots__", ())
    found = {n: object.__getattribute__(value, n) for n in slots if hasattr(value, n)}
    try:
        return found | dict(object.__getattribute__(value, "__dict__"))
    except AttributeError:
        return found


def difference(want: Described, got: Described, path: str, rounded: bool = False) -> str:
    """The first difference, or ""."""
    if want.kind != got.kind and (want.kind, got.kind) not in AS_GOOD:
        return f"{path}: {want} by Python, {got} by opweave"
    if want.text != got.text:
        return f"{path}: {want} by Python, {got} by opweave"
    if want.values is not None and _values_differ(want.values, got.values, rounded):
        return f"{path}: {want} by Python, {got} by opweave"
    names, others = [n for n, _ in want.parts], [n for n, _ in got.parts]
    for (name, one), (other, two) in zip(want.parts, got.parts, strict=False):
        if name != other:
            break
        found = difference(one, two, f"{path}{name}", rounded)
        if found:
            return found
    if names != others:
        return f"{path}: holds {names} by Python, {others} by opweave"
    return ""


def renumbered(want: Described, got: Described, path: str) -> str:
    """The first object that is another one, or ""."""
    if want.number != got.number:
        return f"{path}: {want.kind} is object {want.number} by Python, {got.number} by opweave"
    for (name, one), (_, two) in zip(want.parts, got.parts, strict=True):
        found = renumbered(one, two, f"{path}{name}")
        if found:
            return found
    return ""


def _values_differ(x: Any, y: Any, rounded: bool) -> bool:
    if x.dtype.char in "gG":  # no integer has as many bits
        return bool(differs(x, y, 0).any())
    if x.dtype.kind not in "fc":
        return bool(x.tobytes() != y.tobytes())
    if not rounded:
        return bool((bits_differ(x, y) & ~(np.isnan(x) & np.isnan(y)).reshape(-1)).any())
    largest = float(np.abs(x[np.isfinite(x)]).max(initial=1.0))
    return bool(differs(x, y, PLACES * float(np.finfo(x.dtype).eps) * largest).any())
