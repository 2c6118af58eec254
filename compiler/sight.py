"""What a traced function sees of values that are part of the guard: modules, functions, objects.

What cannot be known before each call has a stand-in that refuses whatever is asked of it; then the
function runs in parts, where it sees the value itself.
"""

from __future__ import annotations

import builtins
import datetime
import random
import types
from collections.abc import Mapping, Set
from typing import Any, NoReturn, Protocol

import numpy as np

from opweave.compiler.capture import Place, is_own_module
from opweave.compiler.creation import COUNTED, SHAPED, creator
from opweave.compiler.libraries import replaced
from opweave.compiler.tracer import Tracer, is_array, users_line
from opweave.compiler.tree import Identity, flatten
from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import TraceError, UnsupportedError

# Functions that make arrays of what is no array.
MAKERS = frozenset(
    "arange linspace logspace geomspace eye identity tri array asarray ascontiguousarray".split()
)
# Modules whose functions give another value at each call.
VARYING = frozenset({"random", "secrets", "time", "uuid", "numpy.random", "cupy.random"})
# Functions that do so, or that read what nobody can tell beforehand.
UNFORESEEN = tuple(
    getattr(builtins, name) for name in ("globals", "eval", "exec", "open", "input")
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
    operator.methodcaller logging.Logger logging.RootLogger _thread.lock _thread.RLock
    numpy.finfo numpy.iinfo numpy._globals._NoValueType
    """.split()
)
STEADY_MODULES = ("opweave", "typing", "numpy.lib")
# What is asked for by its class alone.
PLAIN = (str, bytes, int, float, complex, tuple, list, dict, np.generic, np.ndarray)
VARIES = (
    "gives another value at each call, which a compiled function would take once",
    "draw it outside and pass it in",
)
CHANGES = (
    "may hold other things at each call, which a compiled function would not see",
    "pass what it holds as an argument",
)


class Sight(Protocol):
    """What a function sees of what is no traced value."""

    def plain(self, value: Any) -> Any:
        """What stands for a value of the guard."""

    def unread(self, name: str, value: Any) -> Any:
        """What stands for a value that no guard knows."""

    def check(self, captured: Mapping[Place, Any], names: Set[str]) -> None:
        """Refuse watched places that are asked for by their names, and that no guard knows."""


class Refusing:
    """Stands for what a compiled function would ask once: it refuses to be asked."""

    __slots__ = ("_found", "_name", "_tracer", "_why")
    _found: Any
    _name: str
    _tracer: Tracer
    _why: tuple[str, str]

    def __init__(self, found: Any, name: str, why: tuple[str, str], tracer: Tracer):
        pairs = (("_found", found), ("_name", name), ("_why", why), ("_tracer", tracer))
        for attribute, value in pairs:
            object.__setattr__(self, attribute, value)

    def _refused(self, *args: Any, **kwargs: Any) -> NoReturn:
        (text, advice), tracer = self._why, self._tracer
        raise tracer.noted(TraceError(f"{self._name}: {text} ({tracer.where()}); {advice}"))

    __getattr__ = _refused

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The object's own class, for ``isinstance``; but nobody takes it for a number."""
        return self._refused() if isinstance(self._found, PLAIN) else type(self._found)


# What Python asks an object for.
OPERATORS = "add sub mul truediv floordiv mod divmod pow matmul lshift rshift and or xor".split()
for _name in (
    """
    call setattr delattr len iter next reversed getitem setitem delitem contains bool enter exit
    eq ne lt le gt ge hash int float complex index round str repr format bytes array
    neg pos abs invert await aiter anext aenter aexit buffer
""".split()
    + [kind + name for name in OPERATORS for kind in ("", "r", "i")]
):
    setattr(Refusing, f"__{_name}__", Refusing._refused)


class Clock:
    """Stands for a class of the standard library's dates, whose clock gives another value."""

    def __init__(self, found: type, tracer: Tracer):
        self._found, self._tracer = found, tracer

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._found, name)
        if name not in ("now", "utcnow", "today"):
            return value
        return Refusing(value, f"{self._found.__name__}.{name}", VARIES, self._tracer)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._found(*args, **kwargs)

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, self._found)


