"""The benchmarks: what they write, what they refuse, and that figures come from the file alone."""

import copy
import doctest
import importlib
import importlib.util
import itertools
import json
import math
import os
import subprocess
import sys
import time
import types
from pathlib import Path

import numpy as np
import pytest

import opweave as ow
from bench import run
from bench.experiments import EXPERIMENTS, load
from bench.measure import (
    clock,
    executors,
    harness,
    machine,
    networks,
    peers,
    problem,
    record,
    triton_peer,
)
from bench.report import compare, crossing, page, plots, reading, standing
from bench.report import document as documents

BENCH = Path(__file__).parent.parent / "bench"
ROOFS = {
    "copy": 1e10,
    "fp32": 1e11,
    "special": 1e9,
    "matrix": 2e11,
    "matrix16": 0.0,
    "launch": 1e-6,
}


def silent(*_):
    pass


@pytest.fixture
def host(monkeypatch):
    """The host, timed for a moment only."""
    found = executors.Host()
    monkeypatch.setattr(executors.Host, "effort", clock.Effort(0.001, 4, 6))
    return found


@pytest.fixture
def case():
    x = np.linspace(1, 2, 1000, dtype=np.float32)
    value = x.astype(np.float64) * 2
    return record.Case({"n": 1000}, [(x,)], np.float32, harness.Expected(value, 1e-6), 8000, 1000)


def recorded(host, **options):
    return record.Record(record.Options(**options), host, ROOFS, log=silent)


def measured(runners, case, host):
    found = recorded(host)
    found.compare(runners, case)
    found.limit("a limit", ">= 2", 3.0, "x")
    return found


def document(found, name="fusion", complete=True):
    described = machine.describe("noisy")
    return record.document(name, load(name), described, found, complete=complete)


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


# The file


def test_a_document_is_complete_and_comes_back(tmp_path, case, host):
    made = document(measured([harness.Runner("double", lambda x: x * 2)], case, host))
    documents.write(tmp_path / "f.json", made)

    assert documents.missing_keys(made) == []
    assert documents.read(tmp_path / "f.json") == json.loads(json.dumps(made))
    assert [p.name for p in tmp_path.iterdir()] == ["f.json"]


def test_the_file_keeps_every_sample_packed(tmp_path, case, host):
    made = document(measured([harness.Runner("double", lambda x: x * 2)], case, host))
    made["rows"][0]["samples_us"] = [1.5, 3.25, 0.001, 98765432.125, 98765432.125]
    documents.write(tmp_path / "f.json", made)
    (row,) = json.loads((tmp_path / "f.json").read_text())["rows"]

    assert row["samples_ns_steps"] == [1500, 1750, -3249, 98765432124, 0]
    assert "samples_us" not in row
    assert documents.read(tmp_path / "f.json")["rows"] == made["rows"]


def test_a_file_of_before_is_read(tmp_path, case, host):
    made = document(measured([harness.Runner("double", lambda x: x * 2)], case, host))
    (tmp_path / "f.json").write_text(json.dumps(made | {"format": documents.OLD_FORMAT}))

    assert documents.read(tmp_path / "f.json")["rows"] == made["rows"]


@pytest.mark.parametrize("sample", [1.2345, math.inf, math.nan])
def test_a_sample_that_packing_would_change_is_refused(sample, tmp_path, case, host):
    made = document(measured([harness.Runner("double", lambda x: x * 2)], case, host))
    made["rows"][0]["samples_us"] = [sample]

    with pytest.raises(ValueError, match="not a whole number of nanoseconds"):
        documents.write(tmp_path / "f.json", made)


@pytest.mark.parametrize(
    ("part", "key"),
    [("machine", "commit"), ("rows", "samples_us"), ("limits", "met"), (None, "absent")],
)
def test_a_document_that_lacks_something_is_refused(part, key, tmp_path, case, host):
    made = copy.deepcopy(document(measured([harness.Runner("a", lambda x: x * 2)], case, host)))
    place = made if part is None else made[part]
    (place[0] if isinstance(place, list) else place).pop(key)

    with pytest.raises(ValueError, match=key):
        documents.write(tmp_path / "f.json", made)


@pytest.mark.parametrize(
    ("limit", "value", "met"),
    [(">= 2", 2.0, True), (">= 2", 1.9, False), ("<= 150", 150.0, True), (">= 5", None, None)],
)
def test_a_limit_is_judged(limit, value, met, host):
    found = recorded(host)
    found.limit("name", limit, value, "x")

    assert found.limits[0]["met"] is met


