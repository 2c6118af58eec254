"""The host's float functions stay within the ULP that the operator table states for them."""

import ctypes
import re
import subprocess

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import OPERATORS
from opweave.runtime.binaries import hostcc
from opweave.runtime.binaries.build import HOST_INCLUDE
from opweave.runtime.host.launcher import load_library
from opweave.templates import TEMPLATES
from tests.support.data import applied
from tests.support.fits import (
    FITS,
    QUOTIENTS,
    coefficients,
    power_of_turn,
    quotient,
    text,
    turns,
)
from tests.support.fits import largest_error as error_of_fit

pytestmark = pytest.mark.host
# Where the functions are hard, besides everywhere: (low, high).
RANGES = {
    "exp": (-104, 88.7),
    "exp2": (-150, 128),
    "expm1": (-20, 88.7),
    "log": (0.9, 1.1),
    "log2": (0.9, 1.1),
    "log10": (0.9, 1.1),
    "log1p": (-0.999, 2),
    "sin": (-100, 100),
    "cos": (-100, 100),
    "tan": (-100, 100),
    "arcsin": (-1, 1),
    "arccos": (-1, 1),
    "arctan": (-3, 3),
    "sinh": (-89, 89),
    "cosh": (-89, 89),
    "tanh": (-3, 3),
    "arcsinh": (-2, 2),
    "arccosh": (1, 3),
    "arctanh": (-1, 1),
    "cbrt": (-10, 10),
    "sqrt": (0, 10),
    "rsqrt": (0, 10),
    "degrees": (-10, 10),
    "radians": (-400, 400),
    "erf": (-6, 6),
    "erfc": (-6, 27),
    "tgamma": (-170, 171),
    "lgamma": (-20, 1000),
}
# NumPy has them not, so not in the widest type either.
LIBRARY = ("erf", "erfc", "tgamma", "lgamma")  # fmt: skip
COUNT = 50_000


def arguments(name, dtype):
    """Evenly spaced numbers of the hard range, numbers of every exponent, and multiples of both."""
    rng = np.random.default_rng(0)
    low, high = RANGES[name]
    bits = rng.integers(0, np.iinfo(f"i{dtype.itemsize}").max, COUNT, f"i{dtype.itemsize}")
    with np.errstate(invalid="ignore"):  # signalling NaN
        anywhere = bits.view(dtype) * rng.choice([-1, 1], COUNT).astype(dtype)
    scaled = rng.uniform(low, high, COUNT) * 10.0 ** rng.uniform(-9, 1, COUNT)
    return np.concatenate(
        [anywhere, *(x.astype(dtype) for x in (rng.uniform(low, high, COUNT), scaled))]
    )


@pytest.fixture(scope="module")
def library():
    """The C library's functions of long double, over arrays."""
    each = """long double {0}l(long double);
    void wide_{0}(const double* x, long double* y, long n) {{ while (n--) *y++ = {0}l(*x++); }}"""
    text = "".join(each.format(name) for name in LIBRARY)
    options = ("-x", "c++", "-O1", "-fno-sanitize=all", "-shared", "-fPIC")
    libraries = hostcc.libraries("run")
    return load_library(hostcc.compile_host(f'extern "C" {{ {text} }}', options, (), libraries))


def exact(name, x, library):
    """In the widest type at hand: 11 bits more than float64 where that is x86's."""
    if name in LIBRARY:
        x, made = x.astype(np.float64), np.empty(x.shape, np.longdouble)
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (x, made)]
        getattr(library, f"wide_{name}")(*pointers, ctypes.c_long(x.size))
        return made
    with np.errstate(all="ignore"):
        return OPERATORS[name].numpy(x.astype(np.longdouble))


def largest_error(made, expected, dtype):
    """In ULP, over what neither overflows nor is NaN."""
    with np.errstate(all="ignore"):
        inside = np.abs(expected) <= np.finfo(dtype).max
        unit = np.where(inside, ow.bounds.spacing(expected, dtype), 1)
        return float(np.max(np.where(inside, np.abs(made - expected) / unit, 0)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", RANGES)
def test_a_function_keeps_its_stated_ulp(name, dtype, library):
    x = arguments(name, np.dtype(dtype))
    made = ow.fuse(applied([OPERATORS[name]]))(x)[0]
    expected = exact(name, x, library)
    worst = largest_error(made, expected, dtype)
    stated = OPERATORS[name].ulp.host.of(ow.opcodes.dtypes.of(dtype))
    print(f"{name} {np.dtype(dtype)}: {worst:.4f} ULP of {stated}")

    np.testing.assert_array_equal(np.isnan(expected), np.isnan(made))
    assert worst <= stated


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function", [np.arctan2, np.hypot])
def test_a_function_of_two_keeps_its_stated_ulp(function, dtype):
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(COUNT) * 10.0 ** rng.uniform(-8, 8, COUNT)).astype(dtype)
    near = np.arange(COUNT) % 2 == 0
    y = np.where(near, x * rng.uniform(0.1, 10, COUNT), rng.standard_normal(COUNT)).astype(dtype)
    made = ow.fuse(lambda x, y: function(x, y))(x, y)
    expected = function(x.astype(np.longdouble), y.astype(np.longdouble))
    stated = OPERATORS[function.__name__].ulp.host.of(ow.opcodes.dtypes.of(dtype))

    assert largest_error(made, expected, dtype) <= stated


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("fast", [False, True])
def test_an_angle_of_the_smallest_numbers_is_as_good(dtype, fast):
    least = np.finfo(dtype).smallest_subnormal
    y, x = (a.reshape(-1) * least for a in np.mgrid[0:60, 1:120].astype(dtype))
    made = ow.fuse(np.arctan2, fast=fast)(y, x)
    stated = OPERATORS["arctan2"].ulp.host.of(ow.opcodes.dtypes.of(dtype))

    exact = np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble))
    assert largest_error(made, exact, dtype) <= stated


