"""What loops in C answer to: errors in the middle, changes from outside, and what they leave."""

from __future__ import annotations

import signal
import threading
import time
import types
import warnings

import numpy as np
import pytest

import opweave as ow
from opweave._loops.rolled import Rolled
from opweave.compiler.captures.source import NoLoopError
from tests.loops import programs
from tests.loops.programs import PROGRAMS, row, square, words
from tests.loops.test_loops_in_c import called, called_once, is_same, run_in_c

pytestmark = pytest.mark.host


def reads_beyond(x):
    for i in range(len(x)):
        x[i] = x[i + 1] + 1


def reads_before(x):
    for i in range(len(x)):
        x[i] = x[i - len(x) - 1]


def of_other_lengths(x):
    for i in range(4):
        x[: 5 - i] += x[: 3 + i]


def assigns_too_much(x):
    for i in range(3, 9):
        x[:i] = x[: 2 * i - 3] * 2


def divides_python_floats(x):
    s = 4.0
    for i in range(len(x)):
        s -= 1.0
        x[i] = 1.0 / s


def divides_python_integers(x):
    for i in range(len(x)):
        x[i] += 7 // (3 - i)


def divides_numpy_floats(x):
    for i in range(len(x)):
        x[i] = x[i] / (x[i] - x[i])


def takes_too_large(x):
    for i in range(len(x)):
        x[i] = x[i] + (i + 98)


def of_nothing(x):
    for i in range(5, -1, -1):
        x[i] = np.max(x[:i])


def products_of_other_lengths(x):
    for i in range(6):
        x[0] = x[: 5 - i] @ x[:3]


def one_becomes_many(x):
    for i in range(1, 4):
        x[:4] += x[4 : 4 + i] * x[:1]


FAULTS = {
    "reads_beyond": (reads_beyond, row(9)),
    "reads_before": (reads_before, row(9)),
    "of_other_lengths": (of_other_lengths, row(9)),
    "assigns_too_much": (assigns_too_much, row(9)),
    "divides_python_floats": (divides_python_floats, row(9)),
    "divides_python_integers": (divides_python_integers, words(9, 1)),
    "divides_numpy_floats": (divides_numpy_floats, row(9)),
    "takes_too_large": (takes_too_large, words(60, 1, "i1")),
    "of_nothing": (of_nothing, row(9)),
    "products_of_other_lengths": (products_of_other_lengths, row(9)),
    "one_becomes_many": (one_becomes_many, row(9)),
}


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_error_in_the_middle_is_numpys_and_leaves_the_arrays_as_numpy_does(name):
    function, x = FAULTS[name]
    expected, found = called(function, (x,)), run_in_c(function, (x,))

    raised, kinds = expected[0], found[0]
    assert (raised and raised[0]) == (kinds and kinds[0])
    np.testing.assert_array_equal(expected[1][0], found[1][0])


def test_the_texts_of_errors_are_numpys():
    for function in (reads_beyond, divides_python_integers):
        x = words(9, 1)
        assert called(function, (x,))[0] == run_in_c(function, (x,))[0]


def test_an_integer_that_leaves_64_bits_is_an_error():
    def grows(x):
        n = 1
        for i in range(len(x)):
            n = n * 10
            x[i] = 1.0
        return n

    assert run_in_c(grows, (np.zeros(5),))[0] == 100000
    assert run_in_c(grows, (np.zeros(40),))[0][0] is ow.errors.OutOfRangeError


# ---- what is left to Python


def prints(x):
    for i in range(3):
        print(i, end="")
        x[i] = i


def sorts(x):
    for _ in range(3):
        x[:] = np.partition(x, 3)


def appends(x):
    found = []
    also = found
    for i in range(len(x)):
        found.append(x[i])
        also.append(i)
    return found


def of_several_types(x):
    s = 1
    for i in range(len(x)):
        if x[i] > 0.5:
            s = x[i]
    return s


def swaps(x, y):
    for _ in range(3):
        x, y = y, x
    return x


def chars(x):
    s = ""
    for i in range(3):
        s += str(i)
    return s


