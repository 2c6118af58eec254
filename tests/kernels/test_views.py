"""Views cost no kernel; what is read across a loop comes through tiles that change no bit."""

import numpy as np
import pytest

import opweave as ow
from tests.support.data import TARGETS, dtype_of, hold, wide
from tests.support.variants import aligned

DTYPES = ["float16", "bfloat16", "float32", "float64", "int32", "uint8", "bool"]


def array(*shape, name="float32", seed=0):
    rng = np.random.default_rng([seed, *shape])
    return aligned((rng.standard_normal(shape) * 20).astype(dtype_of(name)))


def bits(array):
    return np.ascontiguousarray(array).tobytes()


X, Y, ROW = array(40, 70), array(70, 40, seed=1), array(40, seed=2)
CUBE = array(3, 40, 50)
VIEWS = [
    ("T", lambda x, y, r: x.T, 0),
    ("of a map", lambda x, y, r: (x * 2).T, 1),
    ("before a map", lambda x, y, r: np.exp(x.T), 1),
    ("twice", lambda x, y, r: x.T.T + 1, 1),
    ("with another operand", lambda x, y, r: x.T * y, 1),
    ("with a row", lambda x, y, r: x.T + r, 1),
    ("both", lambda x, y, r: (x.T + y).T - x, 1),
    ("same twice", lambda x, y, r: x.T * x.T, 1),
    ("and itself", lambda x, y, r: (x, x.T * 2), 1),
    ("copy", lambda x, y, r: x.T.copy(), 1),
    ("np.copy", lambda x, y, r: np.copy(x.T), 1),
    ("swapaxes", lambda x, y, r: x.swapaxes(0, 1) + y, 1),
    ("transpose", lambda x, y, r: np.transpose(x, (1, 0)) + y, 1),
    ("negative axes", lambda x, y, r: x.transpose(-1, 0) + y, 1),
    ("moveaxis", lambda x, y, r: np.moveaxis(x, 0, 1) + y, 1),
    ("mT", lambda x, y, r: x.mT + y, 1),
    ("expand_dims", lambda x, y, r: np.expand_dims(x, 0) + 1, 1),
    ("squeeze", lambda x, y, r: np.squeeze(np.expand_dims(x, (0, 2))) + 1, 1),
    ("row as a column", lambda x, y, r: x + np.expand_dims(r, 1), 1),
    ("sum of a view", lambda x, y, r: x.T.sum(axis=0), 1),
    ("sum of a view, other axis", lambda x, y, r: x.T.sum(axis=1), 1),
    ("whole sum of a view", lambda x, y, r: x.T.sum(), 1),
    ("kept sum of a view", lambda x, y, r: x.T.sum(axis=1, keepdims=True) * 2, 1),
    ("softmax of a view", lambda x, y, r: ow.softmax(x.T), 1),
    ("mean and variance", lambda x, y, r: (x.T - x.T.mean(axis=0)) / x.T.std(axis=0), 1),
    ("max over a new axis", lambda x, y, r: np.expand_dims(x, 1).max(axis=1), 1),
    ("two orders of a map", lambda x, y, r: np.exp(x) @ (x.T * 0.01), 2),
    ("reduced, then viewed", lambda x, y, r: np.expand_dims(x.sum(axis=1), 0) + y, 2),
]  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("case", VIEWS, ids=lambda c: c[0])
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_views_agree_with_numpy_and_cost_no_kernel(case, target):
    _, function, kernels = case
    fused = ow.fuse(function)
    program = fused.lower(X, Y, ROW, target=target)
    made, expected = program(X, Y, ROW), function(X, Y, ROW)
    pairs = zip(made, expected, strict=True) if isinstance(made, tuple) else [(made, expected)]

    assert program.check(X, Y, ROW).ok
    if target == "sm_80":
        assert kernels == len(program.kernels)
    hold(program, (X, Y, ROW), function(*wide(X, Y, ROW)), made)
    for one, other in pairs:
        assert np.shape(one) == np.shape(other)