@pytest.mark.parametrize("name", sorted({*RANGES} - {*LIBRARY}))
def test_relaxed_arithmetic_leaves_the_functions_themselves(name):
    x = arguments(name, np.dtype(np.float64))[::7]
    operator = OPERATORS[name]
    made = ow.fuse(applied([operator]), fast=True)(x)[0]
    with np.errstate(all="ignore"):
        worst = largest_error(made, operator.numpy(x.astype(np.longdouble)), np.float64)

    assert worst <= operator.ulp.host.f64


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_power_keeps_its_stated_ulp(dtype):
    rng = np.random.default_rng(0)
    near_one = 1 + rng.standard_normal(COUNT) * 1e-3
    near, log = rng.uniform(0.6, 1.6, COUNT), rng.uniform(-0.97, 0.97, COUNT)
    x = np.concatenate([10.0 ** rng.uniform(-6, 6, COUNT), near_one, near]).astype(dtype)
    far = log * np.log(float(np.finfo(dtype).max)) / np.log(near)  # near to where powers end
    y = np.concatenate([rng.uniform(-6, 6, COUNT), rng.uniform(-5e4, 5e4, COUNT), far])
    y = y.astype(dtype)
    made = ow.fuse(lambda x, y: x**y)(x, y)
    with np.errstate(all="ignore"):
        expected = x.astype(np.longdouble) ** y.astype(np.longdouble)

    stated = OPERATORS["power"].ulp.host.of(ow.opcodes.dtypes.of(dtype))

    assert largest_error(made, expected, dtype) <= stated


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_whole_quotients_keep_their_stated_ulp(dtype):
    rng = np.random.default_rng(0)
    y = rng.standard_normal(COUNT).astype(np.float32)
    x = (y * 10.0 ** rng.uniform(-1, 9, COUNT)).astype(np.float32)
    quotient, rest = ow.fuse(lambda x, y: (x // y, x % y))(x.astype(dtype), y.astype(dtype))
    wide_x, wide_y = x.astype(np.longdouble), y.astype(np.longdouble)

    assert (
        largest_error(quotient, wide_x // wide_y, dtype) <= OPERATORS["floor_divide"].ulp.host.f32
    )
    assert largest_error(rest, wide_x % wide_y, dtype) <= OPERATORS["remainder"].ulp.host.f32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_remainder_is_exact_whatever_the_quotient(dtype):
    rng, kind = np.random.default_rng(0), np.dtype(dtype)
    most = np.iinfo(f"i{kind.itemsize}").max
    x, y = rng.integers(0, most, (2, COUNT // 10), f"i{kind.itemsize}").view(kind)
    ends = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, np.finfo(kind).max], kind)
    with np.errstate(all="ignore"):
        below, whole = x * (kind.type(1) - np.finfo(kind).eps), np.ceil(np.abs(y) % 9) * x
        first = np.concatenate([x, -x, below, whole, np.repeat(ends, ends.size)])
        second = np.concatenate([y, -y, x, x, np.tile(ends, ends.size)])
        expected = np.fmod(first, second)
    made = ow.fuse(np.fmod)(first, second)

    np.testing.assert_array_equal(np.isnan(expected), np.isnan(made))
    number = ~np.isnan(expected)
    assert expected[number].tobytes() == made[number].tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exponentials_are_rounded_once_where_results_are_subnormal(dtype):
    least = int(np.log2(float(np.finfo(dtype).smallest_subnormal)))
    powers = np.arange(least - 3, least + 60).astype(dtype)
    made = ow.fuse(np.exp2)(powers)

    np.testing.assert_array_equal(made, np.ldexp(dtype(1), powers.astype(np.int32)))


def in_headers(fit, numbers):
    """How often the host's headers have a polynomial of these coefficients."""
    headers = "".join(p.read_text() for p in sorted((TEMPLATES / "host").glob("*.cuh")))
    found = ", ".join(text(fit, c) for c in numbers)
    return re.sub(r"\s+", " ", headers).count(f", {found})")


@pytest.mark.parametrize("name", FITS)
def test_the_header_has_the_coefficients_of_a_fit(name):
    assert in_headers(FITS[name], coefficients(FITS[name])) == 1


@pytest.mark.parametrize("name", QUOTIENTS)
def test_the_header_has_the_coefficients_of_a_quotient_which_keeps_its_error(name):
    fit = QUOTIENTS[name]

    assert [in_headers(fit, numbers) for numbers in quotient(fit)] == [1, 1]
    assert error_of_fit(fit, *quotient(fit)) <= fit.error


def test_the_header_has_the_powers_modulo_a_turn():
    header = (TEMPLATES / "host" / "double_angles.cuh").read_text()
    table = header.split("OW_TURNS[189] = {")[1].split("}")[0]
    found = [float.fromhex(number) for number in table.split(",")]

    assert found == [part for row in turns() for part in row]


@pytest.mark.parametrize("exponent", [26, 52, 78])
def test_the_header_of_floats_has_its_powers_modulo_a_turn(exponent):
    header = (TEMPLATES / "host" / "angles.cuh").read_text()
    found = re.findall(r"(-?0x1\.[0-9a-f]+p[+-]\d+) : ", header)

    assert [n.hex() for n in power_of_turn(exponent)[:2]] == [
        float.fromhex(f).hex() for f in found if float.fromhex(f) in power_of_turn(exponent)
    ]


@pytest.mark.parametrize("name", FITS)
def test_a_fit_keeps_its_error(name):
    assert error_of_fit(FITS[name], coefficients(FITS[name])) <= FITS[name].error


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", RANGES)
def test_a_vector_and_its_rest_have_the_same_bits(name, dtype):
    x = arguments(name, np.dtype(dtype))[:: COUNT // 25][:71]
    fused = ow.fuse(applied([OPERATORS[name]]))
    alone = [fused(x[n : n + 1])[0] for n in range(x.size)]

    np.testing.assert_array_equal(fused(x)[0], np.concatenate(alone))


# Functions of one and of two arguments whose loops the compiler makes vectors of.
VECTORS = {
    "float": "exp exp2 exp10 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh "
             "asinh acosh atanh cbrt erf erfc sqrt rsqrt",
    "double": "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh "
              "acosh atanh cbrt sqrt rsqrt",
}  # fmt: skip
PAIRS = {"float": "atan2 hypot pow fmax fmin", "double": "atan2 hypot pow fmax fmin"}


def test_loops_of_the_functions_become_vectors():
    if not hostcc.is_gcc():
        pytest.skip("asks g++ what it did")
    loops = {}
    for names, operands in ((VECTORS, "x[i]"), (PAIRS, "x[i], x[i + n]")):
        for ctype in names:
            for name in names[ctype].split():
                loops[f"{ctype} {name}"] = (
                    f"void {name}_{ctype}(const {ctype}* __restrict__ x, {ctype}* __restrict__ y, "
                    f"int n) {{ for (int i = 0; i < n; ++i) y[i] = {name}({operands}); }}"
                )
    for ctype in VECTORS:
        loops[f"{ctype} ldexp"] = (
            f"void ldexp_{ctype}(const {ctype}* __restrict__ x, const int* __restrict__ k, "
            f"{ctype}* __restrict__ y, int n) {{ for (int i = 0; i < n; ++i) y[i] = ldexp(x[i], k[i]); }}"
        )
        loops[f"{ctype} frexp"] = (
            f"void frexp_{ctype}(const {ctype}* __restrict__ x, int* __restrict__ k, "
            f"{ctype}* __restrict__ y, int n) {{ for (int i = 0; i < n; ++i) y[i] = frexp(x[i], k + i); }}"
        )
    for ctype in ("complex64", "complex128"):
        for name, sign in {"sum": "+", "product": "*", "quotient": "/"}.items():
            loops[f"{ctype} {name}"] = (
                f"void {name}_{ctype}(const {ctype}* __restrict__ x, {ctype}* __restrict__ y, int n) "
                f"{{ for (int i = 0; i < n; ++i) {{ const {ctype} v = x[i] {sign} x[i + n]; y[i] = v; }} }}"
            )
        loops[f"{ctype} total"] = (
            f"void total_{ctype}(const {ctype}* __restrict__ x, {ctype}* __restrict__ y, int n) "
            f"{{ for (int i = 0; i < 64; ++i) y[i] = chosen(i < n, y[i] + x[i], y[i]); }}"
        )
    source = "\n".join([*loops.values(), '#line 1 "end"', ""])
    include = [*(f"-I{path}" for path in HOST_INCLUDE), "-include", "opweave.cuh"]
    flags = [f for f in hostcc.flags("run", fast=False) if f != "-shared"]
    told = ["-fopt-info-vec-optimized", "-S", "-o", "/dev/null", "-"]
    command = [*hostcc.host_compiler().command, "-DUSE_VECTOR_IO=0", *flags, *include, *told]
    ran = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
    lines = {int(n) for n in re.findall(r"^<stdin>:(\d+):\d+: optimized", ran.stderr, re.M)}

    assert [n for line, n in enumerate(loops, 1) if line not in lines] == []
