"""How arrays that are loaded lie in registers of the host, and how loads of many are compiled.

Bools are bytes there, of which g++ makes vectors; halves that are only moved, or whose signs are
set, are the bits of which no lane makes floats; and kernels of many arrays that lie apart load
them by functions.
"""

from __future__ import annotations

import re
from collections.abc import Set

ARRAY = re.compile(r"\bbool (?=(?:\(&)?(?P<name>\w+)\)?\[)")
# By the loads of templates/host/chunks.cuh, turned.cuh, and templates/rows.cuh.
LOADS = """
load_chunk load_strided load_places load_window load_runs read_chunk hold_row load_turned take_line
""".split()
LOADED = re.compile(rf"\b(?:{'|'.join(LOADS)})\((\w+)")
# Several in one declaration, which are of one type, as a product's factors are.
TOGETHER = re.compile(r"\bbool (\w+\[[^;()]*, [^;()]*);")
HALF = re.compile(r"\bb?float16\b")
REGISTER = re.compile(r"\bfloat\b")
LEFT_OUT = re.compile(r"//.*|\bfor \([^()]*\) |\bEACH_CHANNEL ")
INDEX = r"\[[\w +*]+\]"


def _place(name: str) -> str:
    """A pattern of a name with its indices."""
    return rf"(?P<{name}>\w+)(?:{INDEX})*"


# Statements that declare names of halves, move what they hold, or set its sign; and their names.
MOVED = ("to", "of", "yes", "no", "first", "second", "turned", "sized", "signed", "signs")
MOVES = re.compile(
    rf"(?:__shared__ __align__\(16\) )?(?:const )?float \w+(?:{INDEX})+|"
    rf"Chunk<b?float16, VECTOR> \w+\[CHUNKS\]|(?:const )?b?float16\*(?: __restrict__)? \w+,?|"
    rf"(?:const float )?{_place('to')} = (?:{_place('of')}|"
    rf"{_place('if')} \? {_place('yes')} : {_place('no')}|"
    rf"chosen\({_place('mask')}, {_place('first')}, {_place('second')}\)|"
    rf"-{_place('turned')}|fabs\({_place('sized')}\)|"
    rf"copysign\({_place('signed')}, {_place('signs')}\))|"
    rf"(?:{'|'.join(LOADS)}|join_chunks|store_(?:chunk|pixels)|stream_chunk)\((?!.*\d\.).*\)"
)
DECLARED = re.compile(r"\b(?:float|Chunk<b?float16, \w+>|b?float16\*(?: __restrict__)?) (\w+)")
# Signs of halves as bits, by the functions of templates/host/bits.cuh.
SIGN = re.compile(
    rf"= (?:(?P<function>fabs|copysign)\((?=(?P<of>\w+))|-(?P<negated>(?P<name>\w+)(?:{INDEX})*))"
)
OF_BITS = {"fabs": "= size_of_half(", "copysign": "= signed_half("}
# What may stay where it lies: see Chunk of templates/host/chunks.cuh.
WINDOW = re.compile(r"\bfloat (?P<name>\w+)(?P<chunks>\[\w+\])\[VECTOR\];")
READS_WINDOW = re.compile(r"\bload_window\((\w+)")
LOAD = "load_strided("
# More take a compiler longer than they save: eight of them, in one kernel, take 7 s of g++ 12.
MOST_IN_PLACE = 3


def with_bytes(text: str) -> str:
    """A kernel's text in which bools that were loaded are bytes."""
    loaded = set(LOADED.findall(text)) if "bool " in text else set()
    loaded -= {
        name for names in TOGETHER.findall(text) for name in re.findall(r"\w+(?=\[)", names)
    }

    def byte(match: re.Match[str]) -> str:
        return "unsigned char " if match["name"] in loaded else match[0]

    return ARRAY.sub(byte, text) if loaded else text


def with_moved_bits(text: str) -> str:
    """A kernel's text in which halves are integers of 16 bits, if it moves them or signs alone."""
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

    def signed(match: re.Match[str]) -> str:
        if (match["of"] or match["name"]) not in held:  # such as a double beside them
            return match[0]
        negated = f"= negated_half({match['negated']})"
        return OF_BITS[match["function"]] if match["function"] else negated

    text = SIGN.sub(signed, WINDOW.sub(kept, text))
    return REGISTER.sub("uint16", HALF.sub("uint16", text))


def _moves(statement: str, held: Set[str]) -> bool:
    """Whether a statement moves what some names hold, and nothing else, to others.

    A number is another one as bits, and -0.0 would be true.
    """
    found = MOVES.fullmatch(statement)
    if found is None or {found["if"], found["mask"]} & held:
        return False
    return all(found[part] is None or found[part] in held for part in MOVED)


def with_strides_apart(text: str) -> str:
    """A kernel's text in which no load of many makes the kernel longer."""
    is_long = text.count(LOAD) > MOST_IN_PLACE
    return text.replace(LOAD, "load_strided_apart(") if is_long else text
