"""Slices and gathers of what was computed: moved to its operands where that is cheap."""

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.passes.reads import MOST_AGAIN

pytestmark = pytest.mark.host
RNG = np.random.default_rng(0)
V, W = RNG.standard_normal(400), RNG.standard_normal(5)
A = RNG.standard_normal((50, 60))
P, Q = RNG.standard_normal((90, 3)), RNG.standard_normal((90, 3))


def laplacian(u):
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u


def gray_scott(u, v):
    r = u * v * v
    return u + 0.16 * laplacian(u) - r + 0.06 * (1 - u), v + 0.08 * laplacian(v) + r - 0.122 * v


def life(x):
    shifts = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
    n = sum(np.roll(np.roll(x, i, 0), j, 1) for i, j in shifts)
    return ((n == 3) | ((x == 1) & (n == 2))).astype(x.dtype)


def heated(u):
    n = u * 1
    n[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
                            - 4 * u[1:-1, 1:-1])  # fmt: skip
    return n


def steep(x):
    return np.sqrt(np.gradient(x, axis=0) ** 2 + np.gradient(x, axis=1) ** 2)


def counted_within(x):
    y = (x + np.arange(x.shape[0]) * 0.5)[2:-1]
    w = y.copy()
    w[2:-1] = y[2:-1] * 2
    return w


