"""Functions of ``scipy.special`` that are made of others, for arrays of float32 and float64."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opweave.compiler.numpy_api.registry import SPECIAL, numpy_function
from opweave.opcodes import OPERATORS

lgamma = OPERATORS["lgamma"]


@numpy_function("scipy.special.xlogy")
def xlogy(x: Any, y: Any) -> Any:
    return np.where(np.equal(x, 0) & ~np.isnan(y), 0, x * np.log(y))


@numpy_function("scipy.special.xlog1py")
def xlog1py(x: Any, y: Any) -> Any:
    return np.where(np.equal(x, 0) & ~np.isnan(y), 0, x * np.log1p(y))


@numpy_function("scipy.special.entr")
def entr(x: Any) -> Any:
    beyond = np.where(x < 0, -np.inf, x)  # NaN stays
    return np.where(x > 0, -x * np.log(x), np.where(x == 0, 0, beyond))


def _relative(x: Any, y: Any, inside: Any, at_zero: Any) -> Any:
    """A divergence: ``inside`` if both are positive, ``at_zero`` if x is 0, else infinity."""
    lost, typed = np.isnan(x) | np.isnan(y), inside.dtype.type
    at_zero = at_zero if hasattr(at_zero, "dtype") else typed(at_zero)
    rest = np.where(np.equal(x, 0) & np.greater_equal(y, 0), at_zero, typed(np.inf))
    inner = np.greater(x, 0) & np.greater(y, 0)
    return np.where(lost, np.nan, np.where(inner, inside, rest))


@numpy_function("scipy.special.rel_entr")
def rel_entr(x: Any, y: Any) -> Any:
    return _relative(x, y, x * np.log(x / y), 0)


@numpy_function("scipy.special.kl_div")
def kl_div(x: Any, y: Any) -> Any:
    return _relative(x, y, x * np.log(x / y) - x + y, y)


@numpy_function("scipy.special.logit")
def logit(x: Any) -> Any:
    """``log(x / (1 - x))``; near 1/2 by ``log1p``, where the quotient would lose digits."""
    near = 2 * (x - 0.5)
    middle = np.log1p(near) - np.log1p(-near)
    return np.where((x > 0.3) & (x < 0.65), middle, np.log(x / (1 - x)))


@numpy_function("scipy.special.log_expit")
def log_expit(x: Any) -> Any:
    return np.minimum(x, 0) - np.log1p(np.exp(-abs(x)))


@numpy_function("scipy.special.ndtr")
def ndtr(a: Any) -> Any:
    return OPERATORS["erfc"](a * -math.sqrt(0.5)) * 0.5


@numpy_function("scipy.special.huber")
def huber(delta: Any, r: Any) -> Any:
    size = abs(r)
    inner = np.where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta))
    return np.where(np.less(delta, 0), np.inf, inner)


@numpy_function("scipy.special.cosm1")
def cosm1(x: Any) -> Any:
    half = np.sin(x * 0.5)
    return -2 * half * half


@numpy_function("scipy.special.loggamma")
def loggamma(z: Any) -> Any:
    return np.where(z < 0, np.nan, lgamma(z))


numpy_function("scipy.special.gammaln")(lambda x: lgamma(x))
numpy_function("scipy.special.exp10")(lambda x: np.power(10.0, x))
numpy_function("scipy.special.exp2")(lambda x: np.exp2(x))
numpy_function("scipy.special.expm1")(lambda x: np.expm1(x))
numpy_function("scipy.special.log1p")(lambda x: np.log1p(x))
numpy_function("scipy.special.cbrt")(lambda x: np.cbrt(x))
numpy_function("scipy.special.round")(lambda x: np.rint(x))


def special_function(ufunc: np.ufunc, operands: Sequence[Any]) -> Callable[..., Any] | None:
    """The handler of a ufunc of ``scipy.special`` for these operands; None if it has none."""
    row = SPECIAL.get(ufunc.__name__)
    if row is None or not is_special(ufunc):
        return None
    kinds = [o.dtype for o in operands if hasattr(o, "dtype")]
    return row.handler if all(kind in (np.float32, np.float64) for kind in kinds) else None


def is_special(function: Any) -> bool:
    """True for a function of ``scipy.special``, which is never imported here."""
    special = sys.modules.get("scipy.special")
    name = getattr(function, "__name__", "")
    return special is not None and getattr(special, name, None) is function


@numpy_function("scipy.special.logsumexp")
def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    if b is not None or return_sign:
        raise TypeError("got an unexpected keyword argument b or return_sign")
    return OPERATORS["logsumexp"](a, axis=axis, keepdims=keepdims)


@numpy_function("scipy.special.softmax")
def softmax(x: Any, axis: Any = None) -> Any:
    return OPERATORS["softmax"](x, axis=axis)


@numpy_function("scipy.special.log_softmax")
def log_softmax(x: Any, axis: Any = None) -> Any:
    return OPERATORS["log_softmax"](x, axis=axis)


def asked(function: Any) -> Callable[..., Any] | None:
    """The handler of a function of ``scipy.special`` that is no ufunc; None for any other.

    Such a function asks no traced array what to do, so another takes its place.
    """
    name = getattr(function, "__name__", None)
    row = SPECIAL.get(name) if isinstance(name, str) else None
    if row is None or isinstance(function, np.ufunc) or not is_special(function):
        return None
    return row.handler
