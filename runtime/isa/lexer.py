"""Words of PTX text, with their lines."""

from __future__ import annotations

import re
from dataclasses import dataclass

from opweave.opcodes.errors import PtxSyntaxError

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<comment>//[^\n]*|/\*.*?\*/)
    |(?P<string>"[^"\n]*")
    |(?P<number>0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?
        |\d+\.\d*(?:[eE][+-]?\d+)?|\d+U?)
    |(?P<word>[.%]?[A-Za-z_$%][\w$]*(?:(?:\.|::)[\w$]+)*)
    |(?P<mark>[{}()\[\],;:@!|+\-<>=])""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class PtxToken:
    """A word: ``kind`` is "string", "number", "word" or "mark"."""

    kind: str
    text: str
    line: int


def tokens(text: str) -> list[PtxToken]:
    """All words of a text.

    Raises:
        PtxSyntaxError: a character that PTX has not.
    """
    made, at, line = [], 0, 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise PtxSyntaxError(f"PTX line {line}: {text[at : at + 20]!r} is no PTX")
        kind, found = str(match.lastgroup), match[0]
        if kind not in ("space", "comment"):
            made.append(PtxToken(kind, found, line))
        line += found.count("\n")
        at = match.end()
    return made


class Words:
    """A list of words that is read from front to back."""

    def __init__(self, found: list[PtxToken]):
        self._found = found
        self._at = 0

    @property
    def line(self) -> int:
        """Of the next word, or of the last one."""
        return self._found[min(self._at, len(self._found) - 1)].line if self._found else 1

    @property
    def next(self) -> str:
        """The next word; "" at the end."""
        return self._found[self._at].text if self._at < len(self._found) else ""

    def after(self, count: int = 1) -> str:
        """The word so many behind the next one."""
        at = self._at + count
        return self._found[at].text if at < len(self._found) else ""

    def take(self) -> PtxToken:
        """The next word.

        Raises:
            PtxSyntaxError: the text ends.
        """
        if self._at >= len(self._found):
            raise PtxSyntaxError(f"PTX line {self.line}: the text ends in the middle")
        self._at += 1
        return self._found[self._at - 1]

    def found(self, text: str) -> bool:
        """Take the next word if it is this one."""
        if self.next != text:
            return False
        self._at += 1
        return True

    def expect(self, text: str) -> None:
        """Take this word.

        Raises:
            PtxSyntaxError: another one comes.
        """
        token = self.take()
        if token.text != text:
            raise PtxSyntaxError(f"PTX line {token.line}: expected {text!r}, found {token.text!r}")
