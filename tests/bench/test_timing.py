"""Timing: samples, turns, batches; checks come before it."""

import sys
import time
import types

import numpy as np
import pytest

import opweave as ow
from bench import run
from bench.experiments import load
from bench.measure import (
    clock,
    executors,
    harness,
    peers,
)
from bench.report import document as documents
from tests.support.benched import measured

# Timing


@pytest.mark.parametrize(
    ("effort", "expected"),
    [
        (clock.Effort(0.0, 5, 9), 5),  # never fewer than asked for
        (clock.Effort(60.0, 1, 7), 7),  # nor more
    ],
)
def test_every_sample_is_returned(effort, expected):
    assert len(clock.sample_host(lambda: None, [()], effort)) == expected


def test_sets_of_arguments_rotate_after_two_calls_that_do_not_count():
    seen = []

    def slow(number):
        seen.append(number)
        time.sleep(2e-4)

    clock.sample_host(slow, [(0,), (1,), (2,)], clock.Effort(0.0, 7, 7))

    assert seen == [0, 2, 0, 1, 2, 0, 1, 2, 0]


def test_short_calls_are_timed_in_batches():
    seen = []
    times = clock.sample_host(lambda: seen.append(1), [()], clock.Effort(0.0, 3, 3))

    assert len(seen) > 3 * 20
    assert max(times) < clock.SHORTEST


def test_runners_are_visited_forward_and_backward():
    order = []

    def sample(name, effort):
        order.append(name)
        return [1.0] * effort.least

    found = clock.in_visits("abc", sample, clock.Effort(1, 6, 10))

    assert order == list("abccba" * 3)
    assert found == {name: [[1.0]] * 6 for name in "abc"}


@pytest.mark.parametrize(("visits", "median", "spread"), [
    ([[1e-6] * 4], 1.0, 0.0),
    ([[1e-6, 2e-6, 3e-6]], 2.0, 0.5),
    ([[2e-6], [2e-6], [2e-6], [9e-6]], 2.0, 0.875),  # a visit that was disturbed: the quartiles
    ([[1e-6] * 9, [3e-6]], 2.0, 1.0),  # each visit counts once, however many samples it has
    ([[1e-6], [1e-6], [3e-6], [3e-6]], 2.0, 1.0),  # visits that differ are no quiet machine
])  # fmt: skip
def test_a_summary_keeps_samples_median_and_spread(visits, median, spread):
    found = clock.summary(visits)

    assert found["samples_us"] == [round(s * 1e6, 3) for visit in visits for s in visit]
    assert (found["median_us"], found["spread"]) == (median, spread)
    assert found["quartiles_us"][0] <= median <= found["quartiles_us"][1]


def test_buffers_rotate_only_beyond_the_cache(host):
    beyond = executors.sets_for(host, host.cache_bytes + 1)

    assert executors.sets_for(host, host.cache_bytes) == 1
    assert beyond * (host.cache_bytes + 1) >= 4 * host.cache_bytes


# Checks come before timing


