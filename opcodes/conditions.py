"""Conditions of the preprocessor, decided without one: ``#if`` over whole numbers.

A text is a list of lines, and of choices between lines.  The lines that choose keep to rules, see
``check_branches``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod

from opweave.opcodes.allowed import shown
from opweave.opcodes.defines import Define
from opweave.opcodes.errors import FragmentError
from opweave.opcodes.tokens import COMMENT, is_c_name, tokens, without_comments

DIRECTIVE = re.compile(r"\s*#\s*(\w+)\b(.*)", re.DOTALL)
OPENS = ("if", "ifdef", "ifndef")
WORDS = ("if", "elif", "else", "endif")  # of a fragment
# Values of all toggles of a fragment together: each is looked at.
MOST_TOGETHER = 1024
Values = Mapping[str, int]
ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "*": lambda a, b: a * b, "/": lambda a, b: a // b, "%": lambda a, b: a % b,
    "+": lambda a, b: a + b, "-": lambda a, b: a - b,
}  # fmt: skip
# Operators of C, those that bind loosest first; here no number is negative that is divided.
LEVELS = (("||",), ("&&",), ("==", "!="), ("<", ">", "<=", ">="), ("+", "-"), ("*", "/", "%"))
OPERATORS: dict[str, Callable[[int, int], int]] = {
    "||": lambda a, b: int(bool(a or b)), "&&": lambda a, b: int(bool(a and b)),
    "==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b), ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b), ">=": lambda a, b: int(a >= b),
    **ARITHMETIC,
}  # fmt: skip


class _UnknownError(Exception):
    """An expression that only the preprocessor can decide."""


class _Expression:
    """A constant expression of whole numbers, by recursive descent."""

    def __init__(self, text: str, known: Mapping[str, int]):
        plain = re.sub(COMMENT, " ", text, flags=re.DOTALL)
        self.tokens = re.findall(r"\w+|\|\||&&|[=!<>]=|\S", plain)
        self.known = known

    def value(self) -> int:
        found = self._choice()
        if self.tokens:
            raise _UnknownError
        return found

    def _choice(self) -> int:
        found = self._level(0)
        if not self._takes("?"):
            return found
        first = self._choice()
        self._expects(":")
        other = self._choice()
        return first if found else other

    def _level(self, level: int) -> int:
        if level == len(LEVELS):
            return self._single()
        found = self._level(level + 1)
        while self.tokens and self.tokens[0] in LEVELS[level]:
            operator = self.tokens.pop(0)
            other = self._level(level + 1)
            if operator in "/%" and (found < 0 or other <= 0):  # C rounds towards zero
                raise _UnknownError
            found = OPERATORS[operator](found, other)
        return found

    def _single(self) -> int:
        if self._takes("!"):
            return int(not self._single())
        if self._takes("("):
            found = self._choice()
            self._expects(")")
            return found
        word = self.tokens.pop(0) if self.tokens else ""
        if word.isdecimal() and (word == "0" or not word.startswith("0")):
            return int(word)
        if word not in self.known:
            raise _UnknownError
        return self.known[word]

    def _takes(self, token: str) -> bool:
        if self.tokens[:1] != [token]:
            return False
        del self.tokens[0]
        return True

    def _expects(self, token: str) -> None:
        if not self._takes(token):
            raise _UnknownError


def value(text: str, known: Mapping[str, int]) -> int | None:
    """What an expression comes to; None where a name of it is not known.

    >>> value("A > 2 && !(A % 4)", {"A": 8}), value("A + B", {"A": 8})
    (1, None)
    """
    try:
        return _Expression(text, known).value()
    except (_UnknownError, RecursionError):
        return None


@dataclass
class Conditional:
    """``#if`` to ``#endif``: each branch's directive and its body."""

    branches: list[tuple[str, list[Conditional | str]]] = field(default_factory=list)
    end: str = ""


def directive(line: str) -> tuple[str, str]:
    """What the preprocessor is told, and the rest of the line; ("", "") of other lines."""
    found = DIRECTIVE.match(line)
    return (found[1], found[2]) if found else ("", "")


def parsed(lines: Sequence[str]) -> list[Conditional | str]:
    """Lines, and choices between lines."""
    top: list[Conditional | str] = []
    bodies, choices = [top], []
    for line in lines:
        word, _ = directive(line)
        if word in OPENS:
            choices.append(Conditional([(line, [])]))
            bodies[-1].append(choices[-1])
            bodies.append(choices[-1].branches[-1][1])
        elif choices and (word == "else" or word.startswith("elif")):
            choices[-1].branches.append((line, []))
            bodies[-1] = choices[-1].branches[-1][1]
        elif choices and word == "endif":
            choices.pop().end = line
            bodies.pop()
        else:
            bodies[-1].append(line)
    return top


