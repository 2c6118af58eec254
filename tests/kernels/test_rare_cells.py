"""Operators in templates where few programs have them; lowered, so that the tier has the cells."""

import numpy as np
import pytest

import opweave as ow
from bench.experiments.model.forms import FORMS
from bench.tools.kernels import DEVICES
from opweave.compiler.ir.device import ARCHITECTURES
from tests.support.data import applied, chunks, maps, values

INT, UINT, FLOAT = (np.ones((300, 64), t) for t in (np.int32, np.uint32, np.float32))
SQUARE, SQUARE_UINT = np.ones((128, 128), np.float32), np.ones((128, 128), np.uint32)
BOOL, COMPLEX = np.ones((300, 64), bool), np.ones((300, 64), np.complex64)
FEW = np.ones((24, 24), np.complex64)
SMALL, LONG = np.ones((4, 4), np.int64), np.ones(1 << 20, np.int32)


def in_rows(of):
    """In the loop of a sum over each row."""
    return lambda *x: of(*x).sum(axis=1)


def stepped(x, k):
    made = x[:, :6] * 2
    made[:, k::2] += 1
    return made


def compared(x, k):
    made = (x[:, :6] > 1) * 2
    made[:, k::2] += 1
    return made


def turned(x, y):
    return x.T * y + x.T.astype(np.float64)


