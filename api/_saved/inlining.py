"""Sources of kernels as texts that include nothing of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from opweave.templates import TEMPLATES

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([\w.]+)"[^\n]*\n', re.MULTILINE)
HELPERS = "opweave.cuh"
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)([^\n/]*)", re.MULTILINE)
# nvcc takes numbers there, and no macros.
UNROLLED = re.compile(r"^([ \t]*#pragma unroll[ \t]+)([A-Za-z_]\w*)[ \t]*$", re.MULTILINE)
# Functions of CUDA's own of which the helpers have one more: a namespace would hide the others.
OVERLOADED = ("__shfl_down_sync", "__shfl_sync", "fma")
WORD = re.compile(r"[A-Za-z_]\w*")


def inlined(source: str) -> str:
    """A source with our headers in the place of their includes, each once.

    >>> "#include" in inlined('#include "opweave.cuh"\\n')
    False
    """
    seen: set[str] = set()

    def included(match: re.Match[str]) -> str:
        name = match[1]
        if not (TEMPLATES / name).is_file():
            return match[0]
        if name in seen:
            return ""
        seen.add(name)
        text = (TEMPLATES / name).read_text().replace("#pragma once\n", "")
        return f"// ---- {name}\n{INCLUDE.sub(included, text)}"

    return INCLUDE.sub(included, source)


class KernelText(NamedTuple):
    """A kernel in a file of several.

    Attributes:
        name: of the kernel.
        source: its text.
        toggles: values of its #defines.
    """

    name: str
    source: str
    toggles: dict[str, int]


class HelperGroup(NamedTuple):
    """Kernels that share the device helpers: what these are defined by, and their numbers."""

    space: str
    defined: tuple[tuple[str, str], ...]
    parts: tuple[int, ...]


def grouped(parts: Sequence[KernelText]) -> list[HelperGroup]:
    """Kernels by the toggles that the device helpers read."""
    words = {*WORD.findall(inlined(f'#include "{HELPERS}"\n'))}
    found: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for number, part in enumerate(parts):
        if HELPERS in part.source:
            head = part.source[: part.source.index(f'#include "{HELPERS}"')]
            rows = [(name, value.strip()) for name, value in DEFINE.findall(head)]
            read = _read(words, rows)
            key = tuple(row for row in rows if row[0] in read)
            found.setdefault(key, []).append(number)
    one = len(found) == 1
    return [
        HelperGroup("opweave" if one else f"opweave_{n}", defined, tuple(numbers))
        for n, (defined, numbers) in enumerate(found.items())
    ]


def _read(words: set[str], rows: Sequence[tuple[str, str]]) -> set[str]:
    """Names that helpers read, and those that stand behind them."""
    read = {name for name, _ in rows if name in words}
    while more := {w for n, v in rows if n in read for w in WORD.findall(v)} - read:
        read |= more
    return read


def texts_of(parts: Sequence[KernelText]) -> Iterator[str]:
    """The kernels as one text; those that have our helpers stand in namespaces."""
    groups = grouped(parts)
    ours = {number for group in groups for number in group.parts}
    written = dict.fromkeys(p.source for n, p in enumerate(parts) if n not in ours)
    yield from written  # kernels of the user's own, as they are
    for group in groups:
        yield f"namespace {group.space} {{"
        yield "".join(f"#define {name} {value}\n" for name, value in group.defined)
        yield "".join(f"using ::{name};\n" for name in OVERLOADED)
        yield inlined(f'#include "{HELPERS}"\n')
        for number in group.parts:
            yield f"namespace kernel_{number} {{"
            yield _kernel(parts[number], group)
            yield f"}}  // namespace kernel_{number}\n"
        yield "".join(f"#undef {name}\n" for name, _ in group.defined)
        yield f"}}  // namespace {group.space}\n"


def _kernel(part: KernelText, group: HelperGroup) -> str:
    """The text of a kernel behind the helpers, and an end to its toggles."""
    text = part.source.replace(f'#include "{HELPERS}"\n', f"// {HELPERS} stands above\n")
    text = UNROLLED.sub(lambda m: m[1] + _value(m[2], part), inlined(text))
    shared = {name for name, _ in group.defined}
    own = dict.fromkeys(name for name, _ in DEFINE.findall(text) if name not in shared)
    return text + "".join(f"#undef {name}\n" for name in own)


def _value(name: str, part: KernelText) -> str:
    return str(part.toggles.get(name, name))
