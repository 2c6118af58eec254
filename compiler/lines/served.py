"""What holds of every call that a loop serves: a call of which it does not is left at once."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import NamedTuple

from opweave.compiler.lines.facts import SizeFacts
from opweave.compiler.lines.values import Number, Size
from opweave.compiler.scheduling.vendors import (
    BLAS_COLUMNS,
    BLAS_DEPTH,
    BLAS_FROM,
    BLAS_ROWS,
    is_for_blas,
)


class Sizes(NamedTuple):
    """Of a product: a vector on the left is one row, on the right one column."""

    rows: Size
    depth: Size
    columns: Size

    @property
    def steps(self) -> str:
        """C text of the multiply-adds."""
        return " * ".join(size.factor for size in self if not size.is_one) or "1"

    @property
    def by_library(self) -> str:
        """C text: whether it goes to BLAS; ``is_for_blas`` of vendors.py says so of numbers."""
        m, k, n = (size.factor for size in self)
        is_long = f"{self.steps} >= {BLAS_FROM}"
        if self.columns.is_one:
            return f"({is_long})"
        pays = f"({k} >= {BLAS_DEPTH} || {n} < {BLAS_COLUMNS}) && {is_long}"
        many = f"{n} > 1 && ({m} >= {BLAS_ROWS} || {m} * {n} >= {BLAS_FROM})"
        return f"({pays} || {many})"

    @property
    def may_be_large(self) -> str:
        """C text that is false where BLAS computes no product of these sizes, or of less."""
        return f"({self.steps} >= {BLAS_FROM} || {self.rows.factor} >= {BLAS_ROWS})"


class Served:
    """Answers what holds of the call at hand; what was relied on has to hold of all others.

    Attributes:
        extents: of the call, by their names in C.
        integers: Python's that the call gives, likewise.
        guards: C texts of what must not hold of a call.
    """

    def __init__(self, extents: Mapping[str, int], facts: SizeFacts):
        self.extents, self.facts = extents, facts
        self.integers: dict[str, int] = {}
        self.guards: dict[str, None] = {}

    def value(self, size: Size) -> int | None:
        """A sum of extents in the call; None where it has other names."""
        if any(name not in self.extents for name, _ in size.terms):
            return None
        return sum(f * self.extents[name] for name, f in size.terms) + size.constant

    def is_least(self, size: Size, least: int) -> bool:
        """Whether a sum of extents is at least a number."""
        found = self.value(size)
        return self._relied(found is not None and found >= least, f"{size.text} < {least}")

    def is_never_below(self, size: Size, least: int = 0) -> bool:
        """Whether a sum is at least a number in all rounds, by the bounds of what changes."""
        known = {**self.extents, **self.integers}
        bound = self.facts.most(Size().plus(size, -1), known)
        if bound is None or not bound.terms:
            return False
        lowest = Size().plus(bound, -1)
        found = sum(f * known[name] for name, f in lowest.terms) + lowest.constant
        if found >= least and len(lowest.terms) == 1 and lowest.terms[0][1] == 1:
            self.facts.learn(lowest.terms[0][0], Size.of(least - lowest.constant))
        return self._relied(found >= least, f"{lowest.text} < {least}")

    def is_equal(self, size: Size, extent: int) -> bool:
        """Whether a sum of extents is a number."""
        return self._relied(self.value(size) == extent, f"{size.text} != {extent}")

    def is_positive(self, number: Number) -> bool:
        """Whether an integer that the call gives is positive."""
        found = self.integers.get(number.text, 0)
        return self._relied(found >= 1, f"{number.text} < 1")

    def named(self, size: Size) -> Size:
        """A number as the name of an extent that is equal."""
        for name in self.extents if not size.terms and size.constant > 1 else ():
            if self.is_equal(Size.of(name), size.constant):
                return Size.of(name)
        return size

    def is_long(self, size: Size, most: int) -> bool:
        """Whether an extent may be larger than a number in the call at hand, of which no other
        call has to know."""
        bound = self.facts.most(size, self.extents)
        found = None if bound is None else self.value(bound)
        return found is not None and found > most

    def by_library(self, sizes: Sizes) -> bool | None:
        """Whether BLAS computes a product; None where sizes change, so that C has to decide."""
        rows, depth, columns = map(self.value, sizes)
        if rows is not None and depth is not None and columns is not None:
            found = is_for_blas(rows, depth, columns)
            self._relied(True, f"{'!' * found}{sizes.by_library}")
            return found
        bounds = [b for s in sizes if (b := self.facts.most(s, self.extents)) is not None]
        if len(bounds) < len(sizes):
            return None
        most = Sizes(*bounds)
        sizes_at_most = [self.value(size) or 0 for size in most]
        is_small = prod(sizes_at_most) < BLAS_FROM and sizes_at_most[0] < BLAS_ROWS
        return False if self._relied(is_small, most.may_be_large) else None

    def _relied(self, holds: bool, guard: str) -> bool:
        if holds:
            self.guards[guard] = None
        return holds
