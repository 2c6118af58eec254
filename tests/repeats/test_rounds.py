"""``ow.repeat`` with what differs from round to round: a counter, numbers, a condition to stop."""

import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes.errors import ArgumentError
from opweave.runtime.host.native import NativeSteps

pytestmark = pytest.mark.host
RNG = np.random.default_rng(0)
X = RNG.uniform(1, 2, (12, 9))
F = RNG.standard_normal((60, 12, 9))
RATES = RNG.uniform(0, 1, 60)
W = RNG.standard_normal((9, 9)) / 9


def plain(step, n, args, counter=None, until=None, every=1):
    """The loop in Python, of the step as it is, by NumPy; and how many rounds there were."""
    args, found, rounds = list(args), None, 0
    for number in range(n):
        found = step(*args, **({} if counter is None else {counter: number}))
        state = found if isinstance(found, tuple) else (found,)
        # of an argument without dimensions NumPy makes a number
        args[: len(state)] = [np.asarray(a) if isinstance(b, np.ndarray) else a
                              for a, b in zip(state, args, strict=False)]  # fmt: skip
        rounds = number + 1
        if until is not None and rounds % every == 0 and until(*args[: len(state)]):
            break
    return args[: len(state)] if n else args, rounds


def agree(found, wanted):
    for a, b in zip(found, wanted, strict=True):
        assert np.shape(a) == np.shape(b)
        assert isinstance(b, np.ndarray) or type(a) is type(b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def adam(w, m, v, x, i):
    g = 2 * (w - x)
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    unbiased = m / (1 - 0.9 ** (i + 1)), v / (1 - 0.999 ** (i + 1))
    return w - 0.01 * unbiased[0] / (np.sqrt(unbiased[1]) + 1e-8), m, v


def heat(u, f, dt, i):
    inner = u[1:-1, 1:-1]
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    new = u.copy()
    new[1:-1, 1:-1] = inner + dt * (around - 4 * inner) + dt * f[i, 1:-1, 1:-1]
    return new


def decaying(w, rate, x):
    return w - rate * (w - x), rate * 0.9


def newton(x, change):
    new = 0.5 * (x + 2 / x)
    return new, np.abs(new - x).max()


def alternating(x, i):
    return x + i if i % 2 == 0 else x * 2


def first_apart(x, f, i):
    return f[0] if i == 0 else 0.5 * x + f[i - 1]


def pascal(x, i):
    y = x * 1.5
    y[i % 12] = y[(i + 1) % 12] + 1
    return y


def momentum(x, v, f, k):
    v = 0.9 * v + f[k]
    return x - v, v


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
def test_all_rounds_are_one_compilation_and_few_calls_of_c(name, monkeypatch):
    step, args = COUNTED[name]
    repeated = ow.repeat(step, 20, counter="i")
    repeated(*args)
    calls, run = [], NativeSteps.start
    monkeypatch.setattr(NativeSteps, "start", lambda self, *a: calls.append(a[1]) or run(self, *a))
    repeated(*args)

    assert len(repeated.step.traces) == 1
    assert len(calls) <= 2  # all, or some rounds together in a kernel, and then the others


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
def test_rounds_of_carried_numbers_are_one_compilation_and_few_calls_of_c(name, monkeypatch):
    step, args = CARRIED[name]
    repeated = ow.repeat(step, 20)
    repeated(*args)
    calls, run = [], NativeSteps.start
    monkeypatch.setattr(NativeSteps, "start", lambda self, *a: calls.append(a[1]) or run(self, *a))
    repeated(*args)

    assert len(repeated.step.traces) == 1
    assert len(calls) <= 2  # all, or some rounds together in a kernel, and then the others


def cosine(x):
    return np.sqrt(1 + x) / 2


def is_still(x, change):
    return change < 1e-10


# step, arguments, counter, until
ENDING = {
    "a fixed point": (newton, (X, np.float64(np.inf)), None, is_still),
    "a fused question": (newton, (X, np.float64(np.inf)), None, ow.fuse(is_still)),
    "of an array": (lambda x: x * 0.5, (X,), None, lambda x: np.all(x < 0.1)),
    "of an array's method": (lambda x: x * 0.5, (X,), None, lambda x: (x < 0.1).all()),
    "of an element": (lambda x: x * 0.5, (X,), None, lambda x: x[0, 0] < 0.1),
    "of numbers alone": (decaying, (X, 0.5, X + 1), None, lambda w, rate: rate < 0.2),
    "of a number of the closure": (lambda x: x * 0.5, (X,), None, lambda x, low=0.1: x.max() < low),
    "of a truth": (lambda x, done: (x * 0.5, x.max() < 1), (X, np.bool_(False)), None, lambda x, done: done),
    "with a counter": (lambda x, f, i: x * 0.5 + f[i], (X, F), "i", lambda x: x.max() < 2.5),
    "with a count": (lambda x, k: (x * 0.5, k + 1), (X, 0), None, lambda x, k: x.max() < 0.1),
    "by Python": (lambda x: x * 0.5, (X,), None, lambda x: bool(x.max() < 0.5) and not (x > 0.4).any()),
    "by Python, of numbers": (decaying, (X, 0.5, X + 1), None, lambda w, rate: "0.2" in str(rate)),
    "never": (lambda x: x * 0.5, (X,), None, lambda x: x.max() < 0),
    "at once": (lambda x: x * 0.5, (X,), None, lambda x: x.max() > 0),
    "never, by itself": (lambda x: x * 0.5, (X,), None, lambda x: False),
    "a view": (lambda x: x.T, (W,), None, lambda x: x[0, 1] == W[1, 0]),
}  # fmt: skip


@pytest.mark.parametrize("every", [1, 2, 3])
@pytest.mark.parametrize("n", [0, 1, 4, 5, 40])
@pytest.mark.parametrize("name", ENDING)
def test_a_loop_ends_where_its_state_is_enough(name, n, every):
    step, args, counter, until = ENDING[name]

    repeated = ow.repeat(step, n, counter=counter, until=until, every=every, return_rounds=True)
    *found, rounds = repeated(*args)
    wanted, number = plain(step, n, args, counter, until, every)

    assert (rounds, type(rounds)) == (number, int)
    agree(found, wanted[: len(found)])
    assert not any(np.shares_memory(a, given) for a in found for given in args)


@pytest.mark.parametrize("last", range(1, 8))
def test_the_state_is_that_of_the_last_round_wherever_it_lies(last):
    def step(u, v, k):
        return v * 0.5, u + k, k + 1

    repeated = ow.repeat(step, 100, until=lambda u, v, k: v.max() * 0 + k >= last)

    agree(repeated(X, X + 1, 0), plain(step, last, (X, X + 1, 0))[0])


def test_a_question_is_part_of_the_step_and_c_asks_it(monkeypatch):
    repeated = ow.repeat(
        lambda x: x * 0.5, 100, until=lambda x: x.max() < 1e-4, return_rounds=True
    )
    _, rounds = repeated(X)
    calls, run = [], NativeSteps.start
    monkeypatch.setattr(NativeSteps, "start", lambda self, *a: calls.append(a[1]) or run(self, *a))
    repeated(X)

    assert rounds == 15
    assert calls == [16]


def test_without_a_condition_all_rounds_are_counted():
    assert ow.repeat(lambda x: x * 0.5, 3, return_rounds=True)(X)[1] == 3
    assert ow.repeat(lambda x, y: (y, x), 0, return_rounds=True)(X, X)[2] == 0
    assert ow.repeat(lambda x, i: x + i, 4, counter="i", return_rounds=True)(X)[1] == 4


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
def test_numbers_of_kernels_stay_in_memory_for_the_next_round(name, monkeypatch):
    step, args = READ[name]
    repeated = ow.repeat(step, 20)
    repeated(*args)
    calls, run = [], NativeSteps.start
    monkeypatch.setattr(NativeSteps, "start", lambda self, *a: calls.append(a[1]) or run(self, *a))
    repeated(*args)

    assert calls == [20]
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


def test_what_a_later_round_would_raise_is_raised_if_it_comes_to_it():
    def step(x, i):
        return x + 1 / (3 - i)

    with pytest.raises(ZeroDivisionError):
        ow.repeat(step, 5, counter="i")(X)
    agree([ow.repeat(step, 3, counter="i")(X)], plain(step, 3, (X,), "i")[0])
    repeated = ow.repeat(step, 9, counter="i", until=lambda x: x.max() > X.max() + 1)
    agree([repeated(X)], plain(step, 3, (X,), "i")[0])


def test_a_round_without_a_row_is_found():
    repeated = ow.repeat(lambda x, f, i: x + f[i], 61, counter="i")

    with pytest.raises(IndexError, match="index 60 is out of bounds for axis 0 .* size 60"):
        repeated(X, F)
    with pytest.raises(IndexError, match="out of bounds"):
        ow.repeat(lambda x, p: x[p], 3, counter=None, until=lambda x: x.max() < 0)(
            X, np.full(12, 40)
        )


def halved(x, k):
    return x * 0.5, k + 1


NO_OPTIONS = [
    ({"counter": "j"}, "counter='j': halved has no such parameter; it takes x, k"),
    ({"counter": 1}, "counter=1: halved has no such parameter"),
    ({"until": 3}, "until=3: expected a function"),
    ({"until": is_still, "every": 0}, "every=0: expected a whole number, 1 or more"),
    ({"until": is_still, "every": 1.5}, "every=1.5: expected a whole number"),
    ({"until": is_still, "every": True}, "every=True: expected a whole number"),
    ({"every": 2}, "every=2 says how often until= is asked"),
    ({"return_rounds": 1}, "return_rounds=1: expected True or False"),
]


@pytest.mark.parametrize(("options", "message"), NO_OPTIONS)
def test_an_option_that_cannot_be_is_refused(options, message):
    with pytest.raises(ArgumentError, match=message):
        ow.repeat(halved, 3, **options)


def test_a_counter_that_is_static_or_many_is_refused():
    with pytest.raises(ArgumentError, match="counter='k' is static"):
        ow.repeat(ow.fuse(halved, static_argnames="k"), 3, counter="k")
    with pytest.raises(ArgumentError, match="counter='k': .* no such parameter"):
        ow.repeat(lambda x, *k: x, 3, counter="k")


REFUSED = [
    (lambda x, i: x[1:], (X,), {"counter": "i"}, r"result 0 .* float64\[11, 9\], and argument 'x'"),
    (lambda x, i: x.astype("f4"), (X,), {"counter": "i"}, r"result 0 .* float32\[12, 9\], and"),
    (lambda i, x, y: (y, i), (X, X), {"counter": "i"}, "result 1 .* a number, and argument 'y'"),
    (lambda x, k: (x, k + 0.5), (X, 3), {}, "returns float for argument 'k', which was int; begin"),
    (lambda x, k: (x, k * np.float32(2)), (X, 0.5), {}, "returns float32 for argument 'k', which was"),
    (newton, (X, 0.0), {}, r"result 1 of newton is float64\[\], and argument 'change', .* float;"),
    (lambda x, i: {"x": x}, (X,), {"counter": "i"}, "returns neither an array nor a tuple"),
    (lambda x, i: (x, x), (X,), {"counter": "i"}, "2 results and 1 arguments"),
    (lambda x, i: x[:i].sum() + x, (X,), {"counter": "i"}, "asks for the value of its counter 'i'"),
    (lambda x, i: x + sum(range(i)), (X,), {"counter": "i"}, "asks for the value of its counter"),
    (lambda x: x, (X,), {"until": lambda x: x.max()}, r"until=kernel returns float64; expected one"),
    (lambda x: x, (X,), {"until": lambda x: x > 0}, r"returns bool\[12, 9\]; expected one bool"),
    (lambda x: x, (X,), {"until": lambda x: None if x.max() > 0 else True}, "returns NoneType; expected one"),
    (lambda x: x, (X,), {"until": lambda x: None}, "returns NoneType; expected one bool"),
    (lambda x: x, (X,), {"until": lambda x: 1}, "returns int; expected one bool"),
    (lambda x: x, (X,), {"until": lambda x: (x.max() > 0, 1)}, "returns tuple; expected one bool"),
    (lambda x: x, (X,), {"until": lambda x, y: True}, "argument"),
]  # fmt: skip


@pytest.mark.parametrize(("step", "args", "options", "message"), REFUSED)
@pytest.mark.parametrize("n", [1, 5])
def test_what_cannot_be_carried_or_asked_is_refused(step, args, options, message, n):
    with pytest.raises((ArgumentError, TypeError), match=message):
        ow.repeat(step, n, **options)(*args)


def decay_towards(x, rate, f, i):
    return x - rate * (x - f[i]), rate * 0.5


# at the top of the module, so that they are pickled by name
LOOP = ow.repeat(decay_towards, 5, counter="i")


def is_low(x, rate=0):
    return x.max() < 0.5


def test_it_may_stand_in_a_fused_function_and_in_another_step():
    inner = ow.repeat(lambda x, f, i: x * 0.5 + f[i], 3, counter="i")
    halves = ow.repeat(lambda x: x * 0.5, 9, until=is_low, return_rounds=True)
    wanted = plain(lambda x, f, i: x * 0.5 + f[i], 3, (X, F), "i")[0][0]

    agree([ow.fuse(lambda x, f: inner(x, f) + 1, fullgraph=True)(X, F)], [wanted + 1])
    agree([ow.repeat(inner, 1)(X, F)], [wanted])
    state, rounds = ow.fuse(lambda x: halves(x))(X)
    agree([state], plain(lambda x: x * 0.5, 9, (X,), None, is_low)[0])
    assert rounds == 2


@pytest.mark.parametrize("copied", [
    LOOP, ow.repeat(decay_towards, 5, counter="i", until=ow.fuse(is_low), every=2),
])  # fmt: skip
def test_it_is_pickled_with_what_differs(copied):
    loaded = pickle.loads(pickle.dumps(copied))
    copied(X, 0.5, F)

    agree(loaded(X, 0.5, F), copied(X, 0.5, F))
    agree(pickle.loads(pickle.dumps(copied))(X, 0.5, F), copied(X, 0.5, F))


@pytest.mark.filterwarnings("ignore::opweave.OpweaveWarning")
def test_numpys_warnings_are_those_of_each_round():
    def step(x, i):
        return x / (i - 2.0)

    with ow.config(errors="numpy"), np.errstate(divide="ignore"):
        agree([ow.repeat(step, 4, counter="i")(X)], plain(step, 4, (X,), "i")[0])
    with ow.config(errors="numpy"), np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        ow.repeat(lambda x, i: x / (x - x), 4, counter="i")(X)


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


def test_the_page_prints_what_it_says(capsys):
    page = (Path(__file__).parents[2] / "docs" / "graphs.md").read_text()
    section = page.partition("### Rounds that differ")[2]
    code, printed = re.findall(r"```(?:python|text)\n(.*?)```", section, re.DOTALL)[:2]
    exec(compile(code, "docs/graphs.md", "exec"), {})

    assert capsys.readouterr().out == printed
