"""Notes of ``explain``: what a function does that its kernels do not show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from opweave.compiler.captures.structure import Changing
from opweave.compiler.ir.expr import Expr
from opweave.compiler.ir.graph import FunctionGraph, Node
from opweave.compiler.ir.values import Scalar, Value
from opweave.compiler.tracing.arguments import Trace
from opweave.opcodes.dtypes import DType
from opweave.runtime.calls.writes import Unwritten, Writes

NARROW = ("f16", "bf16")


def notes_of(trace: Trace, arrays: Sequence[Any] | None = None) -> list[str]:
    """Lines where a NumPy number gives 16-bit floats its own, wider type (NEP 50).

    half * np.float32(2)    is float32, and half * 2.0 is float16

    What a call leaves in objects of its arguments, and why kernels do not run one with these
    ``arrays`` that it is to write to.
    """
    left = trace.structure.names if isinstance(trace.structure, Changing) else ()
    anew = (f"{name} is set anew at each call" for name in left)
    unwritten = [] if arrays is None else _unwritten(trace, arrays)
    return list(dict.fromkeys([*unwritten, *_widenings(trace.graph, trace.scalar_types), *anew]))


def _unwritten(trace: Trace, arrays: Sequence[Any]) -> list[str]:
    given = [*arrays, *trace.constants]
    try:
        Writes.of(trace.graph, given).check(given)
    except Unwritten as why:
        which = f"arguments {why}" if why.shared else str(why)
        return [f"kernels do not run with these arrays: {which}"]
    return []


def _widenings(graph: FunctionGraph, kinds: Mapping[str, Any]) -> Iterator[str]:
    made = {r.id: n for n in graph.nodes for r in n.results}
    for node in graph.nodes:
        floats = [v for v in node.values if v.shape and v.dtype.is_float]
        narrow = {_before(made.get(v.id), node) for v in floats}
        if not narrow or None in narrow or not node.result.dtype.is_float:
            continue  # an array is as wide and decides, or the result is not wide
        strong = next((w for o in node.operands if (w := _strong(o, kinds))), None)
        if strong is not None:
            yield (
                f"{node.where}: {strong} makes {' and '.join(sorted(filter(None, narrow)))} "
                f"{node.result.dtype.numpy_name} in {node.operator.name}, as in NumPy; a number "
                "of Python's would keep it"
            )


def _before(cast: Node | None, node: Node) -> str | None:
    """The 16-bit type that an operand had before a cast; None where it had none."""
    if cast is None or cast.operator.name != "cast" or cast.where != node.where:
        return None
    source = cast.values[0].dtype
    return source.numpy_name if source.name in NARROW else None


def _strong(operand: Value | Scalar, kinds: Mapping[str, Any]) -> str | None:
    """A name for an operand whose type is not weak; None for a weak one."""
    if isinstance(operand, Value):
        return None if operand.shape else "a result without dimensions"
    found = next((k for leaf in operand.expr.leaves() if (k := _kind(leaf, kinds))), None)
    return None if found is None else f"a NumPy number of {found}"


def _kind(leaf: Expr, kinds: Mapping[str, Any]) -> str | None:
    """The dtype of a number that has one of its own."""
    if leaf.op == "literal":
        number = leaf.args[0]
        return number.dtype.name if isinstance(number, np.generic) else None
    kind = kinds.get(leaf.args[0])
    return kind.numpy_name if isinstance(kind, DType) else None
