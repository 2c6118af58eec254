"""A lexer for C++ as compilers see it: what of a source is code, and what is comment."""

from __future__ import annotations

import re

TRIGRAPHS = dict(zip("=/'()!<>-", "#\\^[]|{}~", strict=True))
_CODE = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
  | (?P<word>[^\W\d]\w*|\.?\d(?:[eEpP][+-]|[\w.'])*)
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


def code_tokens(source):
    """Tokens outside of comments, after trigraphs and spliced lines (translation phases 1 to 3).

    Trigraphs are gone from C++17; they are replaced all the same, so that no compiler's mode
    matters.
    """
    text = re.sub(r"\?\?([=/'()!<>-])", lambda m: TRIGRAPHS[m[1]], source)
    text = re.sub(r"\\[ \t]*(\r\n|\n|\r)", "", text).replace("\r", "\n")
    return [m.group() for m in _CODE.finditer(text) if m.lastgroup not in ("space", "comment")]
