"""Canonical sources: kernels that differ in nothing but names and comments have the same one.

Only names of a kernel's own change: its parameters, what is derived of them (``x_v``, ``x_s0``),
and perhaps the function.  They become numbers in the order in which they appear, each name
another, so that two sources with one canonical source are equal up to a renaming.  Where a name
may be more than that, a source stays as it is.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from opweave.compiler.ir.names import template_names

# Kernels of a large program are asked for twice: to compile each once, and to launch all.
MOST_KEPT = 2048
FUNCTION, NAME = "ow_function", "ow_name"
COMMENT = re.compile(r'("[^"\n]*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
# What reads names or lines as text, or pastes them, and what other languages write.
READS_NAMES = re.compile(
    rf"""__(?:LINE|FILE|func|FUNCTION|PRETTY_FUNCTION|COUNTER)__|\b(?:{FUNCTION}|{NAME}\d+)\b|\\
    |'|R"|\basm\b|^[ \t]*\#[ \t]*define\b[^\n]*\#""",
    re.VERBOSE | re.MULTILINE,
)
# Strings, which stay, and words, with what says that one is a member or is called.
WORD = re.compile(
    r"""
    "[^"\n]*"
  | (?P<member>(?:\.|->|::)\s*)?\b(?P<word>[A-Za-z_]\w*)(?P<called>(?=\s*\())?
    """,
    re.VERBOSE,
)
# Members of CUDA's own variables, whatever a parameter is called.
OF_LAUNCH = frozenset(("threadIdx", "blockIdx", "blockDim", "gridDim"))


class Canonical(NamedTuple):
    """A canonical source, and what the kernel is called there."""

    source: str
    name: str


class _UnsafeError(Exception):
    """A name means something else, too."""


@lru_cache(MOST_KEPT)
def canonical(
    source: str, name: str, params: tuple[str, ...], *, keeps_name: bool = False
) -> Canonical:
    """The canonical source of a kernel that the compiler has rendered.

    Args:
        source: its text.
        name: of its function.
        params: names of its parameters.
        keeps_name: the function keeps its name, by which profilers know it.
    """
    text = COMMENT.sub(lambda m: m[1] or " ", source)
    if READS_NAMES.search(text):
        return Canonical(source, name)
    own = frozenset(params if keeps_name else (name, *params))
    kept = template_names() | frozenset(DEFINED.findall(text)) | {name}
    derived = tuple(f"{param}_" for param in params)
    made: dict[str, str] = {} if keeps_name else {name: FUNCTION}
    before = ""

    def renamed(match: re.Match[str]) -> str:
        nonlocal before
        of, before = before, match["word"] or ""
        if before not in own and (before in kept or not before.startswith(derived)):
            return match[0]
        if match["member"] and of in OF_LAUNCH:
            return match[0]
        if match["member"] or (match["called"] is not None and before != name):
            raise _UnsafeError(before)
        return made.setdefault(before, f"{NAME}{len(made)}")

    try:
        text = WORD.sub(renamed, text)
    except _UnsafeError:
        return Canonical(source, name)
    lines = (line.rstrip() for line in text.split("\n"))
    return Canonical("\n".join(filter(None, lines)) + "\n", made.get(name, name))


# What a source has whose blocks lie along y, too; helpers find partial results by it.
ALONG_Y = ("blockIdx.y", "partials")
# Maps all of whose arrays are one run of elements: their results may go past the caches.
FLAT = "first = ((index_t)blockIdx.x * (CHUNKS * BLOCK) + threadIdx.x) * VECTOR;"


def with_entry(source: Canonical, is_ours: bool) -> str:
    """A source with the entry by which the host calls its kernel.

    ``is_ours``: one that we have rendered has blocks along y only where it asks which.
    """
    text, entry = source.source, "OW_ENTRY("
    if is_ours and not any(word in text for word in ALONG_Y):
        entry = "OW_ENTRY_IN_LINE("
        if FLAT in text and "faults" not in text:  # what is noted there is no result
            text = text.replace("store_chunk(", "stream_chunk(")
            entry = "OW_ENTRY_STREAMING(CHUNKS * VECTOR, "
    return f"{text}\n{entry}{source.name})\n"
