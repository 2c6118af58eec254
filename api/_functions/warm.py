"""Which prepared calls C runs as a whole, from the arguments to the result: runtime/host/warm.py.

That a call is C's follows from the prepared call alone.  What C does not know, or does not find as
it was, takes the way through ``Calls``, which gives the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from opweave._functions.arguments import Signature
from opweave._functions.kept import Kept
from opweave._functions.ready import Ready
from opweave._functions.warm_arguments import CallNodes, NotForC
from opweave.compiler.captures.structure import NOTHING, Constant, Leaf, Structure, Tree
from opweave.compiler.ir.values import Scalar
from opweave.runtime.calls.results import BOXED, Returned
from opweave.runtime.calls.results import TRUTH as TRUE
from opweave.runtime.calls.writes import store
from opweave.runtime.host.copies import FROM_BYTES
from opweave.runtime.host.native import NativeSteps
from opweave.runtime.host.starts import MOST_KEPT, NativeStart
from opweave.runtime.host.warm import Make, Warm, WarmCall, is_known, is_plain, warm_call
from opweave.runtime.host.warm_arguments import INTEGERS, Lies
from opweave.runtime.host.warm_layout import AS_IT_IS, FORMS, MOST_NUMBERS, SCALAR, TRUTH

# A call that comes so often is C's from then on.
OFTEN = 4
# So many calls of one structure; then the newest takes the place of the oldest.
MOST = 16
# How often calls came is counted for so many of them.
MOST_COUNTED = 256
# The types of numbers, and those of kernels that C packs them as.
NUMBERS: dict[type, frozenset[str]] = {
    **dict.fromkeys((float, np.float64, np.float32), frozenset(("float64", "float32"))),
    **dict.fromkeys((int, np.int64, np.int32), frozenset(FORMS)),
}
ANY = np.dtype(np.bool_)  # of a result that is returned as it is
# What is returned: a word, its form, the dtype of a number.
Result = tuple[int, int, np.dtype[Any]]


def _knows_none(*args: Any) -> Any:
    return NotImplemented


class WarmCalls:
    """The calls with arguments of one structure that C runs.

    Attributes:
        call: runs them; ``NotImplemented`` says that it does not know one.
        into: the same, behind an array for the result.
    """

    call: WarmCall = staticmethod(_knows_none)
    into: WarmCall = staticmethod(_knows_none)

    def __init__(self, kept: Kept, args: int):
        """``args``: how many arguments there are."""
        self._kept, self._args = kept, args
        self._came: dict[int, tuple[Ready, int]] = {}
        self._known: dict[int, Warm] = {}

    def came(self, ready: Ready, values: Sequence[Any]) -> None:
        """Count a call that Python has found: in the end C may know it."""
        key = id(ready)
        count = self._came.get(key, (ready, 0))[1] + 1
        if len(self._came) >= MOST_COUNTED:
            self._came.clear()
        self._came[key] = ready, count
        if count == OFTEN and (found := self._warm(ready, values)) is not None:
            newest = [*self._known.items()][: MOST - 1]
            self._known = {key: found, **dict(newest)}
            self.call, self.into = warm_call(self._kept.joined(), tuple(self._known.values()))

    def _warm(self, ready: Ready, values: Sequence[Any]) -> Warm | None:
        """A prepared call as C takes it; None where Python runs it."""
        try:
            return warm_of(ready, values, CallNodes(self._kept, values, self._args, ready.asks))
        except NotForC:
            return None


def counted(
    signature: Signature, kept: Kept | None, ready: Ready, values: list[Any]
) -> tuple[Ready, list[Any]]:
    """A call that Python has found, counted; ``kept`` is what there is of its structure."""
    signature.latest = kept
    if kept is not None and signature.count >= 0:
        if kept.warm is None:
            kept.warm = WarmCalls(kept, signature.count)
        kept.warm.came(ready, values)
    return ready, values


def warm_of(ready: Ready, values: Sequence[Any], nodes: CallNodes) -> Warm | None:
    """A prepared call as C takes it; None where Python runs it.

    Args:
        values: the leaves of a call like those.

    Raises:
        NotForC: Python runs it.
    """
    prepared, plan = ready.prepared, ready.prepared.plan
    kernels = _kernels(ready)
    if kernels is None or nodes.kept.layout.same is not None:
        return None
    shown, stores = _shown(ready), _stores(ready, values)
    is_c = shown is not None and stores is not None
    return Warm(
        plan=kernels.address,
        arguments=nodes.arguments(),
        outside=nodes.outside(),
        arrays=tuple(ready.arrays),
        constants=tuple(prepared.constants),
        numbers=tuple(_number(ready, scalar, values) for scalar in plan.scalars),
        makes=_makes(ready, (stores or ()) if is_c else None, shown or ()),
        written=() if prepared.writes is None else prepared.writes.places,
        stores=stores or () if is_c else (),
        results=(shown or ()) if is_c else _all(ready),
        scalars=tuple(ready.scalars),
        begin=partial(_begun, ready) if _has_numbers(ready) else None,
        finish=None if is_c else partial(_finished, ready),
        is_tuple=isinstance(ready.structure, Tree),
        constant=_constant(ready.structure) if is_c else None,
        target=_target(ready, shown or ()) if is_c else None,
        arena_bytes=plan.memory.nbytes,
        owner=ready,
    )


def _kernels(ready: Ready) -> NativeSteps | None:
    """The kernels of a call, if they are all that it runs, for any of its numbers."""
    prepared, plan = ready.prepared, ready.prepared.plan
    folds = prepared.writes is not None and prepared.writes.folded
    is_large = plan.workspaces or plan.memory.nbytes > MOST_KEPT
    if folds or is_large or not is_known():
        return None
    return prepared.start.whole if isinstance(prepared.start, NativeStart) else None


def _number(ready: Ready, scalar: Scalar, values: Sequence[Any]) -> tuple[int, int, bool]:
    """The leaf that a number of kernels is, how it is packed, and whether it is read as real.

    Raises:
        NotForC: it is computed of others, or C does not pack it.
    """
    dtype, expr = scalar.dtype.numpy_name, scalar.expr
    if expr.op != "argument" or expr.args[0] not in ready.names:
        raise NotForC
    place = ready.scalars[ready.names.index(expr.args[0])]
    kind = type(values[place])
    if dtype not in NUMBERS.get(kind, ()):
        raise NotForC
    return place, FORMS[dtype], kind not in INTEGERS


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
    is_more = any(each.view is not None or each.number is not None for each in returned)
    if is_more or ready.prepared.shared:
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
        made = prepared.returned[output]
        if by or callable(key) or made.view is not None or made.number is not None:
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


def _target(ready: Ready, shown: Sequence[Result]) -> tuple[Lies, int] | None:
    """What ``out=`` must be like to be written straight, and the result that it is given for."""
    prepared = ready.prepared
    if ready.structure is not None or prepared.writes is not None or prepared.added:
        return None
    made = shown[0][0] - prepared.plan.inputs
    if shown[0][1] != AS_IT_IS or not 0 <= made < len(prepared.plan.makes):
        return None
    shape, dtype = prepared.fitting[prepared.outputs[0]]
    return Lies.of(np.empty(shape, dtype)), made


def _has_numbers(ready: Ready) -> bool:
    """Whether results follow from numbers and extents alone."""
    return any(each.number is not None for each in ready.prepared.returned)


def _begun(ready: Ready, numbers: Sequence[Any]) -> list[Any]:
    """Such results."""
    env = dict(zip(ready.names, numbers, strict=True))
    return ready.prepared.known({**ready.prepared.extents, **env})


def _finished(
    ready: Ready, arrays: Sequence[Any], containers: Sequence[Any], known: Sequence[Any] = ()
) -> Any:
    """What a call returns, given its arguments and what kernels have computed."""
    prepared = ready.prepared
    found = prepared.outputs_in((*arrays, None), known=known)
    if prepared.writes is not None:
        store(found, arrays, prepared.plan.stores, prepared.executor.copy)
    return ready.packed(found, containers)
