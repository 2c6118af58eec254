"""Products: any shape, dtype and layout as by NumPy; what shares their kernel."""

import re

import numpy as np
import pytest

import opweave as ow
from tests.support.data import TARGETS, dtype_of, hold, values, wide
from tests.support.factors import array, bits, linear_relu, linear_relu_softmax

DTYPES = ["float16", "bfloat16", "float32", "float64", "int32", "int64", "uint8", "bool"]
SHAPES = [
    ((1, 1), (1, 1)), ((1, 7), (7, 1)), ((3, 1), (1, 5)), ((2, 3), (3, 4)), ((33, 17), (17, 65)),
    ((64, 64), (64, 64)), ((70, 50), (50, 90)), ((5, 130), (130, 3)), ((129, 33), (33, 130)),
    ((4, 6, 5), (5, 7)), ((4, 6, 5), (4, 5, 7)), ((2, 1, 6, 5), (3, 5, 7)), ((6, 5), (4, 5, 7)),
    ((1, 6, 5), (4, 5, 7)), ((5,), (5, 7)), ((6, 5), (5,)), ((5,), (5,)), ((4, 6, 5), (5,)),
    ((5,), (4, 5, 7)), ((0, 5), (5, 7)), ((6, 0), (0, 7)), ((6, 5), (5, 0)), ((0, 6, 5), (5, 7)),
]  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_every_shape_agrees_with_numpy(shapes, target):
    x, y = (array("float32", *s) for s in shapes)
    program = ow.fuse(lambda x, y: x @ y).lower(x, y, target=target)
    made = program(x, y)

    assert program.check(x, y).ok
    assert np.shape(made) == np.shape(x @ y)
    assert type(made) is type(x @ y)


@pytest.mark.host
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_every_dtype_agrees_with_numpy(name, target):
    x, y = array(name, 37, 21), array(name, 21, 45)
    program = ow.fuse(lambda x, y: x @ y).lower(x, y, target=target)

    assert program.check(x, y).ok
    assert program(x, y).dtype == x.dtype


@pytest.mark.host
def test_a_bfloat16_product_is_bfloat16():
    x = array("bfloat16", 8, 8)

    assert ow.fuse(lambda x: x @ x)(x).dtype == x.dtype


@pytest.mark.host
@pytest.mark.parametrize(("first", "second", "expected"), [
    ("float32", "float64", "float64"), ("int32", "float32", "float64"), ("uint8", "int32", "int32"),
])  # fmt: skip
def test_mixed_dtypes_are_promoted_as_by_numpy(first, second, expected):
    x, y = array(first, 5, 6), array(second, 6, 7)
    fused = ow.fuse(lambda x, y: x @ y)

    assert fused.check(x, y).ok
    assert fused(x, y).dtype == expected == (x @ y).dtype


LAYOUTS = {
    "C": lambda x: x,
    "Fortran": np.asfortranarray,
    "sliced rows": lambda x: np.repeat(x, 2, axis=0)[::2],
    "sliced columns": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "reversed": lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
    "broadcast": lambda x: np.broadcast_to(x[:1], x.shape),
}


@pytest.mark.host
@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("right", LAYOUTS)
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_every_layout_agrees_with_numpy(left, right, target):
    x = LAYOUTS[left](array("float32", 36, 20))
    y = LAYOUTS[right](array("float32", 20, 40, seed=1))
    fused = ow.fuse(lambda x, y: np.maximum(x @ y, 0))

    assert fused.lower(x, y, target=target).check(x, y).ok


@pytest.mark.host
@pytest.mark.parametrize("target", ["host", "sm_80"])
@pytest.mark.parametrize("function", [
    lambda x, w: x.T @ w, lambda x, w: x.T @ w + 1, lambda x, w: (w.T @ x).T,
    lambda x, w: ow.relu(np.swapaxes(x, 0, 1) @ w).T,
], ids=["x.T @ w", "x.T @ w + 1", "(w.T @ x).T", "relu(...).T"])  # fmt: skip
def test_transposed_factors_cost_no_kernel(function, target):
    x, w = array("float32", 20, 28), array("float32", 20, 12)
    program = ow.fuse(function).lower(x, w, target=target)

    assert len(program.kernels) == 1
    assert program.check(x, w).ok
    hold(program, (x, w), function(*wide(x, w)), program(x, w))


