"""NumPy's own reference rows for its transcendental functions, through fused kernels.

The wheel has them in numpy/_core/tests/data: argument and correctly rounded result as bits, and the
error that NumPy allows.  A row holds as in NumPy's test (assert_array_max_ulp): at most ``ulperr``
representable numbers lie between the result and the stated one; NaN is NaN; there is no "+1".
More than NumPy asks: each row is held to its own figure, zeros to their sign, and all results to
the derived bound, which is narrower.  (One stated result of exp and one of log are not the nearest.)
"""

from pathlib import Path

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import OPERATORS
from tests.support.data import applied

FOLDER = Path(np.__file__).parent / "_core" / "tests" / "data"
FILES = sorted(FOLDER.glob("umath-validation-set-*.csv"))
FUNCTIONS = [f.stem.rsplit("-", 1)[1] for f in FILES]
AT_LEAST = 26_610
needs_rows = pytest.mark.skipif(
    not FILES, reason="the NumPy wheel was built without its test data"
)


def rows(name):
    """Argument, result and allowed error of a function's rows, by dtype."""
    lines = (FOLDER / f"umath-validation-set-{name}.csv").read_text().splitlines()
    fields = [line.split(",") for line in lines if line.startswith("np.")]
    out = {}
    for dtype in dict.fromkeys(f[0].removeprefix("np.") for f in fields):
        own = [f for f in fields if f[0] == f"np.{dtype}"]
        bits = f"u{np.dtype(dtype).itemsize}"
        x, y = (np.array([int(f[i], 16) for f in own], bits).view(dtype) for i in (1, 2))
        out[dtype] = x, y, np.array([int(f[3]) for f in own])
    return out


def steps(made, expected):
    """How many representable numbers lie between each result and the stated one."""
    return np.testing.assert_array_max_ulp(made, expected, maxulp=np.inf)


def agrees(name, dtype, made, expected, allowed):
    """Hold results to their rows; the largest error in steps."""
    far = steps(made, expected)
    zero = expected == 0

    np.testing.assert_array_equal(np.isnan(expected), np.isnan(made))
    np.testing.assert_array_equal(np.signbit(expected[zero]), np.signbit(made[zero]))
    assert (far <= allowed).all(), f"{name} {dtype}: {far.max()} steps, allowed {allowed.max()}"
    return int(far.max())


@needs_rows
def test_all_rows_are_read():
    found = sum(x.size for name in FUNCTIONS for x, _, _ in rows(name).values())

    assert found >= AT_LEAST
    assert set(FUNCTIONS) <= set(OPERATORS)


@needs_rows
@pytest.mark.host
@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows_hold_on_the_host(name):
    fused = ow.fuse(applied([OPERATORS[name]]))
    for dtype, (x, expected, allowed) in rows(name).items():
        (made,) = fused(x)
        worst = agrees(name, dtype, made, expected, allowed)
        (bound,) = ow.bounds.derive(fused, x)
        found = ow.bounds.judge(bound, made)
        print(
            f"{name} {dtype}: {x.size} rows, {worst} steps of {allowed.max()}, {found.ulp:.3f} ULP"
        )
        assert found.ok


@needs_rows
@pytest.mark.host
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("first", range(0, len(FUNCTIONS), 5))
def test_rows_hold_in_verify_mode(first, dtype):
    names = FUNCTIONS[first : first + 5]
    found = [rows(name)[dtype] for name in names]
    picked = [np.linspace(0, x.size - 1, 100).astype(int) for x, _, _ in found]
    given = [x[p] for (x, _, _), p in zip(found, picked, strict=True)]
    one, two, three, four, five = (OPERATORS[name] for name in names)
    fused = ow.fuse(lambda a, b, c, d, e: (one(a), two(b), three(c), four(d), five(e)))
    made = fused.lower(*given, target="sm_80")(*given)

    for name, result, (_, expected, allowed), p in zip(names, made, found, picked, strict=True):
        agrees(name, dtype, result, expected[p], allowed[p])
