"""Operators of ATen that reduce, normalise, or multiply matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opweave._torch.elementwise import of_array, widened
from opweave._torch.rows import DEFAULT, RESULT, AtenCall, AtenRow, is_whole
from opweave.opcodes import OPERATORS

SOFTMAX, LOG_SOFTMAX = OPERATORS["softmax"], OPERATORS["log_softmax"]
RSQRT = of_array("rsqrt")
Axes = int | Sequence[int] | None


def axes_of(axes: Axes) -> int | tuple[int, ...] | None:
    """Axes as NumPy names them; none given are all."""
    if axes is None or isinstance(axes, int):
        return axes
    return tuple(axes) or None


def along(function: Any) -> Any:
    """A reduction of NumPy's, called as torch's are; of no dimensions it is the element."""

    def reduced(x: Any, axes: Axes = None, keepdim: bool = False) -> Any:
        return function(x, axis=axes_of(axes) if x.ndim else None, keepdims=keepdim)

    return reduced


def arg(function: Any) -> Any:
    """The place of an extreme; without an axis of the array as a row."""

    def reduced(x: Any, axis: int | None = None, keepdim: bool = False) -> Any:
        return function(x, axis=axis if x.ndim else None, keepdims=keepdim)

    return reduced


def with_place(extreme: Any, place: Any) -> Any:
    """An extreme along an axis, and where it is."""

    def reduced(x: Any, axis: int, keepdim: bool = False) -> Any:
        return extreme(x, axis, keepdim), place(x, axis, keepdim)

    return reduced


def variance(x: Any, axes: Axes = None, correction: Any = 1, keepdim: bool = False) -> Any:
    ddof = 1 if correction is None else correction
    return np.var(x, axis=axes_of(axes), ddof=ddof, keepdims=keepdim)


def norm(x: Any, order: Any = 2, axes: Axes = None, keepdim: bool = False) -> Any:
    """The Euclidean norm."""
    wide = widened(x)
    return np.sqrt(np.sum(wide * wide, axis=axes_of(axes), keepdims=keepdim))


def running_sum(x: Any, axis: int) -> Any:
    return np.cumsum(x, axis=axis) if x.ndim else x


def softmax(x: Any, axis: int, half_to_float: bool = False) -> Any:
    return SOFTMAX(widened(x), axis=axis)


def log_softmax(x: Any, axis: int, half_to_float: bool = False) -> Any:
    return LOG_SOFTMAX(widened(x), axis=axis)


def standardised(x: Any, axes: tuple[int, ...], eps: float) -> tuple[Any, Any, Any]:
    """Deviations over the standard deviation; the mean, and one over the latter."""
    mean = np.mean(x, axis=axes, keepdims=True)
    deviation = x - mean
    variance = np.mean(deviation * deviation, axis=axes, keepdims=True)
    scale = RSQRT(variance + eps)
    return deviation * scale, mean, scale


def layer_norm(x: Any, shape: Sequence[int], weight: Any, bias: Any, eps: float) -> Any:
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    found, mean, scale = standardised(widened(x), axes, eps)
    if weight is not None:
        found = found * widened(weight)
    return found if bias is None else found + widened(bias), mean, scale


def group_norm(
    x: Any, weight: Any, bias: Any, n: int, channels: int, rest: int, groups: int, eps: float
) -> Any:
    """Of each image, the channels of a group standardised together."""
    of_groups = widened(x).reshape(n, groups, channels // groups * rest)
    found, mean, scale = standardised(of_groups, (2,), eps)
    beside = (1, channels, *[1] * (x.ndim - 2))
    found = found.reshape(x.shape)
    if weight is not None:
        found = found * widened(weight).reshape(beside)
    if bias is not None:
        found = found + widened(bias).reshape(beside)
    return found, mean.reshape(n, groups), scale.reshape(n, groups)


def batch_norm(
    x: Any, weight: Any, bias: Any, mean: Any, var: Any, momentum: float, eps: float
) -> Any:
    """By means and variances that were seen before."""
    beside = (1, x.shape[1], *[1] * (x.ndim - 2))
    found = (widened(x) - widened(mean).reshape(beside)) * RSQRT(widened(var) + eps).reshape(
        beside
    )
    if weight is not None:
        found = found * widened(weight).reshape(beside)
    if bias is not None:
        found = found + widened(bias).reshape(beside)
    return found, mean, mean  # the others are empty, and nobody reads them


def matrix_product(x: Any, y: Any) -> Any:
    return np.matmul(x, y)


def added_product(bias: Any, x: Any, y: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * bias + alpha * (x @ y); in 16 bits a factor meets the product in float32."""
    found = np.matmul(x, y) if alpha == 1 else np.matmul(widened(x), widened(y)) * alpha
    if beta == 0:
        return found
    bias, found = widened(bias), widened(found)
    return found + (bias if beta == 1 else bias * beta)


