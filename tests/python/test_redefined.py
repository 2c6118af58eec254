"""What is redefined between two calls (a method, defaults, code, a name that was not there)."""

import builtins
import functools
import types
import warnings
from unittest import mock

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.captures import versions

X = np.arange(3, dtype=np.float32)
pytestmark = pytest.mark.host

SOURCE = """
import functools
import numpy as np
from enum import Enum

class Base:
    def inherited(self, x): return x + 1

class C(Base):
    def m(self, x): return x + 1
    @property
    def p(self): return 2
    @staticmethod
    def s(x): return x + 1
    @classmethod
    def c(cls, x): return x + 1
    def __call__(self, x): return x + 1
    def __add__(self, x): return x + 1
    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return 3
    def calls(self, x): return helper(x)
    def keywords(self, x, k=1, *, j=1): return x * k + j

class Meta(type):
    pass

class Made(metaclass=Meta):
    pass

class Plain:
    pass

class Mode(Enum):
    ON = 1
    def apply(self, x): return x + 1

def inner(x): return x + 1
def helper(x): return inner(x)
def defaults(x, k=1, *, j=1): return x * k + j

class Slotted:
    __slots__ = ("a",)
    def __init__(self): self.a = 2
    def m(self, x): return x + self.a

OBJECT = C()
"""


@pytest.fixture
def there():
    """A module of the user's."""
    made = types.ModuleType("a_redefined_module")
    exec(compile(SOURCE, "a_redefined_module.py", "exec"), made.__dict__)
    return made


def function(there, source):
    """A function in that module: ``source`` is its body's last expression, or its whole body."""
    body = source if "\n" in source else f"    return {source}\n"
    name = "redefined_user"
    exec(compile(f"def {name}(x):\n{body}", "a_redefined_module.py", "exec"), there.__dict__)
    return there.__dict__.pop(name)


def outcome(fn, *args):
    """What a call returns or raises."""
    try:
        found = fn(*args)
    except ow.OpweaveError as error:
        return error
    except Exception as error:
        return type(error)
    return np.asarray(found).dtype, np.asarray(found).tolist()


def same_at_each_step(fn, steps, args=(X,)):
    """A function fused whole, and one that may run in parts, are the plain one at each step."""
    __tracebackhide__ = True
    kinds = ow.fuse(fn), ow.fuse(fn, fullgraph=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ow.OpweaveWarning)
        for number, step in enumerate([lambda: None, *steps]):
            step()
            expected = outcome(fn, *args)
            for fused in kinds:
                for _ in range(2):
                    found = outcome(fused, *args)
                    if isinstance(found, ow.OpweaveError) and (
                        fused is kinds[1] or isinstance(expected, type)
                    ):
                        continue  # a typed refusal, or an error as there is in Python
                    assert found == expected, (number, fused.options.fullgraph)
    return kinds[0]


def sets(owner, name, value):
    return lambda m: setattr(eval(owner, m.__dict__), name, value)


def deletes(owner, name):
    return lambda m: delattr(eval(owner, m.__dict__), name)


def zero(*args):
    return args[-1] * 0


def gain_of(self, name):
    return 5 if name == "gain" else object.__getattribute__(self, name)


def times(k):
    return lambda *args: args[-1] * k


def code(fn, as_fn):
    return lambda m: setattr(eval(fn, m.__dict__), "__code__", as_fn.__code__)


