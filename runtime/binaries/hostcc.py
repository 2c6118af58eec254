"""The host C++ compiler: found on the PATH or in the ``ziglang`` wheel, and its flags."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from opweave.opcodes.errors import CompileError, NoCompilerError
from opweave.runtime.binaries.clang_ir import EMIT, told
from opweave.runtime.binaries.compilers import communicate
from opweave.runtime.binaries.folders import temporary_folder, zig_cache
from opweave.runtime.binaries.precompiled import INSTANTIATED, Headers
from opweave.runtime.process.environment import for_compilers
from opweave.runtime.process.processor import cpu_features as cpu_features
from opweave.runtime.process.processor import last_cache_bytes

# No contraction and no reassociation: a fused kernel gives the bits of an unfused one.
STRICT = ("-ffp-contract=off",)
FAST = ("-ffp-contract=fast",)
CLANG_FAST = ("-ffp-contract=fast-honor-pragmas",)  # math.cuh has pragmas against it
# Partial redundancy elimination puts branches into loops over several channels, which then do
# not vectorise (g++ 12); clang takes the flag and ignores it, zig refuses it.
NO_PRE = ("-fno-tree-pre",)
NO_DISTRIBUTION = ("-fno-tree-loop-distribution",)  # of g++ 12 it is wrong: see tests/order
# Zig adds debug information, unasked: a fifth of its time, and three quarters of the bytes.
NO_DEBUG = ("-g0",)
# -fno-builtin: functions of the C library are called as written.  Without it, and with
# -fno-math-errno, g++ turns cos(atan(x)) into 1 / sqrt(x * x + 1); only fused code has both calls.
COMMON = (
    "-x", "c++", "-std=c++20", "-march=native", "-fPIC", "-shared", "-fvisibility=default",
    "-fno-math-errno", "-fno-trapping-math", "-fwrapv", "-U_FORTIFY_SOURCE", "-fno-exceptions",
    "-fno-rtti", "-fno-builtin", "-fopenmp-simd", "-w",
)  # fmt: skip
OPTIMISES = ("-O3",)
# A loop of Python is one function.  Of a long one g++'s -O3 takes up to three times as long (10 s
# for 1,300 lines), for the same speed, as -O2 with what loops need of it: vectors, also where only
# the call knows how many; short loops unrolled; what is the same for a whole loop asked before it;
# and functions of up to so many instructions inlined.  Zig takes 3 s by either of its levels.
LONG_LOOP = 500  # lines
GCC_OPTIMISES_LONG = (
    "-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic", "-fpeel-loops",
    "-funswitch-loops", "--param=max-inline-insns-auto=30",
)  # fmt: skip
# What a kernel is compiled for.  Kernels that are checked are not optimised, so that a read which
# a GPU would make is made even if its value is not used.  They have no canary, which would end the
# process where a kernel writes past a local array.  To sanitize, the compiler puts a call in front
# of every access (`__tsan_read4` and so on: names of ThreadSanitizer's runtime, which our own
# checker has here), and line tables into the object.  That is linked apart, without a runtime.
MODES: dict[str, tuple[str, ...]] = {
    "run": ("-fno-sanitize=all",),
    "run long": ("-fno-sanitize=all",),
    "run long loop": ("-fno-sanitize=all",),
    "verify": ("-fno-sanitize=all", "-DOW_VERIFY", "-O0", "-fno-stack-protector"),
    "sanitize": (
        "-DOW_VERIFY", "-DOW_SANITIZE", "-O0", "-fno-stack-protector", "-g1", "-gdwarf-4",
        "-fno-sanitize=undefined",
    ),
}  # fmt: skip
# Kernels that run; long ones have vectors as wide as the processor's.  Compilers take half of that
# unless told, since the first processors with AVX-512 slowed down for whole ones, and for all that
# ran next; those with VBMI2 (Ice Lake) do so less.
RUN = ("run", "run long", "run long loop")
WIDE = ("-mprefer-vector-width=512",)
WIDE_IS_FAST = "avx512_vbmi2"
# The same for g++ and clang: the checker is told of every access, index and address.  Volatile
# accesses are marked; calls are not told.
GCC_HOOKS = (
    "-fsanitize=thread,bounds,alignment",
    "--param", "tsan-distinguish-volatile=1", "--param", "tsan-instrument-func-entry-exit=0",
)  # fmt: skip
# These pass by clang's driver, which would add traps.  They also pass by zig's driver (zig 0.13),
# which takes the three checks for `undefined`, to be had as a whole or, behind
# -fno-sanitize=undefined, not at all, and which puts its own ThreadSanitizer into an object.
# ThreadSanitizer leaves out a read in front of a write of the same element, since it adds no race;
# but it may be a read of an element that nobody has written.  It also leaves out local arrays
# whose address is passed to nobody; here the checks of alignment and null are passed the address.
CLANG_TELLS = (
    "-Xclang", "-fsanitize=thread",
    "-mllvm", "-tsan-distinguish-volatile=1", "-mllvm", "-tsan-instrument-func-entry-exit=0",
    "-mllvm", "-tsan-instrument-read-before-write=1",
)  # fmt: skip
CLANG_HOOKS = (
    *CLANG_TELLS, *EMIT,
    "-Xclang", "-fsanitize=array-bounds,alignment,null",
    "-Xclang", "-fsanitize-recover=array-bounds,alignment,null",
)  # fmt: skip
# From the IR of clang_ir.py to an object.
CLANG_OF_IR = (
    "-O0", "-fPIC", "-w", "-fno-stack-protector", "-fno-sanitize=undefined", *CLANG_TELLS,
)  # fmt: skip


# Flags for another try where the compiler itself fails, one after the other; they change no bits.
# g++ 12 fails on a maximum of 8 or 16 bits under a mask of AVX-512 with both operands in memory,
# at -O2 and for narrower vectors too.  Without temporary expression replacement it loads the
# operands first, and the loop is vectorised as before.  If that does not help, without vectors.
LESS = ("-O1",)
NO_TER = ("-fno-tree-ter",)
FAILURES = ("internal compiler error", "unrecognizable insn", "PLEASE submit a bug report")

# Libraries of generated kernels: those of C only, which saves half of the linker's time.  (zig
# links with nothing at all: open symbols are found in the process.)
C_ONLY = ("-nodefaultlibs", "-lm", "-lc", "-lgcc")
# With GNU's linker a library takes two memory mappings instead of five; Linux gives a process
# 65,530 of them.  It also loads in two thirds of the time, from a third of the bytes.
FEW_MAPPINGS = ("-Wl,-z,noseparate-code,-z,norelro",)

HEADERS = Headers()


@dataclass(frozen=True)
class HostCompiler:
    """A command that compiles C++, its own flags, and what identifies it in a cache key."""

    command: tuple[str, ...]
    fingerprint: str
    flags: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    weaker: tuple[tuple[str, ...], ...] = (LESS,)


@cache
def host_compiler() -> HostCompiler:
    """Find a compiler: g++, c++, clang++, then zig from the ``ziglang`` wheel.

    Raises:
        NoCompilerError: there is none; says what to install.
    """
    for name in ("g++", "c++", "clang++"):
        found = shutil.which(name)
        if found:
            path = os.path.abspath(found)  # an absolute path, in case PATH is relative
            names, tries = f"{name} {os.path.basename(os.path.realpath(path))}", (NO_TER, LESS)
            own = NO_PRE + NO_DISTRIBUTION * ("g++" in names and "clang" not in names)
            return HostCompiler((path,), _fingerprint(path), own, C_ONLY + FEW_MAPPINGS, tries)
    spec = importlib.util.find_spec("ziglang")
    if spec is not None and spec.origin:
        zig = str(Path(spec.origin).parent / "zig")
        return HostCompiler((zig, "cc", "-nostdlib"), _fingerprint(zig), NO_DEBUG)
    raise NoCompilerError(
        "no C++ compiler found for the host executor: expected g++, c++ or clang++ on the PATH; "
        "install one, or run: pip install 'opweave[host]'"
    )


def _fingerprint(path: str) -> str:
    found = os.stat(os.path.realpath(path))
    return f"{os.path.realpath(path)} {found.st_size} {found.st_mtime_ns}"


@cache
def _has_fast_wide(features: str) -> bool:
    return WIDE_IS_FAST in features.split()


def flags(mode: str, *, fast: bool) -> tuple[str, ...]:
    """Compiler flags of a mode, in order."""
    hooks: tuple[str, ...] = ()
    if mode == "sanitize":
        hooks = GCC_HOOKS if is_gcc() else CLANG_HOOKS
    optimises = GCC_OPTIMISES_LONG if mode == "run long loop" and is_gcc() else OPTIMISES
    contraction = STRICT
    if fast:
        contraction = FAST if is_gcc() else CLANG_FAST
    wide = WIDE if mode == "run long" and _has_fast_wide(cpu_features()) else ()
    cache = (f"-DOW_LAST_CACHE={last_cache_bytes()}LL",) if mode in RUN else ()
    own = *COMMON, *optimises, *host_compiler().flags
    return (*own, *contraction, *wide, *MODES[mode], *cache, *hooks)


def libraries(mode: str) -> tuple[str, ...]:
    """Libraries that a kernel is linked with; a sanitized one may be any C++ of a user's."""
    return () if mode == "sanitize" else host_compiler().libraries


