"""Functions in parts whose arrays are short are NumPy's: by code, types and sizes, by no clock."""

import warnings

import numpy as np
import pytest

import opweave as ow
from opweave._functions import short
from opweave.compiler.captures.operations import MASK, lengthening_lines, operations_in
from opweave.compiler.ir.pace import saved_by_names

pytestmark = pytest.mark.host
SHORT, LONG = np.linspace(-1, 1, 100), np.linspace(-1, 1, 1 << 20)
SCALE = 2.5
AS_FOR_USERS = LIBRARY_IN_PARTS = True


def ranked(x):
    return (np.sort(x) * 2 + 1) * x - x


def chosen(x):
    y = x[x > 0]
    return np.unique(y * y * y - y / 3 + 2 * y) + np.median(x)


def branching(x):
    if x[0] > 3:
        return x
    return np.exp(x) - x.mean()


def spectrum(x):
    return abs(np.fft.rfft((x - x * x) * SCALE)) + 1


def marked(x):
    x[x > 0.5] = 0
    print("marked")
    return np.sort(x) + x * x * x - x * 2 + 3 * x


FUNCTIONS = [ranked, chosen, branching, spectrum, marked]


def called(fused, *arguments, **named):
    """The result, the arguments afterwards, and what was warned of."""
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = fused(*given, **named)
    told = [w for w in caught if issubclass(w.category, ow.OpweaveWarning)]
    return result, given, told


@pytest.mark.parametrize("function", FUNCTIONS)
def test_numpy_runs_it_in_every_bit_with_one_warning_at_the_line_that_calls(function, capsys):
    fused, plain = ow.fuse(function), SHORT.copy()
    expected, printed = function(plain), capsys.readouterr().out
    told = []
    for _ in range(4):
        result, given, more = called(fused, SHORT)
        told += more
        np.testing.assert_array_equal(result, expected, strict=True)
        np.testing.assert_array_equal(given[0], plain)
        assert capsys.readouterr().out == printed
    assert [w.filename for w in told] == [__file__]
    text = str(told[0].message)
    assert f"{function.__name__} runs by NumPy, not fused: " in text
    assert "test_short_left_to_numpy.py:" in text
    assert "us an operation, by a model; fullgraph=True refuses such lines" in text
    assert fused._parts.compiled == 0


