"""Powers by a number, of which NumPy makes other functions where the number is 2 or its like."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from opweave.compiler.arrays.interface import TracerLike
from opweave.compiler.arrays.traced_operators import is_traced_array, is_traced_number
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.ir.values import Value
from opweave.opcodes import OPERATORS
from opweave.opcodes.core import Operator
from opweave.opcodes.dtypes import DType
from opweave.opcodes.operators.functions import POWERS_BY_NUMBER, power_by_number


def power_by(tracer: TracerLike, base: Value, exponent: Any) -> Operator:
    """The operator that ``base ** exponent`` is, for an array or a number of NumPy's."""
    dtype = base.dtype
    if dtype.kind == "b" and tracer.is_number(base):
        return OPERATORS["power"]
    number = known_exponent(tracer, dtype, exponent)
    return OPERATORS[power_by_number(dtype.kind, number)]


def with_known_exponent(
    tracer: TracerLike, operator: Operator, operands: Sequence[Any]
) -> Sequence[Any]:
    """The operands, of a power by a number that makes another function of it with the number."""
    if operator.name != "power" or not is_traced_array(operands[0]):
        return operands
    base, exponent = operands
    return base, known_exponent(tracer, base.value.dtype, exponent)


def known_exponent(tracer: TracerLike, dtype: DType, exponent: Any) -> Any:
    """An exponent, itself where it is a call's number that makes another function of the power.

    Which of them it is becomes part of the guard. Of integers every power by an integer is the
    same function, and those by floats are powers of floats; of bools the square has another type.
    """
    if not is_traced_number(exponent):
        return exponent
    found, kind = exponent.example, dtype.kind
    if isinstance(found, bool) or not isinstance(found, numbers.Real):
        return exponent
    if kind == "b" and isinstance(found, float | np.generic):
        return exponent
    if kind in "iu":
        if not isinstance(found, float | np.floating):
            return exponent
        kind = "f"
    for number in POWERS_BY_NUMBER[kind]:
        same = Expr("exponent_is", (exponent.expr, literal(number)))
        if tracer.decide(same, bool(found == number)):
            return found
    return exponent


def is_special_exponent(number: Any) -> bool:
    """Whether a power by a number is, for some dtype, another function with that number."""
    return number in POWERS_BY_NUMBER["f"]
