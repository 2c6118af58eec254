"""Pixels: operators that mix channels, one kernel from uint8 to uint8, any layout of a picture."""

import numpy as np
import pytest

import opweave as ow
from opweave import pixels
from opweave.opcodes import errors as e
from tests.support.data import TARGETS, dtype_of, hold, wide
from tests.support.variants import aligned

FLOATS = ["float16", "bfloat16", "float32", "float64"]
OPERATORS = {
    "exposure": lambda x: pixels.exposure(x, 0.7),
    "white_balance": lambda x: pixels.white_balance(x, 1.2, 1.0, 0.8),
    "reinhard": pixels.reinhard,
    "aces": pixels.aces,
    "hue": lambda x: pixels.hue(x, 35),
    "saturation": lambda x: pixels.saturation(x, 1.4),
    "contrast": lambda x: pixels.contrast(x, 1.2),
    "gamma": lambda x: pixels.gamma(x, 2.2),
    "grey": pixels.grey,
    "to_uint8": pixels.to_uint8,
}


def grade(img, stops, degrees):
    """Ten pixel operators."""
    x = pixels.from_uint8(img)
    x = pixels.exposure(x, stops)
    x = pixels.white_balance(x, 1.1, 1.0, 0.9)
    x = pixels.hue(x, degrees)
    x = pixels.saturation(x, 1.3)
    x = pixels.contrast(x, 1.1)
    x = pixels.aces(x)
    x = pixels.gamma(x, 2.2)
    return pixels.to_uint8(x)


def picture(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).integers(0, 256, (*shape, 3), dtype=np.uint8)


def floats(name, *shape):
    rng = np.random.default_rng([1, *shape])
    return aligned((rng.random((*shape, 3)) * 1.5 - 0.1).astype(dtype_of(name)))


def bits(array):
    return np.ascontiguousarray(array).tobytes()


@pytest.mark.host
@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_every_operator_agrees_with_its_meaning(operator, name, target):
    x = floats(name, 7, 19)
    fused = ow.fuse(OPERATORS[operator])
    program = fused.lower(x, target=target)
    expected = OPERATORS[operator](x)

    assert program.check(x).ok
    assert program(x).shape == expected.shape
    assert len(program.kernels) == 1


SHAPES = [(37, 41), (1, 1), (1, 50), (50, 1), (5,), (), (2, 6, 7), (0, 4), (3, 3000), (600, 800)]


@pytest.mark.host
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_a_chain_is_one_kernel_from_uint8_to_uint8(shape, target):
    img = picture(*shape)
    if target == "sm_80":
        img = img[:50, :80] if len(shape) == 2 else img
    fused = ow.fuse(grade)
    program = fused.lower(img, 0.5, 20.0, target=target)
    made = program(img, 0.5, 20.0)

    assert len(program.kernels) == 1
    assert made.dtype == np.uint8
    assert made.shape == img.shape
    assert program.check(img, 0.5, 20.0).ok
    assert bits(made) == bits(fused.unfused().lower(img, 0.5, 20.0, target=target)(img, 0.5, 20.0))


LAYOUTS = {
    "cut out": lambda x: x[3:-2, 4:-1],
    "mirrored": lambda x: x[:, ::-1],
    "every other": lambda x: x[::2, ::3],
    "channels reversed": lambda x: x[..., ::-1],
    "channels of four": lambda x: np.concatenate([x, x[..., :1]], axis=-1)[..., :3],
    "planes": lambda x: np.ascontiguousarray(np.moveaxis(x, -1, 0)).transpose(1, 2, 0),
    "turned": lambda x: x.transpose(1, 0, 2),
    "one row for all": lambda x: np.broadcast_to(x[:1], x.shape),
    "one pixel for all": lambda x: np.broadcast_to(x[0, 0], x.shape),
}


@pytest.mark.host
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_every_layout_gives_the_bits_of_a_copy(layout, target):
    img = LAYOUTS[layout](picture(40, 60))
    program = ow.fuse(grade).lower(img, 0.5, 20.0, target=target)
    copy = np.ascontiguousarray(img)

    assert bits(program(img, 0.5, 20.0)) == bits(
        ow.fuse(grade).lower(copy, 0.5, 20.0, target=target)(copy, 0.5, 20.0)
    )


