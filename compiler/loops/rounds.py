"""Branches, and loops within a loop: what names hold where several ways meet."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from opweave.compiler.captures.exits import VALUE
from opweave.compiler.captures.source import NoLoopError, stored_in
from opweave.compiler.lines.again import AgainError, UnknownError
from opweave.compiler.lines.applied import bounds_of
from opweave.compiler.lines.eithers import group_of, kinds_of
from opweave.compiler.lines.values import (
    Held,
    Mixed,
    Number,
    Size,
    Strided,
)
from opweave.compiler.loops.names import LoopNames

Env = dict[str, Held]


@dataclass
class Around:
    """The loop around a statement: what names hold where it is left, and where a round ends."""

    left: list[Env] = field(default_factory=list)
    ended: list[Env] = field(default_factory=list)


@dataclass
class InnerLoop:
    """A loop within the function of C.

    Attributes:
        head: the text of its head.
        begin: writes what every round begins with.
        is_outermost: it is the whole; where it has no round, C says so and changes nothing.
    """

    node: ast.For | ast.While
    head: str
    begin: Callable[[], None]
    is_outermost: bool = False

    @property
    def changed(self) -> set[str]:
        """The names that it assigns to."""
        return stored_in(self.node)


class Rounds(LoopNames):
    """Lowers branches and rounds.

    Attributes:
        live: False behind a break, a continue or a return.
        is_entered: the loop that is next is the outermost, and left where it has no round.
        is_first: the round is the first of the outermost loop.
    """

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.around: list[Around] = []
        self.live = True
        self.is_entered = self.is_first = False

    def statements(self, nodes: Sequence[ast.stmt]) -> None:
        """Lower statements, one after the other."""
        raise NotImplementedError

    def branches(self, test: Number, parts: Sequence[Sequence[ast.stmt]]) -> None:
        """``if`` and ``else``."""
        before, after = dict(self.env), list[Env]()
        for head, nodes in zip((f"if ({test.text})", "else"), parts, strict=True):
            self.env, self.live = dict(before), True
            if not nodes:
                after.append(self.env)
                continue
            with self.text.block(head):
                self.statements(nodes)
            if self.live:
                after.append(self.env)
        self.live = bool(after)
        changed = {name for nodes in parts for node in nodes for name in stored_in(node)}
        changed |= self.shared
        # of what one branch assigns the other may know the value that it no longer has
        self.env = self.forgotten(self.joined(after), changed) if after else before

    def loop(self, loop: InnerLoop) -> None:
        """Lower the rounds of a loop; where names change their types, the first one apart."""
        if loop.node.orelse:
            raise NoLoopError("else of a loop")
        before, mark = dict(self.env), self.text.mark()
        loop.is_outermost, self.is_entered = self.is_entered, False
        unknown: set[str] = set()  # of which a round may know nothing when it begins
        again: AgainError | None = None  # what would help if no round does without
        for peeled in (False, False, True, True):
            self.text.back(mark)
            self.env, self.live = dict(before), True
            try:
                return self._rounds(loop, unknown, peeled)
            except ChangedError as error:
                unknown, again = unknown | error.names, again or error.again
            except NoLoopError as error:
                if peeled or not (unknown or isinstance(error, UnknownError)):
                    if again is not None and not isinstance(error, AgainError):
                        raise again from None
                    raise
                unknown = set()
        raise again or NoLoopError(f"{min(unknown)}, whose type changes in a loop")

    def _rounds(self, loop: InnerLoop, unknown: set[str], peeled: bool) -> None:
        before, around, changed = dict(self.env), Around(), loop.changed | self.shared
        self.around.append(around)
        try:
            with self.text.block(loop.head) if not peeled else self._first_round(loop, around):
                at_head = {n: h for n, h in self.env.items() if n not in unknown}
                at_head = self.forgotten(at_head, changed)
                ends = self._round(loop, around, at_head)
        finally:
            self.around.pop()
        unstable = {
            name
            for end in ends
            for name, held in at_head.items()
            if (name in changed and not (name in end and is_stable(held, end[name])))
            or (is_listed(end.get(name)) and not is_listed(held))
            or not ones_of(end.get(name)) <= ones_of(held)
        }
        if unstable:
            raise self._changed(unstable, [at_head, *ends] if peeled else [])
        ways = list(around.left)
        if isinstance(loop.node, ast.For):
            ways += [
                *([] if loop.is_outermost else [before]),
                *([at_head] if peeled else []),
                *ends,
            ]
        self.env = self.joined([self.forgotten(env, changed) for env in ways])

    def _changed(self, names: set[str], envs: Sequence[Env]) -> NoLoopError:
        """What is raised for names whose types a round changes; ``envs``: of rounds behind one."""
        for name in sorted(names) if envs else ():
            what = group_of([env[name] for env in envs if name in env])
            if what is not None and not self.is_known(what, name):
                return AgainError(
                    what, self.prefix_of(name) + name
                )  # more than one round has its own
        return ChangedError(names, self._helps(names, envs))

    def _helps(self, names: set[str], envs: Sequence[Env]) -> AgainError | None:
        """What a lowering has to know of an array that a round makes, to hold it for another."""
        for name in sorted(names):
            held = [env[name] for env in envs if name in env]
            bases = {h.base for h in held if isinstance(h, Strided)}
            if bases and bases <= self.given and not self.is_known("turns", name):
                return AgainError("turns", self.prefix_of(name) + name)
            made = {base for base in bases if base in self.held_by}
            what = "sizes" if len(made) == 1 and made <= self.own(name) else "copies"
            if made and not self.is_known(what, name):
                return AgainError(what, self.prefix_of(name) + name)
        return None

    @contextmanager
    def _first_round(self, loop: InnerLoop, around: Around) -> Iterator[None]:
        """The first round apart; what comes behind is any other one."""
        first = self.text.fresh("first")
        self.text.add(f"bool {first} = true;")
        with self.text.block(loop.head):
            with self.text.block(f"if ({first})"):
                self.text.add(f"{first} = false;")
                self.is_first = loop.is_outermost and isinstance(loop.node, ast.While)
                ends = self._round(loop, around, dict(self.env))
                self.text.add("continue;")
            self.env = self.joined(ends)
            yield

    def _round(self, loop: InnerLoop, around: Around, env: Env) -> list[Env]:
        """One round, from what names hold at its begin: what they hold at its ends."""
        self.env, self.live = dict(env), True
        around.ended.clear()
        loop.begin()
        self.statements(loop.node.body)
        ends = [*around.ended, *([self.env] if self.live else [])]
        self.live = True
        return ends

    def met(self, ends: Sequence[Env]) -> Env:
        if not self.shared:
            return ends[0]
        return self.forgotten(self.joined(ends), {*self.shared})

    def joined(self, envs: Sequence[Env]) -> Env:
        """What names hold where several ways meet: of several types, or unbound in one, none."""
        found: Env = {}
        for name in dict.fromkeys(name for env in envs for name in env):
            held = [env[name] for env in envs if name in env]
            is_bound = len(held) == len(envs) or name.startswith(VALUE)
            if is_bound and (one := self._met(held)) is not None:
                ones = frozenset[str]().union(*map(ones_of, held))
                found[name] = replace(one, one_with=ones) if isinstance(one, Strided) else one
        return found

    def _met(self, held: Sequence[Held]) -> Held | None:
        """What a name holds that holds one of several things; None where that is no one type."""
        first = next(filter(is_listed, held), held[0])
        if all(other == first and is_same_number(first, other) for other in held):
            return first
        if all(same_kind(first, other) for other in held):
            return plain(first)
        if (what := group_of(held)) is None:
            return None
        texts = (other.text for other in held if isinstance(other, Number))
        said = next((self.said[text] for text in texts if text in self.said), None)
        return said if said is not None and group_of([said]) == what else Mixed(what)

    def forgotten(self, env: Env, names: set[str]) -> Env:
        """The same, without what is known of the values of some names."""
        return {n: self._unknown(h) if n in names else h for n, h in env.items()}

    def _unknown(self, held: Held) -> Held:
        if isinstance(held, Number) and held.text in self.said:
            return self.said[held.text]
        return plain(held)


class ChangedError(NoLoopError):
    """Names hold something of another type after a round.

    Attributes:
        again: what another lowering has to know, if this one finds no way.
    """

    def __init__(self, names: set[str], again: AgainError | None = None):
        super().__init__(", ".join(sorted(names)))
        self.names, self.again = names, again


def is_stable(before: Held, after: Held) -> bool:
    """Whether what a name holds after a round may be what it holds before one."""
    if isinstance(before, Number) and before.maybe:
        kinds = kinds_of(after)
        return bool(kinds) and kinds <= kinds_of(before) and not isinstance(after, Mixed)
    return same_kind(before, after) and is_listed(before) >= is_listed(after)


def is_listed(held: Held | None) -> bool:
    """Whether a list of Python may have an array."""
    return isinstance(held, Strided) and held.is_listed


def ones_of(held: Held | None) -> frozenset[str]:
    """The copies of an array that are the same in Python."""
    return held.one_with if isinstance(held, Strided) else frozenset()


def is_same_number(a: Held, b: Held) -> bool:
    """Whether known numbers are the same: 0.0 is not -0.0."""
    return not (isinstance(a, Number) and isinstance(b, Number)) or repr(a.known) == repr(b.known)


def plain(held: Held) -> Held:
    """A number of which nothing is known but its type."""
    if not isinstance(held, Number) or held.maybe:
        return held
    size = Size.of(held.text) if held.is_integer else None
    _, low, high = bounds_of(held.type)
    if held.type is bool:
        low, high = 0, 1
    return Number(held.type, held.text, size, low, high)


def same_kind(a: Held, b: Held) -> bool:
    """Whether a name may hold one or the other: in C they are of one type."""
    if isinstance(a, Number) and isinstance(b, Number):
        ways = (bool(a.maybe), bool(a.whole)) == (bool(b.maybe), bool(b.whole))
        return (a.type, a.text) == (b.type, b.text) and ways
    return a == b
