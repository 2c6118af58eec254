"""Smaller programs of lists: of plain lists, of fewer op-codes, of shorter fragments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from .. import shrink as graphs
from .. import validity
from ..program import Step
from .codes import Code, Made, arguments_of, results_of, without_names
from .operators import Expression, Own
from .program import Lists, call_of


def is_valid(program: Lists) -> bool:
    """NumPy computes it; what opweave says of it is the judge's."""
    try:
        return validity.is_valid(program)
    except LookupError:  # a name that no list has any more
        return False


def candidates(program: Lists) -> Iterator[Lists]:
    """Smaller programs, the boldest changes first."""
    for change in (
        _without_bad,
        _plain_structure,
        _inner,
        _plain_lists,
        _fewer_codes,
        _built_in,
        _simpler_operators,
    ):
        for candidate in change(program):
            yield candidate.pruned()
    for other in graphs.candidates(program):
        assert isinstance(other, Lists)
        yield other


def _without_bad(program: Lists) -> Iterator[Lists]:
    if program.bad[0]:
        yield replace(program, bad=("", ""))
        yield replace(program, steps=program.steps[:1], outputs=program.steps[0].results[:1])


def _plain_structure(program: Lists) -> Iterator[Lists]:
    for n, part in enumerate(program.structure):
        if part:
            yield replace(program, structure=_with(program.structure, n, ""))


def _inner(program: Lists) -> Iterator[Lists]:
    """A step that calls what its list is made of."""
    lists = program.known.lists
    made = {m.name: m for m in program.made}
    for n, step in enumerate(program.steps):
        for name in made[step.op].of if step.op in made else ():
            given = dict(zip(arguments_of(lists[step.op]), step.operands, strict=True))
            operands = tuple(given.get(a, step.operands[0]) for a in arguments_of(lists[name]))
            results = step.results[: len(results_of(lists[name]))]
            if len(results) == len(results_of(lists[name])):
                yield _with_step(
                    program, n, Step(results, name, call_of(name, operands), operands)
                )


def _with_step(program: Lists, n: int, step: Step) -> Lists:
    return replace(program, steps=(*program.steps[:n], step, *program.steps[n + 1 :]))


def _with(items: tuple[Any, ...], n: int, item: Any) -> tuple[Any, ...]:
    return (*items[:n], item, *items[n + 1 :])


def _plain_lists(program: Lists) -> Iterator[Lists]:
    """Lists that are made of op-codes, not of other lists."""
    for n, made in enumerate(program.made):
        codes = without_names(program.known.lists[made.name])
        if made.how != "list":
            yield replace(program, made=_with(program.made, n, Made(made.name, codes=codes)))


def _fewer_codes(program: Lists) -> Iterator[Lists]:
    """A list without an op-code, or with plainer operands; calls of it give and take as many."""
    for n, made in enumerate(program.made):
        for codes in _shorter(made.codes):
            changed = replace(program, made=_with(program.made, n, replace(made, codes=codes)))
            yield from _refitted(program, changed)


def _shorter(codes: tuple[Code, ...]) -> Iterator[tuple[Code, ...]]:
    for n, code in enumerate(codes):
        yield (*codes[:n], *codes[n + 1 :])
        if code.labels:
            yield _with(codes, n, replace(code, labels=()))
        for k, operand in enumerate(code.operands):
            if operand not in (1, 2.0) and code.kind != "store":
                yield _with(codes, n, replace(code, operands=_with(code.operands, k, 1)))
        is_other = code.kind == "operator" and code.name != "ow.opcodes.add"
        if is_other and len(code.operands) == 1 and not code.attrs:
            yield _with(codes, n, replace(code, name="ow.opcodes.add"))


def _refitted(old: Lists, new: Lists) -> Iterable[Lists]:
    """The steps with the operands and results that the lists have now."""
    try:
        before, after = old.known.lists, new.known.lists
    except (LookupError, ValueError):
        return
    steps = []
    for step in new.steps:
        if step.op in after:
            given = dict(zip(arguments_of(before[step.op]), step.operands, strict=True))
            made = dict(zip(results_of(before[step.op]), step.results, strict=True))
            if not set(arguments_of(after[step.op])) <= set(given):
                return
            if not set(results_of(after[step.op])) <= set(made):
                return
            operands = tuple(given[a] for a in arguments_of(after[step.op]))
            results = tuple(made[r] for r in results_of(after[step.op]))
            step = Step(results, step.op, call_of(step.op, operands), operands)
        steps.append(step)
    known = {r for s in steps for r in s.results}
    outputs = tuple(o for o in new.outputs if o in known)
    if outputs and all(s.results for s in steps):
        yield replace(new, steps=tuple(steps), outputs=outputs)


def _simpler_operators(program: Lists) -> Iterator[Lists]:
    """Operators of fragments alone, of fewer and of shorter ones."""
    bases = {own.of for own in program.own if own.how == "extended"}
    for n, own in enumerate(program.own):
        if own.toggle:
            yield replace(program, own=_with(program.own, n, replace(own, toggle="")))
        if own.how in ("cuda", "extended"):
            yield replace(program, own=_with(program.own, n, replace(own, how="operator", of="")))
        if own.how in ("replaced", "extended") or own.name in bases:
            continue
        for fragments in _shorter_fragments(own):
            yield replace(program, own=_with(program.own, n, replace(own, fragments=fragments)))


def _built_in(program: Lists) -> Iterator[Lists]:
    """A built-in operator in the place of one that is made of other op-codes."""
    known = {own.name: own.built_in for own in program.own if own.built_in}
    for n, made in enumerate(program.made):
        codes = tuple(
            replace(c, name=f"ow.opcodes.{known[c.name]}") if c.name in known else c
            for c in made.codes
        )
        if codes != made.codes:
            yield replace(program, made=_with(program.made, n, replace(made, codes=codes)))


def _shorter_fragments(own: Own) -> Iterator[tuple[tuple[str, Expression], ...]]:
    for n, (name, expression) in enumerate(own.fragments):
        for smaller in _smaller(expression, own.params[0]):
            yield _with(own.fragments, n, (name, smaller))
        if name:  # without what it binds
            rest = [(b, _replaced(e, name, own.params[0])) for b, e in own.fragments]
            yield (*rest[:n], *rest[n + 1 :])


def _smaller(expression: Expression, param: str) -> Iterator[Expression]:
    if isinstance(expression, tuple):
        form, *inner = expression
        yield from inner
        for n, one in enumerate(inner):
            if one != param:
                yield (form, *_with(tuple(inner), n, param))
            for smaller in _smaller(one, param):
                yield (form, *_with(tuple(inner), n, smaller))


def _replaced(expression: Expression, name: str, other: str) -> Expression:
    if isinstance(expression, tuple):
        return (expression[0], *(_replaced(e, name, other) for e in expression[1:]))
    return other if expression == name else expression
