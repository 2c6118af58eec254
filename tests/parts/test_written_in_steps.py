"""Parts in steps that are written to: what is read at their own places, and what beside them."""

import warnings

import numpy as np
import pytest

import opweave as ow

pytestmark = pytest.mark.host
SHAPES = [(3, 3), (7, 13), (13, 7), (33, 131)]


def halved(u):
    u[::2] *= 2


def striped(u):
    u[:, 1::3] += 1


def backwards(u):
    u[::-2, -2::-1] *= 3


def between(u):
    u[1:-1:2] += u[:-2:2] + u[2::2]


def checkered(u):
    for i, j in ((1, 1), (2, 2), (1, 2), (2, 1)):
        around = u[i - 1 : -2 : 2, j:-1:2] + u[i + 1 :: 2, j:-1:2]
        around += u[i:-1:2, j - 1 : -2 : 2] + u[i:-1:2, j + 1 :: 2]
        u[i:-1:2, j:-1:2] += 0.25 * around - u[i:-1:2, j:-1:2]


def within_a_part(u):
    inner = u[1:-1]
    inner[1::2] *= 2
    inner[:, ::2] -= u[1:-1, ::2] * 0.5


def joined(u, v):
    u[::2, ::2] = v[: (len(v) + 1) // 2, : (v.shape[1] + 1) // 2] * 2
    u[1::2] += v[1::2]


# Functions, and what of them is written in place.
FUNCTIONS = {
    halved: "u", striped: "u", backwards: "u", between: "", checkered: "u", within_a_part: "u",
    joined: "u",
}  # fmt: skip


def given(function, shape, dtype="f8"):
    count, rng = function.__code__.co_argcount, np.random.default_rng(0)
    return [rng.integers(1, 90, shape).astype(dtype) for _ in range(count)]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_leaves_what_numpy_does_at_every_size(function):
    fused = ow.fuse(function)
    for shape in SHAPES:
        ours, theirs = given(function, shape), given(function, shape)
        function(*theirs)
        fused(*ours)
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, 1e-12, err_msg=str(shape))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_elements_that_are_read_at_their_own_places_are_written_there(function):
    explained = ow.fuse(function).explain(*given(function, SHAPES[-1]))
    told = explained.text

    assert ("u is written in place" in told) is (FUNCTIONS[function] == "u")
    elsewhere = ("read_at", "load_places")
    found = any(name in source for source in explained.sources for name in elsewhere)
    assert found is (function is joined)


@pytest.mark.parametrize("function", [halved, striped, between, checkered])
def test_the_checker_agrees_that_no_thread_is_in_anothers_way(function):
    ours, theirs = given(function, (9, 18)), given(function, (9, 18))
    ow.fuse(function).lower(*ours, target="sm_90a").verify(*ours, schedule=1)
    function(*theirs)
    assert ow.fuse(function).check(*given(function, (9, 18))).ok


def first_half(u):
    u[: len(u) // 2] *= 3


def few_rows(u, v, k):
    u[k : k + 3, 2:] += v[k : k + 3, 2:]
    u[k + 3] = 7


def masked_rows(u, m):
    u[m[:, 0] > 50] = 2


def two(u, v):
    u[::3] += v[::3]
    v[1::3] *= 2


def shown(u):
    u[::3] += 1
    return u * 2


# Functions, what they take besides arrays, and whether rows that do not change are left alone.
ROWS = {
    first_half: ((), True), few_rows: ((4,), True), masked_rows: ((), True), two: ((), True),
    shown: ((), False), halved: ((), True), striped: ((), False), between: ((), True),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "f4", "u1"])
@pytest.mark.parametrize("function", ROWS)
def test_rows_that_do_not_change_are_left_alone_where_they_are(function, dtype):
    count = function.__code__.co_argcount - len(ROWS[function][0])
    fused, rng = ow.fuse(function), np.random.default_rng(1)
    for shape in [(40, 70), (41, 33), (9, 5), (12, 2000)]:
        ours = [rng.integers(1, 90, shape).astype(dtype) for _ in range(count)]
        theirs = [a.copy() for a in ours]
        rest, leaves = ROWS[function]
        found, wanted = fused(*ours, *rest), function(*theirs, *rest)
        np.testing.assert_array_equal(found, wanted)
        for a, b in zip(ours, theirs, strict=True):
            assert a.tobytes() == b.tobytes()
    sources = fused.explain(*(a[:11] for a in ours), *rest).sources
    assert any("in place, and no element changes" in s for s in sources) is leaves


@pytest.mark.parametrize("name", ["f8", "i4"])
def test_a_result_of_its_own_has_all_rows(name):
    def apart(u):
        v = u * 1
        v[::2] += 1
        return v, np.where(np.arange(len(u))[:, None] > 3, u + 1, u)

    u = np.arange(700).reshape(10, 70).astype(name)
    for a, b in zip(ow.fuse(apart)(u), apart(u), strict=True):
        assert a.tobytes() == b.tobytes()


AT_ALL_PLACES = {
    "repeat": lambda u: np.repeat(u[::2] * 3, 2),
    "an index in steps": lambda u: (u[::2] * 3)[np.arange(12) // 2],
    "an index behind a start": lambda u: (u[1::2] * 3)[(np.arange(12) - 1) // 2],
    "an index that is sparse": lambda u: (u[::2] * 3)[(np.arange(12) - 0) // 2 * (u > 3)],
    "a table of two": lambda u: (u[::2] * 3)[(np.arange(12)) // 2] + u[np.arange(12) % 2],
}


@pytest.mark.parametrize("name", AT_ALL_PLACES)
def test_an_index_of_ones_own_reads_elements_between_steps_too(name):
    function, u = AT_ALL_PLACES[name], np.arange(1.0, 13)

    np.testing.assert_array_equal(ow.fuse(function)(u), function(u))


def inverted(u):
    u[::2] = 1 / u[::2]


def test_what_lies_between_the_steps_warns_of_nothing():
    u, fused = np.array([[2.0, 4], [0, 0], [8, 5]]), ow.fuse(inverted)
    with ow.config(errors="numpy"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fused(u)
        np.testing.assert_array_equal(u, [[0.5, 0.25], [0, 0], [0.125, 0.2]])
        u[2, 1] = 0
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            fused(u)
    np.testing.assert_array_equal(u, [[2, 4], [0, 0], [8, np.inf]])


@pytest.mark.parametrize("dtype", ["f4", "i4", "u1", "c16", "i8"])
def test_other_types_are_written_in_steps_too(dtype):
    def added(u):
        u[1::2, ::2] += u[1::2, ::2]

    ours, theirs = given(added, (7, 40), dtype), given(added, (7, 40), dtype)
    ow.fuse(added)(*ours)
    added(*theirs)
    assert ours[0].tobytes() == theirs[0].tobytes()
