"""Passes over a row, as a host compiles them: whole chunks apart, and for ordinary numbers first.

In a kernel's text each lane asks whether it lies inside of the row, and functions and divisions
take any number.  A host runs whole chunks without the question (``ow_run_chunks`` of
``templates/host/rows.cuh``) and with the short functions of ``templates/host/ordinary.cuh``
(``ow_run_pass``); the last chunk, and all of them again where other numbers came, as they are
written.  Lines keep their numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from opweave.runtime.binaries.ordinary import (
    CALL,
    COMMENT,
    INCLUDE,
    NOTED,
    WITH,
    has_effects,
    set_and_read,
    shortened,
)

# How a loop over chunks begins: its first chunk, its end and its step.
HEADS = {
    "for (index_t c = 0; c < chunks; ++c) {": "0, chunks, 1",
    "for (; c < end; c += step) {": "c, end, step",
}
EDGE = re.compile(r"\bj0 \+ l < (\w+)\b")  # where the row ends
LOOP = r"""(?P<indent>\ *)(?P<head>%s)\n
    (?P<body>(?:(?P=indent)\ .*\n|\#.*\n|\n)*)
    (?P=indent)\}\n"""
PRAGMA = r"(?:\#pragma\ unroll\ ROW_CHUNKS(?=\n))?(?P<gap>\n?)"
PASS = re.compile(rf"^{PRAGMA}{LOOP % '|'.join(map(re.escape, HEADS))}", re.MULTILINE | re.VERBOSE)
OVER_LANES = re.compile(
    rf"^{LOOP % re.escape('for (int l = 0; l < LANES; ++l) {')}", re.MULTILINE | re.VERBOSE
)
FIRST_LINE = re.compile(r" *const index_t j0 = [^;]*;(?=\n)")
IDENTITY = re.compile(r"^ +((\w+_acc)\[l\] = [^;]*;)\n", re.MULTILINE)
# What stands around the loop over lanes where a pass may run again: it loads, and stores results.
AROUND = re.compile(
    r"(?:const index_t j0 = .*|[\w:]+ \w+\[LANES\]|(?:read|load|store)_\w+\(.*\));|#.*|"
)
LEAVES = re.compile(r"\b(?:continue|return|break)\b")
MAY_OVERLAP = re.compile(r"^ +(?:const )?[\w:]+\* (?!__restrict__)", re.MULTILINE)
# Chunks of a row from which its divisions alone are worth a reciprocal, and notes.
LEAST_DIVIDED = 8
WHOLE = "ow_whole"
LAMBDA = "__attribute__((always_inline)) {"


def with_row_passes(text: str) -> str:
    """A kernel's text whose passes over rows run so; unchanged without any."""
    if '#include "rows.cuh"' not in text:
        return text
    made = PASS.sub(lambda match: _run(match, text[: match.start()]), text)
    return made.replace(INCLUDE, WITH) if "ow_run_pass" in made else made


@dataclass(frozen=True)
class Body:
    """What a pass does with a chunk; ``before`` is the kernel's text in front of its loop."""

    text: str
    before: str

    def identities(self) -> str | None:
        """What sets running values as before, for a pass that runs again; None where none may."""
        lanes = OVER_LANES.findall(self.text)
        found = set_and_read(lanes[0][2]) if len(lanes) == 1 else None
        around = COMMENT.sub("", OVER_LANES.sub("", self.text)).split("\n")
        if found is None or not all(AROUND.fullmatch(line.strip()) for line in around):
            return None
        if "store_" in self.text and MAY_OVERLAP.search(self.before):
            return None
        if has_effects(self.text, self.before):
            return None
        running = sorted(found[0] & found[1])
        known = [
            [line for line, name in IDENTITY.findall(self.before) if name == r] for r in running
        ]
        # a loop before may have set it, too
        return " ".join(k[0] for k in known) if all(len(k) == 1 for k in known) else None


def _run(match: re.Match[str], before: str) -> str:
    body = Body(match["body"], before)
    if LEAVES.search(COMMENT.sub("", body.text)) or not FIRST_LINE.match(body.text):
        return match[0]
    ends = EDGE.search(body.text)
    edge = ends[1] if ends else "width"
    short, identities = shortened(body.text, before, f"{NOTED}.at(l)"), None
    if short != body.text:
        identities = body.identities()
    begin = f"{HEADS[match['head']]}, {edge} / LANES, "
    takes = f"(const auto {WHOLE}, const index_t c)"
    if identities is None:
        begin = f"ow_run_chunks({begin}"
    else:
        again = f"for (int l = 0; l < LANES; ++l) {{ {identities} }}" if identities else ""
        bits = "unsigned long long" if "double" in short else "unsigned"
        least = 0 if CALL.search(body.text) else LEAST_DIVIDED
        begin = f"ow_run_pass<{bits}, LANES>({begin}{least}, [&] {{ {again} }}, "
        body = Body(short, before)
        takes = f"(const auto {WHOLE}, auto& {NOTED}, const index_t c)"
    hint = f" if ({WHOLE} && {edge} - j0 < LANES) __builtin_unreachable();"
    inside = body.text.replace(f"j0 + l < {edge}", f"{WHOLE} || j0 + l < {edge}")
    inside = FIRST_LINE.sub(lambda m: m[0] + hint, inside, count=1)
    indent = match["indent"]
    return f"{match['gap']}{indent}{begin}[&]{takes} {LAMBDA}\n{inside}{indent}}});\n"
