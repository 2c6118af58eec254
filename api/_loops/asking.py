"""Statements that ask whether C or kernels run what stands behind them."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import CodeType
from typing import Any

from opweave._loops.stretches import EXTENTS, RETURNED, Lines, Stretch


def constant_of(number: int) -> str:
    """A text that stands for a site until the code is made."""
    return f"\0opweave's loop {number}"


def asking_loop(
    site: str, node: ast.stmt, results: Sequence[str], after: Sequence[ast.stmt]
) -> list[ast.stmt]:
    """``made = site.start(locals())``, and what follows from it."""
    made = ast.Name("made of opweave", ast.Load())
    start = ast.Attribute(ast.Constant(site), "start", ast.Load())
    call = ast.Call(start, [ast.Call(ast.Name("locals", ast.Load()), [], [])], [])
    nothing = ast.Compare(made, [ast.Is()], [ast.Constant(None)])
    left: list[ast.stmt] = []
    for place, name in enumerate(results):
        item = ast.Subscript(made, ast.Constant(place), ast.Load())
        unbound = ast.Attribute(ast.Constant(site), "unbound", ast.Load())
        bound = ast.Compare(item, [ast.IsNot()], [unbound])
        left.append(ast.If(bound, [ast.Assign([ast.Name(name, ast.Store())], item)], []))
    asked = ast.Assign([ast.Name("made of opweave", ast.Store())], call)
    found = [asked, ast.If(nothing, [node], [*left, *after] or [ast.Pass()])]
    for each in found:
        ast.copy_location(each, node)
        ast.fix_missing_locations(each)
    return found


def asking_function(site: str, function: ast.expr) -> ast.expr:
    """``site.of(function)``."""
    asked = ast.Attribute(ast.Constant(site), "of", ast.Load())
    call = ast.copy_location(ast.Call(asked, [function], []), function)
    return ast.fix_missing_locations(call)


def asking_lines(sites: Sequence[tuple[Stretch, str] | None], lines: Lines) -> list[ast.stmt]:
    """Statements, before each of which a stretch is asked that begins there, if one does.

    Args:
        sites: of each statement, with the text that stands for it in the code.
    """
    found: list[ast.stmt] = []
    is_asked = False
    for place, (site, node) in enumerate(zip(sites, lines.nodes, strict=True)):
        made: list[ast.stmt] = []
        if site is not None:
            made = _asking(*site, is_first=not is_asked)
            is_asked = True
        if not is_asked:
            found.append(node)
            continue
        (alone,) = ast.parse(f"if not made or {place} >= end: pass").body
        assert isinstance(alone, ast.If)
        _Renamed().visit(alone)
        for each in (*made, alone):
            for part in ast.walk(each):
                ast.copy_location(part, node)
        alone.body = [node]
        found += [*made, alone]
    return found


def _asking(site: Stretch, text: str, is_first: bool) -> list[ast.stmt]:
    """What asks a stretch, and assigns what it has made."""
    names = [n for n in site.results if n != RETURNED]
    left = [
        f"if made[1][{n}] is not site.unbound: name{n} = made[1][{n}]" for n in range(len(names))
    ]
    if RETURNED in site.results:
        left.append("if made[1][-1] is not site.unbound: return made[1][-1]")
    asked = [
        "made = site.run(locals()) if site.open else site.shut",
        "end = made[0]",
        "if made[1] is not None:",
        *(f"    {line}" for line in [*left, "pass"]),
        "made = made[1] is not None",
    ]
    head = [] if is_first else [f"if {site.begin} >= end:"]
    body = ast.parse("\n".join([*head, *((f"    {line}" if head else line) for line in asked)]))
    renamed = _Renamed({f"name{n}": name for n, name in enumerate(names)}, text)
    return [renamed.visit(node) for node in body.body]


class _Renamed(ast.NodeTransformer):
    """Gives names that no program has, and the text of a site in its place."""

    def __init__(self, names: Mapping[str, str] = {}, text: str = ""):
        self.names = {"made": "lines made of opweave", "end": "end of opweave", **names}
        self.text = text

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == "site":
            return ast.Constant(self.text)
        node.id = self.names.get(node.id, node.id)
        return node


def with_sites(code: CodeType, sites: Sequence[Any]) -> CodeType:
    """The code with the sites where their texts stand."""
    by_text: dict[Any, Any] = {constant_of(n): s for n, s in enumerate(sites)}
    constants = tuple(by_text.get(c, c) if isinstance(c, str) else c for c in code.co_consts)
    return code.replace(co_consts=constants)


def extents_noted(text: str, tree: ast.FunctionDef) -> None:
    """Have a function note the extents of its arguments, before all else."""
    (noted,) = ast.parse("made = site.extents(locals())").body
    for part in ast.walk(_Renamed({"made": EXTENTS}, text).visit(noted)):
        ast.copy_location(part, tree)
    tree.body.insert(0, noted)
