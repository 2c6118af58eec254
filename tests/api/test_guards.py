"""Guards: what a call asks of the next one, why one missed, and how often."""

from contextlib import suppress

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e

pytestmark = pytest.mark.host
X = np.linspace(-2, 2, 60, dtype=np.float32).reshape(6, 10)


def by_number(x, s):
    return x * 2 if s > 3 else x + s


def by_extent(x):
    return x[::2] if x.shape[0] > 3 and x.shape[1] != 7 else x + 1


def by_truth(x, s):
    if not s:
        return x * 3
    while s > 1:
        x, s = x + s, s / 2
    return x


@pytest.mark.parametrize(("function", "calls", "traces"), [
    (by_number, [(X, s) for s in (0.0, 1.5, 3.0, 3.5, 9.0, -1.0, 100.0)], 2),
    (by_extent, [(X[:n],) for n in (6, 5, 4, 3, 2)], 2),
    (by_extent, [(X[:, :n].copy(),) for n in (10, 9, 8, 7, 6)], 2),
    (by_truth, [(X, s) for s in (0.0, 4.0, 3.5, 0.5, 0.25, -1.0)], 3),
    (lambda x, s: x * max(s, 2.0), [(X, s) for s in (1.0, 1.5, 2.5, 7.0)], 2),
    (lambda x, y: x + y if x.shape == y.shape else x, [(X, X), (X[:3], X[:3]), (X, X[:3])], 2),
])  # fmt: skip
def test_a_branch_is_traced_once_a_side(function, calls, traces):
    fused = ow.fuse(function, fullgraph=True)
    for _ in range(2):
        for args in calls:
            np.testing.assert_allclose(fused(*args), function(*args), rtol=1e-6)

    assert fused._specialised.traces == traces
    assert len(fused.traces) == traces


def test_a_bound_that_limits_nothing_is_left_out():
    x = np.arange(6, dtype=np.uint8)
    fused = ow.fuse(lambda x, low, high: np.clip(x, low, high), fullgraph=True)
    for low, high in ((np.inf, 255), (np.inf, 4), (2.5, 300), (2.5, 3), (-1, 2.5), (1, 0.5)):
        np.testing.assert_array_equal(fused(x, low, high), np.clip(x, low, high))


def test_a_guard_that_cannot_be_computed_is_not_met():
    def function(x, s):
        return x * 2 if s == 0 or 1 / s > 1 else x

    fused = ow.fuse(function, fullgraph=True)
    for s in (0.5, 0.0, 2.0, 0.25):
        np.testing.assert_array_equal(fused(X, s), function(X, s))


@pytest.mark.parametrize(("text", "is_whole"), [
    (lambda x, s: f"{x.shape} {x.shape[0]!r} {[s]} {s:.2f}", True),
    (lambda x, s: repr(s) + str(s) + str((s, {"s": s})), True),
    (lambda x, s: repr(x.size * 2) + str(x.shape[1] / 3), True),
    (lambda x, s: str(x) + repr(x), False),
    (lambda x, s: f"{[x]} {x.T!r}", False),
    (lambda x, s: str(x.max()) + f"{x[x > 0]}" + repr(x[x > 1]), False),
])  # fmt: skip
def test_a_text_is_of_values(text, is_whole):
    function = lambda x, s: (text(x, s), x * s)  # noqa: E731
    fused = ow.fuse(function)
    for x, s in ((X, 2.5), (X[:3], 2.5), (X, 3.5), (X, np.float32(2.5)), (X, 7)):
        (found, y), (expected, z) = fused(x, s), function(x, s)
        assert found == expected
        np.testing.assert_allclose(y, z, rtol=1e-6)

    assert is_whole == (not fused._parts.reasons)


@pytest.mark.parametrize(("function", "calls", "why"), [
    (by_number, [(X, 1.0), (X, 5.0)], "s > 3 was False"),
    (by_extent, [(X,), (X[:2],)], "x.shape[0] > 3 was True"),
    (lambda x, n: x.reshape(n, -1), [(X, 2), (X, 3)], "n is 3, and was 2"),
    (lambda x, k: x if k[0] > 3 else -x, [(X, [1.0]), (X, [5.0])], "k[0] > 3 was False"),
    (lambda x, rows: x if rows > 3 else -x, [(X, 1.0), (X, 5.0)], "rows > 3 was False"),
    (lambda x: x + 1, [(X,), (X[0],)], "x is f32[n], and was f32[n, n]"),
    (lambda x: x + 1, [(X,), (X.astype(np.int8),)], "x is i8[n, n], and was f32[n, n]"),
    (lambda x: x + 1, [(X,), (X[:1],)], "x is f32[1, n]"),
    (lambda x: x + 1, [(X,), (X[:, ::2],)], "in order"),
    (lambda x, s: x + s, [(X, 1), (X, 1.5)], "s is a number of type float"),
    (lambda x, s: x + s[0], [(X, [1.0]), (X, (1.0,))], "packed otherwise"),
])  # fmt: skip
def test_a_miss_says_why(function, calls, why):
    fused = ow.fuse(function)
    for args in calls:
        fused(*args)

    first, second = fused.traces
    assert first == "the first call"
    assert why in second


