"""Random programs of steps on arrays, views and writes; NumPy does the same on copies."""

import random

import numpy as np
import pytest

import opweave.xp as xp

STEPS, MOST = 25, 400


class Held:
    """An array of ours, and what it has to hold."""

    def __init__(self, ours, meant):
        self.ours, self.meant = ours, np.array(meant)


def made(call):
    """A step that makes an array by the same call of both."""
    return lambda held, a, b, _: held.append(
        Held(call(xp, a.ours, b.ours), call(np, a.meant, b.meant))
    )


def written(call):
    """A step that changes an array in place."""

    def step(_, a, b, number):
        call(a.ours, b.ours, number)
        call(a.meant, b.meant.copy(), number)

    return step


def look(_, a, b, number):
    assert_holds(a)


def drop(held, a, *_):
    held.remove(a)


def put(x, y, number):
    x[...] = y


def put_number(x, y, number):
    x[:1] = number


def put_where(x, y, number):
    x[x > 1.0] = number


def add_to(x, y, number):
    x += number


def fits(a, b):
    """Whether the second broadcasts to the first."""
    extents = zip(a.meant.shape[::-1], b.meant.shape[::-1], strict=False)
    return a.meant.ndim >= b.meant.ndim and all(n in (1, m) for m, n in extents)


def always(a, b):
    return True


def has_axes(a, b):
    return a.meant.ndim > 0


def of_two(a, b):
    return a.meant.ndim == 2


STEPS_OF = [
    (always, made(lambda m, a, b: a * 2.0)),
    (fits, made(lambda m, a, b: a + b)),
    (has_axes, made(lambda m, a, b: a[1:])),
    (has_axes, made(lambda m, a, b: m.flip(a, axis=0))),
    (always, made(lambda m, a, b: m.reshape(a, (-1,)))),
    (of_two, made(lambda m, a, b: a.T)),
    (has_axes, made(lambda m, a, b: m.sum(a, axis=0, keepdims=True))),
    (always, made(lambda m, a, b: m.where(a > 0.5, a, -a))),
    (has_axes, made(lambda m, a, b: m.concat([a, a], axis=0))),
    (has_axes, written(put_number)), (fits, written(put)), (has_axes, written(put_where)),
    (always, written(add_to)), (always, look), (always, drop),
]  # fmt: skip


def assert_holds(held):
    assert np.array_equal(np.asarray(held.ours), held.meant)


def run(seed):
    choose, start = random.Random(seed), np.random.default_rng(seed).integers(0, 8, (3, 4)) / 4
    held = [Held(xp.asarray(start), start)]
    for _ in range(STEPS):
        a, b = choose.choice(held), choose.choice(held)
        allowed, step = choose.choice(STEPS_OF)
        if allowed(a, b) and a.meant.size <= MOST:
            step(held, a, b, choose.randrange(8) / 4)
        held = held or [Held(xp.asarray(start), start)]
    for each in held:
        assert_holds(each)


@pytest.mark.parametrize("seed", range(60))
def test_arrays_hold_what_copies_would(at_once, seed):
    run(seed)


@pytest.mark.host
@pytest.mark.parametrize("seed", range(100, 120))
def test_so_do_those_that_kernels_compute(kept, seed):
    run(seed)
