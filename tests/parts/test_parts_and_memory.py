"""Functions in parts keep views, threads and memory as NumPy has them."""

import tracemalloc

import numpy as np
import pytest

import opweave as ow
from tests.support.called import called, same

LIBRARY_IN_PARTS = True
pytestmark = [pytest.mark.host, pytest.mark.usefixtures("loops_of_python")]
RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 8)).astype(np.float32)


def test_an_extent_outlives_its_array():
    def function(x):
        count = np.sort(x[x > 0]).shape[0]
        y = np.sort(x, axis=0)
        return y * count, np.full((count, 2), 3.0) + 1, np.cumsum(np.full(count, 2.0))

    fused = ow.fuse(function)
    for x in (X, -X, X[:7]):
        same(fused(x), function(x))


def test_many_rows_are_walked():
    x = np.arange(3000.0).reshape(-1, 2)
    same(ow.fuse(lambda x: sum(r for r in x * 2))(x), sum(r for r in x * 2))


def test_a_ufunc_that_is_not_numpys_is_called():
    def exp(x):
        return x + 100

    made = np.frompyfunc(exp, 1, 1)
    same(ow.fuse(lambda x: made(x).astype(np.float32) * 2)(X), (X + 100) * 2)


def test_what_nobody_holds_any_more_is_given_back():
    def function(x):
        for _ in range(40):
            x = np.sort(x * 2) + 1
        return x

    fused, x = ow.fuse(function), np.zeros((100, 1000))
    fused(x)
    tracemalloc.start()
    fused(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 8 * x.nbytes


def test_a_graph_under_construction_does_not_grow_in_a_long_loop():
    def function(x):
        for _ in range(200):
            x = np.sort(x) * 1.01
        return x

    fused = ow.fuse(function)
    same(fused(X), function(X))
    assert fused._parts.compiled == 1


def test_a_loop_that_is_too_long_for_one_graph_runs_in_parts(monkeypatch):
    for limit in ("MOST_LOWERED", "MOST_NODES"):
        monkeypatch.setattr(f"opweave.compiler.pipeline.specialise.{limit}", 50)
    monkeypatch.setattr("opweave.compiler.parts.lazy.MOST_PENDING", 20)
    monkeypatch.setattr("opweave._functions.short.IN_PARTS", 0)

    @ow.fuse
    def long(x):
        for n in range(60):
            x = x * 0.5 + n
        return x

    x = np.linspace(0, 1, 7)

    np.testing.assert_array_equal(long(x), long.__wrapped__(x))
    assert "more than 50 operators" in str(long._parts.too_long)
    assert long._parts.compiled < 6  # rounds that are alike share their kernels
    with pytest.raises(
        ow.errors.TraceError, match=r"more than 50 operators .*test_parts_and_memory.py"
    ):
        ow.fuse(long.__wrapped__, fullgraph=True)(x)


CUBE = RNG.standard_normal((4, 4, 4))
VIEWS = {
    "a row": lambda z: z[0],
    "a slice": lambda z: z[1:, ::2],
    "transposed": lambda z: z.T,
    "a part of a transpose": lambda z: z.T[0].T[1:],
    "reshaped": lambda z: z.reshape(-1),
    "a part of rows": lambda z: z.reshape(8, 8)[3:, 1],
    "a slice in rows": lambda z: z[::2].reshape(2, -1)[1],
    "with a new axis": lambda z: z[:, None, ::-1][0],
    "a copy": lambda z: z[0].T.reshape(-1),
}
MADE = {
    "by a map": lambda x: x * 2,
    "by an expensive map": lambda x: np.exp(x),
    "by a reduction": lambda x: x.mean(axis=1)[:, None] + x,
    "an argument": lambda x: x,
}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("view", VIEWS)
def test_what_numpy_writes_to_a_view_is_seen_in_the_array(view, made):
    def into_the_view(x):
        z = MADE[made](x)
        np.put(VIEWS[view](z), [0, 2], 99)
        return z * 1, x

    def into_the_array(x):
        z = MADE[made](x)
        part = VIEWS[view](z)
        np.put(z, np.arange(z.size), 5)
        return part * 1, z

    for function in (into_the_view, into_the_array):
        expected, written = called(function, CUBE)
        found, after = called(ow.fuse(function), CUBE)
        same(found, expected)
        same(after, written)


def test_a_view_that_is_returned_with_its_array_is_a_view():
    def function(x):
        z = x * 2
        return z, z[0], z.T

    program = ow.fuse(function).lower(CUBE, target="host")
    whole, *parts = program(CUBE)

    assert len(program.kernels) == 1
    assert all(np.shares_memory(whole, part) for part in parts)


def _vectorised(x):
    return np.vectorize(lambda e: e + 1)(x)


@pytest.mark.parametrize("write", [
    lambda v, x: np.copyto(v, x + 1), lambda v, x: np.copyto(v, 3, where=x > 1),
    lambda v, x: np.putmask(v, x > 1, x * 3), lambda v, x: np.place(v, x > 1, [3.0]),
    lambda v, x: np.fill_diagonal(v.reshape(1, -1), x[0] + 5), lambda v, x: np.add.at(v, [0, 0], x[:2]),
])  # fmt: skip
@pytest.mark.parametrize("made", [_vectorised, lambda x: np.zeros(5), lambda x: np.sort(x)])
def test_arrays_of_numpys_own_are_written_to(made, write):
    def function(x):
        v = made(x)
        write(v, x)
        return v * 1, x

    x = np.arange(5.0)
    for found, expected in zip(ow.fuse(function)(x.copy()), function(x.copy()), strict=True):
        np.testing.assert_array_equal(found, expected)


def holding_itself(x):
    made = [x * 2]
    made.append(made)
    return made


@pytest.mark.host
@pytest.mark.parametrize("parts", [False, True], ids=["from the trace", "in parts"])
def test_a_result_that_no_kernel_can_fill_is_pythons(parts):
    x = np.arange(4.0)
    many = ow.fuse(lambda x: ((np.sort(x) if parts else x) * 2, list(range(3000))))
    cycle = ow.fuse(lambda x: holding_itself(np.sort(x) if parts else x))

    assert many(x)[1] == list(range(3000))
    made = cycle(x)
    assert made[1] is made
    with pytest.raises(ow.OpweaveError, match="1024 arrays and numbers"):
        ow.fuse(lambda x: (x, list(range(3000))), fullgraph=True)(x)


def written_raveled(x):
    y = x * 2 + x * x
    v = y.ravel()
    v[0:3] = 5
    return y


def written_behind_a_line(x):
    y = x * 2 + x * x
    v = y.reshape(-1)
    np.unique(x[0])
    v += 5
    return y


def written_turned(x):
    y = (x * 2).T + 1
    v = y.reshape(y.size)
    np.unique(x[0])
    np.add(v, 5, out=v)
    return y


def sorted_raveled(x):
    y = np.zeros_like(x) + x
    np.unique(x[0])
    v = y.ravel()
    v.sort()
    return y


@pytest.mark.parametrize("orders", ["CF", "FC"])
@pytest.mark.parametrize(
    "function", [written_raveled, written_behind_a_line, written_turned, sorted_raveled]
)
@pytest.mark.filterwarnings("ignore:.*runs by NumPy")
def test_a_reshape_that_is_written_to_is_a_copy_where_numpys_is(function, orders):
    fused = ow.fuse(function)
    for order in 2 * orders:
        x = np.asarray(RNG.standard_normal((6, 5)), order=order)
        same(fused(x), function(x))


def test_it_says_why_numpy_runs_such_a_function():
    fused = ow.fuse(written_raveled)
    with pytest.warns(ow.errors.OpweaveWarning, match="a reshape of what does not lie in rows"):
        fused(np.asfortranarray(X))
