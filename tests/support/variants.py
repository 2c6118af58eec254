"""The kernels that the compiler can choose: one row per template, path and shape class.

Each row is a function, shapes and dtypes of its arguments, and the toggles it must get.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import opweave as ow
from tests.support.data import dtype_of


def product_of(*arrays):
    made = arrays[0]
    for array in arrays[1:]:
        made = made * array
    return made


def tanh_thrice(x):
    return np.tanh(np.tanh(np.tanh(x)))


def scale_shift(x):
    return x * 1.5 + 0.25


def add_bias(x, b):
    return np.maximum(x + b, 0)


def outer_sum(x, y):
    return x + y


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layer_norm(x, w, b):
    m = x.mean(axis=-1, keepdims=True)
    v = x.var(axis=-1, keepdims=True)
    return (x - m) / np.sqrt(v + 1e-5) * w + b


def rms_norm(x, w):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6) * w


def column_sum(x):
    return (x * x).sum(axis=0)


def sum_of_middle(x):
    return x.sum(axis=1)


def softmax_down(x):
    e = np.exp(x - x.max(axis=0))
    return e / e.sum(axis=0)


def places_down(x):
    return x.argmax(axis=0)


def places_of_rows(x):
    return x.argmax(axis=1), x.argmin(axis=1)


def places_of_all(x):
    return x.argmin()


def standardise_middle(x):
    return (x - x.mean(axis=1, keepdims=True)) / (x.std(axis=1, keepdims=True) + 1e-6)


def standardise(x):
    return (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-6)


def norm(x):
    return np.sqrt((x * x).sum())


def extremes(x):
    return x.max(), x.min(), np.abs(x).sum()


def image_bias(img, b):
    return np.clip(img * 1.1 + b, 0, 255)


def linear_relu(x, w, b):
    return ow.relu(ow.linear(x, w, b))


def linear_relu_softmax(x, w, b):
    return ow.softmax(linear_relu(x, w, b))


def transposed(x):
    return x.T.copy()


def transposed_sum(x, y):
    return x.T + y


def grade(img):
    x = ow.pixels.hue(ow.pixels.from_uint8(img), 20)
    x = ow.pixels.saturation(ow.pixels.white_balance(x, 1.1, 1.0, 0.9), 1.3)
    return ow.pixels.to_uint8(ow.pixels.gamma(ow.pixels.aces(x), 2.2))


def laplacian(x):
    sides = np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1)
    return sides - 4 * x


def heat(u):
    sides = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return u[1:-1, 1:-1] + 0.1 * (sides - 4 * u[1:-1, 1:-1])


def slopes(u, w, v):
    return (u[1:] - u[:-1]) * w + v * u[1:]


def picked_softmax(x):
    return softmax(x[[3, 0, -1, 3]])


def corners(boxes):
    half = boxes[:, 2:] * 0.5
    return np.concatenate([boxes[:, :2] - half, boxes[:, :2] + half], axis=1)


def interleaved(x, y):
    made = np.empty(x.shape[0] * 3, x.dtype)
    made[::3], made[1::3], made[2::3] = x, y, x + y
    return made


def bordered(x):
    y = np.pad(x, 1)
    y[0] = 1
    return y * 2


def running_mean(x):
    return np.cumsum(x, axis=-1) / np.arange(1, x.shape[-1] + 1, dtype=np.float32)


def drawdown(x):
    return x - np.maximum.accumulate(x, axis=-1)


def sums_of_sums(x):
    return np.exp(x) / np.exp(x).cumsum(0).cumsum(0)


def running_total(x):
    return np.cumsum(x)


def julia(z):
    return z * z - (0.4 - 0.6j)


def spectrum(z):
    power = np.abs(z) ** 2
    return power / power.sum(axis=-1, keepdims=True)


def energy(z):
    return (z.conj() * z).sum()


def centred_rows(z):
    return z - z.mean(axis=-1, keepdims=True)


def complex_rows(x, w, b):
    y = x @ w + b
    return y / y.sum(axis=-1, keepdims=True)


@dataclass(frozen=True)
class Variant:
    """``kernels``: how many; ``toggles``: values that the first must have."""

    name: str
    function: object
    shapes: tuple
    dtype: str = "float32"
    kernels: int = 1
    toggles: dict = field(default_factory=dict, hash=False)
    layout: str = "C"

    def arguments(self, seed=0):
        rng = np.random.default_rng(seed)
        return [self._array(rng, shape) for shape in self.shapes]

    def _array(self, rng, shape):
        dtype = dtype_of(self.dtype)
        if self.layout == "strided":
            wide = (*shape[:-1], shape[-1] * 2)
            return aligned((rng.standard_normal(wide) * 2).astype(dtype))[..., ::-2]
        if self.layout == "every other":
            return aligned(rng.integers(0, 100, 2 * shape[0]).astype(dtype))[::2]
        if dtype.kind in "iub":
            return aligned(rng.integers(0, 100, shape).astype(dtype))
        if dtype.kind == "c":
            parts = rng.standard_normal((2, *shape)) * 2
            return aligned((parts[0] + 1j * parts[1]).astype(dtype))
        return aligned((rng.standard_normal(shape) * 2).astype(dtype))


def aligned(array):
    """A copy that starts on a 16-byte boundary, as GPU allocators give."""
    raw = np.empty(array.nbytes + 16, np.uint8)
    start = -raw.ctypes.data % 16
    made = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


VECTOR = {"USE_VECTOR_IO": 1}
SCALAR = {"USE_VECTOR_IO": 0}
DOWN = {"THREADS_PER_ROW": 32, "PARTS": 1}
SHARED = {"THREADS_PER_ROW": 32, "PARTS": 4}
VARIANTS = [
    Variant("map f32", scale_shift, ((1000,),), toggles=VECTOR | {"VECTOR": 4}),
    Variant("map f16", scale_shift, ((1003,),), "float16", toggles=VECTOR | {"VECTOR": 8}),
    Variant("map bf16", scale_shift, ((1003,),), "bfloat16", toggles=VECTOR | {"VECTOR": 8}),
    Variant("map f64", scale_shift, ((1003,),), "float64", toggles=VECTOR | {"VECTOR": 2}),
    Variant("map i32", outer_sum, ((333,), (333,)), "int32", toggles=VECTOR | {"VECTOR": 4}),
    Variant("map u8", outer_sum, ((333,), (333,)), "uint8", toggles=VECTOR | {"VECTOR": 16}),
    Variant("map large", scale_shift, ((1 << 20,),), toggles=VECTOR | {"CHUNKS": 4}),
    Variant("map of many", product_of, ((1003,),) * 24, toggles={"VECTOR": 2, "CHUNKS": 1}),
    Variant("map of work", tanh_thrice, ((1 << 20,),), toggles={"VECTOR": 4, "CHUNKS": 1}),
    Variant("map strided", scale_shift, ((30, 50),), layout="strided"),
    Variant("map 0-d", scale_shift, ((),)),
    Variant("bias narrow", add_bias, ((70, 33), (33,)), toggles=VECTOR),
    Variant("bias wide", add_bias, ((5, 2052), (2052,)), toggles=VECTOR),
    Variant("bias wide odd", add_bias, ((5, 2051), (2051,)), toggles=SCALAR),
    Variant("column bias", add_bias, ((5, 2052), (5, 1)), toggles=VECTOR),
    Variant("outer", outer_sum, ((9, 1, 7), (1, 11, 7))),
    Variant("pixels", image_bias, ((20, 30, 3), (3,))),
    Variant("corners", corners, ((2003, 4),), toggles=VECTOR | {"VECTOR": 1}),
    Variant("interleaved", interleaved, ((1003,), (1003,)), "uint8"),
    Variant("softmax 40", softmax, ((50, 40),), toggles={"THREADS_PER_ROW": 8}),
    Variant("softmax 100", softmax, ((21, 100),), toggles={"THREADS_PER_ROW": 16}),
    Variant("softmax 1000", softmax, ((7, 1000),), toggles=VECTOR | {"THREADS_PER_ROW": 32}),
    Variant("softmax 1001", softmax, ((7, 1001),), toggles=SCALAR | {"ROW_CHUNKS": 8}),
    Variant("softmax 3000", softmax, ((3, 3000),), toggles={"THREADS_PER_ROW": 64}),
    Variant("softmax 7000", softmax, ((3, 7000),), toggles={"THREADS_PER_ROW": 128}),
    Variant("softmax 20000", softmax, ((2, 20000),), toggles={"THREADS_PER_ROW": 512}),
    Variant("softmax 33000", softmax, ((2, 33000),), kernels=2, toggles={"PARTS": 16}),
    Variant("softmax down", softmax_down, ((300, 12),), toggles={"THREADS_PER_ROW": 32}),
    Variant("softmax f16", softmax, ((7, 1000),), "float16", toggles=VECTOR),
    Variant("softmax bf16", softmax, ((7, 1000),), "bfloat16", toggles=VECTOR),
    Variant("softmax f64", softmax, ((7, 1000),), "float64", toggles=VECTOR),
    Variant("softmax strided", softmax, ((7, 100),), layout="strided"),
    Variant("layer norm", layer_norm, ((13, 768), (768,), (768,)), toggles=VECTOR),
    Variant("layer norm f16", layer_norm, ((13, 768), (768,), (768,)), "float16"),
    Variant("rms norm", rms_norm, ((6, 4096), (4096,)), toggles={"THREADS_PER_ROW": 64}),
    Variant("columns", column_sum, ((129, 77),), toggles=DOWN | {"THREADS_PER_ROW": 8}),
    Variant("columns few rows", column_sum, ((9, 100),), toggles={"THREADS_PER_ROW": 1}),
    Variant("columns shared", column_sum, ((2600, 100),), toggles=SHARED | {"PARTS": 8}),
    Variant("columns f16", column_sum, ((700, 40),), "float16", toggles=DOWN | {"COLUMNS": 4}),
    Variant("columns f64", column_sum, ((700, 34),), "float64", toggles=DOWN | {"COLUMNS": 2}),
    Variant("columns u8", sum_of_middle, ((2, 1100, 36),), "uint8", toggles=SHARED),
    Variant("columns c128", column_sum, ((300, 7),), "complex128", toggles=DOWN),
    Variant("places down", places_down, ((1100, 36),), toggles=SHARED),
    Variant("places of rows", places_of_rows, ((7, 1000),), toggles=VECTOR),
    Variant("places f16", places_of_rows, ((7, 1001),), "float16", toggles=SCALAR),
    Variant("places u8", places_of_rows, ((3, 7000),), "uint8"),
    Variant("places f64", places_of_rows, ((3, 2000),), "float64", toggles=VECTOR),
    Variant("places of all", places_of_all, ((70001,),), toggles={"PARTS": 32}),
    Variant("standardise", standardise, ((129, 77),), toggles=DOWN | {"THREADS_PER_ROW": 8}),
    Variant("standardise batch", standardise_middle, ((3, 300, 12),), toggles=DOWN),
    Variant("norm small", norm, ((40, 50),), toggles={"THREADS_PER_ROW": 32}),
    Variant("norm large", norm, ((300, 500),), toggles={"PARTS": 64}),
    Variant("norm larger", norm, ((1000, 500),), toggles={"PARTS": 128}),
    Variant("extremes large", extremes, ((300, 500),), toggles={"PARTS": 64}),
    Variant("product", linear_relu, ((70, 50), (50, 90), (90,)), toggles={"BLOCK_M": 32}),
    Variant("product f16", linear_relu, ((64, 64), (64, 64), (64,)), "float16", toggles=VECTOR),
    Variant("product bf16", linear_relu, ((64, 64), (64, 64), (64,)), "bfloat16", toggles=VECTOR),
    Variant("product f64", linear_relu, ((64, 64), (64, 64), (64,)), "float64", toggles=VECTOR),
    Variant("product i32", linear_relu, ((64, 64), (64, 64), (64,)), "int32", toggles=VECTOR),
    Variant("product few rows", linear_relu, ((5, 64), (64, 96), (96,)), toggles={"BLOCK_M": 16}),
    Variant("product batched", linear_relu, ((3, 33, 20), (20, 40), (40,)), toggles=VECTOR),
    Variant(
        "product and softmax",
        linear_relu_softmax,
        ((70, 64), (64, 10), (10,)),
        toggles={"BLOCK_N": 32, "THREADS_PER_ROW": 8},
    ),
    Variant(
        "product and wide softmax",
        linear_relu_softmax,
        ((40, 64), (64, 200), (200,)),
        toggles={"BLOCK_N": 256},
    ),
    Variant("transpose", transposed, ((96, 160),), toggles=VECTOR | {"USE_SHARED_MEMORY": 1}),
    Variant("transpose odd", transposed, ((97, 161),), toggles=SCALAR | {"TILE": 64}),
    Variant("transpose f16", transposed, ((96, 160),), "float16", toggles=VECTOR | {"TILE": 64}),
    Variant("transpose f64", transposed, ((96, 160),), "float64", toggles=VECTOR | {"TILE": 64}),
    Variant("transpose u8", transposed, ((96, 160),), "uint8", toggles=VECTOR | {"VECTOR": 16}),
    Variant("transposed sum", transposed_sum, ((96, 160), (160, 96)), toggles=VECTOR),
    Variant("picture", grade, ((37, 41, 3),), "uint8", toggles={"VECTOR": 4}),
    Variant("large picture", grade, ((600, 800, 3),), "uint8", toggles=VECTOR | {"CHUNKS": 2}),
    Variant("windows", laplacian, ((9, 2052),)),
    Variant("stencil", heat, ((11, 2060),), toggles={"ROWS_PER_THREAD": 1}),
    Variant("stencil large", heat, ((513, 2060),), toggles={"ROWS_PER_THREAD": 4}),
    Variant(
        "stencil f16",
        slopes,
        ((600, 2050), (2050,), (599, 1)),
        "float16",
        toggles=SCALAR | {"ROWS_PER_THREAD": 4},
    ),
    Variant("places", laplacian, ((40, 50),)),
    Variant("windows of rows", picked_softmax, ((12, 100),)),
    Variant("borders", bordered, ((11, 2050),), "float16"),
    Variant("scan 30", drawdown, ((50, 30),), toggles={"THREADS_PER_ROW": 8}),
    Variant("scan 64", drawdown, ((50, 64),), toggles=VECTOR | {"THREADS_PER_ROW": 16}),
    Variant("scan 1000", running_mean, ((7, 1000),), toggles=VECTOR | {"THREADS_PER_ROW": 32}),
    Variant("scan 1001", running_mean, ((7, 1001),), toggles=SCALAR),
    Variant("scan 2000", drawdown, ((3, 2000),), toggles={"THREADS_PER_ROW": 64}),
    Variant("scan 4000", drawdown, ((2, 4000),), toggles={"THREADS_PER_ROW": 128}),
    Variant("scan 9000", running_total, ((9000,),), toggles={"THREADS_PER_ROW": 256}),
    Variant("scan 20000", running_total, ((20000,),), toggles={"THREADS_PER_ROW": 512}),
    Variant("scan 70000", drawdown, ((70000,),), toggles={"PARTS": 32, "LANES": 16}),
    Variant("scan of long rows", drawdown, ((2, 40_001),), toggles=SCALAR | {"USE_HELD_TILE": 1}),
    Variant("scan ahead", running_mean, ((3, 40_004),), toggles=VECTOR),
    Variant("scan 300000", running_total, ((300_000,),), toggles={"PARTS": 128}),
    Variant("scan long f64", drawdown, ((70000,),), "float64", toggles={"PARTS": 64, "LANES": 8}),
    Variant("scan f16", running_mean, ((7, 1000),), "float16", toggles=VECTOR),
    Variant("scan bf16", drawdown, ((7, 1000),), "bfloat16", toggles=VECTOR),
    Variant("scan f64", running_mean, ((7, 1000),), "float64", toggles=VECTOR),
    Variant("scan u8", running_total, ((3000,),), "uint8", toggles=VECTOR),
    Variant("scan strided", drawdown, ((7, 100),), layout="strided"),
    Variant("scan columns", sums_of_sums, ((40, 77),), toggles={"CHUNKS": 8, "VECTOR": 1}),
    Variant(
        "scan columns u8",
        lambda x: np.maximum.accumulate(x, 1),
        ((5, 37, 48),),
        "uint8",
        toggles=VECTOR | {"VECTOR": 4},
    ),
    Variant("scan columns strided", sums_of_sums, ((40, 50),), layout="strided"),
    Variant("julia", julia, ((1000,),), "complex64", toggles=VECTOR | {"VECTOR": 2}),
    Variant("julia c128", julia, ((1003,),), "complex128", toggles=VECTOR | {"VECTOR": 1}),
    Variant("spectrum", spectrum, ((7, 1000),), "complex64", toggles=VECTOR),
    Variant(
        "spectrum c128", spectrum, ((7, 1000),), "complex128", toggles={"USE_REGISTER_ROW": 0}
    ),
    Variant("centred rows", centred_rows, ((7, 100),), "complex64"),
    Variant("centred rows c128", centred_rows, ((7, 400),), "complex128"),
    Variant("energy", energy, ((300, 500),), "complex64", toggles={"PARTS": 64}),
    Variant("energy c128", energy, ((300, 500),), "complex128", toggles={"PARTS": 64}),
    Variant("product c64", complex_rows, ((70, 64), (64, 40), (40,)), "complex64"),
    Variant("product c128", complex_rows, ((40, 33), (33, 200), (200,)), "complex128"),
    Variant("transpose c128", transposed, ((96, 160),), "complex128", toggles={"TILE": 32}),
    Variant("windows c64", laplacian, ((9, 2052),), "complex64"),
    Variant("whole softmax", lambda x: softmax_all(x), ((300, 500),), kernels=2),
]


def counts(x):
    return np.bincount(x, minlength=256)


def counts_of_thirds(x):
    return np.bincount(x // 3, minlength=40)


def counts_of_many(x):
    return np.bincount(x * 170, minlength=17_000)


# Toggles of a GPU: on the host tests/kernels/test_counts.py has others.
COPIES, SHARED_COUNTS = {"COPIES": 32}, {"USE_SHARED_MEMORY": 1}
ON_GPU = [
    Variant("counts u8", counts, ((5003,),), "uint8", toggles=VECTOR | COPIES | {"VECTOR": 16}),
    Variant("counts i64", counts, ((5003,),), "int64", toggles=VECTOR | COPIES | {"VECTOR": 2}),
    Variant("counts large", counts, ((1 << 20,),), "int32", toggles=COPIES | {"CHUNKS": 4}),
    Variant("counts of thirds", counts_of_thirds, ((5003,),), "int32", toggles=SHARED_COUNTS),
    Variant(
        "counts of many", counts_of_many, ((5003,),), "int64", toggles={"USE_SHARED_MEMORY": 0}
    ),
    Variant(
        "counts strided", counts, ((5003,),), "uint8", layout="every other", toggles={"VECTOR": 1}
    ),
]
EVERY = [*VARIANTS, *ON_GPU]


def softmax_all(x):
    e = np.exp(x - x.max())
    return e / e.sum()
