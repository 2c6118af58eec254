"""What a function in parts sees of values that are no arrays, and what others see of its values.

The function sees modules, objects and functions through stand-ins, and copies of containers and
globals.  Code of others, and the caller, get what these stand for.
"""

from __future__ import annotations

import functools
import inspect
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.compiler.arrays.traced_operators import is_traced_array
from opweave.compiler.captures.bytecode import names_in
from opweave.compiler.captures.capture import KEEPING
from opweave.compiler.captures.containers import is_container
from opweave.compiler.captures.purity import is_pure_in_c
from opweave.compiler.captures.structure import Identity
from opweave.compiler.ir.plain_arrays import is_array
from opweave.compiler.numpy_api.dispatch import CREATORS
from opweave.compiler.parts.interface import LazyTracerLike
from opweave.compiler.parts.lazy_array import BREAKS
from opweave.compiler.parts.lazy_calls import LazyCalls, LazyMethod
from opweave.compiler.parts.outliving import OUTLIVING
from opweave.compiler.parts.write_back import Settling
from opweave.compiler.traced.unwatched import unwatched
from opweave.compiler.tracing.interface import ChangesLike, Sight
from opweave.compiler.tracing.leaving import Departure
from opweave.compiler.tracing.libraries import ARRAY_MODULES, creator_name, warn
from opweave.compiler.tracing.static_view import TRUTHS, changes, meant_by, part_of, stand_in
from opweave.opcodes.allowed import is_number

RANDOM = ("numpy.random", "cupy.random")
# Classes in C that ask for the class of a number, and truths that there are once.
ASKED_FOR_CLASS = ("Decimal", "Fraction", "timedelta", *TRUTHS)
# Functions that read the frame which calls them: no frame of ours may stand between.
OF_THE_FRAME = frozenset("globals locals vars eval exec breakpoint _getframe".split())


