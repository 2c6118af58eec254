"""Toggles of a user's own: a ``#define`` that fragments test, as a list declares it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from opweave.opcodes.allowed import check_flag, check_name, shown
from opweave.opcodes.errors import NameRefusedError, ToggleError
from opweave.opcodes.fragments import NAMED
from opweave.opcodes.tokens import COMMENT
from opweave.templates import TEMPLATES

UPPER = re.compile(r"[A-Z][A-Z0-9_]*")
# What stands in the headers of a kernel.
HEADERS = (".cuh", ".h", ".j2")
# Macros of C, of what NVRTC reads before any source, and of CuPy.
C_MACROS = re.compile(
    r"(CUDA|NV_|CUPY_|OW_|FP_|(FLT|DBL|LDBL)_)\w*|NULL|EOF|NAN|INFINITY|HUGE_VAL[FL]?|ERANGE|EDOM"
    r"|(S|U)?(CHAR|SHRT|INT|LONG|LLONG|SIZE|PTRDIFF|INT(_LEAST|_FAST)?\d+|INTMAX|INTPTR)_(MAX|MIN)"
    r"|U?INT(\d+|MAX)_C|[A-Z]*_BIT|M_(E|PI|LN|LOG|SQRT|1|2)\w*|(RAND|FOPEN)_MAX|BUFSIZ"
)
MOST_VALUES = 32
MOST_VALUE = 2**31 - 1
# One line of printable ASCII; a backslash, or the trigraph of one, could join the next line to it.
DOC = re.compile(r"(?!.*\?\?)[ -\[\]-~]{0,100}")

Rule = Callable[..., Any]
# Names that were declared in this process, and all values that they may take.
DECLARED: dict[str, tuple[int, ...]] = {}


@dataclass(frozen=True)
class Define:
    """A toggle that a list declares, see ``toggle``.

    Attributes:
        name: its name in the source.
        values: what it may be; the first is the compiler's choice where no rule says otherwise.
        doc: the comment beside it.
        rule: the compiler's choice, ``(device, result) -> value``.
        check: why a value cannot hold, ``(value, device, result) -> reason``.
        same_bits: all values give the same bits.
    """

    name: str
    values: tuple[int, ...]
    doc: str = ""
    rule: Rule | None = field(default=None, repr=False)
    check: Rule | None = field(default=None, repr=False)
    same_bits: bool = True

    def __reduce__(self) -> Any:
        return _made, (self.name, self.values, self.doc, self.rule, self.check, self.same_bits)

    def __str__(self) -> str:
        """As a line of a printed list."""
        may = "" if self.same_bits else "  (bits may differ)"
        line = f"{'toggle':<10} {self.name:<14} {', '.join(map(str, self.values)):<19} {self.doc}"
        return line.rstrip() + may


def toggle(
    name: str,
    *values: int,
    doc: str = "",
    rule: Rule | None = None,
    check: Rule | None = None,
    same_bits: bool = True,
) -> Define:
    """Declare a toggle of your own: a ``#define`` that the fragments of a list test.

    ow.operator("gain", [ow.toggle("USE_FMA", 0, 1), "#if USE_FMA\\n...\\n#endif"], ...)

    It stands in the list of ``ow.operator``, ``ow.reduction``, ``ow.scan``, ``ow.product``,
    ``ow.cuda`` or ``with_opcodes``.  Lines ``#if``, ``#elif``, ``#else`` and ``#endif`` of a
    fragment choose by it, and it is a number elsewhere; with every value a fragment must make its
    result.  ``fused.with_toggles(USE_FMA=1)`` sets it.
    Else the compiler takes what the rule says, or the first value that can hold.  Operators that
    meet in one function share a toggle that they declare alike: declare it once.

    Args:
        name: of capitals, digits and underscores; none that a header, a template or C uses.
        values: two or more whole numbers from 0, or bools; the first is the default.
        doc: the comment beside it in the source.
        rule: a function ``(device, result) -> value``.  ``device`` is a description, with
            ``arch``, ``is_host``, ``sms`` and ``shared_bytes``; ``result`` has the ``shape``,
            ``dtype``, ``ndim`` and ``size`` of what the operator makes.
        check: a function ``(value, device, result) -> reason`` that says why a value cannot hold
            there, or "".
        same_bits: all values give the same bits, which ``check`` of a function holds them to.
            False where they may differ; each still keeps the operator's bound.  Operators for
            which a rule chooses other such values are not fused.

    Raises:
        NameRefusedError: the name cannot stand in source or is taken.
        ToggleError: no such values, rule or text.
    """
    check_flag(same_bits, "same_bits")
    return _made(name, values, doc, rule, check, same_bits)


def _made(
    name: Any, values: Sequence[Any], doc: Any, rule: Any, check: Any, same_bits: bool
) -> Define:
    """A declaration that was held to the rules; its name is known from now on."""
    _check_toggle_name(name)
    for what, function in (("rule", rule), ("check", check)):
        if function is not None and not callable(function):
            raise ToggleError(f"{name}: {what}={shown(function)}: expected a function or None")
    if type(doc) is not str or not DOC.fullmatch(doc):
        raise ToggleError(
            f"{name}: doc={shown(doc)}: expected a line of up to 100 characters of printable "
            "ASCII without backslashes and '??'"
        )
    made = Define(name, _whole(name, values), doc, rule, check, same_bits)
    known = DECLARED.get(name, ())
    DECLARED[name] = (*known, *(v for v in made.values if v not in known))
    return made


def without_toggles(given: Any) -> tuple[list[Any], list[Define]]:
    """The items of a list, or of one alone, and the toggles that it declares."""
    whole = list(given) if isinstance(given, list | tuple) else [given]
    declared = [item for item in whole if isinstance(item, Define)]
    return [item for item in whole if not isinstance(item, Define)], declared


def shared(pairs: Iterable[tuple[str, Define]]) -> dict[str, Define]:
    """Toggles by name, of pairs of who declares one and the declaration.

    Raises:
        ToggleError: two declare one name differently; says who.
    """
    found: dict[str, tuple[str, Define]] = {}
    for who, toggle in pairs:
        first, other = found.setdefault(toggle.name, (who, toggle))
        if toggle != other:
            raise ToggleError(
                f"{first} and {who} declare {toggle.name} differently: its "
                f"{_differs(toggle, other)}; declare it once, and give the same to both, or "
                "rename one"
            )
    return {name: toggle for name, (_, toggle) in found.items()}


def _differs(toggle: Define, other: Define) -> str:
    """What two declarations of a name do not have in common."""
    names = ("values", "doc", "same_bits", "rule", "check")
    differing = [n for n in names if getattr(toggle, n) != getattr(other, n)]
    plain = [n for n in differing if n not in ("rule", "check")]
    if not plain:
        return f"{differing[0]} is another function"
    return f"{plain[0]} {shown(getattr(other, plain[0]))} and {shown(getattr(toggle, plain[0]))}"


def whole_number(value: Any) -> int | None:
    """A bool or an integer as a plain one, None for all else."""
    if type(value) in (bool, int) or isinstance(value, np.bool_ | np.integer):
        return int(value)
    return None


def _whole(name: str, values: Sequence[Any]) -> tuple[int, ...]:
    found = [whole_number(v) for v in values]
    for given, value in zip(values, found, strict=True):
        if value is None or not 0 <= value <= MOST_VALUE:
            raise ToggleError(
                f"{name}: value {shown(given)}: expected a bool or a whole number from 0 to "
                f"{MOST_VALUE}"
            )
    if len(found) != len({*found}) or not 2 <= len(found) <= MOST_VALUES:
        raise ToggleError(
            f"{name}: expected 2 to {MOST_VALUES} values that differ, found "
            f"{', '.join(map(str, found)) or 'none'}: ow.toggle({name!r}, 0, 1)"
        )
    return tuple(value for value in found if value is not None)


def _check_toggle_name(name: Any) -> None:
    """Refuse a name that is no macro's, or another one's.

    Raises:
        NameRefusedError: says whose it is.
    """
    check_name(name, "toggle")
    what = ""
    if not UPPER.fullmatch(name):
        what = "expected capitals, digits and underscores, as macros have them"
    elif name in NAMED:
        what = "it means something else in a fragment; pick another"
    elif name in taken():
        what = "the compiler, a template or a header uses it; pick another"
    elif C_MACROS.fullmatch(name):
        what = "it is a macro of C or CUDA; pick another"
    if what:
        raise NameRefusedError(f"toggle name {shown(name)} refused: {what}")


# Toggles of ours that no template tests: they decide what kernels there are.
USE_VENDOR = "USE_VENDOR"  # asks for the vendor's products, or for kernels of ours
DECIDED = frozenset({USE_VENDOR})


@cache
def taken() -> frozenset[str]:
    """The names in capitals of all templates and headers, and our own toggles."""
    comment = re.compile(COMMENT, re.DOTALL)
    return DECIDED | frozenset(
        word
        for path in TEMPLATES.rglob("*")
        if path.suffix in HEADERS
        for word in re.findall(r"\b[A-Z][A-Z0-9_]*\b", comment.sub(" ", path.read_text()))
    )