def test_the_machine_is_described():
    assert set(machine.describe()) == set(documents.MACHINE)


@pytest.mark.parametrize("name", [
    "report.document", "report.plots", "report.reading", "measure.chains", "tools.against",
    "experiments.shapes",
])  # fmt: skip
def test_examples_in_docstrings_hold(name):
    pytest.importorskip("matplotlib")
    found = doctest.testmod(importlib.import_module(f"bench.{name}"), optionflags=doctest.ELLIPSIS)

    assert found.attempted > 0
    assert found.failed == 0


# Sizes, peers and problems


@pytest.mark.parametrize(("bytes_each", "power", "expected", "said"), [
    (1, 1, [10, 20], ""),
    (60, 1, [10, 16], "size 20 needs"),  # the memory holds 16 of them
    (1, 2, [10, 20], ""),
    (3, 2, [10, 16], "size 20 needs"),  # matrices of 18 by 18 would fit
])  # fmt: skip
def test_sizes_shrink_to_the_memory_and_say_so(
    bytes_each, power, expected, said, host, monkeypatch
):
    monkeypatch.setattr(executors.Host, "memory_bytes", 1000)
    found = recorded(host)

    assert found.sizes([10, 20], [1], bytes_each, power) == expected
    assert said in " ".join(found.notes)


def test_a_peer_runs_the_same_code_under_its_own_namespace():
    seen = []

    class Namespace:
        def cos(self, x):
            seen.append(x)
            return "a cosine"

    def fn(x):
        return np.cos(x)

    assert peers.rebound(fn, Namespace())(3) == "a cosine"
    assert seen == [3]
    assert fn(0.0) == 1.0


def task_of(fn):
    return peers.Task(fn, [(np.ones(3),)], np)


def twice(x):
    return helper(x) * 2


def helper(x):
    return np.cos(x)


def test_helpers_of_the_same_module_are_rebound_too():
    class Namespace:
        def cos(self, x):
            return 21

    assert peers.rebound(twice, Namespace())(3) == 42
    assert peers.rebound(twice, np, wrap=lambda f: lambda x: 5)(3) == 10


@pytest.mark.parametrize("inside", [True, False])
def test_a_reason_names_no_folder_of_the_machine(host, monkeypatch, inside):
    monkeypatch.setattr(sys, "prefix", f"{BENCH.parent}/.venv" if inside else "/opt/python")
    found = recorded(host)
    found.refuse("a peer", "peer", {}, ValueError(f"in {BENCH}/run.py and {sys.prefix}/lib/x.py"))

    assert found.refused[0]["reason"] == "ValueError: in bench/run.py and lib/x.py"


def test_a_peer_that_fails_before_it_runs_is_refused_and_named(host, monkeypatch):
    def broken(task):
        raise RuntimeError("no such device")

    monkeypatch.setitem(peers.PEERS["host"], "JAX", broken)
    found = recorded(host, peers=("NumPy", "JAX"))
    made = problem.peers_of(found, task_of(lambda x: x + 1), {"n": 3})

    assert [r.name for r in made] == ["NumPy"]
    assert [(r["runner"], r["role"]) for r in found.refused] == [("JAX", "peer")]


def turned_over(x):
    return np.flip(x)


def test_a_peers_own_function_stands_beside_the_common_code(host):
    x = np.arange(4.0)
    task = peers.Task(lambda x: x[::-1], [(x,)], np, own={"NumPy": (turned_over,)})
    plain, own = peers.runners("host", ("NumPy",), task, {}, lambda name, error: None)

    assert (plain.name, own.name, own.role) == ("NumPy", "NumPy, turned_over", "peer")
    np.testing.assert_array_equal(plain.run(x), own.run(x))


@pytest.mark.host
def test_sizes_that_an_experiment_has_no_use_for_are_said(small, tmp_path):
    arguments = ["--quick", "--device", "host", "--peers", "none", "--no-figures", "--sizes", "64"]
    for name, noted in (("guards", True), ("traffic", False)):
        assert run.main([name, *arguments, "--results", str(tmp_path)]) == 0
        notes = documents.read(tmp_path / "host-quick" / f"{name}.json")["notes"]
        assert any("--sizes has no meaning" in note for note in notes) is noted


def test_an_absent_peer_is_named_with_its_reason(monkeypatch, host):
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    found = recorded(host, peers=("NumPy", "JAX", "torch.compile"))
    made = problem.peers_of(found, task_of(lambda x: x + 1), {})

    assert [r.name for r in made] == ["NumPy"]
    assert "jax" in found.absent["JAX"]
    assert "torch" in found.absent["torch.compile"]
    assert found.absent["numba"] == "not asked for"


