"""Loops that are left by ``return`` or have an ``else``, written by ``break`` and numbers alone.

for x in y:            way_out = 0
    if f(x):           for x in y:
        return x           if f(x):
else:             ->           way_out = 1
    z = 1                      break
                       if way_out == 1: return x
                       z = 1
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from typing import NamedTuple

# What says by which ``return`` a loop was left: names that no program has.
WAY = "way out"
# What a function that is called in a loop returns there; it is read where it is bound alone.
VALUE = "value out "
Loop = ast.For | ast.While
# What goes through its arguments.
WRAPPING = ("enumerate", "zip", "reversed")


class PlainLoop(NamedTuple):
    """A loop without ``return`` and ``else``, and the statements around it."""

    before: list[ast.stmt]
    loop: Loop
    after: list[ast.stmt]


def plain_loop(node: Loop) -> PlainLoop:
    """A loop, what sets its numbers, and what follows from them behind it."""
    return _plain(node, _Exits())


def _plain(node: Loop, exits: _Exits) -> PlainLoop:
    before, loop, after = exits.loop(copy.deepcopy(node))
    back = [_is(WAY, n, [ast.Return(e)]) for n, e in enumerate(exits.returned, 1)]
    if back:
        before = [_set(WAY, 0), *before]
    found = PlainLoop(before, loop, [*back, *after])
    for each in (*found.before, *found.after):
        ast.copy_location(each, node)
        ast.fix_missing_locations(each)
    ast.fix_missing_locations(loop)
    return found


def plain_body(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Statements of a function whose loops are left by ``break`` alone.

    What is returned is computed in the loop: names that it reads may be unbound behind it.
    """
    found: list[ast.stmt] = []
    for node in body:
        if isinstance(node, Loop):
            before, loop, after = _plain(node, _Exits(computes=True))
            found += [*before, loop, *after]
        elif isinstance(node, ast.If):
            made = copy.copy(node)
            made.body, made.orelse = plain_body(node.body), plain_body(node.orelse)
            found.append(made)
        else:
            found.append(node)
    return found


class _Exits:
    """Rewrites the statements of a loop.

    Attributes:
        returned: what each ``return`` gives.
        flags: of the loops around, what says that a ``break`` has left it; "" where nobody asks.
    """

    def __init__(self, computes: bool = False) -> None:
        self.computes = computes
        self.returned: list[ast.expr | None] = []
        self.flags: list[str] = []

    def loop(self, node: Loop) -> tuple[list[ast.stmt], Loop, list[ast.stmt]]:
        is_outermost, asked = not self.flags, node.orelse
        flag = f"broken {node.lineno} {node.col_offset}" if asked and _breaks(node.body) else ""
        count = len(self.returned)
        self.flags.append(flag)
        node.body, node.orelse = self.block(node.body), []
        self.flags.pop()
        after: list[ast.stmt] = []
        if len(self.returned) > count and not is_outermost:
            after.append(_is(WAY, 0, [ast.Pass()], [ast.Break()]))
        behind = asked if is_outermost else self.block(asked)
        after += [_is(flag, 0, behind)] if flag else behind
        return [_set(flag, 0)] if flag else [], node, after

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for node in body:
            found += [ast.copy_location(each, node) for each in self._written(node)]
        return found

    def _written(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, ast.Return):
            self.returned.append(node.value)
            left = [_set(WAY, len(self.returned)), ast.Break()]
            if not self.computes or node.value is None:
                return left
            name = f"{VALUE}{node.lineno} {node.col_offset}"
            self.returned[-1] = ast.Name(name, ast.Load())
            return [ast.Assign([ast.Name(name, ast.Store())], node.value), *left]
        if isinstance(node, ast.Break):
            flag = self.flags[-1]
            return [_set(flag, 1), node] if flag else [node]
        if isinstance(node, Loop):
            before, loop, after = self.loop(node)
            return [*before, loop, *after]
        if isinstance(node, ast.If):
            node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return [node]


def _breaks(body: Sequence[ast.stmt]) -> bool:
    """Whether statements of a loop leave it by ``break``."""
    for node in body:
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, ast.If) and (_breaks(node.body) or _breaks(node.orelse)):
            return True
        if isinstance(node, Loop) and _breaks(node.orelse):
            return True
    return False


def _set(name: str, value: int | None) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value))


def _is(name: str, number: int, body: list[ast.stmt], orelse: Sequence[ast.stmt] = ()) -> ast.stmt:
    asked = ast.Compare(ast.Name(name, ast.Load()), [ast.Eq()], [ast.Constant(number)])
    return ast.If(asked, body, list(orelse))


def given_before(node: Loop) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Take calls out of what a loop goes through: they run before it, whoever runs its rounds.

    What Python computes before such a call is taken out, too: the call may change it.

    Returns:
        The statements before the loop, and those behind it, which let go of what was computed.
    """
    if not isinstance(node, ast.For):
        return [], []
    sources: list[tuple[ast.expr, bool]] = []

    def noted(part: ast.expr, is_bound: bool) -> ast.expr:
        sources.append((part, is_bound))
        return part

    _with_sources(node.iter, noted)
    asked = {n for n, (part, is_bound) in enumerate(sources) if not is_bound and _calls(part)}
    found: list[ast.stmt] = []
    left: list[ast.stmt] = []
    places = iter(range(len(sources)))

    def named(part: ast.expr, is_bound: bool) -> ast.expr:
        place = next(places)
        is_fixed = isinstance(part, ast.Name | ast.Constant)
        if place not in asked and (is_fixed or place > max(asked, default=-1)):
            return part
        name = f"rows {node.lineno} {node.col_offset} {len(found)}"
        made = ast.Assign([ast.Name(name, ast.Store())], part)
        found.append(ast.fix_missing_locations(ast.copy_location(made, part)))
        left.append(ast.fix_missing_locations(ast.copy_location(_set(name, None), part)))
        return ast.fix_missing_locations(ast.copy_location(ast.Name(name, ast.Load()), part))

    node.iter = _with_sources(node.iter, named)
    return found, left


def _with_sources(
    part: ast.expr, visit: Callable[[ast.expr, bool], ast.expr], is_bound: bool = False
) -> ast.expr:
    """What a loop goes through, with its sources visited in order; bounds of ranges are some."""
    if isinstance(part, ast.Starred):
        part.value = _with_sources(part.value, visit, is_bound)
        return part
    name = getattr(part.func, "id", "") if isinstance(part, ast.Call) else ""
    if is_bound or name not in ("range", *WRAPPING):
        return visit(part, is_bound)
    assert isinstance(part, ast.Call)
    part.args = [_with_sources(arg, visit, name == "range") for arg in part.args]
    return part


def _calls(part: ast.expr) -> bool:
    return any(isinstance(n, ast.Call) for n in ast.walk(part))
