"""Build: from a kernel's source to a binary, through the memory and disk caches."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from opweave.compiler.codegen.structure import texts_of
from opweave.compiler.kernels.handwritten import HandwrittenKernel
from opweave.compiler.kernels.kernel import Kernel
from opweave.opcodes.errors import CompileError
from opweave.runtime.binaries import clang_ir, hostcc, nvrtc
from opweave.runtime.binaries.cache import DEFAULT_BYTES, DiskCache, digest, key_of
from opweave.runtime.binaries.debuginfo import KERNEL_FILE
from opweave.runtime.binaries.dialect import gapped, host_source
from opweave.runtime.process import environment, locks
from opweave.templates import TEMPLATES

VERSION = "0.1.0"
KINDS = {True: "so", False: "cubin"}  # kinds of binaries; True: by the host's compiler
HOST_INCLUDE = (TEMPLATES / "host", TEMPLATES)


@dataclass(frozen=True)
class Binary:
    """A compiled kernel: ``kind`` is "cubin" or "so", ``origin`` is "compiled", "disk"."""

    key: str
    kind: str
    payload: bytes
    source: str
    origin: str


@cache
def header_digest() -> str:
    """Hash of every device helper, by name, and of what is done to clang's IR."""
    paths = sorted([*TEMPLATES.glob("*.cuh"), *TEMPLATES.glob("host/**/*.*h")])
    parts = {str(p.relative_to(TEMPLATES)): digest(p.read_bytes()) for p in paths}
    return key_of(parts | {"clang_ir": digest(Path(clang_ir.__file__).read_bytes())})


def on_host(arch: str, mode: str) -> bool:
    """True if the host's compiler builds it: for the host itself, or to verify or sanitize."""
    return arch == "host" or mode != "run"


def key_parts(source: str, arch: str, *, fast: bool = False, mode: str = "run") -> dict[str, Any]:
    """Everything that can change the binary of a source; only the fingerprints ask the system."""
    return {"source": digest(source.encode()), **dict(settings(arch, fast=fast, mode=mode))}


def settings(arch: str, *, fast: bool, mode: str) -> tuple[tuple[str, Any], ...]:
    """The parts of a key besides the source."""
    host = on_host(arch, mode)
    return (
        ("opweave", VERSION),
        ("arch", "host" if host else arch),
        ("headers", header_digest()),
        ("flags", hostcc.flags(mode, fast=fast) if host else _nvrtc_flags(fast)),
        ("compiler", hostcc.host_compiler().fingerprint if host else nvrtc.fingerprint()),
        ("weaker", hostcc.weaker(mode) if host else ()),
        ("libraries", hostcc.libraries(mode) if host else ()),
        ("cpu", hostcc.cpu_features() if host else ""),
    )


def _nvrtc_flags(fast: bool) -> tuple[str, ...]:
    return tuple(sorted(f"{k}={v}" for k, v in nvrtc.options(fast=fast).items()))


