"""Scalar expressions: arithmetic on numbers and extents, which the host evaluates at each call."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from opweave.opcodes import dtypes
from opweave.opcodes.allowed import plain_number, shown
from opweave.opcodes.cached import cached_property

INFIX = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "exponent_is": "==", "ne": "!=",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip


@dataclass(frozen=True)
class Expr:
    """A scalar expression: ``op`` is "literal", "argument", "extent" or a function's name."""

    op: str
    args: tuple[Any, ...]

    def __repr__(self) -> str:
        if self.op == "literal":
            return shown(self.args[0]) if type(self.args[0]) is int else str(self.args[0])
        if self.op in ("argument", "extent"):
            return str(self.args[0])
        if self.op in INFIX and len(self.args) == 2:
            sides = [repr(a) if a.op not in INFIX else f"({a!r})" for a in self.args]
            return f"{sides[0]} {INFIX[self.op]} {sides[1]}"
        return f"{self.op}({', '.join(map(repr, self.args))})"

    @cached_property
    def size(self) -> int:
        """Operations and leaves, written out: what is used twice counts twice."""
        return 1 + sum(arg.size for arg in self.args if isinstance(arg, Expr))

    @cached_property
    def of(self) -> Callable[[Mapping[str, Any]], Any]:
        """The function of arguments and extents by name; see ``evaluate``."""
        return _function(self)

    def __reduce__(self) -> Any:
        return Expr, (self.op, self.args)

    def with_leaves(self, of: Callable[[Expr], Expr]) -> Expr:
        """The same expression of other literals, arguments and extents."""
        if self.op in ("literal", "argument", "extent"):
            return of(self)
        return Expr(self.op, tuple(arg.with_leaves(of) for arg in self.args))

    def leaves(self) -> Iterator[Expr]:
        if self.op in ("literal", "argument", "extent"):
            yield self
        else:
            for arg in self.args:
                yield from arg.leaves()


def names_in(expr: Expr) -> frozenset[str]:
    """The arguments and extents of which an expression is made."""
    return frozenset(leaf.args[0] for leaf in expr.leaves() if leaf.op != "literal")


def literal(value: Any) -> Expr:
    """A number as an expression.

    Raises:
        DTypeError: not a number.
    """
    return Expr("literal", (plain_number(value),))


def value_key(value: Any) -> Any:
    """A plain value with its type, and floats by their bits, also those of a complex number."""
    if isinstance(value, np.generic):
        return type(value), value.tobytes()
    if type(value) is complex:
        return type(value), (float.hex(value.real), float.hex(value.imag))
    return type(value), float.hex(value) if type(value) is float else value


def expr_key(expr: Expr) -> Any:
    """A key that tells apart what compares equal: 1, 1.0 and True; 0.0 and -0.0."""
    if expr.op == "literal":
        return value_key(expr.args[0])
    if expr.op in ("argument", "extent"):
        return expr.op, expr.args
    return expr.op, tuple(map(expr_key, expr.args))


def _cast(dtype: dtypes.DType) -> Callable[[Any], Any]:
    return lambda number: np.asarray(number).astype(dtype.numpy)[()]


# Methods of numbers, without arguments, that are called at each call.
NUMBER_METHODS = ("conjugate", "item", "is_integer", "bit_length")
SCALAR_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "neg": operator.neg,
    "pos": operator.pos,
    "abs": abs,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
    "exponent_is": operator.eq,  # of a number that makes another function of a power
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
    "invert": operator.invert,
    "real": operator.attrgetter("real"),
    "imag": operator.attrgetter("imag"),
    **{name: operator.methodcaller(name) for name in NUMBER_METHODS},
    **{f"np.{dtype.numpy_name}": _cast(dtype) for dtype in dtypes.EVERY},  # s.astype(np.float32)
    "max": max,
    "min": min,
    "cos": math.cos,
    "sin": math.sin,
    # the extent that is left: all elements over those of the other extents
    "share": lambda total, known: total // max(known, 1),
    # the number of steps from one number to another
    "steps": lambda start, stop, step: len(range(start, stop, step)),
    # for a slice with these bounds of an axis of n elements: its first index, and its length
    "slice_start": lambda n, *bounds: slice(*bounds).indices(n)[0],
    "slice_length": lambda n, *bounds: len(range(*slice(*bounds).indices(n))),
}


def scalar_function(name: str) -> Callable[..., Any]:
    """A Python operator, or ``np.NAME`` applied to Python scalars."""
    return SCALAR_FUNCTIONS.get(name) or getattr(np, name.removeprefix("np."))


def evaluate(expr: Expr, env: Mapping[str, Any]) -> Any:
    """Compute an expression on the host; ``env`` maps argument and extent names to values."""
    return expr.of(env)


def _raises(part: Callable[[Mapping[str, Any]], Any], env: Mapping[str, Any]) -> bool:
    try:
        part(env)
    except (ArithmeticError, ValueError):
        return True
    return False


def _function(expr: Expr) -> Callable[[Mapping[str, Any]], Any]:
    """An expression as functions of functions: a guard is asked at each call."""
    if expr.op == "literal":
        number = expr.args[0]
        return lambda env: number
    if expr.op in ("argument", "extent"):
        return operator.itemgetter(expr.args[0])
    parts = [arg.of for arg in expr.args]
    if expr.op == "raises":
        return lambda env: _raises(parts[0], env)
    apply = scalar_function(expr.op)
    if len(parts) != 2:
        return lambda env: apply(*[part(env) for part in parts])
    first, second = parts
    if expr.args[1].op == "literal":
        number = expr.args[1].args[0]
        return lambda env: apply(first(env), number)
    return lambda env: apply(first(env), second(env))
