"""Rows of float instructions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np

from opweave.runtime.isa import rounding
from opweave.runtime.isa.form import InstructionForm, Operation, Row
from opweave.runtime.isa.instruction import Array

MODES = ("rn", "rz", "rm", "rp")
ALL = "f32 f64 f16 f16x2 bf16 bf16x2"
NUMBERS: Mapping[str, np.dtype[Any]] = {
    "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32), "f64": np.dtype(np.float64),
}  # fmt: skip
TINY = {"f16": np.float16(2.0**-14), "f32": np.float32(2.0**-126), "f64": 2.0**-1022}
Float = Callable[..., Array]


def as_floats(kind: str) -> np.dtype[Any]:
    """The dtype of the numbers in a type; of a packed one those of its halves."""
    return NUMBERS[kind.removesuffix("x2")]


def flushed(kind: str, x: Array) -> Array:
    """Subnormal numbers as zeros of their sign."""
    small = np.abs(x) < TINY[kind]
    return np.where(small, np.copysign(x.dtype.type(0), x), x) if small.any() else x


def saturated(x: Array) -> Array:
    """Into [0, 1]; NaN and -0 are +0."""
    one, nought = x.dtype.type(1), x.dtype.type(0)
    inside = np.where(x > nought, x, nought)
    return np.where(inside > one, one, inside)


def on_floats(kind: str, function: Float, ftz: bool = False, end: Float | None = None) -> Float:
    """A function of numbers as one of registers: packed halves apart, NaN canonical.

    Args:
        ftz: subnormal operands and results are zeros.
        end: is applied to the result, such as saturation.
    """
    scalar, dtype = kind.removesuffix("x2"), as_floats(kind)
    packed = kind.endswith("x2")

    def computed(*registers: Array) -> Array:
        operands = [_halves(r).view(dtype) if packed else r.view(dtype) for r in registers]
        if ftz:
            operands = [flushed(scalar, x) for x in operands]
        made = function(*operands)
        if ftz:
            made = flushed(scalar, made)
        made = np.ascontiguousarray(rounding.canonical(end(made) if end else made, scalar))
        return made.view("u4")[:, 0] if packed else made.view(registers[0].dtype)

    return computed


def _halves(register: Array) -> Array:
    return np.ascontiguousarray(register).view("u2").reshape(-1, 2)


def arithmetic(function: Callable[[str, str], Float], count: int, default: str | None) -> Row:
    """Rows with a rounding mode: add, sub, mul, fma."""

    def row(form: InstructionForm) -> Operation:
        kind = form.type(ALL)
        mode = form.one_of(MODES, default)
        if mode != "rn" and kind not in ("f32", "f64"):
            raise form.unknown()
        ftz = kind in ("f32", "f16", "f16x2") and form.flag("ftz")
        end = saturated if kind in ("f32", "f16", "f16x2") and form.flag("sat") else None
        if count == 3 and end is None and kind not in ("f32", "f64") and form.flag("relu"):
            end = not_negative
        made = on_floats(kind, function(kind.removesuffix("x2"), mode), ftz, end)
        return Operation((kind,) * count, (kind,), made)

    return row


def not_negative(x: Array) -> Array:
    """Negative numbers and -0 as +0; NaN stays."""
    return np.where((x > 0) | (x != x), x, x.dtype.type(0))


def _subtract(kind: str, mode: str) -> Float:
    function = rounding.add(kind, mode)
    return lambda a, b: function(a, -b)


def _approximated(function: Float) -> Float:
    """Computed in float64 and rounded once, which hardware does not reach."""
    return lambda *operands: function(*(o.astype(np.float64) for o in operands)).astype(
        operands[0].dtype
    )


def _division(form: InstructionForm) -> Operation:
    kind = form.type("f32 f64")
    mode = form.one_of((*MODES, "approx", "full"))
    ftz = kind == "f32" and form.flag("ftz")
    rough = mode in ("approx", "full")
    if rough and kind == "f64":
        raise form.unknown()
    made = on_floats(kind, rounding.divide(kind, "rn" if rough else mode), ftz)
    return Operation((kind,) * 2, (kind,), made, rough)


def _upper(function: Float) -> Float:
    """rcp and rsqrt of f64 in approximation: the lower 32 bits of operand and result are zero."""

    def computed(x: Array) -> Array:
        return _without_low(flushed("f64", function(_without_low(flushed("f64", x)))))

    return computed


def _without_low(x: Array) -> Array:
    return (np.ascontiguousarray(x).view(np.uint64) & np.uint64(0xFFFFFFFF00000000)).view("f8")


def _inverse(exact: Callable[[str, str], Float] | None, plain: Float) -> Row:
    """rcp, sqrt and rsqrt: correctly rounded, or approximated."""

    def row(form: InstructionForm) -> Operation:
        kind = form.type("f32 f64")
        mode = form.one_of(("approx", *(MODES if exact else ())))
        ftz = form.flag("ftz")
        # of f64 there is an approximation of the upper half, with .ftz; rsqrt has a whole one, too
        if kind == "f64" and (
            (ftz and (mode != "approx" or form.instruction.root == "sqrt"))
            or (not ftz and mode == "approx" and exact)
        ):
            raise form.unknown()
        if mode == "approx":
            function = _upper(plain) if kind == "f64" and ftz else _approximated(plain)
            return Operation((kind,), (kind,), on_floats(kind, function, ftz and kind == "f32"),
                             True)  # fmt: skip
        assert exact is not None
        return Operation((kind,), (kind,), on_floats(kind, exact(kind, mode), ftz))

    return row


def _reciprocal(kind: str, mode: str) -> Float:
    function = rounding.divide(kind, mode)
    return lambda x: function(np.ones(1, x.dtype), x)


def approximation(function: Float, types: str = "f32") -> Row:
    """ex2, lg2, sin, cos, tanh."""

    def row(form: InstructionForm) -> Operation:
        kind = form.type(types)
        if not (form.flag("approx") or kind == "bf16"):
            raise form.unknown()
        ftz = form.flag("ftz") and kind != "bf16"
        return Operation((kind,), (kind,), on_floats(kind, _approximated(function), ftz), True)

    return row


def extremum(greater: bool) -> Row:
    """min and max: -0 is below +0; NaN is no number, or with .NaN the result."""

    def row(form: InstructionForm) -> Operation:
        kind = form.type(ALL)
        ftz = kind in ("f32", "f16", "f16x2") and form.flag("ftz")
        nan, signed = kind != "f64" and form.flag("NaN"), form.flag("xorsign")
        if signed != form.flag("abs"):
            raise form.unknown()

        def picked(a: Array, b: Array) -> Array:
            bits = f"u{a.itemsize}"
            sign = (a.view(bits) ^ b.view(bits)) & bits_of_sign(a)
            x, y = (np.abs(a), np.abs(b)) if signed else (a, b)
            made = _extreme(x, y, greater, nan)
            return (made.view(bits) | sign).view(a.dtype) if signed else made

        return Operation((kind,) * 2, (kind,), on_floats(kind, picked, ftz))

    return row


def bits_of_sign(x: Array) -> Any:
    """The sign bit of floats, as an unsigned integer of their size."""
    return np.dtype(f"u{x.itemsize}").type(1 << (8 * x.itemsize - 1))


def _extreme(x: Array, y: Array, greater: bool, nan: bool) -> Array:
    x, y = (np.ascontiguousarray(v) for v in np.broadcast_arrays(x, y))
    first = (x > y if greater else x < y) | (y != y)
    made = np.where(first, x, y)
    bits = f"u{x.itemsize}"
    join = np.bitwise_and if greater else np.bitwise_or
    zero = (x == 0) & (y == 0)
    if zero.any():
        made = np.where(zero, join(x.view(bits), y.view(bits)).view(x.dtype), made)
    if nan:
        made = np.where((x != x) | (y != y), x.dtype.type(np.nan), made)
    return made


def of_sign(function: Callable[[Array, Any], Array]) -> Row:
    """abs and neg, of bits: a NaN keeps its other bits."""

    def row(form: InstructionForm) -> Operation:
        kind = form.type(ALL)
        ftz = kind in ("f32", "f16", "f16x2") and form.flag("ftz")
        dtype, packed = as_floats(kind), kind.endswith("x2")

        def computed(register: Array) -> Array:
            x = (_halves(register) if packed else register).view(dtype)
            x = flushed(kind.removesuffix("x2"), x) if ftz else x
            bits = function(np.ascontiguousarray(x).view(f"u{x.itemsize}"), bits_of_sign(x))
            return bits.view("u4")[:, 0] if packed else bits.view(register.dtype)

        return Operation((kind,), (kind,), computed)

    return row


def _copysign(form: InstructionForm) -> Operation:
    kind = form.type("f32 f64")
    return Operation((kind,) * 2, (kind,), lambda sign, x: np.copysign(x, sign))


def _testp(form: InstructionForm) -> Operation:
    test, kind = form.one_of(TESTS), form.type("f32 f64")
    return Operation((kind,), ("pred",), TESTS[test])


def _normal(x: Array) -> Array:
    result: Array = np.isfinite(x) & (np.abs(x) >= np.finfo(x.dtype).tiny)
    return result


TESTS: Mapping[str, Float] = {
    "finite": np.isfinite, "infinite": np.isinf, "number": lambda x: ~np.isnan(x),
    "notanumber": np.isnan, "normal": _normal,
    "subnormal": lambda x: (np.abs(x) < np.finfo(x.dtype).tiny) & (x != 0),
}  # fmt: skip
ROWS: Mapping[str, Row] = {
    "add": arithmetic(rounding.add, 2, "rn"),
    "sub": arithmetic(_subtract, 2, "rn"),
    "mul": arithmetic(rounding.multiply, 2, "rn"),
    "fma": arithmetic(rounding.fma, 3, None),
    "mad": arithmetic(rounding.fma, 3, None),
    "div": _division,
    "rcp": _inverse(_reciprocal, lambda x: 1 / x),
    "sqrt": _inverse(rounding.square_root, np.sqrt),
    "rsqrt": _inverse(None, lambda x: 1 / np.sqrt(x)),
    "ex2": approximation(np.exp2, "f32 f16 f16x2 bf16 bf16x2"),
    "lg2": approximation(np.log2),
    "sin": approximation(np.sin),
    "cos": approximation(np.cos),
    "tanh": approximation(np.tanh, "f32 f16 f16x2 bf16 bf16x2"),
    "min": extremum(False),
    "max": extremum(True),
    "abs": of_sign(lambda bits, sign: bits & ~sign),
    "neg": of_sign(lambda bits, sign: bits ^ sign),
    "copysign": _copysign,
    "testp": _testp,
}