REPLACED = {
    "a method": ("C().m(x)", [sets("C", "m", zero), sets("C", "m", times(3))]),
    "a method of a global object": ("OBJECT.m(x)", [sets("C", "m", zero)]),
    "a method by its class": ("C.m(None, x)", [sets("C", "m", zero)]),
    "a bound method, kept": ("(lambda g: g(x))(OBJECT.m)", [sets("C", "m", zero)]),
    "an inherited method": ("C().inherited(x)", [sets("Base", "inherited", zero)]),
    "one that shadows it": ("C().inherited(x)", [sets("C", "inherited", zero)]),
    "one that goes": ("C().inherited(x)", [
        sets("C", "inherited", zero), deletes("C", "inherited"),
    ]),
    "bases": ("C().inherited(x)", [sets("C", "__bases__", (type("B", (), {"inherited": zero}),))]),
    "a property": ("x * C().p", [
        sets("C", "p", property(lambda self: 5)), sets("C", "p", 7), sets("C", "p", 8),
    ]),
    "a static method": ("C.s(x)", [sets("C", "s", staticmethod(zero))]),
    "a class method": ("C.c(x)", [sets("C", "c", classmethod(zero))]),
    "a call": ("C()(x)", [sets("C", "__call__", zero)]),
    "a call of a global object": ("OBJECT(x)", [sets("C", "__call__", zero)]),
    "an operator": ("C() + x", [sets("C", "__add__", zero)]),
    "an operator that appears": ("C() - x", [sets("C", "__sub__", zero)]),
    "a getattr": ("x * C().anything", [sets("C", "__getattr__", lambda self, name: 5)]),
    "a getattr that is shadowed": ("x * C().gain", [sets("C", "gain", 7), deletes("C", "gain")]),
    "a getattribute": ("x * OBJECT.gain", [sets("C", "__getattribute__", gain_of)]),
    "an initialiser": ("x * C().gain", [
        sets("C", "__init__", lambda self: vars(self).update(gain=9)),
    ]),
    "a method of an enumeration": ("Mode.ON.apply(x)", [sets("Mode", "apply", zero)]),
    "a method of slots": ("Slotted().m(x)", [sets("Slotted", "m", zero)]),
    "a helper of a method": ("C().calls(x)", [sets("C", "calls", zero)]),
    "code of a method": ("C().m(x)", [code("C.m", lambda self, x: x * 5)]),
    "defaults of a method": ("C().keywords(x)", [
        sets("C.keywords", "__defaults__", (5,)),
        sets("C.keywords", "__kwdefaults__", {"j": 5}),
    ]),
    "code of a helper": ("helper(x)", [code("helper", lambda x: x * 5)]),
    "code of a helper's helper": ("helper(x)", [code("inner", lambda x: x * 5)]),
    "code that reads more": ("helper(x)", [
        code("helper", lambda x: x * SCALE + W),  # noqa: F821
        lambda m: m.__dict__.update(SCALE=2, W=np.ones(3, np.float32)),
        lambda m: m.__dict__.update(SCALE=3, W=np.zeros(3, np.float32)),
    ]),
    "defaults of a helper": ("defaults(x)", [
        sets("defaults", "__defaults__", (5,)),
        sets("defaults", "__kwdefaults__", {"j": 7}),
        lambda m: m.defaults.__kwdefaults__.update(j=8),
        sets("defaults", "__defaults__", None),
    ]),
    "a module by a name": ("np.abs(x)", [
        sets("np", "__class__", types.ModuleType),
        lambda m: setattr(m, "np", types.SimpleNamespace(abs=lambda x: x * 7)),
    ]),
}  # fmt: skip

