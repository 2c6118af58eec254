"""Questions about types, attributes and identity get Python's answer inside a fused function."""

import builtins
import copy
import enum
import functools
import math
import numbers
import operator
import sys
import types
from collections import ChainMap, Counter, deque
from collections.abc import Hashable, Iterable, Sized
from dataclasses import dataclass, field
from unittest import mock

import numpy as np
import numpy as xp_global
import pytest

import opweave as ow
from tests.support.differential import does_the_same

LIBRARY_IN_PARTS = True
X = np.arange(12.0, dtype=np.float32).reshape(3, 4) / 7
D = np.linspace(0.5, 2, 8)
_MISSING = object()


class Sentinel:
    pass


NOTHING = Sentinel()
DEFAULT = np.array([1.0, 2.0], np.float32)
TYPES = {np.ndarray: 2.0, float: 3.0, int: 4.0, np.float64: 5.0, np.float32: 6.0}


@functools.singledispatch
def doubled(value):
    return value * 100


@doubled.register
def _(value: np.ndarray):
    return value * 2


@doubled.register
def _(value: float):
    return value * 3


@functools.lru_cache
def table(n):
    return n * 2.0


def module_of(x):
    return np if isinstance(x, np.ndarray) else math


def module_by_type(x):
    return sys.modules[type(x).__module__.split(".")[0]]


def replaced_unless_array(x):
    if not isinstance(x, np.ndarray):
        x = np.array([0.0])
    return x + 1


def by_type(x):
    return x * TYPES[type(x)]


def in_a_match(x):
    match x:
        case float():
            return x * 2
        case np.ndarray():
            return x * 3
        case _:
            return x * 4


def of_a_bool(x, flag):
    match flag:
        case True:
            return x * 2
        case False:
            return x * 3
        case _:
            return x * 4


def singletons(x, w=_MISSING, s=NOTHING):
    if w is _MISSING:
        x = x + 1
    if s is NOTHING:
        x = x + 2
    return x


@dataclass
class Options:
    flag: bool = True
    mode: object = NOTHING
    scale: float = 2.0
    history: list = field(default_factory=list)


def by_attributes(x, o):
    if o.flag is True:
        x = x * 2
    if o.mode is NOTHING:
        x = x + 1
    return x


def by_class(x, o):
    return x * 2 if o.__class__ is Options and type(o) is Options else x


def import_inside(x):
    from numpy import asarray

    return x * (2 if asarray(x) is x else 3)


def import_as_inside(x):
    import numpy as inner
    import numpy.linalg as la

    return inner.sin(x) * (2 if inner is np and la is np.linalg else 3)


def remembered(x, s):
    return x * table(s)


def duck(x):
    x = getattr(x, "value", x)
    return x * (2 if hasattr(x, "tracer") or hasattr(x, "of") else 3)


def in_try(x):
    try:
        x = getattr(x, "values") + 1000  # noqa: B009
    except AttributeError:
        x = x + 1
    return x


class Celsius(float):
    def warmer(self):
        return Celsius(self + 1)


def text_of(function, *args):
    try:
        return function(*args)
    except Exception as error:
        return type(error), str(error)


def of_a_mapping(x, table):
    match table:
        case {"w": np.ndarray() as w, "k": int()}:
            return x * 2 + w.sum()
        case _:
            return x * 3


def of_a_sequence(x, items):
    match items:
        case [first, *_]:
            return x * first
        case _:
            return x * 3


def boxed(item):
    made = np.empty((), object)
    made[()] = item
    return made


class Level(enum.IntEnum):
    HIGH = 3


class AnsweringDict(dict):
    __getattr__ = dict.get


class Nameless:
    __array_struct__ = "none"


class Slotted:
    __slots__ = ("data",)

    def __eq__(self, other):
        return type(other) is Slotted

    __hash__ = None


SENTINEL_BOX = Options(scale=5.0)


class Truth:
    def of(self, x, s):
        return x * 2 if (s > 1) is True else x * 3

    def of_two(self, a, b):
        return a * 2 if a is b else a * 3


def applied(function, *args):
    return function(*args)


def copied_number(x, s):
    return x * 2 if copy.copy(s) > 1 and copy.deepcopy([s])[0] < 2 else x * 3


