"""What a call gives back: numbers of NumPy and of Python, and the errors that kernels noted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from opweave.compiler.ir.expr import Expr, evaluate
from opweave.compiler.ir.graph import FunctionGraph, reduced_axes
from opweave.compiler.ir.values import Scalar, count
from opweave.opcodes.errors import BoundsError, ShapeError


def check_nonempty(graph: FunctionGraph, extents: Mapping[str, int]) -> None:
    """Refuse reductions of nothing that have no identity, as NumPy does.

    Raises:
        ShapeError: names the reduction.
    """
    for node in (n for n in (*graph.nodes, *graph.dropped) if n.may_fail):
        shape = node.values[0].shape
        reduced = count((shape[a] for a in reduced_axes(node)), extents)
        if reduced == 0:
            at = f" ({node.where})" if node.where.file else ""
            raise ShapeError(
                f"{node.operator.name}: zero elements to reduce, and the operation has no "
                f"identity{at}"
            )


# By the number of a node that notes indices: the elements of its axis, and the user's line.
Indexed = Mapping[int, tuple[Expr, str]]


def indexed(graph: FunctionGraph) -> Indexed:
    """What the nodes of a graph note, where an index has no element."""
    found = {}
    for number, node in enumerate(graph.nodes):
        if node.operator.notes_faults:
            size = node.operands[1]
            assert isinstance(size, Scalar)
            found[number] = size.expr, f" ({node.where})" if node.where.file else ""
    return found


def fault(nodes: Indexed, word: int, env: Mapping[str, Any]) -> BoundsError:
    """The error of an index that has no element, from what ``index_of`` in common.cuh noted."""
    size, at = nodes[(word >> 48) - 1]
    low = word & ((1 << 48) - 1)
    index = low - (1 << 48) if low >> 47 else low
    count = evaluate(size, env)
    return BoundsError(f"index {index} is out of bounds for an axis of {count} elements{at}")


def truth(number: Any) -> Any:
    """Python's bool in the place of NumPy's; anything else as it is, such as CuPy's arrays."""
    return bool(number) if isinstance(number, np.bool_) else number


def array_scalar(array: np.ndarray[Any, Any], boxed: bool) -> Any:
    """NumPy returns scalars for 0-d results, except from a few functions."""
    return array if boxed else array[()]
