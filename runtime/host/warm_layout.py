"""What C compares and runs calls by, as ctypes lays it out: see the headers of templates/host."""

from __future__ import annotations

import ctypes
from ctypes import c_int, c_longlong, c_uint64, c_void_p
from typing import Any

import numpy as np

# ``Kind``, ``Where``, ``From``, ``Form`` and ``Register`` of these files.
NOTHING, ANY, SAME, ARRAY, GIVEN, TUPLE, LIST, DICT, OBJECT = range(9)
HERE, IN_DICT, IN_CELL = range(3)
CALLED, EMPTY, NUMBER, ARGUMENT = range(4)
AS_IT_IS, SCALAR, TRUTH, LEAF, CONSTANT, AGAIN, PART, NEW_TUPLE, NEW_LIST, NEW_DICT = range(10)
# Of a loop: words that it may leave, and ``LeftAs`` of loop_calls.h.
MOST_LEFT_WORDS = 64
UNBOUND, INTEGER_LEFT, REAL_LEFT, TRUTH_LEFT, SCALAR_LEFT, ARRAY_LEFT = range(6)
# How kernels take a number, by its type, and how one of NumPy's is read; and how others are.
FORMS = {
    name: form
    for form, name in enumerate(
        (
            "float64", "float32", "int64", "int32", "int16", "int8",
            "uint64", "uint32", "uint16", "uint8", "bool", "float16", "bfloat16",
        )
    )
}  # fmt: skip
OF_PYTHON, BY_TYPE = len(FORMS), len(FORMS) + 1
READS: dict[type, int] = {
    int: OF_PYTHON,
    float: FORMS["float64"],
    np.longlong: FORMS["int64"],
    np.ulonglong: FORMS["uint64"],
    **{np.dtype(name).type: form for name, form in FORMS.items() if name != "bfloat16"},
}
# Of a call at most: words, containers, and results that are numbers; and of types of numbers.
MOST_WORDS, MOST_CONTAINERS, MOST_NUMBERS, MOST_TYPES = 256, 64, 8, 16
# Of an expression: numbers that wait for an operator, and operands of one.
DEEPEST_EXPRESSION, MOST_OPERANDS = 16, 3
FUNCTIONS = (
    "PyObject_CallNoArgs", "PyObject_CallFunctionObjArgs", "PyObject_Vectorcall",
    "PyObject_SetItem", "PyObject_GetItem", "PyTuple_New",
    "PyTuple_SetItem", "PyList_New", "PyList_SetItem", "PyDict_New", "PyTuple_GetItem",
    "PyTuple_Size", "PyList_GetItem", "PyList_Size", "PyDict_Next", "PyDict_Size",
    "PyDict_GetItemWithError", "PyObject_GenericGetDict", "PyCell_Get", "Py_IncRef", "Py_DecRef",
    "PyLong_AsLongLongAndOverflow", "PyErr_Occurred", "PyErr_Clear",
    "PyErr_NoMemory", "PyLong_FromLongLong", "PyFloat_FromDouble", "PyDict_Clear",
)  # fmt: skip
# What a call gives that C does not know; a user's function may give anything else.
UNKNOWN: Any = object()
OBJECTS = UNKNOWN, True, False


class CNumberType(ctypes.Structure):
    """``NumberType`` of python.h."""

    _fields_ = (("type", c_void_p), ("read", c_longlong))


class CPython(ctypes.Structure):
    """``Python`` of python.h."""

    _fields_ = (
        *((name, c_void_p) for name in FUNCTIONS),
        *((name, c_void_p) for name in ("empty", "scalar", "not_ours", "yes", "no")),
        *((name, c_longlong) for name in ("type", "fields")),
        ("number_types", CNumberType * MOST_TYPES),
    )


