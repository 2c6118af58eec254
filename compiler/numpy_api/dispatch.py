"""The full table of NumPy's functions, and the operator that a ufunc is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opweave.compiler.numpy_api import (  # noqa: F401  (each enters its functions into the table)
    creation,
    creation_ranges,
    functional,
    indexing_routines,
    linalg,
    linalg_einsum,
    linalg_products,
    logic,
    manipulation_elements,
    manipulation_joining,
    manipulation_shape,
    math,
    math_complex,
    math_sums,
    sorting,
    statistics,
    statistics_correlating,
)
from opweave.compiler.numpy_api.registry import CREATORS, FUNCTIONS, METHODS, PROPERTIES, REDUCES
from opweave.compiler.numpy_api.scipy_special import is_special
from opweave.opcodes import OPERATORS
from opweave.opcodes.core import Kind, Operator

__all__ = ["CREATORS", "FUNCTIONS", "METHODS", "PROPERTIES", "REDUCES", "operator_of"]

# Operators of one operand or more that no call of NumPy's means.
INNER = ("cast", "copy", "index", "whole_quotient")
UFUNCS: dict[str, Operator] = {
    name: row
    for name, row in OPERATORS.items()
    if isinstance(getattr(np, name, None), np.ufunc)
    or (row.kind is Kind.MAP and name not in INNER and not row.tables)
} | {
    "true_divide": OPERATORS["divide"],
    "deg2rad": OPERATORS["radians"],
    "rad2deg": OPERATORS["degrees"],
}

# Ufuncs of scipy.special, for the types that SciPy computes in.
SCIPY: dict[str, Operator] = {
    "erf": OPERATORS["erf"],
    "erfc": OPERATORS["erfc"],
    "gamma": OPERATORS["tgamma"],
    "expit": OPERATORS["sigmoid"],
}


def operator_of(ufunc: np.ufunc, operands: Sequence[Any]) -> Operator | None:
    """The operator that a ufunc is; None for a user's ufunc, whatever its name."""
    name = ufunc.__name__
    if getattr(np, name, None) is ufunc:
        return UFUNCS.get(name)
    plain = all(getattr(o, "dtype", None) in (np.float32, np.float64) for o in operands)
    return SCIPY.get(name) if is_special(ufunc) and plain else None
