"""The drawing of a program: who waits for whom, boxes apart and in order."""

from itertools import combinations

import numpy as np
import pytest

import opweave as ow
from opweave._programs import drawing
from tests.html.markup import Read

X = np.ones((16, 16), np.float32)


def chain(x, w):
    return np.sqrt(x @ w) @ w


def two(x, w):
    return (x @ w).mean(axis=0), w.T + 1, x


def lowered(function):
    return ow.fuse(function).unfused().lower(X, X, target="sm_80").lowered


@pytest.mark.parametrize("function", [chain, two])
def test_boxes_lie_apart_and_below_what_they_wait_for(function):
    waits, texts = drawing.flow(lowered(function))
    boxes = drawing.placed(waits, texts)

    assert {*boxes} == {*waits} != set()
    for one, other in combinations(boxes.values(), 2):
        assert abs(one.x - other.x) >= drawing.WIDE or abs(one.y - other.y) >= drawing.HIGH
    for key, before in waits.items():
        assert all(boxes[b].y < boxes[key].y for b in before)


def test_a_kernel_waits_for_those_that_make_what_it_reads():
    waits, _ = drawing.flow(lowered(chain))

    assert waits["kernel 0"] == ["in x", "in w"]
    assert waits["kernel 1"] == ["kernel 0"]
    assert waits["kernel 2"] == ["kernel 1", "in w"]
    assert waits["out 0"] == ["kernel 2"]


def test_a_result_that_is_an_argument_waits_for_it():
    waits, _ = drawing.flow(lowered(two))

    assert waits["out 2"] == ["in x"]


def test_kernels_are_links_to_their_chapters():
    found = Read(drawing.drawing(lowered(chain)))

    assert found.faults == []
    assert [a["href"] for tag, a in found.attributes if tag == "a"] == ["#k0", "#k1", "#k2"]


def test_a_program_of_many_boxes_is_not_drawn(monkeypatch):
    monkeypatch.setattr(drawing, "MOST_BOXES", 5)

    assert drawing.drawing(lowered(chain)) == ""
