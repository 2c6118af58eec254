"""The rules for fragments.  They catch mistakes; a fragment is code, and no rule makes it safe."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from opweave.opcodes.allowed import check_name, shown
from opweave.opcodes.errors import FragmentError, NameRefusedError
from opweave.opcodes.tokens import C_KEYWORDS, is_c_name, tokens

FORBIDDEN_TOKENS = {
    "#": "preprocessor lines but #if, #elif, #else and #endif, each in a line of its own",
    "asm": "inline assembly (it belongs into a device helper)",
    "__asm__": "inline assembly (it belongs into a device helper)",
    "__asm": "inline assembly (it belongs into a device helper)",
    "goto": "jumps",
    "%:": "preprocessor lines",
    "<%": "digraphs (write { and })",
    "%>": "digraphs (write { and })",
    "/*": "comment that is not closed",
    "{%": "template text",
    "{{": "template text",
}
# What an expression may name besides its operands: slots and the types of registers.
NAMED = frozenset(
    """T S SITE acc true false float16 bfloat16
    int8 int16 int64 uint8 uint16 uint32 uint64 complex64 complex128""".split()
)
MEANING = "the parameters of the NumPy meaning name them"
ASSIGNS = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--")
PAIRS = {")": "(", "]": "[", "}": "{"}


def check_fragment(
    name: str,
    fragment: str,
    params: Sequence[str],
    results: int,
    known_by: str = MEANING,
    numbers: Sequence[str] = (),
) -> None:
    """Hold an op-code's fragment to its rules: operands named, balanced, nothing of a template.

    ``known_by`` says, in an error, where the operands' names come from; ``numbers`` are the names
    of its toggles.

    Raises:
        FragmentError: a rule is broken.
        NameRefusedError: an operand's name may not enter generated source.
    """
    _check_params(name, params)
    _check_characters(name, fragment)
    found = tokens(fragment)
    for token in found:
        if token in FORBIDDEN_TOKENS:
            raise FragmentError(f"{name}: a fragment has no {FORBIDDEN_TOKENS[token]}")
    if not found:
        raise FragmentError(f"{name}: the fragment is empty")
    _check_balance(name, fragment, found)
    if ";" not in found and results > 1:
        raise FragmentError(
            f"{name}: expected statements that assign r0 to r{results - 1}, found the expression "
            f"{shown(fragment)}"
        )
    if ";" not in found:
        _check_names(name, fragment, found, (*params, *numbers), known_by)
    else:
        _check_statements(name, found, results)
    for first, second in pairwise(found):
        if first in numbers and second in ASSIGNS:
            raise FragmentError(f"{name}: {first} is a toggle, to which nothing is assigned")


def _check_statements(name: str, found: Sequence[str], results: int) -> None:
    """Statements make each result."""
    if "return" not in found and results == 1:
        raise FragmentError(f"{name}: statements must return their result")
    missing = [r for r in (f"r{n}" for n in range(results)) if results > 1 and r not in found]
    if missing:
        raise FragmentError(f"{name}: statements must assign {' and '.join(missing)}")


def _check_params(name: str, params: Sequence[str]) -> None:
    for param in params:
        check_name(param, f"{name}: operand")
        if param in NAMED and param != "acc":
            raise NameRefusedError(
                f"{name}: operand name {param!r} refused: it means something else in a fragment; "
                "pick another"
            )


def _check_characters(name: str, fragment: str) -> None:
    """A fragment is printable ASCII, line by line."""
    if type(fragment) is not str:
        raise FragmentError(
            f"{name}: expected a fragment as text, found {type(fragment).__name__}"
        )
    for character in set(fragment):
        if not (character.isascii() and (character.isprintable() or character in "\n\t")):
            raise FragmentError(
                f"{name}: character {character!a} may not stand in a fragment: expected "
                "printable ASCII, new lines and tabs"
            )
    if "\\\n" in fragment:
        raise FragmentError(f"{name}: a fragment has no backslash at the end of a line")


def _check_balance(name: str, fragment: str, found: Sequence[str]) -> None:
    depth: list[str] = []
    for token in found:
        if token in PAIRS.values():
            depth.append(token)
        elif token in PAIRS and (not depth or depth.pop() != PAIRS[token]):
            raise FragmentError(f"{name}: unbalanced {token!r} in fragment {shown(fragment)}")
    if depth:
        raise FragmentError(f"{name}: unclosed {depth[-1]!r} in fragment {shown(fragment)}")


def _check_names(
    name: str, fragment: str, found: Sequence[str], params: Sequence[str], known_by: str
) -> None:
    """Every name in an expression is an operand, a type, or is called: none of the kernel's."""
    for position, token in enumerate(found):
        if token in params or token in NAMED or token in C_KEYWORDS or not is_c_name(token):
            continue
        following = found[position + 1 : position + 2]
        before = found[position - 1] if position else ""
        called = following in (["("], ["<"], ["::"]) or before in (".", "->", "::")
        if not called:
            raise FragmentError(
                f"{name}: {shown(token)} in fragment {shown(fragment)} is none of its operands "
                f"{', '.join(params)}; {known_by}"
            )
