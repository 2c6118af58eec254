"""What kernels give to lines of Python lies in memory as NumPy has it: a view of it is one, too."""

import ast
import inspect
import textwrap

import numpy as np
import pytest

import opweave as ow
from opweave._loops.rolled import Rolled
from opweave.compiler.loops.lowering import Lowering

pytestmark = pytest.mark.host
ROWS = np.linspace(0.1, 1, 24).reshape(4, 6)
COLUMNS = np.asfortranarray(ROWS)
BOTH = {"rows": ROWS, "columns": COLUMNS}


def reshaped_by_python(x):
    for _ in range(2):
        u = np.unique(x[0])
        y = x * 2 + x * x
        print(len(u))
        v = y.reshape(-1)
        v[0] = 5
    return y


def transposed(x):
    for _ in range(2):
        u = np.unique(x[0])
        y = x.T * 2 + x.T
        z = np.zeros_like(y) + u[0]
        print(len(u))
        v, w = y.ravel(), z.ravel(order="A")
        v += 1
        w[:3] = 1
    return y, z


def reshaped_by_kernels(x):
    for _ in range(2):
        u = np.unique(x[0])
        y = x.T * 2 + 1
        v = y.reshape(-1)
        v[0] = 5
        z = y.sum() * 2
    return z, u


def columns_taken(x):
    places = np.array([0, 2])
    for _ in range(2):
        u = np.unique(x[0])
        y, z, w = x[:, places] * 2, x[places] * 2, x[:, 1:] * 2
        print(len(u))
    return y, z, w


def of_three_dimensions(x):
    both = np.stack([x, x * 2, x * 3])
    turned = both.transpose(1, 0, 2)
    for _ in range(2):
        u = np.unique(x[0])
        y, z, w = turned * 2, turned.sum(axis=2) * 2, both.sum(axis=1) * 2
        print(len(u))
    return y, z, w


def leaves(made):
    return made if isinstance(made, tuple) else (made,)


@pytest.mark.parametrize("layout", BOTH)
@pytest.mark.parametrize(
    "function",
    [reshaped_by_python, transposed, reshaped_by_kernels, columns_taken, of_three_dimensions],
)
def test_lines_give_arrays_that_lie_as_numpys(function, layout, capsys):
    x = BOTH[layout]
    run = Rolled(function, make=ow.fuse(function).fallback.loops._make)
    for _ in range(2):
        for made, expected in zip(leaves(run(x)), leaves(function(x)), strict=True):
            np.testing.assert_allclose(made, expected, rtol=1e-12)
            assert np.shape(made) == np.shape(expected)
            assert getattr(made, "strides", ()) == getattr(expected, "strides", ())
        run = run.settled()


def regressed(x):
    w, classes = np.zeros((6, 3)), np.eye(3)[[0, 1, 2, 0]]
    for _ in range(3):
        u = np.unique(x[0])
        made = np.exp(x @ w)
        w -= 0.1 * u[0] * (x.T @ (made / made.sum(axis=1, keepdims=True) - classes))
        sums = np.maximum(x, x[::-1]) + x[:, None].sum(axis=2)
    return w, made, sums


def test_products_and_rows_stay_with_kernels():
    run = Rolled(regressed, make=ow.fuse(regressed).fallback.loops._make)
    for made, expected in zip(run(ROWS), regressed(ROWS), strict=True):
        np.testing.assert_allclose(made, expected, rtol=1e-12)
    line = regressed.__code__.co_firstlineno
    assert (line + 4, line + 6) in [(first, last) for first, last, _ in run.by_kernels]


def test_the_parts_of_lowering_override_only_what_is_left_open():
    names = {name for part in Lowering.__mro__[:-1] for name in vars(part) if name[:2] != "__"}
    for name in names:
        ways = [vars(part)[name] for part in Lowering.__mro__[:-1] if name in vars(part)]
        functions = [way for way in ways if inspect.isfunction(way)]
        for open_one in functions[1:]:
            body = ast.parse(textwrap.dedent(inspect.getsource(open_one))).body[0].body[1:]
            assert all(isinstance(line, ast.Raise) for line in body), (name, functions)
