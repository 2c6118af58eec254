"""Places of extremes: reductions whose running value is a number and where it was first found.

They stand in no list of a user's: ``compiler/passes/places.py`` puts them where a place is asked
for by a largest number and a comparison with it.  So each element is read once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from opweave.opcodes import dtypes, rules
from opweave.opcodes.codes import Fragment, OpCode, Phase
from opweave.opcodes.core import Kind, Operator
from opweave.opcodes.dtypes import I64, DType
from opweave.opcodes.shapes import REDUCED

KINDS = "fiub"
# The running values, see templates/places.cuh.
RUNNING = {"argmax": "Largest", "argmin": "Smallest"}


def _largest(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    return np.argmax(x, _one(axis), keepdims=keepdims)


def _smallest(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    return np.argmin(x, _one(axis), keepdims=keepdims)


def _one(axis: Any) -> Any:
    """An axis that may stand in a tuple."""
    return axis[0] if isinstance(axis, tuple) else axis


def _rule(types: tuple[Any, ...], attrs: Any = ()) -> rules.Signature:
    """The place's type stands in the attributes."""
    return (types[0],), (dtypes.of(dict(attrs).get("dtype") or I64),)


def _row(name: str, numpy: Callable[..., Any]) -> Operator:
    begins = Fragment("taken(acc, x, place)", KINDS, "T::none()")
    codes = (
        OpCode(name, Phase.ACCUMULATE, ("acc", "x", "place"), (begins,)),
        OpCode(name, Phase.REDUCE, ("acc", "x"), (Fragment("first_of(acc, x)", KINDS),)),
    )
    attrs = (("axis", None), ("keepdims", False), ("dtype", None))
    return Operator(
        name, Kind.REDUCE, codes, numpy, _rule, shape_rule=REDUCED, attrs=attrs,
        accumulator=rules.wide_float, needs_nonempty=True, finish="place_of",
    )  # fmt: skip


# By what finds the extreme.
OPERATORS = {"max": _row("argmax", _largest), "min": _row("argmin", _smallest)}


def finds_place(operator: Operator) -> bool:
    """Whether an operator is one of these; a user may give the names to others."""
    return any(operator is row for row in OPERATORS.values())


def running_place(name: str, of: DType, place: DType) -> DType:
    """The running value of such a reduction, in registers and where threads meet."""
    size = 2 * max(of.register_bytes, place.itemsize, 4)
    register = f"{RUNNING[name]}<{of.register}, {place.register}>"
    return replace(of, itemsize=size, storage=register, register=register, round="")