@pytest.mark.host
@pytest.mark.parametrize("case", VIEWS, ids=lambda c: c[0])
def test_fused_equals_unfused_bit_for_bit(case):
    _, function, _ = case
    fused = ow.fuse(function)
    a, b = (f.lower(X, Y, ROW, target="sm_80")(X, Y, ROW) for f in (fused, fused.unfused()))
    pairs = zip(a, b, strict=True) if isinstance(a, tuple) else [(a, b)]

    assert all(bits(one) == bits(other) for one, other in pairs)


def test_a_transposed_argument_is_returned_as_a_view():
    made = ow.fuse(lambda x: x.T)(X)

    assert np.shares_memory(made, X)
    assert made.strides == X.T.strides


def test_a_transposed_result_is_a_view_of_what_was_computed():
    made = ow.fuse(lambda x: (x + 1).T)(X)

    assert made.flags.f_contiguous
    np.testing.assert_array_equal((X + 1).T, made)


@pytest.mark.host
def test_out_takes_a_transposed_result():
    out = np.zeros((70, 40), np.float32)
    ow.fuse(lambda x: (x + 1).T)(X, out=out)

    np.testing.assert_array_equal((X + 1).T, out)


ACROSS = {
    "transposed": lambda shape, name: array(*shape[::-1], name=name).T,
    "Fortran": lambda shape, name: np.asfortranarray(array(*shape, name=name)),
    "sliced and transposed": lambda shape, name: array(2 * shape[1], shape[0], name=name)[::2].T,
    "offset": lambda shape, name: array(shape[1], shape[0] + 1, name=name)[:, 1:].T,
}


@pytest.mark.host
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("layout", ACROSS)
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_reading_across_goes_through_tiles_and_keeps_every_bit(layout, name, target):
    for shape in ((64, 64), (33, 70), (129, 35)):
        x = ACROSS[layout](shape, name)
        fused = ow.fuse(lambda x: np.where(x > 0, x, 1))
        program = fused.lower(x, target=target)
        chosen = program.kernels[0].toggles["USE_SHARED_MEMORY"]
        other = fused.with_toggles(USE_SHARED_MEMORY=1 - chosen).lower(x, target=target)

        assert program.kernels[0].data.template == "tile"
        assert chosen == (target != "host")  # where all memory is alike
        assert program.source != other.source
        assert bits(np.where(x > 0, x, 1)) == bits(program(x)) == bits(other(x))


@pytest.mark.host
@pytest.mark.parametrize("axes", [(0, 2, 1), (2, 1, 0), (1, 2, 0), (2, 0, 1), (1, 0, 2)])
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_any_permutation_of_three_axes(axes, target):
    fused = ow.fuse(lambda x: x.transpose(*axes).copy())
    program = fused.lower(CUBE, target=target)

    np.testing.assert_array_equal(CUBE.transpose(axes), program(CUBE))
    assert program(CUBE).flags.c_contiguous


def test_short_axes_are_not_worth_a_tile():
    x = array(3, 2000)
    kernel = ow.fuse(lambda x: x.T.copy()).lower(x, target="sm_80").kernels[0]

    assert kernel.data.template == "map"


@pytest.mark.nvrtc
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["float16", "float32", "float64", "uint8"])
def test_tiles_load_and_store_16_bytes_without_spills(name, target):
    x = array(1024, 2048, name=name)
    kernel = ow.fuse(lambda x: x.T.copy()).lower(x, target=target).compile().kernels[0]

    assert kernel.resources.stack_bytes == 0
    assert "LDG.E.128" in kernel.sass
    assert "STG.E.128" in kernel.sass
    assert kernel.shared_bytes <= 48 * 1024


BAD = [
    (lambda x: np.transpose(x, (0, 0)), ow.errors.ShapeError, "twice"),
    (lambda x: x.transpose(0), ow.errors.ShapeError, "1 axes"),
    (lambda x: x.swapaxes(0, 5), ow.errors.ShapeError, "axis 5"),
    (lambda x: np.squeeze(x, 0), ow.errors.ShapeError, "only 1 can be left out"),
    (lambda x: np.moveaxis(x, (0, 1), 0), ow.errors.ShapeError, "2 axes to 1"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "error", "message"), BAD)
def test_a_wrong_axis_is_refused(function, error, message):
    with pytest.raises(error, match=message):
        ow.fuse(function)(X)


