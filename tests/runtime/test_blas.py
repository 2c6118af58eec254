"""Products by the BLAS of NumPy, called by C: the results of ``np.matmul``, however factors lie."""

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.host import blas

pytestmark = pytest.mark.host

N = 48
LARGE = 400  # with a vector a library pays from some size on


def factor(dtype, seed, *shape):
    rng = np.random.default_rng(seed)
    made = rng.standard_normal(shape)
    return (made + 1j * rng.standard_normal(shape) if dtype.startswith("c") else made).astype(
        dtype
    )


LAYOUTS = {
    "rows": lambda x: x,
    "columns": np.asfortranarray,
    "part of rows": lambda x: np.pad(x, ((1, 0), (0, 3)))[1:, : x.shape[1]],
    "each second row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "each second column": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
}
FORMS = {
    "plain": lambda x, y: x @ y,
    "epilogue": lambda x, y: np.maximum(x @ y + 1, 0) if x.dtype.kind == "f" else x @ y + 1,
    "transposed": lambda x, y: y.T @ x.T,
    "computed": lambda x, y: (x * 2) @ (y + 1),
    "twice": lambda x, y: (x @ y) @ (y.T @ x.T),
    "with itself": lambda x, y: x @ x.T,
    "a part with itself": lambda x, y: x[2:] @ x[2:].T,
    "part": lambda x, y: x[1:, :] @ y[:, 2:],
    "two parts of one": lambda x, y: x[2:] @ x[:-2].T,
}


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("form", FORMS)
def test_results_are_numpys_bits(form, dtype):
    function, x, y = FORMS[form], factor(dtype, 1, N, N + 3), factor(dtype, 2, N + 3, N - 5)

    found = ow.fuse(function)(x, y)

    np.testing.assert_array_equal(found, function(x, y))


@pytest.mark.parametrize("second", LAYOUTS)
@pytest.mark.parametrize("first", LAYOUTS)
def test_factors_may_lie_as_they_like(first, second):
    x, y = LAYOUTS[first](factor("f4", 1, N, N)), LAYOUTS[second](factor("f4", 2, N, N))
    fused = ow.fuse(lambda x, y: np.tanh(x @ y))

    np.testing.assert_allclose(fused(x, y), np.tanh(x @ y), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(fused(x, y), fused.unfused()(x, y))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("form", [
    lambda a, x: a @ x, lambda a, x: x @ a, lambda a, x: a.T @ (a @ x), lambda a, x: (a @ x) @ a,
    lambda a, x: a @ x[:, None], lambda a, x: x[None] @ a, lambda a, x: a @ x[::-1],
    lambda a, x: a[:, ::2] @ x[::2], lambda a, x: (x * 2) @ a,
])  # fmt: skip
def test_a_matrix_with_a_vector_has_numpys_bits(form, layout, dtype):
    a, x = LAYOUTS[layout](factor(dtype, 1, LARGE, LARGE)), factor(dtype, 2, LARGE)

    np.testing.assert_array_equal(ow.fuse(form)(a, x), form(a, x))


@pytest.mark.parametrize("form", [lambda a, x: a @ x, lambda a, x: x @ a])
def test_a_product_with_a_vector_is_called_by_c(form):
    a, x = factor("f8", 1, LARGE, LARGE), factor("f8", 2, LARGE)

    assert ow.fuse(form).bound((a, x))[0].prepared.start.whole is not None
    np.testing.assert_array_equal(ow.fuse(form)(a, x), form(a, x))


@pytest.mark.parametrize("shapes", [((999, N), (N, 1)), ((1, N), (N, 999)), ((3, N, N), (N, N))])
def test_what_numpy_does_by_other_routines_is_left_to_it(shapes):
    x, y = (factor("f8", n, *shape) for n, shape in enumerate(shapes))

    np.testing.assert_array_equal(ow.fuse(lambda x, y: (x @ y) * 2)(x, y), (x @ y) * 2)


def by_its_transpose(x):
    t = x * 2
    return t @ t.T


@pytest.mark.parametrize(("function", "is_native"), [
    (lambda x: (x * 2) @ (x + 1), True), (lambda x: (x * 2)[2:] @ (x * 2)[:-2].T, True),
    (by_its_transpose, False), (lambda x: x @ x * 2, False),
])  # fmt: skip
def test_a_matrix_by_itself_is_left_to_numpy_which_does_half_of_the_work(function, is_native):
    x = factor("f4", 1, N, N)
    start = ow.fuse(function).bound((x,))[0].prepared.start

    assert (start.whole is not None) == is_native


def test_without_numpys_own_library_its_function_is_asked(monkeypatch):
    x, y = factor("f4", 1, N, N), factor("f4", 2, N, N)
    monkeypatch.setattr(blas, "routine", lambda letter, name: None)

    np.testing.assert_array_equal(ow.fuse(lambda x, y: x @ y + 1)(x, y), x @ y + 1)


def test_a_routine_that_is_not_there_is_none(monkeypatch):
    monkeypatch.setattr(blas, "NAME", "no_such_{}gemm")

    assert blas.routine.__wrapped__("s") is None


def test_products_warn_of_nothing(recwarn):
    x = np.full((N, N), 3e38, np.float32)

    assert np.isinf(ow.fuse(lambda x, y: x @ y)(x, x.copy())).all()
    assert not recwarn.list


def test_a_loop_with_products_is_cs(monkeypatch):
    x, w = factor("f4", 1, N, N), factor("f4", 2, N, N) / np.float32(N)
    expected = x
    for _ in range(9):
        expected = np.tanh(expected @ w)

    np.testing.assert_allclose(
        ow.repeat(lambda x, w: np.tanh(x @ w), 9)(x, w), expected, rtol=1e-4, atol=1e-6
    )