FUSED = [
    ("linear and relu", linear_relu, (9, 20), (20, 50), (50,), 1),
    ("full bias", linear_relu, (9, 20), (20, 50), (9, 50), 1),
    ("column bias", linear_relu, (9, 20), (20, 50), (9, 1), 1),
    ("batched", linear_relu, (3, 9, 20), (20, 50), (50,), 1),
    ("batched weights", linear_relu, (3, 9, 20), (3, 20, 50), (3, 1, 50), 1),
    ("chain of maps", lambda x, w, b: np.tanh(np.exp((x @ w) * 0.1 + b) - 1) * 2,
     (9, 20), (20, 50), (50,), 1),
    ("softmax", linear_relu_softmax, (9, 20), (20, 50), (50,), 1),
    ("softmax of 10", linear_relu_softmax, (70, 20), (20, 10), (10,), 1),
    ("softmax of 200", linear_relu_softmax, (40, 20), (20, 200), (200,), 1),
    ("softmax, batched", linear_relu_softmax, (3, 9, 20), (20, 50), (50,), 1),
    ("softmax of a long row", linear_relu_softmax, (9, 20), (20, 500), (500,), 2),
    ("norm", lambda x, w, b: (x @ w) / np.sqrt(((x @ w) ** 2).sum(-1, keepdims=True)) + b,
     (9, 20), (20, 50), (50,), 1),
    ("row sums", lambda x, w, b: (x @ w + b).sum(axis=-1), (9, 20), (20, 50), (50,), 1),
    ("column sums", lambda x, w, b: (x @ w + b).sum(axis=0), (9, 20), (20, 50), (50,), 2),
    ("the product too", lambda x, w, b: (x @ w, (x @ w + b).max(-1)), (9, 20), (20, 50), (50,), 2),
    ("a factor in the epilogue", lambda x, w, b: x @ w + x + b, (20, 20), (20, 20), (20,), 1),
    ("square", lambda x, w, b: x @ x + b, (20, 20), (1,), (20,), 1),
    ("two products", lambda x, w, b: (x @ w) + (x @ w + b), (9, 20), (20, 50), (50,), 1),
    ("map before", lambda x, w, b: np.exp(x) @ w + b, (9, 20), (20, 50), (50,), 2),
    ("two layers", lambda x, w, b: ow.relu(ow.relu(x @ w + b) @ w + b), (9, 20), (20, 20), (20,), 2),
    ("two outputs", lambda x, w, b: (x @ w + b, ow.relu(x @ w)), (9, 20), (20, 50), (50,), 1),
]  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("case", FUSED, ids=lambda c: c[0])
def test_epilogues_share_the_kernel_of_their_product(case):
    _, function, *shapes, kernels = case
    arguments = [array("float32", *s, seed=n) for n, s in enumerate(shapes)]
    fused = ow.fuse(function)
    program = fused.lower(*arguments, target="sm_80")

    assert kernels == len(program.kernels)
    assert program.check(*arguments).ok
    assert fused.check(*arguments).ok


@pytest.mark.host
@pytest.mark.parametrize("case", FUSED, ids=lambda c: c[0])
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_fused_equals_unfused_bit_for_bit(case, target):
    _, function, *shapes, _ = case
    arguments = [array("float32", *s, seed=n) for n, s in enumerate(shapes)]
    fused = ow.fuse(function)
    a, b = (f.lower(*arguments, target=target)(*arguments) for f in (fused, fused.unfused()))
    pairs = zip(a, b, strict=True) if isinstance(a, tuple) else [(a, b)]

    assert all(bits(one) == bits(other) for one, other in pairs)


@pytest.mark.host
def test_what_lies_outside_does_not_change_the_sign_of_zero():
    x = np.array([[-1e-30, 0]], np.float32)[:, :1].copy()
    w = np.full((1, 3), 1e-30, np.float32)
    program = ow.fuse(lambda x, w: x @ w).lower(x, w, target="sm_80")

    assert np.signbit(program(x, w)).all()


