"""Loops over time on a GPU: a round is compiled once, and launched as often as Python says."""

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.pipeline import specialise
from tests.rounds.cupy_by_shim import on_gpu
from tests.rounds.programs import ENDED, NO_ROUND, OTHERS, PROGRAMS
from tests.support import gpu_on_host

pytestmark = pytest.mark.nvrtc
N = 11
N_OF_TESTS = 5
OF_NUMBERS = ("until_a_number", "left_early")  # which no array ends


def given(args):
    """Copies of arguments, on the GPU."""
    return [on_gpu(a) if isinstance(a, np.ndarray) else a for a in args]


def leaves(found):
    return found if isinstance(found, tuple) else (found,)


def bits(found):
    """Results or arguments as bytes, and their types."""
    return [(np.asarray(a).dtype, np.shape(a), np.asarray(a).tobytes()) for a in leaves(found)]


def copied(args):
    """Copies of arguments, as NumPy has them."""
    return [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]


def loop_of(fused):
    """How calls of one kind run; None where they are wholes, or Python's."""
    return next(iter(fused.fallback.device_loops.known.values()), None)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_is_rolled_bit_for_bit_as_it_would_be_written_out(rolled, name):
    function, args = PROGRAMS[name]
    fused, whole = ow.fuse(function), ow.fuse(function, fullgraph=True)
    for n in (N, 1, 2, N + 3):
        own, others, numpys = given(args), given(args), copied(args)
        found, wanted = fused(*own, n), whole(*others, n)

        assert bits(found) == bits(wanted), n
        assert bits(tuple(own)) == bits(tuple(others)), n
        for a, b in zip(leaves(found), leaves(function(*numpys, n)), strict=True):
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-10)
    loop = loop_of(fused)
    assert loop.rounds.why == ""
    assert loop.rounds.listed


@pytest.mark.parametrize("name", ENDED)
def test_a_loop_that_a_condition_ends_runs_as_many_rounds_as_numpys(rolled, name):
    function, args = ENDED[name]
    fused = ow.fuse(function)
    for n in (N, 1, N + 3, 200):
        own, numpys = given(args), copied(args)
        found, wanted = fused(*own, n), function(*numpys, n)
        for a, b in zip((*leaves(found), *own), (*leaves(wanted), *numpys), strict=True):
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-7, atol=1e-12)
    assert fused.fallback.device_loops.left == ""
    assert name in (*OF_NUMBERS, *NO_ROUND) or loop_of(fused).rounds.single


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_a_loop_that_numbers_end_is_a_whole_unless_it_is_long(gpu, name, monkeypatch):
    function, args = ENDED[name]
    for most, is_rolled in ((specialise.MOST_LOWERED, False), (100, True)):
        monkeypatch.setattr(specialise, "MOST_LOWERED", most)
        fused, numpys = ow.fuse(function), copied(args)
        found, wanted = fused(*given(args), 40), function(*numpys, 40)
        for a, b in zip(leaves(found), leaves(wanted), strict=True):
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-7, atol=1e-12)
        assert (loop_of(fused) is not None) == is_rolled


@pytest.mark.filterwarnings("ignore::opweave.OpweaveWarning")
@pytest.mark.parametrize("name", OTHERS)
def test_other_loops_mean_what_python_means(rolled, name):
    function, args = OTHERS[name]
    fused = ow.fuse(function)
    for n in (N, 1, N + 3):
        own, numpys = given(args), copied(args)
        found, wanted = fused(*own, n), function(*numpys, n)
        for a, b in zip((*leaves(found), *own), (*leaves(wanted), *numpys), strict=True):
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-10)


def test_a_loop_without_rounds_does_nothing(rolled):
    for name, (function, args) in PROGRAMS.items():
        own, numpys = given(args), copied(args)
        if name in ("backwards", "in_strides"):  # whose counter is read
            with pytest.raises(UnboundLocalError):
                ow.fuse(function)(*own, 0)
            continue
        found, wanted = ow.fuse(function)(*own, 0), function(*numpys, 0)
        for a, b in zip((*leaves(found), *own), (*leaves(wanted), *numpys), strict=True):
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-10)