class Traced:
    """The sight of a function that is traced; its tracer remembers what was refused."""

    def __init__(self, tracer: Tracer):
        self.tracer = tracer
        self.made: dict[int, Any] = {}

    def plain(self, value: Any) -> Any:
        """What stands for a value; always the same for the same."""
        found = value.value if isinstance(value, Identity) else value
        if id(found) not in self.made:
            self.made[id(found)] = found, self._seen(found, isinstance(value, Identity))
        return self.made[id(found)][1]

    def unread(self, name: str, value: Any) -> Any:
        return Refusing(value, name, CHANGES, self.tracer)

    def check(self, captured: Mapping[Place, Any], names: Set[str]) -> None:
        for place, value in captured.items():
            if place.watched and (place.name in names or place.name.startswith("__")):
                for path, leaf in flatten(value, place.label)[0]:
                    if type(leaf) is Refusing:
                        self.unread(path, leaf)()

    def _seen(self, found: Any, is_unknown: bool) -> Any:
        if is_array(found):
            return found
        name = _name_of(found)
        if _varies(found):
            return Refusing(found, name, VARIES, self.tracer)
        if any(found is clock for clock in CLOCKS):
            return Clock(found, self.tracer)
        is_method = isinstance(found, types.BuiltinFunctionType | types.MethodType)
        if type(found) is not np.errstate and (is_unknown or is_method) and not is_steady(found):
            return self.unread(name, found)
        if isinstance(found, types.ModuleType):
            if found.__name__ in ("numpy", "cupy"):
                return Namespace(found, self)
            if found.__name__ in ("datetime", "os"):
                return Module(found, self)
            if is_own_module(found):
                return self.unread(name, found)
        return checked(replaced(found))


def _name_of(found: Any) -> str:
    name = getattr(found, "__name__", None)
    return name if isinstance(name, str) else f"an object of type {type(found).__name__}"


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
    name = getattr(value, "__name__", None)  # as functions have, of whatever making
    return isinstance(value, str | bytes | int | float | complex | np.generic) or (
        callable(value) and isinstance(name, str)
    )


def _varies(value: Any) -> bool:
    """True for clocks, generators of random numbers, their functions and modules."""
    if isinstance(value, types.ModuleType):
        return value.__name__ in VARYING
    if isinstance(value, types.BuiltinFunctionType | types.MethodType):
        owner = getattr(value, "__self__", None)
        if any(owner is clock for clock in CLOCKS):
            return value.__name__ in ("now", "utcnow", "today")
        is_unforeseen = any(value is function for function in UNFORESEEN)
        return is_unforeseen or getattr(value, "__module__", None) in VARYING or _varies(owner)
    return isinstance(value, random.Random) or (
        type(value).__module__.startswith("numpy.random") and not isinstance(value, type)
    )


class Module:
    """Stands for a module of which some parts have stand-ins."""

    def __init__(self, module: types.ModuleType, sight: Sight):
        self._module, self._sight = module, sight

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        return self._sight.plain(Identity(found) if name == "environ" else found)

    def __dir__(self) -> list[str]:
        return dir(self._module)


class Namespace:
    """Stands for ``numpy`` or ``cupy`` inside a traced function.

    Functions of arrays are NumPy's, which asks a traced value what to do; those that make arrays
    are the module's own, unless a shape is traced.
    """

    def __init__(self, module: types.ModuleType, sight: Sight):
        self._module = module
        self._sight = sight

    def __getattr__(self, name: str) -> Any:
        if name in SHAPED or name in COUNTED:
            return creator(name, getattr(self._module, name))
        makes = name in MAKERS or not hasattr(np, name)
        found = getattr(self._module if makes else np, name)
        return self._sight.plain(found) if isinstance(found, types.ModuleType) else checked(found)

    def __dir__(self) -> list[str]:
        return dir(self._module)


def checked(found: Any) -> Any:
    """NumPy's settings of floating-point errors, which kernels do not have; all else as it is."""
    if found is np.errstate:
        return _errstate
    if type(found) is np.errstate:
        names = ("all", "divide", "over", "under", "invalid")
        return _errstate(**{name: getattr(found, f"_{name}", None) for name in names})
    if any(found is function for function in (np.seterr, np.seterrcall)):
        return _setting
    return found


def _errstate(**kinds: Any) -> Any:
    """``np.errstate`` where it asks for nothing that a kernel does not do."""
    for name, kind in kinds.items():
        if kind not in ("ignore", "warn", None):
            raise UnsupportedError(
                f"np.errstate({name}={shown(kind)}): kernels neither raise nor call, expected "
                f"'ignore' or 'warn' ({users_line()}); look at the results, with np.isfinite for "
                "instance, or compute this by NumPy outside the fused function"
            )
    return np.errstate(**kinds)


def _setting(*args: Any, **kwargs: Any) -> NoReturn:
    raise UnsupportedError(
        "np.seterr: changes NumPy's settings, which a compiled function would do once and not at "
        f"each call ({users_line()}); call it outside the fused function"
    )
