"""Programs of ordinary Python around arrays: fused, whole or not, they do what plain Python does."""

import asyncio
import contextlib
import contextvars
import copy
import ctypes
import datetime
import decimal
import fractions
import functools
import hashlib
import io
import itertools
import json
import pickle
import queue
import statistics
import struct
import threading
import types
import warnings
import weakref
import zlib

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes.errors import TraceError

LIBRARY_IN_PARTS = True
X = np.arange(6.0) + 1


def parted(x):
    """What makes the function that calls it run in parts."""
    return bool(np.sort(x)[0] > -1e9)


def does_the_same(f, *args):
    """Three calls of a function, plain and fused; what is returned must be equal, in types too."""
    fused = ow.fuse(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ow.OpweaveWarning)
        for _ in range(3):
            want, got = outcome(f, args), outcome(fused, args)
            assert shown(got) == shown(want)


def outcome(f, args):
    try:
        return f(*copy.deepcopy(args))
    except Exception as error:
        return type(error), error.args[0] if type(error) is not TypeError else ""


def shown(value):
    """A value as text, with the types of all that it holds."""
    if isinstance(value, list | tuple | set | frozenset):
        return type(value).__name__, [shown(v) for v in value]
    if isinstance(value, dict):
        return type(value).__name__, [(k, shown(v)) for k, v in value.items()]
    if isinstance(value, np.ndarray):
        return type(value).__name__, str(value.dtype), value.shape, value.tobytes()
    return type(value).__name__, repr(value)


# Of the memory of arrays


def views_that_write(y):
    struct.pack_into("d", y, 8, 3.5)
    (ctypes.c_double * 6).from_buffer(y)[0] = 8.0
    return y, np.frombuffer(y), y[0]


def written(x):
    x[0] = 7
    return x.copy()


def saved(y):
    held = io.BytesIO()
    np.save(held, y)
    held.write(y)
    return held.getvalue()


MEMORY = {
    "bytes": lambda y: (bytes(y), bytearray(y), bytes(y.sum())),
    "memoryview": lambda y: (memoryview(y).tobytes(), memoryview(y)[1]),
    "frombuffer": lambda y: (np.frombuffer(y), np.frombuffer(y, dtype=np.uint8)),
    "BytesIO": lambda y: io.BytesIO(y).read(),
    "save": saved,
    "hashlib": lambda y: (hashlib.sha256(y).hexdigest(), zlib.crc32(y)),
    "views": views_that_write,
    "reduce": lambda y: (str(y.__reduce__()), str(y.__reduce_ex__(2))),
    "pickle": lambda y: (pickle.dumps(y), pickle.loads(pickle.dumps([y]))),
    "copy": lambda y: (copy.copy(y), copy.deepcopy([y, y])),
    "dlpack": lambda y: (np.from_dlpack(y), y.__dlpack_device__()),
    "struct": lambda y: struct.unpack_from("d", y, 8),
}  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("name", MEMORY)
def test_the_memory_of_an_array_is_numpys(name):
    does_the_same(lambda x: MEMORY[name](x * 2), X)
    does_the_same(lambda x: (parted(x), MEMORY[name](x * 2)), X)
    does_the_same(lambda x: (written(x), MEMORY[name](x * 2)), X)


class Encoder:
    def __call__(self, x):
        return parted(x), self.encoded(x * 2)

    def encoded(self, y):
        return struct.unpack_from("d", y, 8)


class OtherEncoder(Encoder):
    pass


IN_METHODS = {
    "a callable object": (Encoder(), X),
    "of a class derived": (OtherEncoder(), X),
    "a bound method": (Encoder().__call__, X),
    "a method of an argument": (lambda e, x: (parted(x), e.encoded(x * 2)), Encoder(), X),
    "a call of an argument": (lambda e, x: e(x), Encoder(), X),
    "of an object made inside": (lambda x: Encoder()(x), X),
}


@pytest.mark.host
@pytest.mark.parametrize("name", IN_METHODS)
def test_a_method_that_takes_memory_gets_numpys(name):
    does_the_same(*IN_METHODS[name])


