"""Fragments in the middle of a function, and the search for the first operator that is wrong."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e

LIBRARY_IN_PARTS = True
X = np.random.default_rng(0).standard_normal((50, 70)).astype(np.float32)


def leaky(x, a):
    return np.where(x > 0, x, a * x)


def fragments(x, s):
    y = ow.cuda("x > 0 ? x : a * x", x * 2, s, numpy=leaky, name="leaky")
    z = ow.cuda("if (x > 0) return x; return (T)0;", y, numpy=lambda x: np.maximum(x, 0))
    z = ow.cuda("if (x < 1) return x; return (T)1;", z, numpy=lambda x: np.minimum(x, 1))
    return ow.cuda("x * x + y", z, x, numpy=lambda x, y: x * x + y, ulp=1.5).sum(axis=1)


@pytest.mark.host
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_fragments_fuse_with_their_neighbours_and_are_checked(target):
    fused = ow.fuse(fragments, fullgraph=True)
    program = fused.lower(X, 0.25, target=target)

    assert len(program.kernels) == 1
    assert "leaky_" in program.source
    assert program.check(X, 0.25).ok
    np.testing.assert_allclose(program(X, 0.25), fragments(X, 0.25), rtol=1e-5)


@pytest.mark.host
def test_fragments_in_parts_and_outside_of_functions():
    def function(x):
        return np.sort(ow.cuda("x + 1", x, numpy=lambda x: x + 1), axis=0) * 2

    np.testing.assert_array_equal(ow.fuse(function)(X), function(X))
    assert ow.cuda("x + 1", 2.0, numpy=lambda x: x + 1) == 3.0


@pytest.mark.host
def test_one_fragment_of_two_meanings_is_two_operators():
    def two_types(x):
        number = ow.cuda("x > 0", x, numpy=lambda x: (x > 0).astype(x.dtype))
        truth = ow.cuda("x > 0", x, numpy=lambda x: x > 0, type_rule="bool")
        return number.sum(), truth.sum(), np.where(truth, number, 2)

    def one_is_wrong(x):
        right = ow.cuda("x + 1", x, numpy=lambda x: x + 1)
        wrong = ow.cuda("x + 1", x, numpy=lambda x: x + 2)
        return right * 2, wrong * 3

    for ours, theirs in zip(ow.fuse(two_types, fullgraph=True)(X), two_types(X), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(e.CheckError, match="out1"):
        ow.fuse(one_is_wrong).check(X)


@pytest.mark.host
def test_a_fragment_in_a_text_is_part_of_the_guard():
    def function(x, text):
        return ow.cuda(text, x, numpy=lambda x: eval(text))

    fused = ow.fuse(function, fullgraph=True)
    for text in ("x + 1", "x * 3", "x + 1"):
        np.testing.assert_array_equal(fused(X, text), eval(text, {"x": X}))


@pytest.mark.parametrize(("arguments", "options", "error", "piece"), [
    (("x + q", X), {}, e.FragmentError, "'q'"),
    (("x", X, X), {}, e.ArgumentError, "expected 1 operands (x), found 2"),
    ((3, X), {}, e.FragmentError, "found int"),
    (("x", X), {"type_rule": "odd"}, e.DTypeError, "unknown type rule 'odd'"),
    (("x", X), {"name": "a b"}, e.NameRefusedError, "'a b'"),
    (("asm(x)", X), {}, e.FragmentError, "inline assembly"),
    (("x", X), {"numpy": lambda: 0}, e.FragmentError, "takes no operands"),
])  # fmt: skip
def test_mistakes_are_named(arguments, options, error, piece):
    with pytest.raises(error) as caught:
        ow.cuda(*arguments, **{"numpy": lambda x: x, **options})

    assert piece in str(caught.value)


def wrong(x):
    y = np.exp(x) + 1
    y = ow.cuda("x * 1.001f", y, numpy=lambda x: x, name="off")
    return np.log(y) * 2


@pytest.mark.host
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_bisect_names_the_first_operator_that_is_wrong(target):
    fused = ow.fuse(wrong)
    found = fused.bisect(X, target=target)

    assert not found.ok
    assert found.culprit.operator.startswith("off_")
    assert "test_inline.py:" in found.culprit.where
    assert found.culprit.before == 2
    assert found.operators == 3
    assert "2 operators before it keep theirs" in str(found)
    with pytest.raises(e.CheckError):
        fused.check(X, target=target)


@pytest.mark.host
@pytest.mark.parametrize("function", [
    lambda x: ow.softmax(np.roll(x, 1, 0) @ x.T)[::2],
    lambda x: divmod(x, 3)[1] + np.modf(x)[0],
    lambda x: (x.T, x.sum(), 3.0),
])  # fmt: skip
def test_bisect_finds_nothing_in_what_is_right(function):
    found = ow.fuse(function).bisect(X)

    assert found.ok
    assert "keep their bounds" in str(found)


@pytest.mark.host
def test_bisect_goes_through_long_functions():
    def function(x):
        for n in range(40):
            x = np.sin(x) + n if n != 30 else ow.cuda("x + 0.01f", x, numpy=lambda x: x)
        return x

    found = ow.fuse(function).bisect(X)
    assert found.culprit.operator.startswith("cuda_")
    assert found.culprit.before == 60
