"""What a bound must leave undecided, and what it must not: faults that were found once."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import dtypes
from tests.support.data import dtype_of

host = pytest.mark.host
TOP = np.finfo(np.float32).max
ON_THE_WAY = [
    ("running sum", lambda x: x.sum(), [TOP, TOP, -TOP, -TOP]),
    ("running sum beside an infinity", lambda x: x.sum(), [np.inf, -TOP, -TOP]),
    ("running product", lambda x: x.prod(), [TOP, 1e-30, TOP, 1e-30]),
    ("running product that underflows", lambda x: x.prod(), [1e-30, 1e-30, 1e30, 1e30]),
    ("running product that underflows beside an infinity", lambda x: x.prod(), [1e-30, 1e-30, np.inf]),
    ("product", lambda x: x @ (x * 0 + np.float32(2)), [TOP, -TOP]),
]  # fmt: skip


@host
@pytest.mark.parametrize(
    ("function", "values"), [c[1:] for c in ON_THE_WAY], ids=[c[0] for c in ON_THE_WAY]
)
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_what_overflows_on_the_way_is_undecided(function, values, target):
    x = np.array(values, np.float32)

    assert ow.fuse(function).lower(x, target=target).check(x).ok


@host
def test_a_check_of_signalling_nans_warns_of_nothing(recwarn):
    x = np.array([0x7F800001], np.uint32).view(np.float32)

    assert ow.fuse(lambda x: x + 1).check(x).ok
    assert not recwarn.list


MIXED = [(ow.opcodes.white_balance, (2.0, 1, 255)), (ow.opcodes.saturation, (2.0,))]


@host
@pytest.mark.parametrize(("operator", "amounts"), MIXED, ids=lambda v: getattr(v, "name", ""))
@pytest.mark.parametrize("bad", [np.nan, np.inf, np.finfo(np.float32).max])
def test_a_channel_that_is_not_finite_leaves_the_bound_of_the_others(operator, amounts, bad):
    x = np.array([[0.3, bad, -0.7], [0.1, 0.2, 0.3]], np.float32)

    assert ow.fuse(lambda x: operator(x, *amounts)).check(x).ok


@host
def test_a_negative_number_to_an_exponent_that_may_be_whole_is_undecided():
    x, y = np.array([-0.97], np.float32), np.array([1.0], np.float32)

    assert ow.fuse(lambda x, y: x ** ((y - 0.5) * 2.0**40 + 0.5)).check(x, y).ok


@host
def test_an_undecided_channel_leaves_one_grey_undecided():
    x = np.array([[6e4, 1, 2], [0.1, 0.2, 0.3]], np.float16)
    report = ow.fuse(lambda x: ow.opcodes.grey(ow.opcodes.saturation(x, 100))).check(x)

    assert report.ok


@host
def test_the_sign_of_a_computed_nan_is_undecided():
    x = np.array([0.5, 1.5, np.inf], np.float16)

    assert ow.fuse(lambda x: np.signbit(np.arccos(x) * np.float16(3))).check(x).ok
    assert ow.fuse(lambda x: np.signbit(np.arccos(x))).check(x).ok


@host
def test_a_cast_of_bfloat16_to_float16_may_underflow():
    x = np.array([1.2e-38, 3e-8, 1.0]).astype(dtypes.BF16.numpy)

    assert ow.fuse(lambda x: x.astype(np.float16)).check(x).ok


@host
def test_what_no_bound_decides_stays_so_behind_a_view_of_integers():
    x = np.array([[6, 1, 0], [6, 1, 2**63]], np.uint64)
    fused = ow.fuse(lambda x: np.multiply.reduce((x == np.tan(x)).mT, axis=-1))

    assert fused.check(x).ok
    assert min(np.asarray(b.error).min() for b in fused.lower(x, target="host").bounds(x)) >= 0


@host
def test_a_unit_is_that_of_the_binade_that_a_value_rounds_into():
    """tan of 1.0 - 1.9921875 + ..., whose exact value lies just below a power of two."""
    x = (np.arange(1, 1249) / 640).astype(dtype_of("bfloat16"))

    assert ow.fuse(lambda x: np.tan(x - -1.0)).check(x).ok


@host
def test_an_infinite_amount_of_a_difference_that_rounds_is_undecided():
    x = np.array([[0.1, 0.1, 0.1], [0.2, 0.7, 0.4], [0.0, 0.0, 0.0]])
    fused = ow.fuse(lambda x, amount: ow.pixels.saturation(x, amount))

    assert fused.check(x, -np.inf).ok
    assert ow.bounds.derive(fused, x, -np.inf)[0].undecided == 6
    assert ow.bounds.derive(fused, x, np.nan)[0].undecided == 0


@host
@pytest.mark.parametrize("gains", [(np.nan, 1.0, 100.0), (-np.inf, np.nan, 100.0)])
def test_a_gain_of_nan_leaves_other_channels_their_bound(gains):
    x = np.random.default_rng(0).random((7, 5, 3))

    assert ow.fuse(lambda x, r, g, b: ow.pixels.white_balance(x, r, g, b)).check(x, *gains).ok


@host
@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "uint64"])
@pytest.mark.parametrize(("low", "high"), [
    (-(2**31), 2**40), (-5, 3), (2, 2**70), (-(2**70), 2**70), (None, 2**70), (-(2**70), None),
])  # fmt: skip
def test_a_bound_of_clip_beyond_the_type_bounds_nothing(dtype, low, high):
    x = np.arange(7).astype(dtype)
    fused = ow.fuse(lambda x, low, high: np.clip(x, low, high))
    constant = ow.fuse(lambda x: np.clip(x, low, high))

    np.testing.assert_array_equal(np.clip(x, low, high), fused(x, low, high), strict=True)
    np.testing.assert_array_equal(np.clip(x, low, high), constant(x), strict=True)


def test_a_product_has_the_error_of_all_its_roundings_and_not_of_the_depth_of_its_tree():
    x = np.full((4096,), 1.001, np.float32)
    (found,) = ow.bounds.derive(ow.fuse(lambda x: x.prod()), x)

    assert found.error / abs(found.value) >= 4095 * 2.0**-24
