"""Every operator of every kind of dtype, as lowered for a GPU and run in verify mode."""

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.ir.device import ARCHITECTURES
from tests.opcodes.test_operators import skip_raising, without_zero
from tests.support.data import applied, chunks, maps, reductions, values

X = np.random.default_rng(4).random((5, 37), np.float32)
TALL = np.random.default_rng(6).random((96, 80), np.float32)
BYTES = (TALL * 99).astype(np.uint8)
UNEVEN = np.random.default_rng(6).random((2, 75_001), np.float32)
WIDE = np.random.default_rng(5).random((1, 150_000), np.float32)
pytestmark = pytest.mark.host


def agrees(function, *operands, target="sm_80"):
    program = ow.fuse(function).lower(*operands, target=target)

    assert program.check(*operands).ok
    return {kernel.data.template for kernel in program.kernels}


@pytest.mark.parametrize("name", ["bool", "int64", "uint8", "float32", "complex64"])
@pytest.mark.parametrize("arity", [1, 2, 3])
def test_elementwise_operators_agree_with_numpy(name, arity):
    rows = skip_raising(maps(arity, *[name] * arity), name)
    operands = [without_zero(name, values(name, 60, seed=n))[:40] for n in range(arity)]
    for some in chunks(rows, 16):
        assert agrees(applied(some), *operands) == {"map"}


@pytest.mark.parametrize("name", ["int64", "uint8", "float32", "complex64"])
def test_reductions_of_rows_agree_with_numpy(name):
    x = values(name, 400)[-222:].reshape(6, 37)
    rows = reductions(name)

    assert rows
    assert agrees(lambda x: tuple(r(x, axis=1) for r in rows), x) == {"row"}


@pytest.mark.parametrize(("template", "function", "operands", "target"), [
    ("columns", lambda x: np.tanh(x - x.sum(0)), (X,), "host"),
    ("product_rows", lambda x: ow.softmax(np.abs(x @ x.T)), (X,), "sm_80"),
    ("scan", lambda x: np.cumsum(np.exp(x), 1), (X,), "sm_80"),
    ("scan_columns", lambda x: np.cumsum(x - 1, 0), (X,), "sm_80"),
    ("tile", lambda x, y: x.T + y, (BYTES, BYTES.T.copy()), "sm_80"),
    ("tile", lambda x, y: x.T + y, (BYTES, BYTES.T.copy()), "sm_89"),
    ("tile", lambda x, y: x.T * y, (TALL, TALL.T.copy()), "sm_89"),
    ("row", lambda x: x - x.max(1, keepdims=True), (BYTES,), "host"),
    *(("row", lambda x: np.full(x.shape, True).all(1) & (x.sum(1) > 0), (X,), target)
      for target in ARCHITECTURES),
    ("scan_parts", lambda x: np.cumsum(np.exp(x) / 2 + x, 1), (WIDE,), "sm_75"),
    ("scan_parts", lambda x: np.cumsum(np.exp(x) / 2 + x, 1), (UNEVEN,), "sm_80"),
    ("scan_ahead", lambda x: np.cumsum(np.exp(x) / 2 + x, 1), (WIDE,), "sm_80"),
])  # fmt: skip
def test_operators_fuse_into_a_template(template, function, operands, target):
    assert template in agrees(function, *operands, target=target)