class Builder:
    """Builds each source once per process; concurrent requests for one key wait for each other."""

    def __init__(self, disk: DiskCache):
        self.disk = disk
        self.memory: dict[Any, Binary] = {}  # by source and settings, which need no hashing
        self.compiled = 0
        self._locks: dict[str, threading.Lock] = {}
        self._guard = locks.lock()

    def build(
        self,
        source: str,
        name: str,
        arch: str,
        *,
        fast: bool = False,
        mode: str = "run",
        cached: bool = True,
    ) -> Binary:
        """Return the binary of a source: from memory, from disk, or compiled.

        Without ``cached`` it is compiled, and nobody finds it later.

        Raises:
            CompileError: the compiler refuses the source.
            NoCompilerError: there is no compiler for the target.
        """
        if on_host(arch, mode):
            source = f"{source}\nOW_ENTRY({name})\n"
        if mode == "sanitize":  # the name by which debug information finds the kernel's own lines
            source = f'#line 1 "{KERNEL_FILE}"\n{gapped(source)}'
        if not cached:
            key = key_of(key_parts(source, arch, fast=fast, mode=mode))
            payload = self._compile(source, arch, fast=fast, mode=mode)
            return Binary(key, KINDS[on_host(arch, mode)], payload, source, "compiled")
        return self._build(source, arch, fast=fast, mode=mode)

    def build_plain(self, source: str) -> Binary:
        """Build a host library that is no kernel."""
        return self._build(source, "host", fast=False, mode="run")

    def _build(self, source: str, arch: str, *, fast: bool, mode: str) -> Binary:
        asked = source, settings(arch, fast=fast, mode=mode)
        found = self.memory.get(asked)
        if found is not None:
            return found
        parts = key_parts(source, arch, fast=fast, mode=mode)
        key = key_of(parts)
        with self._guard:
            lock = self._locks.setdefault(key, locks.lock())
        with lock:
            if asked not in self.memory:
                payload = self.disk.get(key)
                origin = "disk"
                if payload is None:
                    with self.disk.claim(key) as waited:
                        payload = self.disk.get(key) if waited else None
                        if payload is None:
                            origin = "compiled"
                            payload = self._compile(source, arch, fast=fast, mode=mode)
                            self.disk.put(key, source, payload, parts)
                kind = KINDS[on_host(arch, mode)]
                self.memory[asked] = Binary(key, kind, payload, source, origin)
            return self.memory[asked]

    def _compile(self, source: str, arch: str, *, fast: bool, mode: str) -> bytes:
        self.compiled += 1
        if on_host(arch, mode):
            flags, libraries = hostcc.flags(mode, fast=fast), hostcc.libraries(mode)
            apart, weaker = mode == "sanitize", hostcc.weaker(mode)
            return hostcc.compile_host(
                source, flags, HOST_INCLUDE, libraries, apart=apart, weaker=weaker
            )
        return nvrtc.compile_cuda(source, arch, nvrtc.options(fast=fast), TEMPLATES)


@locks.Once
def builder() -> Builder:
    """The builder of this process, over the cache folder of the environment."""
    folder = environment.cache_folder()
    return Builder(DiskCache(folder, environment.cache_bytes(DEFAULT_BYTES)))


def build_kernel(
    kernel: Kernel,
    source: str,
    *,
    arch: str,
    fast: bool = False,
    mode: str = "run",
    cached: bool = True,
) -> Binary:
    """Build a kernel; a compiler's complaint is traced to the op-code that it points at.

    Raises:
        CompileError: with ``opcode``, ``line``, numbered ``source`` and ``log``.
    """
    text = source
    if isinstance(kernel, HandwrittenKernel) and on_host(arch, mode):
        text, mode = host_source(source, kernel.name), "sanitize"  # as CUDA, not with our helpers
    try:
        return builder().build(text, kernel.name, arch, fast=fast, mode=mode, cached=cached)
    except CompileError as error:
        raise explained(error, kernel, source) from None


def provenance(kernel: Kernel, source: str) -> dict[int, str]:
    """Map 1-based lines of a source to the op-code that they come from."""
    texts: dict[str, str] = {}
    for line in kernel.opcodes:
        if line.opcode is not None:
            parts = line.source.split("\n")
            texts |= {part: line.name for part in parts if not part.startswith("#")}
    for function, opcode in kernel.functions:
        for part in function.split("\n"):
            if part.strip() not in ("", "{", "}"):
                texts[part.strip()] = opcode
    found, structural = {}, texts_of(kernel)
    for number, text in enumerate(source.split("\n"), 1):
        if text.strip() in texts:
            found[number] = texts[text.strip()]
        elif name := next((n for part, n in structural.items() if part in text), ""):
            found[number] = name
    return found


def explained(error: CompileError, kernel: Kernel, source: str) -> CompileError:
    """The error with its op-code, the line, and the numbered source."""
    lines = provenance(kernel, source)
    pattern = rf"(?:<stdin>|stdin\.cpp|default_program|{re.escape(KERNEL_FILE)})[:(](\d+)"
    numbers = [int(n) for n in re.findall(pattern, error.log)]
    number = next((n for n in numbers if n in lines), numbers[0] if numbers else None)
    opcode = lines.get(number or 0)
    where = {line.name: line.where for line in kernel.opcodes if line.opcode is not None}
    at = where.get(opcode or "")
    numbered = "\n".join(f"{n:4} {text}" for n, text in enumerate(source.split("\n"), 1))
    first = next((t.strip() for t in error.log.split("\n") if "error" in t), "").strip()
    what = f"op-code {opcode!r}" if opcode else f"kernel {kernel.name}"
    place = f" ({at})" if at and at.file else ""
    return CompileError(
        f"{what}{place}: {error}: {first}; the error's .source and .log have the rest",
        opcode=opcode,
        line=number,
        source=numbered,
        log=error.log,
    )
