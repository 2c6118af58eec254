"""NumPy's and Python's functions and methods inside of a loop: the whole table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.arithmetic import as_computed
from opweave.compiler.lines.numbers import literal
from opweave.compiler.lines.values import (
    Held,
    Number,
    Strided,
    Unchanging,
)
from opweave.compiler.loops.functions.joining import JOINING
from opweave.compiler.loops.functions.making import MAKING, MAKING_METHODS, nonzero, sort
from opweave.compiler.loops.functions.mathematics import MATHEMATICS
from opweave.compiler.loops.functions.pythons import PYTHONS
from opweave.compiler.loops.functions.reductions import REDUCING, REDUCING_METHODS
from opweave.compiler.loops.functions.shaping import SHAPING, SHAPING_METHODS
from opweave.compiler.loops.statements import Statements
from opweave.opcodes import dtypes

Keywords = Mapping[str, Held]


def _flip(self: Statements, a: Held) -> Held:
    array = as_computed(a)
    if not isinstance(array, Strided) or array.rank != 1:
        raise NoLoopError("flip of other than one dimension")
    (size,), (stride,) = array.sizes, array.strides
    step = "-1" if stride == "1" else f"-({stride})"
    at = f"{array.pointer} + ({size.plus(-1).text}) * {stride}"
    return self.indexing.noted(replace(array, pointer=at, strides=(step,)), array.where)


def _where(self: Statements, condition: Held, *ways: Held) -> Held:
    if not ways:
        return nonzero(self, condition)
    operands = [as_computed(held) for held in (condition, *ways)]
    if len(ways) != 2:
        raise NoLoopError("np.where with one of two arrays")
    if all(isinstance(operand, Number) for operand in operands):
        raise NoLoopError("np.where of numbers")
    return self.apply("where", *operands)


def _dot(self: Statements, a: Held, b: Held) -> Held:
    x, y = as_computed(a), as_computed(b)
    if isinstance(x, Number) or isinstance(y, Number):
        return self.apply("multiply", x, y)
    return self.product(x, y)


def _sort_in_place(self: Statements, array: Held) -> Held:
    """``x.sort()``."""
    if not isinstance(array, Strided):
        raise NoLoopError("sort of what is computed")
    self.put(array, sort(self, array))
    return Unchanging(None)


def _fill(self: Statements, array: Held, value: Held) -> Held:
    if not isinstance(array, Strided) or not isinstance(value, Number):
        raise NoLoopError("fill of what is computed")
    self.put(array, value)
    return Unchanging(None)


def _clip(self: Statements, a: Held, a_min: Held, a_max: Held) -> Held:
    """``np.clip`` between two bounds, or with one."""
    found, bounds = as_computed(a), []
    for bound in (a_min, a_max):
        is_none = isinstance(bound, Unchanging) and bound.value is None
        bounds.append(None if is_none else as_computed(bound))
    low, high = bounds
    if low is not None and high is not None:
        return self.apply("clip", found, low, high)
    if low is not None:
        return self.apply("maximum", found, low)
    return found if high is None else self.apply("minimum", found, high)


def _round(self: Statements, a: Held, decimals: Held = literal(0)) -> Held:
    """``np.round``."""
    found, places = as_computed(a), getattr(decimals, "known", None)
    dtype = found.type if isinstance(found, Number) else found.dtype
    if dtype not in (dtypes.F32, dtypes.F64):
        raise NoLoopError("round of other than floats")
    if type(places) is not int or not 0 <= places <= EXACT_TEN:
        raise NoLoopError("round to places that change")
    if places == 0:
        return self.apply("rint", found)
    ten = literal(10.0**places)
    return self.apply("divide", self.apply("rint", self.apply("multiply", found, ten)), ten)


# The highest power of ten that float64 has.
EXACT_TEN = 22
# Those that change their array.
IN_PLACE = ("fill", "sort")
METHODS: Mapping[str, Callable[..., Held]] = {
    **REDUCING_METHODS,
    **MAKING_METHODS,
    **SHAPING_METHODS,
    "clip": _clip,
    "dot": _dot,
    "fill": _fill,
    "sort": _sort_in_place,
    "round": _round,
}
_BY_FUNCTION: tuple[tuple[Any, Callable[..., Held]], ...] = (
    *PYTHONS,
    (np.flip, _flip),
    (np.where, _where),
    (np.dot, _dot),
    (np.clip, _clip),
    *((function, _round) for function in {np.round, np.around}),
    *MAKING,
    *JOINING,
    *SHAPING,
    (np.linalg.solve, lambda self, a, b: self.solved(a, b)),
    (np.linalg.inv, lambda self, a: self.inverted(a)),
    (np.linalg.cholesky, lambda self, a: self.cholesky(a)),
    (np.linalg.det, lambda self, a: self.determinant(a)),
    *REDUCING,
    *MATHEMATICS,
)
# By identity: what a user defines under the same name is another function.
FUNCTIONS: Mapping[int, Callable[..., Held]] = {id(f): handler for f, handler in _BY_FUNCTION}
