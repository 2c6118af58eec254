"""Kernels that someone wrote and calls of NumPy's library, as far as bounds go.

Nothing is known of how they round.  A kernel is held to its meaning, for the very operands that it
got, within the tolerance that its author states; a call of NumPy's gives the same bits again.
What comes after it goes on from what it made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from opweave.compiler.bounds.complex_parts import BoundedParts
from opweave.compiler.bounds.error_propagation import Bounded
from opweave.compiler.ir.expr import evaluate
from opweave.compiler.ir.graph import FunctionGraph, Node
from opweave.compiler.ir.literals import converted
from opweave.compiler.ir.reference import numpy_attributes
from opweave.compiler.ir.values import Operand, Value
from opweave.opcodes.dtypes import DType
from opweave.opcodes.handwritten.cuda_kernel import CudaKernel
from opweave.opcodes.operators.library_calls import LibraryCall

Array = np.ndarray[Any, Any]
Widened = Callable[[Any, DType], Array]


def boundaries(graph: FunctionGraph) -> dict[int, tuple[str, Value]]:
    """What these take and make, by its id: a name for it, and the value.

    An argument, or a view of one, is known without.
    """
    found: dict[int, tuple[str, Value]] = {}
    for node in graph.nodes:
        for name, item in _named(node):
            if isinstance(item, Value) and graph.base(item).id not in graph.arguments:
                found.setdefault(item.id, (name, item))
    return found


def _named(node: Node) -> Iterator[tuple[str, Operand]]:
    """Operands and results of such a node, with names."""
    row = node.operator
    if isinstance(row, CudaKernel):
        for declared, items in ((row.given, node.operands), (row.made, node.results)):
            yield from (
                (f"{row.c_name}.{p.name}", i) for p, i in zip(declared, items, strict=True)
            )
    if isinstance(row, LibraryCall):
        names = *row.params, *(f"out{n}" for n in range(len(row.made)))
        items = *node.operands, *node.results
        yield from ((f"{row.name}.{name}", i) for name, i in zip(names, items, strict=True))


def by_meaning(
    node: Node, held: Mapping[int, Any], known: Mapping[int, Array], env: Mapping[str, Any],
    extents: Mapping[str, int], widened: Widened,
) -> list[tuple[Any, Any]]:  # fmt: skip
    """Of each result what the meaning gives, with its tolerance, and what the kernel made.

    The latter is exact where ``known`` has it; else it is the former.
    """
    row = node.operator
    assert isinstance(row, CudaKernel | LibraryCall)

    def own(item: Operand) -> Any:
        if not isinstance(item, Value):
            return converted(evaluate(item.expr, env), item.dtype)
        found = known[item.id] if item.id in known else held[item.id].value
        return np.asarray(found, item.dtype.numpy)

    made = row.by_numpy(*map(own, node.operands), **numpy_attributes(node, extents))
    results = made if len(node.results) > 1 else (made,)
    blurred = not all(v.id in known or _is_exact(held[v.id]) for v in node.values)
    out = []
    for value, array in zip(node.results, results, strict=True):
        rtol, atol = row.tolerance(value.dtype)
        sizes = np.abs(np.asarray(array).astype(np.complex128))
        error = np.where(np.isfinite(sizes), rtol * sizes + atol, atol)
        error = np.full(error.shape, np.inf) if blurred else error
        expected = _bounded(array, value.dtype, error, widened)
        if value.id in known:
            nothing = np.zeros(np.shape(array))
            out.append((expected, _bounded(known[value.id], value.dtype, nothing, widened)))
        else:
            out.append((expected, expected))
    return out


def _is_exact(found: Bounded | BoundedParts) -> bool:
    whole = found.whole() if isinstance(found, BoundedParts) else found
    return not np.any(whole.error)


def _bounded(array: Any, dtype: DType, error: Array, widened: Widened) -> Any:
    if not dtype.is_complex:
        return Bounded(widened(array, dtype), error)
    return BoundedParts(
        *(Bounded(widened(p, dtype.part), error) for p in (array.real, array.imag))
    )
