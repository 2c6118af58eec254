"""Arrays of every layout, with special values in them: two tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from opweave.opcodes import dtypes

Made = np.ndarray[Any, Any]


def specials(dtype: str) -> Made:
    """What needs care: NaN, infinities, zeros, subnormals, the largest; integer extremes."""
    row = dtypes.of(dtype)
    if row.kind == "b":
        return np.array([False, True])
    if row.is_float:
        tiny = 2.0**row.tiny_exponent
        normal = tiny * 2.0 ** (row.digits - 1)
        largest = (2 - 2.0 ** (1 - row.digits)) * 2.0 ** (-row.tiny_exponent + 2 - row.digits)
        found = [
            *(np.nan, np.inf, -np.inf, 0.0, -0.0, tiny, -tiny, normal - tiny, normal, -normal),
            *(largest, -largest, 1.0, -1.0, 0.5, 1.5, -2.5, 2.0, 3.0, 1 + 2.0 ** (1 - row.digits)),
        ]
        with np.errstate(all="ignore"):
            return np.array(found).astype(row.numpy)
    limits = np.iinfo(row.numpy)
    found = [0, 1, 2, 3, 7, 31, 63, 64, limits.max, limits.max - 1, limits.min]
    found += [-1, -2, -7] if row.kind == "i" else []
    return np.array(found, row.numpy)


def _normal(rng: np.random.Generator, dtype: str, count: int) -> Made:
    row = dtypes.of(dtype)
    if row.is_float:
        return (rng.standard_normal(count) * 3).astype(row.numpy)
    if row.kind == "b":
        return rng.random(count) < 0.5
    return rng.integers(-9 if row.kind == "i" else 0, 20, count).astype(row.numpy)


def _specials(rng: np.random.Generator, dtype: str, count: int) -> Made:
    return rng.choice(specials(dtype), count)


def _mixed(rng: np.random.Generator, dtype: str, count: int) -> Made:
    return np.where(
        rng.random(count) < 0.08, _specials(rng, dtype, count), _normal(rng, dtype, count)
    )


def _unit(rng: np.random.Generator, dtype: str, count: int) -> Made:
    """Positive and moderate, so that long chains stay finite."""
    row = dtypes.of(dtype)
    if row.is_float:
        return (rng.random(count) + 0.01).astype(row.numpy)
    return rng.integers(0 if row.kind == "b" else 1, 2 if row.kind == "b" else 4, count).astype(
        row.numpy
    )


def _any(rng: np.random.Generator, dtype: str, count: int) -> Made:
    """Any pattern of bits."""
    row = dtypes.of(dtype)
    if row.kind == "b":
        return rng.random(count) < 0.5
    return np.frombuffer(rng.bytes(count * row.itemsize), row.numpy).copy()


def _whole(rng: np.random.Generator, dtype: str, count: int) -> Made:
    """Small whole numbers, of which sums and products are exact."""
    low = 0 if dtypes.of(dtype).kind in "bu" else -3
    return rng.integers(low, 6, count).astype(dtypes.of(dtype).numpy)


def _dyadic(rng: np.random.Generator, dtype: str, count: int) -> Made:
    """Small multiples of a quarter; of integers whole ones."""
    if not dtypes.of(dtype).is_float:
        return _whole(rng, dtype, count)
    return (rng.integers(-9, 14, count) / 4).astype(dtypes.of(dtype).numpy)


def _ones(rng: np.random.Generator, dtype: str, count: int) -> Made:
    return np.ones(count, dtypes.of(dtype).numpy)


FILLS: dict[str, Callable[[np.random.Generator, str, int], Made]] = {
    "normal": _normal,
    "specials": _specials,
    "mixed": _mixed,
    "unit": _unit,
    "bits": _any,
    "ones": _ones,
    "whole": _whole,
    "dyadic": _dyadic,
}


def _doubled(axis: int, step: int) -> Callable[[Made], Made]:
    """A buffer of twice the extent of an axis, of which every second element is taken."""

    def place(x: Made) -> Made:
        if x.ndim == 0:
            return np.array(x)
        shape = list(x.shape)
        shape[axis] = 2 * shape[axis]
        buffer = np.zeros(shape, x.dtype)
        taken: list[Any] = [slice(None)] * x.ndim
        taken[axis] = slice(None, None, 2) if step > 0 else slice(None, None, -2)
        made = buffer[tuple(taken)]
        made[...] = x
        return made

    return place


def _flipped(every: bool) -> Callable[[Made], Made]:
    def place(x: Made) -> Made:
        taken = tuple(
            slice(None, None, -1 if every or d == x.ndim - 1 else 1) for d in range(x.ndim)
        )
        made = np.zeros(x.shape, x.dtype)[(*taken, ...)]
        made[...] = x
        return made

    return place


def _moved(x: Made) -> Made:
    """Memory in another order of dimensions than C or Fortran."""
    if x.ndim < 2:
        return np.array(x)
    made = np.moveaxis(np.zeros((*x.shape[1:], x.shape[0]), x.dtype), -1, 0)
    made[...] = x
    return made


def _window(x: Made) -> Made:
    """The middle of a larger array."""
    buffer = np.zeros(tuple(e + 3 for e in x.shape), x.dtype)
    made = buffer[(*(slice(1, 1 + e) for e in x.shape), ...)]
    made[...] = x
    return made


def _offset(x: Made) -> Made:
    """Contiguous, one element behind a 16-byte boundary."""
    made = np.zeros(x.size + 1, x.dtype)[1:].reshape(x.shape)
    made[...] = x
    return made


def _repeated(axis: int) -> Callable[[Made], Made]:
    """Stride zero along an axis: its first element again and again."""

    def place(x: Made) -> Made:
        if x.ndim == 0 or x.shape[axis] == 0:
            return np.array(x)
        taken: list[Any] = [slice(None)] * x.ndim
        taken[axis] = slice(0, 1)
        return np.broadcast_to(np.array(x[tuple(taken)]), x.shape)

    return place


LAYOUTS: dict[str, Callable[[Made], Made]] = {
    "C": lambda x: np.array(x, order="C"),
    "Fortran": lambda x: np.array(x, order="F"),
    "steps": _doubled(-1, 1),
    "row steps": _doubled(0, 1),
    "backward steps": _doubled(-1, -1),
    "negative": _flipped(False),
    "all negative": _flipped(True),
    "moved": _moved,
    "window": _window,
    "offset": _offset,
    "repeated": _repeated(-1),
    "repeated rows": _repeated(0),
}
# Views of an earlier argument of the same shape.
ALIASES: dict[str, Callable[[Made], Made]] = {
    "same": lambda x: x,
    "reversed": lambda x: x[(*(slice(None, None, -1),) * min(x.ndim, 1), ...)],
    "transposed": lambda x: x.T,
}


# Values that are drawn; longer arrays repeat them.  A prime, so that rows differ.
DRAWN = 4099


def filled(rng: np.random.Generator, fill: str, row: dtypes.DType, count: int) -> Made:
    """Values of a fill; of complex numbers those of their parts, each drawn alone."""
    if not row.is_complex:
        return FILLS[fill](rng, row.numpy_name, count)
    made = np.empty(count, row.numpy)
    made.real, made.imag = (FILLS[fill](rng, row.part.numpy_name, count) for _ in range(2))
    return made


def logical(array: Any) -> Made:
    """Values of an argument in the order of its dimensions."""
    row = dtypes.of(array.dtype)
    count = int(np.prod(array.shape, dtype=np.int64))
    if array.fill == "given":
        return np.array(array.values).astype(row.numpy).reshape(array.shape)
    rng = np.random.default_rng(array.seed)
    drawn = filled(rng, array.fill, row, min(count, DRAWN))
    return np.resize(drawn, count).reshape(array.shape)


def make(array: Any, earlier: Mapping[str, Any]) -> Made:
    """The argument itself; ``earlier`` has those that it may be a view of."""
    if array.layout in ALIASES:
        return ALIASES[array.layout](earlier[array.of])
    return LAYOUTS[array.layout](logical(array))


def kinds(values: Any) -> str:
    """Which special values an array holds, a letter each, see ``coverage.LETTERS``."""
    found = np.asarray(values)
    try:
        row = dtypes.of(found.dtype)
    except TypeError:
        return ""
    if found.size == 0:
        return "e"
    if row.kind == "b":
        return ""
    if row.is_complex:
        return "".join(sorted({*kinds(found.real), *kinds(found.imag)}))
    if not row.is_float:
        limits = np.iinfo(row.numpy)
        at = ((found == limits.max) | (found == limits.min)).any()
        return "z" * bool((found == 0).any()) + "x" * bool(at)
    tiny = 2.0 ** (row.tiny_exponent + row.digits - 1)
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        wide = found.astype(np.float64)
    size = np.abs(wide)
    top = (2 - 2.0 ** (1 - row.digits)) * 2.0 ** (-row.tiny_exponent + 2 - row.digits)
    checks = {
        "n": np.isnan(wide),
        "i": np.isinf(wide),
        "m": (wide == 0) & np.signbit(wide),
        "s": (size > 0) & (size < tiny),
        "x": size == top,
    }
    return "".join(letter for letter, where in checks.items() if where.any())
