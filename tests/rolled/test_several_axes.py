"""Reductions along several axes at once, inside of loops that C runs: as kernels reduce them."""

from __future__ import annotations

import linecache

import numpy as np
import pytest

import opweave as ow
from tests.loops.test_loops_in_c import called, is_same, run_in_c

pytestmark = pytest.mark.host

SHAPES = [
    (3, 4, 5, 6), (2, 3, 3, 1), (1, 2, 2, 3), (4, 7, 1, 33), (2, 9, 40, 17), (3, 5, 70, 64),
    (1, 2, 300, 200), (9, 2, 190, 190),
]  # fmt: skip
AXES = ["(0, 1)", "(0, 2)", "(1, 2)", "(2, 1)", "(1, -1)", "(0, -2, 3)", "(1, 2, 3)", "(0, 1, 2)"]

LOOP = """
def reduced(A, B, found):
    for k in range(2):
        found[...] += np.{name}(A * B, axis={axes}{keeps}) * (k + 1)
"""
WHOLE = """
def whole(A, B):
    return np.{name}(A * B, axis={axes}{keeps})
"""


def made(text, name, **given):
    """A function of its text, which has a source."""
    text = text.format(name=name, **given)
    file = f"<{text}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope = {"np": np}
    exec(compile(text, file, "exec"), scope)
    return next(f for n, f in scope.items() if n in ("reduced", "whole"))


def arrays(shape, dtype):
    drawn = np.random.default_rng(sum(shape))
    return [drawn.integers(-9, 9, shape).astype(dtype) / dtype(8) for _ in range(2)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("axes", AXES)
def test_several_axes_are_reduced_as_by_kernels(axes, shape):
    """Random numbers: each in the order that the plan gives to kernels, bit for bit."""
    drawn = np.random.default_rng(sum(shape))
    A, B = (drawn.random(shape, np.float32) for _ in range(2))
    whole = ow.fuse(made(WHOLE, "sum", axes=axes, keeps=""))(A, B)
    loop = made(LOOP, "sum", axes=axes, keeps="")
    ((_, (_, _, found))) = run_in_c(loop, (A, B, np.zeros_like(whole)))
    assert np.array_equal(found, whole * np.float32(1) + whole * np.float32(2))


@pytest.mark.parametrize("keeps", ["", ", keepdims=True"])
@pytest.mark.parametrize("name", ["sum", "max", "min", "prod", "mean", "any", "all"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f4", "f8"])
def test_every_reduction_takes_several_axes(dtype, name, keeps):
    """Eighths, which are added and multiplied exactly: the same as NumPy's."""
    for axes in ("(0, 1)", "(1, 2)", "(0, 2)", "(0, 1, 2)" if keeps else "(-1, 0)"):
        A, B = arrays((3, 2, 6), dtype)
        args = (
            A,
            B,
            np.zeros_like(getattr(np, name)(A, axis=eval(axes), keepdims=bool(keeps)), dtype),
        )
        loop = made(LOOP, name, axes=axes, keeps=keeps)
        assert is_same(called(loop, args), run_in_c(loop, args), exactly=name != "mean")


def integers(A, found):
    for k in range(3):
        found += A.sum(axis=(0, 2)) + (A[:, :, k:] * 2).max(axis=(0, 2)) + A.any(axis=(0, 2))


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8"])
def test_integers_too(dtype):
    A = np.random.default_rng(0).integers(0, 30, (5, 4, 7)).astype(dtype)
    args = A, np.zeros(4, np.uint64 if dtype[0] == "u" else np.int64)
    if dtype == "u2":
        args = A, np.zeros(4)
    assert is_same(called(integers, args), run_in_c(integers, args), exactly=True)


def convolved(x, w, found):
    size, height, width = w.shape[0], x.shape[1] - w.shape[0] + 1, x.shape[2] - w.shape[0] + 1
    for i in range(height):
        for j in range(width):
            part = x[:, i : i + size, j : j + size, :, np.newaxis]
            found[:, i, j, :] = np.sum(part * w[np.newaxis, :, :, :], axis=(1, 2, 3))
    return found


def pooled(x, found):
    for i in range(x.shape[1] // 2):
        for j in range(x.shape[2] // 2):
            found[:, i, j, :] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return found


def smoothed(x, w, found):
    for i in range(found.shape[0]):
        for j in range(found.shape[1]):
            found[i, j] = np.sum(x[i : i + 3, j : j + 3] * w)
    return found


@pytest.mark.parametrize("channels", [(1, 1), (3, 16), (2, 5), (16, 70)], ids=str)
def test_layers_of_networks_as_loops(channels):
    inner, outer = channels
    drawn = np.random.default_rng(1)
    x, w = drawn.random((2, 8, 9, inner)), drawn.random((3, 3, inner, outer))
    for function, args in [
        (convolved, (x, w, np.zeros((2, 6, 7, outer)))),
        (pooled, (x, np.zeros((2, 4, 4, inner)))),
        (smoothed, (x[0, :, :, 0], w[:, :, 0, 0], np.zeros((6, 7)))),
    ]:
        assert is_same(called(function, args), run_in_c(function, args), exactly=False)


def nothing_is_largest(A, found):
    for _ in range(1):
        found[:] = A.max(axis=(0, 1))


def twice_the_same(A, found):
    for _ in range(1):
        found[:] = A.sum(axis=(0, 0))


def beyond(A, found):
    for _ in range(1):
        found[:] = A.sum(axis=(0, 3))


@pytest.mark.parametrize("function", [nothing_is_largest, twice_the_same, beyond])
def test_what_numpy_refuses_is_refused(function):
    args = np.zeros((0, 2, 3)), np.zeros(3)
    assert all(
        issubclass(called(f, args)[0][0], ValueError) for f in (function, ow.fuse(function))
    )
