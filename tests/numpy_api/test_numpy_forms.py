"""Calls as NumPy takes them: by position and by name, of lists and ranges, into ``out=``."""

import cmath
import functools
import inspect
import math
from datetime import timedelta
from decimal import Decimal

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.numpy_api.dispatch import METHODS
from opweave.compiler.numpy_api.signatures import NONE
from opweave.opcodes import errors as e
from tests.numpy_page.forms import difference, sample

X = np.random.default_rng(4).standard_normal((6, 4))
V = np.arange(1.0, 6.0)
H = V.astype(np.float32)
pytestmark = pytest.mark.host


def same(found, expected):
    """Class, dtype, shape, order in memory and value."""
    assert type(found) is type(expected)
    if expected is None:
        return
    a, b = np.asarray(found), np.asarray(expected)
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    np.testing.assert_allclose(a, b, rtol=1e-6 if a.dtype.itemsize <= 4 else 1e-13)


def whole(function, *args, **kwargs):
    """A fused function gives what the plain one gives, as one program and in general."""
    for fullgraph in (True, False):
        found = ow.fuse(function, fullgraph=fullgraph)(*args, **kwargs)
        same(found, function(*args, **kwargs))


# Raised once, and wrong.
EXCEPTIONS = {
    "outer": (lambda v: np.outer(v, range(5)), V),
    "outer, the other": (lambda v: np.outer(range(5), v), V),
    "inner": (lambda v: np.inner(v, range(5)), V),
    "kron": (lambda v: np.kron(range(2), v), V),
    "tensordot": (lambda v: np.tensordot(v, range(5), 1), V),
    "cross": (lambda v: np.cross(v[:3], range(3)), V),
    "dot": (lambda v: np.dot(v, range(5)), V),
    "add": (lambda v: np.add(range(5), v), V),
    "exp of a complex number": (lambda v, s: v * cmath.exp(1j * s), V, 0.5),
    "phase": (lambda v, s: v * cmath.phase(1j * s), V, 0.5),
    "ldexp": (lambda v, n: v * math.ldexp(1.5, n), V, 3),
    "trunc": (lambda v, s: v * math.trunc(s), V, -3.7),
    "floor of a large number": (lambda v, n: v * (math.floor(n) % 7), V, 2**60 + 1),
    "pow": (lambda v, s: v * pow(s, 2, 5), V, 7),
    "pow, the modulus": (lambda v, n: v * pow(3, 4, n), V, 7),
    "reshape(-2)": (lambda x: x.reshape(-2), X),
    "reshape(-2, 4)": (lambda x: x.reshape(-2, 4), X),
    "reshape by a number": (lambda x, n: x.reshape(n, 4), X, -1),
    "reshape by an array": (lambda x: x.reshape(np.array([4, 6])), X),
}


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_what_numpy_takes_is_taken(name):
    whole(*EXCEPTIONS[name])


# In C, which wants a number itself; and distances that are places.
IN_PARTS = {
    "timedelta": (lambda v, n: v * timedelta(days=n).days, V, 3),
    "Decimal": (lambda v, n: v * int(Decimal(n)), V, 3),
    "gradient": (lambda v: np.gradient(v, range(5)), V),
    "round": (lambda v: round(v.sum(), 1), V),
    "trunc": (lambda v: math.trunc(v.sum()), V),
    "axis=()": (lambda x: x.sum(axis=()), X),
}


@pytest.mark.parametrize("name", IN_PARTS)
def test_what_asks_for_a_number_itself_gets_it(name):
    function, *args = IN_PARTS[name]

    same(ow.fuse(function)(*args), function(*args))


