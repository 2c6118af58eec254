"""``config(errors="numpy")``: calls warn and raise as the plain function's do, at its lines."""

import itertools
import warnings

import numpy as np
import pytest

import opweave as ow

pytestmark = pytest.mark.host

X = np.array([1.0, 0.0, -1.0, 4.0])
F = X.astype(np.float32)
H = X.astype(np.float16)
N = np.array([1.0, np.nan, 2.0, 3.0])
E = np.array([1.0, np.inf, -np.inf, 2.0])
G = np.array([1.0, 1e308, -1e308, 1e308])
ONES = np.ones(4)
I = np.array([3, 0, -3, 4])
LOW = np.array([np.iinfo(np.int64).min, 1])
M = np.full((3, 4), 1e200)
Z = X + 1j
EMPTY = X[:0]


def heard(function, *args):
    """What a call warns of or raises, and its result."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*args)
        except Exception as error:
            return [(type(error), str(error))], None
    return [(w.category, str(w.message), w.filename, w.lineno) for w in caught], result


def by_numpy(function, *args, **settings):
    """Hold a call under settings of ``np.errstate`` to the plain function's; what it tells."""
    fused = ow.fuse(function)
    with np.errstate(**settings):
        told, expected = heard(function, *args)
        for _ in range(2):  # cold and warm
            with ow.config(errors="numpy"):
                found, result = heard(fused, *args)
            assert found == told
            if expected is not None:
                np.testing.assert_allclose(result, expected, rtol=1e-6)
    return told


