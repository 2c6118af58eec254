"""Keywords of ufuncs, and ``out=`` of other functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opweave.compiler.arrays.assignment import assign, check_assigned, fitted
from opweave.compiler.arrays.casting import type_of
from opweave.compiler.arrays.lifting import lifted
from opweave.compiler.arrays.traced_operators import is_traced_array, is_traced_number
from opweave.opcodes import OPERATORS, dtypes
from opweave.opcodes.errors import DTypeError, ShapeError, UnsupportedError
from opweave.opcodes.operators.unnamed_calls import reduced_at

ORDERS = ("K", "A", "C", "F")
# Functions whose ``out=`` may be larger than the result, as that of a ufunc may.
SPREAD = ("clip",)


def named_once(args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by name; ``np.add.reduce(array=x)`` tells an override of x by position too."""
    return {k: v for k, v in kwargs.items() if k == "out" or not any(v is a for a in args)}


@dataclass(frozen=True)
class Keywords:
    """The keywords of a ufunc.

    Attributes:
        dtype: what to compute in; None for what the operands give.
        casting: how far operands and results may be converted.
        where: the elements that are written.
        order: the order in memory of results for which no array is given.
    """

    ufunc: np.ufunc
    dtype: Any = None
    casting: Any = "same_kind"
    where: Any = True
    order: Any = "K"

    @classmethod
    def of(cls, ufunc: np.ufunc, given: Mapping[str, Any], has_out: bool) -> Keywords:
        """Take the keywords that have a meaning here.

        Raises:
            UnsupportedError: another one; elements that nobody writes.
        """
        rest = dict(given)
        name = ufunc.__name__
        if rest.get("order", "K") not in ORDERS or rest.pop("subok", True) not in (True, False):
            raise UnsupportedError(f"np.{name}: order= and subok= other than NumPy's own")
        made = cls(ufunc, *(rest.pop(key, default) for key, default in (
            ("dtype", None), ("casting", "same_kind"), ("where", True), ("order", "K"),
        )))  # fmt: skip
        if made.where is not True and not has_out:
            raise UnsupportedError(
                f"np.{name}(where=...): without out= the other elements are undefined; give out=, "
                "or use np.where"
            )
        for key in rest:
            raise UnsupportedError(f"np.{name}({key}=...): opweave does not compile this yet")
        return made

    def operands(self, args: Sequence[Any]) -> Sequence[Any]:
        """The operands in the types of the loop that is asked for.

        Raises:
            DTypeError: there is none, or a conversion that ``casting`` does not allow.
        """
        if self.dtype is None and self.casting == "same_kind":
            return args
        asked = None if self.dtype is None else np.dtype(self.dtype)
        found_by = (None,) * self.ufunc.nin + (asked,) * self.ufunc.nout
        kinds = (*map(type_of, args), *[None] * self.ufunc.nout)
        options: dict[str, Any] = {"casting": self.casting} | (
            {"signature": found_by} if asked else {}
        )
        try:
            found = self.ufunc.resolve_dtypes(kinds, **options)
        except TypeError as error:
            raise DTypeError(f"np.{self.ufunc.__name__}: {error}") from None
        if self.dtype is None:
            return args
        return [_converted(a, dtype) for a, dtype in zip(args, found, strict=False)]

    def laid_out(self, result: Any) -> Any:
        """A result in the order that is asked for."""
        if self.order not in ("C", "F") or getattr(result, "ndim", 0) < 2:
            return result
        return np.copy(result, order=self.order)

    def stored(self, value: Any, target: Any) -> Any:
        """A result in the type of its target, where ``casting`` allows more than by default."""
        dtype = getattr(target, "dtype", value.dtype)
        if not np.can_cast(value.dtype, dtype, self.casting):
            name = self.ufunc.__name__
            raise DTypeError(
                f"np.{name}: cannot store {value.dtype} in {dtype} by casting={self.casting!r}"
            )
        return value.astype(dtype) if self.casting == "unsafe" else value


def _converted(operand: Any, dtype: np.dtype[Any]) -> Any:
    if is_traced_array(operand):
        same = operand.value.dtype is dtypes.of(dtype)  # not ==, since longlong equals int64
        return operand if same else operand.astype(dtype)
    if type(getattr(operand, "example", operand)) is int and dtype.kind in "iu":
        return operand  # beside an array of the type; it is held to that where it is applied
    if is_traced_number(operand):
        return lifted(operand.tracer, operand).astype(dtype)
    return np.asarray(operand).astype(dtype)[()]


def outer_operands(tracer: Any, first: Any, second: Any) -> tuple[Any, Any]:
    """The operands, reshaped so that each element of one meets each element of the other."""
    a, b = lifted(tracer, first), lifted(tracer, second)
    if not a.ndim or not b.ndim:
        return a, b
    return tracer.hidden_view(a, (*range(a.ndim), *[None] * b.ndim)), b


def reduced_by(
    ufunc: np.ufunc, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """``np.add.reduceat`` and its kin, by NumPy's library.

    Raises:
        UnsupportedError: a ufunc that is not NumPy's own, an array that is not traced, ``dtype=``
            or ``out=``.
    """
    name = ufunc.__name__
    is_plain = dtype is None and out is None and is_traced_array(array)
    if getattr(np, name, None) is not ufunc or not is_plain:
        raise UnsupportedError(f"np.{name}.reduceat: opweave does not compile this yet")
    if not is_traced_array(indices):
        indices = array.tracer.wrapped(array.tracer.indices(np.asarray(indices)))
    return array.__array_function__(reduced_at, (), (array, indices, axis, name), {})


def into(result: Any, out: Any, name: str) -> Any:
    """``out=`` of a function that is no ufunc: the result under its name.

    Raises:
        UnsupportedError: the target is no value of the function's own, or has another dtype; NumPy
            would compute in that dtype.
        ShapeError: it has another shape.
    """
    target = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    if not is_traced_array(target) or not is_traced_array(result):
        odd = result if is_traced_array(target) else target
        raise UnsupportedError(
            f"{name}: out= expected an array of the function's (an argument, or one that it "
            f"makes), found {type(odd).__name__}"
        )
    if target.dtype != result.dtype:
        raise UnsupportedError(f"{name}: out= of {target.dtype} for a result of {result.dtype}")
    if name.rpartition(".")[2] in SPREAD:
        result = fitted(target, result)
    if target.ndim != result.ndim:
        # a ufunc repeats its result along more dimensions
        is_ufunc = isinstance(getattr(np, name.rpartition(".")[2], None), np.ufunc)
        kind = UnsupportedError if is_ufunc else ShapeError
        raise kind(f"{name}: out= of {target.ndim} dimensions for {result.ndim}")
    if not result.ndim:
        result = result.tracer.apply(OPERATORS["copy"], [result])
    check_assigned(target, result, name)
    assign(target, result, name)
    return target
