"""Calls and loops that come again become CUDA graphs over memory of their own."""

import gc
import itertools
import sys
import weakref

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.calls.prepared import Prepared
from opweave.runtime.cuda import starts
from opweave.runtime.cuda.replays import DeviceReplay
from opweave.runtime.cuda.starts import CAPTURED_AT, KERNELS
from tests.compiler.test_memory import equal_bits
from tests.support.gpu_on_host import Executor, Stream
from tests.support.recording_cupy import Array

pytestmark = pytest.mark.nvrtc
X = np.linspace(-1, 1, 3000, dtype=np.float32)
STEPS = [  # each of several kernels
    lambda x: x / np.sqrt((x * x).sum()) + np.float32(0.25),
    lambda x, y: (y / (1 + np.abs(x).max()), x * y.sum() + x[::-1].sum()),
]


def addressed(argument):
    """The address that a kernel gets for an array, or for a place within one."""
    return argument.data.ptr if isinstance(argument, Array) else int(argument)


def chain():
    """Two kernels with a temporary between them: a graph and its inputs."""
    g = ow.Graph("chain")
    x = g.host_to_device("x", (64, 64))
    g.device_to_host(g.matmul(g.matmul(x, x), x), name="y")
    return g, {"x": np.ones((64, 64), np.float32)}


def test_temporaries_of_a_call_lie_in_one_arena(launches):
    fused = ow.fuse(lambda x: (x @ x) @ x @ x)
    fused(Array(np.ones((64, 64), np.float32)))
    *_, first, second, third = (args for *_, args in launches)
    pointers = [
        [addressed(a) for a in args if isinstance(a, (Array, np.uint64))]
        for args in (first, second, third)
    ]

    assert len(launches) == 3
    assert pointers[0][-1] in pointers[1]  # what one writes the next one reads
    assert pointers[1][-1] in pointers[2]
    assert abs(pointers[0][-1] - pointers[1][-1]) == 64 * 64 * 4


@pytest.mark.parametrize("staging", [True, False])
def test_a_replay_is_captured_once_over_memory_of_its_own(launches, staging):
    graph, arrays = chain()
    run = graph.runner("replay", device="cuda", staging=staging)
    run(**arrays)
    launched = [entry if isinstance(entry, str) else entry[0] for entry in launches]
    begin = launched.index("begin")
    captured = launched[begin + 1 : launched.index("end")]

    assert captured == launched[:begin]  # the same kernels, once before
    assert list(launches[0][3]) == list(launches[begin + 1][3])
    assert launched[-1] == "replay"
    replay = run._ready
    arrays["x"] *= 3
    run(x=arrays["x"] + 1)
    run()
    assert launches[-2:] == ["replay", "replay"]
    np.testing.assert_array_equal(replay._slots[0].array, np.full((64, 64), 4, np.float32))
    run(x=arrays["x"])
    arrays["x"] += 4
    run(x=arrays["x"])  # the same array with other elements is copied again
    np.testing.assert_array_equal(replay._slots[0].array, np.full((64, 64), 7, np.float32))
    assert bool(replay._staged) == staging


@pytest.mark.parametrize("mode", ["immediate", "graph"])
def test_arrays_travel_to_the_gpu_and_back(launches, mode):
    graph, arrays = chain()
    found = graph.runner(mode, device="cuda")(**arrays)

    assert type(found) is np.ndarray
    assert found.shape == (64, 64)
    assert len(launches) == 2


def names_of(launches):
    found = [entry if isinstance(entry, str) else "kernel" for entry in launches]
    launches.clear()
    return found


CAPTURED = ["begin", "kernel", "kernel", "end", "replay"]


def test_a_call_that_comes_again_becomes_a_graph(launches):
    fused = ow.fuse(lambda x, s: (x @ x) @ x * s, replay=True)
    x, y, out = (Array(np.ones((64, 64), np.float32)) for _ in range(3))
    seen = []
    for array, number in [(x, 2.0)] * 4 + [(y, 2.0), (x, 3.0), (x, 2.0)] + [(y, 2.0)] * 3:
        fused(array, number, out=out)
        seen.append(names_of(launches))
    apart = ["kernel", "kernel"]

    assert seen[:4] == [apart, apart, CAPTURED, ["replay"]]
    assert seen[4:7] == [apart, apart, ["replay"]]  # moved, another number, and back
    assert seen[7:] == [apart, CAPTURED, ["replay"]]


