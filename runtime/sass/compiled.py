"""A CUDA source as a listing with lines, resources and parameters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import Any

from opweave.compiler.ir.device import KEPT_BYTES
from opweave.opcodes.errors import ArgumentError
from opweave.runtime.binaries import nvrtc
from opweave.runtime.binaries.debuginfo import function_name
from opweave.runtime.binaries.disassembly import Resources, resources, sass_with_bits
from opweave.runtime.sass.cubins import ParameterPlaces, parameters
from opweave.runtime.sass.listing import Listing, parse
from opweave.templates import TEMPLATES

# Architectures whose resources count what the system keeps of shared memory.
COUNT_KEPT = ("sm_90a", "sm_100", "sm_120")


@dataclass(frozen=True)
class Compiled:
    """A compiled kernel, ready to be executed for its counts."""

    listing: Listing
    resources: Resources
    parameters: ParameterPlaces
    cubin: bytes

    def shared_bytes(self, arch: str) -> int:
        """Static shared memory of a block, without what the system keeps."""
        found = self.resources.shared_bytes
        return max(0, found - KEPT_BYTES) if arch in COUNT_KEPT else found


@lru_cache(maxsize=64)
def compiled(
    source: str, name: str, arch: str, *, fast: bool = False, contract: bool = False
) -> Compiled:
    """Compile a kernel with the lines of its source; the instructions are those without.

    ``contract``: a product and a sum become one fma, as nvcc has it unless it is told otherwise.

    Raises:
        CompileError: NVRTC refuses the source.
        ArgumentError: the source has no such kernel.
        NoCompilerError: NVRTC or the disassemblers are not installed.
    """
    options = nvrtc.options(fast=fast) | {"lineinfo": True, "fma": fast or contract}
    return disassembled(nvrtc.compile_cuda(source, arch, options, TEMPLATES), name)


def disassembled(cubin: bytes, name: str) -> Compiled:
    """A kernel of a cubin, whatever compiler made it.

    Raises:
        ArgumentError: it has no such kernel.
        NoCompilerError: the disassemblers are not installed.
    """
    symbol = _symbol(cubin, name)
    listing = parse(sass_with_bits(cubin), symbol)
    return Compiled(listing, resources(cubin, symbol), parameters(cubin, symbol), cubin)


def _symbol(cubin: bytes, name: str) -> str:
    from elftools.elf.elffile import ELFFile

    elf: Any = ELFFile(BytesIO(cubin))
    sections = [section.name for section in elf.iter_sections()]
    symbols: list[str] = [s.removeprefix(".text.") for s in sections if s.startswith(".text.")]
    found = [s for s in symbols if name in (s, function_name(s))]
    if not found:
        names = ", ".join(sorted(map(function_name, symbols))) or "none"
        raise ArgumentError(f"there is no kernel {name}: expected one of {names}")
    if len(found) > 1:  # instances of a template
        raise ArgumentError(f"several kernels are called {name}: name one of {', '.join(found)}")
    return found[0]
