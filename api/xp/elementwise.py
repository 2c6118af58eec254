"""The standard's functions of elements, made from the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.opcodes.errors import ArgumentError
from opweave.xp.arrays import Array, array_of
from opweave.xp.dtypes import Number, promoted_all, with_number
from opweave.xp.lines import at_line
from opweave.xp.looks import bounded
from opweave.xp.maps import MAPS, MapRow, broadcast, mapped, node_of, operand_of, promotion_of
from opweave.xp.nodes import LazyNode, XpOperation, given, record
from opweave.xp.reductions import check_kinds

CLIP = XpOperation("clip", np.clip)
WHERE = XpOperation("where", np.where)


def _function(name: str, row: MapRow) -> Callable[..., Array]:
    def one(x: Array, /) -> Array:
        return array_of(mapped(row, x))

    def two(x1: Array | Number, x2: Array | Number, /) -> Array:
        return array_of(mapped(row, x1, x2))

    made: Callable[..., Array] = one if row.operands == 1 else two
    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"The standard's ``{name}``, recorded."
    return made


FUNCTIONS = {name: _function(name, row) for name, row in MAPS.items()}


def clip(
    x: Array, /, min: Array | Number | None = None, max: Array | Number | None = None
) -> Array:
    """Elements no smaller than ``min`` and no larger than ``max``; NaN stays.

    Raises:
        DTypeError: of other elements than real numbers, or kinds that do not promote.
    """
    node = node_of(x, "clip")
    check_kinds("clip", node.dtype, "if")
    low, high = (None if b is None else _bound(node, b) for b in (min, max))
    given = [bound for bound in (low, high) if bound is not None]
    if not given:
        return array_of(mapped(MAPS["positive"], x))
    dtype, shape = promotion_of("clip", [node, *given])
    operation = CLIP if len(given) == 2 else MAPS["maximum" if high is None else "minimum"][0]
    return array_of(bounded(record(operation, [node, *given], (), shape, dtype)))


def _bound(node: LazyNode, bound: Any) -> Any:
    """A bound; an integer outside of the dtype's range is the end of that."""
    if type(bound) is int and node.dtype.kind in "iu":
        limits = np.iinfo(node.dtype)
        return int(limits.min) if bound < limits.min else min(bound, int(limits.max))
    return operand_of(bound, "clip")


def where(condition: Array, x1: Array | Number, x2: Array | Number, /) -> Array:
    """Elements of ``x1`` where ``condition`` holds, else of ``x2``.

    Raises:
        DTypeError: a condition of another dtype than bool, or kinds that do not promote.
        ArgumentError: neither is an array.
    """
    test = node_of(condition, "where")
    check_kinds("where", test.dtype, "b")
    both = [operand_of(x, "where") for x in (x1, x2)]
    nodes = [x for x in both if type(x) is LazyNode]
    if not nodes:
        raise ArgumentError(
            f"where: expected an array among x1 and x2{at_line()}: make one by xp.asarray"
        )
    dtype = promoted_all([node.dtype for node in nodes], "where")
    for number in both:
        if type(number) is not LazyNode:
            dtype = with_number(dtype, number, "where")
    operands = [_as_node(x, dtype, test) for x in both]
    shape = broadcast("where", test.shape, *(node.shape for node in operands))
    return array_of(bounded(record(WHERE, [test, *operands], (), shape, dtype)))


def _as_node(value: Any, dtype: Any, like: LazyNode) -> LazyNode:
    """A number as an array, which NumPy would take for one of the widest dtype."""
    return value if type(value) is LazyNode else given(like.library.asarray(value, dtype=dtype))
