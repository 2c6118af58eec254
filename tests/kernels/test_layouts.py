"""Any shape and stride: right, on the host and as fibres for a GPU."""

import numpy as np
import pytest

import opweave as ow
from tests.support.data import hold, wide

pytestmark = pytest.mark.host


def array(*shape):
    """Always the same for a shape, whatever ran before."""
    return np.random.default_rng([11, *shape]).standard_normal(shape).astype(np.float32)


FUNCTIONS = {
    "map": lambda x: np.tanh(x) * 2 + x,
    "row": lambda x: x - x.mean(axis=-1, keepdims=True),
    "column": lambda x: x - x.max(axis=0),
    "whole": lambda x: np.sqrt((x * x).sum() + 1),
    "scan": lambda x: x.cumsum(axis=-1) - x,
    "scan of columns": lambda x: x.cumsum(axis=0) * 2,
    "several": lambda x: (x.sum(axis=-1), x * 2, x.max(axis=-1, keepdims=True)),
}
LAYOUTS = {
    "C": array(6, 10),
    "Fortran": np.asfortranarray(array(6, 10)),
    "transposed": array(10, 6).T,
    "sliced rows": array(12, 10)[::2],
    "sliced columns": array(6, 20)[:, ::2],
    "negative": array(6, 10)[::-1, ::-1],
    "negative columns": array(6, 10)[:, ::-1],
    "broadcast rows": np.broadcast_to(array(10), (6, 10)),
    "broadcast columns": np.broadcast_to(array(6, 1), (6, 10)),
    "window": array(9, 14)[2:8, 3:13],
    "3-d": array(3, 4, 5),
    "3-d middle": array(3, 8, 5)[:, ::2],
    "3-d moved": np.moveaxis(array(3, 4, 5), 0, 2),
    "one row": array(1, 33),
    "one column": array(33, 1),
    "one element": array(1, 1),
    "prime": array(7, 131),
    "1-d": array(1009),
    "4-d": array(2, 3, 4, 5)[:, ::-1, ::2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_every_layout_agrees_with_numpy(function, layout, target):
    x = LAYOUTS[layout]
    fused = ow.fuse(FUNCTIONS[function])

    assert fused.lower(x, target=target).check(x).ok


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_layout_gives_the_bits_of_a_copy(function, layout):
    x = LAYOUTS[layout]
    fused = ow.fuse(FUNCTIONS[function])
    a, b = fused(x), fused(np.ascontiguousarray(x))
    pairs = zip(a, b, strict=True) if isinstance(a, tuple) else [(a, b)]

    for one, other in pairs:
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


BROADCASTS = [
    ((6, 10), (10,)), ((6, 10), (6, 1)), ((6, 10), (1, 10)), ((6, 10), ()), ((6, 1), (1, 10)),
    ((10,), (6, 1)), ((2, 3, 4), (3, 1)), ((2, 1, 4), (3, 1)), ((5, 1, 7, 1), (1, 3, 1, 2)),
    ((1,), (4, 5)), ((40, 3), (3,)), ((3, 100), (3, 1)), ((8, 2500), (2500,)), ((0, 4), (4,)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", BROADCASTS, ids=str)
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_broadcasting_agrees_with_numpy(shapes, target):
    x, y = (array(*s) for s in shapes)
    fused = ow.fuse(lambda x, y: (x * 2 + y, y - x))
    program = fused.lower(x, y, target=target)

    assert program.check(x, y).ok
    assert [r.shape for r in program(x, y)] == [np.broadcast_shapes(*shapes)] * 2


EMPTY = [
    ("map", lambda x: x + 1, (0,), (0,)),
    ("map 2-d", lambda x: x + 1, (3, 0), (3, 0)),
    ("sum of nothing", lambda x: x.sum(axis=1), (3, 0), (3,)),
    ("no rows", lambda x: x.sum(axis=1), (0, 3), (0,)),
    ("no rows to compare", lambda x: x.max(axis=1), (0, 3), (0,)),
    ("product of nothing", lambda x: x.prod(), (0,), ()),
    ("all of nothing", lambda x: (x > 0).all(), (0,), ()),
    ("softmax of no rows", lambda x: ow.softmax(x), (0, 5), (0, 5)),
]


@pytest.mark.parametrize(
    ("name", "function", "shape", "expected"), EMPTY, ids=[e[0] for e in EMPTY]
)
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_empty_arrays(name, function, shape, expected, target):
    x = np.ones(shape, np.float32)
    made = ow.fuse(function).lower(x, target=target)(x)

    assert made.shape == expected
    if name != "softmax of no rows":
        np.testing.assert_array_equal(function(x), made)


def test_the_mean_of_nothing_is_nan():
    x = np.ones((3, 0), np.float32)

    assert np.isnan(ow.fuse(lambda x: x.mean(axis=1))(x)).all()


ZERO_D = [
    (lambda x: x + 1, np.float32),
    (lambda x: x.sum(), np.float32),
    (lambda x: np.where(x > 0, x, 0), np.ndarray),
    (lambda x: x.astype(np.float64), np.ndarray),
    (lambda x: np.exp(x).astype(np.float64), np.float64),
]


@pytest.mark.parametrize(("function", "kind"), ZERO_D)
def test_0_d_results_are_scalars_or_arrays_as_numpys(function, kind):
    x = np.array(2.5, np.float32)
    made = ow.fuse(function)(x)

    assert type(made) is type(function(x)) is kind
    hold(ow.fuse(function), (x,), function(wide(x)), made)


def test_outer_sums_of_squares_of_a_square_matrix_do_not_mix_up_axes():
    x = array(9, 9)
    fused = ow.fuse(lambda x: x - x.sum(axis=1))

    assert fused.check(x).ok
    assert len(fused.lower(x).kernels) == 2


@pytest.mark.parametrize("overlap", [slice(0, 100), slice(1, 101), slice(100, 0, -1)], ids=str)
def test_out_may_overlap_the_arguments(overlap):
    memory = array(201)
    x = memory[:100]
    before, out = x.copy(), memory[overlap]
    fused = ow.fuse(lambda x: x + x.sum())
    fused(x, out=out)

    hold(fused, (before,), wide(before) + wide(before).sum(), out)


def test_out_may_be_strided_and_is_returned():
    x, out = array(6, 10), np.zeros((6, 20), np.float32)
    made = ow.fuse(lambda x: x * 2)(x, out=out[:, ::2])

    np.testing.assert_array_equal(x * 2, made)
    assert (out[:, 1::2] == 0).all()


def test_two_outs():
    x = array(5)
    a, b = np.empty(5, np.float32), np.empty(5, np.float32)
    ow.fuse(lambda x: (x + 1, x - 1))(x, out=(a, b))

    np.testing.assert_array_equal([x + 1, x - 1], [a, b])


def test_offsets_beyond_31_bits_choose_64_bit_indices():
    x = np.lib.stride_tricks.as_strided(np.zeros(4, np.uint8), (3, 2**31), (0, 0))
    kernel = ow.fuse(lambda x: x + 1).lower(x, target="sm_90a").kernels[0]

    assert kernel.toggles["USE_64BIT_INDEX"] == 1
    with pytest.raises(ow.errors.ToggleError, match="31 bits"):
        ow.fuse(lambda x: x + 1).with_toggles(USE_64BIT_INDEX=0).lower(x, target="sm_90a")


RUNS = {
    "outer axes": lambda x: x.mean(axis=(0, 2)),
    "beside a row": lambda x: (x * 2).sum(axis=(0, 2), keepdims=True) + x,
    "a part": lambda x: x[:, :, 1:].max(axis=(0, 2)),
    "of another type": lambda x: (x > 0).sum(axis=(0, 2)),
}


@pytest.mark.parametrize("target", ["host", "sm_80", "sm_90a"])
@pytest.mark.parametrize("run", [1, 2, 5, 31, 32, 33, 100])
@pytest.mark.parametrize("function", RUNS)
def test_runs_of_any_length_are_read_as_a_copy_in_their_order_is(function, run, target):
    x = array(9, 3, run + 1)
    fused = ow.fuse(RUNS[function])
    program = fused.lower(x, target=target)
    turned = np.ascontiguousarray(x.transpose(1, 0, 2)).transpose(1, 0, 2)

    assert program.check(x).ok
    assert program(x).tobytes() == fused.lower(turned, target=target)(turned).tobytes()


def test_a_run_is_read_at_once():
    source = ow.fuse(RUNS["outer axes"]).lower(array(9, 3, 40)).source

    assert "load_runs(x_v, x + row * x_s1, n2, x_s0, j0, width - j0);" in source
