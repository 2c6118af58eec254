"""Op-codes: what an operator is made of, as data.

An op-code is a fragment of CUDA C that maps registers to registers.  It never touches memory;
that is why the same ReLU fits into an elementwise loop, behind a row reduction, and between a
matrix product and its store.  What differs by dtype are the rows of an op-code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from opweave.opcodes.allowed import check_name, shown
from opweave.opcodes.errors import FragmentError
from opweave.opcodes.tokens import tokens

if TYPE_CHECKING:
    from opweave.opcodes.defines import Define


class Phase(Enum):
    """The phases of a kernel, in the order in which a kernel is written."""

    SIGNATURE = "signature"
    INDEX = "index"
    GUARD = "guard"
    LOAD = "load"
    REPEAT = "repeat"
    PROLOGUE = "prologue"
    ACCUMULATE = "accumulate"
    REDUCE = "reduce"
    EPILOGUE = "epilogue"
    STORE = "store"
    CLOSE = "close"


ORDER = {phase: number for number, phase in enumerate(Phase)}
KINDS = "fciub"  # of dtypes
KIND_NAMES = {"f": "float", "c": "complex", "i": "int", "u": "uint", "b": "bool", "m": "int, uint"}

# A test holds the rows of our own tables to the rules, so that no import has to.
_checks = False


def begin_checks() -> None:
    """Hold op-codes and operators to the rules as they are made, from now on."""
    global _checks
    _checks = True


def checks_begun() -> bool:
    """True for what a user makes."""
    return _checks


class Fragment(NamedTuple):
    """A row of an op-code: its text for operands of some kinds of dtypes.

    Attributes:
        text: an expression over the op-code's parameters, or statements that ``return`` the
            result.  ``T`` stands for the result's type in registers, ``S`` for that in memory.
        kinds: of the first operand: ``f`` float, ``c`` complex, ``i`` signed, ``u`` unsigned,
            ``b`` bool; ``m`` is a signed and an unsigned 64-bit operand together.
        start: what a running value begins with: it changes nothing that it is joined with.
    """

    text: str
    kinds: str = KINDS
    start: str = ""

    def __str__(self) -> str:
        kinds = "any" if self.kinds == KINDS else "/".join(KIND_NAMES[k] for k in self.kinds)
        return f"{kinds:<19} {self.text.strip()}" + f"  (begins with {self.start})" * bool(
            self.start
        )

    @property
    def is_statement(self) -> bool:
        """True when the text is statements, which become a small ``__device__`` function."""
        return ";" in tokens(self.text)


@dataclass(frozen=True)
class OpCode:
    """One step of an operator.

    Attributes:
        name: what its result is called; of the last one, the operator's name.
        phase: where it stands in a kernel; an elementwise op-code is an epilogue, and moves to the
            prologue when it is placed before a reduction.
        params: names of the operands in the fragments.
        rows: the fragments, by kinds of dtypes.
        results: number of results; more than one only for statements that assign ``r0``, ``r1``...
        exact: the result is representable in its dtype, so float16 needs no rounding after it.
        supplied: what of a template this op-code is, for a structural one, which has no rows.
        toggles: what the fragments test, see ``ow.toggle``.
    """

    name: str
    phase: Phase
    params: tuple[str, ...]
    rows: tuple[Fragment, ...] = ()
    results: int = 1
    exact: bool = False
    supplied: str = ""
    toggles: tuple[Define, ...] = ()

    def __post_init__(self) -> None:
        if _checks:
            self.check()

    def check(self) -> None:
        """Hold the fragments to the rules.

        Raises:
            FragmentError, NameRefusedError: a rule is broken.
            ToggleError: a toggle that no fragment tests.
        """
        from opweave.opcodes.branches import check_tested, check_text  # no import needs it

        check_name(self.name, "op-code")
        if bool(self.rows) is bool(self.supplied):
            raise FragmentError(
                f"{self.name}: expected rows of fragments, or what a template supplies, found "
                f"{'both' if self.rows else 'neither'}"
            )
        seen = ""
        for row in self.rows:
            check_text(self.name, row.text, self.params, self.results, self.toggles)
            if row.start:
                check_text(self.name, row.start, (), 1, ())
            twice = [kind for kind in row.kinds if kind in seen]
            if twice or not row.kinds or not set(row.kinds) <= {*KINDS, "m"}:
                raise FragmentError(
                    f"{self.name}: kinds {shown(row.kinds)} of a row: expected letters of "
                    f"{KINDS}, each in one row"
                )
            seen += row.kinds
        check_tested(self)

    def row(self, kinds: str) -> Fragment:
        """The row for operands of these kinds of dtypes.

        Raises:
            FragmentError: none covers them.
        """
        if not kinds:  # a number
            return self.rows[0]
        key = "m" if kinds in ("iu", "ui") else kinds[0]
        for wanted in (key, kinds[0]):
            for row in self.rows:
                if wanted in row.kinds:
                    return row
        raise FragmentError(f"{self.name}: no op-code for operands of kind {kinds!r}")

    @property
    def text(self) -> str:
        """Its first fragment; in one line, where it tests toggles."""
        text = self.rows[0].text
        return " ".join(text.split()) if self.toggles else text

    def branched(self, text: str, line: Callable[[str], str]) -> str:
        """A line of a fragment; of one that tests toggles, a line in each branch.

        ``#if TWICE``, ``x * 2``, ``#else``, ``x * 3``, ``#endif``
        """
        if not self.toggles:
            return line(text)
        from opweave.opcodes.branches import spread

        parts = spread(text, self.toggles)
        return "\n".join(p if isinstance(p, str) else line(p.text) for p in parts)

    def of_kinds(self, kinds: str) -> OpCode:
        """The same op-code without the rows for other kinds of dtypes, and their toggles."""
        left = [
            row._replace(kinds="".join(k for k in row.kinds if k in kinds)) for row in self.rows
        ]
        rows = tuple(row for row in left if row.kinds)
        named = {token for row in rows for token in tokens(row.text)} if self.toggles else ()
        toggles = tuple(t for t in self.toggles if t.name in named)
        return replace(self, rows=rows, toggles=toggles)

    def named(self, name: str) -> OpCode:
        """The same op-code under another name, which later ones of a list refer to."""
        return replace(self, name=name)

    def __str__(self) -> str:
        """A line for each row.

        accumulate cumsum         float               acc + x  (begins with -T(0))
                                  int                 wrap_add(acc, x)  (begins with 0)
        """
        head = f"{self.phase.value:<10} {self.name:<14}"
        if self.supplied:
            return f"{head} {'':<19} ({self.supplied})"
        heads = [head, *[" " * len(head)] * (len(self.rows) - 1)]
        lines = [f"{head} {row}" for head, row in zip(heads, self.rows, strict=True)]
        under = f"\n{'':<{len(head) + 21}}"
        return "\n".join(line.replace("; ", ";\n").replace("\n", under) for line in lines)


def rows(
    texts: Mapping[str, str], starts: Mapping[str, str] | None = None
) -> tuple[Fragment, ...]:
    """Rows of an op-code from its texts by kinds; where they begin differently, in more rows.

    >>> [row.kinds for row in rows({"fu": "acc + x", "b": "acc || x"}, {"f": "-0", "ub": "0"})]
    ['f', 'u', 'b']
    """
    if starts is None:
        return tuple(Fragment(text, kinds) for kinds, text in texts.items())
    return tuple(
        Fragment(text, shared, start)
        for kinds, text in texts.items()
        for begun, start in starts.items()
        if (shared := "".join(kind for kind in kinds if kind in begun))
    )
