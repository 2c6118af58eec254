"""What only the user's own function can do: no copy of it, and nothing on stand-ins for arrays.

Such a function runs by NumPy.  Each reason is a text that ends with what to do instead.
"""

from __future__ import annotations

import builtins
import inspect
import re
import types
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from opweave.compiler.captures.bytecode import asks_frames, names_in, nested_codes, steps
from opweave.compiler.captures.capture import compares_objects, reads_of
from opweave.compiler.captures.owners import Function
from opweave.compiler.captures.places import Missing

# Code that goes on after the call of its function, and what it is named.
LATER = {
    inspect.CO_COROUTINE: "a coroutine",
    inspect.CO_ASYNC_GENERATOR: "an asynchronous generator",
    inspect.CO_ITERABLE_COROUTINE: "a coroutine",
}
# Methods that NumPy calls by itself, whose result tells of an array; and one that Python calls.
GIVING = ("__array__", "__array_interface__", "__array_struct__", "__del__")
# Attributes of stand-ins that arrays lack, as code may find by an AttributeError.
OURS = frozenset({"of", "origin", "tracer", "value"})
# Modules in C, and in Python above them, that read the memory of what they are given, or hold it
# where nobody can look.
MODULES = frozenset(
    """
    hashlib _hashlib _md5 _sha1 _sha2 _sha256 _sha512 _sha3 _blake2 hmac zlib bz2 _bz2 gzip lzma
    _lzma struct _struct binascii ctypes _ctypes mmap weakref _weakref _weakrefset contextvars
    _contextvars socket _socket marshal array xxhash _xxhash
    """.split()
)
# Of other modules, classes and functions that do so.
PARTS = frozenset(
    """
    builtins.bytes builtins.bytearray io.BytesIO _io.BytesIO io.BufferedWriter _io.BufferedWriter
    io.BufferedRandom _io.BufferedRandom _thread._local _queue.SimpleQueue numpy.frombuffer
    numpy.from_dlpack functools.lru_cache functools.cache
    """.split()
)
# Builtin classes that code names to ask ``isinstance``, too.
CALLED = ("bytes", "bytearray")
# What takes arrays of the class alone, where it is asked of the class.
DESCRIPTORS = types.MethodDescriptorType, types.WrapperDescriptorType
METHODS = frozenset(n for n, found in vars(np.ndarray).items() if isinstance(found, DESCRIPTORS))
# Modes of files of bytes, which take the memory of what is written.
OF_BYTES = re.compile(r"[rwax]\+?b\+?|[rwax]b?\+b?")


def never_copied(fn: Function) -> str | None:
    """Why copies of a function would get other answers, or None."""
    looks_at = asks_frames(fn.__code__)
    if looks_at is not None:
        return f"it calls {looks_at}, which copies answer otherwise; pass in what it looks up"
    for code in nested_codes(fn.__code__):
        if code.co_name in GIVING:
            return f"it defines {code.co_name}, which is called past us; move the class outside"
        if "AttributeError" in code.co_names and (asked := OURS.intersection(code.co_names)):
            return f"it asks for .{min(asked)}, which our stand-ins have; use hasattr or getattr"
    return None


def goes_on(fn: Function, is_called: bool = True) -> str | None:
    """Why nothing of a function can be compiled: its code goes on after the call; or None.

    A generator that a function calls may have ended when the function returns.
    """
    for code in nested_codes(fn.__code__):
        for flag, what in LATER.items():
            if code.co_flags & flag:
                return _later(code, what)
    if not is_called and fn.__code__.co_flags & inspect.CO_GENERATOR:
        return _later(fn.__code__, "a generator")
    return None


def is_async(fn: Function) -> bool:
    """True for a function whose code goes on after its call."""
    return any(fn.__code__.co_flags & flag for flag in LATER)


def _later(code: types.CodeType, what: str) -> str:
    return (
        f"{code.co_name}, line {code.co_firstlineno}, is {what}, which goes on after the call; "
        "fuse a plain function that it calls"
    )


def never_in_parts(fn: Function) -> str | None:
    """Why a function cannot run in parts, or None: it may be a whole nevertheless."""
    if compares_objects(fn):
        return (
            "it compares objects by 'is', which code of others may give back; compare with == or "
            "np.array_equal, or move the comparison out of the fused function"
        )
    return next(_opaque(fn), None)


def _opaque(fn: Function) -> Iterator[str]:
    """What takes arrays past their stand-ins, and what to do instead."""
    called, names = set[str](), names_in(fn.__code__)
    for _, instruction in steps(fn.__code__):
        if instruction.opname == "IMPORT_NAME" and _root(instruction.argval) in MODULES:
            yield _taking(instruction.argval)
        if "NULL" in instruction.argrepr:  # as Python pushes it before what is called
            called.add(instruction.argval)
    if "open" in names and any(OF_BYTES.fullmatch(name) for name in names):
        yield _taking("a file of bytes")
    for place, attributes in reads_of(fn):
        if place.name in CALLED and place.name not in called:
            continue
        value = place.read()
        value = vars(builtins).get(place.name) if value is Missing else value
        for name in attributes:
            if _is_opaque(value) or not isinstance(value, types.ModuleType):
                break
            value = vars(value).get(name)
        path = ".".join([place.name, *attributes])
        if _is_opaque(value):
            yield _taking(path)
        elif value is np.ndarray and attributes and attributes[-1] in METHODS:
            yield f"it uses {path}, which takes no stand-in for an array; use the array's own"


def _taking(name: str) -> str:
    return (
        f"it uses {name}, which takes the memory of an array, or keeps it where nobody can look; "
        "call that outside the fused function"
    )


def _is_opaque(value: Any) -> bool:
    if isinstance(value, types.ModuleType):
        return _root(value.__name__) in MODULES
    is_code = isinstance(value, type | types.BuiltinFunctionType | types.FunctionType)
    named = value if is_code else type(value)
    module = str(getattr(named, "__module__", ""))
    return _root(module) in MODULES or (f"{module}.{named.__qualname__}" in PARTS and (
        is_code or named.__module__ != "builtins"
    ))  # fmt: skip


def _root(name: Any) -> str:
    return str(name).split(".")[0]


def first(reasons: Sequence[str | None]) -> str | None:
    """The first reason, if there is one."""
    return next(filter(None, reasons), None)
