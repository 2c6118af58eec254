"""Covariances and correlations, made of means and a product of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from opweave.compiler.arrays.complexes import conjugated, is_complex
from opweave.compiler.arrays.lifting import lifted
from opweave.compiler.arrays.reshaping import number_of
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.opcodes.errors import ShapeError, UnsupportedError


@numpy_function(np.cov, numbers=True)
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, *,
    dtype: Any = None,
) -> Any:  # fmt: skip
    """Covariances of variables in rows, or in columns with ``rowvar=False``.

    Raises:
        UnsupportedError: there are no more observations than ``ddof``, of which NumPy warns.
        ShapeError: an operand has more than two dimensions.
    """
    if ddof is not None and ddof != int(ddof):
        raise UnsupportedError(f"cov: ddof={ddof!r}: expected a whole number")
    given = [m] if y is None else [m, lifted(m.tracer, y)]
    if any(part.ndim > 2 for part in given):
        raise ShapeError("cov: expected at most two dimensions")
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        raise UnsupportedError("cov: dtype= of whole numbers")
    to = dtype or np.result_type(*(part.dtype for part in given), np.float64)
    rows = [np.atleast_2d(part.astype(to)) for part in given]
    if not rowvar:
        rows = [r.T if part.ndim == 2 else r for r, part in zip(rows, given, strict=True)]
    x = rows[0] if len(rows) == 1 else np.concatenate(rows)
    free = (0 if bias else 1) if ddof is None else ddof
    count = number_of(m.tracer, x.shape[1])
    if not m.tracer.builder.require(Expr("gt", (count, literal(free)))):
        raise UnsupportedError("cov: no more observations than ddof")
    apart = x - x.mean(axis=1)[:, None]
    found = (apart @ conjugated(apart).T) * (1 / (x.shape[1] - free))
    return np.squeeze(found)


@numpy_function(np.corrcoef, numbers=True)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    spread = np.sqrt(np.real(np.diagonal(c)))
    c = c / spread[:, None] / spread[None, :]
    if not is_complex(c):
        return np.clip(c, -1, 1)
    return np.clip(np.real(c), -1, 1) + 1j * np.clip(np.imag(c), -1, 1)
