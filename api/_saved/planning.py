"""A call plan from data, for an executor: what a saved program runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from opweave._saved.plain import dtype_of, expr_of, of_data
from opweave._saved.plain_views import part_of, view_of
from opweave.compiler.ir.parts import Index, key_of
from opweave.runtime.calls.plan import CallPlan
from opweave.runtime.calls.planned import PlannedCall
from opweave.runtime.calls.results import Returned, begun
from opweave.runtime.calls.steps import FORMATS, Step
from opweave.runtime.calls.writes import Writes

if TYPE_CHECKING:
    from opweave.compiler.ir.expr import Expr
    from opweave.compiler.ir.values import Extents
    from opweave.opcodes.dtypes import DType
    from opweave.runtime.binaries.binary import Binary
    from opweave.runtime.calls.by_numpy import Compute
    from opweave.runtime.calls.views import ViewRecipe
    from opweave.runtime.calls.writes import Store

Data = dict[str, Any]
# Pairs of numbers, or three of them, as steps have them.
Rows = tuple[tuple[int, ...], ...]


class SavedParam(NamedTuple):
    """What a launch, or a product, asks of a parameter, see ``Param`` of a kernel."""

    kind: str
    name: str
    ctype: str
    source: Any = None


class SavedNumber(NamedTuple):
    """A number of a step, see ``Scalar`` of a graph."""

    expr: Expr
    dtype: DType


class SavedMemory(NamedTuple):
    """What a start asks of the memory plan: bytes of the arena."""

    nbytes: int


class SavedKernel(NamedTuple):
    """What launching a kernel asks of it, for the extents that it was saved for."""

    name: str
    template: str
    params: tuple[SavedParam, ...]
    toggles: Mapping[str, int]
    block: tuple[int, int, int]
    blocks: tuple[int, int, int]
    elements: int
    shared: int
    begun: Rows

    @classmethod
    def of(cls, data: Data) -> SavedKernel:
        """The kernel of a manifest."""
        params = tuple(SavedParam(*param) for param in data["params"])
        return cls(
            data["name"], data["template"], params, {"USE_64BIT_INDEX": int(data["wide"])},
            _three(data["block"]), _three(data["grid"]), data["work"], data["shared"],
            rows(data["zeroed"]),
        )  # fmt: skip

    def grid(self, extents: Extents) -> tuple[int, int, int]:
        return self.blocks

    def work(self, extents: Extents) -> int:
        return self.elements

    def dynamic_bytes(self, extents: Extents) -> int:
        return self.shared

    def zeroed(self, extents: Extents) -> Any:
        return self.begun


class SavedViews:
    """The operands of a product, by their number, as views of the arrays in which they lie."""

    def __init__(self, views: Sequence[ViewRecipe | None]):
        self._views = views

    def recipe(self, number: int) -> ViewRecipe | None:
        """How an operand is a view of the array in which it lies; None if it is that."""
        return self._views[number]


def _three(numbers: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = numbers
    return x, y, z


def rows(data: Any) -> Any:
    """Lists of numbers as tuples."""
    return tuple(map(tuple, data))


def planned_call(
    data: Data, names: Sequence[str], executor: Any, binaries: Mapping[str, Binary],
    constants: Sequence[Any],
) -> PlannedCall:  # fmt: skip
    """A call that is ready to run.

    Args:
        names: of the function, and of its arrays.
        executor: starts the kernels.
        binaries: of the kernels, by their numbers.
        constants: arrays behind the arguments.
    """
    made = PlannedCall()
    made.name, made.executor, made.constants = names[0], executor, tuple(constants)
    made.extents, made.needs_env = data["extents"], data["needs_env"]
    made.plan = _plan(data, executor, binaries)
    made.returned = tuple(_returned(*row) for row in data["returned"])
    made.shared = rows(data["shared"])
    made.indexed = {int(n): (expr_of(e), at) for n, (e, at) in data["indexed"].items()}
    plain = all(r.is_array and r.view is None for r in made.returned)
    if plain and not (made.constants or made.shared):
        made.single = made.plan.only_step
    if made.plan.stores:
        places = [place for _, place, _, _ in made.plan.stores]
        outside = ["an array outside of the function"] * len(constants)
        made.writes = Writes([*names[1:], *outside], places)
    return made


def _plan(data: Data, executor: Any, binaries: Mapping[str, Binary]) -> CallPlan:
    kernels = {number: SavedKernel.of(row) for number, row in data["kernels"].items()}
    steps = (_step(row, kernels, executor, binaries) for row in data["steps"])
    scalars: Any = tuple(
        SavedNumber(expr_of(expr), dtype_of(name)) for expr, name in data["numbers"]
    )
    memory: Any = SavedMemory(data["arena"])
    return CallPlan(
        data["inputs"],
        tuple(_made(executor, *row) for row in data["makes"]),
        memory,
        tuple(steps),
        scalars,
        "".join(FORMATS[scalar.dtype.register] for scalar in scalars),
        tuple((_named(name), *sizes) for name, *sizes in data["workspaces"]),
        tuple(data["outputs"]),
        rows(data["straight"]),
        tuple(_store(*row) for row in data["stores"]),
    )


def _named(name: str) -> Any:
    """All that is asked of a kernel with a workspace."""
    return SimpleNamespace(name=name)


def _made(
    executor: Any, value: int, shape: Sequence[int], dtype: str, begins: bool
) -> tuple[int, Callable[[], Any]]:
    make = executor.allocator(tuple(shape), dtype_of(dtype))
    return value, begun(make) if begins else make


def _store(output: int, place: int, part: Any, by: str) -> Store:
    items = part_of(part)
    if any(isinstance(item, Index) for item in items):
        return output, place, partial(key_of, items), by
    return output, place, key_of(items) if items else ..., by


def _returned(array: int, view: Any, is_array: bool, kind: str | None, number: Any) -> Returned:
    return Returned(
        array, view_of(view), is_array, kind, None if number is None else expr_of(number)
    )


def _step(
    data: Data, kernels: Mapping[str, SavedKernel], executor: Any, binaries: Mapping[str, Binary]
) -> Step:
    if "product" in data:
        return _product(data["product"], executor)
    number = str(data["kernel"])
    kernel: Any = kernels[number]
    return Step(
        kernel,
        executor.launched(kernel, binaries[number], {}),
        None,
        executor.packer(kernel, data["formats"]),
        tuple(map(of_data, data["fixed"])),
        rows(data["arrays"]),
        rows(data["numbers"]),
        tuple(data["zeroed"]),
        executor.passes_arrays,
    )


def _product(data: Data, executor: Any) -> Step:
    """A step that a library computes."""
    views = SavedViews([view_of(view) for view in data["views"]])
    params = tuple(SavedParam("input", "", "", number) for number in range(len(data["views"])))
    once = (1, 1, 1)
    kernel: Any = SavedKernel(data["name"], "vendor", params, {}, once, once, 1, 0, ())
    operands = [(array, part and _operand(*part)) for array, part in data["operands"]]
    compute: Compute = executor.computed(kernel, views, operands, ())
    return Step(kernel, None, compute, tuple, (), (), (), (0, 0), executor.passes_arrays)


def _operand(shape: Sequence[int], dtype: str, at: int) -> tuple[tuple[int, ...], Any, int]:
    return tuple(shape), np.dtype(dtype), at
