"""``ow.repeat``: numbers that a step returns are those of the next round."""

import numpy as np
import pytest

import opweave as ow
from tests.repeats.loops import RATES, RNG, F, W, X, agree, decaying, heat, momentum, newton, plain

pytestmark = pytest.mark.host


CARRIED = {
    "a rate that decays": (decaying, (X, 0.5, X + 1)),
    "a count": (lambda x, k: (x * 0.5 + k, k + 1), (X, 0)),
    "a place in an array": (momentum, (X, X * 0, F, 0)),
    "a place that is carried": (lambda x, k, f: (x * 0.5 + f[k], k + 1), (X, 0, F)),
    "a complex number": (lambda x, z: (x * z, z * 1j), (X + 0j, 1 + 0j)),
    "a number of float32": (lambda x, s: (x * s, s / 3), (X.astype("f4"), np.float32(1))),
    "two numbers that change places": (lambda x, a, b: (x + a, b, a), (X, 1.0, 0.25)),
    "one in front of the array": (lambda s, x: (s * 0.5, x * s), (1.0, X)),
    "a number alone": (lambda s, x: s * 0.5, (1.0, X)),
    "how far it went": (newton, (X, np.float64(np.inf))),
    "how far, and its half": (lambda x, s: (x * 0.5 + s, x.max() / 2), (X, np.float64(1))),
    "a truth": (lambda x, done: (x * 0.5, x.max() < 1), (X, np.bool_(False))),
    "a bool of Python's": (lambda x, odd: (x * 2 if odd else x + 1, not odd), (X, True)),
}


@pytest.mark.parametrize("n", [0, 1, 2, 3, 38])
@pytest.mark.parametrize("name", CARRIED)
def test_numbers_are_carried_as_arrays_are(name, n):
    step, args = CARRIED[name]

    found = ow.repeat(step, n)(*args)
    wanted, _ = plain(step, n, args)

    found = found if isinstance(found, tuple) else (found,)
    agree(found, wanted[: len(found)])


@pytest.mark.parametrize(
    "name", ["a rate that decays", "a place that is carried", "how far it went"]
)
def test_rounds_of_carried_numbers_are_one_compilation_and_few_calls_of_c(name, calls_of_c):
    step, args = CARRIED[name]
    repeated = ow.repeat(step, 20)
    repeated(*args)
    calls_of_c.clear()
    repeated(*args)

    assert len(repeated.step.traces) == 1
    assert len(calls_of_c) <= 2  # all, or some rounds together in a kernel, and then the others


def conjugate(x, r, p, rr, a):
    ap = a @ p
    alpha = rr / (p @ ap)
    x, r = x + alpha * p, r - alpha * ap
    new = r @ r
    return x, r, r + (new / rr) * p, new


def power(v, value, a):
    w = a @ v
    return w / np.sqrt((w * w).sum()), (v @ w) / (v * v).sum()


def scaled(x, largest):
    return x / largest + 0.5, np.abs(x).max()


def by_sign(x, low):
    return (x * 0.5 if low > 1 else x + 2), x.min()


def kinds(x, s):
    return x * s if isinstance(s, np.float64) else x, x.max() / 4


SYMMETRIC = W @ W.T + 9 * np.eye(9)
VECTOR = RNG.uniform(-1, 1, 9)
# numbers that kernels compute and that the next round reads
READ = {
    "a method of conjugate gradients": (conjugate, (VECTOR * 0, VECTOR, VECTOR, VECTOR @ VECTOR, SYMMETRIC)),
    "a power iteration": (power, (VECTOR, np.float64(0), SYMMETRIC)),
    "the largest element": (scaled, (X, np.float64(3))),
    "the largest one of float32": (scaled, (X.astype("f4"), np.float32(3))),
    "of integers": (lambda x, s: (x - s // 2, x.max()), (np.arange(20), np.int64(7))),
    "a place": (lambda x, p: (x * 1.5 - x[p], np.argmax(x)), (VECTOR, np.int64(3))),
    "in front": (lambda s, x: (x.max(), x / s + 1), (np.float64(2), X)),
    "that change places": (lambda x, a, b: (x / a + 1, b, x.max()), (X, np.float64(2), np.float64(3))),
    "its type is asked for": (kinds, (X, np.float64(1))),
    "its value is asked for": (by_sign, (X, np.float64(1))),
}  # fmt: skip


@pytest.mark.parametrize("n", [0, 1, 2, 3, 38])
@pytest.mark.parametrize("name", READ)
def test_numbers_of_kernels_are_those_of_a_loop_over_the_fused_step(name, n):
    step, args = READ[name]
    fused = ow.fuse(step, fullgraph=True)

    found = ow.repeat(step, n)(*args)
    agree(found, plain(fused, n, args)[0][: len(found)])
    if name in ("the largest element", "of integers", "its value is asked for"):  # NumPy's bits
        agree(found, plain(step, n, args)[0])


@pytest.mark.parametrize(
    "name",
    [n for n in READ if n not in ("a place", "its value is asked for", "that change places")],
)
def test_numbers_of_kernels_stay_in_memory_for_the_next_round(name, calls_of_c):
    step, args = READ[name]
    repeated = ow.repeat(step, 20)
    repeated(*args)
    calls_of_c.clear()
    repeated(*args)

    assert calls_of_c == [20]
    assert len(repeated.step.traces) == 1


@pytest.mark.parametrize(("step", "args", "counter", "together"), [
    (lambda x, i: x * 0.5 + 0.1 * i, (X,), "i", 16),
    (lambda x, f, i: x * 0.5 + f[i], (X, F), "i", 16),
    (lambda x, r: (x * 0.5 + r, r * 0.9), (X, 1.0), None, 16),
    (lambda x, k, i: (x * k + i, k + 2), (X, 1), "i", 16),
    (lambda x, r, i: x * r[i], (X, RATES), "i", 1),  # two kernels
    (heat, (X, F, 0.2), "i", 1),  # neighbours
    (lambda x, s: (x * 0.5, x.max()), (X, np.float64(0)), None, 1),
])  # fmt: skip
def test_rounds_of_elements_are_together_in_one_kernel(step, args, counter, together):
    repeated = ow.repeat(step, 40, counter=counter)
    found = repeated(*args)
    (known,) = repeated._rounds._known.values()

    agree(found if isinstance(found, tuple) else [found], plain(step, 40, args, counter)[0])
    assert known._together[0] == together


def test_a_number_that_is_asked_for_is_that_of_its_round_also_in_a_loop_that_ends():
    def until(x, low):
        return x.max() > 20

    found = ow.repeat(by_sign, 30, until=until, return_rounds=True)(X, np.float64(1))
    wanted, rounds = plain(by_sign, 30, (X, np.float64(1)), None, until)

    agree(found, [*wanted, rounds])


def test_what_one_round_of_many_raises_is_raised():
    with pytest.raises(ZeroDivisionError):
        ow.repeat(lambda x, i: x * 0.5 + 1 / (20 - i), 40, counter="i")(X)
    with pytest.raises(ZeroDivisionError):
        ow.repeat(lambda x, k: (x * 0.5, 1.0 / (2.0 - k)), 40)(X, 2.0)
