"""What Python asks of an array that no kernel can answer: refused, with what to write instead."""

from __future__ import annotations

import math
import operator as operator_module
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from opweave.compiler.arrays.interface import TracerLike
from opweave.compiler.arrays.lifting import fits
from opweave.compiler.arrays.traced_operators import (
    COMPARISONS,
    is_traced_array,
    is_traced_number,
)
from opweave.compiler.ir.literals import converted
from opweave.compiler.ir.plain_arrays import is_array
from opweave.compiler.ir.values import Scalar, Value, Where
from opweave.compiler.traced.foreign import remedy
from opweave.opcodes.core import Operator
from opweave.opcodes.errors import (
    OpweaveError,
    PowerError,
    ShapeError,
    TraceError,
    UnsupportedError,
)
from opweave.opcodes.shapes import normal_axes

# What is said of functions that no kernel has.
NOT_YET = "opweave does not compile this yet"
# Operators whose results are truths.
COMPARED = frozenset(name for _, name in COMPARISONS)
# Python's types of numbers.
PYTHONS = (int, float, complex)
# What Python asks a single value for: a method named after the function, what messages call it,
# and what to write instead.
ASKED: tuple[tuple[Callable[..., Any], str, str], ...] = (
    (format, "formatting", "print it outside the fused function"),
    (hash, "the hash", "compute the key outside the fused function"),
    (bool, "the truth value", "use np.where(condition, a, b)"),
    (float, "float()", "keep it an array, or compute it outside"),
    (int, "int()", "use .astype(np.int64), or compute it outside"),
    (operator_module.index, "an index", "compute it outside the fused function"),
    (complex, "complex()", "keep it an array, or compute it outside"),
    (round, "round()", "use np.round(x, digits), or round it outside"),
    (math.trunc, "math.trunc()", "use np.trunc"),
    (bytes, "bytes()", "take the bytes outside the fused function"),
    (operator_module.contains, "'in'", "use (x == value).any()"),
)


def _refuse(what: str, hint: str) -> Callable[..., NoReturn]:
    def method(self: Refused, *args: Any, **kwargs: Any) -> NoReturn:
        raise self.tracer.noted(TraceError(
            f"{what} of a traced array: expected an operation that can become part of a kernel, "
            f"found {self.value.type} ({self.tracer.where()}); {hint}"
        ))  # fmt: skip

    return method


class Refused:
    """The methods of an array that refuse."""

    __slots__ = ()
    tracer: TracerLike
    value: Value

    __repr__ = _refuse("the text", "print it outside the fused function")
    __array__ = _refuse("np.asarray()", "pass the value itself: NumPy functions take it")

    def __delitem__(self, key: Any) -> NoReturn:
        """As NumPy does, of whom nobody deletes elements."""
        if self.tracer.is_number(self.value):
            raise TypeError(f"'{name_of_class(self)}' object doesn't support item deletion")
        raise ValueError("cannot delete array elements")


for _of, _what, _hint in ASKED:
    setattr(Refused, f"__{_of.__name__}__", _refuse(_what, _hint))


def name_of_class(array: Any) -> str:
    """The name of the class of what an array stands for, as messages of Python's have it."""
    kind = array.__class__
    return f"{kind.__module__}.{kind.__name__}"


# What Python repeats where it is multiplied by a number.
REPEATED = (list, tuple, str, bytes, bytearray)


def check_repeated(array: Any, operands: Sequence[Any]) -> None:
    """That a product is no repetition, whose length no kernel knows.

    Raises:
        UnsupportedError: the array is a number, beside a list or a text.
    """
    tracer: TracerLike = array.tracer
    if any(type(o) in REPEATED for o in operands) and tracer.is_number(array.value):
        raise tracer.noted(UnsupportedError(
            f"a sequence that is repeated ({tracer.where()}); repeat it outside the fused function"
        ))  # fmt: skip


def is_own(item: Any) -> bool:
    """True for a number of a user's class, which is derived from one of Python's."""
    kind = type(item)
    is_pythons = issubclass(kind, PYTHONS) and not issubclass(kind, np.generic)
    return is_pythons and kind not in (bool, *PYTHONS)


def python_answers(method: str, first: Any, second: Any) -> bool:
    """True where Python's type of a number, which stands first, computes with one of NumPy's.

    A NumPy float64 is a float: ``Celsius(1.5) + np.float64(2)`` is ``float.__add__`` of the two,
    and ``1j + np.float64(2)`` is a complex of Python's.
    """
    kind = type(first)
    if kind in (bool, int, float) or not issubclass(kind, PYTHONS):
        return False
    if issubclass(kind, np.generic) or issubclass(type(second), kind):
        return False
    base = next(one for one in PYTHONS if issubclass(kind, one))
    compute = getattr(base, f"__{method}__", None)
    return compute is not None and compute(first, second) is not NotImplemented


