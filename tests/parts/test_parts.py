"""Functions that run in parts: what opweave does not compile runs between fused kernels."""

import random
import threading

import numpy as np
import pytest

import opweave as ow
from tests.support.called import called, same
from tests.support.data import DTYPES, values

LIBRARY_IN_PARTS = True
pytestmark = pytest.mark.host
RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 8)).astype(np.float32)
INDEX = np.array([3, 1, 2])


def branch(x):
    return x * 2 if (x * x).sum() > 100 else x * 3


def elements(x):
    y = x * 2
    y[1:] = x[:-1]
    y[y > 1] = 0
    y[INDEX, 0] += 1
    return y + 1


def argument_in_place(x):
    x += 1
    x[0] = 7
    np.multiply(x, 2, out=x)


def halved_until_small(x):
    count = 0
    while np.abs(x).max() > 0.5 and count < 20:
        x = x * 0.7
        count += 1
    return x, count


def through_views(x):
    y = x * 1
    rows, flat = y[::2], y.reshape(-1)
    y[0] = 5
    flat[3] = 9
    return rows * 2, y + 1


def written_behind_a_pending_line(x):
    table = np.asarray(x) * 1
    later = x + table
    table[:] = 0
    return later, table


def scatter(x):
    y = np.zeros_like(x)
    np.add.at(y, INDEX, x[:3])
    np.put_along_axis(y, np.argsort(x, axis=1)[:, :1], 1, axis=1)
    return y * 2


def statistics(x):
    low, middle, high = np.percentile(x, [25, 50, 75], axis=0)
    return np.where((x < low) | (x > high), middle, x)