def test_results_that_move_are_launched_as_ever(launches):
    fused = ow.fuse(lambda x: (x @ x) @ x, replay=True)
    x = Array(np.ones((64, 64), np.float32))
    results = [fused(x) for _ in range(5)]  # all are held, so no two lie in one place

    assert len({r.array.ctypes.data for r in results}) == 5
    assert names_of(launches) == ["kernel"] * 10


def test_what_the_caller_captures_gets_the_kernels_themselves(launches, monkeypatch):
    fused = ow.fuse(lambda x: (x @ x) @ x, replay=True)
    x, out = (Array(np.ones((64, 64), np.float32)) for _ in range(2))
    stream = sys.modules["cupy"].cuda.get_current_stream()
    monkeypatch.setattr(stream, "is_capturing", lambda: True)
    for _ in range(5):
        fused(x, out=out)

    assert names_of(launches) == ["kernel"] * 10


USES = {  # besides arguments and results
    "a temporary": lambda: ow.fuse(lambda x: (x @ x) @ x),
    "partial results, and counters that begin at zero": lambda: ow.fuse(lambda x: np.exp(x).sum()),
    "a second state": lambda: ow.repeat(lambda x: x @ x, 5),
}


@pytest.mark.parametrize("what", USES)
def test_what_a_captured_call_uses_is_there_as_long_as_the_process(what, launches, monkeypatch):
    cupy, made = sys.modules["cupy"], []
    for name in ("empty", "zeros"):
        monkeypatch.setattr(cupy, name, noting(getattr(cupy, name), made))
    monkeypatch.setattr(type(cupy.cuda.get_current_stream()), "capturing", True)
    monkeypatch.setattr(
        cupy.cuda.Stream, "__init__", lambda self, **_: setattr(self, "capturing", False)
    )
    fused = USES[what]()
    result = fused(Array(np.ones((640, 640), np.int32)))  # no product of a library
    used = [ref for ref in made if ref() is not result]
    assert used
    launches.clear()
    del fused, result
    gc.collect()

    assert all(ref() is not None for ref in used)


def noting(make, made):
    def noted(*given):
        array = make(*given)
        made.append(weakref.ref(array))
        return array

    return noted


@pytest.mark.parametrize("capturing", [False, True])
def test_a_graph_makes_room_when_it_has_run(capturing, launches, monkeypatch):
    monkeypatch.setattr(starts, "MOST_GRAPHS", 1)
    cuda = sys.modules["cupy"].cuda
    x, out = (Array(np.ones((64, 64), np.float32)) for _ in range(2))
    waited_for = sys.modules["cupy"].waited_for
    fused = ow.fuse(lambda x: (x @ x) @ x, replay=True)
    with cuda.Stream() as first:
        for _ in range(CAPTURED_AT):
            fused(x, out=out)
    assert first not in waited_for
    first.capturing = capturing  # which may not be waited for
    with cuda.Stream() as second:
        second.ptr = 8
        for _ in range(CAPTURED_AT):
            fused(x, out=out)

    assert names_of(launches).count("replay") == 2
    assert (first in waited_for) is not capturing


def test_streams_have_graphs_of_their_own(launches, monkeypatch):
    fused = ow.fuse(lambda x: (x @ x) @ x, replay=True)
    x, out = (Array(np.ones((64, 64), np.float32)) for _ in range(2))
    stream = sys.modules["cupy"].cuda.get_current_stream()
    for _ in range(3):
        fused(x, out=out)
    names_of(launches)
    monkeypatch.setattr(stream, "ptr", 4)
    for _ in range(3):
        fused(x, out=out)

    assert names_of(launches) == ["kernel"] * 4 + CAPTURED


def test_a_call_without_several_kernels_is_no_graph(launches):
    x, out = (Array(np.ones((64, 64), np.float32)) for _ in range(2))
    fused = ow.fuse(lambda x: x @ x, replay=True)
    for _ in range(5):
        fused(x, out=out)

    assert names_of(launches) == ["kernel"] * 5


def executed(launches, since=0):
    """The arrays of each kernel that runs, in order: (what it reads..., what it writes)."""
    graph, inside, found = [], False, []
    for number, entry in enumerate(launches):
        if number == since:
            found = []
        if entry == "begin":
            graph, inside = [], True
        elif entry == "end":
            inside = False
        elif entry == "replay":
            found += graph
        else:
            arrays = [addressed(a) for a in entry[3] if isinstance(a, (Array, np.uint64))]
            (graph if inside else found).append(arrays)
    return found


