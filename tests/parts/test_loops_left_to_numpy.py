"""Loops that are too long to be whole, and whose operations are short, are NumPy's."""

import warnings

import numpy as np
import pytest

import opweave as ow
from opweave._functions import budget, short
from opweave.compiler.ir.pace import mean_seconds
from opweave.opcodes.errors import OpweaveWarning

pytestmark = [pytest.mark.host, pytest.mark.usefixtures("loops_of_python")]
X = np.linspace(0.1, 1, 40)


def many_writes(x, y):
    for _ in range(150):
        x[1:-1] = x[1:-1] * 0.5 + y[2:]
    return x.sum()


def many_operators(x, y):
    for k in range(60):
        x = x * 0.5 + k
    return x + y


def many_kernels(x, y):
    for k in range(1, 8):
        x = np.sin(x) * k - x[::-1].cumsum() / k + (x * k).sum()
    return x + y


SHORT = [many_writes, many_operators, many_kernels]


@pytest.fixture(autouse=True)
def limits(monkeypatch):
    """Small ones, so that small programs meet them."""
    monkeypatch.setattr("opweave.compiler.pipeline.specialise.MOST_LOWERED", 100)
    monkeypatch.setattr("opweave.compiler.pipeline.specialise.MOST_WRITES", 20)
    monkeypatch.setattr(budget, "MOST_OF_WHOLE", 0.5)


def called(fused, *arguments):
    """The result, the arguments afterwards, and what was warned of."""
    given = [a.copy() for a in arguments]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = fused(*given)
    told = [str(w.message) for w in caught if issubclass(w.category, ow.OpweaveWarning)]
    return result, given, told


@pytest.mark.parametrize("function", SHORT)
def test_short_operations_are_numpys_in_every_bit_with_one_warning(function):
    fused, plain = ow.fuse(function), [X.copy(), X.copy()]
    expected = function(*plain)
    told = []
    for _ in range(3):
        result, given, more = called(fused, X, X)
        told += more
        np.testing.assert_array_equal(result, expected)
        np.testing.assert_array_equal(given, plain)
    assert len(told) == 1
    assert f"{function.__name__} runs by NumPy, not fused" in told[0]
    assert "us, by a model" in told[0]
    assert fused._parts.compiled == 0


@pytest.mark.parametrize("function", SHORT)
def test_long_operations_run_in_parts(function, monkeypatch):
    monkeypatch.setattr(short, "IN_PARTS", 1e-9)
    fused = ow.fuse(function)
    result, *_ = called(fused, X, X)
    np.testing.assert_allclose(result, function(X.copy(), X.copy()), rtol=1e-9)
    assert fused._parts.compiled > 0


@pytest.mark.parametrize("function", SHORT)
def test_explain_says_that_numpy_runs_it_and_does_not_run_it(function):
    given = X.copy(), X.copy()
    told = ow.fuse(function).explain(*given)
    assert str(told).startswith(f"{function.__name__} runs by NumPy, not fused:")
    assert "us, by a model" in str(told)
    assert told.kernels == ()
    np.testing.assert_array_equal(given, [X, X])


def test_who_runs_a_call_follows_from_its_sizes_not_from_earlier_calls(monkeypatch):
    monkeypatch.setattr(short, "IN_PARTS", 5e-6)
    long = np.linspace(0, 1, 40_000)
    for order in ((X, long, X), (long, X, long)):
        fused = ow.fuse(many_writes)
        for x in order:
            before = fused._parts.compiled
            called(fused, x, x)
            in_parts = bool(fused._parts.too_long) and x is long
            assert (fused._parts.compiled > before) <= in_parts
        assert fused._parts.compiled > 0


def rounds(x, n):
    for _ in range(n):
        x[1:] = x[1:] * 0.5 + 1.0
    return x.sum()


def test_a_loop_of_few_rounds_is_a_whole_though_one_of_many_was_not():
    fused = ow.fuse(rounds)
    for n, is_whole in ((150, False), (3, True), (160, False), (2, True), (3, True)):
        x, y = X.copy(), X.copy()
        known = fused.traces
        np.testing.assert_allclose(fused(x, n), rounds(y, n), rtol=1e-12)
        np.testing.assert_allclose(x, y, rtol=1e-12)
        assert bool(fused.explain(X.copy(), n).kernels) == is_whole
        assert n != 160 or fused.traces == known  # of a size that is known


def test_what_was_left_to_numpy_is_forgotten_with_all_else():
    fused = ow.fuse(rounds)
    fused(X.copy(), 150)
    assert fused.fallback._plain
    fused.clear_cache()
    assert not fused.fallback._plain


def test_of_many_sizes_the_newest_are_known(monkeypatch):
    monkeypatch.setattr(short, "MOST_PLAIN", 2)
    fused = ow.fuse(rounds)
    for size in (20, 40, 80):
        fused(np.ones(size), 150)
    before = fused.traces
    fused(np.ones(80), 150)
    assert fused.traces == before
    assert len(fused.fallback._plain) == 2


def test_a_whole_that_is_asked_for_is_compiled():
    x, y = X.copy(), X.copy()
    fused = ow.fuse(lambda x, y: x * 0.5 + y, fullgraph=True)
    assert called(fused, x, y)[2] == []


@pytest.mark.parametrize(("what", "seconds"), [
    (lambda x, y: x + y, (2e-3, 2e-2)),
    (lambda x, y: np.exp(x), (4e-3, 4e-2)),
    (lambda x, y: x[::2], (0, 0)),
    (lambda x, y: np.where(x > 0, x, y)[3:5], (1e-3, 2e-2)),
])  # fmt: skip
def test_the_model_counts_what_computes(what, seconds):
    shape = (10_000_000,)
    graph = ow.fuse(what).lower(np.empty(shape), np.empty(shape)).lowered.graph
    found = mean_seconds(graph.nodes, dict.fromkeys(("n0", "n1", "n2"), shape[0]))
    assert seconds[0] <= found <= seconds[1]


def crowded(z, steps):
    for _ in range(steps):
        z = sum(np.roll(z, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) % 3
    return z


def test_places_that_operations_read_at_count_as_noted_where_parts_are_weighed():
    fused = ow.fuse(crowded)
    z = np.arange(640_000.0).reshape(800, 800) % 3
    with pytest.warns(OpweaveWarning, match="runs by NumPy"):
        found = fused(z, 30)
    np.testing.assert_array_equal(found, crowded(z, 30))