# operator, and perhaps the kind of its first operand, template, target; a function, its arguments
CELLS = {
    ("absolute", "columns", "host"): (lambda x: np.abs(x).sum(axis=0), (INT,)),
    ("absolute", "row", "host"): (lambda x: np.abs(x).sum(axis=1), (INT.T.copy(),)),
    ("absolute", "row", "sm_80"): (lambda x: np.abs(x).sum(axis=1), (INT,)),
    ("add", "row", "sm_80"): (in_rows(lambda x: x + x), (UINT,)),
    ("add of b", "row", "host"): (in_rows(np.add), (BOOL, BOOL)),
    ("add of b", "row", "sm_80"): (in_rows(np.add), (BOOL, BOOL)),
    ("add of u", "columns", "host"): (lambda x: (x + x).sum(axis=0), (UINT,)),
    ("add of u", "product", "host"): (lambda x: x @ x + x, (SQUARE_UINT,)),
    ("add of u", "product", "sm_80"): (lambda x: x @ x + x, (SQUARE_UINT,)),
    ("add of u", "tile", "sm_100"): (lambda x, y: x.T + y, (SQUARE_UINT, SQUARE_UINT)),
    ("cast of f", "tile", "sm_75"): (turned, (SQUARE, SQUARE)),
    ("multiply of f", "tile", "sm_75"): (turned, (SQUARE, SQUARE)),
    ("bitwise_and of b", "columns", "host"): (lambda x: (x & x).sum(axis=0), (BOOL,)),
    ("copy of b", "row", "host"): (lambda x: (x.copy(), x.sum(axis=1)), (BOOL,)),
    ("gather_1d of b", "map", "host"): (lambda x, n: x[n], (BOOL[0], SMALL)),
    ("gather_inside of c", "map", "host"): (np.searchsorted, (COMPLEX[:, 0].copy(), COMPLEX)),
    ("gather_3d of b", "map", "host"): (
        lambda x, n: x.reshape(4, 75, 64)[n, n, n],
        (BOOL, SMALL),
    ),
    ("greater of c", "row", "host"): (in_rows(np.greater), (COMPLEX, COMPLEX)),
    ("isfinite of f", "columns", "host"): (lambda x: np.isfinite(x).all(axis=0), (FLOAT,)),
    ("less of i", "columns", "host"): (lambda x: (x < 3).sum(axis=0), (INT,)),
    ("maximum of f", "columns", "host"): (lambda x: np.maximum(x, 3).sum(axis=0), (FLOAT,)),
    ("maximum of i", "columns", "host"): (lambda x: np.maximum(x, 3).sum(axis=0), (INT,)),
    ("not_equal of i", "product", "host"): (lambda x: x @ x != 3, (SMALL,)),
    ("add of b", "reduce", "host"): (lambda x: (x + x).sum(), (LONG > 0,)),
    ("add of i", "reduce", "sm_80"): (lambda x: (x + x).sum(), (LONG,)),
    ("greater of i", "row", "sm_80"): (in_rows(lambda x: x > 3), (INT,)),
    ("invert of b", "row", "sm_80"): (in_rows(np.invert), (BOOL,)),
    ("not_equal of i", "row", "sm_80"): (in_rows(lambda x: x != 3), (INT,)),
    ("prod of i", "reduce", "sm_80"): (np.prod, (LONG,)),
    ("sum of i", "reduce", "sm_80"): (np.sum, (LONG,)),
    ("copy of c", "row", "host"): (lambda x: (x.copy(), x.sum(axis=1)), (COMPLEX,)),
    ("modf of f", "outer", "sm_90a"): (lambda x: np.modf(x)[0].sum(axis=0), (FLOAT,)),
    ("equal of u", "row", "sm_80"): (in_rows(np.equal), (UINT, UINT)),
    ("third_power of f", "row", "host"): (in_rows(lambda x: x**3), (FLOAT,)),
    ("greater of f", "outer", "sm_80"): (lambda x: (x > 3).sum(axis=0), (FLOAT,)),
    ("matmul of c", "product", "sm_120"): (np.matmul, (FEW, FEW)),
    ("add of c", "product", "sm_120"): (lambda x: x @ x + x, (FEW,)),
    ("absolute of i", "outer", "sm_80"): (lambda x: np.abs(x).sum(axis=0), (INT,)),
    ("add of u", "tile", "sm_120"): (lambda x, y: x.T + y, (SQUARE_UINT, SQUARE_UINT)),
    ("greater of i", "scan", "host"): (lambda x: np.cumsum(x > 3, axis=1), (INT,)),
    ("prod of f", "outer", "sm_80"): (lambda x: x.prod(axis=0), (FLOAT,)),
    ("square of f", "outer", "sm_80"): (lambda x: np.square(x).sum(axis=0), (FLOAT,)),
    ("where of c", "row", "host"): (
        lambda x, k: np.where(k > 0, x, x * 2).sum(axis=1),
        (COMPLEX, 1.0),
    ),
    ("subtract of u", "row", "sm_80"): (in_rows(lambda x: x - 1), (UINT,)),
    ("floor_divide of u", "count", "sm_80"): (
        lambda x: np.bincount(x // 2, minlength=9),
        (LONG.astype(np.uint32),),
    ),
    ("logical_and of b", "row", "sm_90a"): (in_rows(np.logical_and), (BOOL, BOOL)),
    ("max of b", "reduce", "host"): (np.max, (LONG > 0,)),
    ("negative of i", "pixel", "host"): (lambda x: np.stack([-x, x], -1), (INT,)),
    ("sinh of f", "row", "host"): (in_rows(np.sinh), (FLOAT,)),
    ("square of c", "row", "host"): (in_rows(np.square), (COMPLEX,)),
    ("cast", "tile", "sm_80"): (lambda x, y: x.T.astype(np.float64) + y, (SQUARE, SQUARE)),
    ("multiply", "tile", "sm_100"): (lambda x, y: x.T * y, (SQUARE, SQUARE)),
    ("multiply", "tile", "sm_120"): (lambda x, y: x.T * y, (SQUARE, SQUARE)),
    ("where", "map", "sm_80"): (lambda x, k: np.where(k > 0, x, x * 2), (FLOAT, 1.0)),
    ("absolute of i", "map", "sm_75"): (np.abs, (INT,)),
    ("equal of b", "pixel", "host"): (lambda x: np.stack([x == x, x], -1), (BOOL,)),
    ("equal of c", "pixel", "host"): (lambda x: np.stack([x == x, x == 1], -1), (COMPLEX,)),
    ("multiply of c", "pixel", "host"): (lambda x: np.stack([x * x, x], -1), (COMPLEX,)),
    ("greater of f", "reduce", "host"): (lambda x: (x > 3).sum(), (LONG.astype(np.float32),)),
    ("max of u", "reduce", "host"): (np.max, (LONG.astype(np.uint32),)),
    ("add of b", "pixel", "host"): (lambda x: np.stack([x + x, x], -1), (BOOL,)),
    ("multiply of b", "pixel", "host"): (lambda x: np.stack([x * x, x], -1), (BOOL,)),
    ("multiply of u", "pixel", "host"): (lambda x: np.stack([x * x, x], -1), (UINT,)),
    ("equal of u", "pixel", "host"): (lambda x: np.stack([x == x, x == 1], -1), (UINT,)),
    ("copy of i", "pixel", "host"): (lambda x: np.stack([x.copy(), x + 1], -1), (INT,)),
    ("whole_quotient of i", "pixel", "host"): (stepped, (INT, 1)),
    ("cast of b", "pixel", "host"): (compared, (INT, 1)),
    ("logical_or of b", "map", "sm_75"): (np.logical_or, (BOOL, BOOL)),
    ("greater of u", "row", "host"): (in_rows(np.greater), (UINT, UINT)),
    ("full of b", "outer", "sm_80"): (
        lambda x: np.full(x.shape, True) & (x.sum(axis=0) > 0),
        (FLOAT,),
    ),
    ("copy of f", "outer", "sm_90a"): (lambda x: (x.copy(), x.sum(axis=0)), (FLOAT,)),
    ("add of i", "reduce", "host"): (lambda x: (x + x).sum(), (LONG,)),
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


@pytest.mark.parametrize("target", ["host", *ARCHITECTURES])
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


@pytest.mark.parametrize("arity", [1, 2])
@pytest.mark.parametrize("dtype", ["bool", "int32", "uint8", "float32", "complex64"])
def test_a_map_for_sm_90a_has_every_operator(dtype, arity):
    args = [values(dtype, 64, seed) for seed in range(arity)]
    for group in chunks(maps(arity, *[dtype] * arity), 6):
        (kernel, *_) = ow.fuse(applied(group)).lower(*args, target="sm_90a").lowered.kernels
        assert kernel.template == "map"


@pytest.mark.parametrize("device", DEVICES)
def test_the_forms_of_the_table_of_kernels_are_lowered_for_every_architecture(device):
    for work in FORMS:
        fused = ow.fuse(work.function, fast=work.fast).with_toggles(USE_VENDOR=0)
        assert fused.lower(*work.arguments(), target=device).lowered.kernels
