"""Op-code lists as data, what each edit and join makes of them, and the Python that they are.

list  ::= op-codes | an edit of a list | two lists joined
code  ::= load | store | operator | list, with operands and a name for each result
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..program import number_text


@dataclass(frozen=True)
class Code:
    """An op-code of a list.

    Attributes:
        kind: "load", "store", "operator", "list", or "name", by which a joined list keeps a value.
        name: of the argument, the result, the operator or the list.
        operands: names and numbers; of a store the stored name, or nothing.
        attrs: of an operator.
        labels: names of the results.
    """

    kind: str
    name: str
    operands: tuple[Any, ...] = ()
    attrs: tuple[tuple[str, Any], ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """What an edit calls it."""
        if self.kind in ("load", "store"):
            return (f"{self.kind} {self.name}", self.name, self.kind)
        return (self.plain_name, *(self.labels if len(self.labels) == 1 else ()))

    @property
    def plain_name(self) -> str:
        return self.name.removeprefix("ow.opcodes.")


@dataclass(frozen=True)
class Made:
    """A list and how it is made.

    Attributes:
        name: the variable that it is.
        how: "list", one of ``forms.EDITS``, or one of ``forms.JOINS``.
        codes: all op-codes, or the one of an edit.
        of: the lists that an edit or a join takes.
        given: names that it is given, as keywords.
    """

    name: str
    how: str = "list"
    codes: tuple[Code, ...] = ()
    of: tuple[str, ...] = ()
    given: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        """Python that makes it."""
        named = ", ".join(f"{k}={v!r}" for k, v in self.given)
        codes = ", ".join(map(code_text, self.codes))
        if self.how == "list":
            return f"{self.name} = ow.kernel([{codes}], name={self.name!r})"
        if self.how == "+":
            return f"{self.name} = {self.of[0]} + {self.of[1]}"
        if self.how.startswith("then"):
            given = ", ".join(filter(None, (self.of[1], named)))
            return f"{self.name} = {self.of[0]}.then({given})"
        if self.how in ("replace", "remove"):  # by the name of what stands there
            rest = ", ".join(filter(None, (repr(self.given[0][1]), codes)))
            return f"{self.name} = {self.of[0]}.{self.how}({rest})"
        given = ", ".join(filter(None, (codes, named)))
        return f"{self.name} = {self.of[0]}.{self.how}({given})"


def code_text(code: Code) -> str:
    """Python for an op-code in a list."""
    if code.kind in ("load", "store"):
        return f"ow.{code.kind}({', '.join(map(repr, (code.name, *code.operands)))})"
    named = [f"{k}={v!r}" for k, v in code.attrs]
    given = ", ".join(
        [*(repr(o) if isinstance(o, str) else number_text(o) for o in code.operands), *named]
    )
    text = f"{code.name}({given})"
    if not given:
        text = code.name if code.kind == "list" or not code.labels else f"{code.name}()"
    return f"{text}.named({', '.join(map(repr, code.labels))})" if code.labels else text


def codes_of(made: Made, known: Mapping[str, tuple[Code, ...]]) -> tuple[Code, ...]:
    """All op-codes of a list.

    Raises:
        LookupError, ValueError: there is no such list.
    """
    if made.how == "list":
        return made.codes
    first = known[made.of[0]]
    if made.how == "renamed":
        return tuple(_renamed(c, dict(made.given), dict(made.given)) for c in first)
    if len(made.of) == 2:
        return _joined(first, known[made.of[1]], dict(made.given), made.name)
    where, name = made.given[0]
    found = [n for n, code in enumerate(first) if name in code.names]
    if len(found) != 1:
        raise LookupError(f"{name} stands {len(found)} times")
    at = found[0] + (where == "after")
    if made.how == "replace" and len(first[at].labels) == 1 and not made.codes[0].labels:
        made = replace(made, codes=(replace(made.codes[0], labels=first[at].labels),))
    while where == "after" and at < len(first) and first[at].kind == "name":
        at += 1
    return (*first[:at], *made.codes, *first[at + (made.how != "insert") :])


def _joined(
    first: tuple[Code, ...], second: tuple[Code, ...], given: dict[str, str], maker: str
) -> tuple[Code, ...]:
    """One list behind the other; each stored value that feeds gets a name."""
    results, arguments = results_of(first), arguments_of(second)
    feeds = {a: a for a in arguments if a in results} | given
    if not feeds:
        feeds = dict(zip(arguments, results, strict=True))
    kept: list[Code] = []
    names = dict(zip(arguments_of(first), arguments_of(first), strict=True))
    for code in first:
        if code.kind != "store" or code.name not in feeds.values():
            kept.append(code)
            continue
        names[code.name] = f"fed_{maker}_{code.name}"  # of what makes the value, there
        made = max(n for n, c in enumerate(kept) if c.kind not in ("store", "name"))
        kept.insert(made + 1, replace(code, kind="name", name=names[code.name]))
    fed = {argument: names[value] for argument, value in feeds.items()}
    return (*kept, *(_renamed(code, fed, {}) for code in second))


def _renamed(code: Code, names: Mapping[str, str], outputs: Mapping[str, str]) -> Code:
    own = {"load": names, "name": names, "store": outputs}.get(code.kind, {})
    return replace(
        code,
        name=own.get(code.name, code.name),
        operands=tuple(names.get(o, o) if isinstance(o, str) else o for o in code.operands),
        labels=tuple(names.get(label, label) for label in code.labels),
    )


def without_names(codes: tuple[Code, ...]) -> tuple[Code, ...]:
    """A joined list as one by hand: what feeds has the name of the op-code that makes it."""
    kept: list[Code] = []
    names: dict[str, str] = {}
    for code in codes:
        code = _renamed(code, names, {})
        if code.kind != "name":
            kept.append(code)
        elif code.operands:
            names[code.name] = code.operands[0]
        elif kept[-1].kind == "load" or kept[-1].labels:
            names[code.name] = (kept[-1].labels or (kept[-1].name,))[0]
        else:
            kept[-1] = replace(kept[-1], labels=(code.name,))
    return tuple(kept)


def arguments_of(codes: tuple[Code, ...]) -> tuple[str, ...]:
    """What a list loads that it has not made before."""
    found: dict[str, None] = {}
    made: set[str] = set()
    for code in codes:
        if code.kind == "load" and code.name not in made:
            found[code.name] = None
        made.update(code.labels, (code.name,) if code.kind == "name" else ())
    return tuple(found)


def results_of(codes: tuple[Code, ...]) -> tuple[str, ...]:
    return tuple(code.name for code in codes if code.kind == "store")


def names_of(codes: tuple[Code, ...]) -> set[str]:
    """All names that a list gives to something."""
    return {
        n for c in codes for n in (*c.labels, *((c.name,) if c.kind in ("load", "store") else ()))
    }