def test_what_takes_memory_runs_by_the_plain_function():
    fused = ow.fuse(lambda x: (parted(x), hashlib.sha256(x * 2).hexdigest()))

    with pytest.warns(ow.OpweaveWarning, match="uses hashlib.sha256.*call that outside"):
        fused(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fused(X)


def test_memory_of_a_call_beyond_the_limit_of_kinds_is_numpys():
    def function(x, n):
        y = x * sum(range(n))
        return zlib.crc32(y) if n > 3 else y

    fused = ow.fuse(function)
    with ow.config(recompile_limit=2), warnings.catch_warnings():
        warnings.simplefilter("ignore", ow.OpweaveWarning)
        for n in range(1, 6):
            np.testing.assert_array_equal(fused(X, n), function(X, n))


def test_what_takes_memory_is_refused_as_a_whole_with_a_remedy():
    with pytest.raises(TraceError, match="uses struct.unpack_from.*call that outside"):
        ow.fuse(lambda x: struct.unpack_from("d", x * 2), fullgraph=True)(X)


@pytest.mark.host
def test_bytes_that_are_asked_for_as_a_class_change_nothing():
    def f(x, tag="a"):
        return x * 2 if isinstance(tag, bytes) else x * 3

    fused = ow.fuse(f, fullgraph=True)

    np.testing.assert_array_equal(fused(X), X * 3)


# Of the standard library

LIBRARY = {
    "statistics": lambda y: (statistics.mean(y), statistics.median(y), statistics.stdev(y)),
    "mode": lambda y: (statistics.mode(y), statistics.quantiles(y)),
    "decimal": lambda y: (decimal.Decimal(y.sum()), datetime.timedelta(seconds=y.sum())),
    "fractions": lambda y: (fractions.Fraction(y[0]), y.sum() * fractions.Fraction(1, 2)),
    "json": lambda y: json.dumps([y.sum(), y[0]]),
    "sets": lambda y: [sorted(set(y)), frozenset(y[:1])],
    "repeated": lambda y: ([0] * y.astype(int)[1], "ab" * y.astype(int)[0]),
    "not repeated": lambda y: [0] * y[1],
}  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("name", LIBRARY)
def test_the_standard_library_sees_arrays_and_numbers(name):
    does_the_same(lambda x: LIBRARY[name](x * 2), X)
    does_the_same(lambda x: (parted(x), LIBRARY[name](x * 2)), X)


# Of what is no method of an array


def deleted(y):
    del y[0]


def deleted_of_a_number(y):
    del y.sum()[0]


@pytest.mark.host
@pytest.mark.parametrize("f", [deleted, deleted_of_a_number])
def test_elements_are_not_deleted(f):
    does_the_same(lambda x: f(x * 2), X)
    does_the_same(lambda x: parted(x) and f(x * 2), X)


# Of what outlives a call

VARIABLE = contextvars.ContextVar("variable")
LOCAL = threading.local()
QUEUE = queue.SimpleQueue()
KEPT = {}


class Holder:
    def __init__(self, v):
        self.v = v

    def method(self):
        return self.v


def in_a_variable(y):
    VARIABLE.set(y)
    LOCAL.y = y
    QUEUE.put(y)
    return lambda: (VARIABLE.get(), LOCAL.y, QUEUE.get())


def with_attributes(y):
    def f():
        return f.y, f.held

    f.y, f.held = y, [y]
    return f


def remembering(y):
    @functools.lru_cache
    def f(n):
        return y * n

    f(2)
    return lambda: f(2)


def referred_to(y):
    found = weakref.ref(y)
    return lambda: (y, found() is y)


def registered(y):
    def register(f):
        KEPT["f"] = f

    @register
    def f():
        return y

    return lambda: KEPT["f"]()


def of_a_class(y):
    class Made:
        held = y

        def method(self):
            return y

        @property
        def attribute(self):
            return y + 1

    made = Made()
    return lambda: (made.held, made.method(), made.attribute, Made.held)


def kept_error(y):
    try:
        raise ValueError(y)
    except ValueError as error:
        found = error
    return lambda: (found.args[0], found.__traceback__.tb_frame.f_locals["y"])


@contextlib.contextmanager
def managed(y):
    yield y * 2


def entered(y):
    held = managed(y)
    return lambda: held.__enter__()


OUTLIVING = {
    "variable": in_a_variable,
    "method": lambda y: y.sum,
    "method's owner": lambda y: lambda m=y.mean: (m.__self__, m.__name__, m()),
    "method of an object": lambda y: Holder(y).method,
    "attributes": with_attributes,
    "cache": remembering,
    "weakref": referred_to,
    "registry": registered,
    "class": of_a_class,
    "error": kept_error,
    "partial": lambda y: functools.partial(np.multiply, y, 2),
    "partial of names": lambda y: functools.partial(lambda a, b: a + b, 1, b=y),
    "proxy": lambda y: types.MappingProxyType({"a": y}).copy,
    "iterators": lambda y: functools.partial(list, itertools.product([y], itertools.repeat(y, 2))),
    "manager": entered,
}  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("name", OUTLIVING)
@pytest.mark.parametrize("is_parted", [False, True])
def test_what_outlives_a_call_holds_arrays(name, is_parted):
    def f(x):
        if is_parted:
            parted(x)
        return OUTLIVING[name](x * 2)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ow.OpweaveWarning)
        fused = ow.fuse(f)
        for _ in range(2):
            assert shown(fused(X)()) == shown(f(X)())


