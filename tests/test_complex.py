"""Complex numbers: as NumPy has them, in one kernel, through every way in and out."""

import warnings

import numpy as np
import pytest
from data import (
    COMPLEX,
    TARGETS,
    applied,
    chunks,
    dtype_of,
    hold,
    joined,
    like_numpy,
    maps,
    values,
    wide,
)

import opweave as ow
from opweave.opcodes import OPERATORS, complex_functions, complexes, dtypes

BOTH = ["host", "sm_80"]


def normal(name, *shape, seed=0):
    rng = np.random.default_rng(seed)
    return joined(rng.standard_normal(shape), rng.standard_normal(shape), name)


# What the tables promise


def test_functions_have_a_row_in_both_tables():
    assert frozenset(complex_functions.DEFINITIONS) == complexes.FUNCTIONS


def test_what_numpy_defines_on_complex_numbers_is_compiled():
    ufuncs = {n: u for n, u in vars(np).items() if isinstance(u, np.ufunc) and u.signature is None}
    defined = {u.__name__ for u in ufuncs.values() if any(t[0] == "F" for t in u.types)}
    known = {"divide" if n == "true_divide" else n for n in defined}

    for name in known:
        row = OPERATORS[name]
        assert row.type_rule((dtypes.C64,) * row.arity, ())[0][0] is dtypes.C64


def test_operators_of_reals_refuse_complex_operands_with_what_to_do():
    z = np.ones(3, np.complex64)
    with pytest.raises(ow.errors.DTypeError, match=r"rsqrt: no meaning for complex64; take .real"):
        ow.fuse(ow.rsqrt).lower(z)


# Kernels

ONE_KERNEL = {
    "z * z + c": lambda z, c: z * z + c,
    "Mandelbrot step": lambda z, c: np.where(abs(z) <= 2, z * z + c, z),
    "Julia count": lambda z, c: (abs(z * z + c) < 2).sum(),
    "power spectrum": lambda z, w: np.abs(z * np.hanning(30)) ** 2,
    "rotation": lambda z, w: z * np.exp(1j * w.real),
    "polar": lambda z, w: (np.abs(z), np.angle(z), z.conj() * w),
    "rows": lambda z, w: z / np.sqrt((z.real**2 + z.imag**2).sum(-1, keepdims=True)) * w,
    "statistics": lambda z, w: (z.mean(-1), z.var(-1), z.std(-1)),
    "product": lambda z, w: np.tanh(z @ w.T + 1j),
    "arcs": lambda z, w: np.arcsin(z) + np.arccosh(w) * 1j,
    "arctangents": lambda z, w: np.arctan(z) - np.arctanh(w),
}


