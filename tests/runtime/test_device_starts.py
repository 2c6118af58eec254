"""What starts a call plan on a GPU, over a stand-in of CuPy whose kernels run on the host.

Streams run at once, and a capture keeps launches for later.  So calls, loops and replays by CUDA
graphs are held to calls on the host where there is no GPU; tests/gpu has the same on one.
"""

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.scheduling.memory import memory_plan
from opweave.runtime.calls.prepared import Prepared
from opweave.runtime.cuda.replays import DeviceReplay
from opweave.runtime.cuda.starts import CAPTURED_AT, KERNELS, DeviceStart
from opweave.runtime.host.executor import HostExecutor
from tests.compiler.test_memory import equal_bits

pytestmark = pytest.mark.host
X = np.linspace(-1, 1, 3000, dtype=np.float32)
STEPS = [  # each of several kernels
    lambda x: x / np.sqrt((x * x).sum()) + np.float32(0.25),
    lambda x, y: (y / (1 + np.abs(x).max()), x * y.sum() + x[::-1].sum()),
]


class Stream:
    """A stream, or what is being captured from it."""

    current = None

    def __init__(self, ptr=7, non_blocking=True):
        self.ptr, self.kept, self._outer = ptr, None, []

    def __enter__(self):
        self._outer.append(Stream.current)
        Stream.current = self

    def __exit__(self, *error):
        Stream.current = self._outer.pop()

    def begin_capture(self):
        self.kept = []

    def end_capture(self):
        kept, self.kept = self.kept, None
        return Graph(kept)

    def is_capturing(self):
        return self.kept is not None

    def synchronize(self):
        assert not self.is_capturing()


class Graph:
    """Launches that were captured."""

    def __init__(self, kept):
        self.kept, self.launched = kept, 0

    def launch(self, stream):
        self.launched += 1
        Executor.graphs.append(len(self.kept))
        for launch, given in self.kept:
            launch(*given)


class Array(np.ndarray):
    def set(self, values, stream):
        self[...] = values


class Executor(HostExecutor):
    """Launches as the cuda executor makes them.

    Attributes:
        graphs: how many kernels each graph had that was launched.
    """

    graphs = ()
    index = 0
    state = SimpleNamespace(run=lambda work, *what: work())
    cupy = SimpleNamespace(
        empty=lambda *given: np.empty(*given).view(Array),
        cuda=SimpleNamespace(
            get_current_stream=lambda: Stream.current, Stream=Stream,
            Device=lambda index: nullcontext(), alloc_pinned_memory=bytearray,
        ),
    )  # fmt: skip
    start = staticmethod(DeviceStart)

    def memory(self, kernels, schedule, extents):
        return memory_plan(schedule, extents)

    def launcher(self, kernel, source, extents):
        launch = super().launcher(kernel, source, extents)

        def launched(*given):
            if Stream.current.is_capturing():
                Stream.current.kept.append((launch, given))
            else:
                launch(*given)

        return launched

    def fetched(self, array, stream):
        return np.array(array)


@pytest.fixture(autouse=True)
def stream(monkeypatch):
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


def test_a_call_that_comes_again_is_a_graph_and_others_are_not():
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


def test_numbers_whose_bits_differ_have_graphs_of_their_own():
    called, host = on_device(scaled, X, 0.5)
    x, given = np.ones_like(X), {called.outputs[0]: np.empty_like(X)}

    for s in [0.0] * 4 + [-0.0] * 4 + [np.nan] * 4:
        equal_bits(called([x], {"s": s}, given)[0], host([x], {"s": s})[0])
    assert len(Executor.graphs) == 6


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


@pytest.mark.parametrize("n", [1, 2, 3, 33, 66, 67, 200, 201])
@pytest.mark.parametrize("step", STEPS)
def test_a_loop_gives_what_calls_one_by_one_do(step, n):
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


def test_a_replay_reads_what_is_bound():
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
