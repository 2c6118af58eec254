"""The call plan of a lowered function as data: steps, memory, results, and what they are made of.

A plan is that of a prepared call (runtime/calls/plan.py), made by an executor that compiles and
plans as the target's own does, and starts nothing.  So no device is needed, and what is saved is
what a call would run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from opweave._saved.plain import as_data, of_expr
from opweave._saved.plain_views import of_part, of_view
from opweave.compiler.ir.values import Extents, Scalar
from opweave.compiler.kernels.counting import CountKernel
from opweave.compiler.kernels.handwritten import HandwrittenKernel
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.kernels.library import LibraryKernel
from opweave.compiler.pipeline.driver import Lowered
from opweave.compiler.scheduling.memory import MemoryPlan, memory_plan
from opweave.compiler.scheduling.schedule import Schedule
from opweave.opcodes.dtypes import DType
from opweave.opcodes.errors import SavedError
from opweave.runtime.binaries.binary import Binary
from opweave.runtime.binaries.build import build_kernel
from opweave.runtime.calls.by_numpy import Operand
from opweave.runtime.calls.filling import planned
from opweave.runtime.calls.layouts import Layouts
from opweave.runtime.calls.prepared import Prepared
from opweave.runtime.calls.results import Returned
from opweave.runtime.calls.steps import Step
from opweave.runtime.process.locks import Once

WIDE = "USE_64BIT_INDEX"


@dataclass(frozen=True)
class LibraryProduct:
    """A step that a library computes: where its operands lie."""

    kernel: Kernel
    layouts: Layouts
    operands: tuple[Operand, ...]

    def __call__(self, arrays: Any, numbers: Sequence[Any]) -> None:
        raise AssertionError("nothing is started")


@dataclass(frozen=True)
class Formats:
    """How the slots of a kernel are packed."""

    each: tuple[str, ...]

    def __call__(self, *slots: Any) -> Any:
        raise AssertionError("nothing is started")


class PlanRecorder:
    """An executor that plans and compiles, and starts nothing.

    Attributes:
        compiles: kernels are built, too.
        joins: workspaces lie in the arena, as they do on the host.
    """

    mode, cached, passes_arrays, as_arrays = "run", True, False, False
    also: tuple[Once[Any], ...] = ()

    def __init__(self, fast: bool, compiles: bool, joins: bool):
        self.fast, self.compiles, self.joins = fast, compiles, joins

    def allocator(self, shape: tuple[int, ...], dtype: DType) -> Callable[[], Any]:
        return lambda: None

    def arena(self, nbytes: int) -> Callable[[], Any]:
        return lambda: None

    def workspace(self, kernel: Kernel, partials: int, counters: int) -> Any:
        raise AssertionError("nothing is started")

    def faults(self) -> Any:
        return None

    def noted(self, faults: Any) -> int:
        return 0

    def holds(self, words: Any) -> bool:
        return False

    def build(self, kernel: Kernel, source: str) -> Binary | None:
        return build_kernel(kernel, source, fast=self.fast) if self.compiles else None

    def launcher(self, kernel: Kernel, source: str, extents: Extents) -> Any:
        return self.build

    def computed(
        self, kernel: Kernel, layouts: Layouts, operands: Sequence[Operand], taken: Sequence[int]
    ) -> LibraryProduct:
        return LibraryProduct(kernel, layouts, tuple(operands))

    def packer(self, kernel: Kernel, formats: Sequence[str]) -> Formats:
        return Formats(tuple(formats))

    def starting(self, step: Any) -> Any:
        raise AssertionError("nothing is started")

    def address(self, array: Any, offset: int = 0) -> Any:
        return 0

    def memory(self, kernels: Any, schedule: Schedule, extents: Extents) -> MemoryPlan:
        if self.joins:
            return planned(kernels, schedule, extents)
        return memory_plan(schedule, extents)

    def start(self, prepared: Any) -> Any:
        raise AssertionError("nothing is started")

    def result(self, array: Any, boxed: bool) -> Any:
        return array

    def copy(self, array: Any, value: Any) -> None:
        raise AssertionError("nothing is started")


@dataclass(frozen=True)
class Recorded:
    """What a call of a lowered function would run.

    Attributes:
        lowered: the function.
        prepared: the call, by an executor that starts nothing.
    """

    lowered: Lowered
    prepared: Prepared

    @property
    def launched(self) -> list[tuple[int, Step]]:
        """The steps that start a kernel, with its number."""
        steps = enumerate(self.prepared.plan.steps)
        return [(number, step) for number, step in steps if step.launch is not None]


def like(shape: tuple[int, ...], dtype: DType) -> Any:
    """An array of a shape, in C order, that takes no memory and may not be read."""
    strides, step = [], dtype.itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return as_strided(np.zeros(1, dtype.numpy), shape, tuple(reversed(strides)))


def recorded(
    lowered: Lowered, extents: Mapping[str, int], constants: Sequence[Any], *, fast: bool,
    compiles: bool, joins: bool,
) -> Recorded:  # fmt: skip
    """The plan of a call whose arrays are in C order.

    Args:
        constants: the arrays of the last inputs.
        compiles: its kernels are built.
        joins: workspaces lie in the arena.

    Raises:
        SavedError: a step of it is a call of NumPy's, or of Python's.
        ShapeError: a reduction of nothing, as a call has it.
    """
    _check(lowered)
    graph = lowered.graph
    given = graph.inputs[: len(graph.inputs) - len(constants)]
    arrays = [
        like(tuple(e if isinstance(e, int) else extents[e.name] for e in i.value.shape),
             i.value.dtype)
        for i in given
    ]  # fmt: skip
    executor = PlanRecorder(fast, compiles, joins)
    return Recorded(lowered, Prepared(lowered, executor, extents, arrays, constants))


def _check(lowered: Lowered) -> None:
    """Refuse what is more than kernels and products."""
    name = lowered.graph.name
    for kernel in lowered.kernels:
        if isinstance(kernel, LibraryKernel):
            raise SavedError(
                f"{name} calls {kernel.row.name} of NumPy's library between its kernels: such a "
                "program cannot be saved; save what lies before and behind the call"
            )
        if isinstance(kernel, CountKernel) and kernel.refuses:
            raise SavedError(
                f"{name} counts elements that may have no bin, and only a call of the function "
                "can leave it to NumPy then: such a program cannot be saved; count what has a bin "
                "by its type, such as uint8 in 256 bins"
            )
        if isinstance(kernel, HandwrittenKernel) and kernel.by_numpy:
            raise SavedError(
                f"{name} has the kernel {kernel.name} of yours, for which NumPy stands in on the "
                'host: lower it for a GPU, such as target="sm_90a"'
            )
    if lowered.graph.repeated or any(kernel.carried for kernel in lowered.kernels):
        raise SavedError(f"{name} is a step of ow.repeat: save the step, and call it in a loop")


# Data


def kernel_data(recorded: Recorded, number: int) -> dict[str, Any]:
    """What starting a kernel asks."""
    kernel, extents = recorded.lowered.kernels[number], recorded.prepared.extents
    return {
        "name": kernel.name,
        "template": kernel.template,
        "params": [[param.kind, param.name, param.ctype] for param in kernel.params],
        "wide": bool(kernel.toggles.get(WIDE)),
        "block": kernel.block,
        "grid": kernel.grid(extents),
        "work": kernel.work(extents),
        "shared": kernel.dynamic_bytes(extents),
        "zeroed": kernel.zeroed(extents),
    }


def _product_data(product: LibraryProduct) -> dict[str, Any]:
    params = product.kernel.params
    return {
        "name": product.kernel.name,
        "views": [of_view(product.layouts.recipe(param.source)) for param in params],
        "operands": [
            [array, None if part is None else [part[0], np.dtype(part[1]).name, part[2]]]
            for array, part in product.operands
        ],
    }


def _step_data(number: int, step: Step) -> dict[str, Any] | None:
    """A step; None where there is nothing to do."""
    if isinstance(step.compute, LibraryProduct):
        return {"product": _product_data(step.compute)}
    if step.launch is None:
        return None
    assert isinstance(step.pack, Formats)
    return {
        "kernel": number,
        "formats": step.pack.each,
        "fixed": [*map(as_data, step.fixed)],
        "arrays": step.arrays,
        "numbers": step.numbers,
        "zeroed": step.zeroed,
    }


def plan_data(recorded: Recorded) -> dict[str, Any]:
    """The whole plan, but for files."""
    prepared, graph = recorded.prepared, recorded.lowered.graph
    plan, shapes = prepared.plan, prepared.shapes
    steps = (_step_data(number, step) for number, step in enumerate(plan.steps))
    aligned = [item.aligned for item in graph.inputs]
    return {
        "extents": dict(prepared.extents),
        "inputs": plan.inputs,
        "makes": [
            [value, shapes[value][0], shapes[value][1].numpy_name, value in prepared.added]
            for value, _ in plan.makes
        ],
        "arena": plan.memory.nbytes,
        "kernels": {str(n): kernel_data(recorded, n) for n, _ in recorded.launched},
        "steps": [step for step in steps if step is not None],
        "numbers": [_number_data(scalar) for scalar in plan.scalars],
        "workspaces": [[kernel.name, *sizes] for kernel, *sizes in plan.workspaces],
        "outputs": plan.outputs,
        "straight": [pair for pair in plan.straight if aligned[pair[1]]],
        "stores": [[w.output, w.place, of_part(w.part), w.by] for w in graph.written],
        "returned": [*map(_returned_data, prepared.returned)],
        "shared": prepared.shared,
        "indexed": {str(n): [of_expr(e), at] for n, (e, at) in prepared.indexed.items()},
        "needs_env": prepared.needs_env,
    }


def _returned_data(made: Returned) -> list[Any]:
    number = None if made.number is None else of_expr(made.number)
    return [made.array, of_view(made.view), made.is_array, made.kind, number]


def _number_data(scalar: Scalar) -> list[Any]:
    return [of_expr(scalar.expr), scalar.dtype.numpy_name]