@pytest.mark.host
def test_an_object_of_a_class_made_inside_is_of_a_new_class_each_time():
    def f(x):
        class Made:
            pass

        made = Made()
        made.v = x * 2
        return made

    one, two = ow.fuse(f)(X), ow.fuse(f)(X)

    assert type(one) is not type(two)
    assert type(one.v) is np.ndarray


# Of code that goes on after a call

COUNT = {"n": 0}
TOTAL = 0


async def later(x):
    await asyncio.sleep(0)
    COUNT["n"] += 1
    return x * COUNT["n"]


async def pieces(x):
    global TOTAL
    yield x * 2
    TOTAL += 1
    yield x * TOTAL


def by_turns(x):
    global TOTAL
    yield x * 2
    TOTAL += 1
    yield x * TOTAL


async def all_of(found):
    return [piece async for piece in found]


GOING_ON = {
    "coroutine": (later, asyncio.run),
    "generator": (by_turns, list),
    "asynchronous generator": (pieces, lambda made: asyncio.run(all_of(made))),
    "coroutine of a helper": (lambda x: later(x + 1), asyncio.run),
    "generator of a helper": (lambda x: by_turns(x + 1), list),
    "run inside": (lambda x: asyncio.run(later(x)), lambda made: made),
    "gathered": (lambda x: asyncio.run(all_of(pieces(x))), lambda made: made),
}  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("name", GOING_ON)
def test_code_that_goes_on_after_the_call_sees_what_is_there_then(name):
    global TOTAL
    f, finished = GOING_ON[name]
    found = []
    for called in (f, ow.fuse(f)):
        COUNT["n"] = TOTAL = 0
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # also of coroutines that nobody awaits
            warnings.simplefilter("ignore", ow.OpweaveWarning)
            made = [called(X) for _ in range(3)]
            found.append((shown([finished(m) for m in made]), COUNT["n"], TOTAL))

    assert found[0] == found[1]


@pytest.mark.parametrize("f", [later, pieces, by_turns])
def test_code_that_goes_on_is_refused_as_a_whole_with_a_remedy(f):
    with pytest.raises(TraceError, match=r"line \d+.*; fuse a plain function that it calls"):
        ow.fuse(f, fullgraph=True)(X)
    with pytest.warns(ow.OpweaveWarning, match="goes on after the call"):
        made = ow.fuse(f)(X)
    if hasattr(made, "close"):
        made.close()


INNER, OUTER = types.ModuleType("an_inner_module"), types.ModuleType("an_outer_module")
INNER.np, OUTER.inner, OUTER.json = np, INNER, json


class LooksAtNames:
    def __call__(self, x):
        return vars(INNER)["np"] is np, x * 2


IN_MODULES = {
    "by getattr": lambda x: (INNER.np is np, x * 2),
    "in its dict": lambda x: (INNER.__dict__["np"] is np, x * 2),
    "by vars": lambda x: (vars(INNER)["np"] is np, x * 2),
    "by vars, in a callable object": LooksAtNames(),
    "of the user's": lambda x: (OUTER.inner is INNER, OUTER.__dict__["inner"] is INNER, x * 2),
    "of others": lambda x: (OUTER.json is json, OUTER.__dict__["json"] is OUTER.json, x * 2),
    "through two": lambda x: (OUTER.inner.np is np, OUTER.__dict__["inner"].np is np, x * 2),
}


@pytest.mark.host
@pytest.mark.parametrize("name", IN_MODULES)
def test_a_module_in_a_module_is_one_object(name):
    does_the_same(IN_MODULES[name], X)
    does_the_same(lambda x: (parted(x), IN_MODULES[name](x)), X)
