"""Complex numbers in loops of C: Python's and NumPy's, to the bit, with the errors of each."""

from __future__ import annotations

import math

import numpy as np
import pytest

import opweave as ow
from opweave._loops.rolled import Rolled
from tests.loops.test_loops_in_c import called
from tests.rolled.random_complex import HAS_THESE_RULES, said

pytestmark = [
    pytest.mark.host,
    pytest.mark.filterwarnings("ignore"),
    HAS_THESE_RULES,
]
X, Y = np.linspace(-2, 1, 14), np.linspace(-1.2, 1.2, 9)
Z = (X[:, None] + 1j * Y).ravel()
UNIT = 0.3 - 0.7j


def mandelbrot(xs, ys, most):
    out = np.zeros((len(ys), len(xs)), np.int64)
    for i in range(len(ys)):
        for j in range(len(xs)):
            c = complex(xs[j], ys[i])
            z, n = 0j, 0
            while n < most and abs(z) <= 2:
                z = z * z + c
                n += 1
            out[i, j] = n
    return out


def escape(c, most):
    z = c
    for n in range(most):
        if abs(z) > 2:
            return n, z
        z = z**2 + c
    return most, z


def time_of(c, most):
    z = c
    for n in range(most):
        if abs(z) > 2:
            return n
        z = z**2 + c
    return most


def by_a_function(xs, ys, most):
    out = np.empty((len(xs), len(ys)))
    for i in range(len(xs)):
        for j in range(len(ys)):
            out[i, j] = time_of(xs[i] + 1j * ys[j], most)
    return out


def parts(zs):
    out = np.zeros(len(zs))
    for i, z in enumerate(zs):
        if z.real * z.real + z.imag * z.imag > 1:
            z = -z.conjugate() + z.conj()
        out[i] = z.real - 2 * z.imag
    return out, z


def horner(coefficients, zs):
    out = np.zeros(len(zs), complex)
    for i in range(len(zs)):
        s = 0j  # Python's, then NumPy's
        for k in range(len(coefficients)):
            s = s * zs[i] + coefficients[k]
        out[i] = s
    return out, s


def fourier(x):
    n = len(x)
    out = np.zeros(n, complex)
    for k in range(n):
        s = 0j
        for j in range(n):
            s += x[j] * np.exp(-2j * np.pi * k * j / n)
        out[k] = s
    return out


def newton(z, steps):
    """Python's numbers alone."""
    for _ in range(steps):
        z = z - (z**3 - 1) / (3 * z**2)
    return z


def arithmetic(z, w, n, x):
    for k in range(n):
        z = (z + k) * w - x / (w + 2) + True
        w = -w * 0.5 + (1 - z) / 3 - (+w)
        if z == w or z != z:
            z = 1j
        if not z:
            w = 2 + 0j
    return z, w, z == 1, bool(w)


def powers(zs, w):
    s, out = w, []
    for z in zs:
        out.append(z**1 + z**2 - z**3.0 + z**7)
        s = s / (z + 2) + s**2 - s**5
    return out, s


def functions(zs):
    out = []
    for z in zs:
        out.append(np.exp(z) + np.sqrt(z) - np.log(z + 4) * np.sin(z))
        out.append(np.tanh(z) / (1 + np.arctan(z / 9)) + np.conj(z) - np.square(z))
    return out


def arrays(zs, z):
    for k in range(len(zs)):
        z = z * zs[k]
        a = np.array([z, 1j, k, zs[k]])
        b = np.full(3, 2j)
        b[1:] += a[k % 3] * a[:2]
    return a, b


def kept(zs):
    several, pairs = [], []
    for z in zs:
        several.append(z * 2)
        pairs.append((complex(z), 1j))
    return several, pairs


def chosen(zs, t):
    best = 0j
    for z in zs:
        best = z if abs(z) > abs(best) else best
        w = complex(t) if z.imag > 0 else complex(z.real, t)
    return best, w, abs(best), best.real, best.imag


def narrow(zs):
    out = np.zeros(len(zs), zs.dtype)
    for i in range(len(zs)):
        z = zs[i] * zs[i - 1] + 1
        out[i] = z / (zs[i] + 3)
        out[i] *= abs(z)
    return out, z, abs(z)


def perhaps(zs):
    for z in zs:
        if z.real > 0.5:
            found = z * 1j
    return found


def made(n):
    for k in range(n):
        z = complex(k, -k) + complex(imag=k) + 0j + complex(1.5) + complex(UNIT)
        z *= UNIT + complex(real=k, imag=0.5)
    return z


def assigned(out, z, n):
    for k in range(n):
        out[k] = z
        out[k] += z * k
        out[0] = 1j * k
    return out


def moved(self, n):
    for _ in range(n):
        self.at = self.at * self.by
    return self.at