def test_a_quick_run_leaves_slow_compilers_out(host):
    found = recorded(host, quick=True)
    problem.peers_of(found, task_of(lambda x: x + 1), {})

    assert found.absent["numba"] == "compiles for seconds: not in a quick run"


def test_an_unknown_peer_is_refused(capsys):
    with pytest.raises(SystemExit):
        run.main(["traffic", "--peers", "NumPie"])
    assert "unknown peer NumPie: expected NumPy," in capsys.readouterr().err


@pytest.mark.host
def test_a_peer_that_disagrees_is_refused_and_named(host):
    found = recorded(host, peers=("NumPy",))
    wrong = harness.Runner("a peer", lambda x: x * 2, role="peer")
    task = problem.Problem(lambda x: x * 3, [np.ones(8, np.float32)], {"n": 8}, 1e-6)
    problem.solve(found, task, [wrong])

    assert [(r["runner"], r["role"], r["wrong"]) for r in found.refused] == [
        ("a peer", "peer", True)
    ]
    assert {r["runner"] for r in found.rows} == {"opweave", "opweave, out=", "NumPy"}


@pytest.mark.host
@pytest.mark.parametrize("name", ["numexpr", "numba", "PyTorch", "JAX"])
@pytest.mark.parametrize("experiment", ["traffic", "intensity", "memory", "fusion", "transformer"])
def test_a_peer_that_is_here_agrees(name, experiment, small, tmp_path):
    if importlib.util.find_spec({"PyTorch": "torch"}.get(name, name.lower())) is None:
        pytest.skip(f"{name} is not installed")
    arguments = [experiment, "--quick", "--device", "host", "--peers", name, "--no-figures"]

    assert run.main([*arguments, "--results", str(tmp_path)]) == 0
    found = documents.read(tmp_path / "host-quick" / f"{experiment}.json")
    cannot = (name, experiment) in (("numexpr", "transformer"), ("numba", "transformer"))
    assert cannot or name in {r["runner"] for r in found["rows"]}
    assert cannot or found["refused"] == []


@pytest.mark.parametrize(("expression", "names", "line"), [
    ("(x * factor) + term", ["x"], "x * factor + term"),
    ("where(x > 0, cos(x), y)", ["x", "y"], "tl.where(x > 0, tl.cos(x), y)"),
])  # fmt: skip
def test_tritons_kernel_is_the_expression(expression, names, line):
    made = triton_peer.source(expression, names)

    compile(made, "kernel.py", "exec")
    assert f"tl.store(at_out + at, {line}, inside)" in made
    assert [f"{n} = tl.load(at_{n} + at, inside)" in made for n in names] == [True] * len(names)


def test_triton_without_an_expression_is_absent_and_says_why(monkeypatch):
    monkeypatch.setattr(peers, "module", lambda name: None)
    with pytest.raises(peers.Absent, match="no kernel is written"):
        peers.triton(peers.Task(twice, [(np.ones(3, np.float32),)], np))


@pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("triton", "torch"))), reason="Triton is not installed"
)
def test_tritons_kernel_computes_the_expression(tmp_path):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import numpy as np, torch, triton\n"
        "from bench.measure import triton_peer\n"
        "triton_peer.BLOCKS, triton_peer.WARPS = (256,), (4,)\n"
        "x = np.linspace(-3, 3, 1000, dtype=np.float32)\n"
        "run = triton_peer.compiled(triton, 'cos(x) * half', ['x'], {'half': np.float32(0.5)})\n"
        "assert abs(run(torch.from_numpy(x)).numpy() - np.cos(x) / 2).max() < 1e-6\n"
    )
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    subprocess.run([sys.executable, "-c", code, str(BENCH.parent)], env=environment, check=True)


# Standing


MACHINE = {"gpu": None, "caches": {"L1": 1000, "L2": 20_000}}


def place_of(rows):
    found = {"experiment": "fusion", "rows": rows, "roofs": ROOFS, "machine": MACHINE}
    return {(p.other, p.ours): p.ratio for p in standing.of_document("host", found)}


def row(runner, role, us, **more):
    return {
        "runner": runner, "role": role, "median_us": us, "spread": 0.1, "parameters": {"n": 1},
        "clock": "a clock", "sets": 2,
        "bytes": 10_000, "flops": 0, "special": 0, "unit": "fp32", **more,
    }  # fmt: skip


