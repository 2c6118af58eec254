"""Contractions, stencils, grids and the functions of scipy.special: NumPy's results, fused."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e

RNG = np.random.default_rng(0)
A, B = RNG.standard_normal((5, 6)), RNG.standard_normal((6, 7))
T, U = RNG.standard_normal((3, 5, 6)), RNG.standard_normal((3, 6, 4))
V, W = RNG.standard_normal(40), RNG.standard_normal(5)
P, Q = RNG.standard_normal((9, 3)), RNG.standard_normal((9, 3))

CASES = {
    "einsum product": (lambda a, b: np.einsum("ij,jk->ik", a, b), A, B),
    "einsum without an arrow": (lambda a, b: np.einsum("ij,jk", a, b), A, B),
    "einsum transposed": (lambda a, b: np.einsum("ij , jk -> ki", a, b), A, B),
    "einsum of batches": (lambda a, b: np.einsum("bij,bjk->bik", a, b), T, U),
    "einsum over batches": (lambda a, b: np.einsum("bij,bjk->ik", a, b), T, U),
    "einsum to a number": (lambda a, b: np.einsum("bij,bjk->", a, b), T, U),
    "einsum of rows": (lambda a, b: np.einsum("ij,ij->i", a, b), A, A),
    "einsum with a vector": (lambda a, b: np.einsum("ij,j->i", a, b), A, B[:, 0]),
    "einsum outer": (lambda a, b: np.einsum("i,j->ij", a, b), W, V),
    "einsum with a matrix for all": (lambda a, b: np.einsum("bij,jk->bik", a, b), T, B),
    "einsum of several rows": (lambda a, b: np.einsum("bij,cj->bic", a, b), T, A),
    "einsum of one": (
        lambda a: (np.einsum("ij->ji", a), np.einsum("ij->j", a), np.einsum("ij", a)), A,
    ),
    "einsum of three": (
        lambda a, b: (np.einsum("ij,jk,kl->il", a, b, b.T), np.einsum("ij,j,i", a, a[0], a[:, 0])),
        A, B,
    ),
    "einsum of diagonals": (
        lambda t: (np.einsum("iji->j", t[:, :, :3]), np.einsum("iij->ij", t[:, :3]), np.einsum("ii", t[0, :, :5])), T,
    ),
    "tensordot": (lambda a, b: np.tensordot(a, b, 1), A, B),
    "tensordot over pairs": (lambda a, b: np.tensordot(a, b, axes=([0, 2], [0, 1])), T, U),
    "vecdot": (lambda a, b: (np.vecdot(a, b), np.matvec(a, b[0]), np.vecmat(a[:, 0], b)), A, A),
    "kron": (np.kron, A, B),
    "cross": (np.cross, P, Q),
    "diagonals": (
        lambda a: (*(np.diagonal(a, k) for k in (0, 1, -2, 9)), np.trace(a), a.trace(1)), A,
    ),
    "diagonals of stacks": (lambda a: (a.diagonal(0, 1, 2), np.diagonal(a), np.trace(a)), T),
    "sinc": (lambda x: (np.sinc(x), np.fix(x)), V),
    "polyval": (lambda x, p: (np.polyval([1.0, 2.0, 3.0], x), np.polyval(p, x)), V, W),
    "polyval of float32": (lambda x: np.polyval([1.0, 2.0, 3.0], x), V.astype(np.float32)),
    "convolve": (lambda a, b: tuple(np.convolve(a, b, m) for m in ("full", "same", "valid")), V, W),
    "convolve by the longer": (
        lambda a, b: tuple(np.convolve(b, a, m) for m in ("full", "same", "valid")), V, W[:4],
    ),
    "correlate": (lambda a, b: (np.correlate(a, b), np.correlate(a, b, "full")), V, W),
    "gradient": (lambda a: (*np.gradient(a), np.gradient(a, 0.5, axis=1)), A),
    "gradient of a vector": (lambda x, h: (np.gradient(x), np.gradient(x, h)), V, 2.0),
    "meshgrid": (lambda a, b: tuple(np.meshgrid(a, b)), V, W),
    "meshgrid sparse": (lambda a, b: tuple(np.meshgrid(a, b, indexing="ij", sparse=True)), V, W),
    "rot90": (lambda a: tuple(np.rot90(a, k) for k in range(-1, 5)), A),
    "rot90 of stacks": (lambda a: np.rot90(a, 1, (1, 2)), T),
    "linspace": (lambda a: np.linspace(0, 1, a.shape[0]) * a, V),
    "linspace without its end": (
        lambda a: np.linspace(0.0, a.shape[0], a.shape[0], endpoint=False) * a, V,
    ),
    "linspace of numbers": (lambda a, s: np.linspace(s, s + 3, 40) * a, V, 1.5),
    "small methods": (lambda x: (x.conj(), x.real * 2, np.broadcast_to(x, (2, 40)) + 1), V),
}  # fmt: skip


M = A > 0.2
I = (A * 10).astype(np.int32)
CHOSEN = {
    "sums": lambda x, m, i: (
        x.sum(where=m), x.sum(axis=1, initial=3.0), i.sum(axis=0, where=m),
        i.prod(where=m, axis=1), x.prod(axis=0, initial=2),
    ),
    "ends": lambda x, m, i: (
        x.max(axis=1, initial=0.5), i.min(axis=0, where=m, initial=7),
        np.max(x, where=m, initial=-9, axis=1),
    ),
    "truth": lambda x, m, i: (
        m.any(axis=1, where=x > 0), m.all(where=x > 1, axis=0), np.all(i, where=m),
    ),
    "means": lambda x, m, i: (
        x.mean(where=m), x.mean(axis=0, where=x < 9), i.mean(where=m, axis=1, keepdims=True),
        x.astype(np.float16).mean(where=m),
    ),
    "pieces": lambda x, m, i: (
        np.piecewise(x, [x < 0, x > 1], [lambda x: -x, lambda x: x * x]),
        np.piecewise(x, [x < 0, x > 1], [lambda x: -x, 5, lambda x, y=2: x + y]),
        np.piecewise(i, [m], [1, 3]),
    ),
    "signs": lambda x, m, i: (np.isposinf(x / 0 * m), np.isneginf(x / 0 * m)),
    "into": lambda x, m, i: (
        np.add(y := x * 1, 5, out=y, where=m), np.multiply(z := i * 1, z, out=z, where=x > 0),
    ),
}  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("name", CHOSEN)
def test_elements_are_chosen_as_by_numpy(name):
    function = CHOSEN[name]
    with np.errstate(all="ignore"):
        made, expected = ow.fuse(function, fullgraph=True)(A, M, I), function(A, M, I)

    for ours, theirs in zip(made, expected, strict=True):
        assert (np.shape(ours), ours.dtype) == (np.shape(theirs), theirs.dtype)
        np.testing.assert_allclose(ours, theirs, rtol=1e-3)


@pytest.mark.host
def test_pieces_that_look_at_others_are_left_to_numpy():
    def function(x):
        return np.piecewise(x, [x > 0], [lambda x: x / x.sum()])

    np.testing.assert_allclose(ow.fuse(function)(A), function(A))


def filled(x):
    y = x * 1
    y.fill(2.5)
    return y + x


@pytest.mark.host
@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy(name):
    function, *args = CASES[name]
    fused = ow.fuse(function, fullgraph=True)
    made, expected = fused(*args), function(*args)

    tupled = [x if isinstance(x, tuple) else (x,) for x in (made, expected)]
    for ours, theirs in zip(*tupled, strict=True):
        assert (np.shape(ours), np.asarray(ours).dtype) == (np.shape(theirs), theirs.dtype)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    assert fused.check(*args).ok


@pytest.mark.host
def test_fill_writes_all_of_it():
    np.testing.assert_array_equal(ow.fuse(filled, fullgraph=True)(V), filled(V))


@pytest.mark.host
@pytest.mark.parametrize(("function", "args", "kernels"), [
    (lambda a, b: np.einsum("ij,ij->i", a, b) + 1, (A, A), 1),
    (lambda a: np.trace(a) * 2, (A,), 1),
])  # fmt: skip
def test_neighbours_share_the_kernel(function, args, kernels):
    program = ow.fuse(function, fullgraph=True).lower(*args, target="host")

    assert len(program.kernels) == kernels


@pytest.mark.host
def test_extents_share_a_compilation():
    def function(x):
        middle = np.gradient(x) + np.linspace(0, 1, x.shape[0])
        return middle, np.diagonal(middle[:, None] * x), np.convolve(x, x[:3], "same")

    fused = ow.fuse(function, fullgraph=True)
    for count in (40, 41, 77, 128):
        x = RNG.standard_normal(count)
        for ours, theirs in zip(fused(x), function(x), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    assert fused._specialised.traces == 1


@pytest.mark.parametrize(("function", "error", "piece"), [
    (lambda a: np.einsum("ii->i", a), e.ShapeError, "different extents are both 'i'"),
    (lambda a: np.einsum("...j->j", a), e.UnsupportedError, "einsum"),
    (lambda a: np.einsum("ijk->i", a), e.ShapeError, "3 letters for 2 dimensions"),
    (lambda a: np.einsum("ij->k", a), e.ShapeError, "names an axis"),
    (lambda a: np.einsum(",".join(["ij"] * 9), *[a] * 9), e.UnsupportedError, "9 operands"),
    (lambda a: np.einsum("ij,jk->ik", a, a), e.ShapeError, "matmul"),
    (lambda a: np.tensordot(a, a, 3), e.ShapeError, "3 axes"),
    (lambda a: np.tensordot(a, a, ([0], [0, 1])), e.ShapeError, "pairs of axes"),
    (lambda a: np.cross(a, a), e.UnsupportedError, "three numbers"),
    (lambda a: np.diagonal(a, 0, 1, 1), e.ShapeError, "stands twice"),
    (lambda a: np.diagonal(a[0]), e.ShapeError, "at least 2 dimensions"),
    (lambda a: np.convolve(a, a), e.ShapeError, "expected vectors"),
    (lambda a: np.convolve(a[0], a[0], "all"), e.UnsupportedError, "mode='all'"),
    (lambda a: np.gradient(a, edge_order=2), e.UnsupportedError, "edge_order"),
    (lambda a: np.gradient(a, 1.0, 2.0, 3.0), e.ShapeError, "3 distances for 2 axes"),
    (lambda a: np.gradient(a[:1], axis=0), e.ShapeError, "fewer than 2 points"),
    (lambda a: np.rot90(a, axes=(0, 2)), e.ShapeError, "axis 2"),
    (lambda a: a.max(where=a > 0), e.UnsupportedError, "give initial="),
    (lambda a: np.add(a, a, where=a > 0), e.UnsupportedError, "np.add(where=...): without out="),
    (lambda a: np.piecewise(a, [a > 0], [lambda x: x.sum()]), e.UnsupportedError, "elementwise"),
    (lambda a: np.piecewise(a, [a > 0], [1, 2, 3]), e.ShapeError, "3 functions for 1"),
    (lambda a: np.meshgrid(a, a, indexing="up"), e.UnsupportedError, "indexing='up'"),
])  # fmt: skip
def test_mistakes_are_named(function, error, piece):
    with pytest.raises(error) as caught:
        ow.fuse(function, fullgraph=True)(A)

    assert piece in str(caught.value)
    assert "test_numerics.py:" in str(caught.value)


@pytest.mark.host
def test_functions_of_scipy_are_fused_where_they_compute_in_the_type():
    special = pytest.importorskip("scipy.special")

    def function(x):
        return special.erf(x) + special.expit(x) * special.gamma(x) - special.erfc(x)

    for x in (V, V.astype(np.float32)):
        fused = ow.fuse(function, fullgraph=True)
        np.testing.assert_allclose(fused(x), function(x), rtol=1e-5)
        assert fused(x).dtype == x.dtype

    other = ow.fuse(lambda x: special.digamma(x) * 2)
    np.testing.assert_array_equal(other(np.abs(V)), special.digamma(np.abs(V)) * 2)
    with pytest.raises(e.UnsupportedError, match="erf"):
        ow.fuse(special.erf, fullgraph=True)(V.astype(np.float16))


@pytest.mark.host
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int32"])
def test_sinc_of_nothing_is_one(dtype):
    x = np.array([0.0, -0.0, 6e-8, 1e-5, 0.5, 3]).astype(dtype)
    made = ow.fuse(np.sinc)(x)

    np.testing.assert_allclose(made, np.sinc(x), rtol=4 * np.finfo(made.dtype).eps, atol=1e-3)
    assert made[0] == made[1] == 1