def test_names_keep_what_they_had_where_no_round_comes(rolled):
    def kept(u, first, last):
        w = u * 3
        for _ in range(first, last):
            w = u * 2
            u = u * 0.5 + 0.1 * np.roll(u, 1)
        return w

    fused, u = ow.fuse(kept), PROGRAMS["heat"][1][0]
    for first, last in ((64, 127), (100, 100), (64, 127), (127, 64)):  # of one class of sizes
        found = fused(on_gpu(u), first, last)
        np.testing.assert_allclose(np.asarray(found), kept(u, first, last), rtol=1e-12)
        assert loop_of(fused) is not None


def closed(source, rate):
    def step(u, n):
        for t in range(n):
            u = u * rate + source[t]
        return u

    return step


def test_what_a_loop_reads_from_outside_is_there(rolled):
    rate = 0.5
    for source in (np.copy(PROGRAMS["backwards"][1][1]), PROGRAMS["a_counter"][1][1] * 2):
        for rate in (0.5, 0.25):
            fused = ow.fuse(closed(on_gpu(source), rate))
            u = PROGRAMS["heat"][1][0]
            wanted = closed(source, rate)(u, N)
            np.testing.assert_allclose(np.asarray(fused(on_gpu(u), N)), wanted, rtol=1e-12)
            assert loop_of(fused).rounds.listed


def test_an_error_of_a_round_leaves_what_python_leaves(rolled):
    def until_it_fails(u, n):
        for t in range(n):
            u[1:] = 0.5 * (u[1:] + u[:-1]) + 1 / (7 - t)
        return u

    fused, u = ow.fuse(until_it_fails), PROGRAMS["heat"][1][0]
    for n in (5, N, N):
        own, numpys = on_gpu(u), u.copy()
        if n == N:
            with pytest.raises(ZeroDivisionError):
                fused(own, n)
            with pytest.raises(ZeroDivisionError):
                until_it_fails(numpys, n)
        else:
            fused(own, n), until_it_fails(numpys, n)
        np.testing.assert_allclose(np.asarray(own), numpys, rtol=1e-12)


def test_an_array_under_two_names_is_one(rolled):
    def two(u, v, n):
        for _ in range(n):
            u[1:] = 0.5 * (v[1:] + u[:-1])
        return v

    fused, u = ow.fuse(two), PROGRAMS["heat"][1][0]
    for same in (True, False, True, False):
        own, other = on_gpu(u), on_gpu(u)
        numpy, others = u.copy(), u.copy()
        found = fused(own, own if same else other, N)
        wanted = two(numpy, numpy if same else others, N)
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-12)
        np.testing.assert_allclose(np.asarray(own), numpy, rtol=1e-12)
        assert bool(loop_of(fused).rounds.listed) != same
        loop_of(fused).rounds.listed = 0


def test_an_array_in_a_container_is_the_same_one(rolled):
    def within(u, state, n):
        for _ in range(n):
            u[1:] = 0.5 * (state["u"][1:] + u[:-1])
        return state["u"]

    fused, u = ow.fuse(within), PROGRAMS["heat"][1][0]
    for same in (False, True):
        own, numpy = on_gpu(u), u.copy()
        found = fused(own, {"u": own if same else on_gpu(u)}, N)
        wanted = within(numpy, {"u": numpy if same else u.copy()}, N)
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-12)


def test_an_index_that_stood_before_is_the_last_one_behind(rolled):
    def indexed(u, n):
        t = 100
        for t in range(n):  # noqa: B007 - read behind the loop
            u = u + 0.1 * np.roll(u, 1)
        return u + t

    fused, u = ow.fuse(indexed), PROGRAMS["heat"][1][0]
    for n in (N, 0):
        np.testing.assert_allclose(np.asarray(fused(on_gpu(u), n)), indexed(u, n), rtol=1e-12)


def test_a_loop_is_compiled_once_for_all_counts_and_launched_as_often_as_it_runs(rolled):
    function, args = PROGRAMS["heat_in_place"]
    fused = ow.fuse(function)
    fused(*given(args), N)
    names = set(rolled.launches)
    for n in (20, 500, 30, 77):
        del rolled.launches[:], gpu_on_host.Executor.graphs[:]
        fused(*given(args), n)

        assert len(rolled.launches) == n
        assert {*rolled.launches} == names
        assert len(gpu_on_host.Executor.graphs) == max(0, n - 1 - 2) // 64  # of 64 rounds each


