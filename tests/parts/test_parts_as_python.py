"""Functions in parts: names, containers, attributes, texts and exceptions are Python's."""

import copy
from collections import OrderedDict, defaultdict, deque

import numpy as np
import pytest

import opweave as ow
from tests.support.called import called, same

LIBRARY_IN_PARTS = True
pytestmark = pytest.mark.host
RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 8)).astype(np.float32)
V = np.array([3.0, 1.0, 2.0, 5.0])


def renamed(x):
    total = x.sum()
    before = total
    total -= 1
    best = worst = np.sort(x)[0]
    best += x[1]
    best *= 2
    return total, before, best, worst


def elements_of_all(x):
    x[0] += 1
    y = x * 2
    y[1] -= x[0]
    h = np.zeros(3)
    h[0] = x.sum()
    for v in x[1:3].astype(np.int64):
        h[v] += 1
    return y, h


def caught(x):
    try:
        first = float(x[0])
    except TypeError:
        first = -1.0
    try:
        root = np.linalg.cholesky(x.reshape(2, 2) * 0 + 4 * np.eye(2))
    except Exception:
        root = x
    try:
        np.linalg.cholesky(-np.eye(2) + x[0] * 0)
    except np.linalg.LinAlgError:
        first += 10
    try:
        x[17]
    except IndexError:
        first += 100
    return x * first, root


def several_targets(x):
    y = x * 0 + 2
    np.divmod(x, y, out=(y, x))
    return y


def raw_handles(x):
    raw = x.__array__()
    z = x * 2
    raw[0] = 9
    flat = x.flat
    w = x * 3
    flat[1] = 11
    return z, w, x * 1


def text_of_a_view(x):
    y = x * 2
    rows = y[1:]
    text = str(rows) + f"{y!r} {x.shape[0]} {x.sum():.2f}"
    y[1] = 50
    return rows, y, text


def attributes(x):
    y = np.sort(x) * 2
    y.flat = 1
    x.real = 3
    return y, x + 1


def counted(x):
    found = {}
    for k in np.round(x / 2):
        found[float(k)] = found.get(float(k), 0) + 1
    seen = set(x)
    return len(found), len(seen), {1.0: 10}.get(x[1])


def many_containers(x):
    made = OrderedDict(a=np.sort(x), b=[x + 1])
    return made, deque([x * 2]), defaultdict(list, k=[x + 3])


def copies(x):
    y = np.sort(x) * 1
    z, w = copy.copy(y), copy.deepcopy({"a": y})
    same_ = y.astype(y.dtype, copy=False)
    same_[1] = 7
    y[0] = 4
    return y, z, w["a"]


def rounded(x):
    return round(float(x.sum()), 1), round(x.mean(), 2), "ab" * int(x[1])


def shuffled(x):
    rng = np.random.default_rng(0)
    y = x.reshape(2, 2) * 1
    rng.shuffle(y)
    return y, rng.permutation(x)


FOUND = [
    renamed, elements_of_all, caught, several_targets, raw_handles, text_of_a_view, attributes,
    counted, many_containers, copies, rounded, shuffled,
]  # fmt: skip


def plain(item):
    """Containers of kinds that are no trees as those that are."""
    if isinstance(item, dict):
        return {k: plain(v) for k, v in item.items()}
    return [plain(v) for v in item] if isinstance(item, list | tuple | deque) else item


@pytest.mark.parametrize("function", FOUND, ids=lambda f: f.__name__)
def test_what_a_review_found(function):
    fused = ow.fuse(function)
    expected, written = called(function, V)
    for _ in range(2):
        found, after = called(fused, V)
        assert type(found) is type(expected)
        same(plain(found), plain(expected))
        same(after, written)


def test_an_in_place_operator_gives_a_numpy_number_a_new_name():
    def whole(x):
        total = x.sum()
        before = total
        total -= 1
        column = x[0, 0]
        column *= 3
        return total, before, column, x[0, 0]

    fused = ow.fuse(whole, fullgraph=True)
    same(fused(X), whole(X))

    def boxed(x):
        y = np.where(x.sum() > 0, 1.0, 2.0)  # an array without dimensions
        z = y
        y += 1
        return y, z

    same(ow.fuse(boxed, fullgraph=True)(X), boxed(X))
