"""mma.sync, ldmatrix and stmatrix: what a warp does with fragments of matrices.

Fragment layouts are those of the PTX ISA, "Matrix Fragments for mma".  Hardware does not say in
which order it sums; here, as in templates/host/cuda/ptx.cuh, products are exact, are added in
float64 to the accumulator in rising k, and the sum is rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import ml_dtypes
import numpy as np

from opweave.opcodes.errors import PtxLaunchError
from opweave.runtime.isa.form import InstructionForm
from opweave.runtime.isa.instruction import Array, Instruction
from opweave.runtime.ptx.accesses import addresses, asked
from opweave.runtime.ptx.binding import Scope
from opweave.runtime.ptx.machine import Machine
from opweave.runtime.ptx.memory import AccessFault, Memory
from opweave.runtime.ptx.warps import Made, active_of

_Made = TypeVar("_Made")
EVERY = np.array([0xFFFFFFFF], np.uint32)
LANE = np.arange(32)
ROW, QUARTER = LANE // 4, LANE % 4


def _tf32(words: Array) -> Array:
    """The lower 13 bits are not looked at."""
    return (words & np.uint32(0xFFFFE000)).view(np.float32)


# Elements of a 32-bit register, and the numbers that they are.
ELEMENTS: Mapping[str, tuple[int, Callable[[Array], Array]]] = {
    "f16": (2, lambda words: words.view(np.float16)),
    "bf16": (2, lambda words: words.view(ml_dtypes.bfloat16)),
    "tf32": (1, _tf32),
    "s8": (4, lambda words: words.view(np.int8)),
    "u8": (4, lambda words: words.view(np.uint8)),
}
# Depths of m16n8 for each type of element.
DEPTHS = {"f16": (8, 16), "bf16": (8, 16), "tf32": (4, 8), "s8": (16, 32), "u8": (16, 32)}


@dataclass(frozen=True)
class _Shape:
    """One shape of mma: m is 16 and n is 8."""

    k: int
    a: str
    b: str
    c: str

    def registers(self, of: str) -> int:
        """32-bit registers of a fragment of a or b."""
        each = ELEMENTS[self.a if of == "a" else self.b][0]
        return self.k // (4 * each) * (2 if of == "a" else 1)

    def left(self, registers: list[Array]) -> Array:
        """Fragments [warps, 32] of each register as matrices [warps, 16, k]."""
        each, numbers = ELEMENTS[self.a]
        made = np.zeros((len(registers[0]), 16, self.k))
        for n, words in enumerate(registers):
            values = numbers(np.ascontiguousarray(words)).reshape(-1, 32, each)
            for j in range(each):
                column = n // 2 * 4 * each + QUARTER * each + j
                made[:, ROW + 8 * (n % 2), column] = values[:, :, j]
        return made

    def right(self, registers: list[Array]) -> Array:
        """Matrices [warps, k, 8]."""
        each, numbers = ELEMENTS[self.b]
        made = np.zeros((len(registers[0]), self.k, 8))
        for n, words in enumerate(registers):
            values = numbers(np.ascontiguousarray(words)).reshape(-1, 32, each)
            for j in range(each):
                made[:, n * 4 * each + QUARTER * each + j, ROW] = values[:, :, j]
        return made


def _multiply(scope: Scope, form: InstructionForm) -> Made:
    one = form.instruction
    shape, dtypes = _shape(form)
    target, *sources = (scope.vector(o) for o in one.operands)
    if len(sources) != 3:
        raise form.unknown()
    halves = shape.c == "f16"
    counts = [shape.registers("a"), shape.registers("b"), 2 if halves else 4]
    if [len(s) for s in sources] != counts or len(target) != counts[2]:
        raise form.unknown("another number of registers")
    kind = "f32" if shape.c == "f32" else "b32"
    readers = [[scope.reader(part, "b32", one) for part in s] for s in sources]
    writers = [scope.writer(part, kind, one) for part in target]

    def multiply(machine: Machine, threads: Array) -> None:
        active = check_whole(machine, threads, form)
        a, b, c = (
            [machine.spread(read(machine, active), active).reshape(-1, 32) for read in group]
            for group in readers
        )
        sums = _accumulators(c, dtypes)
        left, right = shape.left(a), shape.right(b)
        for k in range(shape.k):  # in this order: float64 rounds
            sums = sums + left[:, :, k, None] * right[:, None, k, :]
        for n, words in enumerate(_results(sums, shape.c)):
            writers[n](machine, active, words.reshape(-1))

    return lambda machine, active: EVERY, multiply


def _accumulators(c: list[Array], dtype: str) -> Array:
    """[warps, 16, 8] in float64, of 4 registers or of 2 packed ones."""
    made = np.zeros((len(c[0]), 16, 8))
    for n in range(4):
        if dtype == "f16":
            words = (
                np.ascontiguousarray(c[n // 2]).view(np.float16).reshape(-1, 32, 2)[:, :, n % 2]
            )
        else:
            words = np.ascontiguousarray(c[n]).view(np.float32 if dtype == "f32" else np.int32)
        made[:, ROW + 8 * (n // 2), 2 * QUARTER + n % 2] = words
    return made


def _results(sums: Array, kind: str) -> list[Array]:
    """Registers [warps, 32] of the sums."""
    parts = [sums[:, ROW + 8 * (n // 2), 2 * QUARTER + n % 2] for n in range(4)]
    if kind == "s32":  # sums of small integers are exact; beyond the range they wrap
        return [p.astype(np.int64).astype(np.int32).view(np.uint32) for p in parts]
    single = [p.astype(np.float32) for p in parts]
    if kind == "f32":
        return [np.where(p != p, np.float32(np.nan), p).view(np.uint32) for p in single]
    half = [p.astype(np.float16).view(np.uint16).astype(np.uint32) for p in single]
    return [half[2 * n] | half[2 * n + 1] << np.uint32(16) for n in range(2)]


def _shape(form: InstructionForm) -> tuple[_Shape, str]:
    """The shape of an mma, and the type of its accumulators.

    Raises:
        UnknownInstructionError: another shape, saturation, sparse matrices.
    """
    if not (form.flag("sync") and form.flag("aligned")):
        raise form.unknown()
    k = int(form.one_of(("m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"))[6:])
    for layout in ("row", "col"):
        form.one_of((layout,))
    names = form.instruction.modifiers[-4:]
    d, a, b, c = names
    for name in names:
        form.flag(name)
    form.finish()
    integers = a in ("s8", "u8") and b in ("s8", "u8") and (d, c) == ("s32", "s32")
    floats = a == b and a in ("f16", "bf16", "tf32") and d == c and (
        d == "f32" or (a == "f16" and d == "f16")
    )  # fmt: skip
    if not (integers or floats) or k not in DEPTHS[a]:
        raise form.unknown()
    return _Shape(k, a, b, d), c


def check_whole(machine: Machine, threads: Array, form: InstructionForm) -> Array | None:
    """Hold an instruction of whole warps to whole warps.

    Raises:
        PtxLaunchError: lanes are missing.
    """
    warp = machine.warp[threads]
    if len(threads) % 32 or (warp.reshape(-1, 32) != warp[::32, None]).any():
        raise machine.error(PtxLaunchError, form.instruction, int(threads[0]),
                            "runs an instruction that needs all 32 lanes of its warp")  # fmt: skip
    return active_of(machine, threads)


def _matrix_form(form: InstructionForm) -> tuple[int, bool, str]:
    if not (form.flag("sync") and form.flag("aligned") and form.flag("m8n8")):
        raise form.unknown()
    count = int(form.one_of(("x1", "x2", "x4"))[1:])
    trans = form.flag("trans")
    space = form.one_of(("shared", "shared::cta"), "generic")
    form.type("b16")
    form.finish()
    return count, trans, space


def _reach(
    machine: Machine, threads: Array, one: Instruction, address: Array, count: int, space: str,
    kind: str, act: Callable[[Memory, Array], _Made],
) -> _Made:  # fmt: skip
    """What ``act`` makes of the addresses of 8 rows of each matrix, of as many lanes."""
    named, rows = (v.reshape(-1, 32)[:, : 8 * count].reshape(-1) for v in (threads, address))
    try:
        return act(*asked(machine, one, named, space, rows, 16, kind))
    except AccessFault as fault:
        machine.refuse(fault, one, named)


def _load_matrix(scope: Scope, form: InstructionForm) -> Made:
    one = form.instruction
    count, trans, space = _matrix_form(form)
    writers = [scope.writer(part, "b32", one) for part in scope.vector(one.operands[0])]
    where = addresses(scope, one.operands[1], form)
    if len(writers) != count:
        raise form.unknown()

    def load(machine: Machine, threads: Array) -> None:
        active = check_whole(machine, threads, form)
        address = machine.spread(where(machine, active), active)
        words = _reach(machine, threads, one, address, count, space, "load",
                       lambda memory, at: memory.fetch(at, np.dtype("u4"), 4))  # fmt: skip
        halves = np.ascontiguousarray(words).view(np.uint16).reshape(-1, count, 8, 8)
        halves = halves.transpose(0, 1, 3, 2) if trans else halves
        for n, write in enumerate(writers):
            low = halves[:, n, ROW, 2 * QUARTER].astype(np.uint32)
            high = halves[:, n, ROW, 2 * QUARTER + 1].astype(np.uint32)
            write(machine, active, (low | high << np.uint32(16)).reshape(-1))

    return lambda machine, active: EVERY, load


def _store_matrix(scope: Scope, form: InstructionForm) -> Made:
    one = form.instruction
    count, trans, space = _matrix_form(form)
    readers = [scope.reader(part, "b32", one) for part in scope.vector(one.operands[1])]
    where = addresses(scope, one.operands[0], form)
    if len(readers) != count:
        raise form.unknown()

    def store(machine: Machine, threads: Array) -> None:
        active = check_whole(machine, threads, form)
        address = machine.spread(where(machine, active), active)
        halves = np.zeros((len(threads) // 32, count, 8, 8), np.uint16)
        for n, read in enumerate(readers):
            words = np.ascontiguousarray(machine.spread(read(machine, active), active))
            parts = words.view(np.uint16).reshape(-1, 32, 2)
            for j in range(2):
                halves[:, n, ROW, 2 * QUARTER + j] = parts[:, :, j]
        halves = np.ascontiguousarray(halves.transpose(0, 1, 3, 2) if trans else halves)
        words = halves.view(np.uint32).reshape(-1, 4)
        machine.stores += 1
        _reach(machine, threads, one, address, count, space, "store",
               lambda memory, at: memory.store(at, words))  # fmt: skip

    return lambda machine, active: EVERY, store


TOGETHER: Mapping[str, Callable[[Scope, InstructionForm], Made]] = {
    "mma": _multiply,
    "ldmatrix": _load_matrix,
    "stmatrix": _store_matrix,
}
