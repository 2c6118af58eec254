"""Scans of traced arrays under NumPy's signatures: cumsum and its kin, ``ufunc.accumulate``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.compiler.arrays.complexes import is_complex
from opweave.compiler.arrays.reshaping import counted_axis
from opweave.compiler.numpy_api.reducing import apply, dtype_name, without_nan
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.opcodes import OPERATORS, dtypes
from opweave.opcodes.complexes import IMAG, JOIN, REAL
from opweave.opcodes.core import Operator
from opweave.opcodes.errors import ShapeError, UnsupportedError

# By a ufunc the scan that its ``accumulate`` is.
ACCUMULATES: dict[np.ufunc, Operator] = {
    np.add: OPERATORS["cumsum"],
    np.multiply: OPERATORS["cumprod"],
    np.maximum: OPERATORS["cummax"],
    np.minimum: OPERATORS["cummin"],
    np.logical_or: OPERATORS["cumany"],
    np.logical_and: OPERATORS["cumall"],
}


def accumulated(operator: Operator, name: str, a: Any, axis: Any, dtype: Any = None) -> Any:
    """A scan along one axis.

    Raises:
        AxisError: the array has no such axis.
        UnsupportedError: a dtype, where the operator takes none.
    """
    attrs: dict[str, Any] = {"axis": counted_axis(name, axis, a.ndim)}
    is_sum = operator.name == "cumsum"
    if is_sum and (is_complex(a) if dtype is None else dtypes.of(dtype).is_complex):
        # NumPy adds up the parts of complex numbers by themselves, too
        a = a if dtype is None else a.astype(dtype)
        return JOIN(*(apply(operator, part(a), **attrs, dtype=None) for part in (REAL, IMAG)))
    if "dtype" in dict(operator.attrs):
        attrs["dtype"] = None if dtype is None else dtype_name(dtype)
    elif dtype is not None:
        raise UnsupportedError(f"{name}: dtype= has no meaning here; convert with .astype(...)")
    return apply(operator, a, **attrs)


@numpy_function(np.cumsum, np.ndarray.cumsum, counted=("axis",), flat=True)
def cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return accumulated(OPERATORS["cumsum"], "cumsum", a, axis, dtype)


@numpy_function(np.cumprod, np.ndarray.cumprod, counted=("axis",), flat=True)
def cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return accumulated(OPERATORS["cumprod"], "cumprod", a, axis, dtype)


@numpy_function(np.nancumsum)
def nancumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return np.cumsum(without_nan(a, 0), axis, dtype)


@numpy_function(np.nancumprod)
def nancumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return np.cumprod(without_nan(a, 1), axis, dtype)


def _cumulative(plain: Callable[..., Any]) -> Callable[..., Any]:
    """The array API's name of a scan, which asks for an axis where there are several."""

    def handler(
        x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
    ) -> Any:
        if include_initial:
            raise UnsupportedError("include_initial=True: concatenate the first element yourself")
        if axis is None and x.ndim != 1:
            raise ShapeError(f"expected an axis of an array of {x.ndim} dimensions")
        return plain(x, axis, dtype)

    return handler


numpy_function("cumulative_sum")(_cumulative(np.cumsum))
numpy_function("cumulative_prod")(_cumulative(np.cumprod))
