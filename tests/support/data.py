"""Inputs shared by the tests: special and random values of every dtype."""

from __future__ import annotations

import numpy as np

import opweave as ow
from opweave.compiler.bounds.rounding import largest
from opweave.opcodes import OPERATORS, dtypes
from opweave.opcodes.core import Kind
from opweave.opcodes.errors import DTypeError

DTYPES = [d.numpy_name for d in dtypes.ALL]
FLOATS = [d.numpy_name for d in dtypes.FLOATS]
COMPLEX = [d.numpy_name for d in dtypes.COMPLEX]
TARGETS = ["sm_75", "sm_80", "sm_89", "sm_90a", "sm_100"]

FLOAT_SPECIALS = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.0, 2.5, -2.5, 3.0, 1e-3, -1e-3, 7.25, -7.25, 100.0,
    np.inf, -np.inf, np.nan, 1e-40, -1e-40, 6e-8, 65504.0, 3e38, -3e38, 88.7, -103.9, 1e-7, 20.0,
]  # fmt: skip


# Parts of complex numbers, of which all pairs are taken.
PART_SPECIALS = [0.0, -0.0, 1.0, -2.5, 1e-40, 3e38, np.inf, -np.inf, np.nan]


def joined(re, im, name):
    """Complex numbers of these parts."""
    made = np.empty(np.shape(re), dtype_of(name))
    with np.errstate(all="ignore"):
        made.real, made.imag = re, im
    return made


def dtype_of(name):
    return dtypes.of(name).numpy


def specials(name):
    """Every value that needs care, as an array of the dtype."""
    dtype = dtypes.of(name)
    if dtype.is_float:
        with np.errstate(all="ignore"):
            return np.array(FLOAT_SPECIALS).astype(dtype.numpy)
    if dtype.is_complex:
        parts = np.meshgrid(PART_SPECIALS, PART_SPECIALS)
        return joined(parts[0].reshape(-1), parts[1].reshape(-1), name)
    if dtype.kind == "b":
        return np.array([False, True])
    limits = np.iinfo(dtype.numpy)
    small = [0, 1, 2, 3, 5, 7, 31, 63, 100] + ([-1, -2, -3, -7] if dtype.kind == "i" else [])
    return np.array([*small, limits.max, limits.max - 1, limits.min], dtype.numpy)


def values(name, count, seed=0):
    """Specials first, then random values of moderate size."""
    rng = np.random.default_rng(seed)
    dtype = dtypes.of(name)
    if dtype.is_float:
        drawn = (rng.standard_normal(count) * 3).astype(dtype.numpy)
    elif dtype.is_complex:
        drawn = joined(rng.standard_normal(count) * 3, rng.standard_normal(count) * 3, name)
    elif dtype.kind == "b":
        drawn = rng.random(count) < 0.5
    else:
        low = -50 if dtype.kind == "i" else 0
        drawn = rng.integers(low, 200 if dtype.itemsize > 1 else 256, count).astype(dtype.numpy)
    found = specials(name)[:count]
    drawn[: len(found)] = found
    return drawn


def pairs(name):
    """All pairs of specials."""
    found = specials(name)
    a, b = np.meshgrid(found, found)
    return a.reshape(-1).copy(), b.reshape(-1).copy()


def maps(arity, *dtype_names):
    """Elementwise operators of an arity that have a meaning for the dtypes."""
    out = []
    for row in OPERATORS.values():
        # what mixes channels takes pictures: opcodes/test_pixels.py; places: kernels/test_gathers.py
        apart = row.name == "cast" or row.mixes or row.tables or row.notes_faults
        if row.kind is not Kind.MAP or row.arity != arity or apart:
            continue
        types = tuple(dtypes.of(n) for n in dtype_names)
        try:
            row.type_rule(types, ())
        except DTypeError:
            continue
        out.append(row)
    return out


def reductions(name):
    """Reductions that have a meaning for a dtype."""
    kind = dtypes.of(name).kind
    rows = (row for row in OPERATORS.values() if row.kind is Kind.REDUCE)
    return [row for row in rows if any(kind in each.kinds for each in row.opcodes[0].rows)]


def extremes(name):
    """Signed zeros, subnormals, ends of the range, infinities, NaN and some plain numbers."""
    dtype = dtypes.of(name)
    tiny = 2.0**dtype.tiny_exponent
    normal = tiny * 2.0 ** (dtype.digits - 1)
    top = float(largest(dtype))
    sizes = [0.0, tiny, normal - tiny, normal, 0.5, 1.0, 2.0, 2.5, 3.0, top, np.inf]
    return np.array([s * v for v in sizes for s in (1, -1)] + [np.nan]).astype(dtype.numpy)


def results_of(row):
    """How many results an elementwise operator has; a composite has one."""
    return row.opcodes[0].results if row.opcodes else 1


def chunks(rows, size=8):
    """Operators in kernels of a few each: a compiler takes twice as long for all of them in one."""
    return [rows[i : i + size] for i in range(0, len(rows), size)]


def applied(rows):
    """One function that applies operators of one arity to the same operands; results flat."""

    def everything(*operands):
        out = []
        for row in rows:
            made = row(*operands)
            out += made if isinstance(made, tuple) else (made,)
        return tuple(out)

    by_arity = {
        1: lambda x: everything(x),
        2: lambda x, y: everything(x, y),
        3: lambda x, y, z: everything(x, y, z),
    }
    return by_arity[rows[0].arity]


def hold(fused, args, *results):
    """Hold results, ours or NumPy's in float64, to the bound that is derived for the arguments."""
    bounds = ow.bounds.derive(fused, *args)
    for result in results:
        found = list(result.values()) if isinstance(result, dict) else result
        found = found if isinstance(found, tuple | list) else [found]
        for bound, array in zip(bounds, found, strict=True):
            judged = ow.bounds.judge(bound, array)
            assert judged.ok, str(judged)


def wide(*args):
    """Arguments with every float array in float64, or clongdouble, for NumPy to compute with.

    Python's numbers stay as they are: one that the arrays' type rounds has an error of its own.
    """
    widest = {"f": np.float64, "c": np.clongdouble}
    made = [
        a.astype(widest[dtypes.of(a.dtype).kind])
        if isinstance(a, np.ndarray) and dtypes.of(a.dtype).kind in widest
        else a
        for a in args
    ]
    return made if len(made) > 1 else made[0]


def like_numpy(function, *args, target):
    """Fuse and run a function: class, dtype, shape and value as NumPy's, fused and unfused alike.

    Returns the program, for what else a test asks of it.
    """
    fused = ow.fuse(function)
    program = fused.lower(*args, target=target)
    made, expected = program(*args), function(*args)

    assert (type(made), made.dtype, np.shape(made)) == (
        type(expected), expected.dtype, np.shape(expected),
    )  # fmt: skip
    assert program.check(*args).ok
    wider = wide(*args)
    hold(program, args, function(*wider) if isinstance(wider, list) else function(wider), made)
    alone = fused.unfused().lower(*args, target=target)(*args)
    assert np.asarray(alone).tobytes() == np.asarray(made).tobytes()
    return program
