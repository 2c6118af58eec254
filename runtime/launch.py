"""Launch: arguments bound, buffers made, kernels started.

``prepare`` does once per exact shapes, strides and types what can be done once: grids, extents,
strides, packing formats.  A prepared call then only packs pointers and scalars, and launches.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from opweave.compiler.driver import Lowered
from opweave.compiler.expr import Expr, evaluate
from opweave.compiler.ir import (
    Extents,
    Graph,
    Scalar,
    Value,
    View,
    count,
    extent_of,
    product,
    reduced_axes,
)
from opweave.compiler.kernel import Kernel, Param
from opweave.compiler.literals import converted
from opweave.opcodes.dtypes import DType
from opweave.opcodes.errors import BoundsError, ShapeError
from opweave.opcodes.products import indices, viewed
from opweave.runtime.arrays import pointer
from opweave.runtime.compilers import at_once

# Registers that a scalar travels in, as struct formats padded to 8 bytes.
FORMATS = {
    name: f"{code}{8 - struct.calcsize('<' + code)}x"
    for name, code in {
        "float": "f", "double": "d", "bool": "?", "int8": "b", "int16": "h", "int": "i",
        "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q",
    }.items()
}  # fmt: skip


class Executor(Protocol):
    """What launching needs of an executor."""

    def allocator(self, shape: tuple[int, ...], dtype: DType) -> Callable[[], Any]:
        """A function that makes arrays for an output or a temporary."""

    def workspace(self, kernel: Kernel, rows: int) -> tuple[Any, Any]:
        """Memory for partial results and zeroed counters of a reduce kernel."""

    def faults(self) -> Any:
        """A zeroed 64-bit word, in which kernels note an index that has no element."""

    def noted(self, faults: Any) -> int:
        """What was noted: 0 for nothing, and where nobody looks."""

    def build(self, kernel: Kernel, source: str) -> Any:
        """The binary of a kernel; may be called from several threads."""

    def launcher(
        self, kernel: Kernel, source: str, extents: Extents
    ) -> Callable[[bytes, Sequence[Any]], None]:
        """A function of packed arguments and the arrays behind their pointers."""

    def result(self, array: Any, boxed: bool) -> Any:
        """What a caller gets for an array."""


@dataclass(frozen=True)
class Step:
    """One kernel of a prepared call.

    Attributes:
        kernel: the kernel.
        launch: starts it.
        pack: packs the slots.
        fixed: slot values, with None where a call fills in.
        pointers: (slot, id of the value in whose memory it lies, bytes from there) of arrays.
        scalars: (slot, Scalar) of scalar parameters.
        partials: slot of the partial results, or -1.
        counter: slot of the counters, or -1.
        faults: slot of the faults, or -1.
        rows: rows of the launch.
    """

    kernel: Kernel
    launch: Callable[[bytes, Sequence[Any]], None]
    pack: struct.Struct
    fixed: tuple[Any, ...]
    pointers: tuple[tuple[int, int, int], ...]
    scalars: tuple[tuple[int, Scalar], ...]
    partials: int
    counter: int
    faults: int
    rows: int


class Single(NamedTuple):
    """A call of one kernel: its results, and places among arguments and results.

    Attributes:
        makes: each result with a function that makes it.
        pointers: slot, place and offset in bytes of each array that the kernel takes.
        returned: places of the outputs.
    """

    step: Step
    makes: tuple[tuple[int, Callable[[], Any]], ...]
    pointers: tuple[tuple[int, int, int], ...]
    returned: tuple[int, ...]


class Prepared:
    """A call that is ready but for pointers and scalars."""

    def __init__(
        self,
        lowered: Lowered,
        executor: Executor,
        extents: Mapping[str, int],
        arrays: Mapping[int, Any],
        constants: Sequence[Any] = (),
    ):
        """``arrays`` maps inputs to arrays like theirs; the last of them may be constants."""
        self.constants = tuple(constants)
        self.graph: Graph = lowered.graph
        self.executor = executor
        self.extents = dict(extents)
        self.shapes = {
            v.id: (tuple(extent_of(e, extents) for e in v.shape), v.dtype)
            for group in lowered.schedule.groups
            for v in group.outputs
        }
        self.inputs = tuple(i.value.id for i in self.graph.inputs)
        # shape and dtype of every output that arrays can be given for
        self.fitting = {
            o.id: (tuple(extent_of(e, extents) for e in o.shape), o.dtype.numpy)
            for o in self.graph.outputs
            if isinstance(o, Value) and self.graph.base(o).id in self.shapes
        }
        self.outputs = tuple(o.id if isinstance(o, Value) else -1 for o in self.graph.outputs)
        # arrays of the last call that was given some, and which are written straight
        self.last_targets: tuple[tuple[Any, ...], tuple[tuple[int, int], ...]] = ((), ())
        self.needs_env = any(isinstance(o, Expr) for o in self.graph.outputs) or any(
            s.expr.op != "argument" for k in lowered.kernels for s in k.scalars()
        )
        check_nonempty(self.graph, extents)
        strides = self._strides(arrays)
        self._build(lowered)
        self.steps = tuple(
            self._step(kernel, source, strides)
            for kernel, source in zip(lowered.kernels, lowered.sources, strict=True)
        )
        self.makes = tuple(
            tuple((v.id, executor.allocator(*self.shapes[v.id])) for v in group.outputs)
            for group in lowered.schedule.groups
        )
        self.drops = self._last_uses()
        self.notes_faults = any(step.faults >= 0 for step in self.steps)
        self.single = self._single()

    def _single(self) -> Single | None:
        """How to call a kernel that is alone, and whose results are what it writes."""
        if len(self.steps) != 1 or self.constants:
            return None
        ((step,), (makes,)) = self.steps, self.makes
        if step.partials >= 0 or step.faults >= 0:
            return None
        places = {value: n for n, value in enumerate((*self.inputs, *(m[0] for m in makes)))}
        plain = all(isinstance(o, Value) and o.shape for o in self.graph.outputs)
        written = {value for value, *_ in makes}
        if not plain or not written.issuperset(self.outputs):
            return None
        pointers = tuple((slot, places[value], offset) for slot, value, offset in step.pointers)
        return Single(step, makes, pointers, tuple(places[o] for o in self.outputs))

    def _last_uses(self) -> tuple[tuple[int, ...], ...]:
        """After each step, the temporaries that no later one reads: their memory serves again."""
        outputs = {self.graph.base(o).id for o in self.graph.outputs if isinstance(o, Value)}
        last: dict[int, int] = {}
        for number, (step, makes) in enumerate(zip(self.steps, self.makes, strict=True)):
            ids = [*(value for _, value, _ in step.pointers), *(value for value, *_ in makes)]
            last |= dict.fromkeys(ids, number)
        kept = {*outputs, *self.inputs}
        return tuple(
            tuple(v for v, at in last.items() if at == number and v not in kept)
            for number in range(len(self.steps))
        )

    def _build(self, lowered: Lowered) -> None:
        """Compile what has several kernels on several threads: compilers are processes."""
        pairs = [
            (kernel, source)
            for kernel, source in zip(lowered.kernels, lowered.sources, strict=True)
            if kernel.template != "vendor" and not kernel.is_empty(self.extents)
        ]
        if len(pairs) > 1:
            at_once(self.executor.build, pairs)

    def _strides(self, arrays: Mapping[int, Any]) -> dict[int, tuple[int, ...]]:
        """Strides in elements of every array: given ones, and C order for our own."""
        out = {id: tuple(s // a.itemsize for s in a.strides) for id, a in arrays.items()}
        for value_id, (shape, _) in self.shapes.items():
            out[value_id] = tuple(math.prod(shape[d + 1 :]) for d in range(len(shape)))
        for value_id, view in self.graph.views.items():
            if view.base.id in out:
                whole = self._strides_of_base(view, out)
                steps = [s * step for s, step in zip(whole, view.steps, strict=True)]
                out[value_id] = tuple(0 if a is None else steps[a] for a in view.axes)
        return out

    def _strides_of_base(
        self, view: View, strides: Mapping[int, tuple[int, ...]]
    ) -> tuple[int, ...]:
        """Strides of a view's base in the shape in which it is read."""
        if view.shape_of_base == view.base.shape:
            return strides[view.base.id]
        shape = [extent_of(e, self.extents) for e in view.shape_of_base]
        return tuple(math.prod(shape[d + 1 :]) for d in range(len(shape)))

    def _offset(self, value_id: int, strides: Mapping[int, tuple[int, ...]]) -> int:
        """Bytes from the first element of a value's base to that of the value."""
        view = self.graph.views.get(value_id)
        if view is None or not all(self.shape_of(view.base)[0]):
            return 0
        starts = zip(view.starts, self._strides_of_base(view, strides), strict=True)
        elements = sum(evaluate(s, self.extents) * by for s, by in starts if s is not None)
        return int(elements) * view.base.dtype.itemsize

    def _step(self, kernel: Kernel, source: str, strides: Mapping[int, tuple[int, ...]]) -> Step:
        _, rows, _ = kernel.elements(self.extents)
        index = "q" if kernel.toggles.get("USE_64BIT_INDEX") else "i4x"
        views = self.graph.views
        formats, fixed = [], []
        pointers, scalars = [], []
        slot_of = {param.kind: slot for slot, param in enumerate(kernel.params)}
        for slot, param in enumerate(kernel.params):
            formats.append(_format(param, index))
            fixed.append(self._fixed(param, strides))
            if param.kind in ("input", "output"):
                base = views[param.source].base.id if param.source in views else param.source
                pointers.append((slot, base, self._offset(param.source, strides)))
            elif param.kind == "scalar":
                scalars.append((slot, param.source))
        launch = (
            (lambda slots, arrays: None)
            if kernel.is_empty(self.extents)
            else self._launcher(kernel, source)
        )
        return Step(
            kernel,
            launch,
            struct.Struct("<" + "".join(formats)),
            tuple(fixed),
            tuple(pointers),
            tuple(scalars),
            slot_of.get("partials", -1),
            slot_of.get("counter", -1),
            slot_of.get("faults", -1),
            rows,
        )

    def _launcher(self, kernel: Kernel, source: str) -> Callable[[bytes, Sequence[Any]], None]:
        if kernel.template != "vendor":
            return self.executor.launcher(kernel, source, self.extents)
        x, y = (param.source for param in (kernel.params[0], kernel.params[-2]))

        def multiply(slots: bytes, arrays: Sequence[Any]) -> None:
            # x @ x has one parameter for both
            left, right = self._viewed(arrays[0], x), self._viewed(arrays[-2], y)
            with np.errstate(all="ignore"):  # as kernels, which warn of nothing
                np.matmul(left, right, out=arrays[-1])

        return multiply

    def _fixed(self, param: Param, strides: Mapping[int, tuple[int, ...]]) -> Any:
        if param.kind == "extent":
            return product(extent_of(e, self.extents) for e in param.source)
        if param.kind == "stride":
            return strides[param.source.value][param.source.dim]
        return None

    def __call__(
        self, arrays: Sequence[Any], scalars: Mapping[str, Any], out: Mapping[int, Any] = {}
    ) -> list[Any]:
        """Run the kernels and return the outputs in order.

        ``out`` gives arrays for some outputs, by value id; they must not overlap an input.
        """
        if self.single is not None:
            return self._call_single(self.single, arrays, scalars, out)
        if self.constants:
            arrays = (*arrays, *self.constants)
        held: dict[int, Any] = dict(zip(self.inputs, arrays, strict=True))
        env = {**self.extents, **scalars} if self.needs_env else scalars
        faults = self.executor.faults() if self.notes_faults else None
        for step, makes, drops in zip(self.steps, self.makes, self.drops, strict=True):
            for value_id, make in makes:
                given = out.get(value_id)
                held[value_id] = make() if given is None else given
            slots = list(step.fixed)
            passed = []
            for slot, value_id, offset in step.pointers:
                array = held[value_id]
                passed.append(array)
                slots[slot] = pointer(array) + offset
            for slot, scalar in step.scalars:
                slots[slot] = scalar_value(scalar, env)
            if step.partials >= 0:
                partials, counter = self.executor.workspace(step.kernel, step.rows)
                slots[step.partials], slots[step.counter] = pointer(partials), pointer(counter)
                passed += [partials, counter]
            if step.faults >= 0:
                slots[step.faults] = pointer(faults)
                passed.append(faults)
            step.launch(step.pack.pack(*slots), passed)
            for value_id in drops:
                del held[value_id]
            del passed
        if faults is not None and (word := self.executor.noted(faults)):
            raise fault(self.graph, word, {**self.extents, **env})
        return [self._output(i, o, held, env) for i, o in enumerate(self.graph.outputs)]

    def _call_single(
        self,
        single: Single,
        arrays: Sequence[Any],
        scalars: Mapping[str, Any],
        out: Mapping[int, Any],
    ) -> list[Any]:
        step, makes, pointers, returned = single
        if out:
            every = [*arrays, *[out[v] if v in out else make() for v, make in makes]]
        else:
            every = [*arrays, *[make() for _, make in makes]]
        slots = list(step.fixed)
        for slot, place, offset in pointers:
            slots[slot] = pointer(every[place]) + offset
        if step.scalars:
            env = {**self.extents, **scalars} if self.needs_env else scalars
            for slot, scalar in step.scalars:
                slots[slot] = scalar_value(scalar, env)
        step.launch(step.pack.pack(*slots), [every[place] for _, place, _ in pointers])
        return [every[place] for place in returned]

    def _viewed(self, array: Any, value_id: int) -> Any:
        """An array as the view that a value is of it."""
        view = self.graph.views.get(value_id)
        if view is None:
            return array
        picked = tuple(
            slice(None)
            if start is None
            else indices(evaluate(start, self.extents), step, extent_of(length, self.extents))
            for start, step, length in zip(view.starts, view.steps, view.lengths, strict=True)
        )
        if view.shape_of_base != view.base.shape:
            array = array.reshape(tuple(extent_of(e, self.extents) for e in view.shape_of_base))
        made = viewed(array[picked] if picked else array, view.axes)
        shape = tuple(extent_of(e, self.extents) for e in view.shape)
        # a slice of a new axis has all of it, or nothing
        return made if made.shape == shape else made[tuple(map(slice, shape))]

    def shape_of(self, value: Value) -> tuple[tuple[int, ...], DType]:
        """Shape and dtype of a value for the extents of this call."""
        return tuple(extent_of(e, self.extents) for e in value.shape), value.dtype

    def _output(self, index: int, output: Any, held: Mapping[int, Any], env: Any) -> Any:
        if isinstance(output, Value):
            array = held[self.graph.base(output).id]
            array = self._viewed(array, output.id)
            if output.shape == () and output.id not in self.inputs:
                return self.executor.result(array, index in self.graph.boxed)
            return array
        return evaluate(output, env)


