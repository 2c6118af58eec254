"""NumPy's reductions inside of a loop, by table: of all elements, or along an axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.arithmetic import as_computed
from opweave.compiler.lines.numbers import literal
from opweave.compiler.lines.reducing import AlongAxes, counted
from opweave.compiler.lines.values import (
    LONGEST,
    Elements,
    Held,
    Number,
    Several,
    Size,
    Unchanging,
)
from opweave.compiler.loops.functions.joining import axis_of
from opweave.compiler.loops.statements import Statements
from opweave.opcodes import dtypes

NONE = Unchanging(None)


def _along(what: str, array: Held, axis: Held, keepdims: Held) -> AlongAxes:
    """The array of a reduction, the axes that are asked for, and whether they stay."""
    found = as_computed(array)
    if isinstance(found, Number) or not found.rank:
        raise NoLoopError(f"{what} of a number")
    keeps = getattr(keepdims, "known", None)
    if type(keeps) is not bool:
        raise NoLoopError(f"{what} with keepdims= that changes")
    if isinstance(axis, Unchanging) and axis.value is None:
        places = list(range(found.rank))
    else:
        asked = axis.items if isinstance(axis, Several) and not axis.is_list else [axis]
        places = sorted(axis_of(each, found.rank) for each in asked)
    if not places or len(set(places)) < len(places):
        raise NoLoopError(f"{what} along no axis, or one twice")
    return AlongAxes(found, tuple(places), keeps)


def _reduction(name: str) -> Callable[..., Held]:
    def reduce(
        self: Statements, a: Held, axis: Held = NONE, *, keepdims: Held = literal(False)
    ) -> Held:
        return self.reduced(name, _along(name, a, axis, keepdims))

    return reduce


def _mean(
    self: Statements, a: Held, axis: Held = NONE, *, keepdims: Held = literal(False)
) -> Held:
    """The sum over the number of elements, as kernels have it."""
    along = _along("mean", a, axis, keepdims)
    array = along.operand
    if array.dtype.kind in "iub":
        array = _as_elements(self.apply("cast", array, dtype="float64"))
    if array.dtype not in (dtypes.F32, dtypes.F64):
        raise NoLoopError(f"a mean of {array.dtype}")
    text = self.text.named("int64", counted(along.reduced), "n")
    count = Number(int, text, None, 0, LONGEST)
    return self.apply("divide", self.reduced("sum", replace(along, operand=array)), count)


def _first(sign: str) -> Callable[..., Held]:
    def find(
        self: Statements, a: Held, axis: Held = NONE, *, keepdims: Held = literal(False)
    ) -> Held:
        along = _along("argmax, argmin", a, axis, keepdims)
        if len(along.axes) > 1 and not along.is_number:
            raise NoLoopError("argmax, argmin along several axes")
        return self.first_place(sign, along)

    return find


def _as_elements(found: Number | Elements) -> Elements:
    assert isinstance(found, Elements)  # an operator of an array gives one
    return found


def _norm(
    self: Statements, x: Held, ord: Held = NONE, axis: Held = NONE,
    keepdims: Held = literal(False),
) -> Held:  # fmt: skip
    """The root of the sum of squares; of a vector also the sum, or the largest, of magnitudes."""
    if isinstance(axis, Several):
        raise NoLoopError("norm along this axis")
    along = _along("norm", x, axis, keepdims)
    array = along.operand
    if array.dtype not in (dtypes.F32, dtypes.F64):
        raise NoLoopError("norm of other than real arrays")
    asked = getattr(ord, "value", getattr(ord, "known", ""))
    is_of_rows = array.rank == 1 or not isinstance(axis, Unchanging)
    name, before = NORMS.get(asked if is_of_rows or asked is None else "", ("", ""))
    if not name:
        raise NoLoopError("norm of this order")
    if name == "max" and not all(self.served.is_least(size, 1) for size in along.reduced):
        raise NoLoopError("the largest of what may be nothing")  # 0 by NumPy 2.4, else an error
    taken = _as_elements(self.apply(before, array))
    found = self.reduced(name, replace(along, operand=taken))
    return self.apply("sqrt", found) if before == "square" else found


def _count_nonzero(self: Statements, a: Held) -> Held:
    """How many elements are not zero: Python's integer, or NumPy's from some version on."""
    array = as_computed(a)
    if isinstance(array, Number) or array.dtype.is_complex:
        raise NoLoopError("count_nonzero of other than real arrays")
    chosen = _as_elements(self.apply("cast", array, dtype="bool"))
    ones = _as_elements(self.apply("cast", chosen, dtype="int64"))
    found = self.reduced("sum", AlongAxes.whole(ones))
    assert isinstance(found, Number)
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
