"""Operators in templates where few programs have them; lowered, so that the tier has the cells."""

import numpy as np
import pytest

import opweave as ow

INT, UINT, FLOAT = (np.ones((300, 64), t) for t in (np.int32, np.uint32, np.float32))
SQUARE = np.ones((128, 128), np.float32)

# operator, template, target; a function, its arguments
CELLS = {
    ("absolute", "columns", "host"): (lambda x: np.abs(x).sum(axis=0), (INT,)),
    ("absolute", "row", "host"): (lambda x: np.abs(x).sum(axis=1), (INT.T.copy(),)),
    ("absolute", "row", "sm_80"): (lambda x: np.abs(x).sum(axis=1), (INT,)),
    ("add", "row", "sm_80"): (lambda x: (x + x).sum(axis=1), (UINT,)),
    ("cast", "tile", "sm_80"): (lambda x, y: x.T.astype(np.float64) + y, (SQUARE, SQUARE)),
    ("multiply", "tile", "sm_100"): (lambda x, y: x.T * y, (SQUARE, SQUARE)),
    ("where", "map", "sm_80"): (lambda x, k: np.where(k > 0, x, x * 2), (FLOAT, 1.0)),
}


@pytest.mark.parametrize("cell", CELLS, ids="-".join)
def test_the_template_has_the_operator(cell):
    name, template, target = cell
    function, arguments = CELLS[cell]
    program = ow.fuse(function).lower(*arguments, target=target)
    schedule = program.lowered.schedule
    found = {
        (schedule.graph.nodes[number].operator.name, kernel.template)
        for group, kernel in zip(schedule.groups, program.lowered.kernels, strict=True)
        for number in group.nodes
    }

    assert (name, template) in found
