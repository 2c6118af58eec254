"""Traced numbers: stand-ins for numbers that may differ from call to call.

Arithmetic between numbers builds an expression that the host evaluates at each call; asking for a
value (``if n > 3``, ``range(n)``, ``math.log(s)``) makes it static, with a guard.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import permutations
from typing import Any

import numpy as np

from opweave.compiler.arrays.interface import TracerLike
from opweave.compiler.arrays.traced_operators import (
    COMPARISONS,
    NumberOperators,
    is_traced_array,
)
from opweave.compiler.ir.expr import NUMBER_METHODS, Expr, literal, scalar_function
from opweave.compiler.traced.refused import is_own, order_decides, python_answers
from opweave.opcodes import dtypes
from opweave.opcodes.allowed import is_number
from opweave.opcodes.core import Operator
from opweave.opcodes.errors import DTypeError

COMPARED = tuple(name for name, _ in COMPARISONS)
# Functions that raise where the second number is 0, and what else raises for some numbers.
DIVIDING = ("truediv", "floordiv", "mod")
RAISING = (*DIVIDING, "pow", "lshift", "rshift")
# Attributes of a number that its type decides, which belongs to the guard.
OF_A_TYPE = ("dtype", "ndim", "shape", "size", "itemsize", "nbytes", "strides")


def as_expr(item: Any) -> tuple[Expr, Any]:
    """Expression and example value of a number."""
    if isinstance(item, TracedScalar):
        return item.expr, item.example
    return literal(item), item


def _example(item: Any) -> Any:
    return item.example if isinstance(item, TracedScalar) else item


def _python_answers(name: str, operands: Sequence[Any]) -> bool:
    """See ``python_answers``."""
    return len(operands) == 2 and python_answers(name, operands[0], _example(operands[1]))


def _strong(item: Any) -> Any:
    """A number of a user's class, in the form in which NumPy's numbers take it: as an array."""
    return np.asarray(item)[()] if is_own(item) else item


def scalar_apply(name: str, operands: Sequence[Any]) -> Any:
    """Apply a scalar function to numbers of which one at least is traced.

    Where an operand is no number, such as a text to compare with, the traced ones become static.
    """
    tracer = next(o.tracer for o in operands if isinstance(o, TracedScalar))
    if not all(isinstance(o, TracedScalar) or is_number(o) for o in operands):
        return scalar_function(name)(*map(tracer.concrete, operands))
    if any(isinstance(o, np.generic) for o in map(_example, operands)):
        if name in COMPARED and any(map(_python_answers, (name, name), permutations(operands))):
            own = next(o for o in operands if isinstance(o, complex) or is_own(o))
            raise order_decides(tracer, name, type(own))
        if _python_answers(name, operands):
            return scalar_apply(name, [operands[0], scalar_apply("item", operands[1:])])
        operands = [_strong(o) for o in operands]
    pairs = [as_expr(o) for o in operands]
    example = _computed(tracer, name, operands)
    if name == "pow" and all(isinstance(v, int) for _, v in pairs):
        _decide_type(tracer, *pairs)
    elif name == "pow":
        _decide_root(tracer, *pairs)
    expr = Expr(name, tuple(expr for expr, _ in pairs))
    if name in RAISING:
        _note_raising(tracer, name, expr, is_whole=all(type(v) is int for _, v in pairs))
    if tracer.catches and name in RAISING:
        tracer.decide(Expr("raises", (expr,)), False)
    if tracer.watches:
        tracer.numbers.append(expr)  # evaluating it may fail, though nobody reads it
    if tracer.asks_truth and type(example) is bool:
        return tracer.decide(expr, example)
    return tracer.computed(expr, example)


def _computed(tracer: TracerLike, name: str, operands: Sequence[Any]) -> Any:
    """What it is now; an error, which the function may catch, is that of these numbers alone."""
    try:
        return scalar_function(name)(*map(_example, operands))
    except Exception:
        for item in operands:
            tracer.concrete(item)
        raise


def _note_raising(tracer: TracerLike, name: str, expr: Expr, is_whole: bool) -> None:
    """Note what may raise, and the condition under which it does not: a divisor is not 0."""
    second = expr.args[1]
    is_known = second.op == "literal"  # it has not raised now
    if name not in DIVIDING and not (is_known and is_whole):
        tracer.raising.append((expr, Expr("raises", (expr,)), False))
    elif name in DIVIDING and not is_known:
        tracer.raising.append((expr, Expr("ne", (second, literal(0))), True))


def _decide_type(tracer: TracerLike, base: tuple[Expr, Any], exponent: tuple[Expr, Any]) -> None:
    """Put into the guard whether a power of integers is an int: the exponent's sign decides."""
    if tracer.decide(Expr("lt", (exponent[0], literal(0))), exponent[1] < 0):
        tracer.decide(Expr("ne", (base[0], literal(0))), base[1] != 0)


def _decide_root(tracer: TracerLike, base: tuple[Expr, Any], exponent: tuple[Expr, Any]) -> None:
    """Put into the guard whether a power of Python numbers is complex, a root of a negative."""
    if not all(type(value) in (bool, int, float) for _, value in (base, exponent)):
        return
    is_size = all(leaf.op == "extent" for leaf in base[0].leaves())
    is_plain = exponent[0].op == "literal" and exponent[1] % 1 == 0
    if is_size or is_plain or (base[0].op == "literal" and base[1] >= 0):
        return
    if tracer.decide(Expr("lt", (base[0], literal(0))), base[1] < 0):
        fraction = Expr("mod", (exponent[0], literal(1)))
        tracer.decide(Expr("eq", (fraction, literal(0))), exponent[1] % 1 == 0)


