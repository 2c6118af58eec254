"""Products in loops are computed by the BLAS that NumPy has, as NumPy asks for them."""

from __future__ import annotations

import numpy as np
import pytest

import opweave as ow
from opweave._loops.rolled import Rolled
from opweave.compiler.lines.served import Sizes
from opweave.compiler.lines.values import Size
from opweave.compiler.scheduling.vendors import is_for_blas
from tests.loops.test_loops_in_c import called, is_same, run_in_c

pytestmark = pytest.mark.host

RANDOM = np.random.default_rng(5)


def reals(*shape, dtype="f8"):
    return RANDOM.standard_normal(shape).astype(dtype)


def numbers(*shape, dtype="c16"):
    return (reals(*shape) + 1j * reals(*shape)).astype(dtype)


def multiplied(x, y, out):
    for k in range(2):
        out[k] = x @ y


def computed(x, y, out):
    for k in range(2):
        out[k] = (x + k) @ (y * 2)


def dotted(x, y, out):
    for k in range(2):
        out[k] = np.dot(x, y)
        out[k] += x.dot(y)


def by_itself(x, out):
    for k in range(2):
        out[k] = x @ x.T


def itself_by_it(x, out):
    for k in range(2):
        out[k] = x.T @ x


def into_another(x, y, made, out):
    for k in range(2):
        np.matmul(x, y, out=made)
        out[k] = made


A, B = reals(40, 60), reals(60, 40)
V, W = reals(40_000), reals(40_000)
MATRICES = {
    "by_rows": (A, B),
    "by_columns": (np.asfortranarray(A), np.asfortranarray(B)),
    "both": (A, np.asfortranarray(B)),
    "turned": (B.T, A.T),
    "parts": (reals(50, 70)[3:43, 5:65], reals(70, 50)[:60, :40]),
    "every_second": (reals(80, 120)[::2, ::2], B),
    "backwards": (A[::-1], B),
    "backwards_along": (A[:, ::-1], B),
    "of_floats": (A.astype("f4"), B.astype("f4")),
    "of_two_types": (A.astype("f4"), B),
    "of_integers_too": (A, np.arange(2400).reshape(60, 40)),
    "of_complex": (numbers(40, 60), numbers(60, 40)),
    "of_small_complex": (numbers(40, 60, dtype="c8"), numbers(60, 40, dtype="c8")),
    "by_vector": (reals(300, 60), reals(60)),
    "turned_by_vector": (reals(60, 300).T, reals(60)),
    "by_every_second": (reals(300, 60), reals(120)[::2]),
    "vector_by": (reals(60), reals(60, 300)),
    "vector_by_turned": (reals(60), reals(300, 60).T),
    "complex_by_vector": (numbers(300, 60), numbers(60)),
    "one_row": (reals(1, 60), reals(60, 300)),
    "one_column": (reals(300, 60), reals(60, 1)),
    "one_step": (reals(9000, 1), reals(1, 3)),
    "row_by_column": (reals(1, 20_000), reals(20_000, 1)),
}
VECTORS = {
    "vectors": (V, W),
    "floats": (V.astype("f4"), W.astype("f4")),
    "complex": (numbers(20_000), numbers(20_000)),
    "small_complex": (numbers(20_000, dtype="c8"), numbers(20_000, dtype="c8")),
    "every_second": (V[::2], W[:20_000]),
}


def result(x, y):
    made = x @ y
    return np.zeros((2, *np.shape(made)), made.dtype)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        *((multiplied, name) for name in MATRICES),
        *((computed, name) for name in ("by_rows", "turned", "of_two_types", "vector_by")),
        *((dotted, name) for name in ("by_rows", "backwards", "by_vector")),
    ],
)
def test_a_product_of_matrices_in_a_loop_has_numpys_bits(function, name):
    x, y = MATRICES[name]
    args = (x, y, result(x, y))
    # what is computed lies row by row, which NumPy's may not
    assert is_same(called(function, args), run_in_c(function, args), function is not computed)


@pytest.mark.parametrize("name", VECTORS)
def test_a_product_of_long_vectors_in_a_loop_has_numpys_bits(name):
    args = (*VECTORS[name], result(*VECTORS[name]))
    assert is_same(called(multiplied, args), run_in_c(multiplied, args), exactly=True)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("function", [by_itself, itself_by_it])
def test_a_matrix_by_what_it_is_turned_has_numpys_bits(function, dtype):
    x = numbers(40, 50, dtype=dtype) if dtype[0] == "c" else reals(40, 50, dtype=dtype)
    made = x @ x.T if function is by_itself else x.T @ x
    args = (x, np.zeros((2, *made.shape), dtype))
    assert is_same(called(function, args), run_in_c(function, args), exactly=True)


