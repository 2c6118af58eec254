"""What a step means and whether it is for us: NumPy's word, and the rules that NumPy has not."""

from __future__ import annotations

from typing import Any

import numpy as np

from opweave.opcodes import OPERATORS, dtypes
from opweave.opcodes.core import Kind
from opweave.opcodes.errors import DTypeError, OpweaveError

from .program import SCOPE, Program, Step, step_values

DTYPES = tuple(d.numpy_name for d in dtypes.ALL)
FLOAT_NAMES = tuple(d.numpy_name for d in dtypes.FLOATS)
MOST = 70_000  # elements of one value
MOST_STEPS_OF_PRODUCT = 300_000
# What NumPy says of a step that it does not take.
ERRORS = (
    ValueError, TypeError, IndexError, OverflowError, AttributeError, ZeroDivisionError, MemoryError,
)  # fmt: skip


class NotForUs(Exception):
    """A step whose meaning is not NumPy's alone, or that takes too long."""


def checked_values(
    step: Step, held: dict[str, Any], scope: dict[str, Any] = SCOPE
) -> dict[str, Any]:
    """What a step makes.

    Raises:
        NotForUs: a type, a size or a value that opweave does not promise to take.
        Exception: NumPy refuses it, with one of ``ERRORS``.
    """
    found = [np.asarray(held.get(o, o) if isinstance(o, str) else o) for o in step.operands]
    if not any(isinstance(held.get(n), np.ndarray | np.generic) for n in step.names):
        raise NotForUs
    if any(rule(step, found) for rule in RULES):
        raise NotForUs
    made = typed_values(step, held, scope)
    if not all(map(_supported, made.values())):
        raise NotForUs
    return made


def is_float(value: Any) -> bool:
    return np.asarray(value).dtype.name in FLOAT_NAMES


# Rules: a step and its operands as arrays -> it is not for us.


def _too_long(step: Step, found: list[Any]) -> bool:
    if step.op not in ("matmul", "linear"):
        return False
    columns = found[1].shape[-1] if found[1].ndim > 1 else 1
    return bool(found[0].size * columns > MOST_STEPS_OF_PRODUCT)


def _axis_of_nothing(step: Step, found: list[Any]) -> bool:
    """NumPy lets an array of no dimensions have a last one."""
    row = OPERATORS.get(step.op)
    last = row is not None and dict(row.attrs).get("axis") is not None
    named = row is not None and "axis=" in step.form
    return (last or named) and not np.ndim(found[0]) and "axis=None" not in step.form


def _no_picture(step: Step, found: list[Any]) -> bool:
    return step.op == "to_uint8" and not is_float(found[0])


def _one_over_zero(step: Step, found: list[Any]) -> bool:
    """NumPy leaves the reciprocal of the integer zero undefined."""
    x = found[0]
    return step.op == "reciprocal" and x.dtype.kind in "iu" and bool((x == 0).any())


def _negative_power(step: Step, found: list[Any]) -> bool:
    """NumPy refuses integers to a negative integer power where there are any; opweave always."""
    if step.op != "power" or any(x.dtype.kind not in "biu" for x in found):
        return False
    return found[1].ndim == 0 and int(found[1]) < 0


def _wrapped_number(step: Step, found: list[Any]) -> bool:
    """np.where wraps a Python integer that its type cannot hold; opweave refuses it."""
    if step.op != "where":
        return False
    whole = [x for x in found[1:] if x.dtype.kind in "iu"]
    numbers = [x for x in whole if x.ndim == 0]
    return any(
        not np.iinfo(x.dtype).min <= int(n) <= np.iinfo(x.dtype).max
        for x in whole
        for n in numbers
    )


def _endless_take(step: Step, found: list[Any]) -> bool:
    """NumPy does not come back from wrapping a negative index into an axis without elements."""
    return step.op == "take" and "wrap" in step.form and not found[0].size


def _undefined_cast(step: Step, found: list[Any]) -> bool:
    """A float that no integer of the type equals: C, NumPy and CUDA each do something else."""
    source = found[0].real if found[0].dtype.kind == "c" else found[0]
    target = next((d for d in DTYPES if f"{d!r}" in step.form), None)
    if target is None or source.dtype.name not in FLOAT_NAMES or source.size == 0:
        return False
    row = dtypes.of(target)
    if row.kind not in "iu":
        return False
    limits = np.iinfo(row.numpy)
    with np.errstate(invalid="ignore"):  # a signalling NaN
        wide = source.astype(np.float64)
    return not bool(np.all((wide > limits.min - 1.0) & (wide < limits.max)))


def _sign_of_nan(step: Step, found: list[Any]) -> bool:
    """Which sign a NaN has is nobody's promise: it follows the order in which a compiler adds."""
    asks = {"signbit": 0, "copysign": 1}.get(step.op)
    with np.errstate(all="ignore"):  # signalling NaNs warn
        return asks is not None and is_float(found[asks]) and bool(np.isnan(found[asks]).any())


