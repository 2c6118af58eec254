"""What objects of others do: stay what they are, or answer otherwise at each call."""

from __future__ import annotations

import builtins
import datetime
import random
import types
from typing import Any

import numpy as np

from opweave.compiler.captures.owners import held

# Modules whose functions give another value at each call.
VARYING = frozenset({"random", "secrets", "time", "uuid", "numpy.random", "cupy.random"})
# Functions that do so, or that read what nobody can tell beforehand.
UNFORESEEN = tuple(
    getattr(builtins, name)
    for name in "globals eval exec open input print id vars breakpoint memoryview".split()
)
CLOCKS = (datetime.datetime, datetime.date)
# Types of the standard library and NumPy whose objects stay what they are; none is imported here.
STEADY = frozenset(
    """
    builtins.object builtins.range builtins.frozenset builtins.NotImplementedType
    builtins.property datetime.datetime datetime.date datetime.time datetime.timedelta
    datetime.timezone decimal.Decimal fractions.Fraction re.Pattern uuid.UUID
    types.GenericAlias types.UnionType pathlib.PosixPath pathlib.PurePosixPath
    pathlib._local.PosixPath zoneinfo.ZoneInfo operator.itemgetter operator.attrgetter
    operator.methodcaller logging.Logger logging.RootLogger
    numpy.finfo numpy.iinfo numpy._globals._NoValueType
    """.split()
)
STEADY_MODULES = ("opweave", "typing", "numpy.lib")


def is_steady(value: Any) -> bool:
    """True for what does not change, as far as what a function asks of it goes."""
    if isinstance(value, types.BuiltinFunctionType | types.MethodType):
        owner = value.__self__
        return owner is None or isinstance(owner, types.ModuleType | type) or is_steady(owner)
    kind = type(value)
    if f"{kind.__module__}.{kind.__qualname__}" in STEADY:
        return True
    if kind.__module__.startswith(STEADY_MODULES):
        return True
    name = held(value, "__name__")  # as functions have, of whatever making
    return isinstance(value, str | bytes | int | float | complex | np.generic) or (
        callable(value) and isinstance(name, str)
    )


def varies(value: Any) -> bool:
    """True for clocks, generators of random numbers, their functions and modules."""
    if isinstance(value, types.ModuleType):
        return value.__name__ in VARYING
    if value is memoryview:
        return True
    if isinstance(value, types.BuiltinFunctionType | types.MethodType):
        owner = getattr(value, "__self__", None)
        if any(owner is clock for clock in CLOCKS):
            return value.__name__ in ("now", "utcnow", "today")
        is_unforeseen = any(value is function for function in UNFORESEEN)
        return is_unforeseen or getattr(value, "__module__", None) in VARYING or varies(owner)
    return isinstance(value, random.Random) or (
        type(value).__module__.startswith("numpy.random") and not isinstance(value, type)
    )
