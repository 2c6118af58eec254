"""The call plan of a lowered function: which slots a call fills in, and with what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from opweave.compiler.ir.values import Extents, Scalar, Value, extent_of, product
from opweave.compiler.scheduling.memory import MemoryPlan, memory_plan
from opweave.runtime.calls.by_numpy import Compute, Operand
from opweave.runtime.calls.graph_results import stores_of
from opweave.runtime.calls.plan import CallPlan
from opweave.runtime.calls.refusals import refusal
from opweave.runtime.calls.steps import FORMATS, Launch, Step, known_number, workspace

if TYPE_CHECKING:
    from opweave.compiler.kernels.kernel import Kernel
    from opweave.compiler.kernels.param import Param
    from opweave.compiler.pipeline.driver import Lowered
    from opweave.compiler.scheduling.schedule import Schedule
    from opweave.runtime.calls.interface import Executor
    from opweave.runtime.calls.layouts import Layouts

# Each temporary in an array of its own.
APART = MemoryPlan({}, {}, 0, 0, ())


def planned(kernels: Sequence[Kernel], schedule: Schedule, extents: Extents) -> MemoryPlan:
    """The memory plan of a schedule, with what its kernels need for themselves."""
    needs = {n: sum(workspace(kernel, extents)) for n, kernel in enumerate(kernels)}
    return memory_plan(schedule, extents, {n: nbytes for n, nbytes in needs.items() if nbytes})


def each_apart(kernels: Sequence[Kernel], schedule: Schedule, extents: Extents) -> MemoryPlan:
    """No arena, where each launch is watched and each array lies between guards of its own."""
    return APART


def call_plan(
    lowered: Lowered,
    launches: Sequence[Launch | None],
    layouts: Layouts,
    memory: MemoryPlan,
    straight: tuple[tuple[int, int], ...],
    executor: Executor,
    maker: Callable[[int], Callable[[], Any]],
) -> CallPlan:
    """The plan of a lowered function.

    Args:
        launches: what starts each kernel; None where NumPy computes it, or it would write nothing.
        memory: of the temporaries.
        straight: what kernels write straight to arguments, see graph_results.py.
        maker: a function that makes arrays for a value, by its id.
    """
    graph = lowered.graph
    made = [v.id for group in lowered.schedule.groups for v in group.outputs]
    own = [value for value in made if value not in memory.places]
    inputs = [i.value.id for i in graph.inputs]
    filling = _Filling(layouts, memory, [*inputs, *own], executor)
    steps = [filling.step(*each) for each in zip(lowered.kernels, launches, strict=True)]
    bases = [graph.base(o).id if isinstance(o, Value) else None for o in graph.outputs]
    return CallPlan(
        len(inputs),
        tuple((value, maker(value)) for value in own),
        memory,
        tuple(steps),
        tuple(filling.scalars),
        "".join(FORMATS[scalar.dtype.register] for scalar in filling.scalars),
        tuple(filling.workspaces),
        tuple(-1 if base is None else filling.places[base][0] for base in bases),
        straight,
        stores_of(graph.written),
    )


class _Filling:
    """Says which slots of one kernel after the other a call fills in, and with what.

    Attributes:
        places: the array in which a value lies, and bytes from its first element.
    """

    def __init__(
        self, layouts: Layouts, memory: MemoryPlan, arrays: Sequence[int], executor: Executor
    ):
        """``arrays``: the values that are arrays of the call."""
        self.layouts, self.memory, self.executor = layouts, memory, executor
        self.faults, self.arena = len(arrays), len(arrays) + 1
        self.places = {value: (array, 0) for array, value in enumerate(arrays)}
        self.places |= {value: (self.arena, at) for value, at in memory.places.items()}
        self.scalars: list[Scalar] = []
        self.workspaces: list[tuple[Kernel, int, int]] = []
        self._steps = 0

    def step(self, kernel: Kernel, launch: Launch | None) -> Step:
        """The next step."""
        index = "q" if kernel.toggles.get("USE_64BIT_INDEX") else "i4x"
        formats = tuple(_format(param, index) for param in kernel.params)
        known, first = self._known_numbers(kernel), len(self.scalars)
        slots = [slot for slot in _slots(kernel, "scalar") if slot not in known]
        self.scalars += [kernel.params[slot].source for slot in slots]
        numbers = tuple((slot, first + n) for n, slot in enumerate(slots))
        arrays, zeroed = self._pointers(kernel), (0, 0)
        if launch is not None:  # a grid without blocks needs no memory
            own, zeroed = self._workspace(kernel)
            arrays += own
        arrays += [(slot, self.faults, 0) for slot in _slots(kernel, "faults")]
        self._steps += 1
        return Step(
            kernel,
            launch,
            self._compute(kernel, numbers),
            self.executor.packer(kernel, formats),
            tuple(known.get(n, _fixed(p, self.layouts)) for n, p in enumerate(kernel.params)),
            tuple(arrays),
            numbers,
            zeroed,
            self.executor.passes_arrays,
            refusal(kernel, arrays, self.executor),
        )

    def _known_numbers(self, kernel: Kernel) -> dict[int, Any]:
        """By slot the numbers that are the same in each call."""
        if kernel.by_numpy:
            return {}
        scalars = {slot: kernel.params[slot].source for slot in _slots(kernel, "scalar")}
        found = {n: known_number(scalar, self.layouts.extents) for n, scalar in scalars.items()}
        return {slot: number for slot, number in found.items() if number is not None}

    def _compute(self, kernel: Kernel, numbers: Sequence[tuple[int, int]]) -> Compute | None:
        if not kernel.by_numpy or kernel.is_empty(self.layouts.extents):
            return None
        slots = _slots(kernel, "input", "output")
        bases = [self.layouts.base_of(kernel.params[slot].source) for slot in slots]
        operands = [*map(self._operand, bases)]
        taken = [number for _, number in numbers]
        return self.executor.computed(kernel, self.layouts, operands, taken)

    def _operand(self, value: int) -> Operand:
        array, at = self.places[value]
        if array != self.arena:
            return array, None
        shape, dtype = self.layouts.shapes[value]
        return array, (shape, dtype.numpy, at)

    def _pointers(self, kernel: Kernel) -> list[tuple[int, int, int]]:
        found = []
        for slot in _slots(kernel, "input", "output"):
            value = kernel.params[slot].source
            array, offset = self.places[self.layouts.base_of(value)]
            found.append((slot, array, offset + self.layouts.offset(value)))
        return found

    def _workspace(self, kernel: Kernel) -> tuple[list[tuple[int, int, int]], tuple[int, int]]:
        """Slots of a kernel's partial results and counters, and what of the arena is zeroed."""
        slots = *_slots(kernel, "partials"), *_slots(kernel, "counter")
        at = self.memory.workspaces.get(self._steps)
        if not slots:
            return [], (0, 0)
        if at is None:
            first = self.arena + 1 + 2 * len(self.workspaces)
            self.workspaces.append((kernel, *workspace(kernel, self.layouts.extents)))
            return [(slot, first + n, 0) for n, slot in enumerate(slots)], (0, 0)
        partials, counters = workspace(kernel, self.layouts.extents)
        places = zip(slots, (at, at + partials), strict=False)  # counts have no counter
        return [(slot, self.arena, place) for slot, place in places], (at + partials, counters)


def _slots(kernel: Kernel, *kinds: str) -> list[int]:
    return [slot for slot, param in enumerate(kernel.params) if param.kind in kinds]


def _fixed(param: Param, layouts: Layouts) -> Any:
    if param.kind == "extent":
        return product(extent_of(e, layouts.extents) for e in param.source)
    if param.kind == "stride":
        return layouts.strides[param.source.value][param.source.dim]
    return None


def _format(param: Param, index: str) -> str:
    if param.kind == "scalar":
        return FORMATS[param.ctype]
    return index if param.kind in ("extent", "stride") else "Q"
