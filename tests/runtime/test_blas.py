"""Products by libraries: NumPy's BLAS, called by C, and on a GPU CUDA's, called by CuPy.

They are the results of ``np.matmul``, however factors lie.
"""

import re

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.calls.prepared import Prepared
from opweave.runtime.cuda.products import WIDE_SUMS, calls_of
from opweave.runtime.cuda.replays import DeviceReplay
from opweave.runtime.host import blas
from opweave.templates import TEMPLATES
from tests.support.gpu_on_host import Executor, Stream

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


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_two_vectors_have_numpys_bits_and_are_called_by_c(dtype):
    x, y = factor(dtype, 1, 70_000), factor(dtype, 2, 70_000)
    fused = ow.fuse(lambda x, y: x @ y)
    for a, b in ((x, y), (x[::2], y[1::2]), (x[::-1], y), (x, x[::-1])):
        np.testing.assert_array_equal(fused(a, b), a @ b)
        assert type(fused(a, b)) is type(a @ b)

    assert fused.bound((x, y))[0].prepared.start.whole is not None


@pytest.mark.parametrize("shapes", [((999, N), (N, 1)), ((1, N), (N, 999)), ((3, N, N), (N, N))])
def test_what_numpy_does_by_other_routines_is_left_to_it(shapes):
    x, y = (factor("f8", n, *shape) for n, shape in enumerate(shapes))

    np.testing.assert_array_equal(ow.fuse(lambda x, y: (x @ y) * 2)(x, y), (x @ y) * 2)