BROADCASTS = {
    "a gain for each channel": (lambda x, g: pixels.hue(x * g, 10), (3,)),
    "a level for each pixel": (
        lambda x, g: pixels.grey(x) * g + pixels.saturation(x, 2),
        (8, 9, 1),
    ),
    "a line": (lambda x, g: pixels.hue(x, 10) + g, (9, 1)),
    "a column": (lambda x, g: pixels.hue(x, 10) + g, (8, 1, 1)),
    "another picture": (lambda x, g: pixels.hue(x, 10) - pixels.grey(g), (8, 9, 3)),
    "one value": (lambda x, g: pixels.hue(x * g, 10), ()),
    "grey alone": (lambda x, g: (pixels.grey(x), pixels.hue(x, 5)), (1,)),
}


@pytest.mark.host
@pytest.mark.parametrize("case", BROADCASTS)
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_channels_and_pixels_broadcast_as_by_numpy(case, target):
    function, shape = BROADCASTS[case]
    x, g = floats("float32", 8, 9), np.random.default_rng(2).random(shape).astype(np.float32)
    program = ow.fuse(function).lower(x, g, target=target)
    unfused = ow.fuse(function).unfused().lower(x, g, target=target)
    a, b = program(x, g), unfused(x, g)
    pairs = zip(a, b, strict=True) if isinstance(a, tuple) else [(a, b)]

    assert len(program.kernels) == 1
    assert program.check(x, g).ok
    assert all(bits(one) == bits(other) for one, other in pairs)


