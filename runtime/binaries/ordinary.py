"""Loops over chunks, as a host compiles them: for ordinary numbers, and again where others came.

``templates/host/ordinary.cuh`` has the functions and says why.  Lines keep their numbers.
"""

from __future__ import annotations

import re
from math import frexp

# Functions that have a short form for ordinary numbers.
NAMES = """
    exp exp2 expm1 sinh cosh tanh sin cos tan asin acos atan log log2 log10 log1p asinh acosh atanh
    cbrt pow floor_div floor_mod""".split()
NARROW = "u?int8|u?int16|uint32"  # g++ makes poor vectors of int products
INCLUDE, WITH = '#include "opweave.cuh"', '#include "ordinary.cuh"'
LOOP = re.compile(
    r"^(?P<pragma>#pragma unroll\n)?"
    r"(?P<indent> *)(?P<head>for \(int l = 0; l < VECTOR; \+\+l\) \{)\n"
    r"(?P<body>(?:(?P=indent) .*\n|#.*\n|\n)*)"
    r"(?P=indent)\}\n",
    re.MULTILINE,
)
CALL = re.compile(rf"(?<![\w.:>])({'|'.join(NAMES)}|index_of)\(")
# A division that is all of a value, or of an argument.
QUOTIENT = re.compile(
    r"(?P<in>= |\(|, )(?P<of>[A-Za-z_]\w*(?:\[\w+\])*) / "
    r"(?P<by>\w+|-?\d+\.\d*(?:e[+-]?\d+)?f?)(?=[;),])"
)
# A division of integers that rounds down: `by` is all of an argument.
FLOORED = re.compile(r"(?P<in>\bfloor_(?:div|mod)\(\w+, [^()]*, )(?P<by>\w+|\(\w+\)-?\d+)(?=\))")
# The statements of a loop that may run twice: names that it declares, and registers that it sets.
DECLARES = re.compile(r"(?:const )?(?!else\b|return\b)[A-Za-z_][\w:<>]* \w+ = (?P<of>[^;]*);")
SETS = re.compile(r"(?P<to>\w+)(?P<at>(?:\[\w+\])+) = (?P<of>[^;]*);")
WRITTEN = re.compile(r"\b__device__\b[^;{}()]*\b(\w+)\(([^()]*)\)\s*\{")
COMMENT = re.compile(r"//.*")
NOTED = "ow_noted"
# The places of a chunk in a table, which are indices.
PLACES = re.compile(
    r"places_of(?P<chunk><VECTOR>\(j0, \[&\]\()(?P<body>const index_t j\) \{\n(?:.*\n)*? *\}\);)"
)
BEGIN = f"ow_run_lanes([&](auto& {NOTED}) __attribute__((always_inline)) {{ "
END = " });"


def with_short_functions(text: str) -> str:
    """A kernel's text whose loops over lanes run the short forms first; unchanged without any."""
    if INCLUDE not in text:
        return text
    made = LOOP.sub(lambda match: _short_loop(match, text[: match.start()]), text)
    made = PLACES.sub(lambda match: _short_places(match, made[: match.start()]), made)
    return made if made == text else made.replace(INCLUDE, WITH)


def _short_loop(match: re.Match[str], before: str) -> str:
    body = shortened(match["body"], before, NOTED)
    if body == match["body"] or not runs_twice(match["body"]) or has_effects(body, before):
        return match[0]
    indent, gap = match["indent"], "\n" * bool(match["pragma"])
    return f"{gap}{indent}{BEGIN}{match['head']}\n{body}{indent}}}{END}\n"


def _short_places(match: re.Match[str], before: str) -> str:
    body = shortened(match["body"], "", NOTED)
    if body == match["body"] or has_effects(body, before):
        return match[0]
    return f"places_noted{match['chunk']}auto& {NOTED}, {body}"


def shortened(body: str, before: str, noted: str) -> str:
    """A loop by functions that note what is not ordinary; unchanged where none is called.

    Args:
        body: what it does with a lane.
        before: the kernel in front of it, which declares what is the same for all lanes.
        noted: where functions note it.
    """

    def is_same(by: str, types: str) -> bool:
        declared = re.search(rf"\bconst (?:{types}) {by}(?: =|[,)])", before)
        return bool(declared) and not re.search(rf"\b{by} = ", body)

    def quotient(match: re.Match[str]) -> str:
        by = match["by"]
        if "." in by:
            pays = abs(frexp(float(by.rstrip("f")))[0]) != 0.5  # else it is a product
        else:
            pays = is_same(by, "float|double")
        return f"{match['in']}row_quotient({noted}, {match['of']}, {by})" if pays else match[0]

    def floored(match: re.Match[str]) -> str:
        by = match["by"]
        pays = by[0] == "(" or is_same(by, NARROW)
        return f"{match['in']}for_all({by})" if pays else match[0]

    noting = CALL.sub(rf"\1({noted}, ", body)
    return FLOORED.sub(floored, QUOTIENT.sub(quotient, noting))


def has_effects(body: str, before: str) -> bool:
    """Whether a loop calls a function, written in front of it, that may change an argument."""
    found = (name for name, parameters in WRITTEN.findall(before) if set("&*") & set(parameters))
    return any(re.search(rf"\b{name}\(", body) for name in found)


def runs_twice(body: str) -> bool:
    """Whether a loop that has run may run again: it reads nothing that it has changed."""
    found = set_and_read(body)
    return found is not None and not found[0] & found[1]


def set_and_read(body: str) -> tuple[set[str], set[str]] | None:
    """The registers that a loop sets, and the names that it reads; None for other statements."""
    targets, read = set(), set()
    for line in body.split("\n"):
        text = COMMENT.sub("", line).strip()
        if not text or text.startswith("#"):
            continue
        found = DECLARES.fullmatch(text) or SETS.fullmatch(text)
        if found is None or "=" in re.sub(r"[<>=!]=", "", found["of"]):
            return None
        read |= set(re.findall(r"\w+", found["of"]))
        if found.re is SETS:
            targets.add(found["to"])
            read |= set(re.findall(r"\w+", found["at"]))
    return targets, read


ROUNDED = re.compile(r"(?P<value>\w+) = round_f16\((?P<of>.*)\);$", re.MULTILINE)


def without_second_rounding(text: str) -> str:
    """A kernel's text in which a value that is only stored as float16 is rounded there alone."""

    def once(match: re.Match[str]) -> str:
        value = match["value"]
        kept = re.findall(rf"(\w+)\[c\]\[l\] = {value};", text)
        uses = len(re.findall(rf"\b{value}\b", text))
        alone = len(kept) == 1 and uses == 2 and _is_one_argument(match["of"])
        if alone and _is_stored_as_half(text, kept[0]):
            return f"{value} = {match['of']};"
        return match[0]

    return ROUNDED.sub(once, text) if "round_f16" in text else text


def _is_one_argument(text: str) -> bool:
    """True where every closing bracket has its opening one in front of it."""
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False
    return depth == 0


def _is_stored_as_half(text: str, register: str) -> bool:
    """True for registers that are declared, set, stored as float16, and no more."""
    stored = re.findall(rf"\bst(?:ore|ream)_chunk\((\w+)[^;]*, {register}\[c\],", text)
    uses = len(re.findall(rf"\b{register}\b", text))
    half = len(stored) == 1 and re.search(rf"\bfloat16\*(?: __restrict__)? {stored[0]}\b", text)
    return uses == 3 and bool(half)
