"""The host's float functions stay within the ULP that the operator table states for them."""

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.rounding import spacing
from opweave.opcodes import OPERATORS
from opweave.opcodes.dtypes import F32

pytestmark = pytest.mark.host
RANGES = {
    "exp": (-104, 88.7), "expm1": (-20, 88.7), "log": (1e-38, 3e38), "log1p": (-0.999, 1e6),
    "tanh": (-12, 12), "sin": (-100, 100), "cos": (-100, 100), "sqrt": (0, 1e30),
    "rsqrt": (1e-30, 1e30),
}  # fmt: skip


def arguments(low, high):
    """Evenly and logarithmically spaced values of a range, and small ones of both signs."""
    rng = np.random.default_rng(0)
    even = rng.uniform(low, high, 1 << 18)
    small = 10.0 ** rng.uniform(-30, 0, 1 << 17) * rng.choice([-1, 1], 1 << 17)
    large = 10.0 ** rng.uniform(0, 30, 1 << 16)
    found = np.concatenate([even, small, large]).astype(np.float32)
    return found[(found >= low) & (found <= high)]


@pytest.mark.parametrize("name", RANGES)
def test_a_function_keeps_its_stated_ulp(name):
    x = arguments(*RANGES[name])
    made = ow.fuse(lambda x: OPERATORS[name](x))(x).astype(np.float64)
    expected = OPERATORS[name].numpy(x.astype(np.float64))
    error = np.abs(made - expected) / spacing(expected, F32)

    assert error.max() <= OPERATORS[name].ulp.host


def test_power_keeps_its_stated_ulp():
    rng = np.random.default_rng(0)
    x = (10.0 ** rng.uniform(-6, 6, 1 << 18)).astype(np.float32)
    y = rng.uniform(-6, 6, 1 << 18).astype(np.float32)
    made = ow.fuse(lambda x, y: x**y)(x, y).astype(np.float64)
    expected = x.astype(np.float64) ** y.astype(np.float64)
    inside = (expected < 3e38) & (expected > 1e-44)
    error = (np.abs(made - expected) / spacing(expected, F32))[inside]

    assert error.max() <= OPERATORS["power"].ulp.host
