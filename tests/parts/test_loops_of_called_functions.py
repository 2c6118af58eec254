"""Loops of functions that a fused function calls: C runs them, as if these were fused."""

import warnings

import numpy as np
import pytest

import opweave as ow
from tests.loops.test_loops_in_c import called

AS_FOR_USERS = True
X = np.random.default_rng(3).random(2000)
pytestmark = pytest.mark.host


def averaged(x, n):
    a, out = 2 / (n + 1), np.empty_like(x)
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = a * x[i] + (1 - a) * out[i - 1]
    return out


def count_down(x, n):
    for i in range(len(x)):
        x[i] = x[i] - 1 if x[i] > 0.5 else x[i]
    return x if n == 0 else count_down(x, n - 1)


class Filter:
    def __init__(self, n):
        self.n = n

    def of(self, x):
        out, total, n = np.zeros(len(x)), 0.0, self.n
        for i in range(len(x)):
            total = 0.9 * total + x[i] / n
            out[i] = total
        return out


def crossing(x):
    fast, slow = averaged(x, 12), averaged(x, 26)
    return fast - slow, averaged(fast - slow, 9)


def inner(x):
    def smooth(y, n=3):
        out = y.copy()
        for i in range(1, len(y)):
            out[i] = (out[i - 1] * n + y[i]) / (n + 1)
        return out

    return smooth(smooth(x)) + 1


def inner_with_own_names(x):
    weight = x[0]

    def scaled(y):
        out = y.copy()
        for i in range(1, len(y)):
            out[i] = out[i - 1] * 0.5 + weight * y[i]
        return out

    return scaled(x)


def method(x):
    return Filter(3).of(x) * 2


def method_of_an_argument(f, x):
    return f.of(x) * 2


def in_a_loop(x):
    for n in (3, 5, 9):
        x = averaged(x, n)
    return x


def raises(x):
    return averaged(x, -1)  # divides by 0


def writes(x):
    count_down(x, 2)
    return x.sum()


RAN = {
    crossing: (X,), inner: (X,), method_of_an_argument: (Filter(4), X), in_a_loop: (X,),
    writes: (X,),
}  # fmt: skip
OTHERS = {inner_with_own_names: (X[:100],), raises: (X,), method: (X,), count_down: (X[:50], 3)}


@pytest.mark.parametrize("function", [*RAN, *OTHERS], ids=lambda f: f.__name__)
def test_a_function_does_what_python_does(function):
    args, fused = {**RAN, **OTHERS}[function], ow.fuse(function)
    for _ in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ow.OpweaveWarning)
            (found, given), (wanted, expected) = (called(f, args) for f in (fused, function))
        if isinstance(wanted, tuple) and isinstance(wanted[0], type):
            assert issubclass(found[0], wanted[0])
            continue
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
        np.testing.assert_array_equal(given[-1], expected[-1])


@pytest.mark.parametrize("function", RAN, ids=lambda f: f.__name__)
def test_loops_of_what_it_calls_run_in_c_and_nothing_is_warned_of(function, recwarn):
    fused = ow.fuse(function)
    for _ in range(2):
        called(fused, RAN[function])
    assert fused.fallback.loops.run_any()
    assert not [w for w in recwarn if issubclass(w.category, ow.OpweaveWarning)]


def test_a_function_that_is_defined_anew_at_each_call_is_compiled_once():
    fused = ow.fuse(inner)
    for _ in range(4):
        fused(X)
    ((_, made),) = fused.fallback.loops.called._known.values()
    assert len(made.fallback.loops.known) == 1


def test_a_function_that_is_replaced_is_the_new_one(monkeypatch):
    fused = ow.fuse(crossing)
    fused(X)
    monkeypatch.setitem(globals(), "averaged", lambda x, n: x * n)
    np.testing.assert_allclose(fused(X)[0], X * 12 - X * 26)


def test_explain_names_the_calls_and_has_the_loops():
    found = ow.fuse(crossing).explain(X)
    assert "3 call(s) are fused themselves" in found.text
    assert "the call of averaged at line" in found.text
    assert len(found.loops) == 1
    assert "a * x[i] + (1 - a) * out[i - 1]" in found.loops[0]


def test_a_whole_function_stays_a_whole():
    def few(x):
        return averaged(x, 3)

    fused = ow.fuse(few)
    fused(np.arange(5.0))
    assert not fused.fallback.loops.run_any()
    assert fused.lower(np.arange(5.0)).lowered.kernels


def test_a_statement_that_is_made_for_a_loop_is_never_taken_for_one_of_the_function():
    """Where a node that was replaced was let go, another one had its identity, by chance."""
    import ast
    import copy
    import gc

    from opweave._loops.rewriting import SiteRewriter
    from opweave.compiler.captures.source import tree_of

    def rows(x):
        for row in x:
            row += 1
        return x.sum()

    tree = tree_of(rows)
    rewriter = SiteRewriter(rows, copy.deepcopy(tree), [], frozenset(), None, None)
    before = {number: type(node) for number, node in rewriter.own.items()}
    rewriter.rewritten()
    gc.collect()
    made = [ast.parse("x = 1") for _ in range(2000)]
    assert not {id(part) for tree in made for part in ast.walk(tree)} & before.keys()
