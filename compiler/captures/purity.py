"""Tables of functions that do nothing but compute.  They are asked before a trace calls one.

What is no computation on arrays (to print, log, count, read a clock) would happen once, while the
function is traced.  So a trace may call only functions without such effects.  A function that is
not in these tables is not known to be pure; it makes the traced function run in parts, where it is
called at each call.
"""

from __future__ import annotations

import types
from enum import Enum
from typing import Any

from opweave.compiler.captures.containers import LIBRARIES
from opweave.compiler.captures.owners import is_installed


class Origin(Enum):
    """Where code is from, as far as a traced function goes."""

    OURS = "opweave"
    ARRAYS = "the arrays' own library"
    USER = "the user's"
    PURE = "of another library, known to compute only"
    LOOKING = "the same, but it asks what it is given for its class"
    PYTHON = "the standard library's"
    PACKAGE = "an installed package's"


# Packages whose functions ask a traced value what to do, or only compute.
OURS = frozenset({"opweave", "numpy", "cupy", "ml_dtypes"})
# Modules of the standard library, and packages, of which each function in Python only computes.
PURE = frozenset(
    """
    abc _py_abc _collections_abc collections contextlib copy copyreg dataclasses enum functools
    types typing numbers operator fractions decimal _pydecimal statistics string re textwrap
    bisect heapq keyword itertools math cmath datetime _pydatetime calendar colorsys inspect
    reprlib struct weakref _weakrefset json base64 ast graphlib zoneinfo posixpath difflib html
    tokenize token typing_extensions scipy
    """.split()
)
# Functions of NumPy and CuPy, in Python and in C, that read or write what is no array.
EFFECTS = frozenset(
    """
    save savez savez_compressed savetxt load loadtxt genfromtxt fromfile memmap tofile dump dumps
    set_printoptions seterr seterrcall setbufsize show_config show_runtime info
    """.split()
)
# Of these, which ask what they are given for its class, and keep nothing.
LOOKING = frozenset(
    """
    fractions decimal _pydecimal statistics colorsys datetime _pydatetime calendar struct json
    base64 difflib
    """.split()
)
# Modules in C of which each function only computes.
PURE_IN_C = frozenset(
    """
    builtins math cmath _operator operator itertools _functools _collections _bisect _heapq struct
    _struct unicodedata zlib binascii _statistics _string _json _sre _abc _datetime _decimal array
    numpy cupy ml_dtypes scipy
    """.split()
)
# Except for these functions.
IMPURE_IN_C = frozenset(
    """
    print open input exec eval compile breakpoint globals locals vars id cache_clear cache_info
    """.split()
)
# Functions with effects that code which is pure otherwise may call: ``calendar.prmonth`` prints.
LOUD = frozenset({print, input, open, breakpoint})
# Types of the standard library whose methods in C change nothing but their own object.
PURE_OWNERS = frozenset({"builtins", "collections", "itertools", "re", "datetime", "decimal"})


def origin_of(code: types.CodeType, module: Any) -> Origin:
    """Where a function in Python is from, by its code and the name of its module."""
    name = module if isinstance(module, str) else ""
    root = name.split(".")[0]
    if root == "opweave":
        return Origin.OURS
    if root in OURS:
        return Origin.PACKAGE if code.co_name in EFFECTS else Origin.ARRAYS
    if root in LOOKING:
        return Origin.LOOKING
    if root in PURE or root.startswith("namedtuple_"):
        return Origin.PURE
    if root in LIBRARIES:
        return Origin.PYTHON
    return Origin.PACKAGE if is_installed(code.co_filename) else Origin.USER


def is_pure_in_c(function: Any) -> bool:
    """True for a function or method in C that only computes."""
    name = getattr(function, "__name__", "")
    if name in IMPURE_IN_C:
        return False
    if name in ("release", "__exit__"):  # what was taken has to be given back
        return True
    owner = getattr(function, "__self__", None)
    if owner is None or isinstance(owner, types.ModuleType):
        module = str(getattr(function, "__module__", None) or getattr(owner, "__name__", ""))
    else:
        kind = owner if isinstance(owner, type) else type(owner)
        module = kind.__module__
        if module in PURE_OWNERS:
            return name not in ("now", "utcnow", "today")
    root = module.split(".")[0]
    return root in PURE_IN_C and not (root in OURS and name in EFFECTS)