@pytest.mark.host
@pytest.mark.parametrize("shape", [
    (97, 3), (1, 97, 3), (4, 97, 3), (1, 4, 97, 3), (4, 1, 3), (2, 1, 97, 3), (2, 1, 1, 3), (3,),
    (2, 4, 1, 3), (1, 3), (2, 4, 97, 3),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_pictures_broadcast_over_others(shape, dtype, target):
    rng = np.random.default_rng(0)
    x, y = rng.random((2, 4, 97, 3)).astype(dtype), rng.random(shape).astype(dtype)
    for function in (lambda x, y: pixels.hue(x, 10) + y, lambda x, y: pixels.hue(y, 10) - x):
        fused = ow.fuse(function)
        program = fused.lower(x, y, target=target)

        assert program.check(x, y).ok
        assert bits(program(x, y)) == bits(fused.unfused().lower(x, y, target=target)(x, y))


@pytest.mark.host
@pytest.mark.parametrize(
    "toggles", [{"USE_VECTOR_IO": 0}, {"VECTOR": 1}, {"CHUNKS": 4}, {"BLOCK": 64}], ids=str
)
def test_toggles_change_no_bit(toggles):
    img = aligned(picture(33, 40))
    fused = ow.fuse(grade)
    program = fused.with_toggles(**toggles).lower(img, 0.5, 20.0, target="sm_80")

    assert bits(fused.lower(img, 0.5, 20.0, target="sm_80")(img, 0.5, 20.0)) == bits(
        program(img, 0.5, 20.0)
    )


@pytest.mark.host
def test_amounts_change_without_a_new_compilation():
    img = picture(5, 6)
    fused = ow.fuse(grade)
    results = [
        fused(img, stops, degrees) for stops, degrees in ((0.0, 0.0), (1.0, 90.0), (-1.0, 5.0))
    ]

    assert fused._specialised.traces == 1
    assert len({bits(r) for r in results}) == 3


def test_the_number_of_channels_is_part_of_the_guard():
    fused = ow.fuse(lambda x: pixels.grey(x) * 2)
    fused.lower(floats("float32", 4, 5), target="sm_80")
    with pytest.raises(e.ShapeError, match="3 channels"):
        fused.lower(np.ones((4, 5, 4), np.float32), target="sm_80")


@pytest.mark.host
def test_to_uint8_rounds_clips_and_takes_nan_for_nothing():
    x = np.array([0, 1, 0.5, -1, 2, np.nan, np.inf, -np.inf, 1 / 255, 0.499 / 255], np.float32)

    np.testing.assert_array_equal(
        [0, 255, 128, 0, 255, 0, 255, 0, 1, 0], ow.fuse(pixels.to_uint8)(x)
    )
    np.testing.assert_array_equal([0, 255, 128, 0, 255, 0, 255, 0, 1, 0], pixels.to_uint8(x))


@pytest.mark.host
def test_turning_hue_all_the_way_round_comes_back():
    x = floats("float64", 4, 5)

    np.testing.assert_allclose(x, ow.fuse(lambda x: pixels.hue(x, 360))(x), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        x.sum(axis=-1), ow.fuse(lambda x: pixels.hue(x, 77))(x).sum(axis=-1), rtol=1e-12
    )


@pytest.mark.host
def test_an_op_code_slides_in_before_the_store_of_pixels():
    x = floats("float32", 4, 5)
    kernel = ow.fuse(lambda x: pixels.hue(x, 20)).lower(x, target="sm_80").kernels[0]
    burger = kernel.insert(ow.opcodes.saturation(0.5), before="store").insert(
        ow.opcodes.clip(0, 1), before="store"
    )

    assert [line.name for line in burger.opcodes][-4:] == [
        "saturation",
        "clip",
        "store out",
        "close",
    ]
    assert burger.check(x).ok


@pytest.mark.host
def test_pixels_in_an_op_code_list():
    k = ow.kernel([ow.load("img"), ow.opcodes.hue(30), ow.opcodes.saturation(1.5), ow.store()])
    x = floats("float32", 4, 5)

    hold(k, (x,), pixels.saturation(pixels.hue(wide(x), 30), 1.5), k(x))


BAD = [
    (lambda x: pixels.hue(x, 10), np.ones((4, 5, 4), np.float32), e.ShapeError, "3 channels"),
    (lambda x: pixels.hue(x, 10), np.ones((4, 5), np.float32), e.ShapeError, "3 channels"),
    (lambda x: pixels.grey(x), np.ones((), np.float32), e.ShapeError, "0-d"),
    (lambda x: pixels.hue(x, 10), np.ones((4, 5, 3), np.uint8), e.DTypeError, "from_uint8"),
    (lambda x: pixels.to_uint8(x), np.ones((4, 5, 3), np.int32), e.DTypeError, "floats"),
    (lambda x: pixels.saturation(x, x), np.ones((4, 5, 3), np.float32), e.ShapeError, "numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "x", "error", "message"), BAD)
def test_what_is_no_picture_is_refused(function, x, error, message):
    with pytest.raises(error, match=message):
        ow.fuse(function).lower(x, target="sm_80")


@pytest.mark.nvrtc
@pytest.mark.parametrize("target", TARGETS)
def test_pixel_kernels_compile_without_spills(target):
    img = aligned(picture(600, 800))
    kernel = ow.fuse(grade).lower(img, 0.5, 20.0, target=target).compile().kernels[0]

    assert kernel.toggles["USE_VECTOR_IO"] == 1
    assert kernel.resources.stack_bytes <= (16 if target == "sm_100" else 0)
    assert kernel.registers <= 128


@pytest.mark.host
def test_a_complex_array_that_lies_in_columns_meets_a_picture():
    picture = np.arange(45, dtype=np.float32).reshape(15, 1, 3)
    z = np.moveaxis((picture * (1 + 1j)).T.copy(), -1, 0).reshape(15, 1, 3)
    z = np.asfortranarray(z)

    def function(p, z):
        return np.logical_or(ow.opcodes.white_balance(p, 0.0, 2.0, 1.0) > 50, z) & (z != 3)

    expected = np.logical_or(picture * np.array([0, 2, 1], np.float32) > 50, z) & (z != 3)
    np.testing.assert_array_equal(ow.fuse(function)(picture, z), expected)


@pytest.mark.host
@pytest.mark.parametrize("shape", [(7,), (1, 7), (5, 7)])
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_columns_of_what_is_alike_for_all_pixels_are_read(shape, target):
    near = ow.kernel([
        ow.load("u"), ow.opcodes.neighbour("u", step=-1, bounds="zero").named("d"),
        ow.opcodes.neighbour("d", step=-3, bounds="zero"),  # nobody reads it
        ow.store("out", "d"),
    ])  # fmt: skip
    x, y = np.arange(35, dtype=np.int32).reshape(5, 7), np.ones(shape, np.float32) * 3
    fused = ow.fuse(lambda x, y: near(np.equal(x, y)), fullgraph=True)
    if target == "sm_80":
        fused.lower(x, y, target=target).verify(x, y)  # raises where a result differs
    else:
        wanted = np.zeros((5, 7), bool)
        wanted[:, 1:] = np.equal(x, y)[:, :-1]
        np.testing.assert_array_equal(fused(x, y), wanted)
