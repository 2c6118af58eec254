# ruff: noqa: RUF001  (characters that look like others are what is tested)
"""Hostile values, and every way by which a value of a user's reaches a kernel or a path."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np

import opweave as ow
from opweave._functions.fused import Fused
from opweave.compiler.ir.device import DEVICES, Device
from opweave.compiler.pipeline.driver import Options
from opweave.opcodes import dtypes
from opweave.opcodes.codes import Fragment, OpCode, Phase
from opweave.opcodes.core import BoundOperator, Operator
from opweave.opcodes.rules import same

X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6)
TEXTS = [
    "x; }", "x # y", "#", "#define float int", 'x"', "x'", "x\\", "\\\n", "x\nint y;", "x\r\n;",
    "x{", "}", "{", "x/*", "*/ int y; /*", "//", "??/", "x??/\n;", "??=include", "%>", "<%", "%:",
    "$(id)", "`id`", "$HOME", "x\0y", "\0", "х", "ｘ", "ﬁ", "x\u200f", "\u202ex", "x\u2028y",
    "x\u2029#", "x\x85#", "x\x0b#", "x\x0c#", "\x1b[2J", "{{ 7 * 7 }}", "{% raw %}", "{# x #}",
    "//% set x = 1", "//# x", "x" * 65, "x" * 100_000, ";" * 100_000, "\ud800", "-rf", "--help",
    "-o/tmp/x", "../../x", "/dev/null", "~root/x", "%s%n", "{0.__class__}", "", " ", "1x", "x y",
    "int", "float", "asm", "operator", "and", "__global__", "__x", "_LP64", "_X", "NULL", "BLOCK",
    "USE_VECTOR_IO", "threadIdx", "T", "S", "acc", "nan", "inf", "float32\n", "float32;", "f4,f4",
    "(2,)f4", "O", "S5", "datetime64", ">f4", "sm_90a ", "sm_90a\n", "sm_90a -G", "sm_90a,sm_80",
    "store", "load x", "store out0", "'; DROP TABLE x; --", "import os", "__import__('os')",
]  # fmt: skip


class Text(str):
    """Looks benign by content, and writes something else."""

    def __str__(self):
        return "x; } #include"

    __repr__ = __str__

    def __format__(self, spec):
        return "x; } #include"


class Whole(int):
    def __str__(self):
        return "1;\n#include"

    __repr__ = __str__

    def __format__(self, spec):
        return "1;\n#include"

    def __int__(self):
        return 1 << 20

    __index__ = __int__


class Real(float):
    def __str__(self):
        return "1;\n#include"

    __repr__ = __str__

    def __format__(self, spec):
        return "1;\n#include"

    def __float__(self):
        return 7.0


class Scalar(np.float32):
    def __str__(self):
        return "1;\n#include"

    __repr__ = __str__

    def __format__(self, spec):
        return "1;\n#include"


class Shy:
    """Fails at whatever is asked of it."""

    def __repr__(self):
        raise RuntimeError("no")

    __str__ = __hash__ = __eq__ = __bool__ = __index__ = __int__ = __float__ = __repr__

    def __format__(self, spec):
        raise RuntimeError("no")


OBJECTS = [
    Text("x"), Text("float32"), Text("BLOCK"), Text("sm_80"), Whole(1), Whole(2), Whole(256), Real(2.0),
    Scalar(2), Shy(), None, [], {}, (), b"x;", bytearray(b"x"), object(), 1j, np.complex64(1j),
    np.str_("x;\n"), np.bytes_(b"x\n"), np.datetime64("2020"), np.timedelta64(1), np.void(b"xy"),
    np.longdouble(2), np.int8(3), np.array([1, 2]), np.array("x\n"), 10**5000, -(10**5000), 2**64,
    -(2**63) - 1, float("nan"), float("inf"), -0.0, 5e-324, 1.7976931348623157e308, True, False,
    np.True_, np.float16(np.inf), np.float64("nan"), print, type, Ellipsis, slice(1), range(3),
]  # fmt: skip


def lowered(function, *arguments, target="sm_80", **changes):
    made = ow.fuse(function)
    made = Fused(function, made.static, replace(made.options, **changes)) if changes else made
    return made.lower(*(arguments or (X,)), target=target).source


def signed(names, body=lambda x, y: x * y + 1):
    """A function whose parameters have these names, as far as Python lets them be names."""

    def function(**given):
        return body(*given.values())

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    try:
        made = inspect.Signature([inspect.Parameter(n, kind) for n in names])
    except (TypeError, ValueError, IndexError):
        raise ow.errors.NameRefusedError("Python refuses the name itself") from None
    function.__signature__ = made
    return function


def renamed(value):
    class Callable:
        __name__ = value

        def __call__(self, x):
            return x + 1

    return Callable()


def from_file(name):
    """A function whose file has this name."""
    scope = {"np": np}
    exec(compile("def f(x):\n    'doc */'\n    return np.exp(x) + 1", name, "exec"), scope)
    return scope["f"]


def own_operator(name="own", params=("x", "y"), fragment="x + y", **more):
    code = OpCode(name, Phase.EPILOGUE, tuple(params), (Fragment(fragment),))
    row = Operator(name, ow.opcodes.Kind.MAP, (code,), np.add, same, params=tuple(params), **more)
    return lowered(lambda a: row(a, a))


def statement(param):
    text = f"if ({param} > 0) return {param}; return 0;"
    code = OpCode("own", Phase.EPILOGUE, (param,), (Fragment(text),))
    row = Operator("own", ow.opcodes.Kind.MAP, (code,), abs, same, params=(param,))
    return lowered(lambda a: row(a))


def own_toggle(name="USE_OWN", doc=""):
    made = ow.toggle(name, 0, 1, doc=doc)
    text = f"#if {name}\nx + 1\n#else\nx\n#endif"
    code = OpCode("own", Phase.EPILOGUE, ("x",), (Fragment(text),), toggles=(made,))
    row = Operator("own", ow.opcodes.Kind.MAP, (code,), abs, same)
    return lowered(lambda a: row(a))


def documented(value):
    function, value = from_file("x.py"), value if isinstance(value, str) else ascii(type(value))
    function.__doc__ = function.__qualname__ = function.__module__ = value
    return lowered(function)


KERNEL = ow.fuse(lambda x: np.exp(x) + 1).lower(X, target="sm_80").kernels[0]


def edited(**given):
    return KERNEL.insert(ow.opcodes.relu, **given).source


def kernel_of(*codes, name="kernel"):
    return ow.kernel([ow.load("x"), *codes, ow.store()], name=name).lower(X, target="sm_80").source


def checked_schedule(value):
    from opweave.runtime.simt.executors import VerifyExecutor

    VerifyExecutor(value)
    return lowered(lambda x: x + 1)


def configured(value):
    with ow.config(device=value):
        return lowered(lambda x: x + 1)


def described(**changes):
    return lowered(lambda x: x + 1, target=replace(DEVICES["A100"], **changes))


def scalar_compared(value):
    return lowered(lambda x, s: x * (s == value), X, 2.0)


def with_static(value):
    fused = ow.fuse(lambda x, mode: x * 2 if mode is value else x, static_argnames="mode")
    return fused.lower(X, value, target="sm_80").source


def with_argument(value):
    if value is None or isinstance(value, np.ndarray):
        raise ow.errors.ArgumentError("another kernel altogether")
    return ow.fuse(lambda x, s: x * (s * 2)).lower(X, value, target="sm_80").source


def outputs_named(value):
    try:
        hash(value)
    except Exception:
        raise ow.errors.ArgumentError("no key of a dictionary") from None
    return lowered(lambda x: {value: x + 1})


# entry point: (what is made of a value, a benign value; what in the source may differ by it)
NUMBERS = "number"
NAMES = "name"
ENTRIES = {
    "operator name": (lambda v: own_operator(name=v), "own", NAMES),
    "three strings": (
        lambda v: lowered(ow.operator(v, "x + 1", "same", lambda x: x, replace=True)), "own",
        NAMES,
    ),
    "operand names": (lambda v: own_operator(params=(v, "y"), fragment=f"{v} + y"
                                             if type(v) is str else "x"), "x", ""),
    "operand of a statement": (
        lambda v: statement(v if isinstance(v, str) else ";"), "x", NAMES),
    "fragment": (lambda v: own_operator(fragment=v), "x + y", "code"),
    "attribute of one's own": (
        lambda v: lowered(lambda x: Operator(
            "own", ow.opcodes.Kind.MAP, (OpCode("own", Phase.EPILOGUE, ("x",), (Fragment("x + 1"),)),), np.abs,
            same, attrs=(("how", None),))(x, how=v)), "x", ""),
    "argument": (lambda v: lowered(signed([v, "y"]), X, X), "x", NAMES),
    "number's name": (lambda v: lowered(signed(["x", v]), X, 2.0), "y", NAMES),
    "function name": (lambda v: lowered(renamed(v)), "kernel", NAMES),
    "file name": (lambda v: lowered(from_file(v if isinstance(v, str) and "\0" not in v
                                              else "x")), "x.py", ""),
    "doc, qualified name, module": (documented, "x", ""),
    "load": (lambda v: ow.kernel([ow.load(v), ow.opcodes.exp, ow.store()]).lower(
        X, target="sm_80").source, "x", NAMES),
    "store": (lambda v: ow.kernel([ow.load("x"), ow.opcodes.exp, ow.store(v)]).lower(
        X, target="sm_80").source, "y", ""),
    "stored value": (lambda v: ow.kernel([ow.load("x"), ow.opcodes.exp, ow.store("y", v)]).lower(
        X, target="sm_80").source, "", ""),
    "kernel name": (lambda v: kernel_of(ow.opcodes.exp, name=v), "kernel", NAMES),
    "label": (lambda v: kernel_of(ow.opcodes.exp().named(v)), "e", ""),
    "operand": (lambda v: kernel_of(ow.opcodes.add(v)), "x", NUMBERS),
    "operand, bound by hand": (
        lambda v: kernel_of(BoundOperator(ow.opcodes.add, (v,))), "x", NUMBERS),
    "insert before": (lambda v: edited(before=v), "store", "place"),
    "insert after": (lambda v: edited(after=v), "load x", "place"),
    "constant": (lambda v: lowered(lambda x: x * v), 3.0, NUMBERS),
    "constant of an integer": (lambda v: lowered(lambda x: x * v, X.astype(np.int64)), 3, NUMBERS),
    "constant in an expression": (lambda v: lowered(lambda x, s: x * (s * v), X, 2.0), 3.0,
                                  NUMBERS),
    "text that a number meets": (scalar_compared, 3.0, NUMBERS),
    "static value": (with_static, 3, ""),
    "value of an argument": (with_argument, 3.0, NUMBERS),
    "name of an output": (outputs_named, "y", ""),
    "axis": (lambda v: lowered(lambda x: ow.OPERATORS["sum"](x, axis=v)), 1, "axis"),
    "axis of a composite": (lambda v: lowered(lambda x: ow.softmax(x, axis=v)), 1, "axis"),
    "axis of a method": (lambda v: lowered(lambda x: x.sum(axis=v)), 1, "axis"),
    "keepdims": (lambda v: lowered(lambda x: ow.OPERATORS["sum"](x, axis=1, keepdims=v)), False,
                 "axis"),
    "ddof": (lambda v: lowered(lambda x: x.var(axis=1, ddof=v)), 0, NUMBERS),
    "axes": (lambda v: lowered(lambda x: np.transpose(x, v) + 1), (1, 0), "axis"),
    "dtype": (lambda v: lowered(lambda x: x.astype(v)), "float32", "dtype"),
    "dtype of a sum": (lambda v: lowered(lambda x: ow.OPERATORS["sum"](x, dtype=v)), "float32",
                       "dtype"),
    "dtype of an op-code": (lambda v: kernel_of(ow.opcodes.cast(dtype=v)), "float32", "dtype"),
    "dtype of one's own": (
        lambda v: lowered(lambda x: ow.OPERATORS["cast"](x, dtype=replace(dtypes.F32, storage=v))),
        None, "dtype"),
    "toggle": (lambda v: ow.fuse(lambda x: x + 1).with_toggles(**{v: 0}).lower(
        X, target="sm_80").source if isinstance(v, str) else refuse(), "USE_VECTOR_IO", "toggle"),
    "toggle of one's own": (own_toggle, "USE_OWN", NAMES),
    "comment of a toggle": (lambda v: own_toggle(doc=v), "own", ""),
    "toggle value": (lambda v: ow.fuse(lambda x: x + 1).with_toggles(BLOCK=v).lower(
        X, target="sm_80").source, 256, "toggle"),
    "toggle flag": (lambda v: ow.fuse(lambda x: x + 1).with_toggles(USE_64BIT_INDEX=v).lower(
        X, target="sm_80").source, 1, "toggle"),
    "toggle of the options": (
        lambda v: lowered(lambda x: x + 1, toggles=((v, 0),)) if type(v) in (str, Text)
        else refuse(), "USE_VECTOR_IO", "toggle"),
    "toggle value of the options": (
        lambda v: Fused(lambda x: x + 1, (), Options(toggles=(("BLOCK", v),))).lower(
            X, target="sm_80").source, 256, "toggle"),
    "fast": (lambda v: ow.fuse(fast=v)(lambda x: x + 1).lower(X, target="sm_80").source, False,
             "toggle"),
    "static_argnames": (lambda v: ow.fuse(static_argnames=(v,))(lambda x: x + 1).lower(
        X, target="sm_80").source, None, ""),
    "target": (lambda v: lowered(lambda x: x + 1, target=v), "sm_80", "target"),
    "device name": (lambda v: described(name=v), "A100", ""),
    "device architecture": (lambda v: described(arch=v), "sm_80", "target"),
    "device number": (lambda v: described(sms=v), 108, "toggle"),
    "device made by hand": (
        lambda v: lowered(lambda x: x + 1, target=Device("x", v, 1, 0, 0, 1, 1)), "sm_80", "target"),
    "schedule": (checked_schedule, 1, ""),
    "setting": (configured, "host", ""),
}  # fmt: skip


def refuse():
    raise ow.errors.ToggleError("Python itself takes no such name of a keyword")
