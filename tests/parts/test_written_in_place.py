"""Kernels that write several results, or rows that they reduce, straight to the arguments."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors

X = np.random.default_rng(0).uniform(1, 2, (70, 130))


def several(a, b, c):
    b += 0.1 * (c - b)
    a -= 0.5 * b


def swapped(a, b):
    old = a.copy()
    a[:] = b
    b[:] = old


def turned(a, b):
    old = a.copy()
    a[:] = 0.6 * a - 0.8 * b
    b[:] = 0.8 * old + 0.6 * b


def counted(a, b):
    b[...] = np.maximum(b, a)
    a *= 0.5
    return (b - a).sum()


def softmax(x):
    x -= x.max(axis=1, keepdims=True)
    np.exp(x, out=x)
    x /= x.sum(axis=1, keepdims=True)


def standard(x):
    x -= x.mean(axis=0)
    x /= x.std(axis=0)


def squares(x):
    x -= x.mean(axis=1, keepdims=True)
    return (x * x).sum(axis=1)


def shares(x, y):
    x *= 2
    y[:] = x / x.sum(axis=1, keepdims=True)


def shifted(a, b):
    b += a
    a[:, 1:] = b[:, :-1]


def inside(a, b):
    a[1:-1, 2:] -= 0.5 * (b[2:, 2:] - b[:-2, 2:])


def staggered(a, b, d):
    a[1:] -= d[1:] - d[:-1]
    b[:, 1:] -= d[:, 1:] - d[:, :-1]
    d[:-1, :-1] -= b[:-1, 1:] - b[:-1, :-1] + a[1:, :-1] - a[:-1, :-1]


def walls(a, b):
    a[1:] += b[:-1]
    a[:-1] -= b[1:]
    a[:, -1] = 0


IN_PLACE = {
    several: "ab", swapped: "a", turned: "ab", counted: "ab", softmax: "x", standard: "x",
    squares: "x", shares: "y", shifted: "", inside: "a", staggered: "abd", walls: "a",
}  # fmt: skip
APART = {
    swapped: "b is computed apart and copied: swapped_1_map_f64 reads it later",
    shares: "x is computed apart and copied: shares_row_f64 reads it again",
    shifted: "a is computed apart and copied: shifted_map_f64 reads what other threads write",
}


def given(function):
    return [X * (n + 1) for n in range(function.__code__.co_argcount)]


@pytest.mark.host
@pytest.mark.parametrize("function", IN_PLACE)
def test_a_function_leaves_what_numpy_does(function):
    fused, args, expected = ow.fuse(function, fullgraph=True), given(function), given(function)
    for _ in range(2):
        found, wanted = fused(*args), function(*expected)
        for a, b in zip([*args, found], [*expected, wanted], strict=True):
            np.testing.assert_allclose(a, b, 1e-9, 1e-12) if b is not None else None


@pytest.mark.host
@pytest.mark.parametrize("function", IN_PLACE)
def test_a_kernel_writes_where_no_other_thread_reads(function):
    told = ow.fuse(function).explain(*given(function)).text

    for name in function.__code__.co_varnames[: function.__code__.co_argcount]:
        assert (f"{name} is written in place" in told) is (name in IN_PLACE[function])
    assert APART.get(function, "") in told


@pytest.mark.host
@pytest.mark.parametrize("function", [several, softmax, standard, counted, staggered])
def test_the_checker_agrees_that_no_thread_is_in_anothers_way(function):
    args = [a[:9, :17].copy() for a in given(function)]
    expected = [a.copy() for a in args]
    program = ow.fuse(function).lower(*args, target="sm_90a")
    wanted = function(*expected)
    found = program.verify(*args, schedule=1)

    assert wanted is None or np.allclose(found, wanted)


@pytest.mark.host
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "u1", "i8", "?", "c16"])
def test_rows_are_chosen_by_their_place_or_by_a_number(dtype):
    def chosen(x, y, flag):
        return np.where(np.arange(len(x))[:, None] % 3 == 1, x, y), np.where(flag, x, y)

    x = np.arange(210).reshape(3, 70).astype(dtype)
    y = (100 - x.astype(complex)).real.astype(dtype)
    if x.dtype.kind in "fc":
        x[:, :3], y[:, :3] = (np.nan, -0.0, np.inf), (-0.0, np.nan, -np.inf)
    for flag in (True, False):
        for a, b in zip(ow.fuse(chosen)(x, y, flag), chosen(x, y, flag), strict=True):
            assert a.tobytes() == b.tobytes()


def barrier(x, alive, high):
    alive &= x > 0.5
    x[~alive] = 0
    np.maximum(high, x, out=high)
    return (alive | (high < 0.1)).sum(), np.where(alive, x, 0).mean()


@pytest.mark.host
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "i8", "u1", "f2"])
def test_truth_values_that_are_written_beside_numbers(dtype):
    rng = np.random.default_rng(3)
    x, high = (3 * rng.standard_normal((2, 4000))).astype(dtype)
    ours, theirs = ([x.copy(), rng.random(4000) < 0.7, high.copy()] for rng in
                    (np.random.default_rng(4), np.random.default_rng(4)))  # fmt: skip
    found, wanted = ow.fuse(barrier, fullgraph=True)(*ours), barrier(*theirs)

    np.testing.assert_allclose(found, wanted, rtol=1e-2 if dtype == "f2" else 1e-5)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


def longer_behind_a_write(u, x):
    u[0] = 3
    u[1] += x[None]


def longer_product_behind_a_write(u, x):
    u[0] = 3
    t = u[1]
    t *= x[None, None]


@pytest.mark.host
@pytest.mark.parametrize("function", [longer_behind_a_write, longer_product_behind_a_write])
def test_a_result_of_more_dimensions_than_the_array_is_not_stored_in_place(function):
    given = [np.ones((3, 4)), np.arange(4.0)]
    plain, fused = ([a.copy() for a in given] for _ in range(2))
    with pytest.raises(ValueError, match="non-broadcastable"):
        function(*plain)
    with pytest.raises(ow.errors.ShapeError, match="cannot store"):
        ow.fuse(function)(*fused)
    for found, expected in zip(fused, plain, strict=True):
        np.testing.assert_array_equal(found, expected)


def halves_into_integers(u):
    u *= 2
    u += 0.5


def too_many_rows(u):
    u += np.ones((2, u.shape[0]))


def through_a_copy(u):
    u.ravel()[:] = 0


def test_an_operator_in_place_refuses_types_as_numpy_does():
    u, v = np.arange(70_000), np.arange(70_000)
    with pytest.raises(TypeError) as expected:
        halves_into_integers(v)
    with pytest.raises(TypeError) as found:
        ow.fuse(halves_into_integers)(u)
    assert type(found.value) is type(expected.value)
    assert str(found.value) == str(expected.value)
    np.testing.assert_array_equal(u, v)


def test_errors_in_place_have_the_users_operator_and_line():
    with pytest.raises(
        errors.ShapeError, match=r"^\+=: cannot store .* \(test_written_in_place.py:\d+\)"
    ):
        ow.fuse(too_many_rows)(np.ones(6))
    with pytest.raises(errors.UnsupportedError, match=r"a view that may be a copy.*\.copy\(\)"):
        ow.fuse(through_a_copy, fullgraph=True)(np.asfortranarray(np.ones((30, 40))))


def resized(x):
    y = np.sin(x) * 2
    y.resize(10)
    return y


def resized_when_filled(x):
    y = np.empty_like(x)
    np.sin(x, out=y)
    y *= 2
    y.resize((2, len(x)))
    return y


def resized_in_a_list(x):
    y = [np.sin(x) * 2]
    y[0].resize(10)
    return y[0]


def resized_by_its_method(x):
    y = np.sin(x) * 2
    resize = y.resize
    resize(10)
    return y


def resized_behind_a_view(x):
    y = np.sin(x) * 2
    part = y[2:]
    total = part.sum()
    del part
    y.resize(10)
    return y, total


def with_two_names(x):
    y = np.sin(x) * 2
    z = y
    y.resize(10)
    return y, z


def with_a_view(x):
    y = np.sin(x) * 2
    z = y[2:]
    y.resize(10)
    return y, z


def with_an_iterator(x):
    y = np.sin(x) * 2
    z = y.flat
    y.resize(10)
    return y, z


def of_the_caller(x):
    x.resize(10)
    return x * 2


OWN = (
    resized, resized_when_filled, resized_in_a_list, resized_by_its_method, resized_behind_a_view,
)  # fmt: skip


@pytest.mark.parametrize("function", OWN)
def test_an_array_of_the_function_s_own_is_resized(function):
    x = np.linspace(0, 1, 200_000)
    expected, fused = function(x), ow.fuse(function)
    for _ in range(3):
        for wanted, found in zip(expected, fused(x), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize(
    "function", [with_two_names, with_a_view, with_an_iterator, of_the_caller]
)
def test_no_array_is_resized_that_somebody_else_has(function):
    x = np.linspace(0, 1, 200_000)
    before, own = x.copy(), x
    for run in (function, ow.fuse(function)):
        with pytest.raises(ValueError, match="cannot resize"):
            run(x)
    np.testing.assert_array_equal(own, before)