def loops(x, n):
    for _ in range(n):
        x = np.sin(x) * 2
    return x


def test_beyond_the_limit_calls_run_in_parts_and_one_warning_says_why():
    fused = ow.fuse(loops)
    with ow.config(recompile_limit=3):
        for n in (1, 2, 3):
            fused(X, n)
        with pytest.warns(ow.OpweaveWarning, match="traced 3 times.* n is 4, and was 3") as caught:
            for n in (4, 5, 6, 1, 2):
                np.testing.assert_allclose(fused(X, n), loops(X, n), rtol=1e-5)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert fused._specialised.traces == 3

    fused(X, 4)
    assert fused._specialised.traces == 4


def test_a_function_that_may_not_run_in_parts_refuses_beyond_the_limit():
    fused = ow.fuse(loops, fullgraph=True)
    with ow.config(recompile_limit=1):
        fused(X, 1)
        with pytest.raises(e.RecompileError, match="n is 2, and was 1.*recompile_limit"):
            fused(X, 2)


@pytest.mark.parametrize("value", [0, -1, 2.5, True, "3", None])
def test_the_limit_is_a_count(value):
    with (
        pytest.raises(e.ArgumentError, match="recompile_limit=.*at least 1"),
        ow.config(recompile_limit=value),
    ):
        pass
    assert ow.config.recompile_limit == 64


def test_shapes_of_one_rank_compile_once_per_shape_class():
    fused = ow.fuse(lambda x, w: (np.exp(x - x.max(axis=1, keepdims=True)) * w).sum(axis=1))
    rng = np.random.default_rng(0)
    classes = set()
    for _ in range(300):
        m, n = rng.integers(2, 200), rng.integers(2, 3000)
        x, w = np.ones((m, n), np.float32), np.ones(n, np.float32)
        program = fused.lower(x, w, target="host")
        classes.add(program.source)
    (variants,) = fused._specialised.variants.values()
    (variant,) = variants
    for number, lowered in enumerate(variant.lowered.values()):
        print(f"shape class {number}:", *(dict(kernel.toggles) for kernel in lowered.kernels))

    assert fused._specialised.traces == 1
    assert len(classes) <= len(variant.lowered) <= 16


def where_they_fit(a, b):
    try:
        return a + b
    except ValueError:
        return a * 0 - 1


def where_they_reshape(a, b):
    with suppress(ValueError):
        return a.reshape(2, -1)
    return b * 2


def where_there_is_one(a, b):
    try:
        return a[4]
    except IndexError:
        return b * 2


def where_there_are_some(a, b):
    try:
        return a[b.shape[0] :].max() + b
    except ValueError:
        return b * 2


def where_there_are_some_in_parts(a, b):
    try:
        return np.sort(a)[b.shape[0] :].max() + b
    except ValueError:
        return b * 2


def where_all_are_gone(a, b):
    with suppress(ValueError):
        return np.nanmax(a[:0]) + b
    return b * 2


EXTENTS = ((3, 4), (3, 3), (5, 6), (5, 5), (1, 7), (6, 2), (4, 4))


@pytest.mark.parametrize(
    "function",
    [
        where_they_fit,
        where_they_reshape,
        where_there_is_one,
        where_there_are_some,
        where_there_are_some_in_parts,
        where_all_are_gone,
        lambda a, b: np.array_equiv(a, b),
    ],
)
def test_an_error_of_extents_that_is_caught_is_a_branch_on_them(function):
    fused = ow.fuse(function)
    for n, m in EXTENTS:
        a, b = np.ones(n), np.ones(m)
        np.testing.assert_array_equal(fused(a, b), function(a, b))


def test_a_power_of_integers_is_one_compilation_for_exponents_of_one_sign():
    x = np.linspace(-1, 1, 5)
    fused = ow.fuse(lambda x, b, n: x * b**n, fullgraph=True)

    for b, n in [(2, 1), (3, 5), (0, 0), (0, 2), (-2, 3), (2, 62)]:
        assert fused(x, b, n).tobytes() == (x * b**n).tobytes()
    assert len(fused.traces) == 1
    for b, n in [(2, -1), (-3, -2)]:
        assert fused(x, b, n).tobytes() == (x * b**n).tobytes()
    assert len(fused.traces) == 2
    with pytest.raises(ZeroDivisionError):
        fused(x, 0, -1)
