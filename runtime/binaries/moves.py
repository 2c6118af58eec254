"""Halves that a kernel only moves, as the bits that they are: no lane makes floats of them."""

from __future__ import annotations

import re
from collections.abc import Set

from opweave.runtime.binaries.truths import LOADS

HALF = re.compile(r"\bb?float16\b")
REGISTER = re.compile(r"\bfloat\b")
LEFT_OUT = re.compile(r"//.*|\bfor \([^()]*\) |\bEACH_CHANNEL ")
INDEX = r"\[[\w +*]+\]"


def _place(name: str) -> str:
    """A pattern of a name with its indices."""
    return rf"(?P<{name}>\w+)(?:{INDEX})*"


# Statements that declare names of halves, or move what they hold, and the names in them.
MOVED = ("to", "of", "yes", "no", "first", "second")
MOVES = re.compile(
    rf"(?:__shared__ __align__\(16\) )?(?:const )?float \w+(?:{INDEX})+|"
    rf"Chunk<b?float16, VECTOR> \w+\[CHUNKS\]|(?:const )?b?float16\*(?: __restrict__)? \w+,?|"
    rf"(?:const float )?{_place('to')} = (?:{_place('of')}|"
    rf"{_place('if')} \? {_place('yes')} : {_place('no')}|"
    rf"chosen\({_place('mask')}, {_place('first')}, {_place('second')}\))|"
    rf"(?:{'|'.join(LOADS)}|join_chunks|store_(?:chunk|pixels)|stream_chunk)\((?!.*\d\.).*\)"
)
DECLARED = re.compile(r"\b(?:float|Chunk<b?float16, \w+>|b?float16\*(?: __restrict__)?) (\w+)")
# What may stay where it lies: see Chunk of templates/host/chunks.cuh.
WINDOW = re.compile(r"\bfloat (?P<name>\w+)(?P<chunks>\[\w+\])\[VECTOR\];")
READS_WINDOW = re.compile(r"\bload_window\((\w+)")


def with_moved_bits(text: str) -> str:
    """A kernel's text in which halves are integers of 16 bits, if it only moves them."""
    if not HALF.search(text):
        return text
    parts = LEFT_OUT.sub("", text).replace("\n", ";").split(";")
    held = {name for part in parts for name in DECLARED.findall(part)}
    words = re.compile(rf"(?<![\w.])(?:{'|'.join(['float', *held])})\b")
    if not all(_moves(part.strip(), held) for part in parts if words.search(part)):
        return text
    windows = READS_WINDOW.findall(text)

    def kept(match: re.Match[str]) -> str:
        is_window = match["name"] in windows
        return f"Chunk<float, VECTOR> {match['name']}{match['chunks']};" if is_window else match[0]

    return REGISTER.sub("uint16", HALF.sub("uint16", WINDOW.sub(kept, text)))


def _moves(statement: str, held: Set[str]) -> bool:
    """Whether a statement moves what some names hold, and nothing else, to others.

    A number is another one as bits, and -0.0 would be true.
    """
    found = MOVES.fullmatch(statement)
    if found is None or {found["if"], found["mask"]} & held:
        return False
    return all(found[part] is None or found[part] in held for part in MOVED)
