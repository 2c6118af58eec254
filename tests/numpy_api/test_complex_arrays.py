"""Complex arrays: types, layouts, parts, assignments and casts are NumPy's."""

import warnings

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import OPERATORS
from tests.support.data import (
    COMPLEX,
    joined,
    like_numpy,
)

BOTH = ["host", "sm_80"]


def normal(name, *shape, seed=0):
    rng = np.random.default_rng(seed)
    return joined(rng.standard_normal(shape), rng.standard_normal(shape), name)


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


@pytest.mark.host
def test_a_number_for_one_part_has_the_shape_of_the_other():
    join = OPERATORS["join"]
    fused = ow.fuse(lambda x, s: join(s, x).var(axis=1))
    x = np.random.default_rng(0).standard_normal((3, 5))

    np.testing.assert_allclose((-1.0 + 1j * x).var(axis=1), fused(x, -1.0), rtol=1e-12)
    assert fused.check(x, -1.0).ok
