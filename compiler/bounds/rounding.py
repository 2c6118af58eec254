"""Facts of floating-point numbers: one ULP, gamma_n, the largest number, distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from opweave.opcodes.dtypes import DType

Array = np.ndarray[Any, Any]


def gamma(depth: int, accumulator: DType) -> float:
    """Relative error of a chain of ``depth`` roundings."""
    total = depth * 2.0**-accumulator.digits
    return total / (1 - total) if total < 1 else float("inf")


def gammas(depths: Array, accumulator: DType) -> Array:
    """``gamma`` of many depths."""
    total = np.asarray(depths) * 2.0**-accumulator.digits
    return np.where(total < 1, total / np.where(total < 1, 1 - total, 1), np.inf)


def largest(dtype: DType) -> float:
    """The largest finite number of a float type."""
    top = {"f16": 16, "bf16": 128, "f32": 128, "f64": 1024}[dtype.name]
    return float(np.ldexp(1.0 - 2.0**-dtype.digits, top - 1) * 2)


def spacing(value: Array, dtype: DType) -> Array:
    """One unit in the last place of ``dtype`` at a value; 0 for NaN and infinities.

    A wide value has a wide unit: half of float64's smallest number is no float64.
    """
    value = np.asarray(value)
    one = np.ones((), np.longdouble if value.dtype == np.longdouble else np.float64)
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(np.abs(value))
        lowest = np.asarray(dtype.tiny_exponent)
        places = np.where(value == 0, lowest, exponent - dtype.digits)
        ulp = np.ldexp(one, np.maximum(places, lowest))
    return np.where(np.isfinite(value), ulp, 0.0)


def distance(a: Array, b: Array) -> Array:
    """How far apart two results are; infinite where one is NaN and the other is not."""
    if a.dtype == np.bool_:
        return np.where(a != b, np.inf, 0.0)
    if not np.issubdtype(a.dtype, np.floating):
        exact = np.float64 if a.dtype.itemsize < 8 else np.longdouble
        return np.abs(np.subtract(a, b, dtype=exact))
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(all="ignore"):
        far = np.abs(a - b)
    return np.where(same, 0.0, np.where(np.isnan(far), np.inf, far))
