"""Arguments and results: whatever holds arrays and numbers goes in and comes out as by NumPy."""

from argparse import Namespace
from collections import OrderedDict, namedtuple
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.captures.structure import Tree
from opweave.compiler.captures.tree import flatten
from opweave.compiler.ir.names import c_names

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
Y = np.arange(4, dtype=np.float32)
Pair = namedtuple("Pair", "first second")
pytestmark = pytest.mark.host


class Mode(Enum):
    SOFT = 1
    HARD = 2


@dataclass
class Layer:
    w: Any
    b: Any
    gain: float = 2.0
    mode: str = "relu"
    calls: int = field(default=0, init=False)

    def __post_init__(self):
        if not isinstance(self.gain, float):
            raise TypeError("made again from traced values")


@dataclass(frozen=True, slots=True)
class Frozen:
    x: Any
    more: tuple = ()


def layer(p, x):
    y = x * p.w + p.b * p.gain
    return np.maximum(y, 0) if p.mode == "relu" else y


def total(*arrays, scale=1.0, **more):
    return sum(arrays) * scale + more.get("bias", 0)


def optional(x, y=None, *, clip=None):
    x = x if y is None else x + y
    return x if clip is None else np.clip(x, *clip)


def by_mode(x, mode=Mode.SOFT):
    return np.tanh(x) if mode is Mode.SOFT else np.clip(x, -1, 1)


def same(a, b):
    """Equal in structure and types, and in values but for rounding."""
    if isinstance(a, np.ndarray | np.generic):
        close = np.allclose(a, b, rtol=1e-6, atol=1e-7)
        return type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and close
    (x, tree), (y, other) = flatten(a), flatten(b)
    if tree is None:
        return type(a) is type(b) and a == b
    return tree == other and all(same(i, j) for (_, i), (_, j) in zip(x, y, strict=True))


@pytest.mark.parametrize(("function", "args", "kwargs"), [
    (lambda p: p[0] * p[1], ((X, Y),), {}),
    (lambda p: p[0] * p[1], ([X, 3.0],), {}),
    (lambda p: p["x"] + p["deep"][0]["y"], ({"x": X, "deep": [{"y": Y}]},), {}),
    (lambda p: p.first - p.second, (Pair(X, Y),), {}),
    (lambda p: p["x"] * next(iter(p.values())), (OrderedDict(y=Y, x=X),), {}),
    (lambda p: p.x * p.gain, (Namespace(x=X, gain=2.0, names={"a", "b"}, log=None),), {}),
    (lambda f, x: f(x), (partial(np.add, 2.0), X), {}),
    (lambda f, x: f(x), (partial(layer, Layer(Y, Y + 1)), X), {}),
    (layer, (Layer(Y, Y + 1), X), {}),
    (layer, (Layer(Y, Y + 1, 3.0, "none"), X), {}),
    (lambda f: f.x * f.more[0], (Frozen(X, (2.0,)),), {}),
    (total, (X,), {}),
    (total, (X, Y, X), {"scale": 0.5, "bias": Y}),
    (optional, (X,), {}),
    (optional, (X, Y), {"clip": (-1, 2)}),
    (by_mode, (X,), {}),
    (by_mode, (X, Mode.HARD), {}),
    (lambda xp, x: xp.sin(x), (np, X), {}),
    (lambda f, x: f(x) + 1, (np.cos, X), {}),
    (lambda x, dtype: x.astype(dtype), (X, np.float64), {}),
    (lambda x, dtype: x.astype(dtype), (X, np.dtype("int32")), {}),
    (lambda x, dtype="float16": x.astype(dtype), (X,), {}),
    (lambda x, /, y, *, z: x * y + z, (X, Y), {"z": 2}),
    # results
    (lambda x: {"y": x * 2, "s": (x.sum(), [None, 3])}, (X,), {}),
    (lambda x: Pair(x * 2, Pair(x + 1, None)), (X,), {}),
    (lambda p, x: (p, OrderedDict(b=x * 2, a=p)), (SimpleNamespace(s=2.0, w=Y), X), {}),
    (lambda x: Layer(x * 2, x.sum(axis=0), 1.5), (X,), {}),
    (lambda x: [[], (), {}, x - 1], (X,), {}),
    (lambda x: {"name": "tanh", "mode": Mode.SOFT, "y": np.tanh(x)}, (X,), {}),
    (lambda p, x: (p, x + p["b"]), ({"b": Y, "n": 4}, X), {}),
    (lambda x: "nothing to compute", (X,), {}),
])  # fmt: skip
def test_whatever_holds_arrays_goes_in_and_comes_out(function, args, kwargs):
    assert same(ow.fuse(function)(*args, **kwargs), function(*args, **kwargs))


def test_an_output_goes_where_out_says_in_the_same_structure():
    fused = ow.fuse(lambda x: {"double": x * 2, "rest": (x + 1, None)})
    out = {"double": np.empty_like(X), "rest": (np.empty_like(X), None)}

    found = fused(X, out=out)
    assert found["double"] is out["double"]
    assert found["rest"][0] is out["rest"][0]
    np.testing.assert_array_equal(out["double"], X * 2)
    np.testing.assert_array_equal(out["rest"][0], X + 1)


def test_structure_and_texts_are_guards_and_numbers_are_not():
    fused = ow.fuse(layer)
    traced = []
    for p in (Layer(Y, Y), Layer(Y + 1, Y, 5.0), Layer(Y, Y, 2.0, "none"), Layer(Y, 1.0)):
        np.testing.assert_allclose(fused(p, X), layer(p, X), rtol=1e-6)
        traced.append(fused._specialised.traces)

    assert traced == [1, 1, 2, 3]


