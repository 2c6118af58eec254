"""The command of the benchmarks: options, exit status, devices, and the script for GPUs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench import run
from bench.experiments import load
from bench.measure import (
    harness,
    machine,
)

BENCH = Path(__file__).parents[2] / "bench"


@pytest.mark.parametrize(("name", "folder"), [
    ("NVIDIA H200", "h200"), ("Tesla T4", "t4"), ("NVIDIA GeForce RTX 4090", "geforce-rtx"),
])  # fmt: skip
def test_a_card_names_its_folder(name, folder):
    assert machine.place("cuda", {"gpu": {"name": name}}, quick=False) == folder


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


@pytest.mark.parametrize("given", [[], ["nowhere"], ["counters"], ["--dry-run", "first"]])
def test_the_gpu_script_without_a_stage_or_a_folder_names_the_stages(given):
    command = ["bash", str(BENCH / "gpu.sh"), *given]
    found = subprocess.run(command, check=False, capture_output=True, text=True, env={})

    assert found.returncode == 2
    named = re.search(r"\{(.*)\|all\} FOLDER", found.stderr)[1].split("|")
    text = (BENCH / "gpu.sh").read_text()
    assert [name for name in named if f"\n{name}() {{" not in text] == []


def test_the_gpu_script_says_what_is_missing(tmp_path, capsys, monkeypatch):
    from bench.tools import gpu_steps

    monkeypatch.setattr(
        gpu_steps,
        "NEEDS",
        {("numpy", "nor_this"): "numpy", ("no_such_module", "nor_this"): "some_wheel"},
    )

    assert gpu_steps.needs() == 1
    said = capsys.readouterr()
    assert said.out == "some_wheel\n"
    assert "missing: no_such_module" in said.err
    assert "some-wheel" in said.err


@pytest.mark.host
def test_each_step_of_loading_a_saved_program_is_measured():
    from bench.tools import loading

    found = loading.measured(processes=1)
    heading, *rows = loading.lines(found)

    assert heading.split()[:3] == ["ms", "minimum", "median"]
    assert [row for row, name in zip(rows, loading.LIMITS, strict=True) if name not in row] == []
    assert [name for name, times in found.items() if len(times) != 1 or min(times) <= 0] == []
    assert min(found[loading.WHOLE]) > min(found[loading.SUM])
