"""The experiments: each writes a file that reads, of problems that keep their rules."""

import itertools
from importlib.util import find_spec

import numpy as np
import pytest

from bench import run
from bench.experiments import EXPERIMENTS, MODEL, load
from bench.experiments.calls.compile import Fresh
from bench.measure import (
    harness,
    networks,
)
from bench.report import document as documents
from opweave.runtime.binaries.build import builder
from opweave.runtime.binaries.cache import DiskCache
from opweave.runtime.cuda import executor as cuda
from opweave.runtime.host import loops
from tests.support.benched import recorded

# What needs a GPU, and what needs programs of others.
NEEDS = {"torch": "torch", "scale": "dask"}
ELSEWHERE = (
    "copies",
    "npbench",
    *(n for n, package in NEEDS.items() if find_spec(package) is None),
)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_has_what_the_table_needs(name):
    module = load(name)

    assert module.TITLE
    assert module.ABOUT
    assert module.FIGURES
    assert callable(module.measure)
    assert callable(module.reading)


def test_a_first_call_finds_nothing_that_is_compiled_or_loaded(tmp_path, monkeypatch):
    before = builder()
    monkeypatch.setattr(cuda, "_executors", {(0, False): "with its modules"})
    with Fresh(DiskCache(tmp_path)) as renew:
        made = loops.builder()
        assert made is builder() is not before
        assert made.disk.root == tmp_path
        assert not cuda._executors
        renew()
        assert builder() is not made
    assert loops.builder() is before


def test_the_experiments_are_listed(capsys):
    assert run.main(["--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == [*EXPERIMENTS, MODEL]


def test_an_unknown_experiment_is_named(capsys):
    with pytest.raises(SystemExit):
        run.main(["fusoin"])
    assert "unknown experiment fusoin: expected traffic," in capsys.readouterr().err


@pytest.mark.host
@pytest.mark.parametrize("name", [n for n in EXPERIMENTS if n not in ELSEWHERE])
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
