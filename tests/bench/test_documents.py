"""The files of results: what they hold, what is refused, and what is read of them."""

import copy
import doctest
import importlib
import importlib.util
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

import opweave as ow
from bench import run
from bench.experiments import load
from bench.measure import (
    harness,
    machine,
)
from bench.report import document as documents
from tests.support.benched import document, measured, recorded

BENCH = Path(__file__).parents[2] / "bench"


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
    "experiments.kernels.shapes",
])  # fmt: skip
def test_examples_in_docstrings_hold(name):
    pytest.importorskip("matplotlib")
    found = doctest.testmod(importlib.import_module(f"bench.{name}"), optionflags=doctest.ELLIPSIS)

    assert found.attempted > 0
    assert found.failed == 0


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


@pytest.mark.parametrize("time_us", [0.0, -1.0, None, float("inf")])
def test_a_time_that_is_none_is_not_read(time_us, tmp_path, host, case):
    made = document(measured([harness.Runner("opweave", lambda x: x * 2)], case, host))
    made["rows"][0]["median_us"] = time_us
    (tmp_path / "a.json").write_text(json.dumps(made))

    with pytest.raises(ValueError, match="a time that is no positive number"):
        documents.read(tmp_path / "a.json")