# shapes of two factors, their product, whether C asks for it
BATCHES = {
    "by one matrix": ((6, 5, N), (N, 7), lambda x, y: x @ y, True),
    "rows by one matrix": ((60, 1, N), (N, N), lambda x, y: x @ y, True),
    "rows of two axes": ((5, 12, 1, N), (N, N), lambda x, y: x @ y, True),
    "few columns": ((50, 40, 3), (3, 3), lambda x, y: x @ y, True),
    "by a column": ((8, 60, N), (N, 1), lambda x, y: x @ y, True),
    "by a vector": ((8, 60, N), (N,), lambda x, y: x @ y, True),
    "by one matrix that lies turned": ((6, 5, N), (9, N), lambda x, y: x @ y.T, True),
    "computed": ((6, 5, N), (N, 17), lambda x, y: (x * 2) @ y + 1, True),
    "parts of rows": ((6, 9, N), (N, N), lambda x, y: x[:, 2:] @ y, True),
    "each second": ((6, 9, N), (N, N), lambda x, y: x[::2] @ y, True),
    "each second of rows": ((60, 2, N), (N, N), lambda x, y: x[:, :1] @ y, True),
    "backwards": ((6, 9, N), (N, N), lambda x, y: x[::-1] @ y, True),
    "one matrix by each": ((N, N), (4, N, N), lambda x, y: x @ y, True),
    "one row by each": ((N,), (40, N, N), lambda x, y: x @ y, True),
    "each by its own": ((4, N, N), (4, N, 9), lambda x, y: x @ y, True),
    "small ones": ((40, 12, 30), (40, 30, 12), lambda x, y: x @ y, True),
    "rows by their own": ((40, 1, N), (40, N, N), lambda x, y: x @ y, True),
    "columns by their own": ((40, N, N), (40, N, 1), lambda x, y: x @ y, True),
    "of two axes": ((2, 3, N, N), (2, 3, N, N), lambda x, y: x @ y, True),
    "by what is transposed": ((4, N, 9), (1,), lambda x, y: x @ x.swapaxes(1, 2), True),
    "axes that lie turned": ((3, 2, N, N), (2, 3, N, N), lambda x, y: x.swapaxes(0, 1) @ y, False),
    "each by each": ((2, 1, N, N), (3, N, N), lambda x, y: x @ y, False),
    "no batch": ((0, N, N), (N, N), lambda x, y: x @ y, True),
}


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("name", BATCHES)
def test_batches_are_called_by_c(name, dtype):
    first, second, form, by_c = BATCHES[name]
    x, y, fused = factor(dtype, 1, *first), factor(dtype, 2, *second), ow.fuse(form)

    found = fused(x, y)

    assert (fused.bound((x, y))[0].prepared.start.whole is not None) is by_c
    np.testing.assert_allclose(found, form(x, y), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(found, fused.unfused()(x, y))


def by_its_transpose(x):
    t = x * 2
    return t @ t.T


@pytest.mark.parametrize("dtype", ["f4", "c16"])
@pytest.mark.parametrize("function", [
    lambda x: (x * 2) @ (x + 1), lambda x: (x * 2)[2:] @ (x * 2)[:-2].T, by_its_transpose,
    lambda x: x @ x, lambda x: x @ x * 2, lambda x: x.T @ x.T, lambda x: x.T @ x + 1,
    lambda x: x[:, 1:] @ x[:, 1:].T, lambda x: x @ x @ x,
])  # fmt: skip
def test_a_matrix_by_itself_is_called_by_c_with_numpys_bits(function, dtype):
    x = factor(dtype, 1, N, N)
    fused = ow.fuse(function)

    assert fused.bound((x,))[0].prepared.start.whole is not None
    np.testing.assert_array_equal(fused(x), function(x))


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


# On a GPU: shapes of the factors, dtype -> products that CuPy is asked for.
ASKED = [
    ((5, 7), (7, 3), "float16", 1),
    ((4, 5, 7), (7, 3), "float16", 1),
    ((4, 5, 7), (7, 3), "float32", 1),
    ((4, 5, 7), (4, 7, 3), "float32", 1),
    ((4, 5, 7), (4, 7, 3), "float16", 4),
    ((2, 1, 5, 7), (3, 7, 3), "float16", 6),
]


@pytest.mark.parametrize(("x", "y", "dtype", "calls"), ASKED)
def test_batches_of_narrow_floats_are_asked_for_one_by_one(x, y, dtype, calls):
    left, right = factor(dtype, 0, *x), factor(dtype, 1, *y)
    expected = np.matmul(left, right)
    out = np.empty(expected.shape, dtype)
    found = list(calls_of(left, right, out, np.broadcast_to))
    for each in found:
        np.matmul(*each)

    assert len(found) == calls
    assert np.allclose(out, expected, rtol=1e-2)


def test_a_result_with_gaps_is_written_where_it_lies():
    left, right = factor("float32", 0, 4, 5, 7), factor("float32", 1, 7, 3)
    out = np.zeros((4, 5, 6), np.float32)
    for each in calls_of(left, right, out[..., ::2], np.broadcast_to):
        np.matmul(*each)

    assert np.allclose(out[..., ::2], left @ right, atol=1e-5)
    assert not out[..., 1::2].any()


@pytest.fixture
def stream(monkeypatch):
    """The current stream of a GPU whose kernels run on the host, and whose products NumPy's."""
    monkeypatch.setattr(Stream, "current", Stream(ptr=1))
    monkeypatch.setattr(Executor, "graphs", [])
    monkeypatch.setattr(Executor.blas, "called", [])
    return Stream.current


SQUARE = factor("float32", 3, N, N) / N


def on_gpu(function, *args):
    ready = ow.fuse(function).bound(args)[0].found
    return Prepared(ready.lowered, Executor(), ready.extents, list(args), replay=True)


def between(x, y):
    return np.maximum((x * 2) @ (y + 1), 0) @ y.T + x


def test_products_of_a_gpu_lie_between_kernels_and_in_no_graph(stream):
    called, expected = on_gpu(between, SQUARE, SQUARE), ow.fuse(between)(SQUARE, SQUARE)
    for _ in range(5):
        assert np.array_equal(called([SQUARE, SQUARE], {})[0], expected)

    assert Executor.graphs == []
    assert called.plan.memory.nbytes  # factors lie in the arena
    assert Executor.blas.called == [1] * 10


def test_sums_of_16_bit_floats_are_wide_where_a_library_shares_them_out(stream):
    x = SQUARE.astype(np.float16)
    fused = ow.fuse(lambda x, y: x @ y).with_toggles(USE_VENDOR=1)
    found = fused.lower(x, x, target="sm_90a").found
    called = Prepared(found.lowered, Executor(), found.extents, [x, x])
    assert np.array_equal(called([x, x], {})[0], x @ x)

    assert Executor.blas.called == [1 | WIDE_SUMS]
    assert Executor.blas.mode == 1


def test_a_replay_and_a_loop_start_products_step_by_step(stream):
    called = on_gpu(between, SQUARE, SQUARE)
    replay = DeviceReplay(called, [SQUARE, SQUARE])
    once = ow.fuse(between)(SQUARE, SQUARE)
    assert np.array_equal(replay.taken()()[0], once)
    replay.bind(0, SQUARE * 3)
    assert np.array_equal(replay.taken()()[0], ow.fuse(between)(SQUARE * 3, SQUARE))

    step = on_gpu(lambda x: np.tanh(x @ x), SQUARE)
    expected = SQUARE
    for _ in range(200):
        expected = step([expected], {})[0]
    assert np.array_equal(step.loop([SQUARE], {}, 200)[0], expected)
    assert Executor.graphs == []


def test_a_callers_capture_is_refused_by_name(stream):
    called = on_gpu(between, SQUARE, SQUARE)
    stream.begin_capture()
    with pytest.raises(ow.errors.LaunchError, match="cannot be captured.*USE_VENDOR=0"):
        called([SQUARE, SQUARE], {})


def test_what_the_library_cannot_do_is_an_error_of_ours(stream, monkeypatch):
    monkeypatch.setattr(Executor.blas, "broken", True)
    with pytest.raises(ow.errors.LaunchError, match="a product by CUDA's library"):
        on_gpu(between, SQUARE, SQUARE)([SQUARE, SQUARE], {})
    assert Executor.blas.mode == 1


def test_c_and_python_have_one_code_for_each_routine():
    text = (TEMPLATES / "host" / "products.h").read_text()
    codes = dict(re.findall(r"PRODUCT_(\w+) = (\d+)", text))
    kinds = codes.pop("KINDS")

    assert {name: int(code) for name, code in codes.items()} == {
        name: getattr(blas, name) for name in codes
    }
    assert int(kinds) == len(blas.ROUTINES) * len(blas.KINDS)