@pytest.mark.parametrize("function", FUNCTIONS)
def test_long_arrays_run_in_parts_without_a_warning(function):
    fused = ow.fuse(function)
    result, given, told = called(fused, LONG)
    plain = LONG.copy()
    np.testing.assert_allclose(result, function(plain), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(given[0], plain)
    assert told == []
    assert fused._parts.compiled > 0


@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_unfused_function_is_left_to_numpy_alike(function):
    fused = ow.fuse(function)
    for x in (SHORT, LONG[: 1 << 10]):
        expected = called(fused, x)[0]
        np.testing.assert_array_equal(called(fused.unfused(), x)[0], expected)


def test_who_runs_a_call_follows_from_its_size_not_from_earlier_calls():
    for order in ((SHORT, LONG, SHORT, LONG), (LONG, SHORT, LONG, SHORT)):
        fused = ow.fuse(ranked)
        for x in order:
            before = len(ran := [])
            fused._parts.where = _noting(fused._preparing.where, ran)
            called(fused, x)
            assert (len(ran) > before) == (x is LONG)


def _noting(where, ran):
    def noting(arrays):
        ran.append(len(arrays))
        return where(arrays)

    return noting


def test_a_size_that_is_a_whole_stays_one_though_another_size_is_left_to_numpy():
    def some(x):
        return np.sort(x) if x.shape[0] > 64 else x * 0.1 + np.exp(x)

    fused = ow.fuse(some)
    called(fused, SHORT)
    assert fused.fallback._plain
    for count in (60, 61, 20):
        called(fused, SHORT[:count])
        assert fused.explain(SHORT[:count]).kernels
    assert fused._calls.is_known


def by_number(x, s):
    y = np.exp(x * 0.3) + x.sum()
    return np.sort(y) if s > 3 else y / 3


def by_extent(x, s):
    y = np.exp(x * 0.3) + x.sum()
    return np.sort(y) * s if x.shape[0] > 70 else y / 3


def by_rounds(x, s):
    for k in range(int(s)):
        x = np.sort(np.exp(x * 0.3) - k)
    return x


def by_order(x, s):
    y = x.ravel()
    y += 1
    return np.exp(y) * s


SIDES = [by_number, by_extent, by_rounds, by_order, lambda x, s: np.sort(np.exp(x * 0.3)) * s]


@pytest.mark.parametrize("function", SIDES)
@pytest.mark.parametrize("seed", range(3))
def test_a_call_has_the_same_bits_each_time_whatever_came_before(function, seed):
    rng, known, fused = np.random.default_rng(seed), {}, ow.fuse(function)
    for _ in range(60):
        size, s = rng.choice([40, 65, 66, 100, 101, 130]), float(rng.choice([1, 2, 4, 5]))
        x = np.linspace(0.1, 1, 2 * size).reshape(2, size).T[:, rng.integers(0, 2)]
        found = called(fused, x, s)[0]
        expected = known.setdefault((size, s, x[0]), found)
        np.testing.assert_array_equal(found, expected, strict=True)
        np.testing.assert_allclose(found, function(x.copy(), s), rtol=1e-12)


def test_a_refusal_says_whether_other_numbers_may_lead_elsewhere():
    for function, asks in zip(SIDES, (True, True, True, False, False), strict=True):
        fused = ow.fuse(function)
        called(fused, SHORT[::2], 4.0)
        assert [error.asks for error in fused._parts.reasons.values()] in ([asks], [])


def test_a_side_that_is_a_whole_stays_one_though_the_other_is_left_to_numpy():
    fused = ow.fuse(by_number)
    for s, is_whole in ((5.0, False), (1.0, True), (5.0, False), (2.0, True), (5.0, False)):
        called(fused, SHORT, s)
        assert fused._calls.is_known or not is_whole
        assert bool(fused.explain(SHORT, s).kernels) == is_whole
    assert len(fused._calls._left) == 1


def test_explain_says_that_numpy_runs_it_before_and_after_a_call():
    fused = ow.fuse(ranked)
    for _ in range(2):
        told = fused.explain(SHORT)
        assert str(told).startswith("ranked runs by NumPy, not fused:")
        assert "np.sort" in str(told)
        assert told.kernels == ()
        called(fused, SHORT)
    assert "runs in parts" in str(fused.explain(LONG))


def test_the_whole_that_is_asked_for_is_refused():
    with pytest.raises(ow.errors.UnsupportedError, match=r"np\.sort"):
        ow.fuse(ranked, fullgraph=True)(SHORT)


def test_a_filter_silences_the_warning():
    fused = ow.fuse(ranked)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=ow.OpweaveWarning)
        for _ in range(3):
            fused(SHORT)
    assert caught == []


def scaled(x, n, *, by=1.0):
    """As ``ranked``, with arguments of every kind."""
    return np.sort(x)[:n] * by


@pytest.mark.parametrize(("args", "named"), [
    ((SHORT, 3), {}),
    ((SHORT, 3), {"by": 2.0}),
    ((SHORT,), {"n": 3, "by": 2}),
    ((), {"x": SHORT, "n": 3}),
    ((SHORT[::2], 3), {}),
    ((SHORT.astype(np.float32), np.int64(3)), {}),
    ((SHORT.reshape(4, 25), 2), {}),
])  # fmt: skip
def test_all_arguments_reach_the_function_at_every_call(args, named):
    fused, expected = ow.fuse(scaled), scaled(*args, **named)
    for _ in range(4):
        np.testing.assert_array_equal(called(fused, *args, **named)[0], expected, strict=True)
    for _ in range(3):
        out = np.empty_like(expected)
        called(fused, *args, out=out, **named)
        np.testing.assert_array_equal(out, expected)


def test_an_integer_of_another_size_is_another_call():
    def made(n):
        return np.sort((np.arange(n) * 0.5 + 1) ** 2 - n) - 1

    fused = ow.fuse(made)
    for n in (10, 10, 10, 11, 1 << 21, 10, 1 << 21):
        before = fused._parts.compiled, bool(fused._parts.prepared)
        np.testing.assert_array_equal(called(fused, n)[0], made(n))
        is_short = n < 1 << 19
        assert (fused._parts.compiled, bool(fused._parts.prepared)) == before or not is_short
    assert fused._parts.compiled > 0