def _no_complex_meaning(step: Step, found: list[Any]) -> bool:
    """What runs in parts, by NumPy."""
    row = OPERATORS.get(step.op)
    if row is None or row.kind is Kind.COMPOSITE or not any(x.dtype.kind == "c" for x in found):
        return False
    try:
        row.type_rule(tuple(dtypes.of(x.dtype) for x in found), row.attrs)
    except DTypeError:
        return True
    return False


# Scans of complex numbers that are compiled; NumPy makes the others.
RUNNING_COMPLEX = ("cumsum", "add.accumulate", "logical_")


def _running_complex(step: Step, found: list[Any]) -> bool:
    """Operators themselves take none; NumPy's names of running sums do."""
    row = OPERATORS.get(step.op)
    named = step.op == "ufunc.accumulate"
    if not named and (row is None or row.kind is not Kind.SCAN):
        return False
    is_complex = "complex" in step.form or any(x.dtype.kind == "c" for x in found)
    return is_complex and not (named and any(n in step.form for n in RUNNING_COMPLEX))


def _made_of_nothing(step: Step, found: list[Any]) -> bool:
    """An array without dimensions that follows from no argument's values: NumPy computes on it
    while a function is traced, and a kernel where it runs in parts; their last bits may differ."""
    return ".shape" in step.form and step.op == "zeros_like" and np.ndim(found[0]) == 0


RULES = (
    _made_of_nothing,
    _no_complex_meaning,
    _running_complex,
    _sign_of_nan,
    _too_long,
    _axis_of_nothing,
    _no_picture,
    _one_over_zero,
    _negative_power,
    _wrapped_number,
    _endless_take,
    _undefined_cast,
)


def _supported(value: Any) -> bool:
    if not isinstance(value, np.ndarray | np.generic) or np.ndim(value) > 5:
        return False
    try:
        dtypes.of(np.asarray(value).dtype)
    except DTypeError:
        return False
    return bool(np.size(value) <= MOST)


def typed_values(
    step: Step, held: dict[str, Any], scope: dict[str, Any] = SCOPE
) -> dict[str, Any]:
    """NumPy's values of a step, in the types that opweave documents for bfloat16."""
    made = step_values(step, held, scope)
    found = [held[o] if isinstance(o, str) else o for o in step.operands]
    row = OPERATORS.get(step.op)
    if row is None or not any(_is_bfloat16(v) for v in found) or "dtype=" in step.form:
        return made
    types = tuple(
        dtypes.of(v.dtype) if isinstance(v, np.ndarray | np.generic) else _weak(v) for v in found
    )
    if row.kind is Kind.COMPOSITE:
        _promoted(types)
        return _as_with_float16(step, held, made, scope)
    try:
        _, results = row.type_rule(types, (("dtype", None),))
    except OpweaveError as error:
        raise TypeError(str(error)) from None
    if row.name == "cast":
        return made
    with np.errstate(all="ignore"):  # signalling NaNs warn
        return {n: v.astype(t.numpy) for (n, v), t in zip(made.items(), results, strict=False)}


def _promoted(types: tuple[Any, ...]) -> None:
    """Refuse what has no common type: bfloat16 and integers."""
    try:
        dtypes.promote(*types)
    except DTypeError as error:
        raise TypeError(str(error)) from None


def _weak(value: Any) -> Any:
    """A number's Python type; a bool has NumPy's."""
    if isinstance(value, bool):
        return dtypes.BOOL
    return int if isinstance(value, int) else type(value)


def _is_bfloat16(value: Any) -> bool:
    return getattr(getattr(value, "dtype", None), "name", "") == "bfloat16"


def _as_with_float16(
    step: Step, held: dict[str, Any], made: dict[str, Any], scope: dict[str, Any]
) -> dict[str, Any]:
    """A composite of bfloat16 has the types that it has of float16, whose numbers NumPy keeps."""
    if any(np.asarray(held[n]).dtype == np.float16 for n in step.names):
        return made  # two 16-bit types give float32
    with np.errstate(all="ignore"):
        other = {n: v.astype(np.float16) if _is_bfloat16(v) else v for n, v in held.items()}
        like = step_values(step, {n: other[n] for n in step.names}, scope)
        kinds = {n: "bfloat16" if v.dtype == np.float16 else v.dtype for n, v in like.items()}
        return {n: v.astype(kinds[n]) for n, v in made.items()}


def typed_outputs(program: Program) -> list[Any]:
    """The outputs by NumPy, in the types that opweave documents."""
    program = program.flat
    held = dict(zip((a.name for a in program.arguments), program.given(), strict=True))
    for step in program.steps:
        held |= typed_values(step, held, program.scope)
    return [held[name] for name in program.outputs]


def is_valid(program: Program) -> bool:
    """NumPy computes it, and it uses nothing that its values leave undefined."""
    if not program.steps or not program.outputs:
        return False
    try:
        program = program.flat
        held = dict(zip((a.name for a in program.arguments), program.given(), strict=True))
        for step in program.steps:
            held |= checked_values(step, held, program.scope)
    except (*ERRORS, NotForUs):
        return False
    return set(program.outputs) <= set(held)