# function, arguments, kernels
CASES = {
    "difference": (lambda x: np.diff(x * 2 + 1), (V,), 1),
    "difference of exp": (lambda x: np.diff(np.exp(x)), (V,), 1),
    "third difference": (lambda x: np.diff(x, 3), (V,), 1),
    "backwards in steps": (lambda x: (x * x)[::-1][::2] + 1, (V,), 1),
    "neighbours": (lambda x, y: (x / (1 + y * y))[1:] * (x + y)[:-1], (V, V[::-1]), 1),
    "operands of extent 1": (lambda x, y: (x * y[:, :1])[1:, 1:] + (x * y[:1])[1:, 1:], (A, A), 1),
    "lower rank": (lambda x, y: (x * y[0])[1:, 1:] * 2, (A, A), 1),
    "transposed": (lambda x: (x.T * 2)[1:].T + 1, (A,), 1),
    "roll of a roll": (lambda x: np.roll(np.roll(x * 2, 3), 5), (V,), 1),
    "joined": (lambda x: np.concatenate([x * 2, x + 1]).sum(), (V,), 1),
    "tiled": (lambda x: np.tile(x + 1, (2, 2)) * 2, (A,), 1),
    "repeated": (lambda x: np.repeat(x + 1, 3) * 2, (V,), 1),
    "picked": (lambda x: np.sin(x)[[3, 1, 2]], (A,), 1),
    "padded and cut": (lambda x: np.pad(x * 2, 1)[1:-1] + 1, (A,), 1),
    "counted": (lambda x: (x + np.arange(x.shape[0]))[5::2], (V,), 1),
    "counted, in a part of a part": (counted_within, (V,), 1),
    "numbers": (lambda x: (x[:, None] + np.ones((1, 4)))[3:, 1:], (V,), 1),
    "two results": (lambda x: divmod(x, 2)[1][1:] + np.modf(x)[0][:-1], (V,), 1),
    "convolution": (lambda a, b: np.convolve(a, b, "same") * 2, (V, W), 1),
    "cross product": (lambda a, b: np.cross(a, b) * 2, (P, Q), 1),
    "gradient": (steep, (A,), 1),
    "life": (life, ((A > 0).astype(np.uint8),), 1),
    "reaction and diffusion": (gray_scott, (A, A * 2), 1),
    "heat": (heated, (A,), 1),
    "of one extent": (lambda x: np.repeat((x[:, :1] * 2), 3, axis=1) + (x[:1] * 2)[:, [0, 0, 1]],
                      (A,), 1),
    # stored, since too much would be computed again
    "expensive": (lambda x: np.diff(np.arctanh(np.tanh(x)) ** 3, 2), (V,), 2),
    "convolution of exp": (lambda a, b: np.convolve(np.exp(a), b, "same") * 2, (V, W), 2),
    "laplacian of a laplacian": (lambda u: laplacian(laplacian(u)), (A,), 2),
    "a table for a picture": (lambda t, i: np.clip(np.round(t / 3 * 7), 0, 9)[i],
                              (V, np.arange(600).reshape(20, 30) % 90), 2),
    "a cast table for a picture": (lambda t, i: (t * 2)[i],
                                   (V, np.arange(600).reshape(20, 30) % 90), 1),
    # stored, since that is where a view of it is returned from
    "a view of a result": (lambda x: ((y := np.exp(x) + 1), y[1:]), (A,), 1),
    "views of what is computed": (lambda x: ((y := np.exp(x) + 1)[1:], y[:-1]), (A,), 1),
    # reductions are stored, and read at other places
    "of a reduction": (lambda x: (x - x.mean(axis=1, keepdims=True))[1:, 1:] * 2, (A,), 2),
    "indices of their own": (lambda x, i: np.roll(x[i] * 2, 1), (V, np.arange(0, 300, 7)), 2),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy_in_as_many_kernels(name):
    function, args, kernels = CASES[name]
    fused = ow.fuse(function, fullgraph=True)
    made, expected = fused(*args), function(*args)
    alone = fused.unfused()(*args)

    tuples = [x if isinstance(x, tuple) else (x,) for x in (made, expected, alone)]
    for ours, theirs, single in zip(*tuples, strict=True):
        assert (np.shape(ours), ours.dtype) == (np.shape(theirs), theirs.dtype)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
        assert np.asarray(ours).tobytes() == np.asarray(single).tobytes()
    assert fused.check(*args).ok
    assert len(fused.lower(*args, target="host").kernels) == kernels


@pytest.mark.parametrize("name", ["neighbours", "life", "gradient", "cross product", "counted"])
def test_on_a_gpu_they_are_the_same(name):
    function, args, kernels = CASES[name]
    program = ow.fuse(function, fullgraph=True).lower(*args, target="sm_80")

    assert program.check(*args).ok
    assert len(program.kernels) == kernels


def test_empty_arrays_and_others_keep_their_compilation():
    fused = ow.fuse(lambda x: np.diff(x * x) + np.roll(x + 1, 2)[1:], fullgraph=True)
    for count in (2, 3, 40, 400):
        x = RNG.standard_normal(count)
        np.testing.assert_array_equal(fused(x), np.diff(x * x) + np.roll(x + 1, 2)[1:])
    some = ow.fuse(lambda x: np.concatenate([x[1:] * 2, x + 1]), fullgraph=True)
    for x in (V[:0], V[:1], V[:2]):
        np.testing.assert_array_equal(some(x), np.concatenate([x[1:] * 2, x + 1]))


def test_a_place_that_there_is_not_is_still_found():
    fused = ow.fuse(lambda x, i: np.roll(x[i] * 2, 1), fullgraph=True)
    with pytest.raises(ow.errors.BoundsError, match="400"):
        fused(V, np.array([1, 400]))


def test_a_long_chain_of_slices_is_cut_somewhere():
    def chain(x):
        for _ in range(120):
            x = np.sqrt(x[1:] + 1)
        return x

    x = np.abs(RNG.standard_normal(500))
    fused = ow.fuse(chain, fullgraph=True)
    np.testing.assert_allclose(fused(x), chain(x), rtol=1e-12)
    assert 2 <= len(fused.lower(x, target="host").kernels) <= 12


def test_work_that_is_done_again_is_bounded():
    """A tower of stencils is no tower of recomputations."""

    def tower(x):
        for _ in range(12):
            x = x[2:] + x[:-2]
        return x

    program = ow.fuse(tower, fullgraph=True).lower(V, target="host")
    operations = [len(k.data.opcodes) for k in program.kernels]
    assert len(program.kernels) > 1
    assert max(operations) < 4 * MOST_AGAIN
    np.testing.assert_allclose(program(V), tower(V), rtol=1e-12)


BEFORE_ITS_START = {
    "convolve": lambda u: np.convolve(u[1:-1], np.array([1.0, 2, 3])),
    "pad": lambda u: np.pad(u[1:-1] * 2, 1),
    "an index": lambda u: (u[1:] * 2)[np.arange(12) - 1],
    "prepend": lambda u: np.diff(u[1:] * 2, prepend=7, append=1),
    "joined": lambda u: np.concatenate([[0.0], u[1:] * 3]),
    "insert": lambda u: np.insert(u[1:] * 3, 0, 5.0),
}


@pytest.mark.host
@pytest.mark.parametrize("name", BEFORE_ITS_START)
def test_what_lies_before_a_slice_in_its_array_is_not_read(name):
    function, u = BEFORE_ITS_START[name], np.arange(1.0, 13)

    np.testing.assert_allclose(ow.fuse(function)(u), function(u))
