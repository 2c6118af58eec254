"""A segment that comes again is known by its mark, and is not cut out."""

import numpy as np
import pytest

import opweave as ow
from opweave._functions.parts import Parts
from opweave.compiler.parts import lazy
from opweave.compiler.parts.marks import Mark

LIBRARY_IN_PARTS = True
pytestmark = pytest.mark.host
X, Y = np.linspace(0.1, 1, 12), np.linspace(1, 2, 12)
M = np.arange(12.0).reshape(3, 4)


@pytest.fixture
def segments(monkeypatch):
    """What ran, by its mark and the shapes of its arrays, each with the graph that it has."""
    known, found = {}, Parts._found

    def noting(self, own, segment, given):
        if isinstance(own, Mark):
            cut = segment()
            shapes = tuple((a.shape, a.strides, a.dtype.str) for a in own.arrays)
            assert all(a is b for a, b in zip(own.arrays, cut.arrays, strict=True))
            assert own.scalars == cut.scalars
            known.setdefault((own.key, shapes), set()).add(cut.key)
        return found(self, own, segment, given)

    monkeypatch.setattr(Parts, "_found", noting)
    return known


def several(x, y, n):
    x = np.sort(x) * 2 + n
    z = np.sort(x - y) / 3
    z[1:] = x[:-1] + z.mean()
    return np.sort(z) * y, np.median(z), z[n:] * 2


def by_columns(m, n):
    m = np.sort(m, axis=0) - m.mean(axis=0)
    return np.sort(m.T) * m.T + n, m.reshape(-1) * 2, m[:, None] * m


def branches(x, n):
    y = x * n + 1
    if y[0] > 2:
        y = y - n
    for _ in range(3):
        y = np.sort(y) * 2.0
    return y.astype(np.float32) + n


CALLS = [
    (several, (X, Y, 1)), (several, (X, Y, 2)), (several, (X, X, 1)),
    (several, (X[:6], Y[:6], 1)), (several, (X[::2], Y[::2], 1)), (by_columns, (M, 2)),
    (by_columns, (M.T, 2)), (by_columns, (M[:1], 2)), (by_columns, (np.float32(M), 2)),
    (branches, (X, 1)), (branches, (X, 9)), (branches, (np.arange(5), 1)), (branches, (M[0], True)),
]  # fmt: skip


@pytest.mark.usefixtures("loops_of_python")
def test_one_mark_has_one_graph(segments):
    fused = {function: ow.fuse(function) for function, _ in CALLS}
    for function, args in CALLS * 2:
        made, expected = fused[function](*args), function(*args)
        pairs = zip(made, expected, strict=True) if type(made) is tuple else [(made, expected)]
        for a, b in pairs:
            np.testing.assert_allclose(a, b, rtol=1e-6)
    assert len(segments) > 20
    assert {len(graphs) for graphs in segments.values()} == {1}


@pytest.mark.usefixtures("loops_of_python")
def test_a_segment_that_comes_again_is_not_cut_out(monkeypatch):
    fused = ow.fuse(branches)
    expected = fused(X, 1)
    cuts = []
    monkeypatch.setattr(lazy, "cut", lambda *args: cuts.append(args))
    for _ in range(3):
        np.testing.assert_array_equal(fused(X, 1), expected)
    assert cuts == []
