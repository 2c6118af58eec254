"""Operators in templates where few programs have them; lowered, so that the tier has the cells."""

import numpy as np
import pytest

import opweave as ow
from bench.experiments.model.forms import FORMS
from bench.tools.kernels import DEVICES
from opweave.compiler.ir.device import ARCHITECTURES
from tests.support.data import applied, chunks, maps, reductions

EVERYWHERE = ["host", *ARCHITECTURES]
INT, UINT, FLOAT = (np.ones((300, 64), t) for t in (np.int32, np.uint32, np.float32))
SQUARE, SQUARE_UINT = np.ones((128, 128), np.float32), np.ones((128, 128), np.uint32)
BOOL, COMPLEX = np.ones((300, 64), bool), np.ones((300, 64), np.complex64)
FEW = np.ones((24, 24), np.complex64)
SMALL, LONG = np.ones((4, 4), np.int64), np.ones(1 << 20, np.int32)


def turned(x, y):
    return x.T * y + x.T.astype(np.float64)


# operator, and perhaps the kind of its first operand, template, target; a function, its arguments
CELLS = {
    ("add of u", "tile", "sm_100"): (lambda x, y: x.T + y, (SQUARE_UINT, SQUARE_UINT)),
    ("cast of f", "tile", "sm_75"): (turned, (SQUARE, SQUARE)),
    ("multiply of f", "tile", "sm_75"): (turned, (SQUARE, SQUARE)),
    ("gather_1d of b", "map", "host"): (lambda x, n: x[n], (BOOL[0], SMALL)),
    ("gather_inside of c", "map", "host"): (np.searchsorted, (COMPLEX[:, 0].copy(), COMPLEX)),
    ("gather_3d of b", "map", "host"): (
        lambda x, n: x.reshape(4, 75, 64)[n, n, n],
        (BOOL, SMALL),
    ),
    ("matmul of c", "product", "sm_120"): (np.matmul, (FEW, FEW)),
    ("add of c", "product", "sm_120"): (lambda x: x @ x + x, (FEW,)),
    ("add of u", "tile", "sm_120"): (lambda x, y: x.T + y, (SQUARE_UINT, SQUARE_UINT)),
    ("where of c", "row", "host"): (
        lambda x, k: np.where(k > 0, x, x * 2).sum(axis=1),
        (COMPLEX, 1.0),
    ),
    ("floor_divide of u", "count", "sm_80"): (
        lambda x: np.bincount(x // 2, minlength=9),
        (LONG.astype(np.uint32),),
    ),
    ("multiply", "tile", "sm_100"): (lambda x, y: x.T * y, (SQUARE, SQUARE)),
    ("multiply", "tile", "sm_120"): (lambda x, y: x.T * y, (SQUARE, SQUARE)),
    ("full of b", "outer", "sm_80"): (
        lambda x: np.full(x.shape, True) & (x.sum(axis=0) > 0),
        (FLOAT,),
    ),
    ("matmul of u", "product_rows", "sm_80"): (
        lambda x, y: (x @ y).sum(axis=1),
        (UINT, UINT[:64]),
    ),
    ("matmul of u", "product_rows", "sm_90a"): (
        lambda x, y: (x @ y).sum(axis=1),
        (UINT, UINT[:64]),
    ),
    ("matmul of i", "product_rows", "sm_80"): (lambda x, y: (x @ y).sum(axis=1), (INT, INT[:64])),
    ("matmul of i", "product_rows", "sm_90a"): (lambda x, y: (x @ y).sum(axis=1), (INT, INT[:64])),
}


@pytest.mark.parametrize("cell", CELLS, ids="-".join)
def test_the_template_has_the_operator(cell):
    name, template, target = cell
    function, arguments = CELLS[cell]
    program = ow.fuse(function).lower(*arguments, target=target)
    schedule = program.lowered.schedule
    found = set()
    for group, kernel in zip(schedule.groups, program.lowered.kernels, strict=True):
        for node in map(schedule.graph.nodes.__getitem__, group.nodes):
            kind = (node.values or node.results)[0].dtype.kind
            found |= {
                (node.operator.name, kernel.template),
                (f"{node.operator.name} of {kind}", kernel.template),
            }

    assert (name, template) in found


@pytest.mark.parametrize("target", EVERYWHERE)
@pytest.mark.parametrize("table", [FLOAT[:, 0], INT[:, 0], UINT[:, 0]], ids=str)
def test_any_template_searches_in_a_table(table, target):
    def searched(x, y, pixels, table):
        rows = np.searchsorted(table, x) + 1
        pictures = np.searchsorted(table, pixels) * [1, 2, 3]
        return rows, rows.sum(axis=1), rows.sum(axis=0), rows.max(), pictures, table[:3] @ y[:3]

    pixels = np.ones((40, 50, 3), table.dtype)
    args = table[:48].reshape(6, 8).copy(), SQUARE, pixels, table.copy()
    lowered = ow.fuse(searched).lower(*args, target=target).lowered
    assert any(node.operator.name == "gather_inside" for node in lowered.graph.nodes)


# What a function of whole arrays becomes a part of: a shape, what follows, and its templates.
AROUND = {
    "map": ((300, 64), lambda made: made, "map"),
    "row": ((300, 64), lambda made: made.sum(axis=1), "row"),
    "columns": ((300, 64), lambda made: made.sum(axis=0), "columns outer"),
    "reduce": ((1 << 20,), np.sum, "reduce"),
    "scan": ((300, 64), lambda made: np.cumsum(made, axis=1), "scan"),
    "pixel": ((300, 64), lambda made: np.stack([made, made], -1), "pixel"),
}
# Of the templates that are written for it: what comes before.
BEHIND = {
    "product": ((96, 96), lambda x: x @ x, "product"),
    "tile": ((128, 128), lambda x: x.T, "tile"),
}


def operators_by_template(dtype, target, shape, before=None, behind=None):
    """Which operators of a dtype kernels of each template have, 16 of them in a function."""
    found, every = {}, set()
    for arity in (1, 2, 3):
        arguments = [np.ones(shape, dtype)] * arity
        every |= {row.name for row in maps(arity, *[dtype] * arity)}
        for rows in chunks(maps(arity, *[dtype] * arity), 16):

            def function(*x, of=applied(rows)):
                first = before(x[0]) if before else x[0]
                return tuple(map(behind, of(first, *x[1:])) if behind else of(first, *x[1:]))

            fused = ow.fuse(function).with_toggles(USE_VENDOR=0)
            lowered = fused.lower(*arguments, target=target).lowered
            for group, kernel in zip(lowered.schedule.groups, lowered.kernels, strict=True):
                names = {lowered.graph.nodes[number].operator.name for number in group.nodes}
                found[kernel.template] = found.get(kernel.template, set()) | names
    return found, every


# The least part of the operators; others are kernels of their own, for what they take to compile,
# or since nothing crosses a tile.
FUSED = 0.35
PLACES = [(around, target) for around in AROUND for target in ("host", "sm_80", "sm_90a")]
PLACES += [("map", target) for target in ARCHITECTURES if ("map", target) not in PLACES]


@pytest.mark.parametrize("dtype", ["bool", "int32", "uint8", "float32", "complex64"])
@pytest.mark.parametrize(("around", "target"), PLACES)
def test_what_follows_a_function_has_its_operators(around, dtype, target):
    shape, behind, templates = AROUND[around]
    found, every = operators_by_template(dtype, target, shape, behind=behind)
    (template,) = found.keys() & templates.split()
    assert len(found[template] & every) > len(every) * FUSED


@pytest.mark.parametrize("target", ["host", "sm_80", "sm_90a"])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "complex64"])
@pytest.mark.parametrize("behind", BEHIND)
def test_what_comes_before_a_function_stays_with_its_operators(behind, dtype, target):
    shape, before, template = BEHIND[behind]
    found, every = operators_by_template(dtype, target, shape, before=before)
    assert len(found[template] & every) > len(every) * FUSED


@pytest.mark.parametrize("target", EVERYWHERE)
@pytest.mark.parametrize("dtype", ["bool", "int32", "uint8", "float32", "complex64"])
def test_reductions_of_every_operator(dtype, target):
    table, line = np.ones((300, 64), dtype), np.ones(1 << 20, dtype)
    rows = reductions(dtype)
    for reduced in (
        lambda x, line: tuple(r(x, axis=0) for r in rows),
        lambda x, line: tuple(r(x, axis=1) for r in rows),
        lambda x, line: tuple(r(line) for r in rows),
    ):
        nodes = ow.fuse(reduced).lower(table, line, target=target).lowered.graph.nodes
        assert {row.name for row in rows} <= {node.operator.name for node in nodes}


@pytest.mark.parametrize("device", DEVICES)
def test_the_forms_of_the_table_of_kernels_are_lowered_for_every_architecture(device):
    for work in FORMS:
        fused = ow.fuse(work.function, fast=work.fast).with_toggles(USE_VENDOR=0)
        assert fused.lower(*work.arguments(), target=device).lowered.kernels