@pytest.mark.parametrize(("rows", "expected"), [
    ([row("opweave", "ours", 4.0), row("NumPy", "peer", 2.0)],
     {("NumPy", "opweave"): 2.0, ("the roof", "opweave"): 4.0}),
    # with out= against with out=, without against without; a variant never counts
    ([row("opweave", "ours", 4.0), row("opweave, out=", "ours", 1.0),
      row("naive", "variant", 0.5), row("NumPy", "peer", 2.0), row("NumPy, out=", "peer", 0.5)],
     {("NumPy", "opweave"): 2.0, ("NumPy, out=", "opweave, out="): 2.0,
      ("the roof", "opweave, out="): 1.0}),
    # a peer that waits for its results is held against calls
    ([row("opweave", "ours", 1.0, call_us=[30.0, 20.0, 10.0]),
      row("JAX", "peer", 10.0, clock="another")],
     {("JAX", "opweave"): 2.0, ("the roof", "opweave"): 1.0}),
    ([row("opweave", "ours", 4.0, unit="matrix16")], {}),  # that roof was not measured
    ([row("opweave", "ours", 10.0, flops=1_000_000, unit="matrix")],
     {("the roof", "opweave"): 2.0}),
    ([row("opweave", "ours", 10.0, special=10_000, bytes=0)], {("the roof", "opweave"): 1.0}),
    ([row("opweave", "ours", 10.0, bytes=0)], {}),
    # what fits a cache is held against no roof of memory, but against that of arithmetic
    ([row("opweave", "ours", 4.0, sets=1)], {}),
    ([row("opweave", "ours", 10.0, sets=1, flops=500_000)], {("the roof", "opweave"): 2.0}),
    ([row("NumPy", "peer", 2.0)], {}),
])  # fmt: skip
def test_standing_is_our_best_over_each_peer_and_the_roof(rows, expected):
    assert place_of(rows) == pytest.approx(expected)


