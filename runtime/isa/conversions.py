"""The rows of cvt, and of moves between registers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

from opweave.runtime.isa.exact import rounded
from opweave.runtime.isa.floats import MODES, as_floats, flushed, not_negative, saturated
from opweave.runtime.isa.form import InstructionForm, Operation, Row, size_of
from opweave.runtime.isa.instruction import TYPES, Array
from opweave.runtime.isa.rounding import canonical, narrowed

INTEGERS = "u8 s8 u16 s16 u32 s32 u64 s64"
FLOATS = "f16 bf16 f32 f64"
WHOLE: Mapping[str, Callable[[Array], Array]] = {
    "rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil,
}  # fmt: skip
OF_MODE = {"rni": "rn", "rzi": "rz", "rmi": "rm", "rpi": "rp"}


def _convert(form: InstructionForm) -> Operation:
    if form.instruction.operands and len(form.instruction.operands) == 3:
        return _pack(form)
    source, made = form.type(f"{INTEGERS} {FLOATS}"), form.type(f"{INTEGERS} {FLOATS}")
    if source in FLOATS.split():
        convert = _float_to_float if made in FLOATS.split() else _float_to_integer
    else:
        convert = _integer_to_float if made in FLOATS.split() else _integer_to_integer
    return Operation((source,), (made,), convert(form, source, made))


def _integer_to_integer(form: InstructionForm, source: str, made: str) -> Callable[[Array], Array]:
    """A destination register that is wider is extended by the type of the result."""
    dtype, limits = TYPES[made], np.iinfo(TYPES[made])
    if not form.flag("sat"):
        return lambda x: x.astype(dtype)
    own = np.iinfo(TYPES[source])
    low, high = max(limits.min, own.min), min(limits.max, own.max)
    kind = TYPES[source].type
    return lambda x: np.clip(x, kind(low), kind(high)).astype(dtype)


def _float_to_integer(form: InstructionForm, source: str, made: str) -> Callable[[Array], Array]:
    whole, dtype, limits = WHOLE[form.one_of(WHOLE)], TYPES[made], np.iinfo(TYPES[made])
    ftz = source == "f32" and form.flag("ftz")
    form.flag("sat")  # results are always held to the type's range
    # PTX: a NaN is 0, but the middle of the range where either type has 64 bits
    nan = 1 << (size_of(made) - 1) if source == "f64" or size_of(made) == 64 else 0
    nan -= 1 << size_of(made) if nan > limits.max else 0

    def computed(register: Array) -> Array:
        x = register.view(as_floats(source))
        x = whole((flushed(source, x) if ftz else x).astype(np.float64))
        high, low = x >= float(limits.max), x <= float(limits.min)
        inside = np.where(high | low | (x != x), 0.0, x).astype(dtype)
        inside = np.where(high, dtype.type(limits.max), inside)
        inside = np.where(low, dtype.type(limits.min), inside)
        return np.where(x != x, dtype.type(nan), inside)

    return computed


def _integer_to_float(form: InstructionForm, source: str, made: str) -> Callable[[Array], Array]:
    mode, kind = form.one_of(MODES), as_floats(made)
    end = saturated if form.flag("sat") else None
    raw = TYPES[made]

    def computed(x: Array) -> Array:
        if mode == "rn" and made in ("f32", "f64"):
            found = x.astype(kind)
        elif size_of(source) < 64 and made != "f64":
            found = narrowed(x.astype(np.float64), None, made, mode)
        else:
            found = _each_integer(x, made, mode).astype(kind)
        return (end(found) if end else found).view(raw)

    return computed


def _each_integer(x: Array, made: str, mode: str) -> Array:
    return np.array([rounded(Fraction(int(v)), made, mode) for v in x])


def _float_to_float(form: InstructionForm, source: str, made: str) -> Callable[[Array], Array]:
    kind, target, raw = as_floats(source), as_floats(made), TYPES[made]
    narrower = size_of(made) < size_of(source) or (made, source) in (("f16", "bf16"),
                                                                     ("bf16", "f16"))  # fmt: skip
    mode = form.one_of(MODES) if narrower else form.one_of((*WHOLE, "rn"), "")
    ftz = "f32" in (source, made) and form.flag("ftz")
    end = saturated if form.flag("sat") else None
    if made in ("f16", "bf16") and form.flag("relu"):
        end = not_negative
    whole = WHOLE.get(mode)

    def computed(register: Array) -> Array:
        x = register.view(kind)
        x = flushed(source, x) if ftz and source == "f32" else x
        if whole is not None:
            found = whole(x.astype(target))
        elif narrower and not (mode == "rn" and made == "f32"):
            found = narrowed(x.astype(np.float64), None, made, mode)
        else:
            found = x.astype(target)
        found = flushed(made, found) if ftz and made == "f32" else found
        return canonical(end(found) if end else found, made).view(raw)

    return computed


def _pack(form: InstructionForm) -> Operation:
    """cvt.rn.f16x2.f32 d, a, b: a is the upper half."""
    source, made = form.type("f32"), form.type("f16x2 bf16x2")
    mode = form.one_of(("rn", "rz"))
    end = not_negative if form.flag("relu") else None
    kind = made[:-2]

    def half(x: Array) -> Array:
        found = narrowed(x.astype(np.float64), None, kind, mode)
        return canonical(end(found) if end else found, kind).view(np.uint16).astype(np.uint32)

    return Operation((source, source), (made,), lambda a, b: (half(a) << np.uint32(16)) | half(b))


def _move(form: InstructionForm) -> Operation:
    kind = form.type("pred b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64")
    raw = kind if kind == "pred" else f"b{size_of(kind)}"
    return Operation((raw,), (raw,), np.copy)


ROWS: Mapping[str, Row] = {"cvt": _convert, "mov": _move}
