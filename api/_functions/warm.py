"""Which prepared calls C runs as a whole, from the arguments to the result: runtime/host/warm.py.

That a call is C's follows from the prepared call alone.  What C does not know, or does not find as
it was, takes the way through ``Calls``, which gives the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from inspect import Parameter
from itertools import repeat
from typing import Any, TypeVar

import numpy as np

from opweave._functions.arguments import Signature
from opweave._functions.kept import Kept
from opweave._functions.ready import Plain, Ready
from opweave._functions.warm_arguments import CallNodes, NotForC, are_told_apart, asked_of
from opweave._functions.warm_results import (
    CallNumbers,
    Shapes,
    makes_of,
    results_in,
    stores_of,
    target_of,
)
from opweave._interchange.on_gpu import CallsOnGpu
from opweave.compiler.ir.plain_arrays import is_cupy
from opweave.runtime.calls.writes import store
from opweave.runtime.host.native import NativeSteps
from opweave.runtime.host.starts import NativeStart
from opweave.runtime.host.warm import Warm, WarmCall, is_known, warm_call
from opweave.runtime.host.warm_arguments import told_types
from opweave.runtime.host.warm_layout import UNKNOWN
from opweave.runtime.host.warm_results import WarmConstant, WarmLeft, WarmShape, WarmStore

# Calls of a structure that came so often are counted each by itself; one that comes so often again
# is C's from then on.
OFTEN = 4
# So many calls of one structure; then the newest takes the place of the oldest.
MOST = 16
# How often calls came is counted for so many of them.
MOST_COUNTED = 256
BY_POSITION = {Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD}


Found = TypeVar("Found", bound=tuple[Any, Sequence[Any]])


def _knows_none(*args: Any) -> Any:
    return UNKNOWN


def _either(first: WarmCall, second: WarmCall) -> WarmCall:
    """Calls of which the first knows some, and the second others."""

    def call(*args: Any) -> Any:
        found = first(*args)
        return second(*args) if found is UNKNOWN else found

    return call


class WarmCalls:
    """The calls with arguments of one structure that C runs, and those on a GPU.

    Attributes:
        call: runs them; ``UNKNOWN`` says that it does not know one.
        into: the same, behind an array for the result.
    """

    call: WarmCall = staticmethod(_knows_none)
    into: WarmCall = staticmethod(_knows_none)

    def __init__(self, kept: Kept, signature: Signature):
        self._kept, self._args = kept, signature.size
        kinds = {parameter.kind for parameter in signature.parameters}
        self._is_positional = kinds <= BY_POSITION
        self._came: dict[int, tuple[Ready | Plain, int]] = {}
        self._known: dict[int, Warm] = {}
        self._on_gpu: CallsOnGpu | None = None

    def came(self, ready: Ready | Plain, values: Sequence[Any]) -> None:
        """Count a call that Python has found: in the end C may know it."""
        key = id(ready)
        count = self._came.get(key, (ready, 0))[1] + 1
        if len(self._came) >= MOST_COUNTED:
            self._came.clear()
        self._came[key] = ready, count
        if count % OFTEN:
            return
        if isinstance(ready, Ready) and any(map(is_cupy, values)):
            self._came_on_gpu(ready, values)  # once more, where others took its place
        elif count == OFTEN and (found := self._warm(ready, values)) is not None:
            newest = [*self._known.items()][: MOST - 1]
            self._known = {key: found, **dict(newest)}
            self._take()

    def _came_on_gpu(self, ready: Ready, values: Sequence[Any]) -> None:
        kept = self._kept
        layout = kept.layout
        if layout.same is not None or not kept.is_steady:
            return
        with suppress(NotForC):
            asks = repeat(ready.asks)
            asked = [*map(asked_of, values, layout.static, asks)]
            if self._on_gpu is None:
                trees = layout.trees[: self._args]
                self._on_gpu = CallsOnGpu(trees, kept.values, kept.joined())
                self._take()
            self._on_gpu.add(ready, values, asked)

    def _take(self) -> None:
        """Take the calls that are known now; those of the host come first."""
        on_gpu = self._on_gpu
        if on_gpu is not None:
            self.call, self.into = on_gpu.call, on_gpu.into
        if self._known:
            by_c = warm_call(self._kept.for_c(), tuple(self._known.values()))
            self.call, self.into = map(_either, by_c, (self.call, self.into)) if on_gpu else by_c

    def _warm(self, ready: Ready | Plain, values: Sequence[Any]) -> Warm | None:
        """A call as C takes it; None where Python runs it."""
        asks = isinstance(ready, Plain) or ready.asks
        nodes = CallNodes(self._kept, values, self._args, asks)
        try:
            if not isinstance(ready, Plain):
                return warm_of(ready, nodes, values)
            return plain_of(ready, nodes, values) if self._is_positional else None
        except NotForC:
            return None


def counted(signature: Signature, kept: Kept | None, ready: Ready | Plain, found: Found) -> Found:
    """A call and its leaves, as Python has found them, counted.

    Args:
        kept: what there is of its structure.
    """
    if kept is not signature.kept and kept is not signature.latest:
        return found  # another thread has found that the function reads more
    signature.latest = kept
    if kept is not None:
        kept.calls += 1
        if kept.calls >= OFTEN:
            if kept.warm is None:
                kept.warm = WarmCalls(kept, signature)
            kept.warm.came(ready, found[1])
    return found


def plain_of(plain: Plain, nodes: CallNodes, values: Sequence[Any]) -> Warm:
    """A call that NumPy runs, with the same numbers, as C takes it.

    Raises:
        NotForC: Python passes it on.
    """
    arrays = tuple(n for n, value in enumerate(values) if type(value) is np.ndarray)
    return Warm(
        plan=0, arguments=nodes.arguments(), outside=nodes.outside(), arrays=arrays, constants=(),
        numbers=(), expressions=(), makes=(), written=(), stores=(), shape=WarmConstant(None),
        left=(), finish=None, target=None, arena_bytes=0, owner=plain, plain=plain.given,
    )  # fmt: skip


def warm_of(ready: Ready, nodes: CallNodes, values: Sequence[Any]) -> Warm | None:
    """A prepared call as C takes it; None where Python runs it.

    Args:
        values: the leaves of a call like those.

    Raises:
        NotForC: Python runs it.
    """
    prepared, kernels = ready.prepared, _kernels(ready)
    if kernels is None or not are_told_apart(nodes.kept.layout.same, values):
        return None
    arguments, outside = nodes.arguments(), nodes.outside()
    numbers = CallNumbers(ready, values)
    taken = tuple(map(numbers.packed, prepared.plan.scalars))
    told = told_types([*arguments, *(node for _, node in outside)])
    stores, shape, left = _given_back(ready, values, numbers, told)
    shown = [each.shape for each in stores] + [each.shape for each in left]
    shown += [] if shape is None else [shape]
    by_numbers = [each.number for each in prepared.returned if each.number is not None]
    places = [] if shape is not None else [*map(numbers.number, by_numbers)]
    return Warm(
        plan=kernels.address,
        arguments=arguments,
        outside=outside,
        arrays=tuple(ready.arrays), constants=tuple(prepared.constants),
        numbers=taken, expressions=tuple(numbers.expressions),
        makes=makes_of(ready, [x for one in shown for x in results_in(one)]),
        written=() if prepared.writes is None else prepared.writes.places,
        stores=stores,
        shape=shape,
        left=left,
        finish=None if shape is not None else partial(_finished, ready, places),
        target=None if shape is None else target_of(ready, shape),
        arena_bytes=prepared.plan.memory.nbytes,
        owner=ready,
    )  # fmt: skip


def _given_back(
    ready: Ready, values: Sequence[Any], numbers: CallNumbers, told: Sequence[type]
) -> tuple[tuple[WarmStore, ...], WarmShape | None, tuple[WarmLeft, ...]]:
    """What is stored, returned, and left in containers; no shape where Python does it."""
    try:
        return stores_of(ready, values, numbers), *Shapes(ready, numbers, told).all()
    except NotForC:
        return (), None, ()


def _kernels(ready: Ready) -> NativeSteps | None:
    """The kernels of a call, if they are all that it runs, for any of its numbers."""
    prepared, plan = ready.prepared, ready.prepared.plan
    folds = prepared.writes is not None and prepared.writes.folded
    if folds or plan.workspaces or not is_known():
        return None
    return prepared.start.whole if isinstance(prepared.start, NativeStart) else None


def _finished(
    ready: Ready, places: Sequence[int], arrays: Sequence[Any], containers: Sequence[Any],
    numbers: Sequence[Any],
) -> Any:  # fmt: skip
    """What a call returns, given its arguments and what kernels have computed.

    Args:
        places: those of the results that follow from numbers alone, among such numbers.
    """
    prepared = ready.prepared
    known = [numbers[place] for place in places]
    found = prepared.outputs_in((*arrays, None), known=known)
    if prepared.writes is not None:
        store(found, arrays, prepared.plan.stores, prepared.executor.copy)
    return ready.packed(found, containers)
