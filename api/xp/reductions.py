"""What makes one element of many: the table, and how a reduction is recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from opweave.opcodes.errors import DTypeError, ShapeError
from opweave.xp.dtypes import BOOL, INT64, LETTER, DType, dtype_of, said, summed
from opweave.xp.lines import at_line
from opweave.xp.looks import bounded
from opweave.xp.nodes import LazyNode, XpOperation, record
from opweave.xp.shapes import axes_of, axis_of


class ReductionRow(NamedTuple):
    """A reduction.

    Attributes:
        kinds: letters of the dtypes that it takes, see ``dtypes.LETTER``.
        result: its dtype.
        has_identity: it has a value for no element.
        is_place: it takes one axis, or all as one.
    """

    operation: XpOperation
    kinds: str
    result: Callable[[DType], DType]
    has_identity: bool
    is_place: bool = False


def _same(dtype: DType) -> DType:
    return dtype


def _truth(dtype: DType) -> DType:
    return BOOL


def _place(dtype: DType) -> DType:
    return INT64


def _row(
    name: str, compute: Callable[..., Any], kinds: str, result: Callable[[DType], DType],
    has_identity: bool = True, is_place: bool = False,
) -> ReductionRow:  # fmt: skip
    return ReductionRow(XpOperation(name, compute), kinds, result, has_identity, is_place)


REDUCTIONS: dict[str, ReductionRow] = {
    row.operation.name: row
    for row in (
        _row("all", np.all, "bifc", _truth),
        _row("any", np.any, "bifc", _truth),
        _row("argmax", np.argmax, "if", _place, False, True),
        _row("argmin", np.argmin, "if", _place, False, True),
        _row("max", np.max, "if", _same, False),
        _row("mean", np.mean, "fc", _same),
        _row("min", np.min, "if", _same, False),
        _row("prod", np.prod, "ifc", summed),
        _row("std", np.std, "f", _same),
        _row("sum", np.sum, "ifc", summed),
        _row("var", np.var, "f", _same),
    )
}


RUNNING = {
    "cumulative_sum": XpOperation("cumulative_sum", np.cumsum),
    "cumulative_prod": XpOperation("cumulative_prod", np.cumprod),
}


def check_kinds(what: str, dtype: DType, kinds: str) -> None:
    """Refuse a dtype of another kind.

    Raises:
        DTypeError: says which kinds may be.
    """
    if LETTER[dtype] not in kinds:
        raise DTypeError(f"{what}: expected {said(kinds)}, found {dtype}{at_line()}")


def reduced(
    row: ReductionRow, node: LazyNode, axis: Any, keepdims: bool, dtype: Any = None,
    **attrs: Any,
) -> LazyNode:  # fmt: skip
    """The node of a reduction along axes; None is all of them.

    Raises:
        DTypeError: it has no meaning for this dtype.
        AxisError: the array has no such axis.
        ShapeError: there is no element, and no value for that.
    """
    name = row.operation.name
    check_kinds(name, node.dtype, row.kinds)
    axes = axes_of(axis, len(node.shape), name)
    extents = [node.shape[a] for a in axes]
    if not row.has_identity and 0 in extents:
        raise ShapeError(f"{name}: shape {list(node.shape)} has no element{at_line()}")
    shape = tuple(
        1 if a in axes else n for a, n in enumerate(node.shape) if keepdims or a not in axes
    )
    result = row.result(node.dtype)
    if dtype is not None:
        result = attrs["dtype"] = dtype_of(dtype, name)
    if row.is_place:
        attrs["axis"] = axes[0] if axis is not None and axes else None
    else:
        attrs["axis"] = axes
    given = tuple(sorted({**attrs, "keepdims": bool(keepdims)}.items()))
    return bounded(record(row.operation, (node,), given, shape, result))


def running(name: str, node: LazyNode, axis: int | None, dtype: Any) -> LazyNode:
    """The node of a scan along an axis, which may be None of one dimension.

    Raises:
        DTypeError, AxisError: as ``reduced``.
        ShapeError: the axis is not named.
    """
    check_kinds(name, node.dtype, "ifc")
    if axis is None and len(node.shape) != 1:
        raise ShapeError(f"{name}: expected axis= for {len(node.shape)} dimensions{at_line()}")
    place = axis_of(0 if axis is None else axis, len(node.shape), name)
    result = summed(node.dtype) if dtype is None else dtype_of(dtype, name)
    attrs = (("axis", place), ("dtype", result))
    return bounded(record(RUNNING[name], (node,), attrs, node.shape, result))
