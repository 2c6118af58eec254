"""What several passes over a row need by a special function is computed once, on the host."""

import re

import numpy as np
import pytest

import opweave as ow


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def two(x):
    e, s = np.exp(x), np.sin(x)
    return e / e.sum(axis=-1, keepdims=True) + s * s.max(axis=-1, keepdims=True)


def plain(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred * (centred * centred).mean(axis=-1, keepdims=True)


def source(function, x, target="host"):
    return ow.fuse(function).lower(x, target=target).source


# function, columns, target; exponentials and sines in the source, arrays that keep some
CASES = [
    (softmax, 1000, "host", 1, 1),
    (two, 1000, "host", 2, 2),
    (plain, 1000, "host", 0, 0),
    (softmax, 10_000, "host", 2, 0),
    (softmax, 1000, "sm_80", 1, 1),
    (softmax, 40_000, "sm_80", 1, 0),
]


@pytest.mark.parametrize(("function", "columns", "target", "calls", "kept"), CASES)
def test_a_special_function_is_computed_once(function, columns, target, calls, kept):
    text = source(function, np.ones((40, columns), np.float32), target)

    assert text.count("= exp(") + text.count("= sin(") == calls
    assert text.count("_kept[") == 3 * kept


@pytest.mark.host
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("function", [softmax, two])
@pytest.mark.parametrize("columns", [1, 7, 64, 65, 1000, 1025])
def test_bits_are_those_of_separate_kernels(function, dtype, columns):
    x = np.random.default_rng(0).standard_normal((9, columns)).astype(dtype)
    fused = ow.fuse(function)

    np.testing.assert_array_equal(fused(x), fused.unfused()(x))


@pytest.mark.host
def test_the_kept_row_is_within_its_bounds():
    x = np.random.default_rng(0).standard_normal((3, 130)).astype(np.float32)

    assert ow.sanitize(ow.fuse(softmax), x, schedules=2).ok


@pytest.mark.host
@pytest.mark.parametrize("lanes", [1, 8, 64])
def test_the_kept_row_follows_a_define_that_someone_edits(lanes):
    x = np.random.default_rng(0).standard_normal((9, 1000)).astype(np.float32)
    program = ow.fuse(softmax).lower(x)
    text = re.sub(r"(#define LANES\s+)\d+", rf"\g<1>{lanes}", program.kernels[0].source)

    np.testing.assert_allclose(program.compile(source=text)(x), softmax(x), rtol=1e-5)
