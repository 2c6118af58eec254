"""Calls that write to their arguments.

Kernels compute what the arguments hold afterwards: straight into their memory where nobody else
needs what is there (``compiler/scheduling/writes.py``), else in arrays that are copied when all is
known to be right.  A call whose arguments are not apart in memory, or of which one cannot be
written to, is not run by kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from opweave.compiler.ir.plain_arrays import is_cupy
from opweave.opcodes.errors import BoundsError
from opweave.runtime.calls.arrays import assigned, overlap, overlaps_itself, pointer

if TYPE_CHECKING:
    from opweave.compiler.ir.graph import FunctionGraph
    from opweave.runtime.calls.planned import PlannedCall

# So many steps are taken to find out whether two layouts have an element in common.
MOST_WORK = 1000


# Places of an output and of an input, the index, or one that the outputs tell, and a ufunc's name.
Store = tuple[int, int, Any, str]


class Unwritten(Exception):
    """Kernels may not run a call, or have failed, and no argument was written to.

    Attributes:
        shared: names of arguments that share memory, if that is why.
        raised: what a call of NumPy's library raised, if that is why.
    """

    def __init__(self, why: str, shared: tuple[str, ...] = (), raised: Exception | None = None):
        super().__init__(why)
        self.shared, self.raised = shared, raised


class Writes:
    """The arguments that a prepared call writes to, as long as they lie apart.

    Attributes:
        places: of these arguments among all.
        folded: elements of one of them share memory.
    """

    def __init__(self, names: Sequence[str], places: Sequence[int], folded: bool = False):
        """``names`` are those of all arguments."""
        self.names, self.places = tuple(names), tuple(dict.fromkeys(places))
        self.folded = folded
        self._apart: list[int] = []  # where the arrays of the last call began

    @classmethod
    def of(cls, graph: FunctionGraph, arrays: Sequence[Any]) -> Writes:
        """Those of a graph; ``arrays`` are like those of the calls."""
        places = [write.place for write in graph.written]
        folded = any(overlaps_itself(arrays[place]) for place in {*places})
        return cls([item.name for item in graph.inputs], places, folded)

    def check(self, arrays: Sequence[Any]) -> None:
        """Check that kernels may write to the arguments.

        Arrays that begin where those of the last call did, as in a loop, lie apart as those did:
        calls of one kind have the same extents and strides.

        Raises:
            Unwritten: one is read-only, or shares memory with itself or another array.
        """
        for place in self.places:
            array = arrays[place]
            if type(array) is not np.ndarray and is_cupy(array):
                continue
            if not array.flags.writeable:
                raise Unwritten(f"argument {self.names[place]} is read-only")
        if self.folded:
            raise Unwritten("elements of an argument that is written to share memory")
        if len(arrays) == 1 or (begin := [*map(pointer, arrays)]) == self._apart:
            return
        for place in self.places:
            for other, array in enumerate(arrays):
                if other != place and _share(arrays[place], array):
                    shared = self.names[place], self.names[other]
                    raise Unwritten(f"{' and '.join(shared)} share memory", shared)
        self._apart = begin


def store(
    outputs: Sequence[Any],
    arrays: Sequence[Any],
    stores: Sequence[Store],
    copy: Callable[[Any, Any], None] = assigned,
) -> None:
    """Copy outputs to the arguments that hold them, unless kernels have written there.

    Args:
        copy: lets an array hold the elements of another one, see ``Executor``.
    """
    for output, place, key, by in stores:
        array, value = arrays[place], outputs[output]
        if value is array and key is ...:
            continue  # a kernel has written there
        if is_cupy(array) and is_cupy(value) and overlap(array, value):
            value = value.copy()  # NumPy looks whether memory overlaps, CuPy does not
        found = key(outputs) if callable(key) else key
        if by:
            getattr(np, by).at(array, found, value)
        elif found is ... and isinstance(value, np.ndarray):
            copy(array, value)
        else:
            array[found] = value


def written(
    prepared: PlannedCall, arrays: Sequence[Any], env: Mapping[str, Any], count: int | None = None
) -> list[Any]:
    """Run a call, and let its arguments hold what they do afterwards; returns all outputs.

    Args:
        count: if it is given, outputs behind so many are alarms.

    Raises:
        Unwritten: kernels cannot run it, an index has no element, or there is an alarm.
    """
    writes = prepared.writes
    assert writes is not None
    writes.check((*arrays, *prepared.constants) if prepared.constants else arrays)
    straight = prepared.plan.straight if count is None else ()
    try:
        found = prepared(arrays, env, {value: arrays[place] for value, place in straight})
    except (BoundsError, ArithmeticError) as error:
        raise Unwritten(str(error)) from None
    if count is not None and any(found[count:]):
        raise Unwritten("NumPy would find a floating-point error")
    store(found, arrays, prepared.plan.stores, prepared.executor.copy)
    return found


def _share(a: Any, b: Any) -> bool:
    """True if two arrays share bytes, or if that is hard to tell."""
    if not overlap(a, b):
        return False
    if not isinstance(a, np.ndarray):
        return True
    try:
        return bool(np.shares_memory(a, b, max_work=MOST_WORK))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True