def shapes_after(x):
    y = np.sort(x)[: x.shape[0] // 2]
    return y.reshape(-1, y.shape[1] // 2) * x.shape[1], np.full(x.shape, 2.5) + y.shape[0]


def in_containers(x):
    return {"a": np.sort(x), "b": [x + 1, 3, None, "text"]}


def in_place_of_many_kinds(x):
    y = x.astype(np.int32)
    y <<= 1
    y[::2] |= 1
    z = x.copy()
    z.sort(axis=0)
    z.fill(2)
    return y, z


def product_in_place(x):
    y, z = x[:8] * 1, np.sort(x)
    y @= z[:8]
    x[:8] @= y
    x @= np.eye(8, dtype=np.float32) * 2
    return y


def other_shape(x):
    rows = x[2:4]
    x.shape = (8, 30)
    y = x * 2
    y.shape = (-1,)
    y[3] = 7
    rows[0] = 5
    return y, x + 1, x.shape, y.reshape(10, 24).sum(axis=0)


def masks_of_one(x):
    e, y = x[0, 0], x * 2
    y[np.zeros((0, 0), bool)] = 9
    y[0][np.zeros(0, bool)] = 9
    y[1, e > 0] = 5
    y[e > 100] = 3
    return e[e <= 2].sum(), e[e > 9], y


CASES = {
    "product in place": product_in_place,
    "assignment of a shape": other_shape,
    "masks of one": masks_of_one,
    "numbers into an argument": lambda x: (np.sqrt(2.0, out=x), np.clip(5, 0, 2, out=x[0])),
    "sort": lambda x: np.sort(x * 2 + 1, axis=0) * 3 - x,
    "branch": branch,
    "elements": elements,
    "argument in place": argument_in_place,
    "float()": lambda x: x / float(np.abs(x).max()),
    "int()": lambda x: x * int(np.abs(x).max()),
    "concatenate": lambda x: np.concatenate([x * 2, x + 1])[::2] * 2,
    "stack": lambda x: np.stack([x, -x, x * 2], axis=1).sum(axis=1),
    "fft": lambda x: np.abs(np.fft.fft(x * 2)).astype(np.float32) + 1,
    "complex": lambda x: np.cumprod(x * (1 + 2j), axis=0).imag * 2,
    "gather": lambda x: (x * 2)[INDEX] + 1,
    "mask": lambda x: (x * 2)[x > 0].sum(),
    "cumsum": lambda x: x.cumsum(axis=0) * 2,
    "argmax": lambda x: x.argmax(axis=1) + 1,
    "roll": lambda x: (x - np.roll(x, 1, axis=0)) * 2,
    "loop": halved_until_small,
    "unique": lambda x: np.unique(np.round(x * 1.5)) + 1,
    "tolist": lambda x: (x[0] * 2).tolist(),
    "item": lambda x: x.sum().item() + x[0, 0].item(),
    "einsum": lambda x: np.einsum("ij,kj,kl->il", x * 2, x, x) + 1,
    "array of numbers": lambda x: np.array([x.sum(), x.max()]) * 2,
    "all finite": lambda x: x if np.isfinite(x).all() else None,
    "nonzero": lambda x: np.nonzero(x > 1),
    "median": lambda x: x.mean() - float(np.median(x)),
    "views": through_views,
    "written behind": written_behind_a_pending_line,
    "scatter": scatter,
    "statistics": statistics,
    "shapes after": shapes_after,
    "containers": in_containers,
    "of many kinds": in_place_of_many_kinds,
    "where=": lambda x: np.add(x * 2, 1, where=x > 0, out=np.sort(x)) + 1,
    "linalg": lambda x: np.linalg.inv(x.T @ x) + 1,
    "text": lambda x: (f"{x.sum():.3f}", x * 2),
    "attribute": lambda x: (x * 2).nbytes + (x + 1).real,
    "asarray": lambda x: np.asarray(x) * 2 + np.asarray(x).max(),
    "unwrap": lambda x: np.unwrap(x * 4) + 1,
    "nothing": lambda x: None,
    "nan median": lambda x: np.nanmedian(np.where(x > 0, x, np.nan), axis=0) * 2,
    "divmod": lambda x: divmod(np.sort(x), 0.5),
}  # fmt: skip
# What is a whole graph; in parts where something else is not.
WHOLE = ("concatenate", "stack", "gather", "cumsum", "argmax", "roll", "mask", "array of numbers", "einsum",
         "written behind", "attribute", "asarray", "nothing", "argument in place")  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_function_in_parts_does_what_it_does(name):
    function = CASES[name]
    fused = ow.fuse(function)
    expected, written = called(function, X)
    for _ in range(3):
        found, after = called(fused, X)
        same(found, expected)
        same(after, written)


@pytest.mark.parametrize("name", [n for n in CASES if n not in WHOLE])
def test_a_whole_graph_is_asked_for(name):
    fused = ow.fuse(CASES[name], fullgraph=True)
    with pytest.raises((ow.errors.UnsupportedError, ow.errors.TraceError, ow.errors.DTypeError)):
        fused(X.copy())


@pytest.mark.parametrize("layout", [
    np.asfortranarray, lambda x: x[::-1, ::-1], lambda x: np.repeat(x, 2, axis=1)[:, ::2],
])  # fmt: skip
@pytest.mark.parametrize("name", ["sort", "elements", "scatter", "shapes after", "where="])
def test_any_layout(name, layout):
    same(ow.fuse(CASES[name])(layout(X.copy())), CASES[name](layout(X.copy())))


@pytest.mark.parametrize("dtype", DTYPES)
def test_any_dtype(dtype):
    function = lambda x: np.sort(np.where(x > 0, x, x * 0), axis=0)[::-1]  # noqa: E731
    x = np.abs(values(dtype, 60, seed=1)).reshape(20, 3)
    x[~np.isfinite(x.astype(np.float64))] = 1
    same(ow.fuse(function)(x), function(x))


def test_what_opweave_has_no_dtype_for_is_left_to_numpy():
    for x in (X.astype(np.clongdouble), X.astype(">f4"), X.astype(np.longdouble)):
        same(ow.fuse(lambda x, y: (x * 2, y + 1))(x, X), (x * 2, X + 1))


def test_what_was_just_computed_is_assigned_to_in_the_kernel():
    def function(x):
        y = np.abs(x - np.median(x))
        y[y < 0.5] = 0
        y[1:] += y[:-1]
        z = y
        np.sort(z)
        y[0] = 7
        return y, z * 1

    fused = ow.fuse(function)
    same(fused(X), function(X))
    broken = [b.what for b in fused.explain(X).breaks]
    assert sum("np.median" in what for what in broken) == 1
    assert sum("assignment" in what for what in broken) == 1  # of an array that NumPy has seen


def test_kernels_serve_other_numbers_extents_and_rounds():
    fused = ow.fuse(lambda x, s: np.sort(x / float(np.abs(x).max()) + s) * s)
    for n, s in ((30, 1.5), (31, 2.5), (77, -1.0), (64, 0.25)):
        x = RNG.standard_normal((n, 8)).astype(np.float32)
        same(fused(x, s), np.sort(x / float(np.abs(x).max()) + s) * s)
    assert fused._parts.compiled == 3

    loop = ow.fuse(halved_until_small)
    for scale in (1, 4, 16):
        same(loop(X * np.float32(scale)), halved_until_small(X * np.float32(scale)))
    assert loop._parts.compiled <= 3


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_number_may_be_one_of_numpys(dtype):
    number = values(dtype, 3, seed=2)[1]
    fused = ow.fuse(lambda x, s: np.sort(np.where(x > 0, x, s))[::-1])
    x = values(dtype, 12, seed=3)
    x[~np.isfinite(x.astype(np.complex128))] = 1

    same(fused(x, number), fused.__wrapped__(x, number))


def test_both_sides_of_a_branch_are_kept():
    fused = ow.fuse(branch)
    for _ in range(3):
        for x in (X, X * np.float32(0.01)):
            same(fused(x), branch(x))

    assert fused._parts.compiled == 2  # the sum; a product with a number serves both sides


def test_parts_are_fused():
    fused = ow.fuse(lambda x: np.sort(np.exp(x * 2) + 1, axis=0) * 3 - ow.softmax(x))
    found = fused.explain(X)

    assert len(found.kernels) == 2
    assert [b.what for b in found.breaks] == ["np.sort: opweave does not compile this yet"]
    assert found.breaks[0].nbytes == X.nbytes
    assert found.launches_saved > 0
    for piece in ("test_parts.py:", "np.sort", "960 B are stored for it", "fullgraph=True"):
        assert piece in str(found)


def test_why_is_logged(monkeypatch, capsys):
    monkeypatch.setenv("OPWEAVE_LOGS", "breaks")
    fused = ow.fuse(lambda x: np.sort(x))
    fused(X)
    fused(X)

    assert capsys.readouterr().err.count("runs in parts: np.sort: opweave does not compile") == 1


def test_arrays_can_be_given_for_the_results():
    fused = ow.fuse(lambda x: (np.sort(x), x + 1))
    out = np.empty_like(X), np.zeros((30, 16), np.float32)[:, ::2]
    found = fused(X, out=out)

    assert all(a is b for a, b in zip(found, out, strict=True))
    same(found, (np.sort(X), X + 1))
    with pytest.raises(ow.errors.ArgumentError, match="expected float32"):
        fused(X, out=(out[0], np.empty(3, np.float32)))
    with pytest.raises(ow.errors.ArgumentError, match="expected 2 arrays"):
        fused(X, out=out[0])


@ow.fuse
def inner(x):
    return np.sort(x) + 1


TABLE = np.ones(8, np.float32)
SHIFT = 2.0


def test_what_a_function_calls_and_reads_belongs_to_it():
    global SHIFT, TABLE
    fused = ow.fuse(lambda x: inner(x * 2) * TABLE + SHIFT)
    for _ in range(2):
        same(fused(X), (np.sort(X * 2) + 1) * TABLE + SHIFT)
        TABLE = TABLE * 3
        SHIFT += 1
    assert fused._parts.compiled == 2


class Model:
    def __init__(self):
        self.weights = np.arange(8, dtype=np.float32)

    def act(self, x):
        return np.sort(x) * self.weights

    @ow.fuse
    def __call__(self, x):
        return self.act(x + 1) if x.max() > 0 else x


def test_methods_and_attributes():
    model = Model()
    for _ in range(2):
        same(model(X), np.sort(X + 1) * model.weights)
        model.weights = model.weights + 1


def test_what_differs_from_call_to_call_is_asked_for_at_each():
    rng = np.random.default_rng(3)
    for function in (
        lambda x: x + rng.random(x.shape), lambda x: x + np.random.random(x.shape),
        lambda x: x + random.random(), lambda x: np.random.default_rng().random(x.shape) * x,
    ):  # fmt: skip
        fused = ow.fuse(function)
        assert (fused(X) != fused(X)).any()
        with pytest.raises(ow.errors.TraceError, match="gives another value at each call"):
            ow.fuse(function, fullgraph=True)(X)


def fails(x):
    if np.sort(x)[0, 0] < 1e9:
        raise KeyError("the user's own")


@pytest.mark.parametrize(("function", "error", "piece"), [
    (lambda x: np.sort(x) + np.ones(7, np.float32), ow.errors.ShapeError, "test_parts.py:"),
    (lambda x: np.sort(x) & 1, ow.errors.DTypeError, "bitwise_and"),
    (lambda x: np.sort(x) + object(), ow.errors.TraceError, "found object"),
    (lambda x: np.sort(x).meen(), AttributeError, "meen"),
    (lambda x: np.sort(x)[99], ow.errors.ShapeError, "out of bounds"),
    (lambda x: np.sort(x)[99], IndexError, "test_parts.py:"),
    (lambda x: np.concatenate([x, x[0]]), ValueError, "must have same number of dimensions"),
    (lambda x: np.linalg.cholesky(-x[:3, :3] @ x[:3, :3].T), np.linalg.LinAlgError, "positive definite"),
    (fails, KeyError, "the user's own"),
])  # fmt: skip
def test_a_mistake_is_said_as_elsewhere(function, error, piece):
    with pytest.raises(error, match=piece):
        ow.fuse(function)(X)


def test_many_threads_run_one_function():
    fused, found = ow.fuse(CASES["elements"]), []

    def work(number):
        x = X + np.float32(number)
        found.append((fused(x.copy()), CASES["elements"](x.copy())))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 8
    for made, expected in found:
        same(made, expected)


def test_a_refusal_that_the_function_catches_is_none_the_less_one():
    def function(x):
        try:
            return x * float(x.max())
        except TypeError:
            return x * -1

    with pytest.raises(ow.errors.TraceError, match=r"float\(\)"):
        ow.fuse(function, fullgraph=True)(X)
    same(ow.fuse(function)(X), function(X))


def test_numpys_own_error_that_hides_a_refusal_does_not_hide_it():
    def function(x):
        table = np.zeros(3, np.float32)
        table[0] = x.sum()
        return table * 2

    same(ow.fuse(function)(X), function(X))


def test_shapes_share_the_reason_for_running_in_parts():
    fused = ow.fuse(lambda x: np.sort(x) + 1)
    for count in range(1, 41):
        same(fused(X.reshape(-1)[:count]), np.sort(X.reshape(-1)[:count]) + 1)

    assert len(fused._parts.reasons) == 1
    fused(X)  # other dimensions may be whole, so they are tried
    assert len(fused._parts.reasons) == 2


def test_a_number_that_is_measured_fills_without_another_kernel():
    def function(x):
        return np.full(x.shape, float(x.max())) + x

    fused = ow.fuse(function)
    for scale in range(1, 6):
        same(fused(X * scale), function(X * scale))
    made = fused._parts.compiled

    same(fused(X * 9), function(X * 9))
    assert fused._parts.compiled == made == 2


def test_the_kernels_of_parts_are_printed():
    found = ow.fuse(lambda x: np.sort(x * 2) + 1).explain(X)

    assert len(found.sources) == len(found.kernels) == 2
    assert all("__global__" in source for source in found.sources)