def own_view(x):
    e = np.exp(x * 0.01)
    return e + e.T


SQUARE = array(40, 40)
OWN = [
    ("map", own_view, 2),
    ("row", lambda x: x / np.expand_dims(x.sum(0), 0), 1),
    ("softmax idiom", lambda x: x - np.expand_dims(x.max(-1), -1), 1),
    ("product", lambda x: (x @ x) + (x @ x).T, 2),
    ("row values", lambda x: x * x.sum(-1, keepdims=True) * x.sum(-1, keepdims=True).T, 2),
    ("whole sum", lambda x: x * np.expand_dims(x.sum(), (0, 1)), 1),
    ("three orders", lambda x: x + np.expand_dims(x.sum(1), 1).T, 2),
]  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("case", OWN, ids=lambda c: c[0])
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_a_value_may_meet_its_own_view(case, target):
    _, function, kernels = case
    fused = ow.fuse(function)
    program = fused.lower(SQUARE, target=target)

    assert program.check(SQUARE).ok
    assert bits(program(SQUARE)) == bits(fused.unfused().lower(SQUARE, target=target)(SQUARE))
    if target == "sm_80":
        assert kernels == len(program.kernels)


@pytest.mark.host
def test_extents_that_became_one_are_one_parameter():
    x = array(5, 5, 5)
    fused = ow.fuse(lambda x: x + x.transpose(1, 2, 0) + x.transpose(2, 0, 1))
    for target in ("host", "sm_80"):
        assert fused.lower(x, target=target).check(x).ok


@pytest.mark.parametrize("function", [
    lambda x: +x.T, lambda x: x.T.astype(np.float32), lambda x: (x * 1).T,
], ids=["+", "astype", "* 1"])  # fmt: skip
@pytest.mark.host
def test_what_numpy_copies_shares_no_memory_with_an_argument(function):
    assert not np.shares_memory(ow.fuse(function)(X), X)


@pytest.mark.parametrize("function", [
    lambda x: (np.exp(x).T, np.exp(x)), lambda x: (lambda a: (a, +a.T))(np.exp(x)),
], ids=["twice", "copied"])  # fmt: skip
@pytest.mark.host
def test_results_that_numpy_keeps_apart_share_no_memory(function):
    assert not np.shares_memory(*ow.fuse(function)(X))


def through_the_base(x):
    a = x + 0
    t = a.T
    a += 1
    return t


def through_the_view(x):
    a = x + 0
    t = a.T
    t += 1
    return a


def into_an_argument(x):
    t = x.T
    t += 1
    return t


@pytest.mark.host
@pytest.mark.parametrize("function", [through_the_base, through_the_view, into_an_argument])
def test_writing_through_a_view_is_seen_on_both_sides(function):
    x = X.copy()
    expected = function(x)
    y = X.copy()
    found = ow.fuse(function, fullgraph=True)(y)

    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(y, x)


@pytest.mark.host
def test_a_product_with_a_vector_may_be_changed_in_place():
    def function(x, v):
        y = x @ v
        y += 1
        return y

    v = array(70)
    hold(ow.fuse(function), (X, v), wide(X) @ wide(v) + 1, ow.fuse(function)(X, v))


SCALARS = [
    lambda x: x.sum().T, lambda x: np.transpose(x.sum()), lambda x: np.squeeze(x.sum(keepdims=True)),
    lambda x: np.squeeze(np.expand_dims(x.sum(), 0)),
]  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("function", SCALARS)
def test_views_without_dimensions_have_numpys_type(function):
    assert type(ow.fuse(function)(X)) is type(function(X))


@pytest.mark.host
@pytest.mark.parametrize("edit", [
    lambda k: k.insert(ow.opcodes.clip(0, 1), before="store"),
    lambda k: k.insert(ow.opcodes.clip(0, 1), after="load y_view"),
    lambda k: k.replace("exp", ow.opcodes.tanh),
], ids=["before store", "after load", "replace"])  # fmt: skip
def test_kernels_with_views_can_be_edited(edit):
    kernel = ow.fuse(lambda x, y: np.exp(x.T * 0.1) + y).lower(X, Y, target="sm_80").kernels[0]
    edited = edit(kernel)

    assert edited.check(X, Y).ok
    assert bits(edited(X, Y)) != bits(kernel(X, Y))


