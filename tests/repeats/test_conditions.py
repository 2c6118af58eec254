"""``ow.repeat``: loops end where their state is enough, and what is no loop is refused."""

import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes.errors import ArgumentError
from tests.repeats.loops import F, W, X, agree, decaying, newton, plain

pytestmark = pytest.mark.host


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


def test_a_question_is_part_of_the_step_and_c_asks_it(calls_of_c):
    repeated = ow.repeat(
        lambda x: x * 0.5, 100, until=lambda x: x.max() < 1e-4, return_rounds=True
    )
    _, rounds = repeated(X)
    calls_of_c.clear()
    repeated(X)

    assert rounds == 15
    assert calls_of_c == [16]


def test_without_a_condition_all_rounds_are_counted():
    assert ow.repeat(lambda x: x * 0.5, 3, return_rounds=True)(X)[1] == 3
    assert ow.repeat(lambda x, y: (y, x), 0, return_rounds=True)(X, X)[2] == 0
    assert ow.repeat(lambda x, i: x + i, 4, counter="i", return_rounds=True)(X)[1] == 4


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


def test_the_page_prints_what_it_says(capsys):
    page = (Path(__file__).parents[2] / "docs" / "graphs.md").read_text()
    section = page.partition("### Rounds that differ")[2]
    code, printed = re.findall(r"```(?:python|text)\n(.*?)```", section, re.DOTALL)[:2]
    exec(compile(code, "docs/graphs.md", "exec"), {})

    assert capsys.readouterr().out == printed
