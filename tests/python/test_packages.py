"""What a function reads of an installed package is read at each call, however it gets there."""

import calendar
import importlib
import sys

import numpy as np
import pytest

import opweave as ow

pytestmark = pytest.mark.host
X = np.arange(3.0)
PACKAGE = """
import numpy as np
SCALE = 2.0
TABLE = {"a": 2.0}
ARRAY = np.ones(3) * 2
class Thing:
    scale = 2.0
    count = 0
    def times(self, x):
        return x * self.scale
class Settings:
    def __init__(self):
        self.scale = 2.0
settings = Settings()
def times(x):
    return x * SCALE
def call(function, *args):
    return function(*args)
"""
# What is assigned in the package between two calls.
CHANGED = {
    "SCALE": 5.0,
    "Thing.scale": 5.0,
    "settings.scale": 5.0,
    "TABLE": {"a": 5.0},
    "ARRAY": np.ones(3) * 5,
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages" / "read_package"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(str(folder.parent))
    yield importlib.import_module("read_package")
    del sys.modules["read_package"]


READS = {
    "a number": "x * lib.SCALE",
    "a class's number": "x * lib.Thing.scale",
    "the number of an imported class": "x * Thing.scale",
    "an object's": "x * lib.settings.scale",
    "an imported object's": "x * settings.scale",
    "a dict's": "x * lib.TABLE['a']",
    "an array": "x * lib.ARRAY",
    "a function": "lib.times(x)",
    "a method": "lib.Thing().times(x)",
    "an attribute of an object made here": "x * lib.Thing().scale",
    "a function that calls": "lib.call(np.add, x, lib.SCALE)",
    "getattr": "x * getattr(lib, 'SCALE')",
    "a name of its own": "(m := lib) and x * m.SCALE",
    "a class under another name": "(T := lib.Thing) and x * T.scale",
    "sys.modules": "x * sys.modules['read_package'].SCALE",
    "a subclass": "x * Sub.scale",
    "a subclass's object": "x * Sub().scale",
    "a global class": "x.astype(KIND)",
    "a default": "(lambda x, m=lib: x * m.SCALE)(x)",
    "its type is asked": "x * (2 if isinstance(x, lib.Thing) else 3)",
}
STATEMENTS = {
    "an import": "from read_package import SCALE\n    return x * SCALE",
    "a class of an import": "import read_package as m\n    return x * m.Thing.scale",
    "a class's number is counted": "lib.Thing.count += 1\n    return x * lib.Thing.count",
    "a number is counted": "lib.SCALE += 1\n    return x * lib.SCALE",
    "an object's number is counted": "lib.settings.scale += 1\n    return x * lib.settings.scale",
}


def assign(package, names):
    for name, value in names.items():
        owner, _, attribute = name.rpartition(".")
        setattr(getattr(package, owner) if owner else package, attribute, value)


def made(package, body):
    scope = {
        "np": np, "sys": sys, "lib": package, "Thing": package.Thing,
        "settings": package.settings, "Sub": type("Sub", (package.Thing,), {}),
        "KIND": np.float32, "__name__": __name__,
    }  # fmt: skip
    exec(compile(f"def read(x):\n    {body}", __file__, "exec"), scope)
    return scope["read"], scope


@pytest.mark.parametrize("name", [*READS, *STATEMENTS])
def test_a_package_is_read_at_each_call(package, name):
    body = STATEMENTS.get(name) or f"return {READS[name]}"
    before = {"SCALE": 2.0, "Thing.scale": 2.0, "Thing.count": 0, "settings.scale": 2.0,
              "TABLE": {"a": 2.0}, "ARRAY": np.ones(3) * 2}  # fmt: skip

    def called(wrapped):
        assign(package, before)
        function, scope = made(package, body)
        function = wrapped(function)
        found = [function(X), function(X)]
        assign(package, CHANGED)
        scope["KIND"] = np.float64
        found.append(function(X))
        return [(v.dtype, v.tolist()) for v in found], package.Thing.count, package.SCALE

    assert called(ow.fuse) == called(lambda function: function)


@pytest.mark.parametrize("name", ["a number", "a class's number", "its type is asked"])
def test_what_a_guard_knows_keeps_a_function_whole(package, name):
    function, _ = made(package, f"return {READS[name]}")

    assert len(ow.fuse(function, fullgraph=True).lower(X).kernels) == 1


# What code that only computes is given to call.
CALLBACKS = {
    "np.vectorize": "x * np.vectorize(lib.counted)(2.0)",
    "a np.vectorize made before": "x * VECTORIZED(2.0)",
    "np.vectorize of a package's function": "x * np.vectorize(lib.times)(2.0)",
    "np.apply_along_axis": "x * np.apply_along_axis(lib.times, 0, np.ones(3))",
    "np.fromfunction": "x * np.fromfunction(lambda i: lib.times(i), (3,))",
    "np.piecewise": "x * np.piecewise(np.ones(3), [np.ones(3) > 0], [lib.times])",
    "print behind the standard library": "calendar.prmonth(2020, 1) or x * 2",
}


@pytest.mark.parametrize("name", CALLBACKS)
def test_code_that_only_computes_is_given_something_to_call(package, name, capfd):
    exec("count = 0\ndef counted(x):\n    global count\n    count += 1\n    return x * SCALE",
         vars(package))  # fmt: skip

    def called(wrapped):
        assign(package, {"SCALE": 2.0, "count": 0})
        function, scope = made(package, f"return {CALLBACKS[name]}")
        scope |= {"calendar": calendar, "VECTORIZED": np.vectorize(package.counted)}
        function = wrapped(function)
        found = [function(X), function(X)]
        assign(package, CHANGED)
        found.append(function(X))
        return [v.tolist() for v in found], package.count, capfd.readouterr().out

    assert called(ow.fuse) == called(lambda function: function)


def imports_names(x):
    from scipy.special import erf, expit

    return erf(x) + expit(x)


def imports_a_module(x):
    import math

    import scipy.special as special

    return special.erf(x) * math.pi


def imports_from_a_package(x):
    import numpy.linalg as la
    from scipy import special

    return special.expit(x) / la.norm(x)


def imports_what_is_not_there(x):
    try:
        import no_such_module
    except ImportError:
        no_such_module = None
    return x * 3 if no_such_module is None else x


@pytest.mark.host
@pytest.mark.parametrize("function", [
    imports_names, imports_a_module, imports_from_a_package, imports_what_is_not_there,
])  # fmt: skip
def test_a_function_that_imports_is_a_whole(function):
    pytest.importorskip("scipy.special")
    x = np.linspace(-2, 2, 50)
    fused = ow.fuse(function, fullgraph=True)
    for given in (x, x[:30] + 1):
        np.testing.assert_allclose(fused(given), function(given), rtol=1e-13, atol=1e-15)


@pytest.mark.host
def test_a_module_that_nobody_has_imported_yet_is(monkeypatch):
    def function(x):
        from colorsys import ONE_THIRD

        return x * ONE_THIRD

    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    fused = ow.fuse(function, fullgraph=True)
    np.testing.assert_array_equal(fused(X), X / 3)
    assert "colorsys" in sys.modules
