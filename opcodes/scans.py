"""The scans: reductions of every beginning of a row, with one element for each.

``acc`` is the value so far, ``x`` the next element; the reduce op-code joins a run of elements to
those before it.  The runs are stated by the plan (compiler/scheduling/scan_plans.py).
NumPy calls them cumsum and cumprod, and ``accumulate`` of a ufunc.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from opweave.opcodes import dtypes, rules
from opweave.opcodes.core import Kind, OpCode, Operator, Phase, TypeRule
from opweave.opcodes.errors import DTypeError
from opweave.opcodes.reductions import HIGHEST, LOWEST
from opweave.opcodes.shapes import SCANNED


def _meaning(ufunc: np.ufunc) -> Callable[..., Any]:
    """``ufunc.accumulate`` along one axis, the last unless given."""

    def scanned(x: Any, axis: int = -1, dtype: Any = None) -> Any:
        to = None if dtype is None else dtypes.of(dtype).numpy
        return ufunc.accumulate(x, axis=index(axis), dtype=to)

    return scanned


def _of_reals(rule: TypeRule) -> TypeRule:
    """A type rule that refuses complex numbers.

    No identity leaves the bits of every number as they are: (1 + 0j) * inf has a NaN.
    """

    def checked(types: Any, attrs: Any = ()) -> Any:
        loop, results = rule(types, attrs)
        for dtype in (*loop, *results):
            if dtype.is_complex:
                raise DTypeError(
                    f"no running values of {dtype.numpy_name}: take those of .real and .imag"
                )
        return loop, results

    return checked


def scan(
    name: str,
    ufunc: np.ufunc,
    join: dict[str, str],
    identity: dict[str, str],
    rule: TypeRule,
    *,
    dtype_attr: bool = False,
) -> Operator:
    """Make a scan from a row; ``join`` is written over ``acc`` and ``x`` per dtype kind.

    The identity, joined in front of an element, must leave all bits of the element as they are.
    """
    codes = [
        OpCode(name, phase, text, ("acc", "x"), dtypes=kinds)
        for phase in (Phase.ACCUMULATE, Phase.REDUCE)
        for kinds, text in join.items()
    ]
    return Operator(
        name,
        Kind.SCAN,
        tuple(codes),
        _meaning(ufunc),
        _of_reals(rule),
        shape_rule=SCANNED,
        identity={kind: text for kinds, text in identity.items() for kind in kinds},
        accumulator=rules.wide_float,
        attrs=(("axis", -1), *((("dtype", None),) if dtype_attr else ())),
    )


OPERATORS: tuple[Operator, ...] = (
    scan(
        "cumsum",
        np.add,
        {"fu": "acc + x", "i": "wrap_add(acc, x)", "b": "acc || x"},
        {"f": "-T(0)", "iu": "0", "b": "false"},  # 0.0 would lose the sign of -0.0
        rules.summation,
        dtype_attr=True,
    ),
    scan(
        "cumprod",
        np.multiply,
        {"f": "acc * x", "iu": "wrap_mul(acc, x)", "b": "acc && x"},
        {"fiu": "1", "b": "true"},
        rules.summation,
        dtype_attr=True,
    ),
    scan(
        "cummax",
        np.maximum,
        {"f": "max_nan(acc, x)", "iub": "acc > x ? acc : x"},
        LOWEST,
        rules.first,
    ),
    scan(
        "cummin",
        np.minimum,
        {"f": "min_nan(acc, x)", "iub": "acc < x ? acc : x"},
        HIGHEST,
        rules.first,
    ),
    scan("cumany", np.logical_or, {"b": "acc || x"}, {"b": "false"}, rules.truth),
    scan("cumall", np.logical_and, {"b": "acc && x"}, {"b": "true"}, rules.truth),
)
