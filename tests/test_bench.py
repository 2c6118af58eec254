"""The benchmarks: what they write, what they refuse, and that figures come from the file alone."""

import copy
import json
import subprocess
import sys
import time
import types
from pathlib import Path

import numpy as np
import pytest

import opweave as ow

BENCH = Path(__file__).parent.parent / "bench"
sys.path.insert(0, str(BENCH))

import executors  # noqa: E402  (the folder of the benchmarks stands on the path first)
import harness  # noqa: E402
import machine  # noqa: E402
import record  # noqa: E402
import run  # noqa: E402
from experiments import EXPERIMENTS, load  # noqa: E402


def silent(*_):
    pass


@pytest.fixture
def host(monkeypatch):
    """The host, timed for a moment only."""
    found = executors.Host()
    monkeypatch.setattr(executors.Host, "effort", harness.Effort(0.001, 4, 6))
    return found


@pytest.fixture
def case():
    x = np.linspace(1, 2, 1000, dtype=np.float32)
    value = x.astype(np.float64) * 2
    return record.Case({"n": 1000}, [(x,)], np.float32, harness.Expected(value, 1e-6), 8000, 1000)


def measured(runners, case, host):
    found = record.Record(record.Options(), log=silent)
    found.compare(host, runners, case)
    found.limit("a limit", ">= 2", 3.0, "x")
    return found


def document(found):
    return record.document("fusion", "title", "about", machine.describe("noisy"), found)


# Timing


@pytest.mark.parametrize(
    ("effort", "expected"),
    [
        (harness.Effort(0.0, 5, 9), 5),  # never fewer than asked for
        (harness.Effort(60.0, 1, 7), 7),  # nor more
    ],
)
def test_every_sample_is_returned(effort, expected):
    assert len(harness.sample_host(lambda: None, [()], effort)) == expected


def test_sets_of_arguments_rotate():
    seen = []
    harness.sample_host(seen.append, [(0,), (1,), (2,)], harness.Effort(0.0, 7, 7))

    assert seen == [0, 1, 2, 0, 1, 2, 0]


def test_runners_are_visited_forward_and_backward():
    order = []

    def sample(name, effort):
        order.append(name)
        return [1.0] * effort.least

    found = harness.in_two_visits("abc", sample, harness.Effort(1, 6, 10))

    assert order == list("abccba")
    assert {name: len(s) for name, s in found.items()} == {"a": 6, "b": 6, "c": 6}


@pytest.mark.parametrize(
    ("samples", "median", "spread"), [([1e-6] * 4, 1.0, 0.0), ([1e-6, 2e-6, 3e-6], 2.0, 0.5)]
)
def test_a_summary_keeps_samples_median_and_spread(samples, median, spread):
    found = harness.summary(samples)

    assert found["samples_us"] == [round(s * 1e6, 3) for s in samples]
    assert (found["median_us"], found["spread"]) == (median, spread)


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


# The file


def test_a_document_is_complete_and_comes_back(tmp_path, case, host):
    made = document(measured([harness.Runner("double", lambda x: x * 2)], case, host))
    record.write(tmp_path / "f.json", made)

    assert record.missing_keys(made) == []
    assert record.read(tmp_path / "f.json") == json.loads(json.dumps(made))
    assert [p.name for p in tmp_path.iterdir()] == ["f.json"]


@pytest.mark.parametrize(
    ("part", "key"),
    [("machine", "commit"), ("rows", "samples_us"), ("limits", "met"), (None, "absent")],
)
def test_a_document_that_lacks_something_is_refused(part, key, tmp_path, case, host):
    made = copy.deepcopy(document(measured([harness.Runner("a", lambda x: x * 2)], case, host)))
    place = made if part is None else made[part]
    (place[0] if isinstance(place, list) else place).pop(key)

    with pytest.raises(ValueError, match=key):
        record.write(tmp_path / "f.json", made)


@pytest.mark.parametrize(
    ("limit", "value", "met"),
    [(">= 2", 2.0, True), (">= 2", 1.9, False), ("<= 150", 150.0, True), (">= 5", None, None)],
)
def test_a_limit_is_judged(limit, value, met):
    found = record.Record(record.Options())
    found.limit("name", limit, value, "x")

    assert found.limits[0]["met"] is met


