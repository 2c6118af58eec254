"""``opweave profile``: the page's commands, JSON, the margin, and mistakes."""

import json
import re
import shlex
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from opweave.cli.main import main

PAGE = (Path(__file__).parents[2] / "docs" / "profile.md").read_text()
COMMANDS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
]
LOADS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"
SAID = dict(
    zip(
        COMMANDS[5:],
        [(LOADS, 2048), (LOADS, 16384), (CONFLICTS, 992), (CONFLICTS, 0)],
        strict=True,
    )
)
APP = """
import numpy as np
def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
"""


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "lessons.cu").write_text(re.search(r"```cuda\n(.*?)```", PAGE, re.DOTALL)[1])
    (tmp_path / "wrong.cu").write_text('extern "C" __global__ void f(float* x) { x[0] = y; }\n')
    monkeypatch.chdir(tmp_path)
    yield
    sys.modules.pop("app", None)  # of this folder


def ran(capsys, command):
    status = main(shlex.split(command)[1:])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.nvrtc
@pytest.mark.parametrize("command", SAID)
def test_a_lesson_prints_what_the_page_says(capsys, command):
    status, out, _ = ran(capsys, command)
    name, value = SAID[command]

    assert status == 0
    assert re.search(rf"^  {re.escape(name)} +{value}$", out, re.MULTILINE)
    assert f"{value}" in PAGE
    assert "nothing was measured" in out


@pytest.mark.nvrtc
def test_json_has_counters_by_name_and_the_margin_has_the_lines(capsys):
    status, out, _ = ran(capsys, COMMANDS[2])
    (kernel,) = json.loads(out)["kernels"]
    assert status == 0
    assert kernel["device"] == "H200"
    assert kernel["counters"][LOADS] == 4096 * 1024 / 8

    status, out, _ = ran(capsys, COMMANDS[1])
    (line,) = (row for row in out.splitlines() if "softmax_row_f32(" in row)
    assert status == 0
    assert line.endswith("| softmax_row_f32(")

    status, out, _ = ran(capsys, COMMANDS[3])
    assert status == 0
    assert len(out.splitlines()) == 2 + sum(block["runs"] > 0 for block in kernel["basic_blocks"])
    executed = sum(b["runs"] * sum(b["instructions"].values()) for b in kernel["basic_blocks"])
    assert executed == pytest.approx(kernel["counters"]["smsp__inst_executed.sum"])
    total = sum(sum(row.values()) for row in kernel["lines"].values())
    assert total == pytest.approx(kernel["counters"]["smsp__inst_executed.sum"])


MISTAKES = [
    ("wrong.cu --kernel f --grid 1 --block 32 --arg f32[32]", 1, 'identifier "y" is undefined'),
    (
        "lessons.cu --kernel none --grid 1 --block 32",
        2,
        "no kernel none: expected one of copy, turn",
    ),
    (
        "lessons.cu --kernel turn --grid 1 --block 32 --arg f32[32]",
        2,
        "takes 3 arguments: found 1",
    ),
    (
        "lessons.cu --kernel turn --grid 1 --block 0 --arg f32[32] --arg f32[32] --arg 1",
        2,
        "from 1",
    ),
    (
        "lessons.cu --kernel copy --grid 1 --block 2048 --arg f32[4] --arg f32[4] --arg 1 --arg 1",
        2,
        "block=(2048,): expected numbers from 1 to (1024, 1024, 64)",
    ),
    (
        "lessons.cu --kernel copy --grid 1 --block 64,32 --arg f32[4] --arg f32[4] --arg 1 --arg 1",
        2,
        "block=(64, 32): expected at most 1024 threads",
    ),
    (
        "lessons.cu --kernel copy --grid 1,65536 --block 32 --arg f32[4] --arg f32[4] --arg 1 --arg 1",
        2,
        "grid=(1, 65536): expected numbers from 1",
    ),
    ("lessons.cu --kernel turn --grid 1", 2, "--block is missing"),
    ("missing.cu --kernel f --grid 1 --block 1", 1, "cannot be read"),
    ("app.py:softmax --arg f32[4,4] --grid 1", 2, "belongs to a .cu file"),
    ("app.py:softmax --arg f32[4,4] --target host", 2, "expected an sm target"),
    ("app.py:softmax --arg f32[4,4] --target B300", 2, "unknown target"),
]


@pytest.mark.nvrtc
@pytest.mark.parametrize(("arguments", "status", "says"), MISTAKES)
def test_a_mistake_is_one_line(capsys, arguments, status, says):
    found, out, err = ran(capsys, f"opweave profile {arguments}")

    assert (found, out) == (status, "")
    assert says in err
    assert err.count("\n") == 1


@pytest.mark.nvrtc
def test_a_picture_has_the_kernel_below_the_roofs(capsys):
    status, _, _ = ran(capsys, COMMANDS[4])
    picture = ElementTree.parse("softmax.svg").getroot()
    texts = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    (spot,) = picture.iter("{http://www.w3.org/2000/svg}circle")

    assert status == 0
    assert any(re.fullmatch(r"0: softmax_row_f32, .* of the roof, bound by .*", t) for t in texts)
    assert 0 < float(spot.get("cx")) < 400
    assert 0 < float(spot.get("cy")) < 240


@pytest.mark.nvrtc
def test_a_picture_that_cannot_be_written_is_an_error(capsys):
    status, _, err = ran(capsys, COMMANDS[4].replace("softmax.svg", "no/such/folder.svg"))

    assert status == 1
    assert "no/such/folder.svg cannot be written: No such file or directory" in err
