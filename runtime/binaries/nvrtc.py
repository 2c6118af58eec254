"""NVRTC: CUDA C to a cubin or to PTX, with no GPU and no driver."""

from __future__ import annotations

import importlib
import os
import re
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

from opweave.opcodes.errors import CompileError, NoCompilerError

# Wheels whose versions decide what NVRTC makes of a source.
WHEELS = ("cuda_bindings-", "cupy_", "nvidia_cuda_nvrtc-", "nvidia_cuda_nvrtc_cu12-")
NAME = "default_program"  # by which NVRTC's messages call a source
STRICT: dict[str, Any] = {"fma": False, "ftz": False, "prec_div": True, "prec_sqrt": True}
FAST: dict[str, Any] = {"fma": True, "use_fast_math": True}
# "minimal" leaves out textures and the runtime API, which kernels do not use: it saves 9 ms of 65.
# "default_device": before 13.2, NVRTC takes a lambda whose parameter is ``auto`` for the host's.
COMMON: dict[str, Any] = {"std": "c++17", "minimal": True, "default_device": True}
# What options are called on the command line, where that differs; those that take no value.
NAMES = {"fma": "fmad", "prec_div": "prec-div", "prec_sqrt": "prec-sqrt"}
SWITCHES = {
    "use_fast_math": "--use_fast_math", "minimal": "--minimal", "lineinfo": "--generate-line-info",
    "default_device": "--device-as-default-execution-space",
}  # fmt: skip
# Of the header of a 64-bit ELF file: where its two tables begin, then size and number of their
# entries ("ELF-64 Object File Format", version 1.5, figure 2).
ELF_TABLES = struct.Struct("<32xQQ6xHHHH")
# (binding, "cubin" or "ptx", source, flags) -> what NVRTC makes of it
Way = Callable[[str, str, Sequence[str]], bytes]


@cache
def fingerprint() -> str:
    """Versions of the wheels that hold the compiler.

    They are read from the names of the wheels' metadata folders.  Importing cuda.bindings or
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


def compile_cuda(source: str, arch: str, chosen: Mapping[str, Any], include: Path) -> bytes:
    """Compile to a cubin.

    Raises:
        CompileError: NVRTC refuses the source.
        NoCompilerError: NVRTC, or what Python calls it by, is not installed.
    """
    return _compiled("cubin", source, arch, chosen, include)


def ptx(source: str, arch: str, chosen: Mapping[str, Any], include: Path) -> str:
    """PTX text of a source; errors as for a cubin."""
    return str(_compiled("ptx", source, arch, chosen, include).rstrip(b"\0"), "ascii")


def _compiled(
    kind: str, source: str, arch: str, chosen: Mapping[str, Any], include: Path
) -> bytes:
    flags = [f"-arch={arch}", *(f"--include-path={path}" for path in folders(source, include))]
    try:
        return _way()(kind, source, flags + flags_of(chosen))
    except RefusedError as refused:
        if chosen.get("minimal") and "--minimal" in refused.log:  # NVRTC before 12.8
            left = {name: value for name, value in chosen.items() if name != "minimal"}
            return _compiled(kind, source, arch, left, include)
        raise CompileError("NVRTC refuses the kernel", source=source, log=refused.log) from None
    except NoCompilerError:
        raise
    except Exception as error:  # the library is not found, or too old
        raise NoCompilerError(
            f"NVRTC cannot be used: {error}; run pip install 'opweave[nvrtc]'"
        ) from error


def flags_of(chosen: Mapping[str, Any]) -> list[str]:
    """Options as NVRTC's command line has them."""
    switches = [flag for name, flag in SWITCHES.items() if chosen.get(name)]
    others = [(NAMES.get(n, n), v) for n, v in chosen.items() if n not in SWITCHES]
    return [f"--{name}={str(value).lower()}" for name, value in others] + switches


@cache
def _way() -> Way:
    """What calls NVRTC: NVIDIA's bindings, or else those that CuPy has.

    Raises:
        NoCompilerError: neither is installed.
    """
    for module, way in WAYS.items():
        try:
            return partial(way, importlib.import_module(module))
        except ImportError:
            continue
    raise NoCompilerError(
        "compiling for a GPU needs NVRTC and cuda.bindings: run pip install 'opweave[nvrtc]' "
        "(no GPU needed), or 'opweave[cuda13]' with CuPy"
    )


class RefusedError(Exception):
    """NVRTC refuses a source or an option.

    Attributes:
        log: what it says.
    """

    def __init__(self, log: str):
        super().__init__(log)
        self.log = log


def by_bindings(nvrtc: Any, kind: str, source: str, flags: Sequence[str]) -> bytes:
    """Compile by ``cuda.bindings.nvrtc``."""

    def asked(function: Any, *args: Any) -> Any:
        status, *results = function(*args)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise RefusedError(log() or f"{status}")
        return results[0] if results else None

    def log() -> str:
        size: int
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        text = bytes(size)
        nvrtc.nvrtcGetProgramLog(program, text)
        return text.rstrip(b"\0 \n").decode(errors="replace")

    _, program = nvrtc.nvrtcCreateProgram(source.encode(), NAME.encode(), 0, None, None)
    size_of, get = {
        "cubin": (nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN),
        "ptx": (nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX),
    }[kind]
    try:
        asked(nvrtc.nvrtcCompileProgram, program, len(flags), [f.encode() for f in flags])
        made = bytes(asked(size_of, program))
        asked(get, program, made)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return made


def by_cupy(nvrtc: Any, kind: str, source: str, flags: Sequence[str]) -> bytes:
    """Compile by the module that CuPy calls NVRTC by; no driver is needed."""
    program = nvrtc.createProgram(source, NAME, (), ())
    try:
        try:
            nvrtc.compileProgram(program, tuple(flags))
        except nvrtc.NVRTCError as error:
            raise RefusedError(nvrtc.getProgramLog(program).strip() or str(error)) from None
        if kind == "ptx":
            return bytes(nvrtc.getPTX(program))
        return whole_elf(bytes(nvrtc.getCUBIN(program)))
    finally:
        nvrtc.destroyProgram(program)


def whole_elf(cubin: bytes) -> bytes:
    """A cubin with the zero at its end, which CuPy takes for the end of a text and leaves out."""
    programs, sections, *sizes = ELF_TABLES.unpack_from(cubin)
    ends = (programs + sizes[0] * sizes[1], sections + sizes[2] * sizes[3])
    return cubin.ljust(max(ends), b"\0")


WAYS: dict[str, Callable[..., bytes]] = {
    "cuda.bindings.nvrtc": by_bindings,
    "cupy_backends.cuda.libs.nvrtc": by_cupy,
}
