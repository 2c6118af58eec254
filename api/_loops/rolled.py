"""Functions whose loops are compiled, each as one function of C; Python runs the lines between."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from opweave.compiler.captures.exits import given_before, plain_loop
from opweave.compiler.captures.kinds import exactly, kinds_of
from opweave.compiler.captures.source import (
    NoLoopError,
    code_of,
    globals_in,
    read_in,
    reads_of,
    shared_in,
    stored_in,
    surely_stored_in,
    tree_of,
)
from opweave.compiler.loops.lowering import Lowering
from opweave.compiler.loops.values import AgainError
from opweave.opcodes.errors import OpweaveError
from opweave.runtime.host.loops import UNBOUND, HostLoop, NotServedError

# Kinds of calls of which a loop remembers what became of them.
MOST_KINDS = 64
# What no loop that is compiled has inside.
NEVER = (
    ast.Yield, ast.YieldFrom, ast.Await, ast.Try, ast.TryStar, ast.With, ast.Raise,
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp,
    ast.DictComp, ast.GeneratorExp, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom,
    ast.Delete, ast.NamedExpr, ast.JoinedStr, ast.Dict, ast.Set, ast.Assert, ast.Match,
)  # fmt: skip
# Names by which a function sees or changes its own names.
SEES_NAMES = frozenset(("locals", "vars", "eval", "exec", "globals", "dir"))


Place = tuple[int, int]  # line and column


@dataclass
class Site:
    """A loop of a function.

    Attributes:
        node: its syntax tree.
        results: the names that it assigns to and that are read elsewhere in the function.
        names: what it reads.
        compiled: how often it ran in C; ``left``: why it did not, where it did not.
    """

    function: FunctionType
    node: ast.For | ast.While
    results: tuple[str, ...]
    names: tuple[str, ...] = ()
    unbound: object = UNBOUND
    compiled: int = 0
    left: str = ""
    _known: dict[Any, HostLoop | None] = field(default_factory=dict)
    _quick: dict[Any, HostLoop] = field(default_factory=dict)
    _held: list[Any] = field(default_factory=list)

    def run(self, names: dict[str, Any]) -> tuple[Any, ...] | None:
        """What the names of its results hold afterwards; None where Python has to run it."""
        values = {name: names[name] for name in self.names if name in names}
        names.clear()  # a frame keeps what locals() has found, and arrays of the loop would stay
        key = exactly(values)
        if len(values) < len(self.names):
            key = (*key, *values)  # which names are bound
        found = self._quick.get(key) or self._found(key, values)
        if found is None or not found.holds():
            return None
        self.compiled += 1
        try:
            made = found(values)
        except NotServedError:
            self.compiled -= 1
            self.left = self.left or "arrays that share memory, or of other extents"
            return None
        if made is None or not self.results:
            return (self.unbound,) * len(self.results)
        left = dict(zip((r.name for r in found.lowered.results), made, strict=True))
        return tuple(left.get(name, self.unbound) for name in self.results)

    def _found(self, exact: Any, values: Mapping[str, Any]) -> HostLoop | None:
        """The loop for values that came in no such form before."""
        key = kinds_of(values)
        if key not in self._known:
            if len(self._known) >= MOST_KINDS:
                return None
            # ids are keys, but of arrays and lists
            self._held += [v for v in values.values() if type(v) not in (np.ndarray, list)]
            self._known[key] = self._lowered(values)
        found = self._known[key]
        if found is not None and len(self._quick) < MOST_KINDS:
            self._quick[exact] = found
        return found

    @property
    def sources(self) -> list[str]:
        """What was compiled."""
        return [found.lowered.source for found in self._known.values() if found is not None]

    def _lowered(self, values: Mapping[str, Any]) -> HostLoop | None:
        known: dict[str, frozenset[str]] = {}
        try:
            while True:
                lent = dict(values)
                try:
                    lowering = Lowering(self.function, lent, known)
                    return HostLoop(lowering.lowered(self.node, self.results))
                except AgainError as error:
                    names = known.get(error.what, frozenset())
                    if error.name in names:
                        raise
                    known[error.what] = names | {error.name}
                finally:
                    lent.clear()  # the parts of a lowering hold each other, and it
        except Exception as error:  # Python runs it, whatever is wrong
            self.left = f"{error}" if isinstance(error, OpweaveError) else repr(error)
            return None


class Rolled:
    """A function in which loops that can be are run by C.

    Attributes:
        sites: its loops, those within others too.
        left: the lines of loops that are left to Python, and why.
    """

    def __init__(self, function: FunctionType, but: frozenset[Place] = frozenset()):
        """``but``: the loops that are left to Python.

        Raises:
            NoLoopError: there is no source, or no loop.
        """
        tree = tree_of(function)
        if any(isinstance(n, ast.Name) and n.id in SEES_NAMES for n in ast.walk(tree)):
            raise NoLoopError(f"{function.__name__} sees its own names")
        self.function, self.but = function, but
        self.left: list[tuple[int, str]] = []
        self.sites: list[Site] = []
        made = _Rewriter(function, tree, self.sites, but).visit(copy.deepcopy(tree))
        if not self.sites:
            raise NoLoopError(f"{function.__name__} has no loop")
        if any(map(_is_mangled, ast.walk(tree))):
            raise NoLoopError(f"{function.__name__} has names that its class makes its own")
        code = _with_sites(code_of(made, function), self.sites)
        self._run = FunctionType(
            code, function.__globals__, function.__name__, function.__defaults__,
            function.__closure__,
        )  # fmt: skip
        self._run.__kwdefaults__ = function.__kwdefaults__  # as it is: what changes it is seen

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._run(*args, **kwargs)

    @property
    def in_c(self) -> list[tuple[int, str]]:
        """The lines of loops that ran in C, with their sources."""
        return [(s.node.lineno, text) for s in self.sites for text in s.sources]

    @property
    def ran(self) -> bool:
        """Whether a loop ran in C."""
        return any(site.compiled for site in self.sites)

    def settled(self) -> Rolled:
        """The same without the loops that were left to Python: to ask them costs a call."""
        refused = [s for s in self.sites if s.left and not s.compiled]
        if not refused or not self.ran:
            return self
        made = Rolled(self.function, self.but | {place_of(s.node) for s in refused})
        made.left = [(s.node.lineno, s.left) for s in refused]
        before = {place_of(s.node): s for s in self.sites}
        for site in made.sites:
            found = before[place_of(site.node)]
            site._known, site._held = found._known, found._held  # whose ids are keys of it
        return made


def place_of(node: ast.stmt) -> Place:
    """Where a loop stands."""
    return node.lineno, node.col_offset


class _Rewriter(ast.NodeTransformer):
    """Puts a call of its site before each loop: the loop itself runs where that leaves it."""

    def __init__(
        self,
        function: FunctionType,
        tree: ast.FunctionDef,
        sites: list[Site],
        but: frozenset[Place],
    ):
        self.function, self.sites, self.but = function, sites, but
        self.read = reads_of(tree)
        code = function.__code__
        self.elsewhere = {*code.co_cellvars, *code.co_freevars, *globals_in(tree)}
        self.depth = 0  # of loops around

    def visit_For(self, node: ast.For) -> Any:
        return self._loop(node)

    def visit_While(self, node: ast.While) -> Any:
        return self._loop(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        return self.generic_visit(node) if node.name == self.function.__name__ else node

    def _untouched(self, node: ast.AST) -> ast.AST:
        """Behind an error in it somebody may go on, with what names held where it was raised."""
        return node

    visit_Try = visit_TryStar = visit_With = visit_Lambda = visit_ClassDef = _untouched

    def _loop(self, node: ast.For | ast.While) -> Any:
        given, let_go = given_before(node)
        before, plain, after = plain_loop(node)
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        never = any(isinstance(n, NEVER) for n in ast.walk(plain))
        if never or self.elsewhere & stored_in(plain) or place_of(plain) in self.but:
            return [*given, node, *let_go]
        own = reads_of(plain)
        stored = sorted(stored_in(plain))
        read = {n: count - (0 if self.depth else own.get(n, 0)) for n, count in self.read.items()}
        # within another loop its own reads count, too: those of the next round
        asked = {name for each in after for name in reads_of(each)}
        results = tuple(name for name in stored if read.get(name, 0) > 0 or name in asked)
        kept = {*results} - surely_stored_in(plain)  # which a call may leave as they are
        kept |= shared_in(self.function.__code__)
        site = Site(self.function, plain, results, tuple(sorted(read_in(plain) | kept)))
        self.sites.append(site)
        called = _called(_constant_of(len(self.sites) - 1), node, results, after)
        return [*given, *before, *called, *let_go]


def _constant_of(number: int) -> str:
    """A text that stands for a site until the code is made."""
    return f"\0opweave's loop {number}"


def _called(
    site: str, node: ast.stmt, results: Sequence[str], after: Sequence[ast.stmt]
) -> list[ast.stmt]:
    """``made = site(locals())``, and what follows from it."""
    made = ast.Name("made of opweave", ast.Load())
    run = ast.Attribute(ast.Constant(site), "run", ast.Load())
    call = ast.Call(run, [ast.Call(ast.Name("locals", ast.Load()), [], [])], [])
    nothing = ast.Compare(made, [ast.Is()], [ast.Constant(None)])
    left: list[ast.stmt] = []
    for place, name in enumerate(results):
        item = ast.Subscript(made, ast.Constant(place), ast.Load())
        unbound = ast.Attribute(ast.Constant(site), "unbound", ast.Load())
        bound = ast.Compare(item, [ast.IsNot()], [unbound])
        left.append(ast.If(bound, [ast.Assign([ast.Name(name, ast.Store())], item)], []))
    start = ast.Assign([ast.Name("made of opweave", ast.Store())], call)
    found = [start, ast.If(nothing, [node], [*left, *after] or [ast.Pass()])]
    for each in found:
        ast.copy_location(each, node)
        ast.fix_missing_locations(each)
    return found


def _with_sites(code: CodeType, sites: Sequence[Site]) -> CodeType:
    """The code with the sites where their texts stand."""
    by_text: dict[Any, Any] = {_constant_of(n): s for n, s in enumerate(sites)}
    constants = tuple(by_text.get(c, c) if isinstance(c, str) else c for c in code.co_consts)
    return code.replace(co_consts=constants)


def _is_mangled(node: ast.AST) -> bool:
    """Whether a name means another one inside of a class."""
    name = getattr(node, "attr", getattr(node, "id", ""))
    return name.startswith("__") and not name.endswith("__")
