"""Reductions, scans and products of a user's as data: their lists, and what they are in NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from opweave.opcodes import dtypes

from ..validity import NotForUs
from .fold_rows import FOLDS, Row
from .operators import Own, loop_of

HALVES = ("float16", "bfloat16")  # which are accumulated in float32


@dataclass(frozen=True)
class Fold(Own):
    """A reduction, scan or product of a user's; ``of`` is a key of ``FOLDS``."""

    @property
    def row(self) -> Row:
        return FOLDS[self.of]

    def text(self, base: Own | None = None) -> str:
        row = self.row
        if row.of:
            return f"{self.name} = ow.opcodes.{row.of}.with_opcodes({row.codes})"
        meaning = f"({row.meaning})" if row.how == "product" else row.meaning
        return (
            f"{self.name} = ow.{row.how}({self.name!r}, {row.codes}, {row.rule!r}, {meaning}, "
            "replace=True)"
        )

    @property
    def built_in(self) -> str:
        return self.row.of

    @property
    def forms(self) -> list[tuple[str, str]]:
        return [("list operator", self.how), ("list fold", self.of)]

    # What it means

    @cached_property
    def kinds(self) -> set[str]:
        return set(self.row.kinds)

    @cached_property
    def is_smooth(self) -> bool:
        return True  # bounds say how errors of sums and products grow

    def is_exact(self, dtype: np.dtype[Any]) -> bool:
        """Integers wrap, whatever the order; a float's zeros have signs that follow it."""
        return dtypes.of(dtype).kind in "iub" and self.row.rule != "float"

    def by_numpy(self, *operands: Any, axis: Any = None, keepdims: bool = False) -> Any:
        row = self.row
        arrays = [o for o in operands if isinstance(o, np.ndarray)]
        least = 2 if row.how == "product" else 1
        if len(arrays) < len(operands) or any(a.ndim < least for a in arrays):
            raise NotForUs
        if any(dtypes.of(a.dtype).kind not in row.kinds for a in arrays):
            raise NotForUs
        if row.how == "product":
            return self._multiplied(*arrays)
        before, behind = (eval(f or "np.asarray") for f in row.around)
        to = loop_of(row.rule, arrays, tuple(arrays))
        x, join = before(arrays[0]), eval(row.meaning)
        if row.rule == "sum" and to.name not in HALVES:
            to = np.add.reduce(x[:0], axis=None).dtype
        x = x.astype(np.float32 if to.name in HALVES else to)
        if row.how == "scan":
            axis = -1 if axis is None else axis
            return join.accumulate(x, axis=axis, dtype=x.dtype).astype(to)
        found = join.reduce(x, axis=axis, keepdims=keepdims, dtype=x.dtype)
        return behind(np.asarray(found).astype(to))[()]

    def _multiplied(self, x: Any, y: Any) -> Any:
        combine, join = eval(self.row.meaning)
        to = loop_of("same", [x, y], (x, y))
        if dtypes.of(to).kind not in self.kinds or x.shape[-1] != y.shape[-2] or not x.shape[-1]:
            raise NotForUs
        wide = np.float32 if to.name in HALVES else to
        x, y = x.astype(wide), y.astype(wide)
        found = combine(x[..., :1], y[..., :1, :])
        for k in range(1, x.shape[-1]):
            found = join(found, combine(x[..., k : k + 1], y[..., k : k + 1, :]))
        return found.astype(to)


def multiplied(x: Any, y: Any) -> Any:
    """The op-code takes matrices alone; ``np.matmul`` takes vectors, too."""
    if np.ndim(x) < 2 or np.ndim(y) < 2:
        raise NotForUs
    return np.matmul(x, y)


def beside(x: Any, step: int = 1, bounds: str = "clamp") -> Any:
    """What ``ow.opcodes.neighbour`` means: an index, and a number where it lies outside."""
    if not np.ndim(x) or not x.shape[-1]:
        raise NotForUs
    extent = x.shape[-1]
    at = np.arange(extent) + step
    if bounds == "wrap":
        return x[..., at % extent]
    taken = x[..., np.clip(at, 0, extent - 1)]
    if bounds == "zero":
        taken[..., (at < 0) | (at >= extent)] = 0
    return taken


# Op-codes whose meaning is not that of a function of NumPy of the same name.
MEANINGS = {"neighbour": beside, "matmul": multiplied}
