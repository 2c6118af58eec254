"""Functions of ``scipy.special`` that are made of others, for arrays of float32 and float64."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opweave.opcodes import OPERATORS

lgamma = OPERATORS["lgamma"]


def _xlogy(x: Any, y: Any) -> Any:
    return np.where(np.equal(x, 0) & ~np.isnan(y), 0, x * np.log(y))


def _xlog1py(x: Any, y: Any) -> Any:
    return np.where(np.equal(x, 0) & ~np.isnan(y), 0, x * np.log1p(y))


def _entr(x: Any) -> Any:
    beyond = np.where(x < 0, -np.inf, x)  # NaN stays
    return np.where(x > 0, -x * np.log(x), np.where(x == 0, 0, beyond))


def _relative(x: Any, y: Any, inside: Any, at_zero: Any) -> Any:
    """A divergence: inside of its domain, where only ``x`` is 0, and beyond."""
    lost, typed = np.isnan(x) | np.isnan(y), inside.dtype.type
    at_zero = at_zero if hasattr(at_zero, "dtype") else typed(at_zero)
    rest = np.where(np.equal(x, 0) & np.greater_equal(y, 0), at_zero, typed(np.inf))
    inner = np.greater(x, 0) & np.greater(y, 0)
    return np.where(lost, np.nan, np.where(inner, inside, rest))


def _rel_entr(x: Any, y: Any) -> Any:
    return _relative(x, y, x * np.log(x / y), 0)


def _kl_div(x: Any, y: Any) -> Any:
    return _relative(x, y, x * np.log(x / y) - x + y, y)


def _logit(x: Any) -> Any:
    """In the middle by the logarithms of what is little more and less than one."""
    near = 2 * (x - 0.5)
    middle = np.log1p(near) - np.log1p(-near)
    return np.where((x > 0.3) & (x < 0.65), middle, np.log(x / (1 - x)))


def _log_expit(x: Any) -> Any:
    return np.minimum(x, 0) - np.log1p(np.exp(-abs(x)))


def _ndtr(a: Any) -> Any:
    return OPERATORS["erfc"](a * -math.sqrt(0.5)) * 0.5


def _huber(delta: Any, r: Any) -> Any:
    size = abs(r)
    inner = np.where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta))
    return np.where(np.less(delta, 0), np.inf, inner)


def _cosm1(x: Any) -> Any:
    half = np.sin(x * 0.5)
    return -2 * half * half


def _loggamma(z: Any) -> Any:
    return np.where(z < 0, np.nan, lgamma(z))


COMPOSED: dict[str, Callable[..., Any]] = {
    "xlogy": _xlogy,
    "xlog1py": _xlog1py,
    "entr": _entr,
    "rel_entr": _rel_entr,
    "kl_div": _kl_div,
    "logit": _logit,
    "log_expit": _log_expit,
    "ndtr": _ndtr,
    "huber": _huber,
    "cosm1": _cosm1,
    "gammaln": lambda x: lgamma(x),
    "loggamma": _loggamma,
    "exp2": np.exp2,
    "exp10": lambda x: np.power(10.0, x),
    "expm1": np.expm1,
    "log1p": np.log1p,
    "cbrt": np.cbrt,
    "round": np.rint,
}


def special_function(ufunc: np.ufunc, operands: Sequence[Any]) -> Callable[..., Any] | None:
    """What a ufunc of ``scipy.special`` is made of; None for any other."""
    handler = COMPOSED.get(ufunc.__name__)
    if handler is None or not is_special(ufunc):
        return None
    plain = all(
        o.dtype in (np.float32, np.float64) for o in operands if hasattr(o, "dtype")
    )  # fmt: skip
    return handler if plain else None


def is_special(function: Any) -> bool:
    """True for a function of ``scipy.special``, which only somebody else has imported."""
    special = sys.modules.get("scipy.special")
    name = getattr(function, "__name__", "")
    return special is not None and getattr(special, name, None) is function


def _logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    if b is not None or return_sign:
        raise TypeError("got an unexpected keyword argument b or return_sign")
    return OPERATORS["logsumexp"](a, axis=axis, keepdims=keepdims)


# Functions of scipy.special that ask no array what to do, so they are replaced where they stand.
ASKING_NOBODY: dict[str, Callable[..., Any]] = {
    "logsumexp": _logsumexp,
    "softmax": lambda x, axis=None: OPERATORS["softmax"](x, axis=axis),
    "log_softmax": lambda x, axis=None: OPERATORS["log_softmax"](x, axis=axis),
}
