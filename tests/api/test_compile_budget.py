"""Functions that would compile for long run in parts, with one warning, or whole if asked to."""

import warnings

import numpy as np
import pytest

import opweave as ow
from opweave._functions import budget, short
from opweave.compiler.parts import lazy
from opweave.runtime.calls.building import costs

pytestmark = [pytest.mark.host, pytest.mark.usefixtures("loops_of_python")]
X = np.linspace(0.5, 1.5, 60).reshape(6, 10)


def different(x, n):
    """Rounds that differ in a number, so that none compiles as another does."""
    for k in range(n):
        x = np.cumsum(x[::-1], axis=0) * (0.1 + k)
    return x


def nested(x, n):
    for k in range(n):
        x = x + 1
        for j in range(2):
            x = np.cumsum(x[::-1], axis=0) * (0.1 + k + 7 * j)
    return x


def awhile(x, n):
    k = 0
    while k < n:
        x = np.cumsum(x[::-1], axis=0) * (0.1 + k)
        k += 1
    return x


def one_round(x, k):
    return np.cumsum(x[::-1], axis=0) * (0.1 + k)


def by_a_helper(x, n):
    for k in range(n):
        x = one_round(x, k)
    return x


def in_place(x, n):
    for k in range(n):
        x[...] = np.cumsum(x[::-1], axis=0) * (0.1 + k)
    return x.sum()


def without_a_loop(x, n):
    x = np.cumsum(np.cumsum(x[::-1] * 0.25, axis=0)[:, ::-1] * 3, axis=1)
    return np.cumsum(np.cumsum(x[::-1] * 0.5, axis=0)[:, ::-1] * 7, axis=1)


# A function, and the line that the warning names, counted from that of the function.
LOOPS = [(different, 2), (nested, 3), (awhile, 2), (by_a_helper, 1), (in_place, 1)]


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(budget, "MOST_OF_WHOLE", 0.5)
    monkeypatch.setattr(short, "IN_PARTS", 0)  # none is left to NumPy, however short


def caught_from(fused, *arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = fused(*arguments)
    return result, [w for w in caught if issubclass(w.category, ow.OpweaveWarning)]


@pytest.mark.parametrize(("function", "line"), LOOPS, ids=[f.__name__ for f, _ in LOOPS])
def test_it_runs_in_parts_with_one_warning_that_names_the_loop_and_the_remedy(
    function, line, small
):
    fused = ow.fuse(function)
    result, told = caught_from(fused, X.copy(), 8)
    _, again = caught_from(fused, X.copy(), 8)

    np.testing.assert_allclose(result, function(X.copy(), 8), rtol=1e-12)
    assert not fused.prepared_calls.is_known
    assert len(told) == 1
    assert not again
    text, at = str(told[0].message), function.__code__.co_firstlineno + line
    assert f"the loop at test_compile_budget.py:{at}; {budget.REMEDY}" in text
    assert "different kernels" in text
    assert "fullgraph=True compiles all" in text
    assert told[0].filename == __file__


@pytest.mark.parametrize("function", [different, in_place])
def test_fullgraph_compiles_the_whole_and_warns_once(function, small):
    fused = ow.fuse(function, fullgraph=True)
    result, told = caught_from(fused, X.copy(), 6)
    _, again = caught_from(fused, X.copy(), 6)

    np.testing.assert_allclose(result, function(X.copy(), 6), rtol=1e-12)
    assert fused.prepared_calls.is_known
    assert len(told) == 1
    assert not again
    assert "since it is to be one whole" in str(told[0].message)


def test_a_step_that_is_repeated_is_a_whole_and_warns(small):
    result, told = caught_from(ow.repeat(lambda x: different(x, 6), 2), X)

    np.testing.assert_allclose(result, different(different(X, 6), 6), rtol=1e-12)
    assert len(told) == 1
    assert "since it is to be one whole" in str(told[0].message)


def test_a_function_without_a_loop_is_told_the_line(monkeypatch):
    monkeypatch.setattr(budget, "MOST_OF_WHOLE", 0.3)
    _, told = caught_from(ow.fuse(without_a_loop), X, 0)

    assert "the line test_compile_budget.py:" in str(told[0].message)


def same_rounds(x, n):
    for _ in range(n):
        x = np.cumsum(x[::-1], axis=0) * 0.1
    return x


def test_rounds_that_are_the_same_cost_no_more_than_one(small):
    fused = ow.fuse(same_rounds)
    _, told = caught_from(fused, X, 40)

    assert fused.prepared_calls.is_known
    assert not told


def long_rounds(x, n):
    total = 0
    for k in range(n):
        x = np.sin(x) * 0.5 + (np.cos(x) - k)
        x = np.cumsum(x, axis=0)
        total = total + x.sum(axis=1)
    return total


def test_a_loop_that_runs_in_parts_has_few_different_segments(small, monkeypatch):
    monkeypatch.setattr(lazy, "MOST_PENDING", 93)  # five segments that differ, if rounds are cut
    fused = ow.fuse(long_rounds)
    result, _ = caught_from(fused, X, 50)

    np.testing.assert_allclose(result, long_rounds(X, 50), rtol=1e-9)
    assert fused._parts.by_rounds
    assert fused._parts.compiled <= 4


def test_neither_the_cache_nor_a_clock_has_a_say(monkeypatch):
    lowered = ow.fuse(different).lower(X, 5).lowered
    before = [seconds for *_, seconds in costs(lowered, "run")]
    ow.fuse(different)(X, 5)  # now all of it is in the cache

    assert [seconds for *_, seconds in costs(lowered, "run")] == before
    monkeypatch.setattr(budget, "MOST_OF_WHOLE", sum(before) / 2 - 0.01)
    assert len(caught_from(ow.fuse(different), X, 5)[1]) == 1
    monkeypatch.setattr(budget, "MOST_OF_WHOLE", sum(before) / 2 + 0.01)
    assert not caught_from(ow.fuse(different), X, 5)[1]


def test_a_function_of_ten_seconds_at_most_is_a_whole():
    assert budget.MOST_OF_WHOLE == 10