WRONG = {
    "one element": lambda x: np.where(np.arange(x.size) == 7, 0, x * 2),
    "a NaN": lambda x: np.where(np.arange(x.size) == 7, np.float32(np.nan), x * 2),
    "the shape": lambda x: x[:-1] * 2,
    "the dtype": lambda x: x.astype(np.float64) * 2,
    "an exception": lambda x: x / object(),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_result_is_refused_before_timing(what, case, host):
    calls = []

    def wrong(x):
        calls.append(x)
        return WRONG[what](x)

    right = harness.Runner("right", lambda x: x * 2)
    found = measured([harness.Runner("wrong", wrong), right], case, host)

    assert len(calls) == 1
    assert [row["runner"] for row in found.refused] == ["wrong"]
    assert [row["runner"] for row in found.rows] == ["right"]


def test_an_element_that_is_not_written_is_seen(case, host):
    out = case.sets[0][0] * 2  # the right values, until the output is poisoned

    def skips(x):
        out[:-1] = x[:-1] * 2
        return out

    found = measured([harness.Runner("skips", skips, out=out)], case, host)

    assert "1 elements from 999 on" in found.refused[0]["reason"]
    assert found.refused[0]["wrong"]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_poison_is_nan(dtype):
    assert np.isnan(harness.poison(np, (3, 5), dtype)).all()


def test_a_peak_of_memory_is_that_of_the_arrays():
    peak = load("allocator").peak_of(lambda: [np.ones(1 << 20, np.uint8) for _ in "ab"])

    assert 2 << 20 <= peak < (2 << 20) + (1 << 16)


def test_each_call_of_each_thread_is_timed():
    seen = []
    times = load("calls").all_at_once([lambda n=n: seen.append(n) for n in range(4)], 10)

    assert len(times) == 40
    assert min(times) > 0
    assert sorted(set(seen)) == [0, 1, 2, 3]
    assert len(seen) == 44


class StandIn(types.ModuleType):
    """Looks like CuPy to a benchmark; arrays are NumPy's, so that opweave computes on the host."""

    class Event:
        def record(self):
            self.at = time.perf_counter()

        def synchronize(self):
            pass

    def __init__(self, name="cupy"):
        super().__init__(name)
        properties = {"name": b"Stand-in", "major": 9, "minor": 0, "multiProcessorCount": 1,
                      "l2CacheSize": 4096, "totalGlobalMem": 1 << 30}  # fmt: skip
        runtime = types.SimpleNamespace(
            getDeviceCount=lambda: 1,
            getDeviceProperties=lambda index: properties,
            memGetInfo=lambda: (1 << 30, 1 << 30),
            driverGetVersion=lambda: 13000,
            runtimeGetVersion=lambda: 13000,
        )
        self.cuda = types.SimpleNamespace(
            Event=self.Event,
            Device=lambda: types.SimpleNamespace(id=0),
            runtime=runtime,
            get_current_stream=lambda: types.SimpleNamespace(synchronize=lambda: None),
            get_elapsed_time=lambda start, stop: (stop.at - start.at) * 1e3,
        )
        self.ndarray = type("ndarray", (), {})
        self.RawKernel = lambda source, name: lambda grid, block, args: None
        self.fuse = lambda function: function
        self.get_default_memory_pool = lambda: types.SimpleNamespace(free_all_blocks=lambda: None)

    def __getattr__(self, name):
        return getattr(np, name)


@pytest.mark.host
@pytest.mark.parametrize("name", [
    "fusion", "products", "pixels", "traffic", "overhead", "intensity", "memory", "transpose",
    "tiles", "transformer", "convolution", "histogram", "loop", "calls",
])  # fmt: skip
def test_a_gpu_is_timed_by_events(name, small, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", StandIn())
    monkeypatch.setattr(executors.Cuda, "effort", clock.Effort(0.0, 30))
    monkeypatch.setattr(peers, "SLOW", (*peers.SLOW, "PyTorch"))
    arguments = [name, "--quick", "--device", "cuda", "--results", str(tmp_path), "--no-figures"]

    assert run.main(arguments) == 0

    found = documents.read(tmp_path / "standin-quick" / f"{name}.json")
    assert {"ours", "peer"} <= {row["role"] for row in found["rows"]}
    assert found["device"] == "cuda"
    assert all(len(row["samples_us"]) >= 30 for row in found["rows"])
    checked = [row for row in found["rows"] if row["check"]["against"] == "float64"]
    assert all(len(row["call_us"]) == 10 for row in checked)
    assert found["machine"]["gpu"]["name"] == "Stand-in"


@pytest.mark.host
def test_graphs_on_a_gpu_take_what_lies_on_the_host_and_name_a_mode_that_is_not_there(
    small, tmp_path, monkeypatch
):
    runner = ow.Graph.runner

    def stand_in(graph, mode, *, device, **options):
        assert device == "cuda"
        if mode == "replay":
            raise ow.errors.UnsupportedError("no such mode there")
        return runner(graph, mode, device="host", **options)

    monkeypatch.setattr(ow.Graph, "runner", stand_in)
    monkeypatch.setitem(sys.modules, "cupy", StandIn())
    monkeypatch.setattr(executors.Cuda, "effort", clock.Effort(0.0, 30))
    arguments = ["graphs", "--quick", "--device", "cuda", "--peers", "CuPy", "--no-figures"]

    assert run.main([*arguments, "--results", str(tmp_path)]) == 0

    found = documents.read(tmp_path / "standin-quick" / "graphs.json")
    assert {row["runner"].split(",")[0] for row in found["rows"]} == {"immediate", "graph", "CuPy"}
    assert all(row["library_us"] > 0 for row in found["rows"])
    assert found["absent"]["replay, fused"] == "no such mode there"
    assert {r["clock"] for r in found["rows"] if r["role"] == "ours"} == {
        "perf_counter around single calls and the wait for their results"
    }
