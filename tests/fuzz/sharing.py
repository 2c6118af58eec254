"""Kernels that differ in names only share a binary, so that most unfused kernels are compiled once.

A kernel's name, its arguments' names and its comments do not reach the machine code: parameters
are passed by position, and the entry of a library has a fixed name.  The compiler, its flags and
all other text are those of every user.
"""

from __future__ import annotations

import re
from typing import Any

from opweave.runtime.binaries.build import Binary, Builder, on_host

# Names of arguments (a0, s1) and of temporaries (t3), also in names derived from them (a0_v).
NAMES = re.compile(r"\b([ast])(\d+)(?=\b|_)")
COMMENT = re.compile(r"[ ]*//[^\n]*")


def canonical(source: str, name: str) -> str:
    """The source without comments, under other names; its lines stay where they are."""
    text = COMMENT.sub("", source)
    text = re.sub(rf"\b{re.escape(name)}\b", "f__kernel", text)
    seen: dict[str, str] = {}

    def renamed(found: re.Match[str]) -> str:
        return seen.setdefault(found[0], f"{'s' if found[1] == 's' else 'a'}{len(seen)}")

    return NAMES.sub(renamed, text)


class SharingBuilder(Builder):
    """A builder that renames before it looks for a binary."""

    def build(self, source: str, name: str, arch: str, **options: Any) -> Binary:
        if on_host(arch, options.get("mode", "run")):
            source, name = canonical(source, name), "f__kernel"
        return super().build(source, name, arch, **options)
