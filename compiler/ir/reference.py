"""The reference: a graph walked with NumPy, each operator in its own types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from opweave.compiler.ir.expr import evaluate
from opweave.compiler.ir.graph import FunctionGraph, Node
from opweave.compiler.ir.literals import converted
from opweave.compiler.ir.values import Value, extent_of

Array = np.ndarray[Any, Any]


def run_reference(
    graph: FunctionGraph, arrays: Mapping[int, Array], env: Mapping[str, Any]
) -> list[Any]:
    """The function's outputs, each operator by its NumPy function in its own types."""
    held: dict[int, Any] = dict(arrays)
    with np.errstate(all="ignore"):
        for node in graph.nodes:
            operands = [_own_operand(o, held, env) for o in node.operands]
            result = node.operator.numpy(*operands, **numpy_attributes(node, env))
            results = result if len(node.results) > 1 else (result,)
            for value, array in zip(node.results, results, strict=True):
                held[value.id] = np.asarray(array, value.dtype.numpy)
    outputs: list[Any] = []
    for index, output in enumerate(graph.outputs):
        if not isinstance(output, Value):
            outputs.append(evaluate(output, env))
        elif output.shape == () and index not in graph.boxed:
            number = held[output.id][()]
            outputs.append(bool(number) if index in graph.truths else number)
        else:
            outputs.append(held[output.id])
    return outputs


def numpy_attributes(node: Node, extents: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes as the NumPy function takes them."""
    if node.is_handwritten:
        shapes = (tuple(extent_of(e, extents) for e in r.shape) for r in node.results)
        return {"shapes": tuple(shapes)}
    if node.is_library:
        return dict(node.attrs)
    out = {k: v for k, v in node.attrs if not (k == "dtype" and v is None)}
    if "extent" in out:
        out["extent"] = extent_of(out["extent"], extents)
    if "shape" in out:
        out["shape"] = tuple(extent_of(e, extents) for e in out["shape"])
    if node.operator.name in ("cast", "full", "coordinate"):
        out["dtype"] = node.result.dtype.numpy
    return out


def _own_operand(operand: Any, held: Mapping[int, Any], env: Mapping[str, Any]) -> Any:
    if isinstance(operand, Value):
        return held[operand.id]
    return converted(evaluate(operand.expr, env), operand.dtype)
