"""Which prepared calls C runs as a whole, from the arguments to the result: runtime/host/warm.py.

That a call is C's follows from the prepared call alone.  What C does not know, or does not find as
it was, takes the way through ``Calls``, which gives the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from opweave._functions.kept import Kept
from opweave._functions.ready import Ready
from opweave.compiler.captures.structure import NOTHING, Constant, Leaf, Structure, Tree
from opweave.compiler.ir.values import Scalar
from opweave.runtime.calls.results import BOXED, Returned
from opweave.runtime.calls.results import TRUTH as TRUE
from opweave.runtime.calls.writes import store
from opweave.runtime.host.copies import FROM_BYTES
from opweave.runtime.host.native import NativeSteps
from opweave.runtime.host.starts import MOST_KEPT, NativeStart
from opweave.runtime.host.warm import Lies, Make, Same, Warm, is_known, is_plain, warm_call
from opweave.runtime.host.warm_layout import (
    AS_IT_IS,
    FORMS,
    MOST_NUMBERS,
    MOST_WORDS,
    SCALAR,
    TRUTH,
)

# A call that comes so often is C's from then on.
OFTEN = 4
# So many calls of one structure; then the newest takes the place of the oldest.
MOST = 16
# How often calls came is counted for so many of them.
MOST_COUNTED = 256
# Types of leaves: numbers that C reads, and values that are the same object at each call.
NUMBERS: dict[type, tuple[str, ...]] = {
    float: ("float64", "float32"),
    np.float64: ("float64", "float32"),
    int: ("float64", "float32", "int64", "int32"),
}
SAME = frozenset((bool, str))
ANY = np.dtype(np.bool_)  # of a result that is returned as it is
# What is returned: a word, its form, the dtype of a number.
Result = tuple[int, int, np.dtype[Any]]


def _knows_none(*args: Any) -> Any:
    return NotImplemented


class WarmCalls:
    """The calls with arguments of one structure that C runs.

    Attributes:
        call: runs them; ``NotImplemented`` says that it does not know one.
    """

    call: Callable[..., Any] = staticmethod(_knows_none)

    def __init__(self, holds: Callable[[], bool], args: int, static: Sequence[bool]):
        """``holds`` of what is kept of them; ``args`` of the leaves are arguments."""
        self._holds, self._args, self._static = holds, args, static
        self._came: dict[int, tuple[Ready, int]] = {}
        self._known: dict[int, Warm] = {}

    def came(self, ready: Ready, values: Sequence[Any]) -> None:
        """Count a call that Python has found: in the end C may know it."""
        key = id(ready)
        count = self._came.get(key, (ready, 0))[1] + 1
        if len(self._came) >= MOST_COUNTED:
            self._came.clear()
        self._came[key] = ready, count
        if count == OFTEN:
            found = warm_of(ready, values, self._args, self._static)
            if found is not None:
                newest = [*self._known.items()][: MOST - 1]
                self._known = {key: found, **dict(newest)}
                self.call = warm_call(self._holds, tuple(self._known.values()))


def counted(kept: Kept, ready: Ready, values: list[Any], args: int) -> tuple[Ready, Sequence[Any]]:
    """A call that Python has found, counted; so many of its leaves are arguments."""
    if kept.holds is not None:
        if kept.warm is None:
            kept.warm = WarmCalls(kept.holds, args, kept.layout.static)
        kept.warm.came(ready, values)
    return ready, values


def warm_of(ready: Ready, values: Sequence[Any], args: int, static: Sequence[bool]) -> Warm | None:
    """A prepared call as C takes it; None where Python runs it.

    Args:
        values: the leaves of a call like those; ``args`` of them are arguments.
        static: leaves that are part of the guard.
    """
    prepared, plan = ready.prepared, ready.prepared.plan
    kernels = _kernels(ready)
    leaves = [*map(_leaf, values, static)]
    numbers = [_number(ready, scalar, values) for scalar in plan.scalars]
    if kernels is None or None in leaves or None in numbers:
        return None
    shown, stores = _shown(ready), _stores(ready, values)
    is_c = shown is not None and stores is not None
    found = Warm(
        plan=kernels.address,
        leaves=tuple(leaf for leaf in leaves if leaf is not None),
        outside=tuple(values[args:]),
        arrays=tuple(ready.arrays),
        constants=tuple(prepared.constants),
        numbers=tuple(n for n in numbers if n is not None),
        makes=_makes(ready, (stores or ()) if is_c else None, shown or ()),
        written=() if prepared.writes is None else prepared.writes.places,
        stores=stores or () if is_c else (),
        results=(shown or ()) if is_c else _all(ready),
        finish=None if is_c else partial(_finished, ready),
        is_tuple=isinstance(ready.structure, Tree),
        constant=_constant(ready.structure) if is_c else None,
        arena_bytes=plan.memory.nbytes,
        owner=ready,
    )
    return found if found.words <= MOST_WORDS else None


def _kernels(ready: Ready) -> NativeSteps | None:
    """The kernels of a call, if they are all that it runs, for any of its numbers."""
    prepared, plan = ready.prepared, ready.prepared.plan
    folds = prepared.writes is not None and prepared.writes.folded
    by_extents = any(each.number is not None for each in prepared.returned)
    is_large = plan.workspaces or plan.memory.nbytes > MOST_KEPT
    if ready.asks or folds or by_extents or is_large or not is_known():
        return None
    return prepared.start.whole if isinstance(prepared.start, NativeStart) else None


def _leaf(value: Any, is_static: bool) -> Lies | Same | type | None:
    """What a leaf is like; None where C does not take it."""
    kind = type(value)
    if is_static or kind in SAME:
        return Same(value)
    if kind is np.ndarray:
        return Lies.of(value)
    return kind if kind in NUMBERS else None


def _number(ready: Ready, scalar: Scalar, values: Sequence[Any]) -> tuple[int, int] | None:
    """The leaf that a number of kernels is, and how it is packed; None where C cannot."""
    dtype, expr = scalar.dtype.numpy_name, scalar.expr
    if expr.op != "argument" or expr.args[0] not in ready.names:
        return None
    place = ready.scalars[ready.names.index(expr.args[0])]
    forms = NUMBERS.get(type(values[place]), ())
    return (place, FORMS[dtype]) if dtype in forms else None


def _constant(structure: Structure | None) -> tuple[Any] | None:
    """What is returned at each call, if it is always the same."""
    if structure == NOTHING:
        return (None,)
    return (structure.value,) if isinstance(structure, Constant) else None


def _all(ready: Ready) -> tuple[Result, ...]:
    """Arguments and results, as they are."""
    return tuple((word, AS_IT_IS, ANY) for word in range(ready.prepared.plan.faults))


def _shown(ready: Ready) -> tuple[Result, ...] | None:
    """What is returned, and of what; None where C does not make it."""
    structure = ready.structure
    if _constant(structure) is not None:
        return ()
    if isinstance(structure, Tree) and structure.is_flat:
        count = len(structure.children)
    elif structure is None or structure == Leaf(is_view=False):
        count = 1
    else:
        return None
    returned = ready.prepared.returned[:count]
    if ready.prepared.shared or any(each.view is not None for each in returned):
        return None
    outputs = ready.found.variant.graph.outputs[:count]
    return tuple(map(_result, returned, outputs))


def _result(returned: Returned, output: Any) -> Result:
    """A result: arrays without dimensions become numbers of NumPy's or Python's, most of them."""
    form = TRUTH if returned.kind == TRUE else SCALAR
    is_array = returned.is_array or returned.kind == BOXED
    return returned.array, AS_IT_IS if is_array else form, output.dtype.numpy


def _stores(ready: Ready, values: Sequence[Any]) -> tuple[tuple[int, int, Any], ...] | None:
    """What C stores in arguments when kernels are done; None where it does not know how."""
    prepared = ready.prepared
    plan = prepared.plan
    straight = dict(plan.straight)
    lies = {plan.inputs + n: straight.get(value) for n, (value, _) in enumerate(plan.makes)}
    found = []
    for output, place, key, by in plan.stores:
        word = plan.outputs[output]
        if key is ... and not by and lies.get(word) == place:
            continue  # a kernel has written there
        if by or callable(key) or prepared.returned[output].view is not None:
            return None
        if values[ready.arrays[place]].nbytes >= FROM_BYTES:
            return None  # by many threads
        found.append((place, word, key))
    return tuple(found)


def _makes(
    ready: Ready, stores: Sequence[tuple[int, int, Any]] | None, shown: Sequence[Result]
) -> tuple[Make, ...]:
    """How the results of a call are made; numbers of which C does all lie in its memory.

    ``stores`` is None where Python gets all arrays.
    """
    plan = ready.prepared.plan
    straight = dict(plan.straight)
    makes: list[Make] = [straight.get(value, make) for value, make in plan.makes]
    numbers = {word - plan.inputs: dtype for word, form, dtype in shown if form != AS_IT_IS}
    for word in (word for _, word, _ in stores or ()):
        numbers.pop(word - plan.inputs, None)
    # one that begins as zero has a function of its own
    kept = [n for n in numbers if stores is not None and is_plain(makes[n])]
    for n in kept[:MOST_NUMBERS]:
        makes[n] = numbers[n]
    return tuple(makes)


def _finished(ready: Ready, arrays: Sequence[Any]) -> Any:
    """What a call returns, given its arguments and what kernels have computed."""
    prepared = ready.prepared
    found = prepared.outputs_in((*arrays, None))
    if prepared.writes is not None:
        store(found, arrays, prepared.plan.stores, prepared.executor.copy)
    return ready.packed(found)