def test_a_long_loop_is_rolled_and_a_short_one_is_a_whole(gpu):
    function, args = PROGRAMS["heat_in_place"]
    fused = ow.fuse(function)
    for n, is_rolled in ((3, False), (150, True)):
        own, numpys = given(args), copied(args)
        np.testing.assert_allclose(np.asarray(fused(*own, n)), function(*numpys, n), rtol=1e-10)
        assert (loop_of(fused) is not None) == is_rolled


def test_explain_says_how_rounds_are_launched(rolled):
    told = []
    for name in ("heat", "read_by_index", "in_turns"):
        function, args = PROGRAMS[name]
        own = given(args)
        found = ow.fuse(function).explain(*own, N)
        told.append(found.text.split("\n")[1].strip())
        assert bits(tuple(own)) == bits(tuple(given(args)))
        assert found.sources
        assert found.text.startswith(f"{name}: the rounds of the loop at line ")

    assert told == [
        "a round: 1 kernel(s), as CUDA graphs", "a round: 1 kernel(s), from a list",
        "2 rounds: 2 kernel(s), as CUDA graphs",
    ]  # fmt: skip


def test_explain_says_how_often_a_condition_is_read_back(rolled):
    function, args = ENDED["conjugate_gradient"]
    found = ow.fuse(function).explain(*given(args), N)

    assert found.text.startswith("conjugate_gradient: the rounds of the loop at line ")
    assert "by a call each (a condition is read back before the next one)" in found.text


def test_pieces_of_a_round_are_traced_once_for_all_rounds(rolled):
    function, args = ENDED["conjugate_gradient"]
    fused = ow.fuse(function)
    fused(*given(args), N)
    rounds = loop_of(fused).rounds
    kinds = len(rounds.known)
    fused(*given([2 * args[0], args[1]]), 2 * N)

    assert len(rounds.known) == kinds
    assert fused.fallback.device_loops.left == ""


def test_a_piece_that_is_no_whole_is_pythons_and_the_next_call_runs_in_parts(rolled):
    def sorted_until(u, n):
        u = added_to(u, 0.5)
        while u[0] > 0.1 / n:
            u = u * 0.5
            if u[1] > u[2] and u.max() > 0:
                u = np.sort(u)
        return u

    def added_to(u, a):
        u += a
        return u

    fused, u = ow.fuse(sorted_until), PROGRAMS["heat"][1][0]
    for n in (1, 3, 2):
        own, numpy = on_gpu(u), u.copy()
        found, wanted = fused(own, n), sorted_until(numpy, n)
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-12)
        np.testing.assert_allclose(np.asarray(own), numpy, rtol=1e-12)


def added_to(u, v):
    u += v
    return u


def asked_first(u, v, seen):
    for _ in range(5):
        if added_to(u, v).max() > 9 or seen.append(len(seen)):
            break
        u[:] = np.sort(u)
    return u


def asked_of_an_iterator(u, seen):
    while u.max() > 0 and next(seen):
        u = u * 0.9
    return u


def raised_behind_a_write(u, seen):
    k = 2
    while u.max() > 0.01:
        u *= 0.5
        x = 1 // k
        if x > 5:
            break
        k -= 1
    return u


@pytest.mark.filterwarnings("ignore::opweave.OpweaveWarning")
def test_a_condition_is_asked_as_often_as_python_asks(rolled):
    fused, (u, v) = ow.fuse(asked_first), PROGRAMS["in_turns"][1]
    for _ in range(3):
        own, numpy, seen, wanted = on_gpu(u), u.copy(), [], []
        fused(own, on_gpu(v), seen), asked_first(numpy, v, wanted)
        np.testing.assert_allclose(np.asarray(own), numpy, rtol=1e-12)
        assert seen == wanted


