"""A function's syntax tree with questions before its loops, and before lines of it."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from types import FunctionType
from typing import Any

from opweave._loops.asking import (
    asking_function,
    asking_lines,
    asking_loop,
    constant_of,
    extents_noted,
)
from opweave._loops.attributes import lifted
from opweave._loops.called import CalledFunctions, CallSite, may_have_loops
from opweave._loops.sites import Place, Site, place_of
from opweave._loops.stretches import VALUE, Lines, Make, Stretch
from opweave.compiler.captures.exits import given_before, plain_loop
from opweave.compiler.captures.source import (
    globals_in,
    kept_by_functions,
    read_in,
    reads_of,
    shared_in,
    stored_in,
    surely_stored_in,
    told_in,
)
from opweave.compiler.loops.comprehensions import OF_EACH
from opweave.compiler.loops.listing import read_lists

# What no loop that is compiled has inside.
NEVER = (
    ast.Yield, ast.YieldFrom, ast.Await, ast.Try, ast.TryStar, ast.With, ast.Raise,
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp,
    ast.DictComp, ast.GeneratorExp, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom,
    ast.Delete, ast.NamedExpr, ast.JoinedStr, ast.Dict, ast.Set, ast.Assert, ast.Match,
)  # fmt: skip
# C may run these, as loops of their own.
COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp)
NEVER_IN_C = tuple(kind for kind in NEVER if kind not in COMPREHENSIONS)


AnySite = Site | Stretch | CallSite


class SiteRewriter(ast.NodeTransformer):
    """Puts a call of its site before each loop: the loop itself runs where that leaves it.

    Likewise before statements that kernels may run.
    """

    def __init__(
        self,
        function: FunctionType,
        tree: ast.FunctionDef,
        sites: list[AnySite],
        but: frozenset[Place],
        make: Make | None,
        called: CalledFunctions | None,
    ):
        self.function, self.sites, self.but, self.make = function, sites, but, make
        self.tree, self.called = tree, called
        self.inner = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
        self.read = Counter(reads_of(tree)) + Counter(told_in(tree))
        # held: no node that is made here gets the identity of one that was replaced
        self.own = {id(node): node for node in ast.walk(tree)}
        code = function.__code__
        self.elsewhere = {*kept_by_functions(code), *code.co_freevars, *globals_in(tree)}
        self.depth = 0  # of loops around

    def rewritten(self) -> ast.FunctionDef:
        """The tree with all of that."""
        made = self.visit(self.tree)
        assert isinstance(made, ast.FunctionDef)
        first = next((n for n, site in enumerate(self.sites) if isinstance(site, Stretch)), None)
        if first is not None:
            extents_noted(constant_of(first), made)
        return made

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse") if self.make is not None else ():
            block = getattr(node, name, None)
            if isinstance(block, list):
                setattr(node, name, self._with_stretches(block))
        return node

    def _with_stretches(self, block: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Statements, those that follow each other as lines that kernels may run."""
        found: list[ast.stmt] = []
        for is_one, group in groupby(block, self._may_be_kernels):
            nodes = list(group)
            if is_one:
                assert self.make is not None
                nodes = [part for node in nodes for part in _split(node)]
                lines = Lines(self.function, nodes, self.read, self.depth > 0, self.make)
                nodes = asking_lines([self._stretch(lines, n) for n in range(len(nodes))], lines)
            found += nodes
        return found

    def _may_be_kernels(self, node: ast.stmt) -> bool:
        is_own = id(node) in self.own and _is_simple(node)
        return is_own and not any(isinstance(n, NEVER) for n in ast.walk(node)) and (
            self.elsewhere.isdisjoint(stored_in(node))
        )  # fmt: skip

    def _stretch(self, lines: Lines, begin: int) -> tuple[Stretch, str] | None:
        site = Stretch(lines, begin)
        if place_of(site.node) in self.but:
            return None
        self.sites.append(site)
        return site, constant_of(len(self.sites) - 1)

    def visit_For(self, node: ast.For) -> Any:
        return self._loop(node)

    def visit_While(self, node: ast.While) -> Any:
        return self._loop(node)

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        may = self.called is not None and id(node) in self.own
        if may and place_of(node) not in self.but and (
            may_have_loops(node.func, self.function, self.inner)
        ):  # fmt: skip
            assert self.called is not None
            self.sites.append(CallSite(node, self.called))
            node.func = asking_function(constant_of(len(self.sites) - 1), node.func)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        return self.generic_visit(node) if node is self.tree else node

    def _untouched(self, node: ast.AST) -> ast.AST:
        """Behind an error in it somebody may go on, with what names held where it was raised."""
        return node

    visit_Try = visit_TryStar = visit_With = visit_Lambda = visit_ClassDef = _untouched

    def _loop(self, node: ast.For | ast.While) -> Any:
        given, let_go = given_before(node)
        before, plain, after = plain_loop(node)
        attributes = lifted(plain, self.function)
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        never = any(isinstance(n, NEVER_IN_C) for n in ast.walk(plain))
        if never or self.elsewhere & stored_in(plain) or place_of(plain) in self.but:
            return [*given, node, *let_go]
        own = reads_of(plain)
        stored = sorted(name for name in stored_in(plain) if not name.startswith(OF_EACH))
        read = {n: count - (0 if self.depth else own.get(n, 0)) for n, count in self.read.items()}
        # within another loop its own reads count, too: those of the next round
        asked = {name for each in after for name in reads_of(each)}
        results = tuple(name for name in stored if read.get(name, 0) > 0 or name in asked)
        kept = {*results} - surely_stored_in(plain)  # which a call may leave as they are
        kept |= shared_in(self.function.__code__)
        names = tuple(sorted(read_in(plain) | kept | {each.name for each in attributes}))
        inner = (read_lists(each) for each in self.inner.values() if each is not self.tree)
        lists = read_lists(plain).union(*inner)
        site = Site(
            self.function, plain, results, names, attributes, self.depth > 0,
            tuple(n for n in names if n in lists),
        )  # fmt: skip
        self.sites.append(site)
        called = asking_loop(constant_of(len(self.sites) - 1), node, results, after)
        return [*given, *before, *called, *let_go]


def _is_simple(node: ast.stmt) -> bool:
    """Whether a statement has no others inside, and may be part of a stretch."""
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    is_valued = isinstance(node, ast.AnnAssign | ast.Return) and node.value is not None
    return is_valued or isinstance(node, ast.Assign | ast.AugAssign)


def _split(node: ast.stmt) -> list[ast.stmt]:
    """A statement that stores what it computes: what it computes has a name of its own.

    So kernels compute it where they do not store it, as in a place that a loop counts.
    """
    if not isinstance(node, ast.Assign) or isinstance(node.value, ast.Name | ast.Constant):
        return [node]
    target, *others = node.targets
    if others or not isinstance(target, ast.Subscript):
        return [node]
    name = f"{VALUE}{node.lineno}_{node.col_offset}"
    computed = ast.Assign([ast.Name(name, ast.Store())], node.value)
    stored = ast.Assign([target], ast.Name(name, ast.Load()))
    let_go = ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None))
    ast.copy_location(let_go, node)  # its end: no two statements begin at one place
    let_go.lineno, let_go.col_offset = node.end_lineno or 0, node.end_col_offset or 0
    made = [ast.copy_location(computed, node.value), ast.copy_location(stored, node), let_go]
    return [*map(ast.fix_missing_locations, made)]
