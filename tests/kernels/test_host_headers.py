"""A kernel for the host includes the special functions where it names one, and only there."""

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.binaries.headers import special_names, with_headers

INCLUDE = '#include "opweave.cuh"\n'
PLAIN = '#include "plain.cuh"\n'


@pytest.mark.parametrize(
    ("line", "includes_all"),
    [
        ("out[0] = x[0] * 2.0f;", False),
        ("out[0] = sqrt(fabs(x[0])) + floor(x[0]);", False),
        ("out[0] = fmod(x[0], fma(x[0], 2.0f, 1.0f));", False),
        ("out[0] = exp(x[0]);", True),
        ("out[0] = atan2f(x[0], 2.0f);", True),
        ("out[0] = tgamma(x[0]);", True),
        ("out[0] = hypot(x[0], 2.0f);", True),
        ("out[0] = ex(x[0]);  // pasted: ex ## p", True),
        ("const complex64 z = w[0] * w[1];", False),
        ("const complex64 z = sign(w[0]);", True),  # which divides by hypot
        ("out[0] = significand(x[0], n);", True),  # which calls frexp
    ],
)
def test_special_functions_are_included_where_one_is_named(line, includes_all):
    source = f"{INCLUDE}{line}\n"
    assert with_headers(source) == (source if includes_all else f"{PLAIN}{line}\n")


def test_every_function_of_the_operators_that_is_special_is_known():
    asked = {"exp", "expm1", "log", "log1p", "tanh", "sin", "tan", "pow", "cbrt", "erf", "erff"}
    assert (
        asked | {"lgamma", "scale_by", "significand", "atan2", "hypotf", "asinh"}
        <= special_names()
    )
    assert not {"sqrt", "sqrtf", "fabs", "fmod", "floor", "load_chunk"} & special_names()


def test_a_users_own_text_is_not_touched():
    source = "__global__ void twice(float* x) { x[0] = 2 * x[0]; }\n"
    assert with_headers(source) == source


@pytest.mark.host
def test_both_headers_give_the_same_bits():
    x = np.linspace(-3, 3, 1001, dtype=np.float32)
    plain = ow.fuse(lambda x: x * 3 + np.sqrt(abs(x)))(x)
    beside = ow.fuse(lambda x: (x * 3 + np.sqrt(abs(x)), np.exp(x)))(x)[0]
    assert np.array_equal(plain, beside)
