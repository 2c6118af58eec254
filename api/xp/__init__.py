"""A namespace of the Array API standard whose arrays fuse until somebody looks at them.

    import opweave.xp as xp

    x = xp.linspace(0.0, 1.0, 1_000_000)
    y = xp.exp(-x * x) * xp.sin(x) + 0.5  # nothing is computed yet
    float(xp.sum(y))                      # one program; the same lines find it again

All functions of the standard 2025.12 are here, with the extensions ``linalg`` and ``fft``.
``compute`` computes arrays together, ``explain`` says by which kernels.
"""

from __future__ import annotations

import math as _math
import sys as _sys

from opweave.xp import dtypes as _dtypes
from opweave.xp import fft, linalg
from opweave.xp.arrays import VERSION as __array_api_version__
from opweave.xp.arrays import Array
from opweave.xp.called import compute, explain
from opweave.xp.creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from opweave.xp.elementwise import FUNCTIONS as _FUNCTIONS
from opweave.xp.elementwise import clip, where
from opweave.xp.hints import no_function as _no_function
from opweave.xp.info import (
    __array_namespace_info__,
    astype,
    can_cast,
    finfo,
    iinfo,
    isdtype,
    result_type,
)
from opweave.xp.linalg import matmul, matrix_transpose, tensordot, vecdot
from opweave.xp.manipulation import (
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    tile,
    unstack,
)
from opweave.xp.searching import (
    argsort,
    isin,
    nonzero,
    searchsorted,
    sort,
    take,
    take_along_axis,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from opweave.xp.statistics import (
    all,
    any,
    argmax,
    argmin,
    count_nonzero,
    cumulative_prod,
    cumulative_sum,
    diff,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)

e, pi, inf, nan = _math.e, _math.pi, _math.inf, _math.nan
newaxis = None

globals().update(_FUNCTIONS)
globals().update(_dtypes.DTYPES)

__all__ = [
    "Array", "__array_api_version__", "__array_namespace_info__", "all", "any", "arange",
    "argmax", "argmin", "argsort", "asarray", "astype", "broadcast_arrays", "broadcast_shapes",
    "broadcast_to", "can_cast", "clip", "compute", "concat", "count_nonzero",
    "cumulative_prod", "cumulative_sum", "diff", "e", "empty", "empty_like", "expand_dims",
    "explain", "eye", "fft", "finfo", "flip", "from_dlpack", "full", "full_like", "iinfo",
    "inf", "isdtype", "isin", "linalg", "linspace", "matmul", "matrix_transpose", "max",
    "mean", "meshgrid", "min", "moveaxis", "nan", "newaxis", "nonzero", "ones", "ones_like",
    "permute_dims", "pi", "prod", "repeat", "reshape", "result_type", "roll", "searchsorted",
    "sort", "squeeze", "stack", "std", "sum", "take", "take_along_axis", "tensordot", "tile",
    "tril", "triu", "unique_all", "unique_counts", "unique_inverse", "unique_values",
    "unstack", "var", "vecdot", "where", "zeros", "zeros_like", *_FUNCTIONS, *_dtypes.DTYPES,
]  # fmt: skip


def __getattr__(name: str) -> object:
    raise _no_function(_sys.modules[__name__], name)


def __dir__() -> list[str]:
    return sorted(__all__)
