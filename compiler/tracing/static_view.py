"""What a traced function sees of values that are part of the guard: modules, functions, objects.

A value that cannot be known before each call has a stand-in that refuses all questions.  Then the
function runs in parts, where it sees the value itself.
"""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np

from opweave.compiler.captures.bytecode import asks_identity
from opweave.compiler.captures.capture import KEEPING
from opweave.compiler.captures.copied import Left
from opweave.compiler.captures.owners import has_end, held, is_of_library, is_own_module
from opweave.compiler.captures.places import Place
from opweave.compiler.captures.purity import OURS, is_pure_in_c
from opweave.compiler.captures.steady import CLOCKS, is_steady, varies
from opweave.compiler.captures.structure import Identity
from opweave.compiler.captures.tree import flatten
from opweave.compiler.ir.plain_arrays import is_array
from opweave.compiler.numpy_api.creation import creator
from opweave.compiler.numpy_api.dispatch import CREATORS
from opweave.compiler.traced.foreign import remedy
from opweave.compiler.traced.numbers import moves_on
from opweave.compiler.traced.python_functions import BUILTINS as PYTHON
from opweave.compiler.traced.tracer import Tracer
from opweave.compiler.tracing.errstates import checked
from opweave.compiler.tracing.interface import ChangesLike, Sight
from opweave.compiler.tracing.leaving import Departure
from opweave.compiler.tracing.libraries import (
    ARRAY_MODULES,
    GIVERS,
    Module,
    Modules,
    array_function,
    asking,
    creator_name,
    giving,
    has_stand_in,
)
from opweave.compiler.tracing.questions import QUESTIONS
from opweave.compiler.tracing.refusing import (
    CHANGES,
    KEEPS,
    LEAVES,
    VARIES,
    Clock,
    Refusing,
    Remembering,
    refusing,
)
from opweave.opcodes.errors import TraceError

# Types of what a module holds that are no objects which may change.
FIXED = (
    types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType, np.ufunc, np.dtype,
    str, bytes, int, float, complex, np.generic,
)  # fmt: skip
# Types of values in an installed package that a guard has to know.
OF_OTHERS = (
    type, str, bytes, int, float, complex, type(None), np.ndarray, np.generic, np.dtype,
)  # fmt: skip
# Types with one object each.
TRUTHS = ("True_", "False_")


# What copied functions find in the place of built-in functions.
INSTEAD = {**PYTHON, **QUESTIONS}


