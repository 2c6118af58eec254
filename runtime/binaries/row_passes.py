"""Passes over a row, as a host compiles them: whole chunks apart, and for ordinary numbers first.

In a kernel's text each lane asks whether it lies inside of the row, and functions and divisions
take any number.  A host runs whole chunks without the question (``ow_run_chunks`` of
``templates/host/rows.cuh``), and all chunks with the short functions of
``templates/host/ordinary.cuh`` (``ow_run_pass``); all of them again, as they are written, where
other numbers came.  Places of extremes are found by ``templates/host/places.cuh``.  Lines keep
their numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

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
OF_BYTES = re.compile(r"\b(?:u?int8|unsigned char) \w+\[LANES\];")
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
PLACED = re.compile(r"^ +(?:Largest|Smallest)<[^;]*> (\w+_acc)\[LANES\];", re.MULTILINE)
FOUND = re.compile(r"^ +\}((?:, \w+_acc)+)\);", re.MULTILINE)  # by ow_run_places
IDENTITY = re.compile(r"^ +((\w+_acc)\[l\] = [^;]*;)\n", re.MULTILINE)
# What stands around the loop over lanes where a pass may run again: it loads, and stores results.
AROUND = re.compile(
    r"(?:const index_t j0 = .*|(?:unsigned )?[\w:]+ \w+\[LANES\]|"
    r"(?:read|load|store)_\w+\(.*\));|#.*|"
)
LEAVES = re.compile(r"\b(?:continue|return|break)\b")
# What has to be done for all elements, whatever is found.
EFFECTS = re.compile(r"\b(?:store_\w+|index_of)\(")
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
    made = _with_first_lanes(made)
    return made.replace(INCLUDE, WITH) if NOTED in made else made


def _with_first_lanes(text: str) -> str:
    """Only the first lane is set and read, where all that was found stands in it."""
    if not re.search(r"^#define CHUNKS +1 ", text, re.MULTILINE):
        return text  # another loop has filled them all
    placed = set(PLACED.findall(text))
    names = {name for names in FOUND.findall(text) for name in names.split(", ")}
    for name in sorted(names & placed):
        text = re.sub(rf"\bjoin_row\({name}, lane, \w+\(\)\)", f"{name}[0]", text)
        text = re.sub(rf"\b{name}\[l\](?= = [^;]*::none\(\);)", f"{name}[0]", text)
    return text


@dataclass(frozen=True)
class Body:
    """What a pass does with a chunk; ``before`` is the kernel's text in front of its loop."""

    text: str
    before: str

    def running(self) -> list[str] | None:
        """The running values of a pass that may run again; None where it may not."""
        lanes = OVER_LANES.findall(self.text)
        found = set_and_read(lanes[0][2]) if len(lanes) == 1 else None
        around = COMMENT.sub("", OVER_LANES.sub("", self.text)).split("\n")
        if found is None or not all(AROUND.fullmatch(line.strip()) for line in around):
            return None
        if "store_" in self.text and MAY_OVERLAP.search(self.before):
            return None
        if has_effects(self.text, self.before):
            return None
        return sorted(found[0] & found[1])

    def identities(self) -> str | None:
        """What sets running values as before, for a pass that runs again; None where none may."""
        running = self.running()
        if running is None:
            return None
        known = [
            [line for line, name in IDENTITY.findall(self.before) if name == r] for r in running
        ]
        # a loop before may have set it, too
        return " ".join(k[0] for k in known) if all(len(k) == 1 for k in known) else None


class Way(NamedTuple):
    """How a pass runs: the call of what runs it, what a chunk takes and does, and what follows."""

    call: str
    takes: str
    text: str
    more: str = ""


def _run(match: re.Match[str], before: str) -> str:
    body = Body(match["body"], before)
    if LEAVES.search(COMMENT.sub("", body.text)) or not FIRST_LINE.match(body.text):
        return match[0]
    ends = EDGE.search(body.text)
    edge = ends[1] if ends else "width"
    short = shortened(body.text, before, f"{NOTED}.at(l, j0 + l < {edge})")
    chunks = f"{HEADS[match['head']]}, {edge} / LANES, "
    by_fours = "<true>" if OF_BYTES.search(body.text) else ""
    plainly = Way(f"ow_run_chunks{by_fours}({chunks}", "", body.text)
    way = _for_places(body, short, chunks) or _for_ordinary(body, short, chunks) or plainly
    hint = f" if ({WHOLE} && {edge} - j0 < LANES) __builtin_unreachable();"
    inside = way.text.replace(f"j0 + l < {edge}", f"{WHOLE} || j0 + l < {edge}")
    inside = FIRST_LINE.sub(lambda m: m[0] + hint, inside, count=1)
    gap, indent = match["gap"], match["indent"]
    takes = f"(const auto {WHOLE}, {way.takes}const index_t c)"
    return f"{gap}{indent}{way.call}[&]{takes} {LAMBDA}\n{inside}{indent}}}{way.more});\n"


def _for_places(body: Body, short: str, chunks: str) -> Way | None:
    """For a pass that finds places of extremes."""
    running, placed = body.running(), set(PLACED.findall(body.before))
    if not running or placed.isdisjoint(running):
        return None
    notes = ["NoNotes"] * 2
    if short != body.text:
        notes = [f"NotedLanes<{whole}, {_bits(short)}, LANES>" for whole in ("false", "true")]
    arrays = [f"auto& {name}" for name in running]
    takes = f"auto& {NOTED}, {', '.join(arrays)}, "
    more = "".join(f", {name}" for name in running)
    flags = (not EFFECTS.search(body.text), bool(OF_BYTES.search(body.text)))
    given = ", ".join([*(str(flag).lower() for flag in flags), *notes])
    return Way(f"ow_run_places<{given}>({chunks}", takes, short, more)


def _for_ordinary(body: Body, short: str, chunks: str) -> Way | None:
    """For a pass that calls functions with a short form for ordinary numbers."""
    identities = None if short == body.text else body.identities()
    if identities is None:
        return None
    again = f"for (int l = 0; l < LANES; ++l) {{ {identities} }}" if identities else ""
    least = 0 if CALL.search(body.text) else LEAST_DIVIDED
    call = f"ow_run_pass<{_bits(short)}, LANES>({chunks}{least}, [&] {{ {again} }}, "
    return Way(call, f"auto& {NOTED}, ", short)


def _bits(short: str) -> str:
    """The widest bits that functions note."""
    return "unsigned long long" if "double" in short else "unsigned"