@pytest.mark.parametrize("n", [1, 2, 3, 65, 66, 67, 130, 131, 1000])
def test_steps_on_a_gpu_read_what_those_before_have_written(launches, n):
    x, w = (Array(np.ones((64, 64), np.float32)) for _ in range(2))
    step = ow.repeat(lambda x, w: w @ x, n)  # each row of it reads all of the state
    for _ in range(2):  # the graph of the first call serves the second
        since = len(launches)
        result = step(x, w)
        ran = executed(launches, since)

        assert isinstance(result, Array)
        assert len(ran) == n
        assert [a[0] for a in ran] == [w.data.ptr] * n
        assert [a[1] for a in ran] == [x.data.ptr, *(a[2] for a in ran[:-1])]
        assert ran[-1][2] == result.data.ptr
        assert x.data.ptr not in {a[2] for a in ran}
        assert all(a[1] != a[2] for a in ran)
    assert launches[since:].count("replay") == max(0, n - 2) // 64
    assert launches.count("begin") == (n >= 66)


def test_a_step_of_elements_is_a_loop_of_the_kernel(launches):
    x = Array(np.ones(1000, np.float32))
    result = ow.repeat(lambda x, s: x * s + 1, 10_000)(x, 0.5)
    ran = executed(launches)

    assert [int(args[-1]) for *_, args in launches] == [4096, 4096, 1808]
    assert [a[0] for a in ran] == [x.data.ptr, ran[0][1], ran[1][1]]
    assert ran[-1][1] == result.data.ptr


def test_two_states_of_several_kernels_a_step_take_turns(launches):
    def step(u, v):
        return u @ v @ v, v @ u

    u, v = (Array(np.ones((64, 64), np.float32)) for _ in range(2))
    ow.repeat(step, 50)(u, v)
    ran = executed(launches)

    assert len(ran) == 150
    assert {"begin", "replay"} < set(names_of(launches))
    for before, after in itertools.pairwise(ran[i : i + 3] for i in range(0, 150, 3)):
        assert {a for *_, a in before} >= {after[0][0], after[0][1]}