@pytest.mark.parametrize("call", """
    x.var(1, None, None, 1)|x.sum(0, None)|x.sum(0, None, None, True)|x.sum(0, np.float32, None, True, 1.)
    x.mean(0, None, None, True)|x.std(0, None, None, 1, True)|x.prod(0, None, None, True, 2.)
    x.max(0, None, True)|x.min(0, None, True, 3.)|x.argmax(0, None)|x.argmin(None, None, keepdims=True)
    x.any(0, None, None, True)|x.all(0, None, None, True)|x.clip(0, 1, None)|x.round(1, None)
    x.take([0, 1], 0, None, 'raise')|np.take(x, [0, 9], 0, None, 'wrap')|np.ptp(x, 0, None, True)
    x.astype(np.float32, 'K', 'unsafe', True, True)|x.astype(np.float32, order='F')|x.dot(x.T, None)
    np.nansum(x, 0, None, None, True)|np.nanprod(x, 0, None, None, True)|np.nanmean(x, 0, None, None, True)
    np.nanstd(x, 0, None, None, 1, True)|np.nanvar(x, 0, None, None, 1)|np.nanmax(x, 0, None, True)
    np.nansum(x, 0, np.float32)|np.sum(x, 0, np.float32, None, True)|np.clip(x, 0, 1, None)
    np.cumsum(x, 0, None, None)|x.cumsum(0, None, None)|np.round(x, 1, None)|x.trace(0, 0, 1, None, None)
    np.concatenate([x, x], 0, None)|x.mean(dtype=int)|x.mean(0, int)|x.mean(0, np.int8, keepdims=True)
    x.copy('F')|np.copy(x, 'F')|x.ravel('F')|x.flatten('F')|x.reshape((4, 6), order='F')|x.reshape(-1, order='F')
    x.reshape(8, -1, order='A')|x.ravel('K')|x.flatten('A')|np.array(x, order='F')|np.asarray(x, order='F')
    np.asfortranarray(x)|np.zeros_like(x, order='F')|np.full((3, x.shape[0]), 1., order='F')|np.add(x, x, order='F')
    np.add(x.T, x.T, order='C')|np.reshape(x, (4, 6), copy=True)|np.asarray(x.T, order='C')|np.array(x.T, order='C')
    np.add.reduce(x, 0, None, None, True)|np.dot(x.astype('f4'), 2)|x.dot(2.5)|np.outer(x, 3)|np.kron(2, x)
    """.replace("\n", "|").split("|"))  # fmt: skip
def test_a_form_that_was_in_parts_is_whole(call):
    if call.strip():
        function = eval(f"lambda x: {call}", {"np": np})
        whole(function, X)
        found, expected = ow.fuse(function)(X), function(X)
        assert _laid_out(found) == _laid_out(expected)


def _laid_out(array):
    return [s for s, n in zip(np.asarray(array).strides, np.shape(array), strict=True) if n > 1]


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_called_as_by_numpy(name):
    """Its signature is NumPy's own, where that tells; ``**kwargs`` stands for the rest."""
    ours, theirs = (
        list(inspect.signature(function).parameters.values())[1:]
        for function in (METHODS[name].like, getattr(np.ndarray, name))
    )
    told = [p for p in theirs if p.kind is not p.VAR_KEYWORD]
    if name in ("any", "all", "choose"):  # which NumPy's own text has otherwise
        return
    pairs = [(a, p) for a, p in zip(ours, told, strict=False)]

    assert [a.name for a, _ in pairs] == [p.name for _, p in pairs]
    assert [a.default for a, p in pairs if a.default is not NONE] == [
        p.default for a, p in pairs if a.default is not NONE
    ]


def test_a_sample_of_all_forms():
    """See numpy_page/forms.py, which tries them all."""
    found = {call: difference(call) for call in sample(250)}

    assert {call: text for call, text in found.items() if text} == {}


@pytest.mark.parametrize("result", [lambda x: 0, lambda x: x * 2])
def test_a_wrong_result_is_seen(monkeypatch, result):
    monkeypatch.setattr(ow.api if hasattr(ow, "api") else ow, "fuse", lambda function, **_: result)

    assert difference("np.sum(x, 0)") != ""


def own(x, out):
    return x + out


def own_by_name(x, *, out=3.0):
    return x * 2 if out is None else x + out


@pytest.mark.parametrize(("function", "kwargs"), [
    (own, {"out": X}), (own, {"x": X, "out": 2.0}), (own_by_name, {}), (own_by_name, {"out": None}),
    (own_by_name, {"out": X}),
])  # fmt: skip
def test_a_parameter_called_out_is_the_functions(function, kwargs):
    args = () if "x" in kwargs else (X,)

    whole(function, *args, **kwargs)


def test_out_is_ours_elsewhere():
    z = np.zeros_like(X)

    assert ow.fuse(lambda x: x * 2)(X, out=z) is z
    assert np.array_equal(z, X * 2)


def looked_at(x, i):
    x[i]


@pytest.mark.parametrize("function", [lambda x: None, lambda x: (None, x * 2), looked_at])
def test_a_function_may_return_none(function):
    args = (X, np.array([1, 2])) if function is looked_at else (X,)
    found = ow.fuse(function, fullgraph=True)(*args)

    expected = function(*args)
    assert type(found) is type(expected)
    assert found is None or found[0] is None


def test_what_returns_none_raises_as_numpy():
    with pytest.raises(IndexError):
        ow.fuse(looked_at, fullgraph=True)(X, np.array([1, 9]))


def filled(x):
    w = np.zeros(3)
    w[0] = x.sum()
    w[1:] = x[0, :2]
    return w


def filled_in_rows(x):
    table = np.ones((2, 4), np.float32)
    for row in range(2):
        table[row] = x[row] * 2
    return table @ x[0]


