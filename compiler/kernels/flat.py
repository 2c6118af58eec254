"""Flat: a kernel's source as the compiler sees it, its toggles resolved.

What ``#define`` gives a toggle stands in its place, ``#if`` over toggles is decided, and a helper
that nothing calls any more is left out.  A ``#define`` stays where a header asks for it; whatever
else the preprocessor is told, by an edited source, stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache

from opweave.compiler.kernels.folding import MARK, folded
from opweave.opcodes.conditions import OPENS, directive, parsed, resolved, value
from opweave.opcodes.tokens import COMMENT
from opweave.templates import TEMPLATES

# Numbers that templates make of toggles.
DERIVED = ("BLOCK", "PAD", "FRAGMENTS", "ACROSS", "CHANNELS")
SKIPPED = re.compile(rf'{COMMENT}|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', re.DOTALL)
WORD = re.compile(rf"({SKIPPED.pattern})|(?<![\w.])([A-Za-z_]\w*)", re.DOTALL)
DEFINE = re.compile(r"\s*#\s*define\s+(\w+)\s+(.+)")
ASKS = ("ifdef", "ifndef", "elifdef", "elifndef", "undef")  # whether a name is defined
INCLUDE = re.compile(r'^\s*#\s*include\s+"([\w./]+)"', re.MULTILINE)
# A definition at the left margin, and its name.
HELPER = re.compile(r"(?:static|struct)\b[^\n]*?(\w+)(?:\(| \{$)")


def flat(source: str, toggles: Collection[str]) -> str:
    """A source with its toggles resolved: the same code to a compiler, in fewer lines.

    ``toggles`` are the names that may be resolved.

    >>> source = "#define USE_X 0\\n#define N 4\\n#if USE_X\\na(N);\\n#else\\nb(N);\\n#endif"
    >>> flat(source, ("USE_X", "N"))
    'b(4);\\n'
    """
    lines = _lines(source)
    known = _constants(lines, (*toggles, *DERIVED))
    wanted = _asked_for(source, known)
    out: list[str] = []
    for line in resolved(parsed(lines), known):
        define = DEFINE.match(line)
        if not define or define[1] not in known:
            out.append(_substituted(line, known))
        elif define[1] in wanted:
            number = str(known[define[1]])
            is_plain = re.match(rf"{number}\s*(//|\Z)", define[2])
            out.append(line if is_plain else f"#define {define[1]} {number}")
        elif define[1] in DERIVED:
            while out and out[-1].startswith("//"):  # what it is
                out.pop()
    return _without_gaps(_without_unused("\n".join(out)))


def _lines(source: str) -> list[str]:
    """Lines of a source; what a comment or a backslash joins counts as one."""
    joined = re.compile(rf"(?:{SKIPPED.pattern}|\\\n|[^\n])*", re.DOTALL)
    out, at = [], 0
    while at <= len(source):
        found = joined.match(source, at)
        assert found is not None
        out.append(found[0])
        at = found.end() + 1
    return out


def _words(text: str) -> Iterator[str]:
    """The identifiers of a text, not those of its comments and strings."""
    return (match[2] for match in WORD.finditer(text) if match[2])


def _constants(lines: list[str], names: Collection[str]) -> dict[str, int]:
    """Those names that stand for one number from their only definition on.

    Not where a line asks whether they are defined, or takes them for text.
    """
    found: dict[str, int] = {}
    refused: set[str] = set()
    depth = 0
    for line in lines:
        word, rest = directive(line)
        define = DEFINE.match(line)
        name = define[1] if define else ""
        used = set(_words(line)) - {name}
        is_odd = word in ASKS or "defined" in used or (word == "define" and "#" in rest)
        if is_odd or (define and (depth or name in found or name in refused)):
            refused |= used | {name}
        elif define and name in names and (number := value(define[2], found)) is not None:
            found[name] = number
        else:
            refused |= (used | {name}) - set(found)
        depth += (word in OPENS) - (word == "endif")
    return {name: number for name, number in found.items() if name not in refused}


def _substituted(text: str, known: Mapping[str, int]) -> str:
    """The text with numbers in the places of names, but for comments and strings."""
    mark = "" if directive(text)[0] else MARK
    return folded(WORD.sub(lambda m: f"{mark}{known[m[2]]}" if m[2] in known else m[0], text))


@cache
def _headers(name: str) -> tuple[str, ...]:
    """The texts of a helper header for either compiler, with all that they include."""
    out: dict[str, None] = {}
    waiting = [name]
    seen = {name}
    while waiting:
        here = waiting.pop()
        for path in (TEMPLATES / here, TEMPLATES / "host" / here):
            if path.is_file():
                text = path.read_text()
                out[text] = None
                more = {m.rpartition("/")[2] for m in INCLUDE.findall(text)} - seen
                seen |= more
                waiting += sorted(more)
    return tuple(out)


def _asked_for(source: str, known: Mapping[str, int]) -> set[str]:
    """The names whose definition a header needs: a name that has none is 0 in an ``#if``."""
    found: set[str] = set()
    for name in INCLUDE.findall(source):
        for text in _headers(name):
            for line in text.split("\n"):
                is_condition = re.match(r"\s*#\s*(if|elif)\b", line)
                found |= set(re.findall(r"\bdefined\W*(\w+)", line))
                found |= {w for w in _words(line) if known.get(w) or not is_condition}
    return found & set(known)


def _without_unused(text: str) -> str:
    """Without the functions and structs at the left margin that nothing names."""
    if "##" in text:  # it may put names together
        return text
    parts = re.split(r"\n{2,}", text)
    while True:
        kept = []
        for number, part in enumerate(parts):
            code = re.sub(r"\A(//[^\n]*\n)*", "", part)
            helper = HELPER.match(code)
            whole = code.count("\n}") == 1 and re.search(r"\n\};?\Z", code)
            others = "\n".join(parts[:number] + parts[number + 1 :])
            named = not helper or helper[1].startswith("__") or helper[1] in set(_words(others))
            if named or not whole:
                kept.append(part)
        if kept == parts:
            return "\n\n".join(parts)
        parts = kept


def _without_gaps(text: str) -> str:
    """Without empty lines inside of functions, and with one between two definitions."""
    text = re.sub(r"\n{3,}", "\n\n", text).strip("\n")
    return re.sub(r"\n\n(?=[ \t]|#pragma)", "\n", text) + "\n"