@pytest.mark.host
@pytest.mark.parametrize("target", BOTH)
@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("case", ONE_KERNEL)
def test_complex_functions_are_one_kernel_within_their_bounds(case, name, target):
    function = ONE_KERNEL[case]
    z, w = normal(name, 20, 30), normal(name, 20, 30, seed=1)
    program = ow.fuse(function).lower(z, w, target=target)
    made, expected = program(z, w), function(z, w)

    assert len(program.kernels) == 1
    report = program.check(z, w)
    assert report.ok
    assert all(row.undecided <= row.elements // 50 for row in report.rows)
    hold(program, (z, w), function(*wide(z, w)), made)
    every = zip(*(r if isinstance(r, tuple) else (r,) for r in (made, expected)), strict=True)
    assert all((a.dtype, a.shape) == (b.dtype, b.shape) for a, b in every)


@pytest.mark.parametrize(("name", "width"), [("complex64", 2), ("complex128", 1)])
def test_maps_take_16_bytes_an_access(name, width):
    z = np.ones(1024, dtype_of(name))
    source = ow.fuse(lambda z, c: z * z + c).lower(z, z, target="sm_90a").source

    assert "#define USE_VECTOR_IO     1" in source
    assert f"#define VECTOR            {width}" in source


@pytest.mark.nvrtc
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("case", ONE_KERNEL)
def test_kernels_compile_for_every_architecture_without_spills(case, name, target):
    function = ONE_KERNEL[case]
    z, w = normal(name, 20, 30), normal(name, 20, 30, seed=1)
    (kernel,) = ow.fuse(function).lower(z, w, target=target).kernels

    assert kernel.spill_bytes == 0


@pytest.mark.nvrtc
def test_a_map_of_complex128_loads_and_stores_128_bits():
    z = np.ones(4096, np.complex128)
    (kernel,) = ow.fuse(lambda z, c: z * z + c).lower(z, z, target="sm_90a").kernels

    assert kernel.sass.count("LDG.E.128") >= 2
    assert kernel.sass.count("STG.E.128") >= 1


# Types

WEAK = {
    "complex number": lambda z, x: z * 2j + x * 1j,
    "real number": lambda z, x: (z * 2.5, z + 1, 3 / z, z - True),
    "real array": lambda z, x: (z * x, x / z, x - z, x * 1j),
    "comparison": lambda z, x: (z == x, z != 1, z < x, z >= 0.5j, np.maximum(z, x)),
    "where": lambda z, x: (np.where(x > 0, z, x), np.where(x > 0, 1j, x), np.where(x > 0, z, 0)),
    "creation": lambda z, x: (
        np.zeros_like(z),
        np.full_like(z, 2 - 1j),
        np.ones(x.shape, complex),
    ),
    "parts": lambda z, x: (z.real, z.imag, np.real(z), np.imag(x), x.real, np.conj(z), x.conj()),
    "tests": lambda z, x: (np.isreal(z), np.iscomplex(z), np.isreal(x), np.iscomplex(x)),
    "angles": lambda z, x: (np.angle(z), np.angle(z, deg=True), np.angle(x)),
    "casts": lambda z, x: (z.astype(np.complex128), x.astype(np.complex64), z.astype(bool)),
    "powers": lambda z, x: (z**2, z**0.5, z**-1, z**3, z**-5, z**0, z**1.5, z**x, x ** (1 + 1j)),
    "reductions": lambda z, x: (z.sum(), z.prod(), z.mean(), z.max(), z.min(), z.any(), z.all()),
    "norms": lambda z, x: (np.linalg.norm(z), np.vdot(z, z), np.count_nonzero(z), z.argmax()),
    "views": lambda z, x: (
        z[::2] * 1j,
        z[::-1],
        z[[0, -1]],
        np.roll(z, 2),
        np.concatenate([z, x]),
    ),
    "contractions": lambda z, x: (np.vecdot(z, x), np.outer(z, x), np.einsum("i,i->", z, x)),
}


@pytest.mark.host
@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("case", WEAK)
def test_types_shapes_and_values_are_numpys(case, name):
    z = normal(name, 12)
    x = np.random.default_rng(2).standard_normal(12).astype(z.real.dtype)
    fused = ow.fuse(WEAK[case], fullgraph=True)
    made, expected = fused(z, x), WEAK[case](z, x)

    assert fused.check(z, x).ok
    for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in (made, expected)), strict=True):
        if case != "norms":  # a count and a place are Python's and NumPy's own numbers
            assert (type(a), a.dtype, a.shape) == (type(b), b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=2e-5 if name == "complex64" else 1e-13)


@pytest.mark.host
@pytest.mark.parametrize("number", [2 - 1j, 1.5, 3, np.complex64(1j), np.complex128(2j), True])
def test_numbers_are_parameters_of_their_own_type(number):
    for dtype in (np.float32, np.float64, np.complex64, np.complex128):
        x = np.arange(1, 6).astype(dtype)
        fused = ow.fuse(lambda x, s: x * s + s)
        made, expected = fused(x, number), x * number + number

        assert made.dtype == expected.dtype
        np.testing.assert_allclose(made, expected, rtol=1e-6)
        assert fused.check(x, number).ok


