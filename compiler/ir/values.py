"""Values, numbers and extents: what nodes of a graph read and make."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from opweave.compiler.ir.expr import Expr, value_key
from opweave.opcodes.dtypes import DType


@dataclass(frozen=True)
class Symbol:
    """An extent that is known only at the call."""

    name: str

    def __repr__(self) -> str:
        return self.name


Extent = int | Symbol


Shape = tuple[Extent, ...]


# Dimensions of a view's operand in the order of the view, None for a new one.
Axes = tuple[int | None, ...]


@dataclass(frozen=True)
class Value:
    """A typed array value; ``id`` is unique within its graph."""

    id: int
    dtype: DType
    shape: Shape

    def __repr__(self) -> str:
        return f"v{self.id}: {self.type}"

    @property
    def type(self) -> str:
        """Such as ``f32[n0, n1]``."""
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class Scalar:
    """A scalar operand: an expression, and the dtype that it enters the kernel with."""

    expr: Expr
    dtype: DType

    def __repr__(self) -> str:
        return f"{self.expr!r}: {self.dtype}"


Operand = Value | Scalar


# The name, in a kernel with a loop, of the number of turns; no argument can have it.
TURNS = "#turns"


def operand_key(item: Any) -> Any:
    """Hashable identity of an operand or an expression; 1 and 1.0 and True differ."""
    if isinstance(item, Scalar):
        return item.dtype.numpy_name, operand_key(item.expr)
    if isinstance(item, Expr):
        if item.op == "literal":
            return item.op, value_key(item.args[0])
        return item.op, tuple(map(operand_key, item.args))
    return item


@dataclass(frozen=True)
class Where:
    """A place in the user's code; ``line`` counts from the first line of the function."""

    file: str = ""
    line: int = 0
    relative: int = 0

    def __str__(self) -> str:
        return f"{self.file.rsplit('/', 1)[-1]}:{self.line}" if self.file else ""


def product(factors: Iterable[int]) -> int:
    return reduce(operator.mul, factors, 1)


Extents = Mapping[str, int]


def extent_of(extent: Extent, extents: Extents) -> int:
    return extent if isinstance(extent, int) else extents[extent.name]


def count(shape: Iterable[Extent], extents: Extents) -> int:
    """Number of elements of a shape."""
    found = 1
    for extent in shape:  # often asked: no calls
        found *= extent if isinstance(extent, int) else extents[extent.name]
    return found


# Elements of a last axis of which each may have a register of its own.
MOST_CHANNELS = 8


def is_short(extent: Extent) -> bool:
    """Whether a last axis has several elements, and as few at every call."""
    return isinstance(extent, int) and 1 < extent <= MOST_CHANNELS


def is_zero(operand: Operand) -> bool:
    """True for the number 0 that a function has in its text, in any type; not for -0.0."""
    if not isinstance(operand, Scalar) or operand.expr.op != "literal":
        return False
    return not any(np.asarray(operand.expr.args[0]).tobytes())