def test_globals_closures_and_mocks_are_seen_at_every_call(monkeypatch):
    fused = ow.fuse(spectrum)
    for scale in (2.5, 2.5, 2.5, 3.0, 3.0, 3.0, 2.5):
        monkeypatch.setitem(globals(), "SCALE", scale)
        np.testing.assert_array_equal(called(fused, SHORT)[0], spectrum(SHORT))
    monkeypatch.setattr(np, "sort", np.negative)
    np.testing.assert_array_equal(called(ow.fuse(ranked), SHORT)[0], ranked(SHORT))


def test_errors_are_those_of_the_plain_function():
    def wrong(x):
        return np.sort(x, axis=int(x[0]) + 5) + 1

    fused = ow.fuse(wrong)
    for _ in range(4):
        with pytest.raises(np.exceptions.AxisError) as caught:
            called(fused, SHORT)
        with pytest.raises(np.exceptions.AxisError) as plain:
            wrong(SHORT)
        assert str(caught.value) == str(plain.value)


def test_a_result_is_the_argument_where_it_is_the_argument_by_numpy():
    def same(x):
        x.sort()
        return x, x[2:]

    fused = ow.fuse(same)
    for _ in range(4):
        x = SHORT[::-1].copy()
        result, view = fused(x)
        assert result is x
        assert np.shares_memory(view, x)


def test_a_warning_of_the_function_names_the_line_that_calls():
    def careful(x):
        warnings.warn("careful", UserWarning, stacklevel=2)
        return np.sort(x) + 1

    fused = ow.fuse(careful)
    for _ in range(3):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fused(SHORT)
        assert [w.filename for w in caught if w.category is UserWarning] == [__file__]


def test_what_was_left_to_numpy_is_forgotten_with_all_else():
    fused = ow.fuse(ranked)
    for _ in range(3):
        called(fused, SHORT)
    assert fused._calls._left
    fused.clear_cache()
    assert not fused._calls._left
    assert not fused.fallback._plain
    assert len(called(fused, SHORT)[2]) <= 1


def logged(state, dt):
    state["x"] += state["v"] * dt
    state["log"].append(float(state["x"][0]))


def test_a_list_that_grows_is_found_by_the_power_of_two_of_its_length():
    state = {"x": np.zeros(100), "v": np.ones(100), "log": []}
    fused, slow, slowly = ow.fuse(logged), [], type(ow.fuse(logged))._slowly

    def noted(self, *args):
        slow.append(len(state["log"]))
        return slowly(self, *args)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(type(fused), "_slowly", noted)
        for _ in range(200):
            fused(state, 0.5)
    assert state["log"] == [0.5 * n for n in range(1, 201)]
    assert len([length for length in slow if length > 32]) <= 4


def test_a_list_that_grows_is_soon_left_to_numpy_without_a_trace():
    fused = ow.fuse(lambda xs: np.sort(np.concatenate(xs)) + 1)
    for count in range(1, 20):
        called(fused, [SHORT] * count)
    assert len(fused._parts.reasons) <= 9
    assert fused._parts.compiled == 0


@pytest.mark.parametrize(("function", "long"), [
    (lambda x: x[:, None] - x, True),
    (lambda x: x[None], True),
    (lambda x: x[None, :] - x[:, np.newaxis], True),
    (lambda x: x[..., None], True),
    (lambda x, n: x[n + 1 :, None, : n - 1], True),
    (lambda x: np.subtract.outer(x, x), True),
    (lambda xs: [x[None] for x in xs], True),
    (lambda x, n: x[: n - 1, 2:] + x[n:, :-2], False),
    (lambda x, n: (x[:n], x[n::2], n), False),
    (lambda x: np.sum(x, axis=None), False),
])  # fmt: skip
def test_code_that_adds_axes_may_make_longer_arrays(function, long):
    assert bool(lengthening_lines(function.__code__)) == long


def clustered(x, centres):
    near = ((x[:, None] - centres) ** 2).argmin(axis=1)
    for k in range(len(centres)):
        own = x[near == k]
        if len(own) > 0:
            centres[k] = np.percentile(own, 50)
    return near


def paired_late(x, centres):
    own = x[x > 0]
    if len(own) > 0:
        centres[0] = own.mean()
    return ((x[:, None] - x) ** 2).sum(axis=1)


@pytest.mark.parametrize(("function", "in_parts"), [(clustered, False), (paired_late, True)])
def test_how_long_arrays_get_is_what_a_trace_has_seen(function, in_parts):
    fused = ow.fuse(function)
    x, centres = np.linspace(-1, 1, 4000), np.array([-1.0, 0.0, 1.0])
    expected = function(x, centres.copy())
    found, _, told = called(fused, x, centres)
    np.testing.assert_allclose(found, expected)
    assert bool(told) is not in_parts