def test_absent_executors_and_peers_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    found = record.Record(record.Options())
    there = found.executors({"host": ("NumPy",), "cuda": ("CuPy", "cupy.fuse")})

    assert [e.name for e in there] == ["host"]
    assert set(found.absent) == {"cuda", "CuPy", "cupy.fuse"}
    assert all("cupy" in why for why in found.absent.values())


def test_the_machine_is_described():
    assert set(machine.describe()) == set(record.MACHINE)


# The experiments


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_has_what_the_table_needs(name):
    module = load(name)

    assert module.TITLE
    assert module.ABOUT
    assert callable(module.measure)


@pytest.mark.host
def test_a_run_writes_a_file_from_which_alone_it_is_drawn(tmp_path, monkeypatch, host, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(load("fusion"), "LENGTHS", (1, 2))
    path = tmp_path / "fusion.json"
    arguments = ["fusion", "--sizes", "64", "--executors", "host", "--json", str(path)]

    assert run.main(arguments) == 0
    assert "absent: CuPy (not asked for)" in capsys.readouterr().out

    found = record.read(path)
    runners = {row["runner"] for row in found["rows"]}
    assert {"opweave fused", "opweave unfused", "NumPy"} <= runners
    assert all(len(row["samples_us"]) >= 4 for row in found["rows"])
    assert found["absent"]["cupy.fuse"] == "not asked for"
    # without opweave, and without the experiments
    program = (
        "import sys; sys.modules |= dict.fromkeys(['opweave', 'experiments.fusion']); "
        f"sys.path.insert(0, {str(BENCH)!r}); import run; "
        f"sys.exit(run.main(['plot', {str(path)!r}]))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    drawn = {p.name for p in tmp_path.glob("*.png")}
    assert drawn == {"fusion-host-time.png", "fusion-host-bandwidth.png"}


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

    def __getattr__(self, name):
        return getattr(np, name)


@pytest.mark.host
@pytest.mark.parametrize(
    ("name", "size"), [("fusion", "64"), ("products", "64"), ("pixels", "8000")]
)
def test_a_gpu_is_timed_by_events(name, size, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", StandIn())
    monkeypatch.setattr(executors.Cuda, "effort", harness.Effort(0.0, 30))
    monkeypatch.setattr(load("fusion"), "LENGTHS", (1, 2))
    path = tmp_path / "f.json"

    assert run.main([name, "--sizes", size, "--executors", "cuda", "--json", str(path)]) == 0

    found = record.read(path)
    assert {"CuPy"} < {row["runner"] for row in found["rows"]}
    assert {row["executor"] for row in found["rows"]} == {"cuda"}
    assert all(len(row["samples_us"]) >= 30 for row in found["rows"])
    assert all(len(row["call_us"]) == 10 for row in found["rows"])
    assert found["machine"]["gpu"]["name"] == "Stand-in"


def test_a_failure_keeps_what_was_found_before(tmp_path, monkeypatch, capsys):
    def breaks(found):
        found.absent["peer"] = "gone"
        raise ow.OpweaveError("the device is lost")

    monkeypatch.setattr(load("fusion"), "measure", breaks)
    path = tmp_path / "fusion.json"

    assert run.main(["fusion", "--json", str(path)]) == 1
    assert "the device is lost" in record.read(path)["refused"][0]["reason"]
    assert record.read(path)["absent"] == {"peer": "gone"}


@pytest.mark.parametrize(("runner", "status"), [("opweave fused", 1), ("cupy.fuse", 0)])
def test_only_a_refused_result_of_ours_is_a_failure(runner, status, monkeypatch, capsys):
    def measure(found):
        found.refuse("host", runner, {}, harness.WrongResult("7 elements"))

    monkeypatch.setattr(load("fusion"), "measure", measure)

    assert run.main(["fusion"]) == status
    assert f"REFUSED host {runner}" in capsys.readouterr().out


def test_the_gpu_script_parses():
    subprocess.run(["bash", "-n", str(BENCH / "gpu.sh")], check=True)


def test_the_gpu_script_says_what_is_missing(tmp_path, capsys, monkeypatch):
    import gpu_steps

    monkeypatch.setattr(gpu_steps, "NEEDS", {"numpy": "numpy", "no_such_module": "some_wheel"})

    assert gpu_steps.needs() == 1
    said = capsys.readouterr()
    assert said.out == "some_wheel\n"
    assert "missing: no_such_module" in said.err
    assert "some-wheel" in said.err