class TracedScalar(NumberOperators):
    """Stands for a Python (or NumPy) number that may differ from call to call."""

    __opweave_traced__ = "number"

    def __new__(cls, tracer: TracerLike, expr: Expr, example: Any) -> TracedScalar:
        """An object whose class has the name of the number's, for texts of Python's errors."""
        return object.__new__(_class_of(type(example)))

    def __init__(self, tracer: TracerLike, expr: Expr, example: Any):
        self.tracer = tracer
        self.expr = expr
        self.example = example

    def __copy__(self) -> TracedScalar:
        return self

    def __deepcopy__(self, memo: Any) -> TracedScalar:
        return self

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The number's own type, for ``isinstance``; it is part of the guard."""
        return type(self.example)

    @property
    def __array_priority__(self) -> float:
        """NumPy's numbers have one, Python's none; what computes is told by a ufunc."""
        found: float = type(self.example).__array_priority__
        return found

    def _scalar(self, name: str, operands: Sequence[Any]) -> Any:
        return scalar_apply(name, operands)

    def _beside(self, name: str, other: Any) -> Any:
        if not isinstance(self.example, np.generic) or hasattr(type(other), "__opweave_stands__"):
            return NotImplemented
        value = self.tracer.concrete(self)
        return getattr(value, f"__{name}__")(self.tracer.concrete(other))

    def __opweave_scalar__(self, name: str, *others: Any) -> Any:
        """Apply a function of Python numbers, which gives a number, at each call."""
        return scalar_apply(name, [self, *others])

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __opweave_apply__(self, operator: Operator, operands: Any, attrs: Any) -> Any:
        return self.tracer.apply(operator, operands, attrs)

    @property
    def real(self) -> Any:
        return scalar_apply("real", [self])

    @property
    def imag(self) -> Any:
        return scalar_apply("imag", [self])

    def conj(self) -> Any:
        if not isinstance(self.example, np.generic):  # a number of Python has none
            return self.example.conj()
        return scalar_apply("conjugate", [self])

    def __getattr__(self, name: str) -> Any:
        """What the number's own type has.

        Some attributes follow from the type, some are computed at each call.  All others make the
        number static.
        """
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self.example, name)
        if name in OF_A_TYPE:
            return found
        if name == "astype" or name in NUMBER_METHODS:
            return lambda *args, **kwargs: self._asked(name, args, kwargs)
        return getattr(self.tracer.concrete(self), name)

    def _asked(self, name: str, args: Any, kwargs: Any) -> Any:
        """A method; it runs at each call if it gives a number that kernels take."""
        if name == "astype" and len(args) == 1 and not kwargs:
            with suppress(DTypeError):
                return scalar_apply(f"np.{dtypes.of(args[0]).numpy_name}", [self])
        if name in NUMBER_METHODS and not args and not kwargs:
            return scalar_apply(name, [self])
        return getattr(self.tracer.concrete(self), name)(*args, **kwargs)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        for arg in (*args, *(kwargs.get("out") or ())):
            if is_traced_array(arg):
                return arg.__array_ufunc__(ufunc, method, *args, **kwargs)
        known = getattr(np, ufunc.__name__, None) is ufunc  # others are SciPy's or a user's
        if known and method == "__call__" and not kwargs:
            return scalar_apply(f"np.{ufunc.__name__}", args)
        return getattr(ufunc, method)(*map(self.tracer.concrete, args), **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        for arg in args:
            if is_traced_array(arg):
                return arg.__array_function__(function, types, args, kwargs)
        return function(*map(self.tracer.concrete, args), **kwargs)

    def __bool__(self) -> bool:
        """The truth, which becomes part of the guard; the number itself does not."""
        is_bool = isinstance(self.example, bool | np.bool_)
        expr = self.expr if is_bool else Expr("ne", (self.expr, literal(0)))
        return self.tracer.decide(expr, bool(self.example))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.tracer.concrete(self), dtype)


def moves_on(before: Any, value: Any) -> bool:
    """Whether a number in the guard has another one in its place, at the next call."""
    if not isinstance(before, TracedScalar) or isinstance(before, bool | np.bool_):
        return False
    leaves = (str(leaf.args[0]) for leaf in before.expr.leaves())
    is_other = is_number(value) and (isinstance(value, TracedScalar) or value != before.example)
    return is_other and not before.tracer.static.isdisjoint(leaves)


def _made_static(of: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *args: of(self.tracer.concrete(self), *args)


# What Python asks a number for, by methods of these names.
for _of in (
    repr, str, format, hash, int, float, complex, operator.index, round, math.trunc, math.floor,
    math.ceil,
):  # fmt: skip
    setattr(TracedScalar, f"__{_of.__name__}__", _made_static(_of))


def _item(number: TracedScalar, key: Any) -> Any:
    """NumPy's numbers have no element but themselves, and say so in a way of their own."""
    return number.tracer.concrete(number)[key]


_classes: dict[type, type[TracedScalar]] = {}


def _class_of(kind: type) -> type[TracedScalar]:
    """The class of the stand-ins for numbers of this type."""
    if kind not in _classes:
        is_numpys = issubclass(kind, np.generic)
        name = f"numpy.{kind.__name__}" if is_numpys else kind.__name__
        # without the second what has elements can be iterated
        attributes = {"__getitem__": _item, "__iter__": None} if is_numpys else {}
        _classes[kind] = type(name, (TracedScalar,), attributes)
    return _classes[kind]
