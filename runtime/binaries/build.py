"""Build: from a kernel's source to a binary, through the memory and disk caches."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from opweave.compiler.kernels.handwritten import HandwrittenKernel
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.kernels.structural_texts import texts_of
from opweave.opcodes.errors import CompileError
from opweave.runtime.binaries import hostcc, nvrtc
from opweave.runtime.binaries.binary import Binary
from opweave.runtime.binaries.cache import DEFAULT_BYTES, DiskCache, digest, key_of
from opweave.runtime.binaries.canonical import Canonical, canonical, with_entry
from opweave.runtime.binaries.debuginfo import KERNEL_FILE
from opweave.runtime.binaries.dialect import gapped, host_source
from opweave.runtime.binaries.headers import fitted, is_rewritten
from opweave.runtime.binaries.progress import log_compiled, log_refused
from opweave.runtime.process import environment, locks
from opweave.templates import TEMPLATES

VERSION = "0.1.0"
KINDS = {True: "so", False: "cubin"}  # kinds of binaries; True: by the host's compiler
# Modules that change what a compiler gets, or makes, of a source.
REWRITING = (
    "clang_ir.py", "headers.py", "loads.py", "ordinary.py", "precompiled.py", "row_passes.py",
)  # fmt: skip
HOST_INCLUDE = (TEMPLATES / "host", TEMPLATES)


@cache
def header_digest() -> str:
    """Hash of every device helper, by name, and of what is done to sources and clang's IR."""
    paths = sorted([*TEMPLATES.glob("*.cuh"), *TEMPLATES.glob("host/**/*.*h")])
    parts = {str(p.relative_to(TEMPLATES)): digest(p.read_bytes()) for p in paths}
    made_by = {name: digest(Path(__file__).with_name(name).read_bytes()) for name in REWRITING}
    return key_of(parts | made_by)


def on_host(arch: str, mode: str) -> bool:
    """True if the host's compiler builds it: for the host itself, or to verify or sanitize."""
    return arch == "host" or mode not in hostcc.RUN


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


class BinaryBuilder:
    """Builds each source once per process; concurrent requests for one key wait for each other."""

    def __init__(self, disk: DiskCache):
        self.disk = disk
        self.memory: dict[Any, Binary] = {}  # by source and settings, which need no hashing
        self._read: dict[Any, Binary] = {}  # the same by sources that people read
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
        params: Sequence[str] | None = None,
    ) -> Binary:
        """Return the binary of a source: from memory, from disk, or compiled.

        ``params`` are the names of the kernel's parameters, if it is one that we have rendered:
        what is compiled then is its canonical source.

        Without ``cached`` it is compiled, and nobody finds it later.

        Raises:
            CompileError: the compiler refuses the source.
            NoCompilerError: there is no compiler for the target.
        """
        is_ours = params is not None
        text = _completed(Canonical(source, name), arch, mode, is_ours)
        found = self._read.get((text, settings(arch, fast=fast, mode=mode))) if cached else None
        if found is not None:
            return found
        common = _completed(_common(source, name, params, arch, mode), arch, mode, is_ours)
        if not cached:
            key = key_of(key_parts(common, arch, fast=fast, mode=mode))
            payload = self._compile(common, text, arch, fast=fast, mode=mode)
            return Binary(key, KINDS[on_host(arch, mode)], payload, text, "compiled")
        return self._build(common, text, arch, fast=fast, mode=mode)

    def build_plain(self, source: str) -> Binary:
        """Build a host library that is no kernel."""
        return self._build(source, source, "host", fast=False, mode="run")

    def build_loop(self, source: str) -> Binary:
        """Build a loop of Python in C."""
        mode = "run long loop" if source.count("\n") > hostcc.LONG_LOOP else "run"
        return self._build(source, source, "host", fast=False, mode=mode)

    def _build(self, common: str, text: str, arch: str, *, fast: bool, mode: str) -> Binary:
        """The binary of a canonical source; ``text`` is the same, as a person reads it."""
        asked = common, settings(arch, fast=fast, mode=mode)
        if asked not in self.memory:
            parts = key_parts(common, arch, fast=fast, mode=mode)
            key = key_of(parts)
            with self._guard:
                lock = self._locks.setdefault(key, locks.lock())
            with lock:
                if asked not in self.memory:
                    payload, origin = self.disk.get(key), "disk"
                    if payload is None:
                        with self.disk.claim(key) as waited:
                            payload = self.disk.get(key) if waited else None
                            if payload is None:
                                origin = "compiled"
                                payload = self._compile(common, text, arch, fast=fast, mode=mode)
                                self.disk.put(key, text, payload, parts)
                    kind = KINDS[on_host(arch, mode)]
                    self.memory[asked] = Binary(key, kind, payload, common, origin)
        found = self._read[text, asked[1]] = self.memory[asked]._replace(source=text)
        return found

    def _compile(self, common: str, text: str, arch: str, *, fast: bool, mode: str) -> bytes:
        """Compile a canonical source; a complaint is of the text that a person reads."""
        start = time.perf_counter()
        try:
            made = self._compiled(common, arch, fast=fast, mode=mode)
        except CompileError as error:
            is_host = arch == "host" and mode in hostcc.RUN
            if text == common and not (is_host and is_rewritten(text)):
                raise
            made = self._compiled(text, arch, fast=fast, mode=mode, as_it_reads=True)
            log_refused(text, error.log)
        log_compiled(text, time.perf_counter() - start)
        return made

    def _compiled(
        self, source: str, arch: str, *, fast: bool, mode: str, as_it_reads: bool = False
    ) -> bytes:
        self.compiled += 1
        if on_host(arch, mode):
            flags, libraries = hostcc.flags(mode, fast=fast), hostcc.libraries(mode)
            apart, weaker = mode == "sanitize", hostcc.weaker(mode)
            source = fitted(source, plainly=as_it_reads or mode not in hostcc.RUN)
            return hostcc.compile_host(
                source, flags, HOST_INCLUDE, libraries, apart=apart, weaker=weaker
            )
        return nvrtc.compile_cuda(source, arch, nvrtc.options(fast=fast), TEMPLATES)