def filled_from_a_list(x):
    w = np.array([1.0, 2.0, 3.0])
    w[1] += x.max()
    return w, w * 2


def read_only(x):
    w = np.zeros(4)
    w[1] = 2
    return x + w


@pytest.mark.parametrize("function", [filled, filled_in_rows, read_only])
def test_an_array_of_a_constant_shape_is_written_to(function):
    whole(function, X)


def test_an_array_from_a_list_is_written_to():
    found, expected = ow.fuse(filled_from_a_list, fullgraph=True)(X), filled_from_a_list(X)

    assert all(map(np.array_equal, found, expected))


# max and min of computed numbers: of each, values on both sides.
EXTREMA = {
    "max(1., v)": lambda x: x * max(1.0, x.sum()),
    "max(v, 1.)": lambda x: x / max(x.sum(), 1e-3),
    "min of three": lambda x: x * min(x.sum(), 3.0, 4),
    "min of a list": lambda x: x * min([x.sum(), x.max()]),
    "max of two": lambda x: max(x.sum(), x.mean()),
    "whole numbers": lambda x: x * max(2, (x > 0).sum()),
    "a choice of a choice": lambda x: x + min(max(x.sum(), 0.1), 0.7),
    "arithmetic": lambda x: x + 2 * max(0.1, x.max()) - 1,
}
# Where the type of the rest follows from the values unless all are doubles.
OF_DOUBLES = ("whole numbers", "a choice of a choice", "arithmetic")


@pytest.mark.parametrize("scale", [1, -1, 0, np.nan, 0.01])
@pytest.mark.parametrize("name", EXTREMA)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_max_and_min_of_computed_numbers(name, kind, scale):
    function, x = EXTREMA[name], (V * scale).astype(kind)
    with np.errstate(all="ignore"):
        if kind is np.float64 or name not in OF_DOUBLES:
            whole(function, x)
        same(ow.fuse(function)(x), function(x))


@pytest.mark.parametrize("function", [
    lambda x: max(1.0, x.sum()), lambda x: max(1, x.sum()), lambda x: max(1.0, x.sum(), key=abs),
    lambda x: np.arange(3) * max(0.1, x.sum()), lambda x: x * max(x, key=abs),
    lambda x: x ** max(2.0, x.sum() * 0), lambda x: isinstance(max(1, x.sum()), int),
])  # fmt: skip
@pytest.mark.parametrize("scale", [1, -1])
def test_a_type_that_follows_from_values_is_pythons(function, scale):
    x = (V * scale).astype(np.float32)

    same(ow.fuse(function)(x), function(x))


def test_a_float32_is_not_rounded_where_numpy_has_a_python_number():
    """``max`` gives 0.1 itself, which an array of doubles is multiplied by."""
    whole(lambda x, v: x * max(0.1, v.sum()), V, -H)


def test_an_order_is_asked_for_in_letters():
    with pytest.raises(e.OpweaveError, match="order='Q'"):
        ow.fuse(lambda x: x.copy("Q"), fullgraph=True)(X)
    with pytest.raises(ValueError, match="order"):
        ow.fuse(lambda x: x.copy("Q"))(X)


def test_a_faulty_call_is_refused_by_name_or_by_numpy():
    faulty = [lambda x: x.sum(nonsense=1), lambda x: x.sum(0, axis=0), lambda x: x.take()]
    for function in faulty:
        with pytest.raises(e.OpweaveError):
            ow.fuse(function, fullgraph=True)(X)
        with pytest.raises(TypeError):
            ow.fuse(function)(X)


def test_what_the_function_raises_it_raises():
    def checked(x, n):
        if n > 2:
            raise LookupError(f"{n} is too much")
        return x * n

    fused = ow.fuse(checked)
    with pytest.raises(LookupError, match="3 is too much"):
        fused(X, 3)
    same(fused(X, 2), X * 2)
    assert fused.explain(X, 2) is not None


@pytest.mark.parametrize("of", ["float16", "float32", "float64", "int32", "complex64"])
@pytest.mark.parametrize(
    "mean", ["float16", "float32", "float64", "complex128", "int", "a number"]
)
def test_the_mean_of_a_variance_takes_part_in_its_type(of, mean):
    x = X.astype(of)
    middle = 0.5 if mean == "a number" else np.full((1, X.shape[1]), 1.25).astype(mean)
    for function in (np.var, np.std, np.nanvar, np.nanstd):
        call = functools.partial(function, axis=0, mean=middle)

        found, expected = ow.fuse(lambda x: call(x))(x), call(x)  # noqa: B023
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=2e-3 if of == "float16" else 1e-6)