@pytest.mark.host
def test_a_relu_slides_into_a_product_of_a_transposed_factor():
    w = array(40, 6)
    kernel = ow.fuse(lambda x, w: x.T @ w).lower(X, w, target="sm_80").kernels[0]
    edited = kernel.insert(ow.opcodes.relu, before="store")

    np.testing.assert_array_equal(np.maximum(kernel(X, w), 0), edited(X, w))


@pytest.mark.parametrize(("function", "names"), [
    (lambda x, y, r: x[1:-1, 1:-1] + x[:-2, 1:-1] - x[1:-1, 2:], ["x_1_1", "x_0_1", "x_1_2"]),
    (lambda x, y, r: x[3] * x[4], ["x_3_0", "x_4_0"]),
    (lambda x, y, r: x.T * y + x[::-1].T, ["x_view", "y", "x_view2"]),
    (lambda x, y, r: x[::2] - x[-20:], ["x_view", "x_view2"]),
    (lambda x, y, r: x.reshape(70, 40)[1:] * 2, ["x_view"]),
    (lambda x, y, r: np.sqrt(x[0, 5:]), ["x_0_5"]),
])  # fmt: skip
def test_views_are_named_by_their_offsets_or_numbered(function, names):
    (kernel,) = ow.fuse(function).lower(X, Y, ROW, target="sm_80").kernels

    assert names == [p.name for p in kernel.data.params if p.kind == "input"]


@pytest.mark.parametrize(("function", "names"), [
    (lambda x: x[1:-1, 1:-1] + x[:-2, 1:-1] - x[1:-1, 2:], ["x_s0"]),
    (lambda x: x[1:, 1:] + x.T[1:, 1:].T * 2, ["x_s0"]),
    (lambda x: x[::2, 1:] - x[1::2, :-1], ["x_s0x2"]),
    (lambda x: x[:, :30][::2] - x[:20, 1:31], ["x_s0x2", "x_s0"]),
    (lambda x: x[::-1, 1:] - x[::-1, :-1], ["x_view_s0", "x_view2_s0"]),
    (lambda x: np.sqrt(x.reshape(70, 40)[:, 1:]), ["x_view_s0"]),
    (lambda x: x[:, None, 1:-1] * 2 + x[:, None, 2:], ["x_s0"]),
    (lambda x: x.T[1:, 1:] + x.T[:-1, 1:], ["x_s0"]),
])  # fmt: skip
def test_views_of_an_argument_share_its_strides(function, names):
    (kernel,) = ow.fuse(function).lower(X, target="sm_80").kernels

    assert names == [p.name for p in kernel.data.params if p.kind == "stride"]


def test_a_stride_is_that_of_the_arguments_axis():
    (kernel,) = ow.fuse(lambda x, y: x.T * y).lower(X, Y, target="sm_80").kernels

    assert [p.name for p in kernel.data.params if p.kind == "stride"] == ["x_s0"]


def test_a_view_of_a_renamed_argument_keeps_no_mark_of_it():
    fused = ow.fuse(lambda i: i[1:] - i[::-1][1:])
    (kernel,) = fused.lower(X, target="sm_80").kernels

    assert [p.name for p in kernel.data.params if p.kind == "input"] == ["i_1_0", "i_view"]


def test_an_arguments_own_name_is_no_views():
    fused = ow.fuse(lambda x, x_1_0: x[1:] * x_1_0[1:])
    (kernel,) = fused.lower(X, X, target="sm_80").kernels

    names = [p.name for p in kernel.data.params if p.kind == "input"]
    assert names == ["x_view", "x_1_0_1_0"]


def test_an_op_code_is_put_behind_the_load_of_one_view():
    program = ow.fuse(lambda x: x[1:] - x[:-1]).lower(X, target="sm_80")
    changed = program.kernels[0].insert(ow.opcodes.multiply(2.0), after="load x_0_0")

    assert bits(X[1:] - X[:-1] * np.float32(2)) == bits(changed(X))
    with pytest.raises(ow.OpweaveError, match="loads no such argument"):
        program.kernels[0].insert(ow.opcodes.multiply(2.0), after="load x_view")
