"""Draw a program of lists: edits and joins of lists, and NumPy says at each what is valid."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from opweave.opcodes import OPERATORS, errors

from ..generate import EDGES, SMALL
from ..program import SCOPE, Step
from ..validity import NotForUs, checked_values
from .codes import Code, Made, arguments_of, codes_of, names_of, results_of
from .draw_codes import MISSES, TRIES, CodeMaker, Drawing
from .forms import ACCUMULATE, ARGUMENTS, BAD, BY, FRESH, LABELS, ONCE, OUTPUTS, TOGGLES
from .program import Lists, call_of, preamble, reached, steps_of_call, unregistered


def draw(seed: int, number: int) -> Lists:
    """The program of a seed and a number."""
    with unregistered():
        return ListMaker(np.random.default_rng([seed, number, 2])).program()


class ListMaker(CodeMaker):
    """A program of lists in the making."""

    def program(self) -> Lists:
        self.array(self.space)
        for _ in range(self.choice((1, 2, 2, 3))):
            self.operator()
        wanted = self.choice((1, 2, 2, 3, 3, 4))
        for _ in range(6 * wanted):
            if len(self.steps) >= wanted:
                break
            self.step()
        while not any(self.is_own(r) for s in self.steps for r in s.results if s.op in self.lists):
            self.tried(lambda: self.call(self.literal()))
        made = Lists(
            tuple(self.arguments), tuple(self.steps), self.outputs(), self.toggles(),
            tuple(self.own), tuple(self.made),
        )  # fmt: skip
        name = self.choice([m.name for m in self.made])
        store = ACCUMULATE if self.chance(0.3) else self.choice(BY["store"])
        parts = self.choice(ONCE), self.choice(BY["load"]), store
        return replace(made, bad=(self.choice(tuple(BAD)), name), structure=parts).pruned()

    def toggles(self) -> tuple[tuple[str, int], ...]:
        """Of kernels, and of the user's operators."""
        own = sorted({o.toggle for o in self.own if o.toggle and self.chance(0.5)})
        return (*super().toggles(), *((name, self.choice(TOGGLES[name][0])) for name in own))

    def shape(self) -> tuple[int, ...]:
        """Small: most of what differs between lists is no matter of extents."""
        rank = self.choice((0, 1, 1, 1, 2, 2, 2, 3))
        pools = [SMALL if self.chance(0.75) else EDGES for _ in range(rank)]
        return tuple(int(self.choice(pool)) for pool in pools)

    def outputs(self) -> tuple[str, ...]:
        """The last result, and others; none that is an argument, none twice."""
        made = [r for s in reversed(self.steps) for r in s.results]
        first, *rest = dict.fromkeys(n for n in made if self.is_own(n))
        picked = [n for n in rest if self.chance(0.35)]
        seen = {self.aliases.get(first, first)}
        found = [first]
        for name in picked:
            if self.aliases.get(name, name) not in seen:
                seen.add(self.aliases.get(name, name))
                found.append(name)
        return tuple(found)

    def is_own(self, name: str) -> bool:
        """A result that is an array of its own."""
        where = self.aliases.get(name, name)
        return isinstance(where, str) and where not in {a.name for a in self.arguments}

    # Steps

    def step(self) -> None:
        draw = self.rng.random()
        for most, make in self.makers():
            if draw < most:
                for _ in range(TRIES):
                    if self.tried(make):
                        return
                return

    def makers(self) -> tuple[tuple[float, Any], ...]:
        """What makes a step, and up to which share."""
        return (
            (0.3, lambda: self.call(self.literal())),
            (0.56, lambda: self.call(self.edited())),
            (0.84, lambda: self.call(self.joined())),
            (0.94, self.called_operator),
            (1.0, self.plain),
        )

    def tried(self, make: Any) -> bool:
        """Add what is made; nothing where NumPy, or a rule, refuses it."""
        before = len(self.arguments), dict(self.held), len(self.own), len(self.made)
        try:
            self.append(make())
            return True
        except MISSES:
            del self.arguments[before[0] :]
            self.held = before[1]
            del self.own[before[2] :]
            del self.made[before[3] :]
            self.lists = {m.name: self.lists[m.name] for m in self.made}
            return False

    def append(self, step: Step) -> None:
        steps: list[Step] = []
        alias = dict(self.aliases)
        operands = tuple(alias.get(o, o) if isinstance(o, str) else o for o in step.operands)
        steps_of_call(step, operands, self.known, steps, alias)
        held = self.hidden | self.held
        for one in steps:
            held |= checked_values(one, held, self.scope)
        made = {r: held.get(alias.get(r, r), alias.get(r)) for r in step.results}
        if not all(isinstance(v, np.ndarray | np.generic) for v in made.values()):
            raise NotForUs
        self.held |= made
        self.hidden, self.aliases = held, alias
        self.steps.append(step)

    def called_operator(self) -> Step:
        """An operator of the user's between lists."""
        own = self.choice(self.own) if self.own and self.chance(0.5) else self.operator()
        first = self.value()
        operands = (first, *(self.beside(first) for _ in own.params[1:]))
        return Step((self.fresh(),), own.name, call_of(own.name, operands), operands)

    def plain(self) -> Step:
        """An operator of NumPy's between lists."""
        name = self.ours()
        if name == "neighbour":
            raise NotForUs  # of lists, which know what it means
        return self.applied(OPERATORS[name])

    def call(self, made: Made) -> Step:
        """A call of a new list, with what is given for it."""
        self.add_list(made)
        codes = self.lists[made.name]
        operands = tuple(self.given[a] for a in arguments_of(codes))
        results = tuple(self.fresh(n) for n in range(len(results_of(codes))))
        return Step(results, made.name, call_of(made.name, operands), operands)

    def literal(self) -> Made:
        """A list of op-codes, each tried on values."""
        first = self.value()
        count = self.choice((1, 1, 2, 2, 3))
        names = [str(a) for a in self.rng.permutation(ARGUMENTS)[:count]]
        self.given = {a: first if not n else self.beside(first) for n, a in enumerate(names)}
        multiplies = any(o.how == "product" for o in self.own)
        self.factors_given = count > 1 and self.chance(0.5 if multiplies else 0.05)
        if self.factors_given:
            self.given |= dict(zip(names, self.factors_beside(first), strict=False))
        made = Made(self.new_list(), codes=Drawing(self, OUTPUTS, LABELS).codes())
        self.factors_given = False
        return made

    def factors_beside(self, name: str) -> tuple[str, str]:
        """Two values of which one can be multiplied by the other; a few are vectors."""
        shape = np.shape(self.held[name])
        if not shape or not 0 < shape[-1] < 100:
            name = self.array((self.choice(SMALL), self.choice((3, 4, 33))), self.matching(name))
            shape = np.shape(self.held[name])
        columns = () if self.chance(0.15) else (self.choice(SMALL),)
        other = self.array((shape[-1], *columns), self.held[name].dtype.name)
        return name, other

    def before(self) -> Step:
        """An earlier call of a list, on whose values another one is tried.

        Raises:
            NotForUs: there is none.
        """
        calls = [s for s in self.steps if s.op in self.lists]
        if not calls:
            raise NotForUs
        step: Step = self.choice(calls)
        arguments = arguments_of(self.lists[step.op])
        self.given = dict(zip(arguments, step.operands, strict=True))
        return step

    def edited(self) -> Made:
        """An earlier list with an op-code more, less, or another; or with other names."""
        name = self.before().op
        codes = self.lists[name]
        how = self.choice(("insert", "insert", "insert", "replace", "remove", "renamed"))
        if how == "renamed":
            return self.taken(self.renamed(name, codes), codes)
        hashed = {o.name for o in self.own if o.built_in}  # whose names have a digest
        at = str(self.choice([n for c in codes for n in c.names if n not in hashed]))
        given = (self.choice(("before", "after")) if how == "insert" else "name", at)
        known = sorted({*arguments_of(codes), *(n for c in codes for n in c.labels)})
        code = () if how == "remove" else (self.code(known, LABELS, known),)
        return self.taken(Made(self.new_list(), how, code, (name,), (given,)), codes)

    def taken(self, made: Made, codes: tuple[Code, ...]) -> Made:
        """An edit; of a joined list, whose names opweave has made, if opweave takes it."""
        if any(c.kind == "name" for c in codes):
            self.check_taken(made)
        return made

    def renamed(self, name: str, codes: tuple[Code, ...]) -> Made:
        known = sorted(names_of(codes))
        every = dict.fromkeys((*ARGUMENTS, *OUTPUTS, *LABELS))  # some are both
        free = [n for n in every if n not in known]
        picked = [str(n) for n in self.rng.permutation(known)[: self.choice((1, 1, 2))]]
        names = dict(zip(picked, map(str, self.rng.permutation(free)), strict=False))
        self.given |= {new: self.given[old] for old, new in names.items() if old in self.given}
        return Made(self.new_list(), "renamed", (), (name,), tuple(names.items()))

    def joined(self) -> Made:
        """An earlier list and one behind it, an earlier or a new one."""
        step = self.before()
        if self.chance(0.4):
            return self.of_two_known(step.op)
        fed = dict(self.given)
        results = dict(zip(results_of(self.lists[step.op]), step.results, strict=True))
        taken = names_of(self.lists[step.op])
        free = [n for n in FRESH if n not in taken]
        names = [str(n) for n in self.rng.permutation(list(results))[: self.choice((1, 1, 2))]]
        by_name = self.chance(0.5)
        arguments = {n if by_name else free.pop(): n for n in names}
        extra = {free.pop(): self.beside(step.results[0])} if self.chance(0.4) else {}
        self.given = {a: results[n] for a, n in arguments.items()} | extra
        second = Made(self.new_list(), codes=Drawing(self, free[:4], free[4:]).codes())
        self.add_list(second)
        self.given = fed | extra
        given = () if by_name else tuple(arguments.items())
        in_order = list(arguments.values()) == list(results) and not extra
        if in_order and self.chance(0.5):
            given = ()
        how = "then" if given else self.choice(("+", "then by name"))
        return Made(self.new_list(), how, (), (step.op, second.name), given)

    def of_two_known(self, first: str) -> Made:
        """Two lists whose names may meet: what opweave takes must be what it means."""
        second = str(self.choice(list(self.lists)))
        results, arguments = results_of(self.lists[first]), arguments_of(self.lists[second])
        given: dict[str, str] = {}
        how = self.choice(("+", "then", "then"))
        if how == "then":
            values = (*results, *results, *arguments_of(self.lists[first]))
            for argument in arguments:
                if not given or self.chance(0.4):
                    given[argument] = str(self.choice(values))
        made = Made(self.new_list(), how, (), (first, second), tuple(given.items()))
        self.check_taken(made)
        wanted = arguments_of(codes_of(made, self.lists))
        value = next(iter(self.given.values()))
        self.given |= {a: value for a in wanted if a not in self.given}
        return made

    def check_taken(self, made: Made) -> None:
        """Check that opweave takes a list, where a name might mean two things.

        Raises:
            NotForUs: it is refused.
        """
        codes = [c.name for m in self.made for c in m.codes]
        known = reached(
            self.made, [*made.of, *codes], lambda m: [*m.of, *(c.name for c in m.codes)]
        )
        try:
            exec(preamble(self.own, (*known, made)), dict(SCOPE))
        except errors.EditError:
            raise NotForUs from None
        except Exception:
            return  # the judge will see it, too
