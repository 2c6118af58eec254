"""What hurts users of fusing array libraries today, by the thread that tells of it: right here.

``cupy`` and ``pytorch`` name the projects whose issue trackers the numbers belong to.
"""

import ml_dtypes
import numpy as np
import pytest

import opweave as ow

X = np.random.default_rng(0).standard_normal((64, 96)).astype(np.float32)
ROW = np.arange(96, dtype=np.float32)
pytestmark = pytest.mark.host


def branch(x):
    return -x if (x > 0).all() else x


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def normalised(x, *, eps=1e-5, axis=-1):
    mean, var = x.mean(axis=axis, keepdims=True), x.var(axis=axis, keepdims=True)
    return (x - mean) / np.sqrt(var + eps)


def masked(x):
    return x * np.ones_like(x) + np.zeros(x.shape, np.float32)


def masked_in_place(x):
    y = x * 2
    y[x > 0] += 1
    return y * np.clip(x, 0, 1)


def same(fused, plain):
    """The type, dtype and shape that NumPy gives, and its values but for rounding."""
    assert (type(fused), np.shape(fused)) == (type(plain), np.shape(plain))
    assert np.asarray(fused).dtype == np.asarray(plain).dtype
    np.testing.assert_allclose(fused, plain, rtol=1e-5, atol=1e-6)


# thread, function, arguments, kernels on a GPU
RIGHT = [
    ("cupy.fuse refuses keepdims", softmax, (X,), 1),
    ("cupy.fuse refuses mean, var and keyword arguments", normalised, (X,), 1),
    ("cupy.fuse refuses .shape", lambda x: x * x.shape[0] / x.size, (X,), 1),
    ("cupy.fuse refuses slicing", lambda x: x[1:, ::2] - x[:-1, ::2], (X,), 1),
    ("cupy#1096: matmul inside a fused function", lambda x: np.maximum(x @ x.T, 0), (X,), 1),
    ("cupy#8689: creation inside is launches of its own", masked, (X,), 1),
    ("cupy#9002: concrete ndarray is not supported", lambda x: x * ROW + ROW[::-1], (X,), 1),
    ("cupy#9400: another dtype than unfused", lambda x: x * 2.0 + np.float64(1) * x, (X,), 1),
    ("cupy#9400: integers and a float", lambda x: x * 0.5, (np.arange(9, dtype=np.uint8),), 1),
    ("cupy#10014: xp as an argument", lambda xp, x: xp.exp(-x) * xp.pi, (np, X), 1),
    ("cupy#5194: a long sum after a map", lambda x: np.sqrt(np.sum(x * x)), (X,), 1),
    ("cupy#6890: softmax of a thousand", softmax, (X.reshape(-1)[:1000],), 1),
    ("llm.c#338, pytorch#143130: an epilogue of a product", lambda x, b: np.tanh(x @ x.T + b),
     (X, ROW[:64]), 1),
    ("cupy#10016: linalg.norm inside", lambda x: x / np.linalg.norm(x, axis=1, keepdims=True), (X,), 1),
    ("cupy.fuse hooks nansum and nanprod alone", lambda x: x - np.nanmean(x, axis=1)[:, None], (X,), 1),
    ("cupy.fuse hooks no argmax, count or ptp",
     lambda x: x.argmax(axis=1) + np.count_nonzero(x, axis=1) * np.ptp(x, axis=1), (X,), 1),
    ("cupy.fuse refuses keywords of ufuncs", lambda x: np.add(x, 1, dtype=np.float64), (X,), 1),
    ("cupy.fuse refuses assignment by a mask", masked_in_place, (X,), 1),
    ("cupy.fuse hooks no nested helper", lambda x: normalised(softmax(x), axis=0), (X,), 3),
]  # fmt: skip


@pytest.mark.parametrize("case", RIGHT, ids=lambda c: c[0])
def test_it_is_right_and_fused(case):
    _, function, arguments, kernels = case
    fused = ow.fuse(function)

    same(fused(*arguments), function(*arguments))
    assert len(fused.lower(*arguments, target="sm_90a").kernels) <= kernels


def test_cupy_7878_a_branch_on_a_value_never_takes_the_wrong_side():
    with pytest.raises(ow.errors.TraceError, match=r"truth value.*np\.where"):
        ow.fuse(branch, fullgraph=True)(X)
    fused = ow.fuse(branch)
    for x in (X, -X, X):
        same(fused(x), branch(x))


def test_cupy_7549_the_size_of_complex_numbers_is_reduced():
    z = (X[:, :48] + 1j * X[:, 48:]).astype(np.complex64)
    function = lambda z: np.max(np.abs(z))  # noqa: E731

    same(ow.fuse(function)(z), function(z))


def test_cupy_8198_and_8381_outputs_keep_their_own_shapes():
    function = lambda x: (x * 2, x.sum(axis=0), x.max())  # noqa: E731
    for made, expected in zip(ow.fuse(function)(X), function(X), strict=True):
        same(made, expected)


@pytest.mark.parametrize("into", [lambda y: y[1:], lambda y: y[:-1], lambda y: y[1:][::-1]])
def test_cupy_1248_an_output_may_overlap_what_is_read(into):
    memory = np.arange(1001.0)
    expected = into(memory.copy())[:] * 0 + memory[:1000] * 3
    made = ow.fuse(lambda x: x * 3)(memory[:1000], out=into(memory))

    np.testing.assert_array_equal(made, expected)


def test_cupy_8485_a_python_float_is_the_number_in_the_kernel():
    fused = ow.fuse(lambda x, s: x * s)
    for s in (0.1, 1 / 3, 1e-40, 3):
        same(fused(X, s), X * s)
        same(fused(X.astype(np.float64), s), X.astype(np.float64) * s)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
def test_pytorch_168126_and_183761_fused_sixteen_bits_are_unfused_ones(dtype):
    x = X.astype(dtype)
    fused = ow.fuse(lambda x: np.tanh(x * x + x) * x - softmax(x))

    assert fused(x).tobytes() == fused.unfused()(x).tobytes()
    assert fused(x).dtype == x.dtype


def test_cupy_9008_a_sum_with_a_map_fills_the_device():
    x = np.empty((357_899, 16), np.float32)
    kernel = ow.fuse(lambda x: (x * 2).sum(axis=1)).lower(x, target="sm_90a").kernels[0]

    assert np.prod(kernel.data.grid({"n0": 357_899, "n1": 16})) > 1000


def test_cupy_1243_and_2575_the_source_is_there_to_read():
    source = ow.fuse(normalised).lower(X, target="sm_80").source

    assert 'extern "C" __global__' in source
    assert "// divide: f32[n0, n1]" in source
