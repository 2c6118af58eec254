"""Draw op-codes, and lists of them that NumPy runs as they grow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opweave.opcodes import OPERATORS
from opweave.opcodes.core import Kind

from ..validity import ERRORS, MOST, NotForUs, checked_values
from .codes import Code, Made, codes_of, results_of
from .draw_operators import OperatorMaker
from .forms import BOUNDED, EXACT, OPERANDS, POLICIES, STEPS
from .operators import Own
from .program import Known, Running, meanings

OURS = (*EXACT, *BOUNDED)
CASTS = ("float16", "float32", "float64", "int32", "uint8", "int64")
# All elementwise operators of one result; the parts of a complex number are asked of no others.
MAPS = tuple(
    row.name for row in OPERATORS.values() if row.kind is Kind.MAP and row.mixes is None
    and row.name not in ("real", "imag")
    and not row.tables and not row.notes_faults and row.opcodes[-1].results == 1 and not row.attrs
    and row.name != "whole_quotient"  # of places alone
)  # fmt: skip
MISSES = (*ERRORS, LookupError, NotForUs)
TRIES = 8


class CodeMaker(OperatorMaker):
    """A program in the making that has lists."""

    def __init__(self, rng: np.random.Generator):
        super().__init__(rng)
        self.made: list[Made] = []
        self.lists: dict[str, tuple[Code, ...]] = {}
        # what the results of lists are in the flat program, and its values that have no other name
        self.aliases: dict[str, Any] = {}
        self.hidden: dict[str, Any] = {}
        self.factors_given = False  # the first two of them are those of a product
        self.given: dict[str, Any] = {}  # for the arguments of the list in the making

    @property
    def known(self) -> Known:
        return Known(self.lists, {o.name: o for o in self.own})

    @property
    def scope(self) -> dict[str, Any]:
        return meanings(self.own)

    def new_list(self) -> str:
        return f"k{len(self.made)}"

    def add_list(self, made: Made) -> None:
        self.lists[made.name] = codes_of(made, self.lists)
        self.made.append(made)

    def code(self, names: list[str], pool: Sequence[str], taken: Any = ()) -> Code:
        """An op-code of the running value or of names; a pool has names for its result."""
        draw = self.rng.random()
        own = [o for o in self.own if o.how != "cuda"]
        if draw < 0.15 and self.lists:
            name = str(self.choice(list(self.lists)))
            codes = self.lists[name]
            made = Code("list", name)
            count = len(results_of(codes))
        elif draw < 0.5 and own:
            picked = self.choice(own)
            made, count = Code("operator", picked.name, attrs=self.fold_attrs(picked)), 1
        else:
            name = self.ours()
            made = Code("operator", f"ow.opcodes.{name}", attrs=self.attrs(name))
            count = 1
        arity = self.known.arity(made)
        given = arity if self.chance(0.4) else arity - 1
        operands = tuple(
            self.choice(OPERANDS) if self.chance(0.25) or not names else str(self.choice(names))
            for _ in range(given)
        )
        free = [n for n in pool if n not in taken]
        if len(free) < count > 1:
            raise NotForUs
        if not free or (count == 1 and self.chance(0.6)):
            return replace(made, operands=operands)
        labels = tuple(map(str, self.rng.permutation(free)[:count]))
        return replace(made, operands=operands, labels=labels)

    def attrs(self, name: str) -> tuple[tuple[str, Any], ...]:
        row = OPERATORS[name]
        if name == "neighbour":
            return (("step", int(self.choice(STEPS))), ("bounds", self.choice(POLICIES)))
        if name == "cast":
            return (("dtype", self.choice(CASTS)),)
        if row.kind is Kind.MAP:
            return ()
        found = {"axis": self.choice((-1, -1, 0))} if dict(row.attrs).keys() & {"axis"} else {}
        if "keepdims" in dict(row.attrs) and self.chance(0.7):
            found["keepdims"] = True
        return tuple(found.items())

    def fold_attrs(self, own: Own) -> tuple[tuple[str, Any], ...]:
        """Of a reduction or a scan of a user's; no other operator of theirs has any."""
        if own.how not in ("reduction", "scan"):
            return ()
        axis = ("axis", self.choice((-1, -1, 0)))
        return (
            (axis, ("keepdims", True)) if own.how == "reduction" and self.chance(0.7) else (axis,)
        )

    def product(self) -> str:
        """An operator that multiplies matrices."""
        found = [o.name for o in self.own if o.how == "product"]
        return str(self.choice([*found, *found, "ow.opcodes.matmul"]))

    def ours(self) -> str:
        if self.chance(0.05):
            return "neighbour"
        if self.mode == "exact" or self.chance(0.4):
            return str(self.choice(EXACT))
        return str(self.choice(OURS if self.chance(0.6) else MAPS))

    # Operators


class Drawing:
    """A list of op-codes in the making, run on values by NumPy as it grows."""

    def __init__(self, maker: CodeMaker, outputs: Sequence[str], pool: Sequence[str]):
        self.maker = maker
        self.outputs, self.pool = outputs, pool
        self.arguments = arguments = list(maker.given)
        self.found: list[Code] = [Code("load", a) for a in arguments]
        if maker.chance(0.5):  # the first is loaded last
            self.found = self.found[1:] + self.found[:1]

    def codes(self) -> tuple[Code, ...]:
        maker = self.maker
        if maker.factors_given:
            first, second = self.arguments[:2]
            self.grown(Code("operator", maker.product(), (first, second)))
        wanted = maker.choice((1, 2, 2, 3, 4, 6))
        for _ in range(TRIES * wanted):
            if wanted <= 0:
                break
            wanted -= self.grown(maker.code(self.names, self.pool, self.labels))
            if maker.chance(0.1):
                self.grown(Code("load", maker.choice(self.names)))
            if maker.chance(0.12) and self.computes:
                self.grown(self.store())
        if not self.computes:
            raise NotForUs
        if self.found[-1].kind != "store" and not self.grown(self.store()):
            raise NotForUs
        return tuple(self.found)

    @property
    def computes(self) -> bool:
        return any(c.kind in ("operator", "list") for c in self.found)

    @property
    def labels(self) -> set[str]:
        return {label for c in self.found for label in c.labels}

    @property
    def names(self) -> list[str]:
        return [*self.arguments, *self.labels_in_order()]

    def labels_in_order(self) -> Iterator[str]:
        for code in self.found:
            yield from code.labels

    def store(self) -> Code:
        taken = results_of(tuple(self.found))
        free = [n for n in self.outputs if n not in taken]
        if not free:
            raise NotForUs
        value = (str(self.maker.choice(self.names)),) if self.maker.chance(0.25) else ()
        return Code("store", str(self.maker.choice(free)), value)

    def grown(self, code: Code) -> bool:
        """Whether the list with one more op-code has a meaning; then it has it."""
        maker = self.maker
        given = {
            a: maker.aliases.get(v, v) if isinstance(v, str) else v for a, v in maker.given.items()
        }
        run = Running(maker.known, "in_", [], given)
        held = maker.hidden | maker.held
        try:
            for one in (*self.found, code):
                run.code(one)
            for step in run.steps:
                held |= checked_values(step, held, maker.scope)
                if any(np.size(held[r]) > MOST // 8 for r in step.results):
                    return False
        except MISSES:
            return False
        self.found.append(code)
        return True