@cache
def is_gcc() -> bool:
    """True for g++, also where it goes by the name of c++."""
    command = [*host_compiler().command, "-dM", "-E", "-x", "c++", "-"]
    return "__clang__" not in run_compiler(command, "")


def is_zig(command: Sequence[str]) -> bool:
    """True for the compiler of the ``ziglang`` wheel, by the name of the file."""
    return "zig" in command[0]


def weaker(mode: str) -> tuple[tuple[str, ...], ...]:
    """Flags to add, one after the other, where the compiler fails; with -O0 there are none."""
    return host_compiler().weaker if mode in RUN else ()


def compile_host(
    source: str,
    options: tuple[str, ...],
    include: tuple[Path, ...],
    libraries: tuple[str, ...] = (),
    *,
    apart: bool = False,
    weaker: tuple[tuple[str, ...], ...] = (),
) -> bytes:
    """Compile to a shared object; ``apart`` links in a second step, without the options.

    Args:
        weaker: what is added to the options, in turn, where the compiler itself fails.

    Raises:
        CompileError: the compiler refuses the source.
        NoCompilerError: there is no compiler.
    """
    for added in weaker:
        try:
            return compile_host(source, options, include, libraries, apart=apart)
        except CompileError as error:
            if not any(text in error.log for text in FAILURES):
                raise
        options = (*options, *added)
    command = host_compiler().command
    paths = [f"-I{p}" for p in include]
    with temporary_folder() as folder:
        target = os.path.join(folder, "kernel.so")
        if not apart:
            _compiled(source, [*options, *paths], ["-o", target, "-", *libraries], folder)
        else:
            parts = [*(o for o in options if o != "-shared"), *paths]
            object_file = _compiled_apart(parts, source, folder)
            parts = ["-shared", "-o", target, object_file, *libraries]
            run_compiler([*command, *parts], source, folder)
        return Path(target).read_bytes()


