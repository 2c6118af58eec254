"""The steps of a call plan, one kernel each; only pointers and numbers are missing."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opweave.compiler.ir.expr import evaluate
from opweave.compiler.ir.literals import converted
from opweave.compiler.ir.values import Extents, Scalar
from opweave.compiler.kernels.handwritten import HandwrittenKernel
from opweave.compiler.kernels.kernel import Kernel
from opweave.opcodes import dtypes
from opweave.runtime.calls.layouts import Layouts

# (packed arguments, the arrays behind their pointers) -> started
Launch = Callable[[Any, Sequence[Any]], None]
# (arrays, numbers) -> the result is written
ByLibrary = Callable[[Sequence[Any], Sequence[Any]], Any]
# Registers that a scalar travels in, as struct formats padded to 8 bytes.
FORMATS = {
    name: f"{code}{8 - struct.calcsize('<' + code)}x"
    for name, code in {
        "float": "f", "double": "d", "bool": "?", "int8": "b", "int16": "h", "int": "i",
        "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q",
    }.items()
}  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One kernel of a call plan, see plan.py.

    Attributes:
        kernel: the kernel.
        launch: starts it; None where a launch would write nothing.
        formats: how each slot is packed, in eight bytes.
        pack: slot values -> arguments as ``launch`` takes them.
        fixed: slot values, with None where a call fills in.
        arrays: (slot, array of the call, bytes from its first element) of what it fills in.
        numbers: (slot, number of the call), likewise.
        zeroed: where in the arena counters begin at zero, and their bytes.
        passed: the arrays that ``launch`` takes besides, where addresses are not enough for it.
    """

    kernel: Kernel
    launch: Launch | None
    formats: tuple[str, ...]
    pack: Callable[..., Any]
    fixed: tuple[Any, ...]
    arrays: tuple[tuple[int, int, int], ...]
    numbers: tuple[tuple[int, int], ...]
    zeroed: tuple[int, int]
    passed: tuple[int, ...]

    def start(self, arrays: Any, numbers: Sequence[Any], address: Callable[..., Any]) -> None:
        """Fill in the slots and launch, unless there is nothing to write.

        Args:
            arrays: those of the call, by their numbers.
            numbers: of the call.
            address: what a slot holds for an array and an offset.
        """
        if self.launch is None:
            return
        slots = list(self.fixed)
        for slot, array, offset in self.arrays:
            slots[slot] = address(arrays[array], offset)
        for slot, number in self.numbers:
            slots[slot] = numbers[number]
        passed = [arrays[array] for array in self.passed] if self.passed else ()
        self.launch(self.pack(*slots), passed)


def packer(kernel: Kernel, formats: Sequence[str]) -> Callable[..., bytes]:
    """Slots as bytes, eight each, as C takes them."""
    return struct.Struct("<" + "".join(formats)).pack


def product_by_library(kernel: Kernel, layouts: Layouts) -> Callable[[Sequence[Any]], Any]:
    """A function of operands and result that computes a product by NumPy's BLAS."""
    x, y = (param.source for param in (kernel.params[0], kernel.params[-2]))
    if x not in layouts.graph.views and y not in layouts.graph.views:
        return lambda arrays: np.matmul(arrays[0], arrays[-2], arrays[-1])

    def multiply(arrays: Sequence[Any]) -> Any:
        # x @ x has one parameter for both
        left, right = layouts.viewed(arrays[0], x), layouts.viewed(arrays[-2], y)
        return np.matmul(left, right, arrays[-1])

    return multiply


def meaning_by_numpy(kernel: HandwrittenKernel, layouts: Layouts) -> ByLibrary:
    """A function of arrays and numbers that computes what a kernel that someone wrote means."""
    kinds = [(p.kind, p.source) for p in kernel.params]
    shapes = tuple(layouts.shape_of(r)[0] for r in kernel.node.results)

    def compute(arrays: Sequence[Any], numbers: Sequence[Any]) -> Any:
        left, rest = iter(arrays), iter(numbers)
        given, made = [], []
        for kind, source in kinds:
            if kind == "scalar":
                given.append(source.dtype.numpy.type(next(rest)))
            elif kind == "input":
                given.append(layouts.viewed(next(left), source))
            else:
                made.append(next(left))
        found = kernel.row.by_numpy(*given, shapes=shapes)
        for target, result in zip(made, found if len(made) > 1 else (found,), strict=True):
            target[...] = result

    return compute


def computed_by_numpy(kernel: Kernel, layouts: Layouts) -> ByLibrary:
    """A function of a kernel's arrays and numbers that computes it by NumPy."""
    if isinstance(kernel, HandwrittenKernel):
        return meaning_by_numpy(kernel, layouts)
    multiply = product_by_library(kernel, layouts)
    return lambda arrays, numbers: multiply(arrays)


def by_library(kernel: Kernel, layouts: Layouts) -> Launch:
    """The same as a launch; it warns of nothing, as kernels do not."""
    compute = computed_by_numpy(kernel, layouts)
    slots = [n for n, param in enumerate(kernel.params) if param.kind == "scalar"]
    formats = [(8 * n, "<" + FORMATS[kernel.params[n].ctype]) for n in slots]

    def launch(packed: bytes, arrays: Sequence[Any]) -> None:
        numbers = [struct.unpack_from(format, packed, at)[0] for at, format in formats]
        with np.errstate(all="ignore"):
            compute(arrays, numbers)

    return launch


def scalar_value(scalar: Scalar, env: Mapping[str, Any]) -> Any:
    """A scalar parameter as the Python number that packs into its register."""
    expr = scalar.expr
    value = env[expr.args[0]] if expr.op == "argument" else evaluate(expr, env)
    number = converted(value, scalar.dtype)
    if scalar.dtype.is_float:
        return float(number)
    return bool(number) if scalar.dtype.kind == "b" else int(number)


def partial_bytes(kernel: Kernel, rows: int) -> int:
    """Bytes of the partial results of a kernel whose rows several blocks share."""
    return 16 * kernel.toggles["PARTS"] * rows * kernel.partial_results


def counters(kernel: Kernel, rows: int) -> int:
    """Counters of such a kernel: one a row; for a scan two a row, and a flag for each part."""
    return rows * (kernel.toggles["PARTS"] + 2 if kernel.totals else 1)


def workspace(kernel: Kernel, extents: Extents) -> tuple[int, int]:
    """Bytes of a kernel's partial results, and of the counters behind them."""
    if not any(param.kind == "partials" for param in kernel.params):
        return 0, 0
    _, rows, _ = kernel.elements(extents)
    return partial_bytes(kernel, rows), 4 * counters(kernel, rows)


def number_types(kernel: Kernel) -> list[Any]:
    """The type of NumPy's in which CuPy passes each parameter on; None for pointers."""
    registers = {d.register: d.numpy.type for d in dtypes.ALL if d.register == d.storage}
    index = np.int64 if kernel.toggles.get("USE_64BIT_INDEX") else np.int32
    kinds = {"extent": index, "stride": index}
    return [
        registers[param.ctype] if param.kind == "scalar" else kinds.get(param.kind)
        for param in kernel.params
    ]