@pytest.mark.filterwarnings("ignore::opweave.OpweaveWarning")
@pytest.mark.parametrize(("function", "raised"), [
    (asked_of_an_iterator, StopIteration), (raised_behind_a_write, ZeroDivisionError)
])  # fmt: skip
def test_an_error_of_a_piece_leaves_what_python_leaves(rolled, function, raised):
    fused, u = ow.fuse(function), PROGRAMS["heat"][1][0]
    for _ in range(2):
        own, numpy = on_gpu(u), u.copy()
        for call, array in ((fused, own), (function, numpy)):
            with pytest.raises(raised):
                call(array, iter([1, 2, 1]))
        np.testing.assert_allclose(np.asarray(own), numpy, rtol=1e-12)


def test_settings_leave_loops_as_they_were(rolled):
    function, args = PROGRAMS["heat"]
    fused, wanted = ow.fuse(function), function(*copied(args), N)
    with ow.config(loops=False):
        np.testing.assert_allclose(np.asarray(fused(*given(args), N)), wanted, rtol=1e-12)

    assert loop_of(fused) is None


def test_a_name_is_the_functions_own_before_it_has_a_value(rolled):
    def early(u, n):
        u = u + N_OF_TESTS  # noqa: F823 - what is tried: it has no value yet
        for _ in range(n):
            u = u * 0.5 + np.roll(u, 1)
        N_OF_TESTS = 3  # noqa: F841 - which makes it a name of the function's own
        return u

    for call in (early, ow.fuse(early)):
        with pytest.raises(UnboundLocalError):
            call(on_gpu(PROGRAMS["heat"][1][0]), N)


def test_a_branch_may_turn_names_in_any_round(rolled):
    def turned(u, v, n):
        v = v + np.roll(u, 1)
        for t in range(n):
            if t % 4 == 1:
                u, v = v, u
        return u

    u, v = PROGRAMS["in_turns"][1]
    fused = ow.fuse(turned)
    for n in (9, 4, 2):
        np.testing.assert_allclose(
            np.asarray(fused(on_gpu(u), on_gpu(v), n)), turned(u, v, n), rtol=1e-12
        )


def test_an_array_that_a_branch_gives_to_two_names_is_one_behind_the_loop(rolled):
    def shared(u, w, n):
        for t in range(n):
            u = w if t % 2 else np.roll(w, 1)
        w[0] = 7.0
        return u

    u, w = PROGRAMS["in_turns"][1]
    fused = ow.fuse(shared)
    for n in (8, 9, 2, 1):
        found = fused(on_gpu(u), on_gpu(w), n)
        np.testing.assert_allclose(np.asarray(found), shared(u, w.copy(), n), rtol=1e-12)


def a_part_at(place):
    def left(u, w, n):
        for t in range(n):
            u = w[place(w, t)]
            w = 0.5 * (w + np.roll(w, 1)) if t < 2 else w
        u[1:] = 7.0
        return w

    return left


PLACES = {
    "a counter": lambda w, t: t % 5,
    "from a counter on": lambda w, t: slice(t, t + 4),
    "a number": lambda w, t: slice(2, 6),
    "computed": lambda w, t: np.argmax(w[:, 0]),
}


@pytest.mark.parametrize("place", PLACES)
def test_what_is_written_behind_the_loop_to_a_part_of_an_array_is_in_that(rolled, place):
    left = a_part_at(PLACES[place])
    u, w = (a.reshape(8, -1) for a in PROGRAMS["in_turns"][1])
    fused = ow.fuse(left)
    for n in (5, 4, 2, 1):
        own, numpy = on_gpu(w), w.copy()
        found, wanted = fused(on_gpu(u), own, n), left(u, numpy, n)
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-12)
        np.testing.assert_allclose(np.asarray(own), numpy, rtol=1e-12)


def test_what_stands_before_a_loop_that_cannot_be_rolled_is_done_once(rolled):
    def added(u, v):
        u += v
        return u

    def once(u, v, n):
        u = added(u, v)
        for _ in range(n):
            v[1:] = u[1:] + v[:-1]
        return u

    u = PROGRAMS["heat"][1][0]
    fused = ow.fuse(once)
    for _ in range(2):
        own, numpy = on_gpu(u), u.copy()
        found = fused(own, own, 3)
        np.testing.assert_allclose(np.asarray(found), once(numpy, numpy, 3), rtol=1e-12)