def _compiled(source: str, options: list[str], rest: list[str], folder: str) -> None:
    """Compile, on top of a precompiled header if there is one; complaints are made without."""
    command = [*host_compiler().command, *options]
    header = HEADERS.of(source, options, _precompiled) if is_zig(command) else []
    if header:
        with suppress(CompileError):
            run_compiler([*command, *header, *rest], source, folder)
            return
    run_compiler([*command, *rest], source, folder)


def _precompiled(text: str, options: Sequence[str], name: str) -> bool:
    """Make a header in zig's folder, where zig runs; False where it is refused."""
    Path(zig_cache(), f"{name}.h").write_text(text)
    parts = ["c++-header" if o == "c++" else o for o in options if o != "-shared"]
    made = [INSTANTIATED, "-o", f"{name}.pch", f"{name}.h"]
    try:
        run_compiler([*host_compiler().command, *parts, *made], "")
    except CompileError:
        return False
    return True


def _compiled_apart(options: list[str], source: str, folder: str) -> str:
    """The object file of a kernel that is sanitized, in a folder; by clang in two steps."""
    command, made = host_compiler().command, os.path.join(folder, "kernel.o")
    if is_gcc():
        run_compiler([*command, *options, "-c", "-o", made, "-"], source, folder)
        return made
    ir = Path(folder, "kernel.ll")
    run_compiler([*command, *options, "-o", str(ir), "-"], source, folder)
    ir.write_text(told(ir.read_text()))
    run_compiler([*command, *CLANG_OF_IR, "-c", "-o", made, str(ir)], "", folder)
    return made


def run_compiler(command: list[str], source: str, temporary: str = "") -> str:
    """Run the compiler on a source and return what it prints.

    Args:
        temporary: a folder for its temporary files, which is removed however it ends.

    Raises:
        CompileError: it refuses the source.
    """
    environment, folder = for_compilers(), None
    if is_zig(command):
        # by short names: it takes -x at the front of a path for an option, a line end for its end
        environment |= dict.fromkeys(("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"), ".")
        folder = zig_cache()
    if temporary:
        environment["TMPDIR"] = temporary
    pipe = subprocess.PIPE
    started = subprocess.Popen(
        command,
        stdin=pipe, stdout=pipe, stderr=pipe, env=environment, cwd=folder, process_group=0,
    )  # fmt: skip
    printed, log = communicate(started, source.encode())
    if started.returncode:
        text = log.decode(errors="replace")
        raise CompileError("the host compiler refuses the kernel", source=source, log=text)
    return printed.decode(errors="replace")