def check_order(tracer: TracerLike, operator: Operator, operands: Sequence[Any]) -> None:
    """That a comparison gives the same from whichever side Python asks; see ``check_truth``."""
    kinds = [type(o) for o in operands if is_own(o) or type(o) is complex]
    if kinds and all(tracer.is_number(o.value) for o in operands if is_traced_array(o)):
        raise order_decides(tracer, operator.name, kinds[0])


def order_decides(tracer: TracerLike, name: str, kind: type) -> OpweaveError:
    """The refusal of a comparison whose bool is Python's or NumPy's, by what stands first."""
    return tracer.noted(UnsupportedError(
        f"{name} of {kind.__name__} and one of NumPy's numbers: gives Python's bool or NumPy's, "
        f"by the order ({tracer.where()}); compare with float(c)"
    ))  # fmt: skip


def check_operands(
    tracer: TracerLike, operator: Operator, operands: Sequence[Any], attrs: Any
) -> None:
    """That an operator raises nothing for its operands, where the function could catch it.

    Raises:
        PowerError: integers to a negative power.
        ShapeError: a reduction of nothing; whether there is something becomes part of the guard.
        UnsupportedError: a kernel would tell of places without an element, when it is too late.
    """
    if operator.notes_faults and tracer.catches_index:
        raise tracer.noted(UnsupportedError(
            f"{operator.name} at places that arrays give, where the function may catch the "
            f"IndexError ({tracer.where()}); compare the places with the shape instead"
        ))  # fmt: skip
    if operator.name == "power":
        check_power(tracer, *operands)
    if operator.needs_nonempty and tracer.catches:
        shape = operands[0].value.shape
        axes = normal_axes(dict(attrs or {}).get("axis"), len(shape))
        if any(tracer.extent(shape[axis]) == 0 for axis in axes):
            raise ShapeError(
                f"{operator.name}: zero elements to reduce, and the operation has no identity "
                f"({tracer.where()})"
            )


def check_fits(tracer: TracerLike, results: Sequence[Value], operands: Sequence[Any]) -> None:
    """That integers fit the types of an operator's loop, though nobody may read the result.

    One that a call has is checked with the arguments, but where the function could catch what its
    line raises, and in parts, where the number is at hand.

    Raises:
        OutOfRangeError: one does not; whether it does becomes part of the guard.
    """
    is_asked = tracer.catches or tracer.raises_at_lines
    taken = tracer.builder.nodes.makers[results[0].id].operands
    for given, operand in zip(operands, taken, strict=False):
        if isinstance(operand, Scalar) and operand.dtype.kind in "iu":
            is_traced = is_traced_number(given)
            if is_traced and not is_asked:
                continue
            number = given.example if is_traced else given
            if type(number) is int and not (is_traced and fits(tracer, given, operand.dtype)):
                converted(number, operand.dtype)


def check_power(tracer: TracerLike, base: Any, exponent: Any) -> None:
    """That no integers are raised to a negative integer; of a traced one the sign is guarded.

    Raises:
        PowerError: they are.
    """
    is_whole = not is_traced_array(exponent) and isinstance(exponent, int | np.integer)
    if is_whole and base.dtype.kind in "iub" and exponent < 0:
        raise PowerError(
            "power: integers to a negative integer power, as in NumPy "
            f"({tracer.where()}); convert with .astype(np.float64)"
        )


def refusal_of(tracer: TracerLike, operator: Operator, item: Any, where: Where) -> Exception:
    """Why something is no operand."""
    getattr(item, "shape", None)  # what stands for another object refuses by itself
    written = "the array as an argument" if is_array(item) else remedy(item)
    hint = f"pass {written}" if written else "it has no meaning here"
    error = TraceError(
        f"{operator.name}: expected an argument of the function or a number, found "
        f"{type(item).__name__} ({where}); {hint}"
    )
    # of Python's own NumPy knows no more; any other class may have a protocol of NumPy's
    return error if type(item).__module__ == "builtins" else tracer.noted(error)


def not_yet(what: str, where: Where) -> UnsupportedError:
    """A function that no kernel has."""
    return UnsupportedError(
        f"{what}: {NOT_YET} ({where}); call it outside the fused function, or express it through "
        "supported operators (sorted(opweave.OPERATORS) lists them)"
    )
