"""Stand-ins for values that may differ from call to call: they refuse to be asked.

The function runs in parts then, where it sees the value itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from opweave.compiler.arrays.traced_operators import is_traced
from opweave.compiler.captures.capture import is_constant
from opweave.compiler.traced.tracer import Tracer
from opweave.compiler.traced.unwatched import unwatched
from opweave.compiler.tracing.interface import Sight
from opweave.compiler.tracing.questions import ClassOf, StandIn
from opweave.opcodes.errors import TraceError

# Methods that Python looks up in the class alone.
PLAIN = (str, bytes, int, float, complex, tuple, list, dict, np.generic, np.ndarray)
VARIES = (
    "gives another value at each call, which a compiled function would take once",
    "draw it outside and pass it in",
)
LEAVES = (
    "is not known to compute only, and may do something at each call that a compiled function "
    "would do once",
    "call it outside the fused function",
)
KEEPS = (
    "keeps results from call to call, which a compiled function would take once",
    "call the function itself, or pass the result in",
)
CHANGES = (
    "may hold other things at each call, which a compiled function would not see",
    "pass what it holds as an argument",
)


class Refusing(StandIn):
    """Stands for a value that a compiled function would ask once only: it refuses to be asked."""

    __slots__ = ("_found", "_name", "_tracer", "_why")
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

    __getattr__: Any = _refused

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The object's own class, for ``isinstance``, unless it is that of a number."""
        return self._refused() if isinstance(self._found, PLAIN) else type(self._found)


# What Python asks an object for.
OPERATORS = "add sub mul truediv floordiv mod divmod pow matmul lshift rshift and or xor".split()
for _name in (
    """
    call setattr delattr len iter next reversed getitem setitem delitem contains bool enter exit
    eq ne lt le gt ge hash int float complex index round str repr format bytes array
    neg pos abs invert await aiter anext aenter aexit buffer copy deepcopy reduce reduce_ex
""".split()
    + [kind + name for name in OPERATORS for kind in ("", "r", "i")]
):
    setattr(Refusing, f"__{_name}__", Refusing._refused)


class RefusingMapping(Refusing):
    """A refusing stand-in that a ``match`` statement takes for a mapping, and asks."""

    __slots__ = ()


class RefusingSequence(Refusing):
    """A refusing stand-in that a ``match`` statement takes for a sequence, and asks."""

    __slots__ = ()


Mapping.register(RefusingMapping)
Sequence.register(RefusingSequence)


def refusing(found: Any, name: str, why: tuple[str, str], tracer: Tracer) -> Refusing:
    """A refusing stand-in for a value, of a class with the flags that ``match`` looks at."""
    kind = Refusing
    if issubclass(type(found), Mapping):
        kind = RefusingMapping
    elif issubclass(type(found), Sequence) and not isinstance(found, str | bytes | bytearray):
        kind = RefusingSequence
    return kind(found, name, why, tracer)


class Remembering(Refusing):
    """Stands for a function that remembers what it returned: ``functools.cache`` and its kin.

    For arguments that are not traced it returns the same at each call.  Before it is asked, a run
    of a copy of the function in it shows whether that function does anything else.
    """

    __slots__ = ("_copy", "_sight")
    _copy: Callable[..., Any]
    _sight: Sight

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if any(map(is_traced, (*args, *kwargs.values()))):
            self._refused()
        if self._does_more(args, kwargs):
            self._refused()
        made = unwatched(self._found)(*args, **kwargs)
        return made if is_constant(made) else self._refused()

    def _does_more(self, args: Any, kwargs: Any) -> bool:
        """Whether the function in it changes something, or its caller has done so before."""
        try:
            copy, sight = object.__getattribute__(self, "_copy"), self._sight
        except AttributeError:  # a function of an installed package
            return False
        copy(*args, **kwargs)
        return sight.changes is not None and sight.changes.first() is not None

    @staticmethod
    def of_copy(found: Any, copy: Callable[..., Any], sight: Sight) -> Any:
        """The same kind of stand-in, with a copy of the function in it."""
        if type(found) is Remembering:
            object.__setattr__(found, "_copy", copy)
            object.__setattr__(found, "_sight", sight)
        return found


class Clock(ClassOf):
    """Stands for a class of the standard library's dates, whose clock gives another value."""

    def __init__(self, found: type, tracer: Tracer):
        self._found, self._tracer = found, tracer

    def __getattr__(self, name: str) -> Any:
        value = super().__getattr__(name)
        if name not in ("now", "utcnow", "today"):
            return value
        return Refusing(value, f"{self._found.__name__}.{name}", VARIES, self._tracer)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._found(*args, **kwargs)
