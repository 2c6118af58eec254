"""Choices: what ``max(1.0, v)`` returns if v is computed, one of several numbers.

Python returns one of the arguments itself.  So the result is a Python number at one call and a
number of NumPy's at another.  Where that makes no difference, as in ``x * max(1.0, v)``, a choice
is one value.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NoReturn

import numpy as np

from opweave.compiler.arrays.traced_operators import is_traced_array, is_traced_number
from opweave.compiler.ir.builder import scalar_type
from opweave.compiler.traced.operands import OnlyOperand
from opweave.opcodes import OPERATORS, dtypes
from opweave.opcodes.allowed import is_number
from opweave.opcodes.core import Kind, Operator
from opweave.opcodes.dtypes import F64, I64, DType
from opweave.opcodes.errors import DTypeError, UnsupportedError

# Whole numbers up to here are floats exactly.
EXACT = 1 << 53


class ChosenNumber(OnlyOperand):
    """One of several numbers.

    Attributes:
        wide: its value, in a type that holds each of the numbers.
        types: the types that it may have, as type rules take them.
    """

    def __init__(self, wide: Any, types: frozenset[Any]):
        self.wide, self.types = wide, types

    def refuse(self, *args: Any) -> NoReturn:
        tracer = self.wide.tracer
        raise tracer.noted(UnsupportedError(
            "max() or min() of a computed number: its type, Python's or NumPy's, follows from the "
            f"values ({tracer.where()}); use np.maximum or np.minimum"
        ))  # fmt: skip

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """Nobody knows it."""
        return self.refuse()

    @property
    def __array_priority__(self) -> float:
        return self.refuse()

    def _applied(self, operator: Operator, *operands: Any) -> Any:
        return self.wide.tracer.apply(operator, operands)

    def _power(self, exponent: Any) -> NoReturn:
        self.refuse()

    def _assigned(self, value: Any, name: str) -> Any:
        return value  # a number: the name stands for another one then


for _name in ("str", "complex", "round", "trunc", "floor", "ceil", "array_function"):
    setattr(ChosenNumber, f"__{_name}__", ChosenNumber.refuse)


def is_choosable(items: Sequence[Any]) -> bool:
    """Numbers of which one at least is computed, and none is missing beforehand."""
    arrays = _arrays(items)
    rest = [item for item in items if is_number_of_python(item)]
    if not arrays or not all(map(is_number, rest)):
        return False
    own = [item for item in items if type(item) is not ChosenNumber and is_traced_array(item)]
    known = arrays[0].tracer.selects and all(a.tracer.is_number(a.value) for a in own)
    return known and _wide_type(items) is not None


def _arrays(items: Sequence[Any]) -> list[Any]:
    computed = [item.wide if type(item) is ChosenNumber else item for item in items]
    return [item for item in computed if is_traced_array(item)]


def _types(item: Any) -> frozenset[Any]:
    if type(item) is ChosenNumber:
        return item.types
    if is_traced_array(item):
        return frozenset([item.value.dtype])
    return frozenset([scalar_type(getattr(item, "example", item))])


def _wide_type(items: Sequence[Any]) -> DType | None:
    """A type that holds each of some numbers exactly; None where there is none."""
    found = frozenset().union(*map(_types, items))
    whole = {int}.union(t for t in found if isinstance(t, DType) and t.kind in "iu")
    if dtypes.U64 in found or not all(t in whole or _is_float(t) for t in found):
        return None
    if found <= whole:
        return I64
    exact = I64 not in found and all(_is_exact(item) for item in items)
    return F64 if exact else None


def _is_float(kind: Any) -> bool:
    return kind is float or (isinstance(kind, DType) and kind.is_float)


def _is_exact(item: Any) -> bool:
    """A whole number of Python's among floats is known to be one of them."""
    return _types(item) != {int} or (type(item) is int and abs(item) <= EXACT)


def chosen(comparison: str, items: Sequence[Any]) -> Any:
    """As Python's ``max`` and ``min``: the first number that no other exceeds, or undercuts."""
    wide, tracer = _wide_type(items), _arrays(items)[0].tracer
    assert wide is not None
    current, *others = items
    for item in others:
        if is_number_of_python(item) and is_number_of_python(current):
            is_beyond = item > current if comparison == "greater" else item < current
            current = item if is_beyond else current
            continue
        pair = [_widened(part, wide) for part in (item, current)]
        compared = pair if _is_held(item, current) or _is_held(current, item) else [item, current]
        beyond = tracer.apply(OPERATORS[comparison], compared)
        found = tracer.apply(OPERATORS["where"], [beyond, *pair])
        current = ChosenNumber(found, _types(item) | _types(current))
    (kind, *more) = current.types
    if more or not isinstance(kind, DType):
        return current
    return current.wide.astype(kind.numpy)[()]


def _is_held(item: Any, choice: Any) -> bool:
    """True for a number of the function's own that all types of a choice hold exactly."""
    if type(choice) is not ChosenNumber or type(item) not in (int, float):
        return False
    kinds = [kind for kind in choice.types if isinstance(kind, DType)]
    with np.errstate(all="ignore"):
        return all(kind.is_float and kind.numpy.type(item) == item for kind in kinds)


def is_number_of_python(item: Any) -> bool:
    return type(item) is not ChosenNumber and not is_traced_array(item)


def _widened(item: Any, wide: DType) -> Any:
    if type(item) is ChosenNumber:
        return item.wide
    if is_traced_array(item):
        return item.astype(wide.numpy)
    return item if is_traced_number(item) else wide.numpy.type(item)


def resolved(operator: Operator, operands: Sequence[Any]) -> Sequence[Any]:
    """Operands with a value for each choice, of the type that an operator takes it in.

    Raises:
        UnsupportedError: the type follows from which of the numbers it is.
    """
    choices = [o for o in operands if type(o) is ChosenNumber]
    if not choices:
        return operands
    if operator.kind is not Kind.MAP or operator.name == "power":
        choices[0].refuse()
    try:
        loops = {operator.type_rule(types, ())[0] for types in product(*map(_types, operands))}
    except DTypeError:
        choices[0].refuse()
    if len(loops) > 1:
        choices[0].refuse()
    (loop,) = loops
    return [
        o.wide.astype(dtype.numpy) if type(o) is ChosenNumber else o
        for o, dtype in zip(operands, loop, strict=True)
    ]