def resolved(items: Sequence[Conditional | str], known: Mapping[str, int]) -> Iterator[str]:
    """The lines that are left: of a choice one branch, or all where a condition is not known."""
    for item in items:
        if isinstance(item, str):
            yield item
            continue
        conditions = [condition(line, known) for line, _ in item.branches]
        if None not in conditions:
            bodies = (body for _, body in item.branches)
            taken = (b for b, holds in zip(bodies, conditions, strict=True) if holds)
            yield from resolved(next(taken, []), known)
            continue
        for line, body in item.branches:
            yield line
            yield from resolved(body, known)
        yield item.end


def condition(line: str, known: Mapping[str, int]) -> int | None:
    """Whether a branch of that directive is taken; None where only the preprocessor knows."""
    word, rest = directive(line)
    if word == "else":
        return 1
    return value(rest, known) if word in ("if", "elif") else None


def lines_of(text: str) -> list[str]:
    """The lines of a fragment, without its comments."""
    return without_comments(text).split("\n")


def together(toggles: Sequence[Define]) -> list[Values]:
    """All values that toggles may have together."""
    names = [t.name for t in toggles]
    return [dict(zip(names, v, strict=True)) for v in product(*(t.values for t in toggles))]


# The rules


def check_branches(name: str, text: str, toggles: Sequence[Define]) -> None:
    """Hold the preprocessor lines of a fragment to the rules.

    Raises:
        FragmentError: another line than those four, one that opens or closes nothing, a name that
            nothing declares, or a branch that no value takes.
    """
    known = {t.name for t in toggles}
    depth: list[str] = []
    for line in lines_of(text):
        word, rest = directive(line)
        if not word:
            continue
        if word not in WORDS:
            raise FragmentError(
                f"{name}: a fragment has no preprocessor lines but #if, #elif, #else and #endif, "
                f"found #{word}"
            )
        if word in ("else", "endif") and rest.strip():
            raise FragmentError(f"{name}: expected #{word} alone in its line, found {shown(line)}")
        if word in ("if", "elif"):
            _check_condition(name, line, rest, known)
        _check_place(name, word, depth)
    if depth:
        raise FragmentError(f"{name}: an #if is not closed: end it with #endif")
    if (count := prod(len(t.values) for t in toggles)) > MOST_TOGETHER:
        raise FragmentError(
            f"{name}: expected at most {MOST_TOGETHER} values of its toggles together, found "
            f"{count}: put some into an op-code of their own"
        )
    _check_reached(name, parsed(lines_of(text)), together(toggles))


def _check_place(name: str, word: str, depth: list[str]) -> None:
    """Hold a line to those before it; ``depth`` has the last one of each that is open."""
    if word == "if":
        depth.append(word)
    elif not depth:
        raise FragmentError(f"{name}: #{word} without an #if before it")
    elif word == "endif":
        depth.pop()
    elif depth[-1] == "else":
        raise FragmentError(f"{name}: #{word} behind #else: an #else is the last branch")
    else:
        depth[-1] = word


def _check_condition(name: str, line: str, rest: str, known: set[str]) -> None:
    found = tokens(rest)
    if found and not any(map(is_c_name, found)):
        raise FragmentError(
            f"{name}: {shown(line.strip())} tests no toggle: take what it leaves out away, or "
            "declare one with ow.toggle"
        )
    strange = next((t for t in found if is_c_name(t) and t not in known), None)
    if strange == "defined":
        raise FragmentError(
            f"{name}: {shown(line.strip())}: a toggle is always defined: test its value, as in "
            "'#if USE_TABLE'"
        )
    if strange is not None:
        raise FragmentError(
            f"{name}: {shown(line.strip())} tests {strange!r}, which nothing declares: put "
            f"ow.toggle({strange!r}, 0, 1) into the list"
        )


def _check_reached(
    name: str, items: Sequence[Conditional | str], reaching: Sequence[Values]
) -> None:
    """Every branch is there for some values; its condition comes to a number with all of them."""
    for item in items:
        if isinstance(item, str):
            continue
        left = list(reaching)
        for line, body in item.branches:
            word, rest = directive(line)
            found = [1 if word == "else" else value(rest, values) for values in left]
            if None in found:
                raise FragmentError(
                    f"{name}: {shown(line.strip())} is no condition of whole numbers: expected "
                    "toggles and numbers, with ! && || == != < > <= >= + - * / %"
                )
            those = [values for values, holds in zip(left, found, strict=True) if holds]
            if not those and word != "else":
                raise FragmentError(
                    f"{name}: {shown(line.strip())} holds with no value of its toggles: take the "
                    "branch out, or declare the value"
                )
            left = [values for values in left if values not in those]
            _check_reached(name, body, those)
