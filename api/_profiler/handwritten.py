"""``ow.profile_source``: the profile of a kernel that someone wrote by hand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from opweave._profiler.profile import ProfiledLaunch, model_of, profiled
from opweave._profiler.report import KernelProfile, ProfileReport
from opweave.compiler.ir.device import device_for
from opweave.opcodes.errors import ArgumentError, CompileError
from opweave.opcodes.handwritten.launch_limits import MOST_BLOCKS, Three, check_block, three
from opweave.runtime.model.device import DeviceModel
from opweave.runtime.sass.accesses import ARRAY_SHIFT
from opweave.runtime.sass.compiled import Compiled, compiled, disassembled

ELF = b"\x7fELF"
# A line of NVRTC's log, such as "default_program(1): error: identifier "y" is undefined".
COMPLAINT = re.compile(r"^[^\n(]*\((\d+)\): (?:catastrophic )?error: (.*)$", re.MULTILINE)


def profile_source(
    source: str, kernel: str, grid: int | Sequence[int], block: int | Sequence[int],
    args: Sequence[Any], shared_bytes: int = 0, target: str = "sm_90a",
) -> ProfileReport:  # fmt: skip
    """Count what a hand-written CUDA kernel does, and model its time; no GPU is needed.

    Args:
        source: CUDA C++ with the kernel in it, as NVRTC takes it.  It is compiled as nvcc does
            by default: a product and a sum may become one fma.
        kernel: name of the ``__global__`` function.
        grid, block: extents, as a number or up to three.
        args: in the order of the parameters: NumPy arrays, NumPy scalars, or Python numbers,
            which take the size of the parameter.
        shared_bytes: dynamic shared memory of a block.
        target: an architecture or a device.

    Raises:
        CompileError: NVRTC refuses the source.
        ArgumentError: arguments that do not fit the kernel, or the source has no such kernel.
        LaunchError: the kernel does not end.
    """
    device = model_of(device_for(target).arch, target)
    found = profile_on(device, source, kernel, grid, block, args, shared_bytes=shared_bytes)
    return ProfileReport((found,))


def profile_on(
    device: DeviceModel, source: str, kernel: str, grid: int | Sequence[int],
    block: int | Sequence[int], args: Sequence[Any], elements: int = 0, shared_bytes: int = 0,
) -> KernelProfile:  # fmt: skip
    """The same on a device that is described by more than its name; errors likewise."""
    try:
        made = compiled(source, kernel, device.arch, contract=True)
    except CompileError as error:
        raise _explained(error, source) from None
    slots, arrays = _bound(made, kernel, args)
    launch = ProfiledLaunch(
        source, kernel, *_launch(grid, block), shared_bytes, slots, arrays, elements
    )
    return profiled(launch, device.arch, device, made)


def profile_cubin(
    cubin: bytes, kernel: str, grid: int | Sequence[int], block: int | Sequence[int],
    args: Sequence[Any], shared_bytes: int = 0, target: str = "sm_90a", elements: int = 0,
) -> ProfileReport:  # fmt: skip
    """Count what a kernel of a compiled file does, such as Triton's, and model its time.

    Args:
        cubin: an ELF file as a CUDA compiler writes it, for ``target``.
        kernel: name of the kernel in it.
        grid, block, args, shared_bytes: as for ``ow.profile_source``; parameters of which the
            kernel reads none may be left out at the end, and are zero.
        target: the architecture of the file, or a device that has it.
        elements: that sentences count by, 0 for none.

    Raises:
        ArgumentError: no ELF file, no such kernel in it, or arguments that do not fit.
        LaunchError: the kernel does not end.
    """
    if cubin[:4] != ELF:
        raise ArgumentError("profile: expected a cubin, which begins as an ELF file does")
    arch = device_for(target).arch
    made = disassembled(cubin, kernel)
    sizes = [nbytes for _, nbytes in made.parameters.places[len(args) :]]
    slots, arrays = _bound(made, kernel, args, len(sizes))
    launch = ProfiledLaunch(
        "", kernel, *_launch(grid, block), shared_bytes, [*slots, *map(bytes, sizes)], arrays,
        elements,
    )  # fmt: skip
    return ProfileReport((profiled(launch, arch, model_of(arch, target), made),))


def _explained(error: CompileError, source: str) -> CompileError:
    """The complaint with the first line of the log that is one."""
    found = COMPLAINT.search(error.log)
    if found is None:
        return error
    text = f"NVRTC refuses the source: line {found[1]}: {found[2]}"
    return CompileError(text, source=source, log=error.log)


def _bound(
    made: Compiled, kernel: str, args: Sequence[Any], left_out: int = 0
) -> tuple[list[bytes], dict[int, int]]:
    """Arguments as bytes, arrays by number."""
    every = made.parameters.places
    places = every[: len(every) - left_out]
    if len(args) != len(places):
        raise ArgumentError(f"{kernel} takes {len(places)} arguments: found {len(args)}")
    slots: list[bytes] = []
    arrays: dict[int, int] = {}
    for number, (value, (_, nbytes)) in enumerate(zip(args, places, strict=True), 1):
        if isinstance(value, np.ndarray):
            slot = (number << ARRAY_SHIFT).to_bytes(8, "little")
            arrays[number] = value.nbytes
        else:
            slot = _scalar(value, nbytes)
        if len(slot) != nbytes:
            raise ArgumentError(
                f"{kernel}: argument {number - 1} has {nbytes} bytes, found {len(slot)}"
            )
        slots.append(slot)
    return slots, arrays


def _scalar(value: Any, nbytes: int) -> bytes:
    if isinstance(value, np.generic):
        return bytes(value.tobytes())
    if isinstance(value, int):
        return int(value).to_bytes(nbytes, "little", signed=value < 0)
    if isinstance(value, float) and nbytes in (2, 4, 8):
        return bytes(np.dtype(f"f{nbytes}").type(value).tobytes())
    raise ArgumentError(f"expected an array or a number, found {type(value).__name__}")


def _launch(grid: int | Sequence[int], block: int | Sequence[int]) -> tuple[Three, Three]:
    return three("grid", grid, MOST_BLOCKS), check_block("block", block)
