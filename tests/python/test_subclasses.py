"""Arrays of classes with a meaning of their own keep it: the plain function runs, and says so."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import opweave as ow
from tests.support.differential import does_the_same

LIBRARY_IN_PARTS = True
X = np.arange(1.0, 7.0)


class Quantity(np.ndarray):
    """Numbers with a unit, as of astropy: sums of different units are converted."""

    def __new__(cls, data, unit):
        made = np.asarray(data, dtype=float).view(cls)
        made.unit = unit
        return made

    def __array_finalize__(self, given):
        self.unit = getattr(given, "unit", 1.0)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [np.asarray(i) * i.unit if isinstance(i, Quantity) else i for i in inputs]
        return Quantity(getattr(ufunc, method)(*plain, **kwargs), 1.0)


class Named(np.ndarray):
    """Keeps a name through ``__array_finalize__`` alone."""

    def __array_finalize__(self, given):
        self.name = getattr(given, "name", "unnamed")


class Told(np.ndarray):
    """Counts what NumPy asks of it."""

    asked = 0

    def __array_function__(self, function, types, args, kwargs):
        Told.asked += 1
        return super().__array_function__(function, types, args, kwargs)


class Failing(np.ndarray):
    def __array_ufunc__(self, *args, **kwargs):
        raise ValueError("no arithmetic here")


class Lying:
    """Says that it is an array."""

    @property
    def __class__(self):
        return np.ndarray

    def __mul__(self, other):
        return "multiplied"


class Answering(dict):
    """Answers to every name, dunder names too."""

    __getattr__ = dict.get


class Comparing:
    """Compares to an array of truths."""

    def __eq__(self, other):
        return np.array([True, False])

    __hash__ = None


def named(data):
    made = data.view(Named)
    made.name = "mine"
    return made


def total(a, b):
    return a + b


CASES = {
    "units": (total, Quantity([1.0, 2.0], 1000.0), Quantity([1.0, 2.0], 1.0)),
    "units and plain": (total, Quantity([1.0, 2.0], 1000.0), np.array([1.0, 2.0])),
    "plain and units": (lambda a, b: a * 2 + b, np.array([1.0, 2.0]), Quantity([1.0, 2.0], 10.0)),
    "a name": (lambda a: a + 1, named(X)),
    "a function": (lambda a: np.concatenate([a, a]), X.view(Told)),
    "masked": (lambda a: a * 2, np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])),
    "masked sums": (lambda a: a.sum(), np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])),
    "matrix": (lambda a: a * a, np.matrix([[1.0, 2.0], [3.0, 4.0]])),
    "records": (lambda a: a.x * 2 + a.y, np.rec.array([(1.0, 2.0), (3.0, 4.0)], names="x,y")),
    "structured": (lambda a: a["x"] * 2, np.array([(1.0, 2)], dtype=[("x", float), ("y", int)])),
    "in a list": (lambda xs: xs[0] + xs[1], [Quantity([1.0], 1000.0), Quantity([1.0], 1.0)]),
    "in an attribute": (lambda o: o["a"] * 2, {"a": Quantity([1.0], 1000.0)}),
    "made inside": (lambda x: np.ma.masked_greater(x, 3).sum(), X),
    "made inside, then added": (lambda x: (np.ma.array(x, mask=x > 3) + x).sum(), X),
    "added to one made inside": (lambda x: (x + np.ma.array(x, mask=x > 3)).sum(), X),
    "a view inside": (lambda x: (x * 2).view(Named).name, X),
    "a matrix made inside": (lambda x: np.matrix(x) * np.matrix(x).T, X),
    "a constant with a mask": (lambda x: x + np.ma.array(np.ones(6), mask=[1, 0, 0, 0, 0, 0]), X),
    "in place": (lambda x, q: x.__iadd__(q), np.ones(6), named(np.ones(6))),
    "asked for its class": (lambda a: a * 2 if isinstance(a, Named) else a * 3, named(X)),
    "its class": (lambda a: type(a).__name__, named(X)),
    "methods that raise": (lambda a: a + 1, X.view(Failing)),
    "a class that lies": (lambda x, o: x * 2 if isinstance(o, np.ndarray) else x, X, Lying()),
    "an operator of one that lies": (lambda x, o: (o * 2, x * 2), X, Lying()),
    "one that compares to arrays": (lambda x, o: x * 2 if o is not None else x, X, Comparing()),
    "a comparison that is an array": (lambda x, o: x[:2] * (o == 1), X, Comparing()),
    "compared in a list": (lambda x, o: x * 2 if o in [o] else x, X, Comparing()),
    "an answering dict": (lambda x, d: x * d["w"], X, Answering(w=2.0)),
    "an answering dict in parts": (lambda x, d: np.sort(x) * d.w, X, Answering(w=2.0)),
}  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("name", CASES)
def test_a_class_of_arrays_keeps_its_meaning(name):
    fn, *args = CASES[name]
    does_the_same(fn, *args)


@pytest.mark.host
def test_a_memory_map_is_an_array(tmp_path):
    made = np.memmap(tmp_path / "x", dtype=np.float64, mode="w+", shape=6)
    made[:] = X
    fused = ow.fuse(lambda x: x * 2 + 1, fullgraph=True)

    np.testing.assert_array_equal(fused(made), X * 2 + 1)


MAPPED = {
    "its class": lambda x: (x * 2, type(x), x.__class__, isinstance(x, np.memmap)),
    "a view's class": lambda x: (x * 2, type(x[1:]), isinstance(x.T, np.memmap), type(x + 1)),
    "a branch by its class": lambda x: x * 3 if type(x) is np.ndarray else x * 2,
    "an attribute of the file": lambda x: (x * 2, x.mode, getattr(x, "nothing", None)),
    "an array of it": lambda x: (x * 2, np.asarray(x) is x),
    "any array of it": lambda x: (x * 2, np.asanyarray(x) is x, type(np.asanyarray(x))),
    "any copy of it": lambda x: (x * 2, type(np.array(x, subok=True))),
    "its priority": lambda x: (x * 2, x.__array_priority__, getattr(x, "__array_priority__", 1)),
    "a method of the file": lambda x: (x * 2, x.flush()),
}


@pytest.mark.host
@pytest.mark.parametrize("name", MAPPED)
def test_a_memory_map_is_of_its_own_class(name, tmp_path):
    made = np.memmap(tmp_path / "x", dtype=np.float64, mode="w+", shape=6)
    made[:] = X
    does_the_same(MAPPED[name], made)


OUTSIDE = {
    "a global": lambda made: eval("lambda x: (x * made, made)", {"made": made}),
    "a closure": lambda made: lambda x: (x * made, made),
    "an attribute": lambda made, o=SimpleNamespace(): setattr(o, "w", made) or (
        lambda x: (x * o.w, o.w)),
    "another function's": lambda made: (lambda one: lambda x: (one(x), made))(lambda x: x * made),
}  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("first", [np.array, np.asanyarray])
def test_a_memory_map_outside_is_read_at_many_calls(name, first, tmp_path):
    made = np.memmap(tmp_path / "x", dtype=np.float64, mode="w+", shape=6)
    made[:] = X
    fused = ow.fuse(OUTSIDE[name](first(made)))
    for gain in range(12):
        found, back = fused(X * gain)
        np.testing.assert_array_equal(found, X * gain * X)
        assert type(back) is type(first(made))


@pytest.mark.host
def test_what_is_compiled_for_arrays_does_not_serve_memory_maps(tmp_path):
    made = np.memmap(tmp_path / "x", dtype=np.float64, mode="w+", shape=6)
    fused = ow.fuse(MAPPED["a branch by its class"])

    assert [fused(x)[1] / x[1] for x in (X, made + 1, X, np.array(made) + 1)] == [3.0] * 4
    made[:] = X
    assert fused(made)[1] == 2 * X[1]


@pytest.mark.host
def test_one_warning_for_a_function_and_place():
    fused = ow.fuse(total)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(3):
            fused(Quantity([1.0], 2.0), X[:1])
    ours = [w for w in told if w.category is ow.OpweaveWarning]

    assert len(ours) == 1
    assert "Quantity" in str(ours[0].message)
    assert ours[0].filename == __file__


@pytest.mark.host
def test_a_filter_silences_it():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ow.OpweaveWarning)
        assert ow.fuse(total)(Quantity([1.0], 2.0), X[:1]).tolist() == [3.0]


@pytest.mark.parametrize("ask", ["call", "lower", "check"])
def test_the_whole_is_refused_with_a_remedy(ask):
    fused = ow.fuse(total, fullgraph=True)
    function = fused if ask == "call" else getattr(fused, ask)
    with pytest.raises(ow.errors.SubclassError, match=r"argument a: Quantity.*np\.asarray"):
        function(Quantity([1.0], 2.0), X[:1])


@pytest.mark.host
def test_a_class_defined_anew_between_calls():
    fused = ow.fuse(total)
    for unit in (2.0, 3.0):

        class Scaled(np.ndarray):
            factor = unit

            def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
                plain = [
                    np.asarray(i) * self.factor if i is self else np.asarray(i) for i in inputs
                ]
                return getattr(ufunc, method)(*plain, **kwargs)

        assert fused(X.view(Scaled), X).tolist() == (X * unit + X).tolist()


@pytest.mark.host
def test_an_object_that_answers_to_every_name_keeps_the_function_whole(capfd):
    program = ow.fuse(lambda x, d: x * d["w"] + d["b"], fullgraph=True).lower(
        X, {"w": 2.0, "b": Answering(w=1.0)["w"]}
    )

    assert len(program.kernels) == 1