def test_everything_else_takes_the_same_arguments():
    fused, p = ow.fuse(layer), Layer(Y, Y + 1)
    program = fused.lower(p, X)

    assert fused.check(p, X).ok
    assert program.check(p, x=X).ok
    assert same(program(p, X), layer(p, X))
    assert same(fused.reference(p, X), layer(p, X))
    assert "p_w: f32[n3]" in fused.explain(p, X).text
    assert ow.regime(fused, p, X).launches == 1
    assert "const float* __restrict__ p_w" in fused.lower(p, X, target="sm_80").source
    with pytest.raises(ow.errors.ArgumentError, match="another guard"):
        program(Layer(Y, 1.0), X)


def test_a_fused_function_inside_another_takes_structures_too():
    inner = ow.fuse(layer)
    outer = ow.fuse(lambda p, x: inner(p, x) * 2)

    assert same(outer(Layer(Y, Y), X), layer(Layer(Y, Y), X) * 2)
    assert len(outer.lower(Layer(Y, Y), X).kernels) == 1


def test_a_part_of_an_argument_has_a_name_in_the_kernel():
    assert c_names(["p['w']", "p.w", "args[0]", "x_", "p['größe']"]) == [
        "p_w", "p_w_", "args_0", "x_", "arg4",
    ]  # fmt: skip


def test_a_tree_is_a_key():
    a, b = (flatten({"x": (1, None), "y": [n]})[1] for n in (2, 3))

    assert isinstance(a, Tree)
    assert (a == b, hash(a) == hash(b)) == (True, True)
    assert a != flatten({"y": (1, None), "x": [2]})[1]


def scaled(x, s):
    x *= s
    return x


def tail(x, s):
    x[1:] -= s * x[1:]
    x **= s
    return x


def through_out(x, s):
    t = s * 2
    x += t
    np.add(x, s, out=x)
    return np.multiply(x, s, out=x, where=x > 1)


def by_mask(x, s):
    x[x > s] = s
    x[x > 1] -= s
    return x


NUMBERS = [np.float32(2), np.float64(2.5), np.float16(3), np.int64(2), np.int8(3), np.uint8(1),
           np.bool_(True), np.complex64(1 + 1j)]  # fmt: skip


def outcome(function, x, s):
    """What a call gives and leaves in its argument, or the kind of error that it raises."""
    given = x.copy()
    try:
        with np.errstate(all="ignore"):
            return np.asarray(function(given, s)).dtype, given
    except TypeError:  # that casts the result
        return TypeError


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: type(n).__name__)
@pytest.mark.parametrize("function", [scaled, tail, through_out, by_mask])
def test_what_is_done_in_place_by_a_numpy_number(function, number):
    for dtype in (np.float64, np.float32, np.int64, np.uint8):
        x = np.arange(4).astype(dtype)
        found, expected = outcome(ow.fuse(function), x, number), outcome(function, x, number)

        assert (found is TypeError) == (expected is TypeError)
        if expected is not TypeError:
            assert found[0] == expected[0]
            np.testing.assert_allclose(found[1], expected[1], rtol=1e-6)


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: type(n).__name__)
def test_a_numpy_number_has_what_its_type_has(number):
    def function(x, s):
        kinds = (s.dtype, s.shape, s.ndim, s.size, s.itemsize, hasattr(s, "bit_length"))
        return kinds, x.astype(s.dtype), x * s.item(), x * s.astype(np.float32), s.astype("u1")

    x = np.arange(1, 4, dtype=np.float32)
    (kinds, *expected), (found_kinds, *found) = function(x, number), ow.fuse(function)(x, number)
    assert found_kinds == kinds
    for a, b in zip(found, expected, strict=True):
        assert (type(a), a.dtype) == (type(b), b.dtype)
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("function", "numbers", "traces"), [
    (lambda x, s: x * s.item() + s.astype(np.float32), np.float32([1, 2.5, 3]), 1),
    (lambda x, s: np.multiply(s, 2, out=x * 1), np.float32([1, 2.5, 3]), 1),
    (lambda x, s: x * 2 if s.is_integer() else x * s, [1.5, 2.5, 3.0, 4.0], 2),
    (lambda x, s: x * s.bit_length(), [1, 5, 300], 1),
    (lambda x, s: x * s.as_integer_ratio()[0], [0.5, 1.5], 2),
    (lambda x, s: x * s.round(1), np.float64([0.25, 1.75]), 2),
])  # fmt: skip
def test_methods_of_numbers_are_asked_at_each_call(function, numbers, traces):
    fused = ow.fuse(function, fullgraph=True)
    for number in numbers:
        np.testing.assert_array_equal(fused(X, number), function(X, number))
    assert len(fused.traces) == traces


@pytest.mark.parametrize("ufunc", [
    np.add, partial(np.add, 2.0), partial(partial(np.add), 2.0), partial(np.add, dtype=np.float64),
])  # fmt: skip
def test_ufuncs_and_partials_of_them_are_functions(ufunc):
    args = [X + n for n in range(2 - len(getattr(ufunc, "args", ())))]

    np.testing.assert_array_equal(ow.fuse(ufunc)(*args), ufunc(*args), strict=True)


@pytest.mark.parametrize("modes", [np.array(["double", "add"]), np.array([b"double", b"add"])])
def test_a_text_of_numpys_selects_what_is_compiled(modes):
    def chosen(x, mode):
        return x * 2 if mode in ("double", b"double") else x + 1

    fused = ow.fuse(chosen)
    for mode in (*modes, *modes):
        np.testing.assert_array_equal(fused(X, mode), chosen(X, mode))
