"""The scans: reductions of every beginning of a row, with one element for each.

``acc`` is the value so far, ``x`` the next element; the reduce op-code joins a run of elements to
those before it.  The runs are stated by the plan (compiler/scheduling/scan_plans.py).
NumPy calls them cumsum and cumprod, and ``accumulate`` of a ufunc.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import index
from typing import Any

import numpy as np

from opweave.opcodes import dtypes, rules
from opweave.opcodes.core import Kind, Operator, TypeRule
from opweave.opcodes.reductions import (
    ADDED,
    HIGHEST,
    LARGER,
    LOWEST,
    MULTIPLIED,
    ONE,
    SMALLER,
    ZERO,
    Texts,
    accumulating,
)  # fmt: skip
from opweave.opcodes.shapes import SCANNED


def _meaning(ufunc: np.ufunc) -> Callable[..., Any]:
    """``ufunc.accumulate`` along one axis, the last unless given."""

    def scanned(x: Any, axis: int = -1, dtype: Any = None) -> Any:
        to = None if dtype is None else dtypes.of(dtype).numpy
        return ufunc.accumulate(x, axis=index(axis), dtype=to)

    return scanned


# No identity leaves the bits of every number as they are: (1 + 0j) * inf has a NaN.
NO_COMPLEX = "no running values of {}: take those of .real and .imag"


def scan(name: str, ufunc: np.ufunc, join: Texts, identity: Texts, rule: TypeRule) -> Operator:
    """Make a scan from a row.

    The identity, joined in front of an element, must leave all bits of the element as they are.
    """
    made = accumulating(
        name, Kind.SCAN, _meaning(ufunc), join, identity, rule, SCANNED, (("axis", -1),)
    )
    return replace(made, type_rule=rules.of_reals(rule, NO_COMPLEX))


OPERATORS: tuple[Operator, ...] = (
    # 0.0 would lose the sign of -0.0
    scan("cumsum", np.add, ADDED, ZERO | {"f": "-T(0)"}, rules.summation),
    scan("cumprod", np.multiply, MULTIPLIED, ONE, rules.summation),
    scan("cummax", np.maximum, LARGER, LOWEST, rules.first),
    scan("cummin", np.minimum, SMALLER, HIGHEST, rules.first),
    scan("cumany", np.logical_or, {"b": "acc || x"}, {"b": "false"}, rules.truth),
    scan("cumall", np.logical_and, {"b": "acc && x"}, {"b": "true"}, rules.truth),
)
