"""Scans of traced arrays under NumPy's signatures: cumsum and its kin, ``ufunc.accumulate``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.compiler.arrays.assignment import assign
from opweave.compiler.arrays.complexes import is_complex
from opweave.compiler.arrays.reshaping import counted_axis
from opweave.compiler.numpy_api.reducing import apply, dtype_name
from opweave.opcodes import OPERATORS, dtypes
from opweave.opcodes.complexes import IMAG, JOIN, REAL
from opweave.opcodes.core import Operator
from opweave.opcodes.errors import ShapeError, UnsupportedError

# ufunc.accumulate by the scan that it is.
ACCUMULATES = {
    "add": OPERATORS["cumsum"],
    "multiply": OPERATORS["cumprod"],
    "maximum": OPERATORS["cummax"],
    "minimum": OPERATORS["cummin"],
    "logical_or": OPERATORS["cumany"],
    "logical_and": OPERATORS["cumall"],
}


def accumulated(
    operator: Operator, name: str, a: Any, axis: Any, dtype: Any = None, out: Any = None
) -> Any:
    """A scan along one axis.

    Raises:
        ShapeError: no such axis.
        UnsupportedError: another dtype than the operator gives by itself, where it takes none or
            where ``out`` has it.
    """
    attrs: dict[str, Any] = {"axis": counted_axis(name, axis, a.ndim)}
    if operator.name == "cumsum" and _adds_complex(a, dtype):
        # NumPy adds the parts up by themselves, too
        a = a if dtype is None else a.astype(dtype)
        found = JOIN(*(apply(operator, part(a), **attrs, dtype=None) for part in (REAL, IMAG)))
        return found if out is None else _into(out, found, name)
    if "dtype" in dict(operator.attrs):
        attrs["dtype"] = None if dtype is None else dtype_name(dtype)
    elif dtype is not None:
        raise UnsupportedError(f"{name}: dtype= has no meaning here; convert with .astype(...)")
    found = apply(operator, a, **attrs)
    return found if out is None else _into(out, found, name)


def _adds_complex(a: Any, dtype: Any) -> bool:
    return is_complex(a) if dtype is None else dtypes.of(dtype).is_complex


def _into(out: Any, found: Any, name: str) -> Any:
    if getattr(out, "dtype", None) != found.dtype:  # NumPy computes in the type of both
        raise UnsupportedError(
            f"{name}: out= of {getattr(out, 'dtype', type(out).__name__)} for a result of "
            f"{found.dtype}; give dtype= and an array of that type"
        )
    return assign(out, found, name)


def _running(name: str) -> Callable[..., Any]:
    """``np.cumsum`` and ``np.cumprod``: along an axis, or of all elements in rows."""
    operator = OPERATORS[name]

    def handler(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        flat = axis is None and a.ndim != 1
        source, along = (a.reshape(-1), 0) if flat else (a, 0 if axis is None else axis)
        return accumulated(operator, name, source, along, dtype, out)

    return handler


def _without_nan(name: str, fill: int) -> Callable[..., Any]:
    """A scan that takes NaN for what changes nothing."""
    plain = _running(name)

    def handler(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        filled = np.where(np.isnan(a), fill, a) if dtypes.of(a.dtype).kind in "fc" else a
        return plain(filled, axis, dtype, out)

    return handler


def _cumulative(name: str) -> Callable[..., Any]:
    """The array API's name of a scan, which asks for an axis where there are several."""
    plain = _running(name)

    def handler(
        x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None,
        include_initial: bool = False,
    ) -> Any:  # fmt: skip
        if include_initial:
            raise UnsupportedError("include_initial=True: concatenate the first element yourself")
        if axis is None and x.ndim != 1:
            raise ShapeError(f"expected an axis of an array of {x.ndim} dimensions")
        return plain(x, axis, dtype, out)

    return handler


SCANS: dict[str, Callable[..., Any]] = {
    "cumsum": _running("cumsum"),
    "cumprod": _running("cumprod"),
    "nancumsum": _without_nan("cumsum", 0),
    "nancumprod": _without_nan("cumprod", 1),
    "cumulative_sum": _cumulative("cumsum"),
    "cumulative_prod": _cumulative("cumprod"),
}
