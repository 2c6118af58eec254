"""Halves that a kernel only moves, as the bits that they are: no lane makes floats of them."""

from __future__ import annotations

import re

from opweave.runtime.binaries.truths import LOADS

HALF = re.compile(r"\bb?float16\b")
REGISTER = re.compile(r"\bfloat\b")
LEFT_OUT = re.compile(r"//.*|\bfor \([^()]*\) |\bEACH_CHANNEL ")
# A name with its indices; statements that declare such names, or move what they hold.
INDEX = r"\[[\w +*]+\]"
PLACE = rf"\w+(?:{INDEX})*"
MOVES = re.compile(
    rf"(?:__shared__ __align__\(16\) )?(?:const )?float \w+(?:{INDEX})+|"
    rf"Chunk<b?float16, VECTOR> \w+\[CHUNKS\]|(?:const )?b?float16\*(?: __restrict__)? \w+,?|"
    rf"(?:const float )?{PLACE} = (?P<asked>\w+)(?:{INDEX})*(?P<chosen> \? {PLACE} : {PLACE})?|"
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
    found = [MOVES.fullmatch(part.strip()) for part in parts if words.search(part)]
    if not all(move and not (move["chosen"] and move["asked"] in held) for move in found):
        return text  # asked whether it is true, -0.0 is not
    windows = READS_WINDOW.findall(text)

    def kept(match: re.Match[str]) -> str:
        is_window = match["name"] in windows
        return f"Chunk<float, VECTOR> {match['name']}{match['chunks']};" if is_window else match[0]

    return REGISTER.sub("uint16", HALF.sub("uint16", WINDOW.sub(kept, text)))
