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
        stack_bytes: local memory, per thread: arrays that are indexed at run time, and spills.
        spill_bytes: what of it is stored and loaded by places that the code names: registers that
            are kept there for a while.  An array is among it that is filled and read by loops that
            are unrolled, and indexed besides; the binary does not tell these apart.
        shared_bytes: static shared memory per block.
    """

    registers: int
    stack_bytes: int
    shared_bytes: int
    spill_bytes: int


# A place on the stack that an instruction names: how wide the access is, and where.
SLOT = re.compile(r"\b(STL|LDL)((?:\.\w+)*) [^;]*?\[R1(?:\+(0x[0-9a-f]+))?\]")
SLOT_BYTES = {".64": 8, ".128": 16}


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
    """Registers, stack, spills and shared memory of a kernel."""
    text = _run("cuobjdump", "--dump-resource-usage", cubin=cubin)
    found = re.search(rf"Function {name}:\s*\n\s*(.*)", text)
    if found is None:
        raise NoCompilerError(f"cuobjdump names no function {name}")
    fields = {k: int(v) for k, v in re.findall(r"([A-Z]+)(?:\[\d+\])?:(\d+)", found.group(1))}
    stack = fields.get("STACK", 0)
    spilled = _spilled(sass(cubin), name) if stack else 0
    return Resources(fields.get("REG", 0), stack, fields.get("SHARED", 0), spilled)


def _spilled(text: str, name: str) -> int:
    """Such bytes of a function; what ``cuobjdump`` calls ``LOCAL`` is 0 for kernels that spill."""
    _, section = text.split(f"\t.section\t.text.{name},", 1)
    found: dict[str, set[int]] = {"STL": set(), "LDL": set()}
    for access, options, place in SLOT.findall(section.split("\t.section\t", 1)[0]):
        width = next((n for mark, n in SLOT_BYTES.items() if mark in options), 4)
        at = int(place or "0", 16)
        found[access] |= {*range(at, at + width)}
    return len(found["STL"] & found["LDL"])


def sass_with_bits(cubin: bytes) -> str:
    """Disassembly with the bits of each instruction, and the lines of its source if it has any."""
    return _run("nvdisasm", "-c", "-ndf", "-hex", "-gi", cubin=cubin)
