"""The standing table as it is measured: beside others, and the counters of a profiler beside ours."""

import json
from pathlib import Path

import numpy as np
import pytest

from bench import run
from bench.experiments.model import measured, measured_page
from bench.experiments.model.workloads import QUICK, total
from bench.experiments.model.workloads import _of as of
from bench.tools import beside_nsight

STORED = Path(run.__file__).parent / "results" / "h200"
SOME = [w for w in QUICK if w.name in ("sum of 2^20", "softmax of 1024 columns")]


@pytest.mark.host
def test_each_row_has_our_time_and_each_peers_and_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(measured, "QUICK", SOME)
    options = ["--device", "host", "--quick", "--peers", "CuPy", "--results", str(tmp_path)]
    assert run.main(["model", *options]) == 0
    found = json.loads((tmp_path / "host-quick" / "standing" / "rows.json").read_text())

    assert [row["work"] for row in found["rows"]] == [work.name for work in SOME]
    for row in found["rows"]:
        assert {*row["runners"]} == {"opweave", "CuPy"}
        assert all(r["median_us"] > 0 and r["error"] < 1e-4 for r in row["runners"].values())
        assert row["roof_us"] > 0


@pytest.mark.host
def test_a_wrong_result_is_not_timed(monkeypatch):
    from bench.measure.executors import Host

    monkeypatch.setitem(measured.ALLOWED, "f32", -1.0)
    row = measured.measured_row(of("sum of 999", total, (999,)), Host(), ("CuPy",), 1e9)

    assert all("median_us" not in r and "an error of" in r["refused"]
               for r in row["runners"].values())  # fmt: skip
    assert "an error of" in measured.line_of(row)


@pytest.mark.parametrize(("found", "expected"), [
    ([1.0, 2.0], 0.0), ([1.0, 2.5], 0.5 / 5**0.5), ([np.nan, 2.0], np.inf), ([1.0], np.inf),
])  # fmt: skip
def test_an_error_is_that_of_the_norms_and_nan_is_infinite(found, expected):
    assert measured.error_of(np, np.array(found), np.array([1.0, 2.0])) == pytest.approx(expected)


def test_the_stored_page_is_that_of_the_stored_rows():
    path = STORED / "standing" / "rows.json"
    made = measured_page.page(json.loads(path.read_text()))

    assert made == (path.parent / "README.md").read_text()
    assert "The model's median error is" in made


def test_the_page_of_counters_is_that_of_the_stored_ones():
    rows = json.loads((STORED / "counters" / "beside.json").read_text())

    assert beside_nsight.page(rows, "H200") == (STORED / "counters" / "README.md").read_text()
    assert [row["nsight"] for row in rows] == beside_nsight.theirs(STORED / "counters" / "ncu.csv")


def test_counts_are_those_of_nsight_but_where_blocks_wait_for_one_another():
    for row in json.loads((STORED / "counters" / "beside.json").read_text()):
        ours, nsight = row["ours"], row["nsight"]
        if "scan_parts" in ours["kernel"]:  # how often they look is not known beforehand
            continue
        for name in ("instructions", "registers", "load sectors", "store sectors"):
            counter = beside_nsight.COMPARED[name]
            assert ours[counter] == pytest.approx(nsight[counter], rel=0.025), (ours, name)


@pytest.mark.parametrize(("pair", "text"), [
    ((2.0, 2.0), "="), ((0.0, 0.0), ""), ((1.0, 2.0), "0.50"), ((1.0, 0.0), "none of theirs"),
    ((1001.0, 1000.0), "="),
])  # fmt: skip
def test_a_cell_is_ours_over_theirs(pair, text):
    assert beside_nsight.over(pair) == text