def _completed(source: Canonical, arch: str, mode: str, is_ours: bool) -> str:
    """A source with its entry, where the host calls the kernel."""
    text = with_entry(source, is_ours) if on_host(arch, mode) else source.source
    if mode == "sanitize":  # the name by which debug information finds the kernel's own lines
        text = f'#line 1 "{KERNEL_FILE}"\n{gapped(text)}'
    return text


def _common(
    source: str, name: str, params: Sequence[str] | None, arch: str, mode: str
) -> Canonical:
    """The canonical source of a kernel that runs; one that is checked keeps its names.

    On a GPU its function keeps its name, which profilers show.
    """
    if params is None or mode not in hostcc.RUN:
        return Canonical(source, name)
    return canonical(source, name, tuple(params), keeps_name=arch != "host")


@locks.Once
def builder() -> BinaryBuilder:
    """The builder of this process, over the cache folder of the environment."""
    folder = environment.cache_folder()
    return BinaryBuilder(DiskCache(folder, environment.cache_bytes(DEFAULT_BYTES)))


def build_kernel(
    kernel: Kernel,
    source: str,
    *,
    fast: bool = False,
    mode: str = "run",
    cached: bool = True,
) -> Binary:
    """Build a kernel for its target; a complaint is traced to the op-code that it points at.

    Raises:
        CompileError: with ``opcode``, ``line``, numbered ``source`` and ``log``.
    """
    text, arch, params = source, kernel.target, params_of(kernel)
    if isinstance(kernel, HandwrittenKernel) and on_host(arch, mode):
        text, mode = host_source(source, kernel.name), "sanitize"  # as CUDA, not with our helpers
    elif kernel.is_long and arch == "host" and mode == "run":
        mode = "run long"
    try:
        return builder().build(
            text, kernel.name, arch, fast=fast, mode=mode, cached=cached, params=params
        )
    except CompileError as error:
        raise explained(error, kernel, source) from None


def params_of(kernel: Kernel) -> tuple[str, ...] | None:
    """Names of a kernel's parameters; None where somebody else wrote it."""
    return None if isinstance(kernel, HandwrittenKernel) else tuple(p.name for p in kernel.params)


def common_source(kernel: Kernel, source: str, mode: str) -> Canonical:
    """What is equal for kernels that have one binary."""
    return _common(source, kernel.name, params_of(kernel), kernel.target, mode)


def distinct(pairs: Iterable[tuple[Kernel, str]], mode: str) -> list[tuple[Kernel, str]]:
    """Kernels with their sources, of which no two have the same binary."""
    found: dict[Canonical, tuple[Kernel, str]] = {}
    for kernel, source in pairs:
        found.setdefault(common_source(kernel, source, mode), (kernel, source))
    return list(found.values())


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