def test_the_table_is_worst_first_and_names_what_it_could_not_read(tmp_path, host, case, capsys):
    slow = harness.Runner("opweave", lambda x: sum(x for _ in range(50)) / 25)
    peer = harness.Runner("NumPy", lambda x: x * 2, role="peer")
    documents.write(
        tmp_path / "host" / "fusion.json", document(measured([slow, peer], case, host))
    )
    (tmp_path / "host" / "broken.json").write_text("{")
    (tmp_path / "host" / "old.json").write_text('{"format": 1}')
    (tmp_path / "host" / "odd.json").write_text('{"format": 2, "rows": [1], "machine": null}')

    assert run.main(["--standing", "--results", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "fusion: n=1000; opweave / NumPy" in said
    assert "not read: host/broken.json" in said
    assert "not read: host/odd.json: lacks" in said
    assert "not read: host/old.json: expected a benchmark of format 3" in said


def test_two_runs_are_compared_row_by_row(tmp_path, host, case, capsys):
    made = document(measured([harness.Runner("opweave", lambda x: x * 2)], case, host))
    slower = copy.deepcopy(made)
    slower["rows"][0]["median_us"] = 1.5 * made["rows"][0]["median_us"]
    slower["rows"].append(made["rows"][0] | {"runner": "new"})
    documents.write(tmp_path / "a" / "host" / "fusion.json", made)
    documents.write(tmp_path / "b" / "host" / "fusion.json", slower)
    arguments = ["--results", str(tmp_path / "b"), "--compare", str(tmp_path / "a")]

    assert run.main(arguments) == 0
    said = capsys.readouterr().out
    assert "1.500" in said
    assert "host fusion: n=1000; opweave" in said
    assert said.endswith("0 of 1 agree within 5 %\n")
    assert run.main([*arguments, "--least-ms", "1e9"]) == 0
    assert capsys.readouterr().out == "0 of 0 agree within 5 %\n"


def test_what_slows_numpy_too_is_not_ours(tmp_path, host, case):
    made = document(measured([harness.Runner("opweave", lambda x: x * 2)], case, host))
    made["rows"].append(made["rows"][0] | {"runner": "NumPy"})
    slower = copy.deepcopy(made)
    for row, factor in zip(slower["rows"], (1.55, 1.5), strict=True):
        row["median_us"] *= factor
    documents.write(tmp_path / "a" / "host" / "fusion.json", made)
    documents.write(tmp_path / "b" / "host" / "fusion.json", slower)
    ours, numpys = compare.pairs(tmp_path / "b", tmp_path / "a")

    assert (round(ours.beside, 3), numpys.beside) == (1.033, None)
    said = compare.table(tmp_path / "b", tmp_path / "a", 0.0)
    assert said.endswith("0 of 2 agree within 5 %; over what NumPy took in the same run, 1 of 1")


def test_rounds_pool_the_visits_of_a_row(tmp_path):
    arguments = ["fusion", "--quick", "--sizes", "4096", "--peers", "NumPy", "--device", "host"]
    assert run.main([*arguments, "--no-figures", "--rounds", "2", "--results", str(tmp_path)]) == 0
    (path,) = tmp_path.rglob("fusion.json")
    found = documents.read(path)

    assert found["options"]["rounds"] == 2
    assert {len(row["visits_us"]) for row in found["rows"]} == {2 * clock.VISITS}


def test_no_results_are_no_failure(tmp_path, capsys):
    assert run.main(["--standing", "--results", str(tmp_path)]) == 0
    assert "nothing was measured" in capsys.readouterr().out


# The experiments


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_has_what_the_table_needs(name):
    module = load(name)

    assert module.TITLE
    assert module.ABOUT
    assert module.FIGURES
    assert callable(module.measure)
    assert callable(module.reading)


def test_the_experiments_are_listed(capsys):
    assert run.main(["--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == list(EXPERIMENTS)


def test_an_unknown_experiment_is_named(capsys):
    with pytest.raises(SystemExit):
        run.main(["fusoin"])
    assert "unknown experiment fusoin: expected traffic," in capsys.readouterr().err


@pytest.fixture
def small(monkeypatch, host):
    """Every experiment at its smallest; roofs that nobody measured."""
    monkeypatch.setattr(run, "measured_roofs", lambda executor: dict(ROOFS))
    monkeypatch.setattr(record, "QUICK_SECONDS", 0.001)
    monkeypatch.setattr(executors, "PRODUCTS", {"host": (8,), "cuda": (8,)})
    monkeypatch.setattr(load("fusion"), "LENGTHS", (1, 2))
    monkeypatch.setattr(load("intensity"), "REPEATS", (1, 2))
    monkeypatch.setattr(load("network"), "LAYERS", (1,))
    monkeypatch.setattr(load("shapes"), "QUICK", (1, 8))
    monkeypatch.setattr(load("tiles"), "QUICK", (0.03125,))
    monkeypatch.setattr(load("histogram"), "BINS", (4,))
    monkeypatch.setattr(load("transformer"), "QUICK", ((8, 16),))
    for name in ("traffic", "intensity", "transpose", "convolution", "histogram"):
        monkeypatch.setattr(load(name), "QUICK", (64,))
    monkeypatch.setattr(load("memory"), "QUICK", (1 << 12,))
    monkeypatch.setattr(load("overhead"), "QUICK", (1, 2, 4))
    monkeypatch.setattr(load("products"), "QUICK", {"host": (16,), "cuda": (16,)})
    monkeypatch.setattr(load("pixels"), "QUICK", 8000)
    monkeypatch.setattr(load("graphs"), "QUICK", (4,))
    monkeypatch.setattr(load("graphs"), "QUICK_DEPTH", 3)
    monkeypatch.setattr(load("graphs"), "DEPTHS", (3,))
    monkeypatch.setattr(load("loop"), "QUICK_LARGE", 1 << 13)
    monkeypatch.setattr(load("calls"), "QUICK_CALLS", 8)
    monkeypatch.setattr(load("allocator"), "QUICK", (2,))
    monkeypatch.setattr(load("allocator"), "QUICK_PRODUCTS", 4)
    return host


@pytest.mark.host
@pytest.mark.parametrize("name", [n for n in EXPERIMENTS if n != "copies"])
def test_an_experiment_writes_a_file_that_reads(name, small, tmp_path):
    arguments = [name, "--quick", "--device", "host", "--peers", "NumPy", "--no-figures"]

    assert run.main([*arguments, "--results", str(tmp_path)]) == 0

    found = documents.read(tmp_path / "host-quick" / f"{name}.json")
    assert found["complete"]
    assert found["refused"] == []
    assert "ours" in {r["role"] for r in found["rows"]}
    assert all(r["samples_us"] for r in found["rows"])
    reading = load(name).reading(found)
    assert reading == "" or reading.endswith(".")
    assert "nan" not in reading.lower().split()
    assert load(name).reading(found | {"rows": [], "marks": [], "copy_rates": []}) == ""


@pytest.mark.parametrize("rule", networks.RULES)
def test_a_random_network_is_the_same_each_time_and_keeps_its_rule(rule):
    first, second = (networks.drawn(64, 8, rule, seed=3) for _ in "ab")
    assert first == second != networks.drawn(64, 8, rule, seed=4)
    if rule == "program":
        assert first.linears == 64
        assert first.operators[-1] == "relu"
        assert ("relu", "relu") not in itertools.pairwise(first.operators)
    else:
        assert len(first.operators) == 62


def test_a_rule_that_there_is_not():
    with pytest.raises(ValueError, match="expected program or text"):
        networks.drawn(4, 4, "coin")


@pytest.mark.parametrize("rule", networks.RULES)
@pytest.mark.parametrize("size", [4, 5, 64])
def test_no_layer_fades_and_a_wrong_weight_is_found(rule, size):
    network = networks.drawn(64, size, rule)
    given = networks.arguments(network)
    arrays = list(given.values())
    wanted = networks.expected(network, arrays)

    assert harness.check(np, networks.plain(network)(*arrays), wanted) < 0.5
    assert sum(given.keys() >= {f"w{n}", f"b{n}"} for n in range(64)) == network.linears
    arrays[-2] = arrays[-2] * np.float32(1.01)  # of the last Linear
    with pytest.raises(harness.WrongResult):
        harness.check(np, networks.plain(network)(*arrays), wanted)


def test_a_layer_that_grows_is_refused(monkeypatch):
    monkeypatch.setattr(networks, "BIAS", np.float32(1000))
    with pytest.raises(ValueError, match="operator 0: the largest magnitude is"):
        networks.arguments(networks.drawn(4, 8))


def test_calls_that_would_take_too_long_are_left_out_and_named(host):
    found = recorded(host)
    load("graphs").solve(found, networks.drawn(64, 1 << 14), {"size": 1 << 14})

    assert found.rows == []
    assert "left out; --sizes 16384 measures it" in found.notes[0]


@pytest.mark.parametrize("number", range(6))
def test_a_loops_bound_holds_for_numpy_and_not_for_another_argument(number):
    loop = load("loop")
    step = list(loop.steps(1 << 12, loop.WIDTHS))[number]
    for count in (1, 10, 1000):
        found = loop.called(step.fn, count, *step.arrays)
        assert harness.check(np, found, loop.expected(step, count)) < 1
    fewer = loop.called(step.fn, 1, step.arrays[0] * step.arrays[0], *step.arrays[1:])
    with pytest.raises(harness.WrongResult):
        harness.check(np, fewer, loop.expected(step, 1))


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


@pytest.mark.host
def test_figures_are_drawn_from_the_file_alone(small, tmp_path):
    pytest.importorskip("matplotlib")
    run.main(["fusion", "--quick", "--device", "host", "--results", str(tmp_path)])
    folder = tmp_path / "host-quick"
    drawn = {p.name for p in folder.iterdir()} - {"fusion.json"}

    assert drawn == {"fusion-time.svg", "fusion-bandwidth.svg", "roofline.svg"}

    before = {p: p.read_bytes() for p in folder.glob("fusion-*.svg")}
    for path in before:
        path.unlink()
    # without opweave, and without the experiments
    program = (
        "import sys; sys.modules |= dict.fromkeys(['opweave', 'bench.experiments.fusion']); "
        f"sys.path.insert(0, {str(BENCH.parent)!r}); from bench import run; "
        f"sys.exit(run.main(['--draw', '--results', {str(tmp_path)!r}]))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert {p: p.read_bytes() for p in before} == before


def test_a_figure_follows_the_readers_theme(tmp_path):
    from xml.etree import ElementTree

    plots.save(lambda: plots.grid_of(1, "curves", 0)[0], tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    ElementTree.fromstring(text)  # is XML
    sheet = text[text.index("<style") : text.index("</style>")]

    assert "@media (prefers-color-scheme: dark)" in sheet
    for light, dark in plots.DARK.items():
        assert f"fill: {light}" in text.replace(sheet, "")
        assert f'[style*="fill: {light}"] {{fill: {dark} !important}}' in sheet


@pytest.mark.host
def test_the_page_has_a_section_for_each_file_and_names_what_is_missing(small, tmp_path):
    options = ["--quick", "--device", "host", "--no-figures", "--results", str(tmp_path / "r")]
    run.main(["traffic", *options])
    path = tmp_path / "r" / "host-quick" / "traffic.json"
    found = documents.read(path)
    found["options"]["quick"] = False
    found["notes"].append("a note")
    documents.write(tmp_path / "r" / "host" / "traffic.json", found)
    made = page.page(tmp_path / "r", tmp_path / "docs" / "benchmarks.md", EXPERIMENTS, load)

    assert "## host\n" in made
    assert "## host-quick" not in made
    assert f"### {load('traffic').TITLE}" in made
    assert "One kernel takes" in made
    assert "- a note" in made
    assert "Not measured on host: products" in made
    assert "Not measured: `bench/gpu.sh FOLDER`" in made
    assert "numba, torch.compile, JAX (compiles for seconds" in made


@pytest.mark.parametrize(("card", "said"), [
    ({}, "has not been measured: no result of a GPU is stored."),
    ({4: 90.0, 32: 85.0, 64: 86.0}, "Measured, h200 is ahead of the host from n = 64 on."),
    ({4: 90.0, 32: 85.0}, "Measured, h200 is ahead of the host at no size up to 32."),
    ({512: 90.0}, "Measured, h200 is compared with the host at no size"),
])  # fmt: skip
def test_the_page_says_where_host_and_gpu_meet(card, said):
    def graphs(taken):
        return {"rows": [
            {"runner": runner, "role": "ours", "median_us": more + t,
             "parameters": {"size": n, "rule": "program"}}
            for n, t in taken.items() for more, runner in enumerate(crossing.MODES)
        ]}  # fmt: skip

    host = {4: 20.0, 32: 76.0, 64: 400.0}
    results = {"host": graphs(host), **({"h200": graphs(card)} if card else {})}
    made = crossing.crossing(results, load("graphs").DEPTH)

    assert "up to n = 32 (76 us): there it is quicker than any GPU" in made
    assert said in made
    assert crossing.crossing({"h200": graphs(host)}, load("graphs").DEPTH) == ""


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


@pytest.mark.parametrize(("name", "folder"), [
    ("NVIDIA H200", "h200"), ("Tesla T4", "t4"), ("NVIDIA GeForce RTX 4090", "geforce-rtx"),
])  # fmt: skip
def test_a_card_names_its_folder(name, folder):
    assert machine.place("cuda", {"gpu": {"name": name}}, quick=False) == folder


def broken_after_one_row(error):
    def measure(found):
        found.absent["peer"] = "gone"
        found.measured("opweave", {"n": 1}, [1e-6] * 4)
        raise error

    return measure


@pytest.mark.parametrize(("error", "status", "reason"), [
    (ow.OpweaveError("the device is lost"), 1, "the device is lost"),
    (KeyboardInterrupt(), 130, "interrupted"),
])  # fmt: skip
def test_what_was_measured_before_a_failure_is_kept(
    error, status, reason, tmp_path, monkeypatch, small, capsys
):
    monkeypatch.setattr(load("fusion"), "measure", broken_after_one_row(error))
    arguments = ["fusion", "traffic", "--device", "host", "--results", str(tmp_path)]
    monkeypatch.setattr(load("traffic"), "measure", lambda found: None)

    assert run.main(arguments) == status
    found = documents.read(tmp_path / "host" / "fusion.partial.json")
    assert any(
        reason in text for text in (*found["notes"], *(r["reason"] for r in found["refused"]))
    )
    assert not found["complete"]
    assert len(found["rows"]) == 1
    assert found["absent"] == {"peer": "gone"}
    assert (tmp_path / "host" / "traffic.json").exists() == (status == 1)


KILLED = """
import signal, sys, time
sys.path.insert(0, sys.argv[1])
from bench import run
from bench.report import document
from bench.experiments import load

def measure(found):
    found.measured("opweave", {"n": 1}, [1e-6] * 4)
    print("one row", flush=True)
    time.sleep(60)

load("fusion").measure = measure
run.measured_roofs = lambda executor: dict.fromkeys(document.ROOFS, 1.0)
signal.signal(signal.SIGTERM, run.stopped)
sys.exit(run.main(["fusion", "--device", "host", "--no-figures", "--results", sys.argv[2]]))
"""


def test_a_run_that_is_ended_leaves_its_rows_and_the_last_whole_file(tmp_path):
    whole = tmp_path / "host" / "fusion.json"
    whole.parent.mkdir()
    whole.write_text("the last whole file")
    command = [sys.executable, "-c", KILLED, str(BENCH.parent), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert any("one row" in line for line in process.stdout)
        process.terminate()
        process.stdout.read()

    assert process.returncode == 130
    found = documents.read(tmp_path / "host" / "fusion.partial.json")
    assert (len(found["rows"]), found["complete"]) == (1, False)
    assert whole.read_text() == "the last whole file"
    assert [p.name for p, _ in documents.stored(tmp_path)] == ["fusion.json"]


@pytest.mark.parametrize(("arguments", "piece"), [
    (["--sizes=-5"], "positive integers"),
    (["--sizes", "4,x"], "invalid integers value"),
    (["--compare", "nosuchfolder"], "no such folder"),
    (["--compare", str(Path(run.__file__).parent / "results" / "host")], "a folder that holds host/"),
    (["fusion", "--results", "/dev/null/here"], "/dev/null"),
    (["fusion", "--peers", "NumPie"], "expected NumPy,"),
])  # fmt: skip
def test_a_wrong_option_is_said_before_anything_is_measured(arguments, piece, capsys):
    with pytest.raises(SystemExit):
        run.main(arguments)

    assert piece in capsys.readouterr().err


@pytest.mark.parametrize(("more", "piece"), [
    ({"bytes": 100_000}, "memory binds, 100% of the time"),
    ({"flops": 900_000}, "arithmetic binds, 90% of the time"),
    ({"special": 8_000, "bytes": 0}, "arithmetic binds, 80% of the time"),
    ({"bytes": 1000}, "overhead explains 10% of it"),
    # a roof that was not measured is no floor
    ({"flops": 900_000, "unit": "matrix16"}, "memory 1 us, overhead 1 us: memory explains 10%"),
])  # fmt: skip
def test_what_binds_a_row_is_its_longest_floor(more, piece):
    assert piece in reading.binding(row("opweave", "ours", 10.0, **more), ROOFS)


def test_no_page_of_nothing_is_written(tmp_path, capsys):
    assert run.main(["--page", "--results", str(tmp_path)]) == 1
    assert "holds no results" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("wanted", "chosen"), [
    (("numpy", "jax"), ("NumPy", "JAX")), (("none",), ()), (("CuPy",), ()),
])  # fmt: skip
def test_peers_are_named_in_any_case_or_none_of_them(wanted, chosen):
    assert peers.chosen("host", wanted, quick=False) == chosen


def test_every_task_has_code_of_its_own():
    first, second = (peers.rebound(twice, np) for _ in range(2))

    assert first.__code__ is not second.__code__


def test_a_rate_has_its_quartiles_the_right_way_round():
    from matplotlib.figure import Figure

    axis = Figure().subplots()
    of = row("opweave", "ours", 10.0, quartiles_us=[5.0, 11.0])
    plots.bars(axis, {}, {"y": "bandwidth", "x": "", "ylog": False}, [of],
               plots.styles_of(["opweave"]))  # fmt: skip
    (segment,) = axis.collections[0].get_segments()

    assert segment[:, 0].tolist() == pytest.approx([10_000 / 11e3, 10_000 / 5e3])


@pytest.mark.parametrize("time_us", [0.0, -1.0, None, float("inf")])
def test_a_time_that_is_none_is_not_read(time_us, tmp_path, host, case):
    made = document(measured([harness.Runner("opweave", lambda x: x * 2)], case, host))
    made["rows"][0]["median_us"] = time_us
    (tmp_path / "a.json").write_text(json.dumps(made))

    with pytest.raises(ValueError, match="a time that is no positive number"):
        documents.read(tmp_path / "a.json")


@pytest.mark.parametrize(("role", "status"), [("ours", 1), ("peer", 0)])
def test_only_a_refused_result_of_ours_is_a_failure(
    role, status, monkeypatch, capsys, tmp_path, small
):
    def measure(found):
        found.refuse("a runner", role, {}, harness.WrongResult("7 elements"))

    monkeypatch.setattr(load("fusion"), "measure", measure)

    assert run.main(["fusion", "--device", "host", "--results", str(tmp_path)]) == status
    assert "REFUSED a runner" in capsys.readouterr().out


def test_a_device_that_is_not_there_is_named(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "cupy", None)

    assert run.main(["fusion", "--device", "cuda", "--results", str(tmp_path)]) == 1
    assert "absent: cuda (" in capsys.readouterr().out


def test_the_gpu_script_parses():
    assert subprocess.run(["bash", "-n", str(BENCH / "gpu.sh")], check=False).returncode == 0


def test_the_gpu_script_says_what_is_missing(tmp_path, capsys, monkeypatch):
    from bench.tools import gpu_steps

    monkeypatch.setattr(gpu_steps, "NEEDS", {"numpy": "numpy", "no_such_module": "some_wheel"})

    assert gpu_steps.needs() == 1
    said = capsys.readouterr()
    assert said.out == "some_wheel\n"
    assert "missing: no_such_module" in said.err
    assert "some-wheel" in said.err
