"""Mutants: one change at one place of one template or helper.

The changes are a table; a change is a pattern over C text and what takes its place.  Jinja
statements and expressions (but for the code in ``each("...")``), comments and preprocessor lines
are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from opweave.templates import TEMPLATES

KEPT = re.compile(
    r"//[^\n]*|\{\{ (?:(?!\}\})[^\n])*?each\(\"|\"\) \| at\(\d+\) \}\}|\{\d[\w.]*\}|\{\{.*?\}\}|^[ \t]*#[^\n]*"
    r"|/\*.*?\*/",
    re.MULTILINE | re.DOTALL,
)
# What a change is called, what it matches, what takes its place.
CHANGES = (
    ("drop a barrier", r"__sync(?:threads|warp)\(\);", ";"),
    ("drop a fence", r"__threadfence\(\);", ";"),
    ("drop a shuffle", r"__shfl_\w*sync\(FULL_WARP, (\w+), [^()]*\)", r"\1"),
    ("drop a wait", r"copies_done<.*?>\(\);", ";"),
    ("wait for too few", r"copies_done<(STAGES) - 2>\(\);", r"copies_done<\1 - 1>();"),
    ("drop a group", r"copies_begun\(\);", ";"),
    ("widen a bound", r" < ", " <= "),
    ("widen a bound", r" >= ", " > "),
    ("flip a comparison", r" < ", " >= "),
    ("flip a comparison", r" > ", " <= "),
    ("flip a comparison", r" >= ", " < "),
    ("flip a comparison", r" <= ", " > "),
    ("flip a comparison", r" == ", " != "),
    ("flip a comparison", r" != ", " == "),
    ("drop a condition", r"\bif \((?!true)[^;{]*\)(?= [^;]*;|\s*\{|$)", "if (true)"),
    ("drop a guard", r"(?<=[=(,] )([\w.]+(?: [<+%*] [\w.]+)*) \? ", r"(\1, true) ? "),
    ("drop a return", r"\breturn;", ";"),
    ("shift an index", r"(?<=\w)\[([^\[\]{}]+)\](?! *\{)(?!;)", r"[(\1) + 1]"),
    ("swap + and -", r" \+ ", " - "),
    ("swap + and -", r" - ", " + "),
    ("swap * and +", r" \* (?!const)", " + "),
    ("swap / and *", r" / ", " * "),
    ("swap % and /", r" % ", " / "),
    ("swap && and ||", r" && ", " || "),
    ("swap && and ||", r" \|\| ", " && "),
    ("begin at 1", r"(?<= = )0(?=;)", "1"),
)
# Extents of declarations are no indices; more memory than needed changes nothing.
DECLARATION = re.compile(
    r"^\s*(?:__shared__|template|typedef|struct|enum)|each\(\"__shared__|^[^=]*\];\s*(?://.*)?$|[(,] *[\w{} .]+ \(&"
)
# Reductions as they stand in a rendered kernel, where their operators come from op-codes.
SWAPS = (
    ("swap a reduction", r"(?<== )(\w+\[[^\]]*\](?:\[\w+\])?) \+ (?=\w)", r"\1 - "),
    ("swap a reduction", r"(?<== )max_nan\(", "min_nan("),
    ("swap a reduction", r"(?<=return )x \+ y;", "x - y;"),
    ("swap a reduction", r"(?<=return )max_nan\(", "min_nan("),
    ("swap a reduction", r"(?<== )fma\(([^,]*), ([^,]*), ", r"fma(-\1, \2, "),
    ("drop a carry", r"fma\(([^,]*), ([^,]*), [^)]*\)", r"(\1 * \2)"),
)


@dataclass(frozen=True)
class Mutant:
    """One change: `text` is the whole file with it in place."""

    file: str
    line: int
    change: str
    before: str
    after: str
    text: str

    @property
    def key(self) -> str:
        """What names it in the table of survivors: without the number of the line."""
        return f"{self.file} | {self.change} | {self.before} -> {self.after}"

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.change}: `{self.before}` -> `{self.after}`"


def templates() -> list[str]:
    """The kernel templates, by file name."""
    return sorted(p.name for p in TEMPLATES.glob("*.cu.j2") if p.name != "vendor.cu.j2")


def mutants(file: str, text: str, changes=CHANGES) -> Iterator[Mutant]:
    """Every mutant of a text."""
    kept = [(m.start(), m.end()) for m in KEPT.finditer(text)]
    for change, pattern, replacement in changes:
        for match in re.finditer(pattern, text, re.MULTILINE):
            if any(a < match.end() and match.start() < b for a, b in kept):
                continue
            start = text.rfind("\n", 0, match.start()) + 1
            end = text.find("\n", match.end())
            line = text[start:end]
            if DECLARATION.search(line) and (change == "shift an index" or "__shared__" in line):
                continue
            new = match.expand(replacement)
            changed = text[: match.start()] + new + text[match.end() :]
            after = changed[start : end + len(new) - (match.end() - match.start())]
            number = text.count("\n", 0, match.start()) + 1
            yield Mutant(file, number, change, line.strip(), after.strip(), changed)


def of_templates() -> list[Mutant]:
    """Mutants of every template."""
    return [m for file in templates() for m in mutants(file, (TEMPLATES / file).read_text())]


def of_helpers() -> list[Mutant]:
    """Mutants of the device helpers that are plain C++."""
    return [
        mutant
        for file in ("common.cuh", "complex.cuh", "places.cuh", "policies.cuh", "rows.cuh")
        for mutant in mutants(file, (TEMPLATES / file).read_text())
    ]