class CMethod(ctypes.Structure):
    """``PyMethodDef`` of Python's methodobject.h."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("call", c_void_p),
        ("flags", c_int),
        ("doc", ctypes.c_char_p),
    )


class CNode(ctypes.Structure):
    """``Node`` of arguments.h."""

    _fields_ = (
        *((name, c_int) for name in ("kind", "count")),
        *((name, c_void_p) for name in ("like", "lies", "keys")),
        *((name, c_int) for name in ("word", "number", "order", "aligned", "is_exact", "is_told")),
        ("value", c_uint64),
    )


class CRoot(ctypes.Structure):
    """``Root`` of arguments.h."""

    _fields_ = (
        *((name, c_int) for name in ("where", "unused")),
        *((name, c_void_p) for name in ("object", "name")),
    )


class CNumber(ctypes.Structure):
    """``Number`` of numbers.h."""

    _fields_ = tuple((name, c_int) for name in ("leaf", "word", "form", "read"))


class CSpan(ctypes.Structure):
    """``Span`` of calls.h."""

    _fields_ = tuple((name, c_longlong) for name in ("low", "high"))


class CMade(ctypes.Structure):
    """``Made`` of results.h."""

    _fields_ = (
        *((name, c_void_p) for name in ("make", "descr", "extents")),
        *((name, c_int) for name in ("dims", "origin", "argument", "unused")),
    )


class CStore(ctypes.Structure):
    """``Store`` of results.h."""

    _fields_ = (("to", c_int), ("key", c_void_p))


class COp(ctypes.Structure):
    """``Op`` of results.h."""

    _fields_ = (("object", c_void_p), ("leaf", c_int), ("count", c_int))


class CShape(ctypes.Structure):
    """``Shape`` of results.h."""

    _fields_ = (("form", c_int), ("at", c_int), ("object", c_void_p), ("keys", c_void_p))


class CPut(ctypes.Structure):
    """``Put`` of results.h."""

    _fields_ = (("container", c_int), ("is_attribute", c_int), ("key", c_void_p))


class CKnown(ctypes.Structure):
    """``Known`` of calls.h."""

    _fields_ = (
        *(
            (name, c_void_p)
            for name in (
                "plan", "nodes", "outside", "words", "numbers", "makes", "spans", "written",
                "stores", "ops", "op_counts", "shapes", "puts", "target", "finish", "plain",
            )
        ),
        *(
            (name, c_longlong)
            for name in (
                "args", "outside_count", "word_count", "number_count", "inputs", "made",
                "written_count", "store_count", "computed_count", "put_count", "arena_bytes",
                "target_made",
            )
        ),
    )  # fmt: skip


class CTable(ctypes.Structure):
    """``Table`` of calls.h; what it points to lives as long as it does."""

    _fields_ = (("holds", c_void_p), ("known", c_void_p), ("count", c_longlong))
    alive: Any


class CLeft(ctypes.Structure):
    """``Left`` of loop_calls.h."""

    _fields_ = (
        *(
            (name, c_int)
            for name in ("kind", "word", "dims", "item_bytes", "said", "otherwise")
        ),
        ("descr", c_void_p),
    )  # fmt: skip


class CArrayWord(ctypes.Structure):
    """``ArrayWord`` of loop_calls.h."""

    _fields_ = tuple((name, c_int) for name in ("array", "word", "is_writeable", "unused"))


class COutsideWord(ctypes.Structure):
    """``OutsideWord`` of loop_calls.h."""

    _fields_ = (("compute", c_void_p), ("type", c_void_p), ("number", CNumber))


class CKnownLoop(ctypes.Structure):
    """``KnownLoop`` of loop_calls.h; what it points to lives as long as it does."""

    _fields_ = (
        *(
            (name, c_void_p)
            for name in (
                "loop", "nodes", "words", "arrays", "numbers", "outside", "left", "holds",
                "error", "counts",
            )
        ),
        *(
            (name, c_longlong)
            for name in (
                "word_count", "array_count", "number_count", "outside_count", "left_count",
                "made_count",
            )
        ),
    )  # fmt: skip
    alive: Any


class CLoopTable(ctypes.Structure):
    """``LoopTable`` of loop_calls.h; what it points to lives as long as it does."""

    _fields_ = (
        *((name, c_void_p) for name in ("slowly", "unbound", "number", "names", "known")),
        *((name, c_longlong) for name in ("name_count", "count", "largest")),
    )
    alive: Any
