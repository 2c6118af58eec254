"""SASS, PTX and resources of a kernel, from the disassembler wheels; no GPU is needed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from opweave.opcodes.errors import NoCompilerError
from opweave.runtime.process.environment import for_compilers


@dataclass(frozen=True)
class Resources:
    """What a kernel takes, per thread or per block.

    Attributes:
        registers: per thread.
        stack_bytes: local memory for arrays that are indexed at run time, per thread.
        spill_bytes: registers that went to local memory, per thread.
        shared_bytes: static shared memory per block.
    """

    registers: int
    stack_bytes: int
    shared_bytes: int
    spill_bytes: int


def tool(name: str) -> str:
    """Path of ``nvdisasm`` or ``cuobjdump``: from its wheel, else from the PATH.

    Raises:
        NoCompilerError: it is not installed.
    """
    for folder in sys.path:  # a wheel may lie in any of them: a user's own, a target folder's
        base = Path(folder or ".") / "nvidia"
        for found in sorted(base.glob(f"*/bin/{name}"), reverse=True):
            if os.access(found, os.X_OK):
                return str(found.absolute())
    on_path = shutil.which(name)
    if on_path:
        return os.path.abspath(on_path)
    raise NoCompilerError(
        f"{name} is not installed: run pip install 'opweave[nvrtc]' for the disassembler wheels"
    )


def _run(name: str, *options: str, cubin: bytes) -> str:
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        ran = subprocess.run(
            [tool(name), *options, file.name], capture_output=True, text=True, check=False,
            env=for_compilers(),
        )  # fmt: skip
    if ran.returncode:
        raise NoCompilerError(f"{name} failed: {ran.stderr.strip()}")
    return ran.stdout


def sass(cubin: bytes) -> str:
    """Disassembly of a cubin: instructions only."""
    return _run("nvdisasm", "-c", "-ndf", cubin=cubin)


def resources(cubin: bytes, name: str) -> Resources:
    """Registers, stack and shared memory of a kernel.

    Spilling shows as local stores (``STL``) in a kernel whose stack holds no array.
    """
    text = _run("cuobjdump", "--dump-resource-usage", cubin=cubin)
    found = re.search(rf"Function {name}:\s*\n\s*(.*)", text)
    if found is None:
        raise NoCompilerError(f"cuobjdump names no function {name}")
    fields = {k: int(v) for k, v in re.findall(r"([A-Z]+)(?:\[\d+\])?:(\d+)", found.group(1))}
    return Resources(
        fields.get("REG", 0), fields.get("STACK", 0), fields.get("SHARED", 0),
        fields.get("LOCAL", 0),
    )  # fmt: skip


def sass_with_bits(cubin: bytes) -> str:
    """Disassembly with the bits of each instruction, and the lines of its source if it has any."""
    return _run("nvdisasm", "-c", "-ndf", "-hex", "-gi", cubin=cubin)
