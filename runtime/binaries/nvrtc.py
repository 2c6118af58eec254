"""NVRTC through cuda.core: CUDA C to a cubin, with no GPU and no driver."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from opweave.opcodes.errors import CompileError, NoCompilerError

# Wheels whose versions decide what NVRTC makes of a source.
WHEELS = ("cuda_core-", "cuda_bindings-", "nvidia_cuda_nvrtc-", "nvidia_cuda_nvrtc_cu12-")
STRICT: dict[str, Any] = {"fma": False, "ftz": False, "prec_div": True, "prec_sqrt": True}
FAST: dict[str, Any] = {"fma": True, "use_fast_math": True}
# "minimal" leaves out textures and the runtime API, which kernels do not use: it saves 9 ms of 65.
COMMON: dict[str, Any] = {"std": "c++17", "minimal": True}


@cache
def fingerprint() -> str:
    """Versions of the wheels that hold the compiler.

    They are read from the names of the wheels' metadata folders.  Importing cuda.core or
    importlib.metadata would take longer than a hit on disk may take.
    """
    found: set[str] = set()
    for folder in sys.path:
        with suppress(OSError):
            found |= {n for n in os.listdir(folder or ".") if n.startswith(WHEELS)}
    return ", ".join(sorted(n for n in found if n.endswith(".dist-info")))


def options(*, fast: bool) -> dict[str, Any]:
    """Options that stand in the cache key."""
    return COMMON | (FAST if fast else STRICT)


def folders(source: str, include: Path) -> list[str]:
    """Where NVRTC looks for headers: also in wheels, if a source asks for others than ours."""
    return [str(include), *(toolkit() if re.search(r"#\s*include\s*<", source) else ())]


@cache
def toolkit() -> tuple[str, ...]:
    """Folders of CUDA's headers in wheels, such as ``nvidia/cu13/include``."""
    found = (Path(folder).glob("nvidia/*/include/cuda_fp16.h") for folder in sys.path if folder)
    return tuple(str(path.parent) for paths in found for path in paths)


def compile_cuda(source: str, arch: str, chosen: dict[str, Any], include: Path) -> bytes:
    """Compile to a cubin.

    Raises:
        CompileError: NVRTC refuses the source.
        NoCompilerError: cuda.core or NVRTC is not installed.
    """
    try:
        from cuda.core import Program, ProgramOptions
    except ImportError:
        raise NoCompilerError(
            "compiling for a GPU needs cuda.core and NVRTC: run pip install 'opweave[nvrtc]' "
            "(no GPU needed), or 'opweave[cuda13]' with CuPy"
        ) from None
    try:
        made = ProgramOptions(arch=arch, include_path=folders(source, include), **chosen)
        return bytes(Program(source, "c++", made).compile("cubin").code)
    except Exception as error:  # cuda.core raises several types; the log is in the text
        text = str(error)
        if "minimal" in text and chosen.pop("minimal", False):  # NVRTC before 12.8
            return compile_cuda(source, arch, chosen, include)
        if "NVRTC" not in text and "compil" not in text.lower():
            raise NoCompilerError(
                f"NVRTC cannot be used: {text}; run pip install 'opweave[nvrtc]'"
            ) from error
        raise CompileError("NVRTC refuses the kernel", source=source, log=text) from None


def ptx(source: str, arch: str, chosen: dict[str, Any], include: Path) -> str:
    """PTX text of a source.

    Through the bindings, because ``cuda.core`` asks the driver whether it could load the PTX.

    Raises:
        CompileError: NVRTC refuses the source.
        NoCompilerError: the bindings are not installed.
    """
    try:
        from cuda.bindings import nvrtc
        from cuda.core import ProgramOptions
    except ImportError:
        raise NoCompilerError("PTX needs NVRTC: run pip install 'opweave[nvrtc]'") from None
    made = ProgramOptions(arch=arch, include_path=folders(source, include), **chosen)
    options = made.as_bytes("nvrtc")
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"default_program", 0, None, None)
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = b" " * size
        nvrtc.nvrtcGetProgramLog(program, log)
        raise CompileError("NVRTC refuses the kernel", source=source, log=log.decode())
    _, size = nvrtc.nvrtcGetPTXSize(program)
    text = b" " * size
    nvrtc.nvrtcGetPTX(program, text)
    nvrtc.nvrtcDestroyProgram(program)
    return str(text.rstrip(b"\0"), "ascii")