APPEARED = {
    "a class's attribute": ("x * getattr(C, 'gain', 1)", [
        sets("C", "gain", 5), sets("C", "gain", 6), deletes("C", "gain"),
    ]),
    "one of a base": ("x * getattr(C, 'gain', 1)", [sets("Base", "gain", 5)]),
    "one of a metaclass": ("x * getattr(Made, 'gain', 1)", [sets("Meta", "gain", 5)]),
    "whether there is one": ("x * (2 if hasattr(C, 'gain') else 1)", [
        sets("C", "gain", 5), deletes("C", "gain"),
    ]),
    "one of an object": ("x * getattr(Plain(), 'gain', 1)", [sets("Plain", "gain", 5)]),
    "one of a computed name": ("x * getattr(Plain, 'ga' + str('in'), 1)", [
        sets("Plain", "gain", 5),
    ]),
    "a function's attribute": ("x * getattr(helper, 'gain', 1)", [
        sets("helper", "gain", 5), sets("helper", "gain", 6), deletes("helper", "gain"),
    ]),
    "a function's, tried": ("""
    try:
        return x * helper.gain
    except AttributeError:
        return x
""", [sets("helper", "gain", 5), sets("helper", "gain", 6)]),
    "a module's attribute": ("x * getattr(other, 'gain', 1)", [
        sets("other", "gain", 5), sets("other", "gain", 6), deletes("other", "gain"),
    ]),
    "a module's of a computed name": ("x * getattr(other, 'ga' + str('in'), 1)", [
        sets("other", "gain", 5),
    ]),
    "a module's, tried": ("""
    try:
        return x * other.gain
    except AttributeError:
        return x
""", [sets("other", "gain", 5), sets("other", "gain", 6)]),
    "a global, tried": ("""
    try:
        k = SCALE
    except NameError:
        k = 1
    return x * k
""", [lambda m: setattr(m, "SCALE", 2), lambda m: setattr(m, "SCALE", None)]),
    "a global": ("x * G", [
        lambda m: setattr(m, "G", 2), lambda m: setattr(m, "G", 3), lambda m: delattr(m, "G"),
        lambda m: setattr(m, "G", X),
    ]),
    "a shadow of a built-in function": ("x * len(x.shape)", [
        lambda m: setattr(m, "len", lambda s: 5), lambda m: delattr(m, "len"),
    ]),
    "a shadow in a helper": ("doubled(x)", [lambda m: setattr(m, "max", lambda *s: 5)]),
}  # fmt: skip


@pytest.fixture(params=["versions", "looking"])
def how(request, monkeypatch):
    """With the numbers that CPython keeps, and without."""
    if request.param == "looking":
        monkeypatch.setattr(versions, "KNOWS_CLASSES", False)
        monkeypatch.setattr(versions, "KNOWS_DICTS", False)


@pytest.mark.parametrize("name", [*REPLACED, *APPEARED])
def test_a_change_is_seen_at_the_next_call(name, there, how):
    there.other = types.ModuleType("another_redefined_module")
    exec("def doubled(x): return x * max(1, 2)", there.__dict__)
    source, steps = {**REPLACED, **APPEARED}[name]
    fn = function(there, source)

    same_at_each_step(fn, [functools.partial(step, there) for step in steps])


def own(x, k=2, *, j=1):
    return x * k + j


@pytest.mark.parametrize("steps", {
    "defaults": lambda f: [lambda: setattr(f, "__defaults__", (5,))],
    "defaults that go": lambda f: [lambda: setattr(f, "__defaults__", None)],
    "defaults by name": lambda f: [
        lambda: setattr(f, "__kwdefaults__", {"j": 5}), lambda: f.__kwdefaults__.update(j=7),
    ],
    "code": lambda f: [
        lambda: setattr(f, "__code__", (lambda x, k, *, j: x - k).__code__),
        lambda: setattr(f, "__code__", (lambda x: x - 9).__code__),
        lambda: setattr(f, "__code__", (lambda x, k, m=4, *, j: x - 9).__code__),
    ],
}.items(), ids=lambda item: item[0])  # fmt: skip
def test_the_functions_own_code_and_defaults(steps):
    fn = types.FunctionType(own.__code__, globals(), "own", own.__defaults__)
    fn.__kwdefaults__ = dict(own.__kwdefaults__)
    same_at_each_step(fn, steps[1](fn))


def test_they_are_those_of_the_fused_function_too():
    fn = types.FunctionType(own.__code__, globals(), "own", own.__defaults__)
    fn.__kwdefaults__ = dict(own.__kwdefaults__)
    fused = ow.fuse(fn)
    np.testing.assert_array_equal(fused(X), X * 2 + 1)

    fused.__defaults__, fused.__kwdefaults__ = (5,), {"j": 3}
    np.testing.assert_array_equal(fused(X), X * 5 + 3)
    assert (fn.__defaults__, fused.__defaults__) == ((5,), (5,))

    fused.__code__ = (lambda x, k, *, j: x - k).__code__
    np.testing.assert_array_equal(fused(X), X - 5)