def test_one_array_under_two_names_is_multiplied_by_itself():
    x = reals(40, 50)
    args = (x, x.T, np.zeros((2, 40, 40)))
    assert is_same(called(multiplied, args), run_in_c(multiplied, args), exactly=True)


def test_a_product_into_another_array():
    args = (A, B, np.zeros((40, 40)), np.zeros((2, 40, 40)))
    assert is_same(called(into_another, args), run_in_c(into_another, args), exactly=True)


def growing(x, y, out):
    for i in range(1, len(y)):
        out[:i] = x[:i, :i] @ y[:i]
        out[i] = y[: i * i] @ y[: i * i]


def test_where_sizes_change_c_decides_who_computes_a_product():
    args = (reals(200, 200), reals(200), np.zeros(200))
    _, made = called(growing, args)
    _, found = run_in_c(growing, args)
    for expected, array in zip(made, found, strict=True):
        np.testing.assert_allclose(array, expected, rtol=1e-12)


def training(x, y, w):
    for _ in range(3):
        p = 1 / (1 + np.exp(-(x @ w)))
        w = w - 0.1 * (x.T @ (p - y)) / len(y)
    return w


def solving(a, b, x):
    r, p = b, b
    for _ in range(4):
        ap = a @ p
        rs = r @ r
        step = rs / (p @ ap)
        x = x + step * p
        r = r - step * ap
        p = r + ((r @ r) / rs) * p
    return x


ROLLED = {
    "training": (training, (reals(300, 60), reals(300), reals(60))),
    "solving": (solving, (reals(150, 150), reals(150), reals(150))),
    "long_vectors": (multiplied, (V, W, np.zeros(2))),
}


@pytest.mark.parametrize("name", ROLLED)
def test_rolled_products_equal_unrolled_ones_in_every_bit(name):
    function, args = ROLLED[name]
    copies = [tuple(a.copy() for a in args) for _ in range(2)]
    rolled = Rolled(function)
    found = rolled(*copies[0])
    assert rolled.in_c
    expected = ow.fuse(function, fullgraph=True)(*copies[1])
    for one, other in zip((found, *copies[0]), (expected, *copies[1]), strict=True):
        assert np.array_equal(one, other) if one is not None else other is None


# (rows, steps, columns) that kernels and loops multiply by themselves: columns that are few, more than
# lie side by side, and steps that are more than a panel holds.
OURS = [
    (3, 3, 3),
    (100, 7, 3),
    (100, 50, 3),
    (500, 2, 32),
    (3, 5, 130),
    (5, 150, 20),
    (2, 900, 1),
    (1, 40, 70),
]


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i8"])
@pytest.mark.parametrize("sizes", OURS, ids=str)
@pytest.mark.parametrize("lie", ["by_rows", "turned", "every_second"])
def test_products_by_ours_are_the_same_in_every_bit(sizes, dtype, lie):
    rows, steps, columns = sizes
    assert not is_for_blas(*sizes)
    x = (
        (8 * numbers(rows, 2 * steps)).astype(dtype)[:, ::2]
        if dtype == "c16"
        else (8 * reals(rows, 2 * steps)).astype(dtype)[:, ::2]
    )
    y = (8 * reals(steps, columns)).astype(dtype)
    if lie != "every_second":
        x = x.copy()
    if lie == "turned":
        y = np.asfortranarray(y)
    args = (x, y, result(x, y))
    _, found = run_in_c(multiplied, args)
    kernels = [a.copy() for a in args]
    ow.fuse(multiplied, fullgraph=True)(*kernels)
    assert np.array_equal(found[2], kernels[2])
    near = 1e-6 * (abs(x) @ abs(y)).max()
    np.testing.assert_allclose(found[2][0], x @ y, rtol=1e-6, atol=near)


@pytest.mark.parametrize(
    "sizes",
    [
        (1, 16, 1024),
        (1, 16, 1023),
        (8, 15, 300),
        (8, 15, 7),
        (400, 6, 7),
        (0, 16, 9),
        (512, 2, 2),
        (511, 2, 8),
        (900, 3, 1),
        (128, 3, 128),
        (128, 3, 127),
    ],
)
def test_c_asks_as_python_does_who_computes_a_product(sizes):
    text = Sizes(*map(Size.of, sizes)).by_library.replace("||", "or").replace("&&", "and")
    assert eval(text, {}) is is_for_blas(*sizes)


def test_with_another_blas_numpy_multiplies(monkeypatch):
    monkeypatch.setattr("opweave.runtime.host.loops.product_library", lambda: 0)
    args = (A, B, np.zeros((2, 40, 40)))
    rolled = Rolled(multiplied)
    rolled(*args)
    assert not rolled.ran
    assert np.array_equal(args[2][1], A @ B)
