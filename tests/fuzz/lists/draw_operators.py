"""Draw operators: fragments of which each is read, in forms that C and NumPy share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from opweave.opcodes import OPERATORS

from ..generate import Maker
from .fold_rows import FOLDS
from .folds import Fold
from .forms import (
    CONSTANTS,
    EXPRESSIONS,
    PARAMETERS,
    REPLACED,
    RESULTS,
    STATEMENTS,
    TOGGLES,
    TRUTHS,
)
from .operators import Expression, Own, holes, leaves_of

# How a program's results are judged: by NumPy's bits, by bounds, or by one form against the others.
MODES = ("exact", "exact", "bounded", "bounded", "any")
MOST_DRAWN = 12  # operators until one fits


class OperatorMaker(Maker):
    """A program in the making that has operators of its own."""

    def __init__(self, rng: np.random.Generator):
        super().__init__(rng)
        self.mode = self.choice(MODES)
        self.own: list[Own] = []

    def operator(self) -> Own:
        """A new operator of the user's."""
        drawn = (self.one(f"op{len(self.own)}") for _ in range(MOST_DRAWN))
        plain = Own(f"op{len(self.own)}", ("x",), (("", "x"),))
        drawn = (o for o in drawn if o.kinds and o.reads_all)
        fits = (o for o in drawn if self.mode != "bounded" or o.is_smooth)
        self.own.append(next(fits, plain))
        return self.own[-1]

    def one(self, name: str) -> Own:
        if self.chance(0.25):
            return self.fold(name)
        draw = self.rng.random()
        if draw < 0.15:
            row = self.choice(REPLACED)
            return Own(name, OPERATORS[row[0]].params, how="replaced", of=row[0])
        made = self.extended(name) if draw < 0.4 else None
        if made is None:
            made = self.fragments(Own(name, self.choice(PARAMETERS)))
            if self.chance(0.25):
                made = replace(made, toggle=self.choice(tuple(TOGGLES)))
        return made

    def fold(self, name: str) -> Fold:
        """A reduction, a scan or a product."""
        how = self.choice(("reduction", "scan", "product"))
        of = self.choice([name for name, row in FOLDS.items() if row.how == how])
        return Fold(name, ("x", "y") if how == "product" else ("x",), how=how, of=of)

    def fragments(self, made: Own, known: tuple[str, ...] = ()) -> Own:
        """The operator with one to three more fragments, of which each is read."""
        count = self.choice((1, 1, 2, 2, 3))
        rule = made.rule if known else self.choice(("same", "same", "float", "bool"))
        found = list(made.fragments)
        unread = list(known)
        for number in range(count):
            is_last = number == count - 1
            names = (*made.params, *(n for n, _ in found if n))
            free = [n for n in RESULTS if n not in names]
            table = EXPRESSIONS
            if is_last and rule == "bool":
                table = TRUTHS
            elif is_last and self.chance(0.15):
                table = STATEMENTS
            expression = self.expression(table, names, unread)
            found.append(("" if is_last else str(self.choice(free)), expression))
            unread = [
                n for n in (*unread, found[-1][0]) if n and n not in set(leaves_of(expression))
            ]
        for name in unread:  # a name that nobody reads is refused
            found[-1] = ("", self.read(found[-1][1], name, rule))
        how = "cuda" if not known and self.chance(0.2) else made.how
        return replace(made, fragments=tuple(found), rule=rule, how=how)

    def read(self, expression: Expression, name: str, rule: str) -> Expression:
        if isinstance(expression, tuple) and (rule == "bool" or expression[0] in STATEMENTS):
            return (expression[0], name, *expression[2:])
        return (self.choice(("{0} * {1}", "{0} + {1}")), expression, name)

    def expression(self, table: Any, names: tuple[str, ...], wanted: list[str]) -> Expression:
        if self.mode == "bounded":  # which most operators could not be
            table = {f: row for f, row in table.items() if row.is_smooth} or table
        form = self.choice(tuple(table))
        deep = 0.0 if self.mode == "bounded" else 0.25
        places = []
        for _ in range(holes(form)):
            if self.chance(deep):
                places.append(self.expression(EXPRESSIONS, names, wanted))
            elif wanted and self.chance(0.6):
                places.append(self.choice(wanted))
            elif self.chance(0.15):
                places.append(self.choice(CONSTANTS))
            else:
                places.append(self.choice(names))
        return (form, *places)

    def extended(self, name: str) -> Own | None:
        """An operator that begins with the op-codes of another."""
        fits = [
            o for o in self.own
            if o.how == "operator" and not o.toggle and o.rule != "bool" and not _has_statements(o)
            and len(o.fragments) < 4
        ]  # fmt: skip
        if not fits:
            return None
        base = self.choice(fits)
        taken = {n for n, _ in base.fragments} | set(base.params)
        bound = self.choice([n for n in RESULTS if n not in taken])
        codes = (*base.fragments[:-1], (bound, base.fragments[-1][1]))
        made = Own(name, base.params, codes, base.rule, "extended", base.name)
        return self.fragments(made, (bound,))


def _has_statements(own: Own) -> bool:
    return any(isinstance(e, tuple) and e[0] in STATEMENTS for _, e in own.fragments)