# function, arguments
PROGRAMS = {
    "mandelbrot": (mandelbrot, (X, Y, 40)),
    "escape": (escape, (0.1 + 0.6j, 60)),
    "escape of NumPy's": (escape, (np.complex128(0.1 + 0.6j), 60)),
    "by a function": (by_a_function, (X, Y, 30)),
    "parts": (parts, (Z,)),
    "horner": (horner, (Z[:7], Z)),
    "horner of float64": (horner, (X, Z)),
    "fourier": (fourier, (X,)),
    "newton": (newton, (2 + 1j, 9)),
    "arithmetic": (arithmetic, (1 + 2j, 0.5 - 1j, 9, 0.25)),
    "arithmetic of infinities": (arithmetic, (complex(math.inf, -0.0), 1j, 3, math.nan)),
    "arithmetic of zeros": (arithmetic, (-0j, complex(-0.0, 0.0), 1, -0.0)),
    "powers": (powers, (Z, 0.5j)),
    "powers of zeros": (powers, (np.array([0j, -0j, complex(-0.0, 0.0), 1j, -2]), -0j)),
    "powers of NumPy's": (powers, (Z, np.complex128(0.5j))),
    "functions": (functions, (Z,)),
    "arrays": (arrays, (Z[:9], 0.5 + 1j)),
    "kept": (kept, (Z[:5],)),
    "chosen": (chosen, (Z, 0.5)),
    "chosen of none": (chosen, (Z[:1] * 0, 0.5)),
    "narrow": (narrow, (Z.astype(np.complex64),)),
    "perhaps": (perhaps, (Z,)),
    "made": (made, (5,)),
    "assigned": (assigned, (np.zeros(6, np.complex64), 1 / 3 + 1j, 5)),
    "assigned to float64's like": (assigned, (np.zeros(6, complex), np.complex64(1 / 3), 5)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_complex_numbers_are_those_of_python_and_numpy(name):
    function, args = PROGRAMS[name]
    rolled = Rolled(function)
    found = [called(rolled, args) for _ in range(2)]

    assert rolled.ran
    assert not [site.left for site in rolled.sites if site.left]
    assert said(found[0]) == said(found[1]) == said(called(function, args))


@pytest.mark.parametrize("kind", [complex, np.complex128, np.complex64])
def test_a_function_gets_and_returns_any(kind):
    def stepped(z, c, n):
        for _ in range(n):
            z = z * c + c
        return z

    fused = ow.fuse(stepped)
    for z, c in [(0.1j, 1 - 0.5j), (0.2 + 1j, -1j), (2, 1j)]:
        given = kind(z), kind(c), 20
        assert said(fused(*given)) == said(stepped(*given))


def quotient(z, w, n):
    for k in range(n):
        z = z / (w - k)
    return z


def size(z, n):
    x = 0.0
    for _ in range(n):
        x = abs(z)
        z = z * 1.1
    return x


def raised(z, n):
    for _ in range(n):
        z = z**4
    return z


# function, arguments of Python's
ERRORS = {
    "quotient": (quotient, (1 + 1j, 3 + 0j, 9)),
    "size": (size, (1e308 + 1e308j, 9)),
    "raised": (raised, (30 + 0j, 24)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_python_raises_is_raised_with_its_words(name):
    function, args = ERRORS[name]
    rolled = Rolled(function)
    kind, text = called(function, args)[0]

    assert issubclass(kind, ArithmeticError)
    for _ in range(2):
        assert called(rolled, args)[0] == (kind, text)
    assert rolled.ran


@pytest.mark.parametrize("name", ["quotient", "size"])
def test_numpy_goes_on(name):
    function, (z, *rest) = ERRORS[name]
    rolled, args = Rolled(function), (np.complex128(z), *rest)

    assert said(called(rolled, args)) == said(called(function, args))
    assert rolled.ran


def an_order(z, n):
    for _ in range(n):
        if z < 1:
            z = z + 1
    return z


def largest(zs, n):
    best = 0j
    for k in range(n):
        best = max(zs[k], best)
    return best


def to_floats(out, z):
    for k in range(len(out)):
        out[k] = z
    return out


def as_float(z, n):
    for _ in range(n):
        z = z + math.sqrt(z)
    return z


def whole_part(z, n):
    for _ in range(n):
        z = z // 2
    return z


def any_power(z, n):
    for k in range(n):
        z = z ** (k + 0.5)
    return z


def by_a_ufunc(z, n):
    for _ in range(n):
        z = np.multiply(z, 0.3 - 0.7j)
    return z


def no_method(z, n):
    for _ in range(n):
        z = z.conj()
    return z


# What Python refuses, or C does not compute: function, arguments.
LEFT = {
    "order": (an_order, (1j, 3)),
    "largest": (largest, ([1j, 2 + 0j, 3j], 3)),
    "floats": (to_floats, (np.zeros(3), 1 + 0j)),
    "float": (as_float, (1 + 0j, 3)),
    "whole part": (whole_part, (1 + 0j, 3)),
    "power": (any_power, (1 + 1j, 3)),
    "ufunc": (by_a_ufunc, (np.complex128(0.1 + 0.7j), 90)),
    "method": (no_method, (1j, 3)),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_not_compiled_is_pythons(name):
    function, args = LEFT[name]
    fused = ow.fuse(function)
    for _ in range(2):
        assert said(called(fused, args)) == said(called(function, args))


class Ring:
    def __init__(self):
        self.at, self.by = 1 + 0j, 0.6 + 0.8j


def test_an_attribute_that_is_complex_is_left_as_python_leaves_it():
    fused = ow.fuse(moved)
    ours, theirs = Ring(), Ring()
    for _ in range(3):
        assert said(fused(ours, 7)) == said(moved(theirs, 7))
    assert said(ours.at) == said(theirs.at)


def test_a_constant_of_the_module_is_asked_for_at_each_call(monkeypatch):
    fused = ow.fuse(made)
    first = fused(5)
    monkeypatch.setitem(made.__globals__, "UNIT", 2 - 0j)
    assert said(fused(5)) == said(made(5)) != said(first)
    monkeypatch.setitem(made.__globals__, "UNIT", complex(2, -0.0))
    assert said(fused(5)) == said(made(5))


@pytest.mark.parametrize("version", [(3, 14), (3, 15)])
def test_where_python_has_other_rules_it_runs_the_loop(monkeypatch, version):
    monkeypatch.setattr("opweave.compiler.lines.complexes.sys.version_info", version)
    function, args = PROGRAMS["newton"]
    rolled = Rolled(function)

    assert said(called(rolled, args)) == said(called(function, args))
    assert not rolled.ran
    assert "3.14" in rolled.sites[0].left