# A function, arguments in which there is an error, arguments in which there is none.
FAULTS = [
    (lambda x: 1 / x, (X,), (ONES,)),
    (lambda x: np.divide(x, 0), (X,), None),
    (lambda x: np.log(x) + 1, (X,), (ONES,)),
    (lambda x: np.sqrt(x), (X,), (ONES,)),
    (lambda x: x**-1.5, (X,), (ONES,)),
    (lambda x: 1 / (1 / x), (X,), (ONES,)),  # which is finite
    (lambda x: (np.log(x), x + 1)[1], (X,), (ONES,)),  # which nobody reads
    (lambda x: np.where(x != 0, 1 / x, 0), (X,), (ONES,)),
    (lambda x: (1 / x)[::3], (X,), (ONES,)),
    (lambda x: 0 * np.exp(x * 1000) > 1, (X,), (-ONES,)),
    (lambda x: np.exp(x), (X * 1000,), (N, E)[:1]),
    (lambda x: x - x, (E,), (N,)),
    (lambda x: np.sin(x), (E,), (N,)),
    (lambda x: x * 1e300 * 1e300, (X,), (EMPTY,)),
    (lambda x: x * 1e300, (F,), None),  # the number alone overflows
    (lambda x, s: x * s, (F, 1e300), (F, 2.0)),
    (lambda x, s: x / s, (F + 2, 1e300), (F, 2.0)),  # an infinite divisor
    (lambda x: np.cosh(x) ** 40, (H * 4,), (H / 9,)),
    (lambda x: x.sum(), (np.append(G, G),), (N,)),
    (lambda x: x.sum() - 1, (E,), (X,)),
    (lambda x: x.sum(axis=0), (np.full((20, 3), 6e4, np.float16),), (np.ones((20, 3), np.float16),)),
    (lambda x: x.sum() / 0, (X,), None),
    (lambda x: x.mean(), (EMPTY,), (X,)),
    (lambda x: x.var(ddof=4), (X,), (np.ones(9),)),
    (lambda x: x.var(), (G,), (X,)),
    (lambda x: x.prod(), (G,), (X,)),
    (lambda x: np.cumsum(x), (np.abs(G) * 1.5,), (N,)),
    (lambda x: np.cumprod(x), (G,), (X,)),
    (lambda x: x @ x.T, (M,), (M / 1e190,)),
    (lambda x: np.dot(x, x), (G,), (X,)),
    (lambda x: x.astype(np.int32), (E,), (X * 1.5,)),
    (lambda x: x.astype(np.int64), (np.array([1e19, 1]),), (X,)),
    (lambda x: x.astype(np.uint8), (np.array([1e20, 1]),), (np.abs(X),)),
    (lambda x: x.astype(np.float32), (G,), (E,)),
    (lambda i: i.astype(np.float16), (I * 100_000,), (I,)),
    (lambda i: 7 // i, (I,), (I + 8,)),
    (lambda i: i % (i - 4), (I,), (I + 8,)),
    (lambda i: np.divmod(i, i)[0], (I,), (I + 8,)),
    (lambda i: i // -1, (LOW,), (I,)),
    (lambda i: i.max() + i.max(), (np.array([2**62, 2**62]),), (I,)),  # numbers, not arrays
    (lambda z: 1 / z, (Z - 1j,), (Z,)),
    (lambda z: np.exp(z * 1000), (Z,), (Z / 1e9,)),
    (lambda z: np.abs(z * 1e308), (Z + 4,), (Z / 1e9,)),
    (lambda x: x + np.log(np.zeros(4)), (X,), None),  # of no argument
    (lambda x, s: x + 1 / s, (X, np.float64(0)), (X, np.float64(2))),
    (lambda x, s: (1 / s, x + 1)[1], (X, np.float64(0)), (X, np.float64(2))),
    (lambda x, s: x + np.sqrt(s), (X, -1.0), (X, 2.0)),
    (lambda x: np.full_like(x, 1e300), (F,), None),
    (lambda x: np.logaddexp(x, 1), (N,), (X,)),
    (lambda x: np.average(x, weights=x), (X - 1,), (X,)),  # raises ZeroDivisionError
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_an_error_is_told_as_by_numpy(number):
    function, faulty, _ = FAULTS[number]
    told = by_numpy(function, *faulty, all="warn", under="ignore")
    assert told, "the case is none"
    by_numpy(function, *faulty, all="raise", under="ignore")
    by_numpy(function, *faulty, divide="ignore", over="raise", invalid="warn")


@pytest.mark.parametrize("number", [n for n, row in enumerate(FAULTS) if row[2] is not None])
def test_where_there_is_no_error_kernels_are_the_whole_call(number, monkeypatch):
    function, _, right = FAULTS[number]
    fused = ow.fuse(function)
    monkeypatch.setattr(fused.fallback, "plainly", None)
    with ow.config(errors="numpy"), warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(fused(*right), function(*right), rtol=1e-6)


SILENT = [
    (lambda i: i + i, (LOW,)),  # NumPy's arrays of integers wrap in silence
    (lambda i: abs(i) * 3, (LOW,)),
    (lambda i: i.sum(), (LOW * 1,)),
    (lambda x: np.maximum(x, 1) > 2, (N,)),
    (lambda x: np.nan_to_num(x), (E,)),
    (lambda x: np.isclose(x, x), (E,)),
]


@pytest.mark.parametrize(("function", "args"), SILENT)
def test_what_numpy_does_not_tell_is_not_told(function, args):
    assert by_numpy(function, *args, all="raise") == []


def divides(x):
    y = x + 1
    return y / x  # the line that is named


def test_the_line_is_the_users():
    (told,) = by_numpy(divides, X, all="warn")

    line = divides.__code__.co_firstlineno + 2
    text = "divide by zero encountered in divide"
    assert told == (RuntimeWarning, text, __file__, line)


def test_an_exception_ends_at_the_users_line():
    raised = pytest.raises(FloatingPointError, match="divide by zero")
    with ow.config(errors="numpy"), np.errstate(divide="raise"), raised as caught:
        ow.fuse(divides)(X)

    assert caught.traceback[-1].lineno == divides.__code__.co_firstlineno + 1
    assert caught.traceback[-1].name == "divides"


def test_errors_are_called_printed_and_logged(capfd):
    called = []

    class Log:
        def write(self, text):
            called.append(text)

    fused = ow.fuse(lambda x: 1 / x)
    with ow.config(errors="numpy"):
        with np.errstate(divide="call", call=lambda kind, flag: called.append((kind, flag))):
            fused(X)
        with np.errstate(divide="log", call=Log()):
            fused(X)
        with np.errstate(divide="print"):
            fused(X)

    assert called == [("divide by zero", 1), "Warning: divide by zero encountered in divide\n"]
    assert "".join(capfd.readouterr()) == "Warning: divide by zero encountered in divide\n"


def with_its_own(x, y):
    with np.errstate(divide="ignore"):
        a = 1 / x
    with np.errstate(all="warn"):
        return a + np.log(y)


@pytest.mark.parametrize("kind", ["ignore", "warn", "raise"])
def test_settings_of_the_function_itself_hold(kind):
    by_numpy(with_its_own, X, ONES, all=kind)
    assert by_numpy(with_its_own, X, X, all=kind, under="ignore")


@pytest.mark.parametrize("kind", ["warn", "raise"])
def test_underflow_is_left_to_numpy(kind):
    assert by_numpy(lambda x: x * 1e-300 * 1e-300, X, under=kind)


def test_a_function_in_parts_tells_too():
    assert by_numpy(lambda x: 1 / np.sort(x), X, all="warn")


def test_results_go_where_they_are_asked_to():
    fused, out = ow.fuse(lambda x: 1 / x), np.empty(4)
    with ow.config(errors="numpy"), np.errstate(all="ignore"):
        assert fused(ONES * 2, out=out) is out
        np.testing.assert_array_equal(out, 0.5)
    with ow.config(errors="numpy"), pytest.warns(RuntimeWarning, match="divide"):
        assert fused(X, out=out) is out
    np.testing.assert_array_equal(out, [1, np.inf, -1, 0.25])


def test_keywords_containers_and_methods():
    def function(parts, *, scale):
        return {"q": parts["a"] / scale, "n": 3}

    fused = ow.fuse(function)
    with ow.config(errors="numpy"):
        found, result = heard(lambda: fused({"a": X}, scale=X))
        quiet, _ = heard(lambda: fused({"a": X}, scale=ONES))

    assert [text for _, text, *_ in found] == ["invalid value encountered in divide"]
    assert quiet == []
    assert result["n"] == 3


def test_one_fused_function_inside_another_tells():
    inner = ow.fuse(lambda x: 1 / x)
    fused = ow.fuse(lambda x: inner(x) + 1)
    with ow.config(errors="numpy"), pytest.warns(RuntimeWarning, match="divide by zero"):
        fused(X)


def test_what_is_repeated_tells():
    step = ow.repeat(lambda x: x / (x - 1), 2)
    with ow.config(errors="numpy"):
        told, _ = heard(step, X)

    assert {text for _, text, *_ in told} == {
        "divide by zero encountered in divide", "invalid value encountered in divide"
    }  # fmt: skip


def test_switching_serves_no_stale_program():
    fused = ow.fuse(lambda x: 1 / x)
    for errors in itertools.islice(itertools.cycle(["ignore", "numpy"]), 6):
        with ow.config(errors=errors):
            assert bool(heard(fused, X)[0]) is (errors == "numpy")
            assert heard(fused, ONES)[0] == []


def test_fast_kernels_are_watched_in_their_strict_form():
    fused = ow.fuse(lambda x: np.exp(x) / x, fast=True)
    with ow.config(errors="numpy"), pytest.warns(RuntimeWarning, match="divide by zero"):
        fused(X)


def test_fullgraph_refuses_as_ever():
    with ow.config(errors="numpy"), pytest.raises(ow.errors.UnsupportedError):
        ow.fuse(lambda x: np.sort(x) / x, fullgraph=True)(X)


def test_a_setting_is_one_of_two():
    with pytest.raises(ow.errors.ArgumentError, match="'ignore' or 'numpy'"):
        ow.config.errors = "raise"
    assert ow.config.errors == "ignore"


def test_a_compilation_under_other_settings_warns_once():
    fused = ow.fuse(lambda x: 1 / x)
    told = pytest.warns(ow.OpweaveWarning, match=r"divide='raise', over='call'")
    with np.errstate(divide="raise", over="call"), told as caught:
        for x in (X, X, np.ones(5), np.ones((5, 5))):
            fused(x)

    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert 'opweave.config(errors="numpy")' in str(caught[0].message)


@pytest.mark.parametrize("settings", [{}, {"all": "ignore"}, {"divide": "ignore"}])
def test_settings_that_kernels_keep_are_not_told_of(settings, recwarn):
    with np.errstate(**settings):
        ow.fuse(lambda x: 1 / x)(X)

    assert not recwarn.list


def test_warm_calls_do_not_read_the_settings(monkeypatch):
    fused = ow.fuse(lambda x: 1 / x)
    fused(X)
    monkeypatch.setattr(np, "geterr", None)
    fused(X)
    fused(x=X)


@pytest.mark.host
@pytest.mark.parametrize(("dtype", "number"), [("u8", -1), ("u1", 256), ("i2", 1 << 15)])
def test_an_integer_that_does_not_fit_is_an_error_though_nobody_reads_the_result(dtype, number):
    def function(x):
        x * number
        return x + 1

    for run in (function, ow.fuse(function), ow.fuse(function, fullgraph=True)):
        with pytest.raises(OverflowError, match="out of bounds"):
            run(np.ones(3, dtype))
