"""Standing and comparison: from rows of results to who is ahead, by how much, and what binds."""

import copy

import pytest

from bench import run
from bench.measure import (
    clock,
    harness,
)
from bench.report import compare, reading, standing
from bench.report import document as documents
from tests.support.benched import ROOFS, document, measured, row

MACHINE = {"gpu": None, "caches": {"L1": 1000, "L2": 20_000}}


def place_of(rows):
    found = {"experiment": "fusion", "rows": rows, "roofs": ROOFS, "machine": MACHINE}
    return {(p.other, p.ours): p.ratio for p in standing.of_document("host", found)}


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
    for entry, factor in zip(slower["rows"], (1.55, 1.5), strict=True):
        entry["median_us"] *= factor
    documents.write(tmp_path / "a" / "host" / "fusion.json", made)
    documents.write(tmp_path / "b" / "host" / "fusion.json", slower)
    ours, numpys = compare.pairs(tmp_path / "b", tmp_path / "a")

    assert (round(ours.beside, 3), numpys.beside) == (1.033, None)
    said = compare.table(tmp_path / "b", tmp_path / "a", 0.0)
    assert said.endswith("0 of 2 agree within 5 %; over what NumPy took in the same run, 1 of 1")


def test_rounds_pool_the_visits_of_a_row(tmp_path, small):
    arguments = ["memory", "--quick", "--sizes", "4096", "--peers", "NumPy", "--device", "host"]
    assert run.main([*arguments, "--no-figures", "--rounds", "2", "--results", str(tmp_path)]) == 0
    (path,) = tmp_path.rglob("memory.json")
    found = documents.read(path)

    assert found["options"]["rounds"] == 2
    assert {len(row["visits_us"]) for row in found["rows"]} == {2 * clock.VISITS}


def test_no_results_are_no_failure(tmp_path, capsys):
    assert run.main(["--standing", "--results", str(tmp_path)]) == 0
    assert "nothing was measured" in capsys.readouterr().out


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