class LazySight(Sight):
    """The sight of a function that runs in parts; its tracer has the arrays.

    Attributes:
        shown: objects that the function sees themselves.
        meant: stand-ins, and the values that they stand for.
        copy_of: of containers, by the identities of the originals.
        scopes: the globals of the user's functions, by those of their copies.
    """

    puts_back = True
    tracer: LazyTracerLike

    def __init__(self, tracer: LazyTracerLike):
        super().__init__(tracer)
        self.shown: list[Any] = []
        self.meant: dict[int, Any] = {}
        self.copy_of: dict[int, Any] = {}
        self.scopes: dict[int, dict[str, Any]] = {}

    @unwatched
    def plain(self, value: Any) -> Any:
        """What the function sees of a module or an object, always the same stand-in for one."""
        found = value.value if isinstance(value, Identity) else value
        return self._standing(super().plain(value), found)

    def _standing(self, made: Any, found: Any) -> Any:
        """Remember what a stand-in was made for; one of a function cannot say so itself."""
        if made is not found:
            self.meant[id(made)] = made, found
        return made

    def _seen(self, found: Any, is_unknown: bool) -> Any:
        name = getattr(found, "__name__", "") if isinstance(found, types.ModuleType) else ""
        is_random = type(found).__module__.startswith("numpy.random")
        if found is warnings.warn:
            return warn
        if type(found) is types.BuiltinFunctionType and found.__name__ in OF_THE_FRAME:
            return found
        is_foreign = type(found) is types.BuiltinFunctionType and not is_pure_in_c(found)
        if name in RANDOM or is_random or is_foreign or type(found) is KEEPING:
            return LazyCalls(found, self)
        if found is memoryview:
            return LazyCalls(found, self)
        if isinstance(found, types.MethodType | types.BuiltinFunctionType):
            owner = found.__self__
            self.shown.append(owner)
            if is_container(owner) and owner is not None:
                return LazyMethod(found, self)
        elif is_unknown:
            self.shown.append(found)
        made = stand_in(found, self)
        return made if creator_name(found) is None else self._taking(found, made)

    def assign(self, module: types.ModuleType, name: str, value: Any) -> None:
        setattr(module, name, self.real(value))
        self.seen.made.pop((id(module), name), None)

    def attribute(self, module: types.ModuleType, name: str) -> Any:
        """What the function sees of a part of a module; arrays that it makes become stand-ins."""
        made = self.seen.once((id(module), name), module, lambda: self._attribute(module, name))
        return self._standing(made, getattr(module, name, made))

    def _attribute(self, module: types.ModuleType, name: str) -> Any:
        found = part_of(module, name, self)
        if changes(found):
            self.shown.append(found)
        is_kept = isinstance(found, type | np.ufunc | LazyCalls) or not callable(found)
        if module.__name__ not in ARRAY_MODULES or is_kept:
            return found
        return self._taking(getattr(module, name), found)

    @unwatched
    def _taking(self, plain: Any, found: Callable[..., Any]) -> Callable[..., Any]:
        """A function of NumPy's or CuPy's; arrays in its result become stand-ins."""
        name = getattr(plain, "__name__", "")

        def function(*args: Any, **kwargs: Any) -> Any:
            self.tracer.asking += 1
            try:
                return self.tracer.seen_of(found(*args, **kwargs))
            except BREAKS as error:
                if name not in CREATORS:
                    raise  # NumPy was asked already
                return self.tracer.eagerly(f"np.{name}", error, plain, args, kwargs)
            finally:
                self.tracer.asking -= 1

        return functools.update_wrapper(function, plain)

    def begun(self, changes: ChangesLike) -> None:
        super().begun(changes)
        self.scopes = changes.substituted.original_scopes()

    def ended(self) -> None:
        """Drop what holds the tracer, so that no memory waits for a collection of cycles."""
        self.changes = None
        self.meant.clear()

    def changed(self, changes: ChangesLike, name: str) -> None:
        """Do to the originals what the function has changed; at each call."""
        changes.put_back(Settling(self.real, changes.originals()).settled)

    def crossed(self, is_outside: bool) -> None:
        """Tell each side, the function and code of others, what the other side has changed."""
        if self.changes is not None:
            if is_outside:
                self.changed(self.changes, self.tracer.name)
                self.seen.changes.settle(Settling(self._given_away, self.functions).settled)
            else:
                self.changes.take_over(self.shown_of)

    @property
    def functions(self) -> dict[int, Any]:
        """The user's functions, by the identities of their copies."""
        return {} if self.changes is None else self.changes.functions()

    def settled(self, value: Any) -> Any:
        """What code of the user's is given: arrays, numbers, and the originals of copies."""
        known = {} if self.changes is None else self.changes.originals()
        return Settling(self.real, known).settled(value)

    def shown_of(self, value: Any) -> Any:
        """What the function sees of what others have put into its containers and globals."""
        if id(value) in self.copy_of:
            return self.copy_of[id(value)]
        if is_array(value):
            return self.tracer.taken(value)
        return value if is_number(value) else self.plain(Identity(value))

    def real(self, item: Any) -> Any:
        """What the caller gets in the place of a value that the function sees."""
        if id(item) in self.meant:
            return self.meant[id(item)][1]
        outliving = OUTLIVING.get(type(item))
        if outliving is not None:
            return outliving(self, item)
        return self.tracer.concrete(meant_by(item))

    def copies(self, code: types.CodeType) -> None:
        super().copies(code)
        self.tracer.asks_truth |= not names_in(code).isdisjoint(ASKED_FOR_CLASS)

    def left(self, departure: Departure) -> None:
        """Give code of others arrays and numbers, which it may keep, or whose types it may ask.

        A function in C needs no change: it asks a stand-in for its value, or stores it.
        """
        if departure.frame is None:
            return
        given = departure.frame.f_locals  # once: each reading takes the variables over again
        code = departure.frame.f_code
        count = code.co_argcount + code.co_kwonlyargcount
        count += bool(code.co_flags & inspect.CO_VARARGS)
        count += bool(code.co_flags & inspect.CO_VARKEYWORDS)
        settling = Settling(self._given_away, self.functions)
        for name in code.co_varnames[:count]:
            if name in given:
                settled = settling.settled(given[name])
                if settled is not given[name]:
                    given[name] = settled

    def _given_away(self, item: Any) -> Any:
        if is_traced_array(item) and not self.tracer.leaked:
            self.tracer.broken("a call of what opweave does not know")
            self.tracer.leaked = True
        return self.real(item)

    def unread(self, name: str, value: Any) -> Any:
        """No stand-in is needed: Python runs at each call, and reads the value that is there."""
        return self.plain(value)