COLUMNS = {
    "vector": lambda x, y: x @ y[:, 0],
    "column": lambda x, y: x @ y,
    "two of one": lambda x, y: (x @ y, x @ y + 1),
    "epilogue": lambda x, y: np.maximum(x @ y[:, 0], 1),
    "inner": lambda x, y: x[0] @ y[:, 0],
    "dot": lambda x, y: np.dot(x[0], y[:, 0]),
    "batch": lambda x, y: x[None] @ np.stack([y, y]),
    "transposed": lambda x, y: y.T @ x.T,
}


@pytest.mark.host
@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint16", "bool"])
def test_products_with_one_column_are_numpys(name, dtype):
    function, x, y = COLUMNS[name], array(dtype, 5, 7), array(dtype, 7, 1)
    program = ow.fuse(function).lower(x, y)
    found, expected = program(x, y), function(x, y)

    assert program.check(x, y).ok
    pairs = (
        [(found, expected)]
        if not isinstance(found, tuple)
        else list(zip(found, expected, strict=True))
    )
    for have, want in pairs:
        assert (np.shape(have), have.dtype, type(have)) == (want.shape, want.dtype, type(want))


@pytest.mark.parametrize(("function", "shapes", "template"), [
    (lambda x, v: x @ v, ((4096, 4096), (4096,)), "row"),
    (lambda x, v: np.tanh(x @ v), ((4096, 64), (64, 1)), "row"),
    (np.dot, ((1 << 20,), (1 << 20,)), "reduce"),
    (lambda x, v: x @ v, ((1, 1 << 20), (1 << 20, 1)), "reduce"),
    (lambda x, v: v @ x, ((4096, 4096), (4096,)), "vendor"),
])  # fmt: skip
@pytest.mark.parametrize("target", TARGETS)
def test_a_gpu_adds_a_product_with_one_column_up_along_rows(function, shapes, template, target):
    arrays = [np.ones(shape, np.float32) for shape in shapes]
    program = ow.fuse(function).lower(*arrays, target=target)

    assert [kernel.data.template for kernel in program.kernels] == [template]


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_terms_of_a_product_with_one_column_are_not_rounded(name):
    x = np.array([[255.0, 1.0], [1.0, 3.0]]).astype(dtype_of(name))
    source = ow.fuse(lambda x: x @ x[0]).lower(x, target="sm_80").source

    assert re.search(r"const float \w+ = \w+ \* \w+;  // multiply: f32", source)


@pytest.mark.host
def test_special_values_pass_through_a_product():
    x = values("float32", 48).reshape(6, 8)
    with np.errstate(all="ignore"):
        for target in ("host", "sm_80"):
            fused = ow.fuse(lambda x: x @ np.swapaxes(x, 0, 1))
            assert fused.lower(x, target=target).check(x).ok


def test_relu_stands_before_the_store():
    x, w, b = array("float32", 9, 20), array("float32", 20, 50), array("float32", 50)
    program = ow.fuse(linear_relu).lower(x, w, b, target="sm_90a")
    names = [line.name for line in program.kernels[0].opcodes]

    assert len(program.kernels) == 1
    assert names.index("matmul") < names.index("relu") < names.index("store out")
    assert program.source.index("// relu") < program.source.index("store_chunk(out")


@pytest.mark.host
def test_an_op_code_slides_in_before_the_store_of_a_product():
    x, w, b = array("float32", 9, 20), array("float32", 20, 50), array("float32", 50)
    kernel = ow.fuse(lambda x, w, b: x @ w + b).lower(x, w, b, target="sm_80").kernels[0]
    burger = kernel.insert(ow.opcodes.relu, before="store")

    np.testing.assert_array_equal(np.maximum(kernel(x, w, b), 0), burger(x, w, b))
    assert burger.check(x, w, b).ok


