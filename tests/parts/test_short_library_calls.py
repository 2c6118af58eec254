"""A whole that calls NumPy's library is left to NumPy where its kernels save less than it costs."""

import warnings

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.ir.pace import pays_between

pytestmark = pytest.mark.host
AS_FOR_USERS = True
LONG = np.random.default_rng(3).random(1 << 18)
SHORT, MATRIX = LONG[:100], LONG[:64].reshape(8, 8)


def ranked(x):
    return np.sort(x) * 2 + 1


def spectrum(x):
    return abs(np.fft.rfft(x - x.mean()))


def solved(x):
    return np.linalg.solve(x + 1, x[0]) * 2


def long_chain(x):
    y = np.sort(x)
    for _ in range(20):
        y = y * 0.5 + np.tanh(y)
    return y


def told(fused, *args):
    """The result, and what was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return fused(*args), [str(w.message) for w in caught]


@pytest.mark.parametrize(("function", "x"), [(ranked, SHORT), (spectrum, SHORT), (solved, MATRIX)])
def test_short_arrays_are_numpys_with_one_warning(function, x):
    fused, texts = ow.fuse(function), []
    for _ in range(3):
        result, more = told(fused, x)
        np.testing.assert_array_equal(result, function(x), strict=True)
        texts += more
    (text,) = texts
    assert text.startswith(f"{function.__name__} runs by NumPy, not fused: ")
    assert "its kernels save less than calls of NumPy's library between them cost" in text
    assert str(fused.explain(x)).startswith(f"{function.__name__} runs by NumPy")
    assert fused._parts.compiled == 0


@pytest.mark.parametrize(("function", "x"), [
    (ranked, LONG), (spectrum, LONG), (long_chain, SHORT), (long_chain, LONG),
])  # fmt: skip
def test_what_pays_is_a_whole_without_a_warning(function, x):
    fused = ow.fuse(function)
    result, texts = told(fused, x)
    np.testing.assert_allclose(result, function(x), rtol=1e-10, atol=1e-12)
    assert texts == []
    assert "call(s) of NumPy's library" in str(fused.explain(x))


@pytest.mark.parametrize("function", [ranked, spectrum])
def test_a_whole_that_is_asked_for_is_one(function):
    fused = ow.fuse(function, fullgraph=True)
    result, texts = told(fused, SHORT)
    np.testing.assert_allclose(result, function(SHORT), rtol=1e-10)
    assert texts == []
    assert fused._calls.is_known


def test_who_runs_a_call_follows_from_its_size_not_from_earlier_calls():
    sizes = [100, 1 << 18, 127, (1 << 18) + 5, 64]
    for order in (sizes, sizes[::-1]):
        fused = ow.fuse(ranked)
        for size in order:
            told(fused, np.resize(LONG, size))
            is_numpys = str(fused.explain(np.resize(LONG, size))).startswith("ranked runs by")
            assert is_numpys == (size < 1000)


def nodes_of(function, *args):
    trace = ow.fuse(function, fullgraph=True).lower(*args).variant.trace
    return trace.graph.nodes, trace.extents


@pytest.mark.parametrize(("function", "x", "pays"), [
    (lambda x: x * 2, SHORT, True), (ranked, SHORT, False), (ranked, LONG, True),
    (long_chain, SHORT, True), (lambda x: np.sort(np.sort(x) * 2), SHORT, False),
])  # fmt: skip
def test_the_model_weighs_kernels_against_calls(function, x, pays):
    assert pays_between(*nodes_of(function, x)) == pays


def branching(x):
    return np.sort(x) + 1 if x.shape[0] > 70 else np.sort(x) * 3


def test_a_guard_within_a_size_leaves_both_sides_whole():
    fused = ow.fuse(branching)
    for size in (100, 66, 127, 64):
        x = LONG[:size]
        result, texts = told(fused, x)
        np.testing.assert_array_equal(result, branching(x))
        assert texts == []
    told(fused, LONG[:20])  # of a size that one side serves
    assert str(fused.explain(LONG[:20])).startswith("branching runs by NumPy")


NUMBERS = {
    "a list": (lambda x: [v * 2 for v in x], True),
    "by places": (lambda x: [x[i] + 1 for i in range(len(x))], True),
    "a dict": (lambda x: {i: v - 1 for i, v in enumerate(x)}, True),
    "few of them": (lambda x: [v * 2 for v in x[:3]], False),
    "sums": (lambda x: [x[i:].sum() for i in range(20)], False),
    "one number": (lambda x: sum(x[i] * x[i + 1] for i in range(20)), False),
}


def of_one_number(x):
    return np.tanh(x * (1 + 1j)), np.arcsin(x)


APART = {
    "of one number": (of_one_number, SHORT[:1]),
    **{n: (f, SHORT) for n, (f, _) in NUMBERS.items()},
}


@pytest.mark.parametrize("case", APART)
def test_unfused_is_left_to_numpy_where_the_fused_function_is(case):
    function, x = APART[case]
    fused = ow.fuse(function)
    (found, said), (apart, said_apart) = told(fused, x), told(fused.unfused(), x)
    assert np.array_equal(numbers(found), numbers(apart))
    assert said == said_apart


@pytest.mark.parametrize("case", NUMBERS)
def test_a_kernel_for_each_of_many_numbers_is_left_to_numpy(case):
    function, is_numpys = NUMBERS[case]
    fused = ow.fuse(function)
    _, texts = told(fused, SHORT)

    assert any("each of many numbers" in text for text in texts) == is_numpys
    for _ in range(3):
        np.testing.assert_allclose(numbers(fused(SHORT)), numbers(function(SHORT)))


def numbers(found):
    return [*found.values()] if isinstance(found, dict) else found
