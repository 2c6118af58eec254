"""Reductions along axes, and of all elements, inside of loops that C runs."""

from __future__ import annotations

import numpy as np
import pytest

import opweave as ow
from opweave._loops.rolled import Rolled
from tests.loops.programs import row, square
from tests.loops.test_loops_in_c import called, is_same, run_in_c

pytestmark = pytest.mark.host


def sums(A, found):
    for k in range(3):
        found[k] = (A + k).sum(axis=0)[k] + A.sum(axis=1)[k] + A.sum(axis=-1, keepdims=True)[k, 0]


def extremes(A, found):
    for k in range(3):
        found[:] += np.max(A, axis=0) - A.min(axis=1) + np.max(A * k, axis=0, keepdims=True)[0]


def products(A, found):
    for k in range(2):
        found[:] = np.prod(A, axis=0) + np.prod(A[k:], axis=1, keepdims=True)[0]


def means(A, found):
    for k in range(2):
        found[:] = A.mean(axis=0) + np.mean(A) + np.mean(A[k]) + A.mean(axis=1, keepdims=True)[k]


def centred(A, found):
    for k in range(2):
        A -= A.mean(axis=0)
        A /= np.sum(A * A, axis=1, keepdims=True)
        found[:] = A[k]


def picks(A, found):
    for k in range(3):
        found[k] = A[k].argmax() + np.argmin(A) + np.argmax(A * (1 - k), axis=0)[k]
        found[k] += A.argmin(axis=1)[-1] + np.argmax(A, axis=-1, keepdims=True)[k, 0]


def outer(A, found):
    for k in range(3):
        A[k:, k:] -= np.outer(A[k:, k], A[k, k:])


def paths(steps, seen, observed, path):
    score = seen[:, observed[0]] * 1.0
    for t in range(1, len(observed)):
        every = score[:, None] + steps
        path[t] = np.argmax(np.max(every, axis=0))
        score = np.max(every, axis=0) + seen[:, observed[t]]
    return score


with_nan = square(5).copy()
with_nan[2, 1] = with_nan[2, 3] = with_nan[4, 1] = np.nan
PROGRAMS = {
    "sums": (sums, (square(5), row(5))),
    "sums of float32": (sums, (square(5, "f4"), row(5, "f4"))),
    "sums of integers": (sums, ((9 * square(5)).astype("i4"), np.zeros(5, "i8"))),
    "sums of columns": (sums, (np.asfortranarray(square(5)), row(5))),
    "extremes": (extremes, (square(5), row(5))),
    "extremes with NaN": (extremes, (with_nan, row(5))),
    "products": (products, (square(5), row(5))),
    "means": (means, (square(5), row(5))),
    "means of float32": (means, (square(5, "f4"), row(5, "f4"))),
    "centred": (centred, (square(5), row(5))),
    "places": (picks, (square(5), row(5))),
    "places with NaN": (picks, (with_nan, row(5))),
    "places of integers": (picks, ((9 * square(5)).astype("i4") % 4, np.zeros(5, "i8"))),
    "outer": (outer, (square(5), row(5))),
    "paths": (paths, (square(4), square(6)[:4], np.array([0, 3, 1, 5]), np.zeros(4, "i8"))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_reduction_in_a_loop_is_numpys(name):
    function, args = PROGRAMS[name]
    expected, found = called(function, args), run_in_c(function, args)
    np.testing.assert_equal(type(found[0]), type(expected[0]))
    for a, b in zip(expected[1], found[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5 if a.dtype == "f4" else 1e-12)


@pytest.mark.parametrize("shape", [(7, 100), (9, 33), (100, 7), (1, 70_001), (3, 66_000)])
@pytest.mark.parametrize("axis", [0, 1])
def test_rows_and_columns_are_summed_as_by_kernels_in_every_bit(shape, axis):
    def total(x, found):
        for _ in range(1):
            found[:] = np.sum(x, axis=0)

    def rows(x, found):
        for _ in range(1):
            found[:] = np.sum(x, axis=1)

    function = (total, rows)[axis]
    x = np.random.default_rng(5).random(shape)
    args = (x, np.zeros(shape[1 - axis]))
    whole = called(ow.fuse(function, fullgraph=True), args)
    assert is_same(whole, run_in_c(function, args), exactly=True)


def max_0(x):
    for _ in range(1):
        t = x.max(axis=0)
    return t


def max_1(x):
    for _ in range(1):
        t = x.max(axis=1)
    return t


def argmin_0(x):
    for _ in range(1):
        t = x.argmin(axis=0)
    return t


def argmin_1(x):
    for _ in range(1):
        t = np.argmin(x, axis=1)
    return t


@pytest.mark.parametrize("function", [max_0, max_1, argmin_0, argmin_1])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_of_no_elements_there_is_none(function, shape):
    args = (np.zeros(shape),)
    expected, found = called(function, args), called(Rolled(function), args)
    if isinstance(expected[0], tuple):
        assert found[0][0] is expected[0][0]
    else:
        assert is_same(expected[0], found[0], exactly=True)


def of_columns(A, m):
    for _ in range(1):
        any_, all_ = A.any(axis=0), np.all(A, axis=0)
        most, sums = A.max(axis=0), A.sum(axis=0)
        some = A[m].sum(axis=0)
    return any_, all_, most, sums, some


def of_planes(A, first, second):
    for _ in range(1):
        first[:] = A.max(axis=0)
        second[:] = A.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("dtype", ["b1", "i1", "u2", "i8", "f4", "f8"])
def test_neighbouring_columns_are_reduced_at_once_each_as_alone(dtype):
    for columns in (7, 8, 65, 600, 2049):
        drawn = np.random.default_rng(columns).integers(0, 3, (37, columns)).astype(dtype)
        args = drawn, drawn[:, 0] > 0
        expected, found = called(of_columns, args), run_in_c(of_columns, args)
        assert is_same(expected, found, exactly=True)


@pytest.mark.parametrize("shape", [(3, 4, 70), (5, 1, 9), (2, 40, 1)])
def test_planes_are_reduced_along_any_axis(shape):
    drawn = np.random.default_rng(0).integers(0, 9, shape).astype(float)
    args = drawn, np.zeros(shape[1:]), np.zeros((shape[0], 1, shape[2]))
    expected, found = called(of_planes, args), run_in_c(of_planes, args)
    assert is_same(expected, found, exactly=True)


def column_sums(A, found):
    for k in range(len(A)):
        found += A.sum(axis=0) * A[k]


def test_what_a_reduction_takes_is_counted_as_many_steps():
    fused = ow.fuse(column_sums)
    args = (np.ones((200, 3)), np.ones(3))
    fused(*args)
    (source,) = fused.explain(*args).sources
    assert "LOOP_TICK(n0 * n1);" in source
    assert "LOOP_TICK(n0 * n0 * n0);" not in source
    assert "LOOP_TICK(n1 * n1 * n1);" not in source