def test_operations_are_counted_by_their_names():
    def several(x):
        return np.exp(-x) + np.sort(x).max() > 3

    names = operations_in(several.__code__)
    assert [n for n in names if n != "np"] == ["exp", "", "sort", "max", "", ""]


def test_an_index_by_a_comparison_is_a_line_of_its_own():
    assert operations_in((lambda x, y: y[x > 0] + y[x]).__code__) == ("", MASK, "")


@pytest.mark.parametrize(("names", "breaks", "elements", "seconds"), [
    ((), 1, 0, (0, 0)),
    ((), 1, 1_000_000, (3e-4, 1e-3)),  # who knows what is out of sight
    (("",), None, 1_000_000, (3e-4, 1e-3)),
    (("",), 0, 1_000_000, (0, 0)),
    (("",) * 5, 0, 1_000_000, (3e-4, 6e-4)),
    (("",) * 5, 5, 1_000_000, (0, 0)),
    (("exp", "sin", "tanh"), 3, 1_000_000, (1e-3, 1e-2)),
    (("cov",) * 5, 0, 1_000_000, (3e-4, 6e-4)),
])  # fmt: skip
def test_the_model_goes_by_names_and_lengths(names, breaks, elements, seconds):
    assert seconds[0] <= saved_by_names(names, breaks, elements) <= seconds[1]


def test_what_numpy_does_by_itself_is_known_by_its_names():
    known = short.tables()
    assert {
        "sort",
        "median",
        "unique",
        "rfft",
        "normal",
        "float",
        "[]",
        "tolist",
    } <= known.breaking
    assert {"exp", "sum", "cov", "einsum", "maximum", ""} <= known.computing
    assert not known.breaking & (known.computing | {"abs", "pow", "reshape", "shape", "fft", "T"})


def test_products_of_all_pairs_run_in_parts_though_their_arguments_are_short():
    def nearest(x):
        return np.argsort(((x[:, None] - x) / 3) ** 2 + 1, axis=1)[:, 1] * 2

    fused = ow.fuse(nearest)
    called(fused, np.linspace(0, 1, 1200))
    assert fused._parts.compiled > 0
    called(fused, SHORT[:30])
    assert fused.fallback._plain


def drawn_one_by_one(n, seed):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        x = rng.random()
        if x > 0.5:
            found.append(x * 2)
    return found


def test_an_integer_of_a_call_without_arrays_is_how_long_they_get_at_most():
    fused = ow.fuse(drawn_one_by_one)
    for _ in range(2):
        found = fused(3000, 5)
        assert found == drawn_one_by_one(3000, 5)
    assert "runs by NumPy" in fused.explain(3000, 5).text


def added(u, v):
    u += v


def mixed(u, v):
    u += (v * 3 - 1) * 2


def scaled_into(u, v):
    np.multiply(u, v, out=u)


def grown(u, v):
    u += np.exp(v)


def largest(u, v):  # of two zeros either one
    u[:] = np.maximum(u, v)


def narrowed(u, v):  # beyond an integer anything
    u[:] = (u + v).astype(np.int8)


@pytest.mark.host
@pytest.mark.parametrize(("function", "size", "is_numpys"), [
    (added, 30, True), (scaled_into, 30, True), (grown, 30, False), (mixed, 2_000_000, False),
    (largest, 30, False), (narrowed, 30, False),
])  # fmt: skip
def test_who_runs_a_call_whose_arguments_share_memory(function, size, is_numpys):
    """NumPy, where it has the kernels' bits and is done sooner; else parts, with these bits."""
    memory = np.random.default_rng(30).standard_normal(2 * size)
    u, v = memory[:size], memory[size - 1 : -1]
    apart = u.copy(), v.copy()
    fused = ow.fuse(function)
    fused(*apart)
    fused(u, v)

    assert (fused._parts.compiled == 0) == is_numpys
    np.testing.assert_array_equal(u[:-1], apart[0][:-1])


def test_numpy_gives_no_warnings_in_the_place_of_kernels():
    def divided(u, v):
        u /= v

    memory = np.zeros(60)
    fused = ow.fuse(divided)
    with np.errstate(all="raise"):
        fused(memory[:30].copy(), memory[:30].copy())
        fused(memory[:30], memory[29:-1])
    assert np.isnan(memory[:30]).all()
    assert fused._parts.compiled == 0
