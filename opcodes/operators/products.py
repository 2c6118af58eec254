"""The matrix product, views, and arrays of a number: what is neither a map nor a reduction.

``acc`` is the running value of one element of the product, ``x`` and ``y`` the next pair.  In
which order the pairs meet is said by the product's accumulation plan
(compiler/scheduling/accumulation_plans.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.opcodes import rules
from opweave.opcodes.codes import OpCode, Phase, rows
from opweave.opcodes.core import Kind, Operator, TypeRule
from opweave.opcodes.shapes import PRODUCT, RESHAPED, SLICED, VIEWED, ShapeRule

# One rounding a step; fma is asked for by name, so that no compiler decides.
ACCUMULATE = {
    "f": "fma(x, y, acc)",
    "i": "wrap_add(acc, wrap_mul(x, y))",
    "u": "acc + x * y",
    "b": "acc | (x & y)",
}
ZERO = {"fiu": "0", "b": "false"}
# What an element is in the end.  Padding adds complex zeros of either sign: none is left negative.
RESULT = {"fiub": "acc", "c": "acc + T()"}


def multiplied(x: Any, y: Any) -> Any:
    """``x @ y``; a bfloat16 product is bfloat16, accumulated in float32."""
    if getattr(x, "dtype", None) == y.dtype and x.dtype.name == "bfloat16":
        return np.matmul(x.astype(np.float32), y.astype(np.float32)).astype(x.dtype)
    return np.matmul(x, y)


def viewed(x: Any, axes: tuple[int | None, ...]) -> Any:
    """Dimension ``d`` of the view is dimension ``axes[d]`` of ``x``, or new for None.

    Dimensions that are left out have extent 1.  Works on NumPy and CuPy arrays; copies nothing.
    """
    named = [a for a in axes if a is not None]
    dropped = [d for d in range(x.ndim) if d not in named]
    moved = x.transpose(*dropped, *named)[(*[0] * len(dropped), ...)]
    return moved[tuple(None if a is None else slice(None) for a in axes)] if axes else moved


def sliced(x: Any, start: Any, axis: int, step: int, extent: int) -> Any:
    """``extent`` elements of ``x`` along an axis, from index ``start`` on; copies nothing."""
    return x[(*[slice(None)] * axis, indices(int(start), step, extent))]


def reshaped(x: Any, shape: tuple[int, ...]) -> Any:
    """The elements in rows, in another shape."""
    return x.reshape(shape)


def full(x: Any, shape: tuple[int, ...], dtype: Any = None) -> Any:
    """An array of this shape and dtype whose every element is ``x``."""
    return np.full(shape, x, dtype)


def indices(first: int, step: int, count: int) -> slice:
    """``count`` indices from ``first`` on.

    >>> list(range(9))[indices(4, -2, 3)]
    [4, 2, 0]
    """
    stop = first + step * count
    return slice(first, stop if stop >= 0 else None, step) if count else slice(0, 0)


def _view(
    name: str, numpy: Callable[..., Any], index_map: str, shape_rule: ShapeRule,
    attrs: tuple[tuple[str, Any], ...], rule: TypeRule = rules.first, params: str = "x",
) -> Operator:  # fmt: skip
    """Make a view from a row.  It computes nothing: loads of its users read at other places."""
    named = tuple(params.split())
    code = OpCode(name, Phase.INDEX, named, supplied=f"no fragment but an index map: {index_map}")
    return Operator(name, Kind.MOVE, (code,), numpy, rule, named, shape_rule, attrs=attrs)


OPERATORS: tuple[Operator, ...] = (
    Operator(
        "matmul", Kind.CONTRACT,
        (
            OpCode("load_tile", Phase.LOAD, ("x", "y"),
                   supplied="templates/tile_macros.cu.j2: load_tile, of x and of y"),
            OpCode("matmul", Phase.ACCUMULATE, ("acc", "x", "y"), rows(ACCUMULATE, ZERO)),
            OpCode("matmul", Phase.REDUCE, ("acc",), rows(RESULT)),
        ),
        multiplied, rules.same, ("x", "y"), PRODUCT, accumulator=rules.wide_float,
    ),
    _view("view", viewed, "axis d is axes[d] of x, or new", VIEWED, (("axes", ()),)),
    _view(
        "slice", sliced, "i of the axis is start + step * i of x", SLICED,
        (("axis", 0), ("extent", 0), ("step", 1)), rules.first_and_index, "x start",
    ),
    _view("reshape", reshaped, "elements in rows, one by one", RESHAPED, (("shape", ()),)),
    Operator(
        "full", Kind.CREATE,
        (OpCode("full", Phase.PROLOGUE, ("x",), rows({"fiub": "x"}), exact=True),),
        full, rules.stated, shape_rule=RESHAPED, attrs=(("dtype", None), ("shape", ())),
    ),
)  # fmt: skip