ASKED = {
    "a comparison in a method": (lambda x, s, t: t.of(x, s), X, 1.5, Truth()),
    "a comparison in a function given": (
        lambda x, s, f: applied(f, x, s), X, 1.5, lambda x, s: x * 2 if True is (s > 1) else x),
    "identity in a method": (lambda a, b, t: t.of_two(a, b), X, X, Truth()),
    "identity in a function given": (
        lambda a, b, f: applied(f, a, b), X, X, lambda a, b: a * 2 if a is b else a),
    "an object and what equals all": (
        lambda x, o: x * (2 if o == mock.ANY and [o] == [mock.ANY] else 3), X, Truth()),
    "type with brackets": (lambda x: x * (2 if type[int] == type[int] else 3), X),
    "type in a union": (lambda x: x * (2 if isinstance(x, type | np.ndarray) else 3), X),
    "text: a number's length": (lambda x, s: (x, text_of(len, s)), X, 2),
    "text: NumPy's number's length": (lambda x, s: (x, text_of(len, s)), X, np.int64(2)),
    "text: a number is iterated": (lambda x, s: (x, text_of(iter, s)), X, 2.5),
    "text: a number is called": (lambda x, s: (x, text_of(lambda: s())), X, np.float32(2)),
    "text: a number and a text": (lambda x, s: (x, text_of(lambda: s + "a")), X, 2.5),
    "text: an array is called": (lambda x: (x * 2, text_of(lambda: x())), X),
    "text: a module is negated": (lambda x: (x * 2, text_of(lambda: -np)), X),
    "text: an index of a float": (lambda x, s: (x, text_of(operator.index, s)), X, np.float64(2)),
    "text: an index of a sum": (lambda x: (x, text_of(operator.index, x.sum())), D),
    "a copy of what no guard knows": (lambda x, d: x * len(copy.copy(d)), X, deque([2, 3])),
    "text: a read-only array is added to": (
        lambda x: (x.setflags(write=False), text_of(lambda: operator.iadd(x, 1)))[1], X[:]),
    "a length that an object has not": (
        lambda x, o: (x, hasattr(o, "__len__"), getattr(o, "__iter__", 3)), X, Slotted()),
    "a length that an object has": (lambda x, o: (x, hasattr(o, "__len__"), len(o)), X, deque([1])),
    "builtins.type": (lambda x: x * 2 if builtins.type(x) is np.ndarray else x, X),
    "builtins.isinstance": (lambda x: x * (2 if builtins.isinstance(x, Sized) else 3), X),
    "builtins.max": (lambda x, s: x * builtins.max(s, 2.0), X, 1.5),
    "its exchange": (
        lambda x: (x, hasattr(x, "__dlpack__"), hasattr(x.sum(), "__dlpack__")), D),
    "text: a sum's length": (lambda x: (x, text_of(lambda: len(x.sum()))), D),
    "text: a sum is iterated": (lambda x: (x, text_of(lambda: iter(x.sum()))), D),
    "text: a sum has an element": (lambda x: (x, text_of(lambda: 2 in x.sum())), D),
    "text: an array without dimensions": (
        lambda x: (x, text_of(lambda: len(x)), text_of(lambda: iter(x))), D[0, ...]),
    "a view of all of a result": (
        lambda x: (lambda y: (y, y.T, y[:], y is y.reshape(-1)))(x + 1), D),
    "NumPy's number and one of an own class": (
        lambda x, s, c: (x, s + c, c * s, s - Level.HIGH), X, np.float32(0.5), Celsius(2.5)),
    "one of an own class and NumPy's number": (
        lambda x, s, c: (x, c + s, c * s, s - c, c ** (s + 1), (s + 1) % c, 1j + s, s * 1j), X, np.float64(0.5), Celsius(2.5)),
    "one of an own class compared with NumPy's number": (
        lambda x, s, c: (x, c < s + 1, s > c, s == 1j), X, np.float64(0.5), Celsius(2.5)),
    "text: NumPy's number is not iterable": (
        lambda x, s: (x, text_of(lambda: sum(s)), text_of(lambda: list(s)), text_of(lambda: 3 in s)), X, np.int64(3)),
    "text: an element of NumPy's number": (lambda x, s: (x, text_of(lambda: s[0]), s[()]), X, np.int64(3)),
    "a number of an own class before one of NumPy's": (
        lambda x, c: (x, (c < x.sum()) is True, (x.sum() > c) is True, (c == x[0]) is False), X, Celsius(2.5)),
    "a complex number before one of NumPy's": (lambda x, c: (x, (c == x.sum()) is False), X, 1j),
    "a count of numbers": (lambda x: (x, Counter([1, 2, x[1:3] @ x[1:3]])), np.arange(8.0)),
    "its priority": (lambda x: (x, x.__array_priority__, x.sum().__array_priority__), D),
    "a number's priority": (
        lambda x, s, i: (x, getattr(s, "__array_priority__", "none"), getattr(i, "__array_priority__", "none"),
                         x[x > 1].__array_priority__), D, np.int64(3), 3),
    "an operand with NumPy's protocols": (lambda x, o: (x, text_of(lambda: x + o)), X, Nameless()),
    "NumPy's number and a text": (lambda x, s: (x, s == "mean", s != "mean"), X, np.int64(3)),
    "NumPy's number and a list": (lambda x, s: (x, s + [1, 2], s == [3, 4]), X, np.int64(3)),  # noqa: RUF005
    "Python's number and a text": (lambda x, s: (x, s == "mean"), X, 3),
    "a number of an own class": (lambda x, c: (x * c, c, c.warmer(), c + 1), X, Celsius(2.5)),
    "a match of a mapping": (of_a_mapping, X, ChainMap({"w": D}, {"k": 2})),
    "a match of a sequence": (of_a_sequence, X, deque([2, 3])),
    "an iterator's type": (lambda x: (x * 2, type(iter(x)).__name__), X),
    "an object in an array of objects": (
        lambda x, o: (x * 2, boxed(o)[()] is o), X, SENTINEL_BOX),
    "isinstance of an array": (replaced_unless_array, X),
    "isinstance of a tuple of types": (lambda x: x * 2 if isinstance(x, (list, np.ndarray)) else x, X),
    "isinstance of a union": (lambda x: x * 2 if isinstance(x, list | np.ndarray) else x, X),
    "type is": (lambda x: x * 2 if type(x) is np.ndarray else x, X),
    "type ==": (lambda x: x * 2 if type(x) == np.ndarray else x, X),  # noqa: E721
    "type in": (lambda x: x * 2 if type(x) in (np.ndarray, list) else x, X),
    "__class__": (lambda x: x * 2 if x.__class__ is np.ndarray else x, X),
    "the name of the type": (lambda x: x * len(type(x).__name__), X),
    "issubclass": (lambda x: x * 2 if issubclass(type(x), np.ndarray) else x, X),
    "its interface": (lambda x: x * 2 if hasattr(x, "__array_interface__") else x, X),
    "its methods": (lambda x: x * 2 if hasattr(x, "sum") and hasattr(x, "tofile") else x, X),
    "no attributes of ours": (duck, X),
    "an attribute that is not there": (in_try, X),
    "a sum is no float": (lambda x: 2.0 if isinstance(x.sum(), float) else x * 3, X),
    "a sum is a float": (lambda x: x * (2.0 if isinstance(x.sum(), float) else 3), D),
    "a sum is a number": (lambda x: x * (2.0 if isinstance(x.sum(), numbers.Real) else 3), D),
    "a sum is a generic": (lambda x: x * (2.0 if isinstance(x.sum(), np.generic) else 3), X),
    "the type of a sum": (lambda x: x * (2.0 if type(x.sum()) is np.float32 else 3), X),
    "isscalar": (lambda x: x * (2.0 if np.isscalar(x.sum()) and not np.isscalar(x) else 3), D),
    "iterable": (lambda x: x * (2.0 if isinstance(x, Iterable) else 3), X),
    "a sum is not iterable": (lambda x: x * (2.0 if isinstance(x.sum(), Iterable) else 3), X),
    "sized": (lambda x: x * (2.0 if isinstance(x, Sized) else 3), X),
    "not hashable": (lambda x: x * (2.0 if isinstance(x, Hashable) else 3), X),
    "a number's type": (lambda x, s: x * (2.0 if type(s) is float else 3), X, 1.5),
    "a number's instance": (lambda x, s: x * (2.0 if isinstance(s, (int, float)) else 3), X, 3),
    "a number is no bool": (lambda x, s: x * (2.0 if isinstance(s, bool) else 3), X, 1),
    "a table by type": (by_type, X),
    "a table by a number": (lambda x, s: x * {1: 2.0, 2: 3.0}.get(s, 5.0), X, 2),
    "a table by an array": (lambda x: x * {1: 2.0}.get(x, 3), X),
    "a key of a local table": (lambda x, s: x * {s: 2.0}[1.5], X, 1.5),
    "a match of classes": (in_a_match, X),
    "a match of a sum": (lambda x: in_a_match(x.sum()), D),
    "a bool is True": (lambda x, flag: x * 2 if flag is True else x * 3, X, True),
    "a bool is False": (lambda x, flag: x * 2 if flag is False else x * 3, X, False),
    "NumPy's bool": (lambda x, flag: x * 2 if flag is np.True_ else x * 3, X, np.True_),
    "NumPy's bool is not True": (lambda x, flag: x * 2 if flag is True else x * 3, X, np.True_),
    "a default bool": (lambda x, flag=True: x * 2 if flag is True else x * 3, X),
    "a bool in a list": (lambda x, flags: x * 2 if flags[0] is True else x * 3, X, [True, False]),
    "a bool in a dict": (lambda x, flags: x * 2 if flags["a"] is True else x * 3, X, {"a": True}),
    "a match of a bool": (of_a_bool, X, True),
    "a match of False": (of_a_bool, X, False),
    "a match of 1": (of_a_bool, X, 1),
    "a comparison is a bool": (lambda x, s: x * 2 if (s > 1) is True else x * 3, X, 1.5),
    "NumPy's truth of a sum": (lambda x: x * (2 if (x > 0).any() is np.True_ else 3), X),
    "a comparison of extents": (lambda x: x * (2 if (x.shape[0] > 2) is True else 3), X),
    "a comparison in a match": (lambda x, s: of_a_bool(x, s > 1), X, 1.5),
    "sentinels": (singletons, X),
    "a sentinel that is given": (singletons, X, X[:1]),
    "attributes": (by_attributes, X, Options()),
    "an object's class": (by_class, X, Options()),
    "one array twice": (lambda a, b: a * 2 if a is b else a * 3, X, X),
    "a list twice": (lambda a, b: a[0] * 2 if a is b else a[0] * 3, *([[X]] * 2)),
    "an array among others": (lambda x, xs: x * 2 if any(x is y for y in xs) else x, X, [D, X]),
    "an array in a list": (lambda x, y: x * 2 if x in [x, y] else x, X, D),
    "a number twice": (lambda x, a, b: x * 2 if a is b else x * 3, X, *([1.5] * 2)),
    "what a function returns": (lambda x: x * 2 if np.asarray(x) is x else x * 3, X),
    "asanyarray": (lambda x: x * 2 if np.asanyarray(x) is x else x * 3, X),
    "not its copy": (lambda x: x * 2 if x.copy() is x else x * 3, X),
    "a module": (lambda x: x * 2 if isinstance(np, types.ModuleType) else x * 3, X),
    "the type of a module": (lambda x: x * 2 if type(np) is types.ModuleType else x * 3, X),
    "a module by another name": (lambda x: x * 2 if xp_global is np else x * 3, X),
    "a module as a default": (lambda x, xp=np: xp.sin(x) if xp is np else x * 3, X),
    "a module from a helper": (lambda x: np.sin(x) if module_of(x) is np else x * 3, X),
    "a module by the type": (lambda x: np.sin(x) if module_by_type(x) is np else x * 3, X),
    "sys.modules": (lambda x: x * 2 if sys.modules["numpy"] is np else x * 3, X),
    "in sys.modules": (lambda x: x * 2 if "numpy" in sys.modules else x * 3, X),
    "no module there": (lambda x: x * 2 if sys.modules.get("cupy") is None else x * 3, X),
    "an import inside": (import_inside, X),
    "imports under names": (import_as_inside, X),
    "singledispatch": (lambda x: doubled(x), X),
    "singledispatch of a number": (lambda x, s: x * doubled(s), X, 1.5),
    "lru_cache": (remembered, X, 1.5),
    "callable of an object": (lambda x, o, f: (x * 2, callable(o), callable(f), callable(np), callable(type)), X, AnsweringDict(w=1.0), text_of),
    "callable of an object beside 'is'": (lambda x, o: (callable(o), o is SENTINEL_BOX), X, AnsweringDict(w=1.0)),
    "callable": (lambda x: x * 2 if callable(x) else x * 3, X),
    "operator.is_": (lambda a, b: a * 2 if operator.is_(a, b) else a * 3, X, X),
    "operator.contains": (lambda a, b: a * 2 if operator.contains([b], a) else a * 3, X, X),
    "operator.is_ of a truth": (lambda x, s: x * 2 if operator.is_(s > 1, True) else x, X, 1.5),
    "id": (lambda a, b: a * 2 if id(a) == id(b) else a * 3, X, X),
}  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("parts", [False, True], ids=["whole", "in parts"])
def test_a_fused_function_is_told_what_python_tells(name, parts):
    fn, *args = ASKED[name]
    if parts:
        whole = fn

        def fn(*given):
            found = whole(*given)
            np.sort(
                np.asarray(given[0], dtype=float).ravel()
                if not isinstance(given[0], list)
                else [1.0]
            )
            return found

    does_the_same(fn, *args)


