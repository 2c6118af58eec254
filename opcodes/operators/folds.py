"""What a reduction or scan of a user's means: a function of two values, applied along an axis."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from opweave.opcodes import dtypes
from opweave.opcodes.codes import Fragment
from opweave.opcodes.core import TypeRule
from opweave.opcodes.errors import ShapeError
from opweave.opcodes.identities import is_read, number_of
from opweave.opcodes.rules import wide_float


@dataclass(frozen=True)
class Folded:
    """``function`` of two values as a reduction, with NumPy's arguments.

    Attributes:
        function: of two arrays, element by element; associative and commutative.
        rule: the reduction's type rule.
        rows: of its accumulate op-code, which say what nothing is reduced to.
    """

    function: Callable[..., Any]
    rule: TypeRule
    rows: tuple[Fragment, ...]

    def __call__(self, x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
        x, to = _running(self.rule, x, dtype)
        axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim)
        axes = tuple(axes)
        count = math.prod(x.shape[a] for a in axes)
        outer = [e for a, e in enumerate(x.shape) if a not in axes]
        moved = np.moveaxis(x, axes, range(x.ndim - len(axes), x.ndim)).reshape(*outer, count)
        if not count:
            first = begun(row_of(self.rows, moved.dtype), moved.dtype)
            moved = np.full_like(moved, first, shape=(*outer, 1))
        while moved.shape[-1] > 1:  # neighbours first, as in a tree
            even = moved.shape[-1] // 2 * 2
            pairs = self.function(moved[..., 0:even:2], moved[..., 1:even:2])
            moved = np.concatenate([pairs.astype(x.dtype), moved[..., even:]], axis=-1)
        found = moved[..., 0].astype(to)
        return np.expand_dims(found, axes) if keepdims else found[()]


def begun(row: Fragment | None, dtype: Any) -> Any:
    """The number that running values of a dtype of NumPy's begin with.

    Raises:
        ShapeError: there is no row for them, or its text is not read here.
    """
    if row is None or not is_read(row.start):
        raise ShapeError("zero elements to reduce, and the operation has no identity")
    return number_of(row.start, dtypes.F64 if dtype == np.longdouble else dtypes.of(dtype))


def row_of(rows: tuple[Fragment, ...], dtype: Any) -> Fragment | None:
    """The row for a dtype of NumPy's; of several, that of its kind."""
    kind = "f" if dtype == np.longdouble else dtypes.of(dtype).kind
    return next((row for row in rows if kind in row.kinds), None)


@dataclass(frozen=True)
class Scanned:
    """``function`` of two values as a scan, with NumPy's arguments; see ``Folded``."""

    function: Callable[..., Any]
    rule: TypeRule

    def __call__(self, x: Any, axis: int = -1, dtype: Any = None) -> Any:
        x, to = _running(self.rule, x, dtype)
        (axis,) = normalize_axis_tuple(index(axis), x.ndim)
        moved, step = np.moveaxis(x, axis, -1), 1
        while step < moved.shape[-1]:  # each element has the 1, 2, 4... that end with it
            joined = self.function(moved[..., :-step], moved[..., step:])
            moved = np.concatenate([moved[..., :step], joined.astype(x.dtype)], axis=-1)
            step *= 2
        return np.moveaxis(moved, -1, axis).astype(to)


def _running(rule: TypeRule, x: Any, dtype: Any) -> tuple[Any, Any]:
    """An array in the type of running values, and the dtype of the result."""
    x = x if hasattr(x, "dtype") else np.asarray(x)
    if x.dtype == np.longdouble:  # error bounds compute in it
        return x, x.dtype
    asked = () if dtype is None else (("dtype", dtypes.of(dtype).numpy_name),)
    loop, results = rule((dtypes.of(x.dtype),), asked)
    return x.astype(wide_float(loop[0]).numpy), results[0].numpy
