"""Rows that compare and choose: setp, set, selp, slct."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import ml_dtypes
import numpy as np

from opweave.runtime.isa.floats import flushed
from opweave.runtime.isa.form import InstructionForm, Operation, Row
from opweave.runtime.isa.instruction import TYPES, Array

ORDERED: Mapping[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
JOINS = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
ANY = "b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64 f16 bf16"


def _unordered(a: Array, b: Array) -> Array:
    result: Array = (a != a) | (b != b)
    return result


def _comparison(name: str, kind: str, form: InstructionForm) -> Callable[[Array, Array], Array]:
    """What a comparison means; of floats an ordered one is false where there is a NaN."""
    if "f" not in kind:
        known = name in ORDERED if kind[0] != "b" else name in ("eq", "ne")
        if name in UNSIGNED and kind[0] == "u":
            return ORDERED[UNSIGNED[name]]
        if not known:
            raise form.unknown()
        return ORDERED[name]
    if name in UNSIGNED:
        raise form.unknown()
    if name == "nan":
        return _unordered
    if name == "num":
        return lambda a, b: ~_unordered(a, b)
    if name == "ne":
        return lambda a, b: (a != b) & ~_unordered(a, b)
    if name in ORDERED:
        return ORDERED[name]
    function = ORDERED[name[:-1]]
    return lambda a, b: function(a, b) | _unordered(a, b)


COMPARISONS = (*ORDERED, *UNSIGNED, *(f"{name}u" for name in ORDERED), "num", "nan")


def _compared(form: InstructionForm, kind: str) -> Callable[[Array, Array], Array]:
    function = _comparison(form.one_of(COMPARISONS), kind, form)
    if kind == "bf16":
        return lambda a, b: function(a.view(ml_dtypes.bfloat16), b.view(ml_dtypes.bfloat16))
    if kind in ("f32", "f16") and form.flag("ftz"):
        return lambda a, b: function(flushed(kind, a), flushed(kind, b))
    return function


def _setp(form: InstructionForm) -> Operation:
    kind = form.type(ANY)
    function = _compared(form, kind)
    join = JOINS.get(form.one_of(JOINS, ""))
    if join is None:
        return Operation((kind, kind), ("pred", "pred"), lambda a, b: _both(function(a, b)))

    def computed(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
        found = function(a, b)
        return join(found, c), join(~found, c)

    return Operation((kind, kind, "pred"), ("pred", "pred"), computed)


def _both(found: Array) -> tuple[Array, Array]:
    return found, ~found


def _set(form: InstructionForm) -> Operation:
    kind, made = form.type(ANY), form.type("u32 s32 f32")
    function = _compared(form, kind)
    join = JOINS.get(form.one_of(JOINS, ""))
    one = TYPES[made].type(1.0 if made == "f32" else -1 if made == "s32" else 0xFFFFFFFF)
    nought = TYPES[made].type(0)

    def computed(a: Array, b: Array, *c: Array) -> Array:
        found = function(a, b)
        result: Array = np.where(join(found, c[0]) if join else found, one, nought)
        return result

    return Operation((kind, kind, "pred") if join else (kind, kind), (made,), computed)


def _selp(form: InstructionForm) -> Operation:
    kind = form.type(ANY)
    raw = f"b{TYPES[kind].itemsize * 8}"
    return Operation((raw, raw, "pred"), (raw,), lambda a, b, c: np.where(c, a, b))


def _slct(form: InstructionForm) -> Operation:
    by, kind = form.type("s32 f32"), form.type(ANY)
    raw = f"b{TYPES[kind].itemsize * 8}"
    ftz = form.flag("ftz") and by == "f32"

    def computed(a: Array, b: Array, c: Array) -> Array:
        return np.where((flushed("f32", c) if ftz else c) >= 0, a, b)

    return Operation((raw, raw, by), (raw,), computed)


ROWS: Mapping[str, Row] = {"setp": _setp, "set": _set, "selp": _selp, "slct": _slct}