class Traced(Sight):
    """The sight of a function that is traced; its tracer remembers what was refused.

    Nothing is brought in step with code that is no copy: a change is refused at the end.
    """

    tracer: Tracer

    def __init__(self, tracer: Tracer):
        super().__init__(tracer)
        self.captured: Mapping[Place, Any] = {}
        self.given = 0  # how many containers of arguments may be changed
        self.left_in: Sequence[Left] = ()

    def unread(self, name: str, value: Any) -> Any:
        written = remedy(value)
        why = (CHANGES[0], f"pass {written} as an argument") if written else CHANGES
        return refusing(value, name, why, self.tracer)

    def copies(self, code: types.CodeType) -> None:
        super().copies(code)
        self.tracer.asks_identity |= self.tracer.asks_truth or asks_identity(code)

    def changed(self, changes: ChangesLike, name: str) -> None:
        """Take what was left in arguments for results, and refuse other changes.

        Raises:
            TraceError: the function has changed something else, or a number that the guard has.
        """
        self.left_in = changes.left_in(self.given) if self.given else ()
        for left in self.left_in:
            if moves_on(left.before, left.value):
                raise self.tracer.noted(TraceError(
                    f"{name}: {left.name} is another number after each call, and its value is "
                    "asked for: each call would be compiled anew"
                ))  # fmt: skip
        self.failed(changes, name)

    def failed(self, changes: ChangesLike, name: str) -> None:
        """Refuse all changes: no exception of a compiled function leaves a value.

        Raises:
            TraceError: the function has changed something.
        """
        found, self.changes = changes.first(), None
        if found is not None:
            raise self.tracer.noted(would_be_lost(name, found))

    def left(self, departure: Departure) -> None:
        """A trace stops before the call.

        Raises:
            TraceError: names what is called, and the line.
        """
        why, advice = LEAVES
        where = departure.where(self.tracer.first_line)
        raise self.tracer.noted(TraceError(f"{departure.name}: {why} ({where}); {advice}"))

    def assign(self, module: types.ModuleType, name: str, value: Any) -> None:
        raise self.tracer.noted(
            would_be_lost(f"{module.__name__}.{name}", "is assigned by the function")
        )

    def attribute(self, module: types.ModuleType, name: str) -> Any:
        self.seen.look_up(module, name, is_steady=True)
        return self.seen.once((id(module), name), module, lambda: self._attribute(module, name))

    def _attribute(self, module: types.ModuleType, name: str) -> Any:
        if module is np and name in TRUTHS:
            raise self.tracer.noted(TraceError(
                f"np.{name}: there is one, and a truth that is computed may be it, as 'is' can "
                f"tell ({self.tracer.where()}); compare with == True"
            ))  # fmt: skip
        found = part_of(module, name, self)
        place = Place.of(name, vars(module))
        if is_array(found) and place in self.captured:
            return self.captured[place]
        is_known = place in self.captured or is_of_library(module.__name__)
        is_known = is_known or not isinstance(found, OF_OTHERS)
        if is_known and not changes(found):
            return found
        return self.unread(f"{module.__name__}.{name}", found)

    def check(self, captured: Mapping[Place, Any], names: Set[str]) -> None:
        self.captured = captured
        for place, value in captured.items():
            if place.watched and (place.name in names or place.name.startswith("__")):
                for path, leaf in flatten(value, place.label)[0]:
                    if issubclass(type(leaf), Refusing):
                        self.unread(path, leaf)()

    def _seen(self, found: Any, is_unknown: bool) -> Any:
        if is_array(found):
            return found
        name = name_of(found)
        if varies(found):
            return Refusing(found, name, VARIES, self.tracer)
        if type(found) is KEEPING and str(found.__module__).split(".")[0] not in OURS:
            return Remembering(found, name, KEEPS, self.tracer)
        in_c = type(found) is types.BuiltinFunctionType
        if has_end(found) or (in_c and not is_pure_in_c(found)):
            return Refusing(found, name, LEAVES, self.tracer)
        if any(found is clock for clock in CLOCKS):
            return Clock(found, self.tracer)
        is_method = isinstance(found, types.BuiltinFunctionType | types.MethodType)
        if type(found) is not np.errstate and (is_unknown or is_method) and not is_steady(found):
            return self.unread(name, found)
        if is_own_module(found):
            return self.unread(name, found)
        return stand_in(found, self)


def meant_by(item: Any) -> Any:
    """The module, function or object behind a stand-in; any other value as it is."""
    return item._found if hasattr(type(item), "__opweave_stands__") else item


def would_be_lost(function: str, what: str) -> TraceError:
    """The refusal of a change outside of a function."""
    return TraceError(
        f"{function}: {what}, which a compiled function would do once and not at each call; "
        "return the value instead"
    )


def stand_in(found: Any, sight: Sight) -> Any:
    """The stand-in for a module or a function that is replaced; any other value as it is."""
    if has_stand_in(found):
        return Module(found, sight)
    if any(found is giver for giver in GIVERS):
        return giving(found, sight)
    name = creator_name(found)
    return checked(asking(found)) if name is None else creator(name, found, _holder(sight))


def _holder(sight: Sight) -> Any:
    """The tracer that remembers the arrays which the function makes, if it is traced whole."""
    return getattr(sight, "tracer", None)


def part_of(module: types.ModuleType, name: str, sight: Sight) -> Any:
    """A part of a module that has a stand-in."""
    if module is sys and name == "modules":
        return Modules(sight)
    if module is builtins and name in INSTEAD:
        return INSTEAD[name]
    if module.__name__ not in ARRAY_MODULES:
        found = getattr(module, name)
        known = found is None or isinstance(found, FIXED) or changes(found)
        return found if changes(found) else sight.plain(found if known else Identity(found))
    found = array_function(module, name)
    if name == "get_array_module":  # CuPy's
        return lambda *args: sight.plain(found(*args))
    return creator(name, found, _holder(sight)) if name in CREATORS else sight.plain(found)


def changes(found: Any) -> bool:
    """True for what a module holds that may hold other things at each call."""
    return isinstance(found, list | set | dict | Mapping) and not isinstance(found, Modules)


def name_of(found: Any) -> str:
    name = held(found, "__name__")
    return name if isinstance(name, str) else f"an object of type {type(found).__name__}"
