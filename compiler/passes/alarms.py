"""Alarms: outputs that say whether NumPy would have found a floating-point error on the way.

Kernels neither warn nor raise.  Under ``config(errors="numpy")`` a graph gets one more output, a
bool, for each shape in which errors may arise.  If none is true, NumPy would not complain.  Else
the call is computed once more by NumPy, which warns or raises in its own words.
So an alarm may be false, which costs time, but none may be missing.  Where NumPy's intermediate
results are hidden (the order of a sum, the parts of a complex quotient), rules raise an alarm for
more than the errors themselves.

    r = divide(x, y)      any(not finite(r) and finite(x, y), or nan(r) and not nan(x, y))
    s = sum(x)            any(abs(x) > largest / 2**40): else no order of adding overflows
    i = cast(x, int32)    any(not lowest < x < highest)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opweave.compiler.ir.expr import Expr
from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.values import Scalar, Value
from opweave.compiler.passes.alarm_rules import RULES, Alarms, largest, loose
from opweave.opcodes.dtypes import BF16, F16, F32, DType


def with_alarms(
    graph: FunctionGraph, extents: Mapping[str, int], suspects: Sequence[Value] = ()
) -> FunctionGraph:
    """The graph with its alarms as further outputs.

    It is called before anything is simplified: an error counts although nobody reads the result.

    Args:
        extents: those of the example.
        suspects: values that must be finite.
    """
    alarms = Alarms(graph, extents)
    for node in graph.nodes:
        alarms.watch(node, RULES.get(node.operator.kind, loose))
    for value in (v for v in suspects if v.dtype.kind in "fc"):
        alarms.add(alarms.no(alarms.op("isfinite", value)))
        if value.dtype.is_complex:
            alarms.add(alarms.exceeds(value, largest(value.dtype) / 4))
    outputs = alarms.outputs()
    nodes = (*graph.nodes, *alarms.builder.nodes)
    return replace(graph, nodes=nodes, outputs=(*graph.outputs, *outputs))


def narrowed(graph: FunctionGraph) -> tuple[tuple[Expr, DType], ...]:
    """Numbers of the call that enter a kernel as a type which may be too narrow for them."""
    scalars = {
        (item.expr, item.dtype): None
        for node in graph.nodes
        for item in node.operands
        if isinstance(item, Scalar) and item.dtype.part in (F16, BF16, F32)
    }
    return tuple(scalars)


def overflows(number: Any, dtype: DType) -> bool:
    """True for a finite number that a type holds as an infinity."""
    with np.errstate(all="ignore"):
        return bool(np.isfinite(number)) and not bool(np.isfinite(dtype.numpy.type(number)))
