"""Peers: the same code under their own namespaces, and why one is absent or refused."""

import importlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench import run
from bench.measure import (
    executors,
    harness,
    peers,
    problem,
    triton_peer,
)
from bench.report import document as documents
from tests.support.benched import recorded

BENCH = Path(__file__).parents[2] / "bench"


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


@pytest.mark.parametrize(("wanted", "chosen"), [
    (("numpy", "jax"), ("NumPy", "JAX")), (("none",), ()), (("CuPy",), ()),
])  # fmt: skip
def test_peers_are_named_in_any_case_or_none_of_them(wanted, chosen):
    assert peers.chosen("host", wanted, quick=False) == chosen


def test_every_task_has_code_of_its_own():
    first, second = (peers.rebound(twice, np) for _ in range(2))

    assert first.__code__ is not second.__code__