@pytest.mark.parametrize(("step", "shapes"), [
    (lambda x: x // x.sum(dtype=np.int32), [(1 << 22) + 1]),
    (lambda x, w: x + ((w @ w) @ w).sum(axis=0, dtype=np.int32), [2049, (2049, 2049)]),  # w @ w is what is large
])  # fmt: skip
def test_what_takes_much_memory_is_kept_in_no_graph(launches, step, shapes):
    ow.repeat(step, 100)(*(Array(np.ones(shape, np.int32)) for shape in shapes))

    assert set(names_of(launches)) == {"kernel"}


def test_graphs_of_a_loop_belong_to_arguments_numbers_and_streams(launches, monkeypatch):
    x, w, other = (Array(np.ones((64, 64), np.float32)) for _ in range(3))
    step = ow.repeat(lambda x, w, s: (w @ x) * s, 100)
    stream = sys.modules["cupy"].cuda.get_current_stream()

    def captures(*args):
        step(*args)
        return "begin" in names_of(launches)

    assert captures(x, w, 2.0)
    assert not captures(other, w, 2.0)  # the state is read by the first step alone
    assert captures(x, other, 2.0)
    assert captures(x, w, 3.0)
    assert not captures(x, w, 2.0)
    monkeypatch.setattr(stream, "ptr", 4)
    assert captures(x, w, 2.0)
    monkeypatch.setattr(stream, "is_capturing", lambda: True)
    assert not captures(x, other, 5.0)  # the caller's graph gets the kernels
    step(x, other, 5.0)
    assert names_of(launches) == ["kernel"] * 100


@pytest.fixture
def stream(monkeypatch):
    """The current stream of a GPU whose kernels run on the host."""
    monkeypatch.setattr(Stream, "current", Stream(ptr=1))
    monkeypatch.setattr(Executor, "graphs", [])
    return Stream.current


def on_device(function, *args):
    """A prepared call, and the same on the host."""
    ready = ow.fuse(function).bound(args)[0]
    found, arrays = ready.found, [a for a in args if isinstance(a, np.ndarray)]
    made = Prepared(found.lowered, Executor(), found.extents, arrays, replay=True)
    return made, ready.prepared


def scaled(x, s):
    y = x * s - (x * x).sum()
    return y[::-1] * s / (1 + np.abs(y).max())


@pytest.mark.host
def test_a_call_that_comes_again_is_a_graph_and_others_are_not(stream):
    called, host = on_device(scaled, X, 0.5)
    arrays, out = [X.copy(), X * 2], np.empty_like(X)
    given = {called.outputs[0]: out}

    for number, s in [(0, 0.5), (1, 0.5), (0, 2.0)]:
        for time in range(1, 2 * CAPTURED_AT):
            arrays[number] += 1  # other elements in the same place
            (found,) = called([arrays[number]], {"s": s}, given)
            equal_bits(found, host([arrays[number]], {"s": s})[0])
            assert found is out
            assert len(Executor.graphs) == max(0, time + 1 - CAPTURED_AT)
        Executor.graphs.clear()
    called([arrays[0]], {"s": 0.5}, given)
    assert Executor.graphs == [len(called.plan.steps)]


@pytest.mark.host
def test_numbers_whose_bits_differ_have_graphs_of_their_own(stream):
    called, host = on_device(scaled, X, 0.5)
    x, given = np.ones_like(X), {called.outputs[0]: np.empty_like(X)}

    for s in [0.0] * 4 + [-0.0] * 4 + [np.nan] * 4:
        equal_bits(called([x], {"s": s}, given)[0], host([x], {"s": s})[0])
    assert len(Executor.graphs) == 6


@pytest.mark.host
def test_streams_have_graphs_of_their_own_and_a_callers_capture_gets_kernels(stream):
    called, _ = on_device(scaled, X, 0.5)
    given = {called.outputs[0]: np.empty_like(X)}
    for _ in range(CAPTURED_AT):
        called([X], {"s": 0.5}, given)
    with Stream(ptr=3):
        called([X], {"s": 0.5}, given)
    assert len(Executor.graphs) == 1

    stream.begin_capture()
    called([X], {"s": 0.5}, given)
    graph = stream.end_capture()
    assert len(graph.kept) == len(called.plan.steps)
    assert len(Executor.graphs) == 1


@pytest.mark.host
@pytest.mark.parametrize("n", [1, 2, 3, 33, 66, 67, 200, 201])
@pytest.mark.parametrize("step", STEPS)
def test_a_loop_gives_what_calls_one_by_one_do(stream, step, n):
    state = [X, X[::-1] * 3][: step.__code__.co_argcount]
    called, host = on_device(step, *state)
    expected = state
    for _ in range(n):
        expected = host(expected, {})

    for _ in range(2):
        for one, other in zip(called.loop(state, {}, n), expected, strict=True):
            equal_bits(one, other)
    steps = KERNELS // (2 * len(called.plan.steps)) * 2
    assert len(Executor.graphs) == 2 * (max(0, n - 2) // steps)


def test_a_counter_is_a_number_of_each_launch(launches):
    x, f = (Array(np.ones(shape, np.float32)) for shape in ((64,), (10, 64)))
    ow.repeat(lambda x, f, i: x * np.float32(0.5) + f[i] / (i + 1), 5, counter="i")(x, f)
    numbers = [[a for a in args if isinstance(a, np.int64 | np.float32)] for *_, args in launches]

    assert numbers == [[i, i + 1] for i in range(5)]


@pytest.mark.host
@pytest.mark.parametrize("n", [1, 2, 3, 100])
def test_rounds_with_numbers_of_their_own_are_launched_one_by_one(stream, n):
    called, host = on_device(scaled, X, 0.5)
    envs = [{**called.extents, "s": 0.5 + k / 8} for k in range(n)]
    expected = [X]
    for env in envs:
        expected = host(expected, {"s": env["s"]})

    found, ran = called.rounds([X], envs, [called.plan.numbers(env) for env in envs], [0])
    equal_bits(found[0], expected[0])
    assert ran == n
    assert Executor.graphs == []


@pytest.mark.host
@pytest.mark.parametrize("last", range(1, 8))
def test_a_round_that_says_so_is_the_last_one(stream, last):
    called, host = on_device(lambda x: (x[::-1] * 2, (x * x).max() >= 4 ** (last - 1)), X)
    expected = [X]
    for _ in range(last):
        expected = host(expected[:1], {})

    envs = [called.extents] * 50
    found, ran = called.rounds([X], envs, [[]] * 50, [0], asks=True)
    equal_bits(found[0], expected[0])
    assert ran == last
    assert bool(found[1])


@pytest.mark.host
def test_a_replay_reads_what_is_bound(stream):
    called, host = on_device(lambda x, y: (scaled(x, 0.5), y[::-1] * x.sum()), X, X)
    replay = DeviceReplay(called, [X, X * 3])

    def run():
        for one, other in zip(replay.taken()(), host(bound, {}), strict=True):
            equal_bits(one, other)

    bound = [X, X * 3]
    run()
    for number, array in [(0, X * 2), (1, X + 1), (0, X)]:
        replay.bind(number, array)
        bound[number] = array
        run()
    assert Executor.graphs == [len(called.plan.steps)] * 4
