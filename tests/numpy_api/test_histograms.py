"""Histograms: kernels that give NumPy's counts and NumPy's edges, bit for bit."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors

pytestmark = [pytest.mark.host, pytest.mark.nvrtc]
RNG = np.random.default_rng(21)
NORMAL = RNG.standard_normal(3001)

CALLS = {
    "ten bins": lambda x: np.histogram(x),
    "fifty bins": lambda x: np.histogram(x, 50),
    "a range": lambda x: np.histogram(x, 10, (-1.0, 1.0)),
    "a range of integers": lambda x: np.histogram(x, bins=7, range=(2, 9)),
    "a range of one number": lambda x: np.histogram(x, 5, (3, 3)),
    "a range of NumPy's numbers": lambda x: np.histogram(x, 9, (np.float32(0.1), np.float64(2))),
    "counts alone": lambda x: np.histogram(x, 16, range=(0, 1))[0],
    "edges alone": lambda x: np.histogram(x, 16)[1],
    "one bin": lambda x: np.histogram(x, np.int64(1)),
}
KINDS = {
    "float64": NORMAL,
    "float32": NORMAL.astype("f4"),
    "a matrix": NORMAL[:3000].reshape(50, 60).astype("f4"),
    "transposed": NORMAL[:3000].reshape(50, 60).T,
    "every third": NORMAL[::3],
    **{d: (NORMAL * 30).astype(d) for d in ("i1", "i2", "i4", "i8")},
    **{d: (abs(NORMAL) * 30).astype(d) for d in ("u1", "u2", "u4", "u8")},
    "ends of int64": np.array([np.iinfo(np.int64).min, -1, 5, np.iinfo(np.int64).max]),
    "ends of uint64": np.array([0, 2**63, 2**64 - 1], np.uint64),
    "large integers": 2**53 + np.arange(300),
    "the same": np.full(50, 3.25),
    "the same integer": np.full(50, 3),
    "one element": NORMAL[:1],
    "nothing": NORMAL[:0],
    "subnormal": np.arange(4000) * 5e-324,
    "far from zero": 1e9 + NORMAL,
    "far from zero in float32": (1e4 + NORMAL).astype("f4"),
    "of all sizes": np.exp(NORMAL * 20),
}


def lowered(function, x, target="sm_80"):
    return ow.fuse(function, fullgraph=True).lower(x, target=target)


def differs(found, expected):
    """Whether a result differs from NumPy's in type, shape or bits."""
    pairs = zip(*(r if isinstance(r, tuple) else (r,) for r in (found, expected)), strict=True)
    return [(a, b) for a, b in pairs
            if (a.dtype, a.shape, a.tobytes()) != (b.dtype, b.shape, b.tobytes())]  # fmt: skip


# Each kind with one call, and each call with float32.
PAIRS = [*((call, "float32") for call in CALLS),
         *((list(CALLS)[n % len(CALLS)], kind) for n, kind in enumerate(KINDS))]  # fmt: skip


@pytest.mark.parametrize(("call", "kind"), dict.fromkeys(PAIRS))
def test_counts_and_edges_are_numpys(call, kind):
    function, x = CALLS[call], KINDS[kind]
    program = lowered(function, x, "sm_90a" if len(call) % 2 else "sm_75")
    expected = function(x)

    assert differs(program.verify(x), expected) == []
    assert differs(program.verify(x, executor="ptx"), expected) == []
    assert differs(program.reference(x), expected) == []


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("seed", range(3))
def test_an_element_at_an_edge_or_next_to_it_has_numpys_bin(dtype, seed):
    rng = np.random.default_rng(seed)
    first, width = rng.standard_normal() * 10 ** rng.uniform(-3, 3), 10 ** rng.uniform(-2, 4)
    count, ends = int(rng.integers(1, 300)), (float(first), float(first + width))
    edges = np.histogram_bin_edges(np.zeros(0, dtype), count, ends)
    x = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])

    for function in (
        lambda x: np.histogram(x, count, ends),
        lambda x: np.histogram(x, count),
    ):
        assert differs(lowered(function, x).verify(x), function(x)) == []


@pytest.mark.parametrize("kind", ["float32", "float64", "i2", "u1", "the same"])
def test_a_density_is_numpys(kind):
    x = KINDS[kind]
    for function in (
        lambda x: np.histogram(x, 12, (-2, 5), density=True),
        lambda x: np.histogram(x, 7, density=True),
    ):
        assert differs(lowered(function, x).verify(x), function(x)) == []


