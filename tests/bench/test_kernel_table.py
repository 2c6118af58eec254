"""The table of kernels by template, dtype, shape class and architecture: rows that are held."""

from importlib import metadata

import pytest

from bench.experiments.model.forms import FORMS
from bench.tools import kernels
from opweave.compiler.ir.device import ARCHES
from opweave.compiler.kernels.geometry import GEOMETRY

pytest.importorskip("elftools")
pytestmark = pytest.mark.nvrtc
TABLE = kernels.stored()
WORKS = {kernels.key_of(work, "")["work"]: work for work in FORMS}
CONFLICTS = {"product", "product_rows"}
# Bytes of a thread, nearly all of them around the slow path of a division, which no ordinary
# number takes.
SPILLS = {("RMS norm of 1024 columns, f32", "H200"): 16}
# Templates of a host, and of kernels that are a user's or a library's.
OTHERS = {"columns", "vendor", "handwritten", "library"}


@pytest.mark.parametrize("device", kernels.DEVICES)
@pytest.mark.parametrize("work", WORKS)
def test_a_kernel_asks_for_no_more_than_its_row_says(device, work):
    if metadata.version("nvidia-cuda-nvrtc") != TABLE["nvrtc"]:
        pytest.skip(f"the table is of NVRTC {TABLE['nvrtc']}")
    before = [row for row in TABLE["rows"] if (row["work"], row["device"]) == (work, device)]
    now = kernels.rows_of(WORKS[work], device)

    assert [row["kernel"] for row in now] == [row["kernel"] for row in before]
    for old, new in zip(before, now, strict=True):
        assert kernels.worse(old, new) == []
        assert kernels.worse(new, old) == [], "better: write the table anew"


def test_every_form_has_a_row_for_every_architecture():
    found = {(row["work"], row["device"]) for row in TABLE["rows"]}

    assert found == {(work, device) for work in WORKS for device in kernels.DEVICES}
    assert {row["target"] for row in TABLE["rows"]} == {*ARCHES} - {"host", "sm_120"}
    assert {row["template"] for row in TABLE["rows"]} == {*GEOMETRY} - OTHERS


def test_spills_and_conflicts_of_the_table_are_known():
    for row in TABLE["rows"]:
        is_narrow_tile = row["template"] == "tile" and not row["work"].endswith("f32")
        assert row["spilled"] == SPILLS.get((row["work"], row["device"]), 0), row
        assert row["conflicts"] == 0 or row["template"] in CONFLICTS or is_narrow_tile, row


@pytest.mark.parametrize(
    ("name", "factor", "is_worse"),
    [("registers", 1.03, True), ("registers", 1.01, False), ("instructions", 1.03, True),
     ("xu", 1.03, True), ("load", 0.9, True), ("load", 1.5, False), ("occupancy", 0.97, True)],
)  # fmt: skip
def test_a_row_is_held_to_two_percent(name, factor, is_worse):
    before = next(row for row in TABLE["rows"] if row["kernel"] == "softmax_row_f32") | {"xu": 10}
    found = kernels.worse(before, before | {name: before[name] * factor})

    assert [text.split(":")[0] for text in found] == [name] * is_worse
