"""Writes by arrays of indices into arrays that a function makes: part of a whole, as in NumPy."""

import warnings

import numpy as np
import pytest

import opweave as ow

pytestmark = pytest.mark.host
X = np.random.default_rng(20261129).standard_normal((6, 5))
LABELS = np.array([0, 4, -1, 2, 2, -5])
CUBE = np.arange(24.0).reshape(2, 3, 4)


def one_hot(x, k):
    y = np.zeros((len(k), 5))
    y[np.arange(len(k)), k] = 1
    return y


def gradient(x, k):
    p = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    d = p.copy()
    d[np.arange(x.shape[0]), k] -= 1
    return d / len(k)


def each_rows_own(x, k):
    y = np.empty_like(x)
    y[...] = x
    y[np.arange(6), k] = x[:, 0] * 2
    return y


def of_a_computed_place(x, k):
    y = np.zeros(x.shape, np.int8)
    y[np.arange(len(x)), x.argmax(axis=1)] = 3.9
    return y.sum(axis=0)


def of_rows_of_rows(x, k):
    y = np.zeros((6, 5, 2))
    y[np.arange(6), k] = x[:, :2]
    y[np.arange(6), 1 - k // 3] = x[0, 0]
    return y


def of_some_rows(x, k):
    y = x * 2
    y[np.arange(3), k[:3]] = 7
    return y


def the_last_wins(x, k):
    y = x + 1
    y[[1, 1, 0]] = x[3:6]
    y[0, [2, 2]] = x[:2, 0]
    return y


def added_once(x, k):
    y = x + 1
    y[k, 0] += 1
    return y


def added_each_time(x, k):
    y = np.zeros_like(x)
    np.add.at(y, (k, slice(1, 3)), x[:, :2])
    np.maximum.at(y, 0, 1)
    np.maximum.at(y, [0, 2], x[:2])
    return y * 2


def by_a_mask(x, k):
    y = x.copy()
    y[x > 0] = np.sqrt(x[x > 0])
    y[(x < 0).any(axis=1), 0] = 5
    return y


def into_a_part(x, k):
    y = x.copy()
    inner = y[1:, 1:4]
    inner[[0, 2]] = 1
    y[1:][:, k[:2]] = -1
    return y, inner


def grids(x, k):
    y = x * 1
    y[np.ix_([0, 2], [1, 3])] = 8
    y[np.triu_indices(5)] = 0
    y[..., np.array([[0, 4]])] = x[0, 0]
    return y


def of_other_types(x, k):
    y = (x * 3).astype(np.int32)
    y[k] = x[1]
    y[[0]] = True
    return y


def in_a_loop(x, k):
    y = np.zeros(6)
    for i in range(3):
        y[k[: i + 1]] += x[i, 0]
    return y


def sorted_places(x, k):
    order = np.argsort(k)
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return ranks


def of_values_that_are_broadcast(x, k):
    y = x * 1
    y[np.arange(6), k] = x[:, :1].T
    y[np.arange(6), (k - 1) % 5] = [1, 2, 3, 4, 5, 6]
    return y


def of_a_mask_and_places(x, k):
    y = x[:2] * 1
    y[np.array([False, True]), k[:2]] = 7
    return y


WHOLE = [
    one_hot, gradient, each_rows_own, of_a_computed_place, of_rows_of_rows, of_some_rows,
    the_last_wins, added_once, added_each_time, by_a_mask, into_a_part, grids, of_other_types,
    in_a_loop, sorted_places, of_values_that_are_broadcast, of_a_mask_and_places,
]  # fmt: skip


def same(found, expected):
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for one, other in pairs:
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-14, atol=0)


@pytest.mark.parametrize("function", WHOLE, ids=lambda f: f.__name__)
def test_a_whole_function_writes_as_numpy(function):
    fused = ow.fuse(function, fullgraph=True)
    for x, k in ((X, LABELS), (X[::-1] * 2, LABELS[::-1].astype(np.int16))):
        same(fused(x, k), function(x, k))
    same(fused.reference(X, LABELS), function(X, LABELS))


@pytest.mark.parametrize("function", [one_hot, gradient, each_rows_own, of_rows_of_rows])
def test_an_element_of_each_row_is_a_choice_of_a_kernel(function):
    kernels = ow.fuse(function, fullgraph=True).lower(X, LABELS).kernels

    assert not [kernel for kernel in kernels if kernel.data.template == "library"]


@pytest.mark.parametrize("function", [gradient, each_rows_own, added_once, added_each_time])
@pytest.mark.parametrize("place", [5, 6, -6, -7])
def test_a_place_that_is_not_there_is_numpys_error(function, place):
    places = LABELS.copy()
    places[3] = place
    found = []
    for run in (function, ow.fuse(function)):
        try:
            found.append(run(X, places).shape)
        except IndexError as error:
            found.append(str(error).split(" for ")[0])
    assert found[0] == found[1]


NO_INDICES = {
    "floats": (lambda k: np.arange(6.0), (6, 5)),
    "counted floats": (lambda k: np.arange(len(k), dtype=float), (6, 5)),
    "outside of nothing": (lambda k: np.arange(6), (6, 5, 0)),
    "a text": (lambda k: "index", (6, 5)),
}


@pytest.mark.parametrize("name", NO_INDICES)
def test_what_is_no_index_is_numpys_error(name):
    rows, shape = NO_INDICES[name]

    def function(k):
        y = np.zeros(shape)
        y[rows(k), k + 6] = 7
        return y

    for run in (function, ow.fuse(function)):
        with pytest.raises(IndexError):
            run(LABELS)


@pytest.mark.parametrize("value", [np.ones(3), np.ones((2, 5)), 1j, "a", None, np.ones((7, 5))])
@pytest.mark.parametrize("key", [([0, 1],), (np.arange(6), LABELS)])
def test_what_does_not_fit_is_numpys_to_say(key, value):
    def function(x):
        y = x.copy()
        y[key if len(key) > 1 else key[0]] = value
        return y

    results = []
    for run in (function, ow.fuse(function), ow.fuse(function)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results.append([*map(str, run(X).ravel())])
        except Exception as error:
            results.append(type(error).__mro__[-4:])
    assert results[0] == results[1] == results[2]


def test_on_a_gpu_kernels_alone_write():
    ow.fuse(gradient, fullgraph=True).lower(X, LABELS, target="sm_90a")
    with pytest.raises(ow.errors.UnsupportedError, match=r"use np.where \(.*writes.py:\d+\)"):
        ow.fuse(added_once, fullgraph=True).lower(X, LABELS, target="sm_90a")


def test_explain_names_what_numpy_writes():
    told = str(ow.fuse(added_once).explain(X, LABELS))

    assert "assigned (test_index_writes.py:" in told