@pytest.mark.host
@pytest.mark.parametrize("parts", [False, True], ids=["whole", "in parts"])
def test_a_view_of_all_of_a_result_is_another_object(parts):
    def viewed(x):
        y = np.sort(x) + 1 if parts else x + 1
        return y, y.T, y[:], y

    one, *others, same = ow.fuse(viewed)(D)
    assert same is one
    assert len({id(found) for found in (one, *others)}) == 3
    assert all(np.shares_memory(one, other) for other in others)


@pytest.mark.host
def test_an_array_returned_twice_is_one_object():
    made = np.fromfunction(lambda i: i * 2, (3,))
    for fn in (
        lambda x: (x + 1, *[np.frombuffer(bytes(16))] * 2),
        lambda x: (x + 1, [made], made),
    ):
        _, one, same = ow.fuse(fn)(D)
        assert (one[0] if isinstance(one, list) else one) is same


@pytest.mark.host
def test_what_numpy_returns_of_its_out_argument_is_that_array():
    def written(x):
        v = x.T
        w = np.add(v, 1, out=v)
        return v, w, np.sort(w)

    one, same, _ = ow.fuse(written)(D.copy())
    assert one is same


@pytest.mark.host
@pytest.mark.parametrize("parts", [False, True], ids=["whole", "in parts"])
def test_a_view_of_all_of_an_argument_is_another_object(parts):
    x = np.arange(3.0)
    for fn in (
        lambda x: (x.T, x),
        lambda x: (x, x.T, x.T),
        lambda x: (lambda v: (v, v, x, v[:], x[...]))(x.T),
    ):
        found = ow.fuse(lambda x, fn=fn: (*fn(x), np.sort(x)) if parts else fn(x))(x)
        found, wanted = found[: len(fn(x))], fn(x)
        assert [[y is z for y in (x, *found)] for z in found] == [
            [y is z for y in (x, *wanted)] for z in wanted
        ]
        assert all(np.shares_memory(y, x) for y in found)