LEFT = {
    f.__name__: (f, args)
    for f, *args in (
        (prints, row(5)), (sorts, row(5)), (appends, row(5)),
        (of_several_types, row(5, "f4")),
        (swaps, row(5), row(4)), (chars, row(5)),
    )
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
def test_what_c_does_not_run_python_does(name, capsys):
    function, args = LEFT[name]
    expected = called(function, tuple(args))
    said = capsys.readouterr().out
    try:
        rolled = Rolled(function)
    except NoLoopError:
        return
    found = called_once(rolled, tuple(args))

    assert not rolled.ran
    assert capsys.readouterr().out == said
    assert is_same(expected, found, exactly=True)


@pytest.mark.parametrize(
    "args",
    [
        (np.tril(square(9)), np.zeros(9), np.array(["a"] * 9)),
        (np.tril(square(9)), np.zeros(9), np.ma.masked_array(row(9))),
        (np.matrix(np.tril(square(9))), np.zeros(9), row(9)),
        (np.tril(square(9)).astype(object), np.zeros(9), row(9)),
        (np.tril(square(9)).astype(">f8"), np.zeros(9), row(9)),
    ],
    ids=["texts", "masked", "matrix", "objects", "big_endian"],
)
@pytest.mark.filterwarnings("ignore")
def test_other_arrays_are_pythons(args):
    rolled = Rolled(programs.forward)
    expected, found = called(programs.forward, args), called(rolled, args)

    assert not rolled.ran
    assert expected[0] is None or expected[0][0] is found[0][0]
    if expected[0] is None:
        np.testing.assert_array_equal(expected[1][1], found[1][1])


def test_arrays_that_share_memory_are_pythons():
    rolled = Rolled(programs.recurrence)
    x, y = row(20), row(20)
    programs.recurrence(0.5, x[:-1], x[1:])
    rolled(0.5, y[:-1], y[1:])

    assert not rolled.ran
    np.testing.assert_array_equal(x, y)
    rolled(0.5, row(20), np.zeros(20))
    assert rolled.ran


def test_one_array_under_two_names_is_pythons():
    def adds(x, y):
        for i in range(len(x) - 1):
            x[i + 1] += y[i]

    rolled = Rolled(adds)
    x, y = row(9), row(9)
    adds(x, x)
    rolled(y, y)
    assert not rolled.ran
    np.testing.assert_array_equal(x, y)


def test_a_read_only_array_is_pythons():
    y = np.zeros(9)
    y.flags.writeable = False
    rolled = Rolled(programs.recurrence)
    with pytest.raises(ValueError, match="read-only"):
        rolled(0.5, row(9), y)
    assert not rolled.ran


# ---- what is outside

GAIN = 2.0


def helper(x):
    return x * GAIN


def reads_outside(x, k=1.0):
    for i in range(len(x)):
        x[i] = helper(x[i]) + (k if x[i] > 0.5 else 0.0)


def test_what_is_outside_is_read_at_each_call(monkeypatch):
    fused = ow.fuse(reads_outside)

    def results():
        x, y = row(30), row(30)
        fused(x)
        reads_outside(y)
        assert fused.fallback.loops.known
        return x, y

    np.testing.assert_array_equal(*results())
    monkeypatch.setitem(globals(), "GAIN", 3.0)
    np.testing.assert_array_equal(*results())
    monkeypatch.setitem(globals(), "helper", lambda x: x - GAIN)
    np.testing.assert_array_equal(*results())
    monkeypatch.setattr(reads_outside, "__defaults__", (5.0,))
    np.testing.assert_array_equal(*results())


def test_a_function_of_numpy_that_was_replaced_is_seen(monkeypatch):
    def roots(x):
        for i in range(len(x)):
            x[i] = np.sqrt(x[i])

    rolled = Rolled(roots)
    x = row(9)
    rolled(x.copy())
    monkeypatch.setattr(np, "sqrt", np.cbrt)
    found = x.copy()
    rolled(found)
    np.testing.assert_array_equal(found, np.cbrt(x))


def test_a_function_whose_source_has_changed_has_no_loops_in_c(tmp_path):
    path = tmp_path / "changing.py"
    path.write_text("def f(x):\n    for i in range(len(x)):\n        x[i] = i\n")
    made = types.ModuleType("changing")
    exec(compile(path.read_text(), str(path), "exec"), made.__dict__)
    path.write_text("def f(x):\n    for i in range(len(x)):\n        x[i] = -i\n")
    with pytest.raises(NoLoopError, match="source"):
        Rolled(made.f)


def test_closures_and_nested_functions():
    scale = 3.0

    def outer(x):
        k = 2

        def inner():
            return k

        for i in range(len(x)):
            x[i] = x[i] * scale
        for k in range(3):
            x[k] += inner()

    x, y = row(9), row(9)
    rolled = Rolled(outer)
    rolled(x)
    outer(y)
    assert rolled.ran
    np.testing.assert_array_equal(x, y)


def test_behind_an_error_names_hold_what_they_held():
    def catches(x):
        s = 0.0
        try:
            for i in range(len(x)):
                s += x[i + 1]
        except IndexError:
            return s, i
        return s, -1

    with pytest.raises(NoLoopError):
        Rolled(catches)


# ---- how it runs


def test_a_signal_ends_a_loop():
    def forever(x):
        while x[0] < 2:
            x[1] += 1.0

    rolled = Rolled(forever)
    rolled(np.array([3.0, 0.0]))
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job has none
    begun = time.monotonic()
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            rolled(np.zeros(2))
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - begun < 30


def test_threads_run_the_same_loop():
    rolled = Rolled(programs.durbin)
    expected = programs.durbin(row(30) / 30)[0]
    rolled(row(30) / 30)
    found: list[np.ndarray] = []
    threads = [
        threading.Thread(target=lambda: found.append(rolled(row(30) / 30)[0])) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for one in found:
        np.testing.assert_allclose(one, expected)


# ---- as a fused function


@pytest.mark.parametrize("name", ["lu", "folding", "edit_distance", "wave"])
def test_a_fused_function_runs_its_loops_in_c(name):
    function, args = PROGRAMS[name]
    fused = ow.fuse(function)
    for _ in range(2):
        assert is_same(called(function, args), called(fused, args), name != "lu")
    found = fused.explain(*args)
    assert "C runs 1 loop(s), " in found.text
    assert 'extern "C" int loop' in found.sources[0]


def test_loops_may_be_left_to_python():
    function, args = PROGRAMS["wave"]
    fused = ow.fuse(function)
    assert "C runs" in fused.explain(*args).text
    with ow.config(loops=False):
        assert "C runs" not in fused.explain(*args).text


@pytest.mark.parametrize(
    ("name", "small"),
    [
        ("forward", (np.tril(square(5)), np.zeros(5), row(5))),
        ("backward", (np.triu(square(5)), np.zeros(5), row(5))),
        ("recurrence", (0.5, row(5), np.zeros(5))),
        ("shortest_paths", (square(4),)),
        ("wave", (row(9), np.zeros(9), 0.1, 3)),
        ("gram_schmidt", (square(3), np.zeros((3, 3)), np.zeros((3, 3)))),
    ],
)
def test_rolled_equals_unrolled_in_every_bit(name, small):
    function = PROGRAMS[name][0]
    whole = called(ow.fuse(function, fullgraph=True), small)
    assert not isinstance(whole[0], tuple)
    assert is_same(whole, run_in_c(function, small), exactly=True)


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 100, 65536, 65537, 200_001])
def test_rows_are_summed_by_the_plan_of_every_row(count):
    def sums(x, found):
        for i in range(1):
            found[i] = np.sum(x * x)

    x, found = row(count), np.zeros(1)
    run = Rolled(sums)
    run(x, found)
    assert run.ran
    assert found[0] == ow.fuse(lambda x: np.sum(x * x))(x)


def network(x):
    return [np.tanh(np.nancumsum(x[::-1], axis=0) + k).sum(axis=0) for k in range(14)]


def raises_late(x):
    for k in range(20):
        x += k
        x[-1] = x[k]


@pytest.mark.parametrize("function", [network, raises_late])
def test_a_whole_of_many_kernels_that_c_cannot_run_stays_a_whole_or_raises(function):
    fused = ow.fuse(function)
    x = square(6) if function is network else row(9)
    for _ in range(2):
        expected, found = called(function, (x,)), called(fused, (x,))
        assert is_same(expected[1], found[1], exactly=False)
        if function is raises_late:
            assert issubclass(found[0][0], expected[0][0])
        else:
            assert is_same(expected[0], found[0], exactly=False)
    if function is network:
        assert fused.prepared_calls.is_known
        assert "C runs" not in fused.explain(x).text


def test_learning_under_an_errstate_that_raises_ends():
    fused = ow.fuse(network)
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fused(square(6))
    assert fused.prepared_calls.is_known
