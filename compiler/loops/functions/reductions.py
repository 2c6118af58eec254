"""NumPy's reductions inside of a loop, by table: of all elements, or along an axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.arithmetic import as_computed
from opweave.compiler.lines.numbers import literal
from opweave.compiler.lines.values import LONGEST, Array, Elements, Held, Number, Size, Unchanging
from opweave.compiler.loops.statements import Statements
from opweave.opcodes import dtypes

NONE = Unchanging(None)


def _axis_of(what: str, array: Held, axis: Held, keepdims: Held) -> tuple[Array, int | None, bool]:
    """The array of a reduction, the axis that is asked for, and whether it stays."""
    found = as_computed(array)
    if isinstance(found, Number) or not found.rank:
        raise NoLoopError(f"{what} of a number")
    keeps, place = getattr(keepdims, "known", None), getattr(axis, "known", None)
    if type(keeps) is not bool:
        raise NoLoopError(f"{what} with keepdims= that changes")
    if isinstance(axis, Unchanging) and axis.value is None and not keeps:
        return found, None, keeps
    if type(place) is not int or not -found.rank <= place < found.rank:
        raise NoLoopError(f"{what} along this axis")
    place %= found.rank
    return found, None if found.rank == 1 and not keeps else place, keeps


def _reduction(name: str) -> Callable[..., Held]:
    def reduce(
        self: Statements, a: Held, axis: Held = NONE, *, keepdims: Held = literal(False)
    ) -> Held:
        array, place, keeps = _axis_of(name, a, axis, keepdims)
        if place is None:
            return self.reduced(name, array)
        return self.reduced_along(name, array, place, keeps)

    return reduce


def _mean(
    self: Statements, a: Held, axis: Held = NONE, *, keepdims: Held = literal(False)
) -> Held:
    """The sum over the number of elements, as kernels have it."""
    array, place, keeps = _axis_of("mean", a, axis, keepdims)
    if array.dtype.kind in "iub":
        array = _as_elements(self.apply("cast", array, dtype="float64"))
    if array.dtype not in (dtypes.F32, dtypes.F64):
        raise NoLoopError(f"a mean of {array.dtype}")
    sizes = array.sizes if place is None else (array.sizes[place],)
    text = " * ".join(size.factor for size in sizes)
    count = Number(int, self.text.named("int64", text, "n"), None, 0, LONGEST)
    if place is None:
        return self.apply("divide", self.reduced("sum", array), count)
    return self.apply("divide", self.reduced_along("sum", array, place, keeps), count)


def _first(sign: str) -> Callable[..., Held]:
    def find(
        self: Statements, a: Held, axis: Held = NONE, *, keepdims: Held = literal(False)
    ) -> Held:
        array, place, keeps = _axis_of("argmax, argmin", a, axis, keepdims)
        if place is None:
            return self.first_place(sign, array)
        return self.first_places(sign, array, place, keeps)

    return find


def _as_elements(found: Number | Elements) -> Elements:
    assert isinstance(found, Elements)  # an operator of an array gives one
    return found


def _norm(
    self: Statements, x: Held, ord: Held = NONE, axis: Held = NONE,
    keepdims: Held = literal(False),
) -> Held:  # fmt: skip
    """The root of the sum of squares; of a vector also the sum, or the largest, of magnitudes."""
    array, place, keeps = _axis_of("norm", x, axis, keepdims)
    if array.dtype not in (dtypes.F32, dtypes.F64):
        raise NoLoopError("norm of other than real arrays")
    asked = getattr(ord, "value", getattr(ord, "known", ""))
    is_of_rows = array.rank == 1 or place is not None
    name, before = NORMS.get(asked if is_of_rows or asked is None else "", ("", ""))
    if not name:
        raise NoLoopError("norm of this order")
    longest = array.sizes if place is None else (array.sizes[place],)
    if name == "max" and not all(self.served.is_least(size, 1) for size in longest):
        raise NoLoopError("the largest of what may be nothing")  # 0 by NumPy 2.4, else an error
    taken = _as_elements(self.apply(before, array))
    if place is None:
        found: Number | Array = self.reduced(name, taken)
    else:
        found = self.reduced_along(name, taken, place, keeps)
    return self.apply("sqrt", found) if before == "square" else found


def _count_nonzero(self: Statements, a: Held) -> Held:
    """How many elements are not zero: Python's integer, or NumPy's from some version on."""
    array = as_computed(a)
    if isinstance(array, Number) or array.dtype.is_complex:
        raise NoLoopError("count_nonzero of other than real arrays")
    chosen = _as_elements(self.apply("cast", array, dtype="bool"))
    found = self.reduced("sum", _as_elements(self.apply("cast", chosen, dtype="int64")))
    counted: Any = np.count_nonzero(np.ones(1))
    if type(counted) is not int:
        return found
    name = self.text.named("int64", found.text, "n")
    return Number(int, name, Size.of(name), 0, LONGEST)


# By the order of a norm: what is reduced, and of what.
NORMS: Mapping[Any, tuple[str, str]] = {
    None: ("sum", "square"), 2: ("sum", "square"), 1: ("sum", "absolute"),
    np.inf: ("max", "absolute"), -np.inf: ("min", "absolute"),
}  # fmt: skip
REDUCED = {
    "sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "any": np.any, "all": np.all,
}  # fmt: skip
# By the names of methods, and by the functions.
REDUCING_METHODS: Mapping[str, Callable[..., Held]] = {
    **{name: _reduction(name) for name in REDUCED},
    "mean": _mean,
    "argmax": _first(">"),
    "argmin": _first("<"),
}
REDUCING: tuple[tuple[Any, Callable[..., Held]], ...] = (
    *((function, REDUCING_METHODS[name]) for name, function in REDUCED.items()),
    (np.amax, REDUCING_METHODS["max"]),
    (np.amin, REDUCING_METHODS["min"]),
    (np.linalg.norm, _norm),
    (np.count_nonzero, _count_nonzero),
    *((getattr(np, name), REDUCING_METHODS[name]) for name in ("mean", "argmax", "argmin")),
)