def is_of_integers(asked: AtenCall) -> bool:
    return is_whole(asked.args[0])


def is_empty(asked: AtenCall) -> bool:
    """No element to reduce: torch refuses it, or has a value of its own."""
    return bool(asked.args[0].numel() == 0)


def is_no_extreme(asked: AtenCall) -> bool:
    return bool(is_empty(asked) or str(asked.args[0].dtype) == "torch.bool")


def is_another_norm(asked: AtenCall) -> bool:
    order = asked.args[1] if len(asked.args) > 1 else asked.kwargs.get("ord", 2)
    return bool(order != 2)


def is_not_over_rows(asked: AtenCall) -> bool:
    return bool(is_empty(asked) or asked.args[0].dim() == 0)


def reads_more(asked: AtenCall) -> bool:
    """Batch norm whose other results are read, or that has no channels."""
    return bool(asked.args[0].dim() < 2 or is_empty(asked))


def over_these(function: Any) -> Any:
    """``any`` and ``all``, which over an empty list of axes reduce nothing."""
    reduced = along(function)

    def made(x: Any, axes: Axes = None, keepdim: bool = False) -> Any:
        is_nothing = axes is not None and not isinstance(axes, int) and not axes
        return x != 0 if is_nothing else reduced(x, axes, keepdim)

    return made


SUM, MEAN, PROD = along(np.sum), along(np.mean), along(np.prod)
MAX, MIN, ARGMAX, ARGMIN = along(np.max), along(np.min), arg(np.argmax), arg(np.argmin)
ANY, ALL = over_these(np.any), over_these(np.all)
ROWS: dict[str, AtenRow] = {
    "sum.default": AtenRow(SUM, RESULT, last=1),
    "sum.dim_IntList": AtenRow(SUM, RESULT, last=1),
    "mean.default": AtenRow(MEAN, RESULT, last=1, left=is_empty),
    "mean.dim": AtenRow(MEAN, RESULT, last=1, left=is_empty),
    "prod.default": AtenRow(PROD, RESULT, last=1),
    "prod.dim_int": AtenRow(PROD, RESULT, last=1),
    "cumsum.default": AtenRow(running_sum, RESULT, last=1),
    **dict.fromkeys(("amax.default", "max.default"), AtenRow(MAX, left=is_empty)),
    **dict.fromkeys(("amin.default", "min.default"), AtenRow(MIN, left=is_empty)),
    "max.dim": AtenRow(with_place(MAX, ARGMAX), left=is_no_extreme),
    "min.dim": AtenRow(with_place(MIN, ARGMIN), left=is_no_extreme),
    "argmax.default": AtenRow(ARGMAX, left=is_no_extreme),
    "argmin.default": AtenRow(ARGMIN, left=is_no_extreme),
    **dict.fromkeys(("any.default", "any.dim", "any.dims"), AtenRow(ANY)),
    **dict.fromkeys(("all.default", "all.dim", "all.dims"), AtenRow(ALL)),
    "var.correction": AtenRow(variance, RESULT, last=1, left=is_empty),
    "linalg_vector_norm.default": AtenRow(norm, RESULT, last=1, left=is_another_norm),
    "_softmax.default": AtenRow(softmax, RESULT, last=1, left=is_not_over_rows),
    "_log_softmax.default": AtenRow(log_softmax, RESULT, last=1, left=is_not_over_rows),
    "native_layer_norm.default": AtenRow(layer_norm, left=is_empty),
    "native_group_norm.default": AtenRow(group_norm, left=is_empty),
    "_native_batch_norm_legit_no_training.default": AtenRow(batch_norm, left=reads_more),
    "mm.default": AtenRow(matrix_product, DEFAULT, left=is_of_integers),
    "bmm.default": AtenRow(matrix_product, DEFAULT, left=is_of_integers),
    "addmm.default": AtenRow(added_product, DEFAULT, last=3, left=is_of_integers),
    "baddbmm.default": AtenRow(added_product, DEFAULT, last=3, left=is_of_integers),
}
TABLE: dict[str, AtenRow] = {f"aten.{name}": row for name, row in ROWS.items()}
