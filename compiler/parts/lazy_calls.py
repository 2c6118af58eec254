"""Stand-ins for callables that do not ask arrays what to do, such as generators and caches."""

from __future__ import annotations

from typing import Any

from opweave.compiler.captures.capture import KEEPING
from opweave.compiler.parts.interface import LazySightLike
from opweave.compiler.tracing.questions import StandIn


class LazyCalls(StandIn):
    """Stands for a callable that asks no array what to do; it is given arrays themselves."""

    def __init__(self, found: Any, sight: LazySightLike):
        self._found, self._sight = found, sight

    def __eq__(self, other: object) -> Any:
        return self._found == (other._found if type(other) is LazyCalls else other)

    def __hash__(self) -> int:
        return hash(self._found)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__getattr__("__call__")(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        found, sight = getattr(self._found, name), self._sight
        if isinstance(found, type) or not callable(found):
            return found

        def function(*args: Any, **kwargs: Any) -> Any:
            sight.tracer.flush()
            if type(self._found) is not KEEPING:
                functions = sight.functions  # they may be kept, and called later
                args = tuple(functions.get(id(arg), arg) for arg in args)
                made = found(*sight.tracer.concrete(args), **sight.tracer.concrete(kwargs))
                return sight.plain(sight.tracer.seen_of(made))
            sight.crossed(True)  # it calls the user's own function
            try:
                args, kwargs = sight.settled((args, kwargs))
                return found(*args, **kwargs)
            finally:
                sight.crossed(False)

        return function


class LazyMethod(LazyCalls):
    """Stands for a container's method; calls that of the copy where the function sees a copy."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        copy = self._sight.copy_of.get(id(self._found.__self__))
        if copy is None:
            return super().__call__(*args, **kwargs)
        return getattr(copy, self._found.__name__)(*args, **kwargs)
