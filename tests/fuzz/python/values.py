"""What arguments are made of: texts, by the hole that they fill; a pair is of two kinds of calls."""

from __future__ import annotations

import collections
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

ARRAYS = (
    ("np.arange(4.0)", "np.arange(4.0) * 2 - 3"), ("np.arange(4.0)", "np.ones(3)"), ("np.arange(4.0)", "np.arange(4)"),
    ("np.arange(6.0).reshape(2, 3)", "np.ones((2, 3))"), ("np.arange(4)", "np.arange(3) - 1"),
    ("np.array([1, 2, 3, 0.5], np.float32)", "np.ones(4, np.float32)"), ("np.arange(8.0)[::2]", "np.arange(8.0)[::-2]"),
    ("KEPT", "KEPT"), ("G_ARRAY", "np.ones(4)"), ("np.array([True, False, True])", "np.array([False])"),
)  # fmt: skip
VECTORS = (
    ("np.arange(8.0)", "np.arange(8.0) * 2 - 3"), ("np.arange(4.0)", "np.ones(5)"), ("KEPT", "KEPT"),
    ("np.arange(6.0)[::-1]", "np.arange(6.0)"),
)  # fmt: skip
NUMBERS = (
    ("2", "3"), ("2", "2.5"), ("0.5", "1.5"), ("np.float64(1.5)", "2"), ("np.int64(3)", "np.int64(2)"), ("1", "True"),
    ("-1", "0"), ("Celsius(2.5)", "Celsius(1.5)"), ("Level.HIGH", "Level.LOW"), ("np.float32(0.5)", "0.5"), ("3", "1"),
)  # fmt: skip
BOOLS = (
    ("True", "False"), ("True", "True"), ("False", "True"), ("np.True_", "False"), ("True", "1"), ("True", "None"),
    ("G_FLAG", "False"),
)  # fmt: skip
MAPPINGS = (
    ("{'w': np.arange(4.0), 'k': 2}", "{'w': np.ones(4), 'k': 3}"), ("AttrDict(w=np.arange(4.0), k=2)", "AttrDict(w=np.ones(4), k=3)"),
    ("collections.OrderedDict(w=np.arange(4.0), k=2)", "collections.OrderedDict(k=3, w=np.ones(4))"),
    ("collections.defaultdict(int, w=np.arange(4.0), k=2)", "collections.defaultdict(int, w=np.ones(4), k=3)"),
    ("{'w': KEPT, 'k': True, 3: None}", "{'w': KEPT, 'k': False, 3: 'x'}"), ("{'w': 2.5, 'k': 1}", "{'w': 1.5, 'k': 2}"),
    ("types.MappingProxyType({'w': np.arange(4.0), 'k': 2})", "types.MappingProxyType({'w': np.ones(4), 'k': 2})"),
    ("collections.UserDict(w=np.arange(4.0), k=2)", "collections.UserDict(w=np.ones(4), k=3)"),
    ("collections.ChainMap({'w': np.arange(4.0)}, {'k': 2})", "collections.ChainMap({'w': np.ones(4)}, {'k': 3})"),
)  # fmt: skip
SEQUENCES = (
    ("[np.arange(4.0), np.ones(4)]", "[np.ones(4), np.arange(4.0)]"), ("(np.arange(4.0), 2)", "(np.ones(4), 3)"),
    ("collections.deque([np.arange(4.0), 1])", "collections.deque([np.ones(4), 2])"), ("Pair(np.arange(4.0), 2)", "Pair(np.ones(4), True)"),
    ("[1, 2.5, True]", "[2, 2.5, False]"), ("[KEPT] * 2", "[KEPT, KEPT.copy()]"), ("[[np.ones(2)], [3]]", "[[np.ones(2)], [4]]"),
    ("list(range(2000))", "list(range(1, 2001))"), ("Typed(np.arange(4.0))", "Typed(np.ones(4), False)"), ("[np.arange(4.0)] * 1500", "[np.ones(4)] * 1500"),
    ("[np.float64(2), np.ones(3)]", "[np.float64(3), np.ones(3)]"), ("(KEPT, KEPT)", "(KEPT, KEPT)"),
)  # fmt: skip
OBJECTS = (
    ("Box(np.arange(4.0))", "Box(np.ones(4), flag=False)"), ("Box(KEPT)", "Box(np.ones(4))"), ("Model(KEPT)", "Model(np.ones(3))"), ("Slots(np.arange(4.0))", "Slots(np.ones(4), False)"),
    ("types.SimpleNamespace(data=np.arange(4.0), flag=True, total=0)", "types.SimpleNamespace(data=np.ones(4), flag=False, total=1)"),
    ("HOLDER", "HOLDER"), ("Frozen(np.arange(4.0))", "Frozen(np.ones(4), False)"), ("Model(np.arange(4.0))", "Model(np.ones(4), False)"),
)  # fmt: skip
SUBCLASSES = (
    ("Units([1, 2, 3, 4], 'km')", "Units([1, 2, 3, 4], 'm')"), ("np.arange(4.0).view(Tagged)", "np.ones(4).view(Tagged)"),
    ("np.arange(4.0).view(Empty)", "np.arange(4.0)"), ("np.arange(4.0).view(Loud)", "np.ones(4).view(Loud)"),
    ("np.arange(4.0).view(Sized)", "np.ones(4).view(Sized)"), ("np.ma.array([1.0, 2, 3, 4], mask=[0, 1, 0, 0])", "np.ma.array([1.0, 2, 3, 4])"),
    ("np.asmatrix([[1.0, 2], [3, 4]])", "np.asmatrix([[2.0, 2], [3, 4]])"), ("np.rec.array([(1.0, 2), (3.0, 4)], dtype=[('a', 'f8'), ('b', 'i8')])", "np.rec.array([(5.0, 2)], dtype=[('a', 'f8'), ('b', 'i8')])"),
    ("mapped([1.0, 2, 3, 4])", "mapped([4.0, 3, 2, 1])"), ("np.array(['ab', 'c'])", "np.array(['d'])"),
    ("np.array([(1.0, 2), (3.0, 4)], dtype=[('a', 'f8'), ('b', 'i8')])", "np.array([(5.0, 2)], dtype=[('a', 'f8'), ('b', 'i8')])"),
    ("np.array([None, 2.5], object)", "np.array([1, 'x'], object)"), ("np.array(['2020-01-01'], 'M8[D]')", "np.array(['2021-01-01'], 'M8[D]')"),
    ("np.arange(4.0).astype('>f8')", "np.ones(4, '>f8')"),
)  # fmt: skip
DUCKS = (
    ("Duck([1.0, 2.0])", "Duck([3.0])"), ("Ufunc(2)", "Ufunc(3)"), ("Function()", "Function()"), ("Answers()", "Answers()"),
    ("Liar()", "Liar()"), ("Equal()", "Equal()"), ("AttrDict(w=np.arange(4.0))", "AttrDict(w=np.ones(4))"),
    ("memoryview(bytes(4))", "memoryview(bytes(2))"), ("array.array('d', [1.0, 2.0])", "array.array('d', [3.0])"),
)  # fmt: skip
OTHERS = (
    ("None", "2"), ("'mean'", "'sum'"), ("MISSING", "None"), ("np", "None"), ("np.float32", "float"), ("Color.RED", "Color.BLUE"),
    ("slice(1, None)", "slice(2)"), ("np.sum", "np.max"), ("b'a'", "b'b'"), ("np.dtype('f4')", "np.dtype('f8')"), ("range(3)", "range(2)"),
    ("(1, 2)", "[1, 2]"), ("act", "other_act"), ("Ellipsis", "None"), ("1 + 2j", "2j"), ("fractions.Fraction(1, 2)", "fractions.Fraction(1, 3)"),
    ("decimal.Decimal('1.5')", "decimal.Decimal('2')"), ("{1, 2}", "{1, 3}"), ("frozenset({1})", "frozenset({2})"), ("iter([1, 2])", "iter([3])"),
    ("np.array(2.5)", "np.array(1.5)"), ("np.arange(4.0) + 1j", "np.ones(4) * 1j"), ("float('nan')", "float('inf')"), ("-0.0", "0.0"),
    ("10**20", "10**21"), ("datetime.date(2020, 1, 2)", "datetime.date(2021, 1, 2)"), ("NotImplemented", "None"), ("np.zeros(0)", "np.zeros(0)"),
    ("np.longdouble(2)", "np.longdouble(3)"), ("functools.partial(act, 2)", "functools.partial(act, 3)"), ("range", "list"), ("np.add", "np.multiply"),
)  # fmt: skip
Texts = tuple[tuple[str, str], ...]
EVERY: Texts = (
    *ARRAYS,
    *NUMBERS,
    *BOOLS,
    *MAPPINGS,
    *SEQUENCES,
    *OBJECTS,
    *SUBCLASSES,
    *DUCKS,
    *OTHERS,
)
ARGUMENTS: dict[str, Texts] = {
    "x": ARRAYS, "y": ARRAYS, "v": VECTORS, "n": NUMBERS, "m": NUMBERS, "b": BOOLS, "d": MAPPINGS, "l": SEQUENCES,
    "o": OBJECTS, "u": SUBCLASSES, "w": DUCKS, "q": EVERY, "r": EVERY,
}  # fmt: skip
# Defaults of parameters that a call may leave out, by hole; those of others are None.
DEFAULTS: dict[str, tuple[str, ...]] = {
    "n": ("2", "1.5", "G_NUMBER"), "m": ("3", "0"), "b": ("True", "False"), "q": ("None", "MISSING", "True", "np", "()"),
    "r": ("None", "MISSING", "0"), "x": ("G_ARRAY", "KEPT"), "y": ("None", "KEPT"), "l": ("(1, 2)", "[]"), "d": ("{}", "None"),
}  # fmt: skip


def is_array(value: Any) -> bool:
    """An array and no subclass, of numbers."""
    return type(value) is np.ndarray and value.dtype.kind in "biuf" and value.ndim > 0


def is_object(value: Any) -> bool:
    return hasattr(type(value), "__module__") and (
        type(value).__module__ == "fuzz_program" or isinstance(value, types.SimpleNamespace)
    )


def is_number(value: Any) -> bool:
    is_real = isinstance(value, int | float | np.integer | np.floating)
    return is_real and not isinstance(value, bool)


# Which values a hole takes.
HOLES: dict[str, Callable[[Any], bool]] = {
    "x": is_array,
    "y": is_array,
    "v": lambda v: is_array(v) and v.ndim == 1 and v.dtype.kind == "f",
    "n": is_number,
    "m": is_number,
    "b": lambda v: isinstance(v, bool | np.bool_),
    "d": lambda v: isinstance(v, Mapping),
    "l": lambda v: isinstance(v, list | tuple | collections.deque),
    "o": is_object,
    "u": lambda v: isinstance(v, np.ndarray) and type(v) is not np.ndarray,
    "w": is_object,
    "q": lambda v: True,
    "r": lambda v: True,
}
