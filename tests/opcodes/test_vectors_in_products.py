"""Vectors as operands of products that are op-codes: NumPy's rules of ``@``."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e

RNG = np.random.default_rng(4)
M, V, W = (RNG.integers(-9, 9, shape).astype(np.float32) for shape in ((4, 6), 6, 4))
BATCH = RNG.integers(-9, 9, (3, 6, 5)).astype(np.float32)
OPERANDS = {
    "vector @ vector": (V, V),
    "vector @ matrix": (W, M),
    "matrix @ vector": (M, V),
    "vector @ batch": (V, BATCH),
    "batch @ vector": (BATCH.swapaxes(1, 2).copy(), V),
    "matrix @ matrix": (M, M.T.copy()),
}
TARGETS = ("host", "sm_80")


def max_plus():
    codes = ["acc = -infinity<T>()", "max_nan(acc, x + y)"]
    return ow.product("maxplus_of_vectors", codes, "same", (np.add, np.maximum))


FOUND = {
    "matmul": (lambda: ow.opcodes.matmul, np.matmul),
    "edited": (lambda: ow.opcodes.matmul.with_opcodes({"f": "acc + x * y"}), np.matmul),
    "a product of one's own": (max_plus, lambda x, y: as_matrices(x, y)),
}


def as_matrices(x, y):
    """The largest of sums, by the rules of ``@``."""
    left, right = (x[None] if x.ndim == 1 else x), (y[:, None] if y.ndim == 1 else y)
    made = np.max(left[..., :, :, None] + right[..., None, :, :], axis=-2)
    made = made[..., 0] if y.ndim == 1 else made
    return made if x.ndim > 1 else made[..., 0, :] if y.ndim > 1 else made[0]


def like(made, expected):
    """Same type, shape and elements, whole numbers that every order of summing gives."""
    assert type(made) is type(expected)
    np.testing.assert_array_equal(made, expected)
    assert made.dtype == expected.dtype


@pytest.mark.host
@pytest.mark.parametrize("name", OPERANDS)
@pytest.mark.parametrize("operator", FOUND)
def test_a_product_in_a_list_takes_vectors_as_numpy_does(operator, name):
    (make, meant), args = FOUND[operator], OPERANDS[name]
    product = make()
    k = ow.kernel([ow.load("x"), ow.load("w"), product("x", "w"), ow.opcodes.add(1), ow.store()])
    expected = meant(*args) + np.float32(1)

    like(k(*args), expected)
    like(ow.fuse(lambda x, w: product(x, w) + 1)(*args), expected)
    like(product(*args), meant(*args))
    for target in TARGETS:
        view = k.lower(*args, target=target)
        like(view(*args), expected)
        assert k.check(*args).ok


@pytest.mark.host
def test_an_array_that_is_no_argument_may_be_the_vector():
    like(ow.fuse(lambda x: ow.opcodes.matmul(x, [1.0] * 6))(M), M @ np.ones(6))
    like(ow.fuse(lambda x: ow.opcodes.matmul(W, x))(M), W @ M)


@pytest.mark.host
def test_a_graph_multiplies_vectors():
    g = ow.Graph("g")
    x, w = g.host_to_device("x", (4, 6)), g.host_to_device("w", 6)
    g.device_to_host(g.matmul(x, w), name="y")

    for mode in ("immediate", "graph", "replay"):
        like(g.runner(mode)(x=M, w=V), M @ V)


@pytest.mark.parametrize("operands", [(M, V[:5]), (V, M), (V, V[:4])])
def test_vectors_that_do_not_fit_are_refused(operands):
    k = ow.kernel([ow.load("x"), ow.load("w"), ow.opcodes.matmul("x", "w"), ow.store()])

    with pytest.raises(e.ShapeError, match=r"matmul.*op-code 2, matmul, of kernel"):
        k.lower(*operands, target="sm_80")


def test_a_number_is_no_operand_of_a_product():
    with pytest.raises(e.ShapeError, match="matmul: .* dimension"):
        ow.fuse(lambda x: ow.opcodes.matmul(x, 2.0)).lower(M, target="sm_80")