@pytest.mark.host
def test_a_number_that_changes_compiles_nothing_anew():
    fused = ow.fuse(lambda x, s: x * s.conjugate() + s.real * abs(s))
    x = np.ones(4, np.complex64)
    for s in (1 + 2j, 3 - 1j, complex(np.inf, 0)):
        np.testing.assert_array_equal(fused(x, s), x * s.conjugate() + s.real * abs(s))

    assert len(fused.traces) == 1


@pytest.mark.host
def test_numbers_in_the_source_keep_their_signed_zeros():
    x = np.ones(3, np.complex64)
    fused = ow.fuse(lambda x: (x + complex(-0.0, -0.0), x * complex(np.inf, np.nan)))
    expected = x + complex(-0.0, -0.0)

    np.testing.assert_array_equal(np.signbit(expected.imag), np.signbit(fused(x)[0].imag))
    assert "complex64{infinity<float>(), nan<float>()}" in fused.lower(x).source


# Arrays

LAYOUTS = {
    "reversed": lambda z: z[::-1, ::-1],
    "transposed": lambda z: z.T,
    "every second": lambda z: z[:, ::2],
    "broadcast": lambda z: np.broadcast_to(z[:1], z.shape),
    "offset": lambda z: z[:, 1:],
}


@pytest.mark.host
@pytest.mark.parametrize("target", BOTH)
@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout_serves(layout, name, target):
    z = LAYOUTS[layout](normal(name, 24, 33))
    like_numpy(lambda z: z * (1 + 2j) - z.imag, z, target=target)


@pytest.mark.host
def test_an_array_may_start_between_two_numbers_of_its_size():
    floats = np.arange(21, dtype=np.float32)
    z = floats[1:].view(np.complex64)

    np.testing.assert_array_equal(z * z, ow.fuse(lambda z: z * z)(z))


@pytest.mark.host
def test_out_takes_complex_arrays_and_refuses_reals():
    z = normal("complex64", 9)
    out = np.empty_like(z)
    made = ow.fuse(lambda z: z * 1j)(z, out=out)

    assert made is out
    np.testing.assert_array_equal(z * 1j, out)
    with pytest.raises(ow.errors.OpweaveError):
        ow.fuse(lambda z: z * 1j)(z, out=np.empty(9, np.float32))


def _written_part(z):
    w = z * 2
    w.real[1:] = 0
    w.imag *= 3
    return w


def _written_whole(z):
    w = z * 2
    part = w.real
    w *= 1j
    return part + 1, w


def _argument(z):
    z.imag = 5
    return z * 1


@pytest.mark.host
@pytest.mark.parametrize("function", [_written_part, _written_whole, _argument])
def test_parts_share_the_memory_of_their_array(function):
    z = normal("complex64", 6)
    ours, numpys = z.copy(), z.copy()
    made, expected = ow.fuse(function)(ours), function(numpys)

    np.testing.assert_array_equal(ours, numpys)
    for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in (made, expected)), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.host
def test_elements_and_masks_are_assigned_complex_numbers():
    def function(z, x):
        w = z.copy()
        w[2:4] = 1j
        w[w.real > 1] = 0
        w[5] = x[5]
        return w

    z, x = normal("complex64", 8), np.arange(8, dtype=np.float32)
    np.testing.assert_array_equal(function(z, x), ow.fuse(function, fullgraph=True)(z, x))


@pytest.mark.host
def test_a_complex_number_for_real_elements_is_numpys_error():
    def function(x):
        y = x * 2
        y[0] = 1j
        return y

    with pytest.raises(TypeError):
        function(np.ones(3))
    with pytest.raises(TypeError):
        ow.fuse(function)(np.ones(3))


