"""Complex numbers in traced functions, and functions of them that are made of real ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opweave.compiler.arrays.traced_operators import is_traced_array, is_traced_number
from opweave.compiler.ir.expr import Expr
from opweave.compiler.ir.values import Value
from opweave.opcodes import OPERATORS
from opweave.opcodes.core import Operator
from opweave.opcodes.dtypes import DType
from opweave.opcodes.operators.complex_functions import DEFINITIONS, is_whole


def is_complex(a: Any) -> bool:
    """True for a complex array, traced or not."""
    return getattr(getattr(a, "dtype", None), "kind", "") == "c"


def defined(operator: Operator, operands: Sequence[Any], typed: Sequence[Any]) -> Any:
    """The result of a function of complex numbers by its definition; None for any other.

    ``typed`` are the operands as the builder takes them.
    """
    definition = DEFINITIONS.get(operator.name)
    if definition is None:
        return None
    types = tuple(o.dtype if isinstance(o, Value) else o[1] for o in typed)
    loop, _ = operator.type_rule(types, ())
    if not loop[0].is_complex:
        return None
    tracer = next(o.tracer for o in operands if is_traced_array(o))
    base, *exponents = (
        _operand(tracer, o, t, loop[0]) for o, t in zip(operands, typed, strict=True)
    )
    if not is_traced_array(base):  # a whole number to the power of an array
        base = _array(tracer, typed[0][0], loop[0])
    made = [_typed(e, loop[0] if is_complex(e) else loop[0].part) for e in exponents]
    return definition(_typed(base, loop[0]), *made)


def _operand(tracer: Any, item: Any, typed: Any, dtype: DType) -> Any:
    if is_traced_array(item):
        return item
    if isinstance(typed, Value):  # an array that the function made without us
        return tracer.wrapped(typed)
    return _number(tracer, item, typed, dtype)


def _array(tracer: Any, expr: Expr, dtype: DType) -> Any:
    """A number as an array without dimensions."""
    return tracer.wrapped(tracer.builder.created(expr, dtype, (), tracer.where()))


def _typed(item: Any, dtype: DType) -> Any:
    is_other = is_traced_array(item) and item.value.dtype is not dtype
    return item.astype(dtype.numpy) if is_other else item


def _number(tracer: Any, item: Any, typed: tuple[Expr, Any], dtype: DType) -> Any:
    """A whole number itself, since powers are multiplied out; any other as an array."""
    if isinstance(item, np.generic):
        item = item.item()
    if is_traced_number(item) and isinstance(item, int):
        item = int(item)
    if type(item) in (int, float, complex) and is_whole(item):
        return item
    kind = typed[1]
    real = kind in (int, float) or (isinstance(kind, DType) and not kind.is_complex)
    return _array(tracer, typed[0], dtype.part if real else dtype)


def conjugated(a: Any) -> Any:
    """The conjugate, of a real array itself."""
    return np.conjugate(a) if is_complex(a) else a


def squared_size(a: Any) -> Any:
    """|a|**2, of a complex array without a root."""
    if not is_complex(a):
        return a * a
    re, im = OPERATORS["real"](a), OPERATORS["imag"](a)
    return re * re + im * im
