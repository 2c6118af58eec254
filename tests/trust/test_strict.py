"""Strictness: fused is bit for bit what unfused gives, on every executor and schedule."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import dtypes
from tests.support.data import DTYPES, FLOATS, applied, chunks, dtype_of, maps, results_of, values

pytestmark = pytest.mark.host


def bits(array):
    return np.asarray(array).tobytes()


def bits_of_parts(array):
    """The sign and payload of a NaN are left open (docs/trust.md, row 3): all NaN are one."""
    array = np.ascontiguousarray(array)
    parts = array.view(array.real.dtype)
    is_float = parts.dtype.kind == "f"
    return bits(np.where(np.isnan(parts), parts.dtype.type(np.nan), parts) if is_float else parts)


def layer_norm(x, w):
    m = x.mean(-1, keepdims=True)
    v = x.var(-1, keepdims=True)
    return (x - m) / np.sqrt(v + 1e-5) * w


def rms_norm(x, w):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w


def softmax(x, w):
    e = np.exp(x * w - np.max(x * w, axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def scaled_norm(x, w):
    return np.sqrt((x * w * x).sum()) * 2


def columns(x, w):
    return ((x - 1) * w).sum(axis=0) / 3, (x * w).max(axis=0)


ROWS = [layer_norm, rms_norm, softmax, scaled_norm, columns]


@pytest.mark.parametrize("name", [n for n in DTYPES if n not in ("int16", "uint8", "uint32")])
@pytest.mark.parametrize("part", range(6))
def test_every_operator_keeps_its_bits_behind_another(name, part):
    """``part`` of the operators: each sixth."""
    one, two = maps(1, name)[part::6], maps(2, name, name)[part::6]
    one = [r for r in one if r.name != "reciprocal" or dtypes.of(name).kind in "fc"]
    two = [r for r in two if r.name != "power" or dtypes.of(name).kind in "fc"]
    scale = np.logical_not if name == "bool" else (lambda v: v * 3 + 1)
    x, y = values(name, 150), values(name, 150, seed=1)[::-1].copy()
    for rows in chunks(one) + chunks(two):
        apply, pair = applied(rows), rows[0].arity == 2
        fused = ow.fuse(lambda x, y: apply(*([scale(x), y] if pair else [scale(x)])))  # noqa: B023
        labels = [r.name for r in rows for _ in range(results_of(r))]
        for label, a, b in zip(labels, fused(x, y), fused.unfused()(x, y), strict=True):
            assert bits_of_parts(a) == bits_of_parts(b), label


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("function", ROWS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_rows_keep_their_bits(name, function, target):
    fused = ow.fuse(function)
    rng = np.random.default_rng(5)
    x = rng.standard_normal((9, 83)).astype(dtype_of(name))
    w = (rng.random(83) + 0.5).astype(dtype_of(name))
    a = fused.lower(x, w, target=target)(x, w)
    b = fused.unfused().lower(x, w, target=target)(x, w)
    a, b = (r if isinstance(r, tuple) else (r,) for r in (a, b))

    for one, other in zip(a, b, strict=True):
        assert bits(one) == bits(other)


@pytest.mark.parametrize("function", ROWS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", [(3, 40), (5, 100), (2, 700), (2, 3000), (1, 40000)])
def test_no_schedule_changes_a_bit(function, shape):
    rng = np.random.default_rng(5)
    x = rng.standard_normal(shape).astype(np.float32)
    w = (rng.random(shape[-1]) + 0.5).astype(np.float32)
    program = ow.fuse(function).lower(x, w, target="sm_90a")
    runs = [program.verify(x, w, schedule=s) for s in (0, 1, 2, 12345)]
    first = runs[0] if isinstance(runs[0], tuple) else (runs[0],)
    assert program.check(x, w).ok

    for run in runs[1:]:
        for a, b in zip(first, run if isinstance(run, tuple) else (run,), strict=True):
            assert bits(a) == bits(b)


@pytest.mark.parametrize("toggles", [
    {"USE_WARP_SHUFFLE": 0}, {"USE_REGISTER_ROW": 0}, {"USE_VECTOR_IO": 0}, {"ROWS_PER_BLOCK": 8},
    {"USE_64BIT_INDEX": 1}, {"USE_WARP_SHUFFLE": 0, "USE_REGISTER_ROW": 0, "USE_VECTOR_IO": 0},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("cols", [60, 512, 3001])
def test_toggles_that_are_no_plan_change_no_bit(toggles, cols):
    rng = np.random.default_rng(5)
    x = rng.standard_normal((6, cols)).astype(np.float32)
    w = (rng.random(cols) + 0.5).astype(np.float32)
    fused = ow.fuse(softmax)
    expected = fused.lower(x, w, target="sm_80")(x, w)
    flipped = fused.with_toggles(**toggles).lower(x, w, target="sm_80")

    assert bits(expected) == bits(flipped(x, w))
    assert all(flipped.kernels[0].toggles[n] == v for n, v in toggles.items())


def test_overriding_the_plan_changes_fused_and_unfused_alike():
    x = np.random.default_rng(5).standard_normal((6, 512)).astype(np.float32)
    w = np.ones(512, np.float32)
    fused = ow.fuse(softmax).with_toggles(THREADS_PER_ROW=64, LANES=2)
    a = fused.lower(x, w, target="sm_80")
    b = fused.unfused().lower(x, w, target="sm_80")

    assert "64 threads x 2 lanes" in a.source
    assert bits(a(x, w)) == bits(b(x, w))
    assert a.check(x, w).ok