ROWS_OF_NOTHING = [
    lambda x, w: (x @ w).sum(-1), lambda x, w: (x @ w).sum(-1, keepdims=True),
    lambda x, w: (x @ w).prod(-1), lambda x, w: ((x @ w) > 0).any(-1), lambda x, w: (x @ w).T.sum(0),
]  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("function", ROWS_OF_NOTHING)
@pytest.mark.parametrize("inner", [0, 5])
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_rows_without_columns_are_reduced_to_the_identity(function, inner, target):
    x, w = array("float32", 8, inner), array("float32", inner, 0)
    made = ow.fuse(function).lower(x, w, target=target)(x, w)

    np.testing.assert_array_equal(function(x, w), made)


@pytest.mark.host
@pytest.mark.parametrize("scale", [1e-5, 1e-10, 1e-18])
def test_a_wrong_product_of_small_numbers_is_noticed(scale):
    x, w = (array("float32", *s) * np.float32(scale) for s in ((8, 40), (40, 6)))
    program = ow.fuse(lambda x, w: x @ w).lower(x, w, target="sm_80")
    wrong = program.compile(source=program.source.replace("fma(", "0 * fma("))

    assert program.check(x, w).ok
    with pytest.raises(ow.errors.CheckError):
        wrong.check(x, w)


@pytest.mark.host
def test_an_op_code_list_with_a_product_is_one_kernel_of_any_size():
    codes = [ow.load("x"), ow.load("w"), ow.opcodes.matmul("x", "w"), ow.opcodes.relu, ow.store()]
    k = ow.kernel(codes)
    for n in (31, 32, 64):
        x, w = array("float32", n, n), array("float32", n, n, seed=1)
        hold(k, (x, w), np.maximum(wide(x) @ wide(w), 0), k(x, w))


@pytest.mark.host
def test_the_vendors_product_has_no_source_to_replace():
    x = array("float32", 64, 64)
    program = ow.fuse(lambda x: x @ x + 1).lower(x)
    with pytest.raises(ow.errors.ArgumentError, match="library"):
        program.compile(source=program.kernels[0].source + "int x = garbage;")
    with pytest.raises(ow.errors.ArgumentError, match="library"):
        _ = program.kernels[0].binary


@pytest.mark.host
def test_nan_in_a_factor_must_come_out():
    x, w = array("float32", 8, 40), array("float32", 40, 6)
    x[0, 0] = np.nan
    program = ow.fuse(lambda x, w: x @ w).lower(x, w, target="sm_80")
    wrong = program.compile(
        source=program.source.replace(
            "= acc[i][q][l];",
            "= max_nan(acc[i][q][l], 0.0f) > 0 ? 1.0f : acc[i][q][l] == acc[i][q][l] ? acc[i][q][l] : 0.0f;",
            1,
        )
    )

    assert program.check(x, w).ok
    with pytest.raises(ow.errors.CheckError):
        wrong.check(x, w)


def test_a_grid_beyond_the_limit_is_refused():
    kernel = ow.fuse(lambda x, y: x @ y).lower(
        np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (2**31 + 5, 1, 1), (0, 0, 0)),
        np.zeros((1, 2), np.float32), target="sm_90a").kernels[0]  # fmt: skip
    with pytest.raises(ow.errors.LaunchError, match="more than a grid has"):
        kernel.data.grid({"n0": 2**31 + 5, "n4": 2})


BAD = [
    (lambda x: x @ 3, ow.errors.ShapeError, "scalar"),
    (lambda x: x @ [1, 2], ow.errors.ShapeError, "do not multiply"),
    (lambda x: x @ ["a", "b"], ow.errors.DTypeError, "str32 is not supported"),
    (lambda x: x @ np.ones(7), ow.errors.ShapeError, "do not multiply"),
    (lambda x: np.dot(x[None], x[None]), ow.errors.ShapeError, "axis 2 of the one has 5 .* axis 1"),
    (lambda x: np.tensordot(x, x, 1), ow.errors.ShapeError, "axis 1 of the one has 5 .* axis 0"),
    (lambda x: x.swapaxes(0.5, 1), ow.errors.IntegerError, "an integer"),
    (lambda x: x.sum(-1).mT, ow.errors.ShapeError, "at least 2"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "error", "message"), BAD)
def test_what_cannot_be_multiplied_is_refused(function, error, message):
    with pytest.raises(error, match=message):
        ow.fuse(function, fullgraph=True)(np.ones((4, 5), np.float32))
