"""The host C++ compiler: found on the PATH or in the ``ziglang`` wheel, and its flags."""

from __future__ import annotations

import atexit
import importlib.util
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from opweave.opcodes.errors import CompileError, NoCompilerError
from opweave.runtime.environment import for_compilers

# No contraction and no reassociation: a fused kernel gives the bits of an unfused one.
STRICT = ("-ffp-contract=off",)
FAST = ("-ffp-contract=fast",)
# Partial redundancy elimination puts branches into loops over several channels, which then do
# not vectorise (g++ 12); clang takes the flag and ignores it, zig refuses it.
NO_PRE = ("-fno-tree-pre",)
COMMON = (
    "-x", "c++", "-std=c++20", "-O3", "-march=native", "-fPIC", "-shared", "-fvisibility=default",
    "-fno-math-errno", "-fno-trapping-math", "-fwrapv", "-U_FORTIFY_SOURCE", "-fno-exceptions",
    "-fno-rtti", "-fno-sanitize=all", "-w",
)  # fmt: skip
# Unoptimised, so that a read that a GPU would make is made, even if its value is not used.
VERIFY = ("-DOW_VERIFY", "-O0")


@dataclass(frozen=True)
class HostCompiler:
    """A command that compiles C++, its own flags, and what identifies it in a cache key."""

    command: tuple[str, ...]
    fingerprint: str
    flags: tuple[str, ...] = ()


@cache
def host_compiler() -> HostCompiler:
    """Find a compiler: g++, c++, clang++, then zig from the ``ziglang`` wheel.

    Raises:
        NoCompilerError: there is none; says what to install.
    """
    for name in ("g++", "c++", "clang++"):
        found = shutil.which(name)
        if found:
            path = os.path.abspath(found)  # with a relative PATH, one that means the same later
            return HostCompiler((path,), _fingerprint(path), NO_PRE)
    spec = importlib.util.find_spec("ziglang")
    if spec is not None and spec.origin:
        zig = str(Path(spec.origin).parent / "zig")
        return HostCompiler((zig, "cc", "-nostdlib"), _fingerprint(zig))
    raise NoCompilerError(
        "no C++ compiler found for the host executor: expected g++, c++ or clang++ on the PATH; "
        "install one, or run: pip install 'opweave[host]'"
    )


def _fingerprint(path: str) -> str:
    found = os.stat(os.path.realpath(path))
    return f"{os.path.realpath(path)} {found.st_size} {found.st_mtime_ns}"


@cache
def cpu_features() -> str:
    """What ``-march=native`` depends on: the flags of the first processor."""
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith(("flags", "Features")):
                    return " ".join(sorted(line.split(":", 1)[1].split()))
    except OSError:
        pass
    return " ".join(os.uname())


@cache
def zig_cache() -> str:
    """A folder that only this user can have written: of this process."""
    folder = tempfile.mkdtemp(prefix="opweave-zig-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def flags(*, verify: bool, fast: bool) -> tuple[str, ...]:
    """Compiler flags of a mode, in order."""
    mode = (*(FAST if fast else STRICT), *(VERIFY if verify else ()))
    return (*COMMON, *host_compiler().flags, *mode)


def compile_host(source: str, options: tuple[str, ...], include: tuple[Path, ...]) -> bytes:
    """Compile to a shared object.

    Raises:
        CompileError: the compiler refuses the source.
        NoCompilerError: there is no compiler.
    """
    compiler = host_compiler()
    given = for_compilers()
    with tempfile.TemporaryDirectory(prefix="opweave-") as folder:
        target = os.path.join(folder, "kernel.so")
        if "zig" in compiler.command[0]:
            for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"):
                given[name] = zig_cache()
        paths = [f"-I{p}" for p in include]
        command = [*compiler.command, *options, *paths, "-o", target, "-"]
        ran = subprocess.run(
            command, input=source.encode(), capture_output=True, env=given, check=False
        )
        if ran.returncode:
            log = ran.stderr.decode(errors="replace")
            raise CompileError("the host compiler refuses the kernel", source=source, log=log)
        return Path(target).read_bytes()
