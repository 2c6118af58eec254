"""Folding: whole numbers that stand for toggles, computed where a person would have done so.

    (cols + 32 * 4 - 1) / (32 * 4)  ->  (cols + 128 - 1) / 128
    float tile[64][64 + 0]          ->  float tile[64][64]

Only what takes in such a number is computed, and only from the left of a chain of operators: a
chain means the same to a compiler, whatever the types of its other terms.
"""

from __future__ import annotations

import re

from opweave.opcodes.conditions import ARITHMETIC

MARK = "\x01"  # before a number that stands for a toggle
MOST = 2**31 - 1
NUMBER = rf"({MARK}?(?:0|[1-9]\d*))(?![\w.])"
ALONE = rf"(?<![\w.)~!{MARK}])"  # no part of a word, behind no cast
PRODUCT = re.compile(rf"(?<![*/%] ){ALONE}{NUMBER} ([*/%]) {NUMBER}")
SUM = re.compile(rf"(?<![-+*/%] ){ALONE}{NUMBER} ([-+]) {NUMBER}(?! [*/%])")
ONCE = re.compile(rf" [*/] {MARK}1(?![\w.])")
BRACKETS = re.compile(rf"(?:(?<=[-+*/%=,<>?:&|] )|(?<=[(\[]))\(({MARK}\d+)\)")


def folded(text: str) -> str:
    """The text with its marked numbers computed, and without marks.

    >>> folded(f"e / ({MARK}8 * {MARK}64) * {MARK}8 + i * {MARK}1 + 2 * 3 * x")
    'e / 512 * 8 + i + 2 * 3 * x'
    """
    before = ""
    while MARK in text and text != before:
        before = text
        text = PRODUCT.sub(_computed, text)
        text = SUM.sub(_computed, text)
        text = BRACKETS.sub(r"\1", ONCE.sub("", text))
    return text.replace(MARK, "")


def _computed(found: re.Match[str]) -> str:
    whole, (a, operator, b) = found[0], found.groups()
    first, second = int(a.strip(MARK)), int(b.strip(MARK))
    if MARK not in whole or (operator in "/%" and not second):
        return whole
    result = ARITHMETIC[operator](first, second)
    return f"{MARK}{result}" if 0 <= result <= MOST else whole