@pytest.mark.host
def test_a_copied_number_is_still_asked_for_at_each_call():
    fused = ow.fuse(copied_number)
    for s in (1.5, 3.5, 0.5, 1.25):
        np.testing.assert_array_equal(fused(X, s), copied_number(X, s))


@pytest.mark.host
@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda x, kind: x * 2 if kind in ("a", "b") else x, (X, "a")),
        (lambda a, b: a * 2 if a is b else a * b, (X, X)),
        (lambda x, b=None: x * 2 if b is None else x * b, (X, X)),
    ],
)
def test_a_question_keeps_a_warm_call_quick(function, args):
    fused = ow.fuse(function)
    fused(*args)
    assert fused._calls.quickly(args) is not None
    np.testing.assert_array_equal(fused(*args), function(*args))


@pytest.mark.host
def test_a_cache_keeps_no_stand_ins():
    table.cache_clear()
    ow.fuse(remembered)(X, 1.5)

    assert type(table(1.5)) is float


@pytest.mark.host
@pytest.mark.parametrize(
    "name", ["type is", "a bool is True", "sentinels", "a module", "isscalar"]
)
def test_questions_about_types_keep_a_function_whole(name):
    fn, *args = ASKED[name]

    assert len(ow.fuse(fn, fullgraph=True).lower(*args).kernels) == 1