def test_in_place_operators_do_not_lose_an_imaginary_part():
    def function(x):
        y = x * 2
        y += 1j
        return y

    with pytest.raises(TypeError):
        ow.fuse(function)(np.ones(3))


@pytest.mark.host
def test_a_cast_to_reals_keeps_the_real_part_and_warns_of_nothing():
    z = normal("complex128", 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = ow.fuse(lambda z: z.astype(np.float32))(z)

    np.testing.assert_array_equal(z.real.astype(np.float32), made)


@pytest.mark.host
def test_what_runs_in_parts_gives_complex_arrays_to_kernels():
    def spectrum(x, window):
        f = np.fft.rfft(x * window)
        return np.abs(f) ** 2, f.real * f.imag

    x, window = np.random.default_rng(0).random((2, 64))
    for a, b in zip(ow.fuse(spectrum)(x, window), spectrum(x, window), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.host
def test_a_users_operator_may_be_complex():
    step = ow.operator("julia_step", "z * z + c", "same", lambda z, c: z * z + c, ulp=2)
    z = normal("complex64", 40)
    made = ow.fuse(lambda z: step(z, -0.4 + 0.6j))(z)

    np.testing.assert_allclose(made, z * z + (-0.4 + 0.6j), rtol=1e-5)


# Special values


def _classes(part):
    return np.select([np.isnan(part), np.isinf(part), part == 0], [9, 2, 1], 0)


@pytest.mark.host
@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("row", sorted(complexes.FUNCTIONS - {"power", "float_power"}))
def test_functions_have_the_special_values_of_annex_g(row, name):
    parts = [0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan]
    z = joined(*(p.reshape(-1) for p in np.meshgrid(parts, parts)), name)
    function = getattr(np, row)
    with np.errstate(all="ignore"):
        expected = function(z)
    made = ow.fuse(lambda z: function(z))(z)

    for other, a, b in (("imag", made.real, expected.real), ("real", made.imag, expected.imag)):
        np.testing.assert_array_equal(_classes(a), _classes(b))
        # annex G leaves the sign of a zero or an infinity open beside NaN or an infinity
        settled = np.isfinite(getattr(expected, other)) & np.isfinite(z) & ~np.isnan(b)
        np.testing.assert_array_equal(np.signbit(a)[settled], np.signbit(b)[settled])


@pytest.mark.host
@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("reduction", ["max", "min", "argmax", "argmin"])
def test_extremes_are_lexicographic_and_nan_in_either_part_wins(reduction, name):
    z = joined([1, 1, 1, -1, 0], [2, 3, -1, 9, np.inf], name)
    lost = joined([1, np.nan, 3], [2, 0, 1], name)
    other = joined([1, 5, 3], [2, np.nan, 1], name)
    for array in (z, lost, other):
        expected = getattr(array, reduction)()
        made = ow.fuse(lambda z: getattr(z, reduction)())(array)
        np.testing.assert_array_equal(expected, made)


@pytest.mark.host
@pytest.mark.parametrize("name", COMPLEX)
def test_division_by_zero_and_of_infinities_is_numpys(name):
    parts = [0.0, -0.0, 1.0, np.inf, -np.inf, np.nan]
    z = joined(*(p.reshape(-1) for p in np.meshgrid(parts, parts)), name)
    a, b = (p.reshape(-1) for p in np.meshgrid(z, z))
    with np.errstate(all="ignore"):
        expected = a / b
    made = ow.fuse(lambda a, b: a / b)(a, b)

    np.testing.assert_array_equal(expected, made)
    number = ~np.isnan(expected.imag)
    np.testing.assert_array_equal(np.signbit(expected.imag[number]), np.signbit(made.imag[number]))


# Bounds


def test_a_bound_has_an_error_for_each_part():
    z = np.array([1 + 1e-9j, 2], np.complex128)
    (bound,) = ow.bounds.derive(ow.fuse(lambda z: z * z), z)
    re, im = bound.parts

    assert bound.error.dtype.kind == "c"
    assert re.error[0] < 2**-51
    assert im.error[0] < 2**-80
    assert bound.ulp.shape == (2,)


@pytest.mark.host
def test_a_wrong_part_is_found():
    z = normal("complex64", 50)
    (bound,) = ow.bounds.derive(ow.fuse(lambda z: np.exp(z) / z), z)
    good = np.exp(z.astype(np.complex128)) / z
    bad = good.copy()
    bad.imag[7] *= 1 + 1e-4

    assert ow.bounds.judge(bound, good.astype(np.complex64)).ok
    judged = ow.bounds.judge(bound, bad)
    assert (judged.wrong, judged.worst) == (1, (7,))


@pytest.mark.host
@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("row", sorted(complexes.FUNCTIONS - {"float_power"}))
def test_functions_keep_their_bounds_and_numpys_wide_values_do_too(row, name):
    function = getattr(np, row)
    z = values(name, 4000)[500:] / 2
    args = (z, values(name, 4000, seed=1)[500:] / 4) if row == "power" else (z,)
    fused = ow.fuse(lambda *args: function(*args))
    with np.errstate(all="ignore"):
        wider = function(*(a.astype(np.clongdouble) for a in args))

    assert fused.check(*args).ok
    (bound,) = ow.bounds.derive(fused, *args)
    # the wide function has an error of its own, far below a ULP of the dtype
    judged = ow.bounds.judge(bound, wider)
    assert judged.ok, judged
    assert bound.undecided < z.size // 100


def _sizes(rng, low, high, count=2000):
    """Numbers of either sign between these powers of two, as many of each size."""
    return 2.0 ** rng.uniform(low, high, count) * rng.choice([-1, 1], count)


def _places(name, seed=0):
    """Numbers of all sizes, about 1, i and the circle through them, and on the branch cuts."""
    rng, limits = np.random.default_rng(seed), np.finfo(dtype_of(name))
    low, high = (float(np.log2(n)) for n in (limits.smallest_subnormal, limits.max))
    sign, zero = rng.choice([-1.0, 1.0], 2000), rng.choice([-0.0, 0.0], 2000)
    every, middle, huge = (low, high), (-5, 5), (high - 5, high)
    sides = [
        *(
            (_sizes(rng, *a), _sizes(rng, *b))
            for a, b in ((every, every), (huge, huge), (huge, every))
        ),
        (sign + _sizes(rng, -60, -1), _sizes(rng, low, -1)),
        (sign, _sizes(rng, *every)),
        (np.sqrt(rng.random(2000)) * sign, np.sqrt(rng.random(2000))),
        *((_sizes(rng, *some), zero) for some in (every, middle)),
    ]
    angle = rng.uniform(0, 2 * np.pi, 2000)
    sides.append((np.cos(angle) + _sizes(rng, -40, -20), np.sin(angle)))
    re, im = (np.concatenate([side[part] for side in sides]) for part in (0, 1))
    return np.concatenate([joined(re, im, name), joined(im, re, name)])


INVERSES = ["arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"]


@pytest.mark.host
@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("row", INVERSES)
def test_either_part_of_an_inverse_is_right_to_a_few_ulp_everywhere(row, name):
    function, z = getattr(np, row), _places(name)
    limits = np.finfo(dtype_of(name))
    made = ow.fuse(lambda z: function(z))(z)
    with np.errstate(all="ignore"):
        exact = function(z.astype(np.clongdouble))

    for got, want in ((made.real, exact.real), (made.imag, exact.imag)):
        place = np.frexp(np.maximum(np.abs(want), limits.smallest_normal))[1]
        unit = np.ldexp(np.longdouble(1), place - 1 - limits.nmant)
        assert np.max(np.abs(got - want) / unit) < 5
        np.testing.assert_array_equal(np.signbit(want), np.signbit(got))


@pytest.mark.host
@pytest.mark.parametrize("executor", ["host", "cuda"])
@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("row", INVERSES)
def test_bounds_of_inverses_are_a_few_ulp_everywhere(row, name, executor):
    function, z = getattr(np, row), _places(name)
    (bound,) = ow.bounds.derive(ow.fuse(lambda z: function(z)), z, executor=executor)
    with np.errstate(all="ignore"):
        exact = function(z.astype(np.clongdouble))

    assert ow.bounds.judge(bound, exact).ok
    assert bound.undecided <= z.size // 500  # beside 1, with an imaginary part next to nothing
    assert np.mean(bound.ulp < 30) > 0.99


@pytest.mark.host
@pytest.mark.parametrize("name", COMPLEX)
def test_products_of_many_keep_a_bound_by_magnitude(name):
    z = np.exp(1j * np.random.default_rng(0).random((5, 400))).astype(dtype_of(name))
    fused = ow.fuse(lambda z: z.prod(axis=1))
    (bound,) = ow.bounds.derive(fused, z)

    assert fused.check(z).ok
    assert bound.undecided == 0
    exact = z.astype(np.clongdouble).prod(axis=1)
    assert ow.bounds.judge(bound, exact).ok


@pytest.mark.host
def test_the_extreme_of_what_has_an_error_is_decided_where_it_is_far_ahead():
    z = joined([1, 5, 2], [3, -1, 7], "complex64")
    (far,) = ow.bounds.derive(ow.fuse(lambda z: (z * 3.3).max()), z)
    tied = joined([1, 1, 1], [3, -1, 7], "complex64")
    (near,) = ow.bounds.derive(ow.fuse(lambda z: (z * 3.3).max()), tied)

    assert np.all(far.ulp < 4)
    assert near.error.imag > 20  # any of them may be the largest


# Products


@pytest.mark.host
@pytest.mark.parametrize("target", BOTH)
@pytest.mark.parametrize("shape", [(5, 7, 3), (33, 40, 65), (64, 64, 64), (130, 17, 200)])
@pytest.mark.parametrize("name", COMPLEX)
def test_products_keep_their_bounds_and_their_bits(name, shape, target):
    m, k, n = shape
    a, b = normal(name, m, k), normal(name, k, n, seed=1)
    like_numpy(lambda a, b: a @ b * 1j, a, b, target=target)


@pytest.mark.host
def test_tiles_change_no_bit_of_a_product():
    a, b = normal("complex64", 40, 50), normal("complex64", 50, 60, seed=1)
    fused = ow.fuse(lambda a, b: a @ b)
    expected = fused.lower(a, b, target="sm_80")(a, b)
    for toggles in ({"USE_SHARED_MEMORY": 0}, {"BLOCK_K": 8}, {"USE_PADDED_TILE": 0}):
        made = fused.with_toggles(**toggles).lower(a, b, target="sm_80")(a, b)
        assert made.tobytes() == expected.tobytes()


@pytest.mark.host
def test_no_schedule_changes_a_bit_of_a_complex_sum():
    z = normal("complex128", 1, 70000)
    program = ow.fuse(lambda z: (z.sum(axis=1), abs(z).max())).lower(z, target="sm_90a")
    runs = [program.verify(z, schedule=s) for s in (0, 1, 12345)]

    assert len({tuple(r.tobytes() for r in run) for run in runs}) == 1
    assert program.check(z).ok


def test_every_kind_of_operator_that_takes_them_is_known_to_the_table():
    named = set(complexes.FRAGMENTS) - set(OPERATORS)

    assert not named


@pytest.mark.host
def test_a_number_for_one_part_has_the_shape_of_the_other():
    join = OPERATORS["join"]
    fused = ow.fuse(lambda x, s: join(s, x).var(axis=1))
    x = np.random.default_rng(0).standard_normal((3, 5))

    np.testing.assert_allclose((-1.0 + 1j * x).var(axis=1), fused(x, -1.0), rtol=1e-12)
    assert fused.check(x, -1.0).ok


PARTS_THAT_CANCEL = {
    "products": lambda z, w: (z * z * z, z * w.conj(), (z * w + 1j) * z - w, z * (2 - 1j) * w),
    "quotients": lambda z, w: (z * w / (z + w), 1 / (z * w), (z / w) / (w * w)),
    "parts": lambda z, w: z.real * w - z.imag * (w * 1j),
}


@pytest.mark.host
@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("case", PARTS_THAT_CANCEL)
def test_no_compiler_joins_a_product_with_an_addition(case, name):
    function = PARTS_THAT_CANCEL[case]
    z, w = normal(name, 4099), normal(name, 4099, seed=1)
    fused = ow.fuse(function)
    runs = [fused(z, w), fused.unfused()(z, w), fused.lower(z, w, target="sm_80")(z, w)]
    runs = [r if isinstance(r, tuple) else (r,) for r in runs]

    for results in zip(*runs, strict=True):
        assert len({r.tobytes() for r in results}) == 1


EXACT = set(complexes.FRAGMENTS) | {"real", "imag", "conjugate"}


@pytest.mark.host
@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("arity", [1, 2])
def test_arithmetic_has_numpys_special_values(arity, name):
    parts = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan]
    z = joined(*(p.reshape(-1) for p in np.meshgrid(parts, parts)), name)
    args = [p.reshape(-1).copy() for p in np.meshgrid(*[z] * arity)]
    rows = [r for r in maps(arity, *[name] * arity) if r.name in EXACT]
    for some in chunks(rows):
        made = ow.fuse(applied(some))(*args)
        for row, found in zip(some, made, strict=True):
            with np.errstate(all="ignore"):
                expected = row.numpy(*args)
            for part in ("real", "imag"):
                want, got = getattr(expected, part), getattr(found, part)
                np.testing.assert_array_equal(_classes(want), _classes(got), err_msg=row.name)
                number = want == want
                signs = np.signbit(want * 1.0)[number], np.signbit(got * 1.0)[number]
                np.testing.assert_array_equal(*signs, err_msg=row.name)


@pytest.mark.host
def test_the_root_of_a_negative_number_is_complex_and_that_of_another_is_not():
    function = lambda x, s, p: x * s**p + x.size**0.5  # noqa: E731
    fused = ow.fuse(function)
    x = np.arange(1, 4, dtype=np.float32)
    for s, p in ((4.0, 0.5), (-2.0, 0.5), (-2.0, 3.0), (9.0, 0.5), (-1, 1.5), (5.0, -2)):
        made, expected = fused(x, s, p), function(x, s, p)
        assert made.dtype == expected.dtype
        np.testing.assert_allclose(made, expected, rtol=1e-6)


@pytest.mark.host
@pytest.mark.parametrize("function", [
    lambda z: np.full((2, 1), 2.5, np.float32) ** z, lambda z: z ** np.full(3, 2),
    lambda z: np.full(3, 1 + 1j) ** z, lambda z: np.zeros(3) ** (z + 3), lambda z: (z * 0) ** (z + 3),
])  # fmt: skip
def test_powers_of_arrays_that_the_function_makes(function):
    z = normal("complex128", 2, 3)

    np.testing.assert_allclose(ow.fuse(function)(z), function(z), rtol=1e-13)


@pytest.mark.host
def test_a_product_of_which_a_part_overflows_has_no_other_part():
    x, w = np.full((2, 20), 1 + 1e308j), np.ones((20, 3), np.complex128)
    x[1] = 1 + 1j
    fused = ow.fuse(lambda x, w: x @ w)
    (bound,) = ow.bounds.derive(fused, x, w)

    assert np.isinf(bound.error.real).all(axis=1).tolist() == [True, False]
    assert "agrees" in str(ow.bounds.judge(bound, fused(x, w)))
