"""Python's operators on traced values: methods of traced arrays and numbers, by table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opweave.compiler.arrays.casting import types_first
from opweave.compiler.ir.expr import SCALAR_FUNCTIONS
from opweave.opcodes import OPERATORS
from opweave.opcodes.allowed import is_number
from opweave.opcodes.core import Operator

# (Python's name of a method, operator on arrays); numbers take the function of that name.
BINARY = (
    ("add", "add"),
    ("sub", "subtract"),
    ("mul", "multiply"),
    ("truediv", "divide"),
    ("floordiv", "floor_divide"),
    ("mod", "remainder"),
    ("pow", "power"),
    ("and", "bitwise_and"),
    ("or", "bitwise_or"),
    ("xor", "bitwise_xor"),
    ("lshift", "left_shift"),
    ("rshift", "right_shift"),
)
COMPARISONS = (
    ("lt", "less"),
    ("le", "less_equal"),
    ("gt", "greater"),
    ("ge", "greater_equal"),
    ("eq", "equal"),
    ("ne", "not_equal"),
)
UNARY = (("neg", "negative"), ("pos", "positive"), ("abs", "absolute"), ("invert", "invert"))


def is_traced_array(item: Any) -> bool:
    """True for a stand-in for an array; the type is asked, never the instance.

    A user's object may answer to every name, as a dict with ``__getattr__ = dict.get`` does.
    """
    return getattr(type(item), "__opweave_traced__", None) == "array"


def is_traced_number(item: Any) -> bool:
    """True for a stand-in for a number that may differ from call to call."""
    return getattr(type(item), "__opweave_traced__", None) == "number"


def is_traced(item: Any) -> bool:
    """True for a stand-in for an array or a number."""
    return hasattr(type(item), "__opweave_traced__")


class ArrayOperators:
    """The operator methods of a traced array, which call three hooks."""

    __slots__ = ()

    def _applied(self, operator: Operator, *operands: Any) -> Any:
        """Apply an operator to operands of which one at least is traced."""
        raise NotImplementedError

    def _power(self, exponent: Any) -> Operator:
        """The operator that a power with this exponent is."""
        raise NotImplementedError

    def _assigned(self, value: Any, name: str) -> Any:
        """Make this name stand for a new value, for the in-place operators."""
        raise NotImplementedError

    def _left_to_python(self, name: str, other: Any) -> Any:
        """What Python makes of an operator where the other operand has a say in it."""
        return NotImplemented


class NumberOperators:
    """The operator methods of a traced number."""

    def _scalar(self, name: str, operands: Sequence[Any]) -> Any:
        """Apply a scalar function to numbers of which one at least is traced."""
        raise NotImplementedError

    def _beside(self, name: str, other: Any) -> Any:
        """The result with an operand that is no number; NumPy's numbers take lists and texts."""
        return NotImplemented


def _binary(name: str, operator: Operator) -> Callable[..., Any]:
    def method(self: ArrayOperators, other: Any) -> Any:
        left_to_python = self._left_to_python(name, other)
        if left_to_python is not NotImplemented:
            return left_to_python
        found = self._power(other) if name == "pow" else operator
        return self._applied(found, *((self, other) if len(found.params) == 2 else (self,)))

    return method


def _reflected(operator: Operator) -> Callable[..., Any]:
    return lambda self, other: self._applied(operator, other, self)


def _in_place(name: str, ufunc: np.ufunc) -> Callable[..., Any]:
    def method(self: ArrayOperators, other: Any) -> Any:
        found = self._left_to_python(f"i{name}", other)
        if found is not NotImplemented:
            return found
        with types_first(ufunc, (self, other), (self,)):
            value = getattr(self, f"__{name}__")(other)
        return self._assigned(value, f"__i{name}__")

    return method


def _unary(operator: Operator) -> Callable[..., Any]:
    return lambda self: self._applied(operator, self)


def _number(name: str, flip: bool = False) -> Callable[..., Any]:
    def method(self: NumberOperators, other: Any) -> Any:
        if hasattr(type(other), "_applied"):  # an array, which takes the number
            return NotImplemented
        if not isinstance(other, NumberOperators) and not is_number(other):
            return NotImplemented if flip else self._beside(name, other)
        return self._scalar(name, [other, self] if flip else [self, other])

    return method


for _name, _operator in (*BINARY, *COMPARISONS):
    setattr(ArrayOperators, f"__{_name}__", _binary(_name, OPERATORS[_operator]))
    if _name in SCALAR_FUNCTIONS:
        setattr(NumberOperators, f"__{_name}__", _number(_name))
for _name, _operator in BINARY:
    setattr(ArrayOperators, f"__r{_name}__", _reflected(OPERATORS[_operator]))
    setattr(ArrayOperators, f"__i{_name}__", _in_place(_name, getattr(np, _operator)))
    if _name in SCALAR_FUNCTIONS:
        setattr(NumberOperators, f"__r{_name}__", _number(_name, flip=True))
for _name, _operator in UNARY:
    setattr(ArrayOperators, f"__{_name}__", _unary(OPERATORS[_operator]))
    if _name in SCALAR_FUNCTIONS:
        setattr(NumberOperators, f"__{_name}__", lambda self, n=_name: self._scalar(n, [self]))