BAD = {
    "NaN": np.array([1.0, np.nan, 2]),
    "infinity": np.array([1.0, np.inf, 2]),
    "minus infinity": np.array([1.0, -np.inf, 2], "f4"),
    "too many bins": np.array([1.0, np.nextafter(1, 2)]),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_numpy_raises_of_is_left_to_it(kind):
    x = BAD[kind]
    with pytest.raises(ValueError, match="not finite|Too many bins"):
        np.histogram(x)
    for executor in ("simt", "ptx"):
        with pytest.raises(errors.BoundsError, match="none of the 10 bins"):
            lowered(lambda x: np.histogram(x), x).verify(x, executor=executor)
    in_range = lambda x: np.histogram(x, 10, (0, 2))  # noqa: E731
    assert differs(lowered(in_range, x).verify(x), in_range(x)) == []


I1, I2 = np.arange(-128, 128).astype("i1"), np.arange(-(2**15), 2**15).astype("i2")
# Ends whose difference has no place in their type, or whose bins NumPy may not tell apart.
WIDE = {
    "int8 ends": (lambda x: np.histogram(x, 100, (np.int8(-100), np.int8(100))), I1),
    "int16 ends": (lambda x: np.histogram(x, 100, (np.int16(-(2**15)), np.int16(2**15 - 1))), I2),
    "uint8 ends": (lambda x: np.histogram(x, 7, (np.uint8(3), np.uint8(250))), I2),
    "float32 beyond its range": (lambda x: np.histogram(x, 10, (-2e38, 2e38)), np.zeros(3, "f4")),
    "half of that": (lambda x: np.histogram(x, 10, (-1e38, 1e38)), np.array([0, 9e37], "f4")),
    "nearly float64's": (lambda x: np.histogram(x, 3, (-8e307, 8e307)), NORMAL * 1e307),
    "elements beyond all ends": (
        lambda x: np.histogram(x, 10, (0, 1)),
        np.array([np.nan, np.inf, -np.inf, 1e300, -1e300, 0.5, 1, 0]),
    ),
    "powers of two": (lambda x: np.histogram(x, 256, (0, 256)), (NORMAL * 99).astype("f4")),
}


@pytest.mark.parametrize("name", WIDE)
def test_ranges_of_any_ends_are_numpys(name):
    function, x = WIDE[name]
    assert differs(ow.fuse(function)(x), function(x)) == []


REFUSED = {
    "weights": (lambda x: np.histogram(x, 5, weights=x), NORMAL),
    "edges": (lambda x: np.histogram(x, [0, 1, 3]), NORMAL),
    "bins that data decide": (lambda x: np.histogram(x, "auto"), NORMAL),
    "no bins": (lambda x: np.histogram(x, 0), NORMAL),
    "a range upside down": (lambda x: np.histogram(x, 5, (2, 1)), NORMAL),
    "a range without an end": (lambda x: np.histogram(x, 5, (0, np.inf)), NORMAL),
    "a range too narrow": (lambda x: np.histogram(x, 5, (1, 1 + 1e-8)), NORMAL.astype("f4")),
    "more bins than float32 tells apart": (lambda x: np.histogram(x, 2**19), NORMAL.astype("f4")),
    "bools": (lambda x: np.histogram(x, 5), NORMAL > 0),
    "halves": (lambda x: np.histogram(x, 5), NORMAL.astype("f2")),
    "complex": (lambda x: np.histogram(x, 5), NORMAL + 1j),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_kernel_counts_is_refused(name):
    function, x = REFUSED[name]
    with pytest.raises(errors.UnsupportedError, match="np.histogram"):
        lowered(function, x)


@pytest.mark.parametrize(("call", "kind"), dict.fromkeys(PAIRS))
def test_counts_and_edges_on_the_host_are_numpys(call, kind):
    function, x = CALLS[call], KINDS[kind]
    program = lowered(function, x, "host")
    fused, expected = ow.fuse(function), function(x)

    for found in (program(x), fused(x), fused.unfused()(x)):
        assert differs(found, expected) == []
    assert "library" not in [kernel.data.template for kernel in program.kernels]


@pytest.mark.parametrize("kind", BAD)
def test_what_numpy_raises_of_is_raised_on_the_host(kind):
    x, fused = BAD[kind], ow.fuse(lambda x: np.histogram(x))
    assert differs(fused(np.ones_like(x)), np.histogram(np.ones_like(x))) == []
    for _ in range(2):
        with pytest.raises(ValueError, match="not finite|Too many bins"):
            fused(x)
    assert differs(fused(np.ones_like(x)), np.histogram(np.ones_like(x))) == []


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.filterwarnings("ignore")
def test_other_histograms_are_numpys(name):
    function, x = REFUSED[name]
    try:
        expected = function(x)
    except (TypeError, ValueError) as error:
        with pytest.raises(type(error)):
            ow.fuse(function)(x)
    else:
        assert differs(ow.fuse(function)(x), expected) == []


@pytest.mark.parametrize(("call", "templates"), [
    ("counts alone", ["count"]), ("a range", ["map", "count"]), ("edges alone", None),
    ("ten bins", ["reduce", "row", "map", "count"]),
])  # fmt: skip
def test_a_histogram_is_few_kernels(call, templates):
    found = [k.data.template for k in lowered(CALLS[call], np.zeros(2**20, "f4")).kernels]

    assert templates is None or found == templates
    assert found.count("count") == 1


@pytest.mark.parametrize("dtype", ["u1", "i1"])
@pytest.mark.parametrize("call", ["a range", "ten bins"])
def test_bytes_are_counted_by_a_table_of_their_bins(dtype, call):
    """float64 is slow on many GPUs: 256 numbers of it are computed, whatever the picture is."""
    x = RNG.integers(0, 127, (50, 41)).astype(dtype)
    program = lowered(CALLS[call], x)

    assert "double" not in program.kernels[-1].source
    assert differs(program.verify(x), CALLS[call](x)) == []


def test_another_range_is_another_guard():
    function = lambda x, top: np.histogram(x, 4, (0, top))[0]  # noqa: E731
    fused = ow.fuse(function, fullgraph=True)
    for top in (1.0, 2.0, 5):
        program = fused.lower(NORMAL, top, target="sm_80")
        assert differs(program.verify(NORMAL, top), function(NORMAL, top)) == []
