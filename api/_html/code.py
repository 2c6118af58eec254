"""Source in colours, line by line: by pygments if it is there, else as plain text."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from typing import Any

from markupsafe import Markup, escape

# Kinds of tokens by their names in pygments, those that are parts of others first; the letters
# are classes in the style.
KINDS = (
    ("Comment.Preproc", "p"), ("Comment", "c"), ("Keyword.Type", "t"), ("Keyword", "k"),
    ("Literal.String", "s"), ("Literal.Number", "n"), ("Name.Function", "f"),
    ("Name.Decorator", "p"), ("Name.Builtin", "t"), ("Operator.Word", "k"),
)  # fmt: skip


class _Colours:
    """Pygments, by name: it has no types, and may not be there."""

    def there(self) -> bool:
        return importlib.util.find_spec("pygments") is not None

    def tokens(self, text: str, language: str) -> Iterator[tuple[Any, str]]:
        """Kinds and texts.

        Raises:
            ValueError: it knows no such language.
        """
        lexers = importlib.import_module("pygments.lexers")
        lexer = lexers.get_lexer_by_name(language, stripnl=False, ensurenl=False)
        yield from lexer.get_tokens(text)


COLOURS = _Colours()


def highlighted(text: str, language: str) -> list[Markup]:
    """The lines of a source as markup, without their ends.

    >>> highlighted("a < b", "no language")
    [Markup('a &lt; b')]
    """
    if not COLOURS.there():
        return [escape(line) for line in text.removesuffix("\n").split("\n")]
    lines = [Markup("")]
    try:
        for kind, part in COLOURS.tokens(text, language):
            letter = _letter(str(kind).removeprefix("Token."))
            for number, piece in enumerate(part.split("\n")):
                lines += [Markup("")] * (number > 0)
                lines[-1] += _span(letter, piece)
    except ValueError:
        return [escape(line) for line in text.removesuffix("\n").split("\n")]
    return lines[:-1] if text.endswith("\n") else lines


def _letter(kind: str) -> str:
    return next((letter for name, letter in KINDS if kind.startswith(name)), "")


def _span(letter: str, piece: str) -> Markup:
    is_plain = not letter or not piece.strip()
    return (
        escape(piece) if is_plain else Markup('<span class="{}">{}</span>').format(letter, piece)
    )