def test_a_callable_object_has_its_classs_call(there):
    made = there.C()
    same_at_each_step(made, [
        functools.partial(sets("C", "__call__", lambda self, x: x * 7), there),
        functools.partial(sets("C", "__call__", lambda self, x, k=4: x * k), there),
        functools.partial(sets("C.__call__", "__defaults__", (5,)), there),
    ])  # fmt: skip


def unless(plain, *given):
    """Another function for some arguments; for all others, which pytest may have, as it was."""
    kind = type(given[0])

    def other(*args, **names):
        is_given = args and type(args[0]) is kind and args == given
        return 7 if is_given else plain(*args, **names)

    return other


@pytest.mark.parametrize(
    ("source", "where", "name", "other"),
    [
        ("x * len('aha')", builtins, "len", unless(len, "aha")),
        ("x * max(11, 12)", builtins, "max", unless(max, 11, 12)),
        (
            "x * (2 + isinstance('aha', int))",
            builtins,
            "isinstance",
            unless(isinstance, "aha", int),
        ),
        ("np.sqrt(x)", np, "sqrt", lambda x: x * 7),
        ("np.ones(3) + x", np, "ones", lambda n: np.zeros(n)),
        ("getattr(np, 'sq' + str('rt'))(x)", np, "sqrt", lambda x: x * 7),
        ("C().m(x)", "C", "m", lambda self, x: x * 7),
    ],
)
def test_what_is_patched_for_a_while(source, where, name, other, there, how):
    fn = function(there, source)
    where = getattr(there, where) if isinstance(where, str) else where
    fused, whole = ow.fuse(fn), ow.fuse(fn, fullgraph=True)
    plain = outcome(fn, X)
    for _ in range(3):
        assert outcome(fused, X) == outcome(whole, X) == plain
        with mock.patch.object(where, name, other):
            patched = outcome(fn, X)
            for _ in range(2):
                assert outcome(fused, X) == patched != plain
                found = outcome(whole, X)
                assert isinstance(found, ow.OpweaveError) or found == patched
    assert outcome(fused, X) == plain
    assert fused._specialised.traces <= 4  # what was there once is traced once


def test_a_module_that_is_an_argument(there):
    fused = ow.fuse(lambda xp, x: xp.tanh(x))
    fused(np, X)
    with mock.patch.object(np, "tanh", lambda x: x * 7):
        np.testing.assert_array_equal(fused(np, X), X * 7)


def test_another_class_with_its_own_methods(there, how):
    fused = ow.fuse(lambda made, x: made.m(x))
    slow, fast = type("Slow", (there.C,), {}), type("Fast", (there.C,), {"m": lambda s, x: x * 2})
    for _ in range(2):
        np.testing.assert_array_equal(fused(slow(), X), X + 1)
        np.testing.assert_array_equal(fused(fast(), X), X * 2)
    fast.m = slow.m = lambda self, x: x * 3
    for _ in range(2):
        np.testing.assert_array_equal(fused(slow(), X), X * 3)
        np.testing.assert_array_equal(fused(fast(), X), X * 3)
    del fast.m, slow.m
    np.testing.assert_array_equal(fused(slow(), X), X + 1)
    assert fused._specialised.traces == 4


def test_a_miss_says_what_was_changed(there):
    fused = ow.fuse(function(there, "C().m(x)"))
    fused(X)
    there.C.m = zero
    fused(X)

    assert "was changed" in fused.traces[1]


def test_versions_are_known_where_python_keeps_them():
    assert versions.KNOWS_CLASSES
    assert versions.KNOWS_DICTS or versions.sys.version_info >= (3, 13)