def _format(param: Param, index: str) -> str:
    if param.kind == "scalar":
        return FORMATS[param.ctype]
    return index if param.kind in ("extent", "stride") else "Q"


def scalar_value(scalar: Scalar, env: Mapping[str, Any]) -> Any:
    """A scalar parameter as the Python number that packs into its register."""
    expr = scalar.expr
    value = env[expr.args[0]] if expr.op == "argument" else evaluate(expr, env)
    number = converted(value, scalar.dtype)
    if scalar.dtype.is_float:
        return float(number)
    return bool(number) if scalar.dtype.kind == "b" else int(number)


def check_nonempty(graph: Graph, extents: Mapping[str, int]) -> None:
    """Refuse reductions of nothing that have no identity, as NumPy does.

    Raises:
        ShapeError: names the reduction.
    """
    for node in graph.nodes:
        if not node.is_reduction or not node.operator.needs_nonempty:
            continue
        shape = node.values[0].shape
        reduced = count((shape[a] for a in reduced_axes(node)), extents)
        if reduced == 0:
            at = f" ({node.where})" if node.where.file else ""
            raise ShapeError(
                f"{node.operator.name}: zero elements to reduce, and the operation has no "
                f"identity{at}"
            )


def fault(graph: Graph, word: int, env: Mapping[str, Any]) -> BoundsError:
    """The error of an index that has no element, from what ``index_of`` in common.cuh noted."""
    node = graph.nodes[(word >> 48) - 1]
    low = word & ((1 << 48) - 1)
    index = low - (1 << 48) if low >> 47 else low
    size = node.operands[1]
    assert isinstance(size, Scalar)
    count = evaluate(size.expr, env)
    at = f" ({node.where})" if node.where.file else ""
    return BoundsError(f"index {index} is out of bounds for an axis of {count} elements{at}")


def partial_bytes(kernel: Kernel, rows: int) -> int:
    """Bytes of the partial results of a kernel whose rows several blocks share."""
    return 16 * kernel.toggles["PARTS"] * rows * kernel.partial_results


def counters(kernel: Kernel, rows: int) -> int:
    """Counters of such a kernel: one a row; of a scan two, and a sign for each part."""
    return rows * (kernel.toggles["PARTS"] + 2 if kernel.totals else 1)


def array_scalar(array: np.ndarray[Any, Any], boxed: bool) -> Any:
    """NumPy returns scalars for 0-d results, except from a few functions."""
    return array if boxed else array[()]
