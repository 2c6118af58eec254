"""What is copied in another order is computed in it, where nothing else needs it in its own."""

import numpy as np
import pytest

import opweave as ow

RNG = np.random.default_rng(0)
X, Y = RNG.random((37, 70), np.float32), RNG.random((37, 70), np.float32)
ROW, COLUMN = Y[0], Y[:, :1]
PICTURES = RNG.integers(0, 256, (3, 20, 17, 3)).astype(np.uint8)
CHANNEL = np.array([0.5, 0.25, 2.0], np.float32)


def scaled(x, a):
    return np.ascontiguousarray(((x.astype(np.float32) / 255 - a) / a).transpose(0, 3, 1, 2))


def shifted(x):
    y = np.exp(x)
    return (y + y * 2).T.copy()


def parts(x):
    whole, rest = np.divmod(x, 0.25)
    return (whole - rest).T.copy()


def of_many(x):
    return (x + x[::-1] + x[:, ::-1] + x[::-1, ::-1] + np.flip(x[:, ::-1] * 2)).T.copy()


def in_both_orders(x):
    y = np.exp(x)
    return y.T.copy() + 1, y[0] + 1


# (function, arguments, kernels)
RAISED = {
    "one map": (lambda x: (x * 2).T.copy(), (X,), 1),
    "a row and a column": (lambda x, r, c: (x * r + c).T.copy(), (X, ROW, COLUMN), 1),
    "a map of the row alone": (lambda x, r: (x * (r + 1)).T.copy(), (X, ROW), 1),
    "another array, turned itself": (lambda x, y: (x.T + y.T * 2).T.copy() * 3, (X, Y), 1),
    "channels last to first": (scaled, (PICTURES, CHANNEL), 1),
    "a value used twice": (shifted, (X,), 1),
    "two results": (parts, (X,), 1),
    "a new axis": (lambda x: (x - 1).T[:, None].copy(), (X,), 1),
    "a part of the argument": (lambda x: (x[1:-1, ::2] - 1).T.copy(), (X,), 1),
    "in another shape": (lambda x: (x - 1).T.reshape(-1), (X,), 1),
    "a part of it is computed by itself": (in_both_orders, (X,), 2),
    "in Fortran's order": (lambda x: np.asfortranarray(x - 1), (X,), 1),
}


def one_more(x):
    y = x * 2
    return y.T.copy(), y.sum()


def returned(x):
    y = x * 2
    return y.T.copy(), y


def view_is_returned(x):
    y = (x * 2).T
    return y.copy(), y


def view_is_read(x, y):
    z = np.exp(x).T
    return z.copy(), z @ y


KEPT = {
    "what is made is returned, too": (returned, (X,), 2),
    "what is made is read by others": (one_more, (X,), 2),
    "the view is returned, too": (view_is_returned, (X,), 2),
    "the view is read by others": (view_is_read, (X, Y), 3),
    "a new axis alone": (lambda x: (x * 2)[:, None].copy(), (X,), 1),
    "behind a maximum": (lambda x: (x - x.max(1, keepdims=True)).T.copy(), (X,), 2),
    "behind a scan": (lambda x: np.cumsum(x, axis=1).T.copy(), (X,), 2),
    "of more arrays than have tiles": (of_many, (X,), 2),
    "a place in the array": (lambda x: (x + np.arange(x.shape[1])).T.copy(), (X,), 2),
}


@pytest.mark.host
@pytest.mark.parametrize("name", [*RAISED, *KEPT])
def test_it_has_the_values_and_the_order_of_numpy(name):
    function, arguments, _ = {**RAISED, **KEPT}[name]
    made, expected = ow.fuse(function)(*arguments), function(*arguments)

    pairs = zip(made, expected, strict=True) if isinstance(made, tuple) else [(made, expected)]
    for one, other in pairs:
        np.testing.assert_allclose(one, other, rtol=3e-6)
        assert np.shape(one) == np.shape(other)
        assert np.asarray(one).strides == np.asarray(other).strides


@pytest.mark.parametrize("target", ["host", "sm_75", "sm_80", "sm_90a"])
@pytest.mark.parametrize("name", [*RAISED, *KEPT])
def test_it_takes_as_few_kernels_as_the_table_says(name, target):
    function, arguments, kernels = {**RAISED, **KEPT}[name]

    assert len(ow.fuse(function).lower(*arguments, target=target).kernels) == kernels


@pytest.mark.parametrize("name", KEPT)
def test_what_stays_is_lowered_as_without_the_pass(name, monkeypatch):
    function, arguments, _ = KEPT[name]
    found = ow.fuse(function).lower(*arguments, target="sm_80").source
    monkeypatch.setattr("opweave.compiler.passes.simplify.raise_views", lambda graph: graph)

    assert found == ow.fuse(function).lower(*arguments, target="sm_80").source
