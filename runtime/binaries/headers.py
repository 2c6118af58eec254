"""What the host's compiler gets of a source: which headers, and loops for ordinary numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from opweave.runtime.binaries.loads import with_bytes, with_moved_bits, with_strides_apart
from opweave.runtime.binaries.ordinary import with_short_functions, without_second_rounding
from opweave.runtime.binaries.row_passes import with_row_passes
from opweave.templates import TEMPLATES

SPECIAL = TEMPLATES / "host" / "special.cuh"
# A kind of functions there: what leaves it out, and its text.
KIND = re.compile(r"^#ifndef (OW_NO_\w+)\n(.*?)^#endif", re.MULTILINE | re.DOTALL)
INCLUDED = re.compile(r'^#include "(\w+\.cuh)"', re.MULTILINE)
# Functions begin with the attributes of the target; macros define a function and one of float.
BEGINS = re.compile(r"\bOW_(?:INLINE|SPECIAL|COMPLEX\w*)\b")
CALLED = re.compile(r"\b([A-Za-z_]\w*)(?:<[^;(){}]*>)?\(")
BY_MACRO = re.compile(r"\bOW_[A-Z0-9_]+\((\w+)\)")
MACRO = re.compile(r"^#define (?:.*\\\n)*.*", re.MULTILINE)
INCLUDES_ALL = re.compile(r'^#include "(?:opweave|ordinary)\.cuh"', re.MULTILINE)
PASTED = "##"  # a name that nobody sees
# For a GPU.  g++ leaves it out of account; clang, and so zig, would unroll loops over lanes before
# it makes vectors of them, and rows by 16 chunks: ten times the compiling, at half of the speed.
UNROLLS = re.compile(r"^#pragma unroll\b.*", re.MULTILINE)
WORD = re.compile(r"[A-Za-z_]\w*|##")


def _functions(text: str) -> dict[str, frozenset[str]]:
    """The functions that a header defines, with the names that each calls."""
    called = [CALLED.findall(part) for part in BEGINS.split(MACRO.sub("", text))[1:]]
    return {names[0]: frozenset(names) for names in called if names}


@cache
def special_names() -> Mapping[str, frozenset[str]]:
    """For each kind what it defines, and the helpers of all kernels that call it, at any depth."""
    texts: dict[str, str] = {}
    for leaves_out, text in KIND.findall(SPECIAL.read_text()):
        headers = [SPECIAL.with_name(name).read_text() for name in INCLUDED.findall(text)]
        texts[leaves_out] = "".join([text, *headers])
    helpers = [path.read_text() for path in TEMPLATES.glob("*.cuh")]
    callers: dict[str, frozenset[str]] = {}
    for text in helpers:
        for name, called in _functions(text).items():
            callers[name] = callers.get(name, frozenset()) | called
    return {leaves_out: _reaching(_defined(text), callers) for leaves_out, text in texts.items()}


def _defined(text: str) -> set[str]:
    by_macro = BY_MACRO.findall(MACRO.sub("", text))
    return {*_functions(text), *by_macro, *(f"{name}f" for name in by_macro)}


def _reaching(names: set[str], callers: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The names, and the functions that call one of them, by way of others too."""
    found = set(names)
    while more := {name for name, called in callers.items() if called & found} - found:
        found |= more
    return frozenset(found)


def left_out(source: str) -> str:
    """Lines to put in front of a source, which leave out the kinds that it names nothing of."""
    words = frozenset(WORD.findall(source))
    if PASTED in words or not INCLUDES_ALL.search(source):
        return ""
    kinds = (kind for kind, names in special_names().items() if words.isdisjoint(names))
    return "".join(f"#define {kind}\n" for kind in kinds)


REWRITES = (
    with_moved_bits,
    without_second_rounding,
    with_bytes,
    with_row_passes,
    with_short_functions,
    with_strides_apart,
)


def _rewritten(source: str) -> str:
    for rewrite in REWRITES:
        source = rewrite(source)
    return source


def is_rewritten(source: str) -> bool:
    """Whether a kernel that runs is compiled otherwise than it reads."""
    return _rewritten(source) != source


def fitted(source: str, plainly: bool) -> str:
    """What the host's compiler gets of a source; its lines keep their numbers.

    Args:
        plainly: as it is written, to be checked.
    """
    if not plainly:
        source = UNROLLS.sub("", _rewritten(source))
    missing = left_out(source)
    return f"{missing}#line 1\n{source}" if missing else source
