"""The operands of other types, shapes and layouts: what a call of the page does with them."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import opweave as ow

from .judge import compared, function_of
from .rows import OPERANDS

Operands = dict[str, Any]
FLOATS = "xyphvwabdq"
NARROW, WIDE = "xyp", "vwabdq"  # float32 and float64 on the page
GRIDS, ROWS = "xyphikmu", "vwn"


def _cast(**kinds: str) -> Callable[[], Operands]:
    """Floats as another type, and as small whole numbers where that is one."""

    def made() -> Operands:
        found = dict(OPERANDS)
        for names, dtype in kinds.items():
            scale = 1 if np.dtype(dtype).kind == "f" else 3
            found |= {n: (OPERANDS[n] * scale).astype(dtype) for n in names}
        return found

    return made


def _each(change: Callable[[Any], Any], names: str = "") -> Callable[[], Operands]:
    def made() -> Operands:
        arrays = {n: a for n, a in OPERANDS.items() if isinstance(a, np.ndarray)}
        return OPERANDS | {n: change(a) for n, a in arrays.items() if not names or n in names}

    return made


def _one() -> Operands:
    return OPERANDS | {n: OPERANDS[n][:1, :1] for n in GRIDS} | {n: OPERANDS[n][:1] for n in ROWS}


def _holes(array: Any) -> Any:
    lost = np.arange(array.size).reshape(array.shape) % 7 == 3
    return np.where(lost, np.nan, array).astype(array.dtype)


KINDS: dict[str, Callable[[], Operands]] = {
    "float16": _cast(xyp="float16", vwabdqh="float32"),
    "float64": _cast(xyp="float64", vwabdq="float16"),
    "int32": _cast(xyp="int32", vwabdq="int64"),
    "bytes": _cast(xyp="uint8", vwabdq="int8", ik="uint16", nj="int32"),
    "bool": _each(lambda a: a > 0, "xyvwabdq"),
    "Fortran": _each(lambda a: np.asfortranarray(a) if a.ndim > 1 else np.repeat(a, 2)[::2]),
    "negative strides": _each(lambda a: a[::-1].copy()[::-1] if a.ndim else a),
    "empty": _each(lambda a: a[:0], GRIDS),
    "of one element": _one,
    "NaN": _each(_holes, "xyvq"),
}
# What the documentation names as other than NumPy's, by a piece of the call.
KNOWN = {
    "np.pow": "raises", "np.power": "raises",  # integers to a negative power
    "np.reciprocal": "array",  # of an integer zero, which is not specified
    "np.average": "",  # weights that add up to 0; float16 in another order
    "x.item": "nan", "x.tolist": "nan",  # which no number equals
}  # fmt: skip


def differences(kind: str, calls: tuple[str, ...]) -> dict[str, str]:
    """Calls whose results, or errors, are others than NumPy's."""
    operands = KINDS[kind]()
    found = {call: _difference(call, operands) for call in calls}
    return {call: text for call, text in found.items() if text and not _is_known(call, text)}


def _is_known(call: str, text: str) -> bool:
    return any(piece in call and what in text for piece, what in KNOWN.items())


def _difference(call: str, operands: Mapping[str, Any]) -> str:
    function, args = function_of(call, operands)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected, error = _called(function, copy.deepcopy(args))
        found, ours = _called(ow.fuse(function), args)
    if error is not None:
        return "" if ours is not None else f"NumPy raises {type(error).__name__}: {error}"
    if ours is not None:
        return f"{type(ours).__name__}: {ours}"
    return compared(found, expected)


def _called(function: Callable[..., Any], args: Any) -> tuple[Any, Exception | None]:
    try:
        return function(*args), None
    except Exception as error:
        return None, error
