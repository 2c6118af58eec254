"""The steps of a call plan, one kernel each; only pointers and numbers are missing."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from opweave.compiler.ir.expr import evaluate
from opweave.compiler.ir.literals import SURE, converted
from opweave.opcodes import dtypes
from opweave.runtime.calls.by_numpy import Compute

if TYPE_CHECKING:
    from opweave.compiler.ir.values import Extents, Scalar
    from opweave.compiler.kernels.kernel import Kernel
    from opweave.runtime.calls.interface import Launchable
    from opweave.runtime.calls.refusals import Refusal


# (packed arguments, the arrays behind their pointers) -> started
Launch = Callable[[Any, Sequence[Any]], None]
# (arrays of the call, its numbers) -> a step is started
Started = Callable[[Sequence[Any], Sequence[Any]], None]
# Toggles whose product is how many columns a block has side by side.
BANDS = {"outer": ("ACROSS", "COLUMNS"), "scan_columns": ("BLOCK", "VECTOR")}
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
        launch: starts it; None where NumPy computes it, or where there is nothing to write.
        compute: has NumPy compute it; None where it is launched, or likewise.
        pack: slot values -> arguments as ``launch`` takes them.
        fixed: slot values, with None where a call fills in.
        arrays: (slot, array of the call, bytes from its first element) of what it fills in.
        numbers: (slot, number of the call), likewise.
        zeroed: where in the arena counters begin at zero, and their bytes.
        passes_arrays: ``launch`` takes the arrays besides, since addresses are not enough for it.
        refused: where the kernel notes that it cannot compute the call.
    """

    kernel: Kernel
    launch: Launch | None
    compute: Compute | None
    pack: Callable[..., Any]
    fixed: tuple[Any, ...]
    arrays: tuple[tuple[int, int, int], ...]
    numbers: tuple[tuple[int, int], ...]
    zeroed: tuple[int, int]
    passes_arrays: bool
    refused: Refusal | None = None

    def start(self, arrays: Any, numbers: Sequence[Any], address: Callable[..., Any]) -> None:
        """Fill in the slots and launch, or have NumPy compute, unless there is nothing to write.

        Args:
            arrays: those of the call, by their numbers.
            numbers: of the call.
            address: what a slot holds for an array and an offset.
        """
        if self.launch is None:
            if self.compute is not None:
                self.compute(arrays, numbers)
            return
        slots = list(self.fixed)
        for slot, array, offset in self.arrays:
            slots[slot] = address(arrays[array], offset)
        for slot, number in self.numbers:
            slots[slot] = numbers[number]
        passed = [arrays[array] for _, array, _ in self.arrays] if self.passes_arrays else ()
        self.launch(self.pack(*slots), passed)
        if self.refused is not None:
            self.refused.check(arrays)


def starting(step: Step, address: Callable[..., Any]) -> Started | None:
    """A function that starts a step; None of one that does nothing."""
    start = step.start
    return step.compute if step.launch is None else lambda arrays, n: start(arrays, n, address)


def packer(kernel: Launchable, formats: Sequence[str]) -> Callable[..., bytes]:
    """Slots as bytes, eight each, as C takes them."""
    return struct.Struct("<" + "".join(formats)).pack


# Floats that Python packs as NumPy converts them.
WIDE = dtypes.F32, dtypes.F64


def scalar_value(scalar: Scalar, env: Mapping[str, Any]) -> Any:
    """A scalar parameter as the Python number that packs into its register."""
    expr = scalar.expr
    value = env[expr.args[0]] if expr.op == "argument" else evaluate(expr, env)
    if type(value) is float and scalar.dtype in WIDE and -SURE < value < SURE:
        return value  # packing rounds it
    number = converted(value, scalar.dtype)
    if scalar.dtype.is_float:
        return float(number)
    return bool(number) if scalar.dtype.kind == "b" else int(number)


def known_number(scalar: Scalar, extents: Mapping[str, Any]) -> Any:
    """The number that a scalar is in each call of these extents; None where calls tell."""
    if any(leaf.op not in ("literal", "extent") for leaf in scalar.expr.leaves()):
        return None
    try:
        return scalar_value(scalar, extents)
    except (ArithmeticError, ValueError):  # each call raises it, in its turn
        return None


def workspace(kernel: Kernel, extents: Extents) -> tuple[int, int]:
    """Bytes of a kernel's partial results, and of the counters behind them.

    There is a counter for blocks that share rows; for those of a scan two, and a flag for each,
    as for each group of them.
    """
    if not any(param.kind == "partials" for param in kernel.params):
        return 0, 0
    if kernel.template == "count":
        return 8, 0  # how many elements have no bin
    rows = groups = kernel.elements(extents)[1]
    if kernel.template in BANDS:  # every place of a band of columns, and the bands
        groups = kernel.grid(extents)[0]
        rows = groups * math.prod(kernel.toggles[name] for name in BANDS[kernel.template])
    parts = kernel.toggles["PARTS"]
    if kernel.template == "scan_parts":  # GROUPS of the template
        parts += -(-parts // kernel.toggles["THREADS_PER_ROW"])
    if kernel.template == "scan_ahead":  # totals are told by words, see templates/scans.cuh
        return 0, 4 * rows * (2 + 2 * _told_words(kernel, extents))
    counters = groups * (parts + 2 if kernel.totals else 1)
    return 16 * parts * rows * kernel.partial_results, 4 * counters


def _told_words(kernel: Kernel, extents: Extents) -> int:
    """Words of 8 bytes that the blocks of a row tell their totals by: 4 bytes of them in each."""
    assert kernel.totals is not None
    threads, lanes = (kernel.toggles[name] for name in ("THREADS_PER_ROW", "LANES"))
    parts = -(-kernel.elements(extents)[2] // (threads * lanes))
    sizes = {d.register: d.register_bytes for d in dtypes.ALL}
    each = sum(-(-sizes[r.ctype] // 4) for r in kernel.totals.reductions)
    return each * (parts + -(-parts // threads))


def number_types(kernel: Launchable) -> list[Any]:
    """The type of NumPy's in which CuPy passes each parameter on; None for pointers."""
    registers = {d.register: d.numpy.type for d in dtypes.ALL if d.register == d.storage}
    index = np.int64 if kernel.toggles.get("USE_64BIT_INDEX") else np.int32
    kinds = {"extent": index, "stride": index}
    return [
        registers[param.ctype] if param.kind == "scalar" else kinds.get(param.kind)
        for param in kernel.params
    ]
