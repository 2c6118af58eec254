"""How a loaded kernel is started on a GPU: its grid, shared memory, and what begins as zeros.

A call of a short kernel takes as long as the host needs to issue it.  So all that calls have in
common is worked out once, and where the device is the current one a launch is a straight line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from operator import itemgetter
from typing import Any

import numpy as np

from opweave.compiler.ir.values import Extents
from opweave.runtime.calls.arrays import pointer
from opweave.runtime.calls.interface import Launchable
from opweave.runtime.calls.steps import Launch, Started, Step, number_types
from opweave.runtime.cuda.faults import DeviceState

# The attribute to ask for more dynamic shared memory than a kernel has without asking:
# CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES of the CUDA driver API.
MOST_DYNAMIC_SHARED = 8

Args = tuple[Any, ...]


def launching(kernel: Launchable, function: Any, extents: Extents, state: DeviceState) -> Launch:
    """A function of the packed arguments that starts a kernel on the current stream.

    Args:
        function: the loaded kernel.
        state: of the arrays' own device.
    """
    grid, threads = kernel.grid(extents), prod(kernel.block)
    what = f"{kernel.name}: launch of {grid} blocks of {threads} threads"
    start = starter(kernel, function, extents, state.cupy.cuda)
    name, queued, note = kernel.name, state.queued, state.recent.append

    def launch(args: Args, arrays: Sequence[Any] = ()) -> None:
        queued(what, 0, start, args)
        note(name)

    return launch


def starter(
    kernel: Launchable, function: Any, extents: Extents, cuda: Any
) -> Callable[[Args], None]:
    """The same where the device is the current one; ``cuda`` is CuPy's module."""
    grid, block = kernel.grid(extents), kernel.block
    shared, zeroed = kernel.dynamic_bytes(extents), kernel.zeroed(extents)

    def start(args: Args) -> None:
        function(grid, block, args)

    def start_with_shared(args: Args) -> None:
        function(grid, block, args, shared_mem=shared)

    def start_zeroed(args: Args) -> None:
        """Zeros are set on the stream."""
        stream = cuda.get_current_stream().ptr
        for slot, nbytes in zeroed:
            given = args[slot]
            at = int(given) if isinstance(given, np.integer) else pointer(given)
            cuda.runtime.memsetAsync(at, 0, nbytes, stream)
        plain(args)

    plain = start_with_shared if shared else start
    return start_zeroed if zeroed else plain


def starting(step: Step, address: Callable[..., Any]) -> Started | None:
    """A function of a call's arrays and numbers that starts a step; None of one that does nothing.

    Args:
        address: what a slot holds for an array and an offset.
    """
    launch, refused = step.launch, step.refused
    if launch is None:
        return step.compute
    fill = filling(step, address)

    def start(arrays: Sequence[Any], numbers: Sequence[Any]) -> None:
        launch(fill(arrays, numbers), ())

    def start_and_look(arrays: Sequence[Any], numbers: Sequence[Any]) -> None:
        start(arrays, numbers)
        assert refused is not None
        refused.check(arrays)

    return start if refused is None else start_and_look


def filling(
    step: Step, address: Callable[..., Any]
) -> Callable[[Sequence[Any], Sequence[Any]], Args]:
    """A function of a call's arrays and numbers that gives the arguments of a launch.

    What calls have in common stands in front, then what is made for this one, then its arrays.
    All slots are picked from there at once.
    """
    types = number_types(step.kernel)
    plain = {slot: array for slot, array, offset in step.arrays if not offset}
    apart = [(slot, array, offset) for slot, array, offset in step.arrays if offset]
    typed = [(slot, types[slot], number) for slot, number in step.numbers]
    made = [slot for slot, *_ in (*apart, *typed)]
    fixed = [slot for slot in range(len(types)) if slot not in plain and slot not in made]
    values = tuple(_typed(types[slot], step.fixed[slot]) for slot in fixed)
    places = {slot: place for place, slot in enumerate((*fixed, *made))}
    places |= {slot: len(places) + array for slot, array in plain.items()}
    order = [places[slot] for slot in range(len(types))]
    pick = itemgetter(*order) if len(order) > 1 else lambda every: (every[order[0]],)

    def fill(arrays: Sequence[Any], numbers: Sequence[Any]) -> Any:
        return pick((*values, *arrays))

    def fill_numbers(arrays: Sequence[Any], numbers: Sequence[Any]) -> Any:
        return pick((*values, *[kind(numbers[n]) for _, kind, n in typed], *arrays))

    def fill_more(arrays: Sequence[Any], numbers: Sequence[Any]) -> Any:
        there = [address(arrays[array], offset) for _, array, offset in apart]
        given = [kind(numbers[n]) for _, kind, n in typed]
        return pick((*values, *there, *given, *arrays))

    if apart:
        return fill_more
    return fill_numbers if typed else fill


def _typed(kind: Any, value: Any) -> Any:
    """A number as CuPy takes it; None is no pointer."""
    return value if kind is None else kind(value)
