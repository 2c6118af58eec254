"""C tokens: enough to rename operands in a fragment without touching anything else."""

from __future__ import annotations

import re
from functools import lru_cache

from opweave.opcodes.errors import FragmentError

# One alternative for each kind of token; `tokens` drops white space and comments.
_TOKEN = re.compile(
    r"""
    (?P<space>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<number>(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[A-Za-z0-9_]*)
  | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
  | (?P<punct>/\*|%:|<%|%>|\{%|\{\{|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|::|
      [][(){};,.?:<>=+*/%&|^!~\#-])
    """,
    re.VERBOSE | re.DOTALL,
)

COMMENT = r"//[^\n]*|/\*.*?\*/"  # with DOTALL
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

C_KEYWORDS = frozenset(
    """alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t
    char32_t char8_t class compl concept const const_cast consteval constexpr constinit continue
    co_await co_return co_yield decltype default delete do double dynamic_cast else enum
    explicit export extern false float for friend goto if inline int long mutable namespace new
    noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires restrict return short signed sizeof static static_assert
    static_cast struct switch template this thread_local throw true try typedef typeid typename
    union unsigned using virtual void volatile wchar_t while xor xor_eq""".split()
)


def is_c_name(text: str) -> bool:
    """True for a plain ASCII identifier."""
    return _NAME.fullmatch(text) is not None


@lru_cache(4096)
def _scan(text: str) -> tuple[tuple[str, str], ...]:
    """Kind and text of each token; the fragments of operators are asked for in each kernel."""
    found: list[tuple[str, str]] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise FragmentError(f"{text[position]!r} may not stand in a fragment: {text[:80]!r}")
        found.append((str(match.lastgroup), match.group()))
        position = match.end()
    return tuple(found)


def tokens(text: str) -> list[str]:
    """Return the C tokens of a fragment, without white space and comments.

    Raises:
        FragmentError: a character that starts no token.
    """
    return [token for kind, token in _scan(text) if kind != "space"]


def without_comments(text: str) -> str:
    """A fragment without its comments; lines stay lines.

    >>> without_comments("x  // the first\\n+ 1")
    'x   \\n+ 1'
    """
    return "".join(" " if t.startswith(("//", "/*")) else t for _, t in _scan(text))


def rename(text: str, names: dict[str, str]) -> str:
    """Replace identifiers in a fragment, all at once; member names (``a.x``) stay, comments go.

    >>> rename("x + exp(y) * xx", {"x": "y", "y": "v1"})
    'y + exp(v1) * xx'
    """
    out: list[str] = []
    previous = ""
    for kind, token in _scan(text):
        if kind == "name" and previous not in (".", "->", "::"):
            out.append(names.get(token, token))
        elif token.startswith(("//", "/*")):
            out.append(" ")  # it would swallow what stands behind it
        else:
            out.append(token)
        if kind != "space":
            previous = token
    return "".join(out)
