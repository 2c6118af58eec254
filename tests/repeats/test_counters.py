"""``ow.repeat``: a step gets the number of its round, and reads arrays by it."""

import numpy as np
import pytest

import opweave as ow
from tests.repeats.loops import (
    RATES,
    F,
    W,
    X,
    adam,
    agree,
    alternating,
    first_apart,
    heat,
    pascal,
    plain,
)

pytestmark = pytest.mark.host


COUNTED = {
    "an optimiser with a correction by the round": (adam, (X, X * 0, X * 0, X + 1)),
    "heat with a source of each round": (heat, (X, F, 0.2)),
    "a row of three dimensions": (lambda x, f, i: 0.5 * x + f[i], (X, F)),
    "a row of float32": (lambda x, f, i: x * np.float32(0.5) + f[i],
                         (X.astype("f4"), F.astype("f4"))),
    "a row of integers": (lambda x, f, i: x // 2 + f[i], (np.arange(9), np.arange(360).reshape(40, 9))),
    "one number of each round": (lambda x, r, i: x * r[i], (X, RATES)),
    "two arrays": (lambda x, f, r, i: x * r[i] + f[i], (X, F, RATES)),
    "the next row": (lambda x, f, i: 0.5 * x + f[i + 1] - f[i], (X, F)),
    "from the end": (lambda x, f, i: 0.5 * x + f[-1 - i], (X, F)),
    "backwards": (lambda x, f, i: 0.5 * x + f[f.shape[0] - 1 - i], (X, F)),
    "the row before, the last one at first": (lambda x, f, i: 0.5 * x + f[i - 1], (X, F)),
    "some rows again": (lambda x, f, i: 0.5 * x + f[i % 3] - f[i // 4], (X, F)),
    "a column": (lambda x, f, i: 0.5 * x + f[:, :, i % 9].T[0, :9], (X[:, :9], F)),
    "a part of a row": (lambda x, f, i: 0.5 * x + f[i, 2, ::-1], (X, F)),
    "an element": (lambda x, f, i: 0.5 * x + f[i, 2, 3], (X, F)),
    "an element by two": (lambda x, f, i: 0.5 * x + f[i, i % 12, 1], (X, F)),
    "a row as a column": (lambda x, r, i: 0.5 * x + r[i, :, None], (X, F[:, :, 0].copy())),
    "an ellipsis": (lambda x, f, i: 0.5 * x + f[..., i % 9][0][:, None], (X, F)),
    "a batch": (lambda x, f, i: 0.5 * x + f[i % 10 * 4 : i % 10 * 4 + 4].max(axis=0), (X, F)),
    "rows that move": (lambda x, f, i: 0.5 * x + f[i : i + 12, 0], (X, F)),
    "rows and columns that move": (lambda x, f, i: 0.5 * x + f[i + 1, i % 3 : i % 3 + 9, i // 12 : i // 12 + 6].T[:1, :9], (X, F)),
    "rows that move, and places": (lambda x, f, p, i: 0.5 * x + f[i, p], (X, F, np.arange(11, -1, -1))),
    "the state itself": (lambda x, i: 0.5 * x + x[i % 12], (X,)),
    "a row that is written": (pascal, (X,)),
    "what is strided": (lambda x, f, i: 0.5 * x + f[i], (X[::-1, ::2], F[::-1, :, ::2])),
    "numbers": (lambda x, i: x * 0.5 + i * 0.1, (X,)),
    "numbers of float32": (lambda x, i: x * np.float32(0.5) + i / 3, (X.astype("f4"),)),
    "powers": (lambda x, i: x * 0.5**i + 2**-i, (X,)),
    "functions of numbers": (lambda x, i: x * 0.5 + np.sin(0.1 * i), (X,)),
    "branches": (alternating, (X,)),
    "another first round": (first_apart, (X, F)),
    "the counter is not used": (lambda x, i: x * 0.5, (X,)),
    "they change places": (lambda u, v, i: (v, u + i), (X, X + 1)),
    "a view": (lambda x, i: x.T, (W,)),
    "no dimensions": (lambda x, i: x * 0.5 + i, (np.array(3.0),)),
    "no elements": (lambda x, f, i: x * 0.5 + f[i], (X[:0], F[:, :0])),
    "a number that is carried": (lambda x, s, i: (x * 0.5 + s, s + i), (X, 1)),
    "a type of NumPy's": (lambda x, s, i: (x * 0.5 + s, s * np.float32(0.5)), (X, np.float32(1))),
    "a number of a kernel": (lambda x, s, i: (x * 0.5 + i, x.max()), (X, np.float64(0))),
    "one that is read": (lambda x, s, i: (x / s + i, x.max()), (X, np.float64(1))),
}  # fmt: skip


@pytest.mark.parametrize("n", [0, 1, 2, 3, 38])
@pytest.mark.parametrize("name", COUNTED)
def test_a_step_gets_the_number_of_its_round(name, n):
    step, args = COUNTED[name]
    before = [np.array(a) for a in args]

    found = ow.repeat(step, n, counter="i")(*args)
    wanted, _ = plain(step, n, args, "i")

    found = found if isinstance(found, tuple) else (found,)
    agree(found, wanted[: len(found)])
    assert not any(np.shares_memory(a, given) for a in found for given in args)
    for a, b in zip(before, args, strict=True):
        np.testing.assert_array_equal(a, b)


ONCE = ["an optimiser with a correction by the round", "heat with a source of each round",
        "one number of each round", "from the end", "some rows again", "an element", "a batch", "rows that move",
        "a row that is written", "the state itself", "a number that is carried"]  # fmt: skip


@pytest.mark.parametrize("name", ONCE)
def test_all_rounds_are_one_compilation_and_few_calls_of_c(name, calls_of_c):
    step, args = COUNTED[name]
    repeated = ow.repeat(step, 20, counter="i")
    repeated(*args)
    calls_of_c.clear()
    repeated(*args)

    assert len(repeated.step.traces) == 1
    assert len(calls_of_c) <= 2  # all, or some rounds together in a kernel, and then the others


@pytest.mark.parametrize(
    "step",
    [
        lambda i, x, f: x * 0.5 + f[i],
        lambda x, i, f: x * 0.5 + f[i],
        lambda x, f, *, i: x * 0.5 + f[i],
        lambda x, f=F, i=-1: x * 0.5 + f[i],
        lambda x, *rest, i: x * 0.5 + rest[0][i],
        ow.fuse(lambda x, f, i: x * 0.5 + f[i]),
    ],
)
def test_the_counter_may_be_any_parameter_and_callers_leave_it_out(step):
    wanted, _ = plain(lambda x, f, i: x * 0.5 + f[i], 5, (X, F), "i")

    agree([ow.repeat(step, 5, counter="i")(X, F)], wanted[:1])


def test_a_default_may_be_left_out_before_the_counter():
    def step(x, f=F, i=-1):
        return x * 0.5 + f[i]

    agree([ow.repeat(step, 5, counter="i")(X)], plain(step, 5, (X,), "i")[0])


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", ONCE)
def test_one_round_on_a_gpu_is_one_round(name, target):
    step, args = COUNTED[name]
    program = ow.repeat(step, 3, counter="i").lower(*args, target=target)

    for number in (0, 7):
        found = program.verify(*args, number)
        agree(found if isinstance(found, tuple) else (found,), plain_round(step, args, number))


def plain_round(step, args, number):
    found = step(*args, number)
    return found if isinstance(found, tuple) else (found,)


def test_what_the_sanitizer_and_the_command_line_see_is_a_round():
    repeated = ow.repeat(lambda x, f, i: x * 0.5 + f[i], 3, counter="i")

    assert ow.sanitize(repeated, X, F).ok
    assert "gather_3d" in repeated.lower(X, F).source


def test_calls_of_several_threads_have_rounds_of_their_own():
    from concurrent.futures import ThreadPoolExecutor

    step, args = COUNTED["heat with a source of each round"]
    repeated = ow.repeat(step, 20, counter="i")
    wanted, _ = plain(step, 20, args, "i")
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: repeated(*args), range(40)):
            agree([found], wanted[:1])
