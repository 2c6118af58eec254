"""Functions with a loop as three: the lines before it, one round of it, and the lines behind.

def f(u, n):                  before: def f(u): v = u * 2; return v
    v = u * 2                 round:  def f(v, i): v = v + i; return v
    for i in range(n):   ->   behind: def f(v): return v.sum()
        v = v + i
    return v.sum()

A round of a loop that a condition ends (``while``, or ``if ...: break`` and ``if ...: return``
between its statements) is several such functions, with the conditions between them.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import FunctionType

from opweave._rounds.passages import TREE, Ending, Loop, Passage, is_text, passage_of
from opweave.compiler.captures.source import (
    SEES_NAMES,
    NoLoopError,
    tree_of,
)
from opweave.opcodes.cached import cached_property

# What no function has that is taken apart: it binds or keeps names in ways of its own.
NEVER = (
    ast.Yield, ast.YieldFrom, ast.Await, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef,
    ast.Lambda, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom, ast.Delete, ast.NamedExpr,
)  # fmt: skip
# What leaves a round before its end, or goes on behind an error in it.
NEVER_IN_ROUNDS = (ast.Try, ast.TryStar, ast.With, ast.Raise, ast.Assert, ast.Return, ast.Match)
# Functions that change nothing, such as stand before a loop.
MAKING = frozenset((
    "arange", "astype", "copy", "empty", "empty_like", "float", "full", "full_like", "int", "len",
    "linspace", "ones", "ones_like", "range", "zeros", "zeros_like",
))  # fmt: skip
# What names the rounds of a loop that are left, and counts those of a ``while``.
REST, ROUND = "rounds of opweave", "opweave_round"
SEES_FRAMES = frozenset(("_getframe", "currentframe"))


@dataclass(frozen=True)
class Split:
    """A function with a loop over a range, or with one that a condition ends.

    Attributes:
        before, round, behind: its lines.
        loop: the loop.
        parameters: of the function.
        target: the name that counts the rounds.
        results: names that a round leaves to the next one, or to the lines behind.
        pieces: of a round, in order, with the conditions that may end it.
    """

    before: Passage
    round: Passage
    behind: Passage
    loop: Loop
    parameters: tuple[str, ...]
    target: str
    results: tuple[str, ...]
    pieces: tuple[Passage | Ending, ...]

    @cached_property
    def items(self) -> Passage | None:
        """What the loop goes through, as lines that return it; None of a ``while``."""
        if isinstance(self.loop, ast.While):
            return None
        returned = ast.copy_location(ast.Return(self.loop.iter), self.loop.iter)
        return passage_of(self.round.of, [returned], self.own)

    @cached_property
    def others(self) -> Passage:
        """The loop itself over what ``REST`` names, as lines."""
        assert isinstance(self.loop, ast.For)
        loop = ast.For(self.loop.target, ast.Name(REST, ast.Load()), self.loop.body, [])
        return passage_of(self.round.of, [ast.copy_location(loop, self.loop)], self.own)

    @property
    def own(self) -> frozenset[str]:
        """The names of the function."""
        lines = self.before, self.round, self.behind
        return frozenset(self.parameters).union({self.target}, *(each.stored for each in lines))

    @cached_property
    def is_pure(self) -> bool:
        """Whether nothing is left of the lines before the loop but what names have there."""
        asked = self.loop.iter if isinstance(self.loop, ast.For) else self.loop.test
        nodes = [n for s in (*self.before.nodes, asked) for n in ast.walk(s)]
        called = (n.func for n in nodes if isinstance(n, ast.Call))
        stores = (ast.Subscript, ast.Attribute)
        return (
            all(getattr(f, "id", getattr(f, "attr", "")) in MAKING for f in called)
            and not any(isinstance(n, ast.AugAssign) for n in nodes)
            and not any(isinstance(n, stores) and isinstance(n.ctx, ast.Store) for n in nodes)
            and all(isinstance(s, ast.Assign) or is_text(s) for s in self.before.nodes)
        )

    @property
    def is_nested(self) -> bool:
        """Whether a round has a loop of its own level."""
        return any(isinstance(node, ast.For) for node in self.round.nodes)

    @property
    def is_asking(self) -> bool:
        """Whether a round has a loop of its own level that a condition may end."""
        loops = (node for node in self.round.nodes if isinstance(node, Loop))
        return any(isinstance(n, ast.While) or _jumps(n.body) for n in loops)

    @property
    def is_ended(self) -> bool:
        """Whether conditions end the loop, or nothing does."""
        is_while = isinstance(self.loop, ast.While)
        return is_while or any(isinstance(piece, Ending) for piece in self.pieces)

    @cached_property
    def needed(self) -> frozenset[str]:
        """What a round reads of what was there before, and may leave as it is."""
        needed, sure = self.items.read if self.items else frozenset[str](), {self.target}
        for piece in self.pieces:
            passed = piece.stored & {*self.results} - piece.sure
            needed |= (piece.read | passed) - sure
            sure |= piece.sure
        return needed

    @property
    def kept(self) -> frozenset[str]:
        """What the lines before the loop leave; names keep that where no round comes."""
        return self.before.stored & (self.needed | {*self.results} | self.behind.read)

    def only(self, lines: Passage) -> Split:
        """The same with rounds of these lines alone, and what they leave."""
        return replace(self, round=lines, results=(*sorted(lines.stored & {*self.results}),))


def split(function: FunctionType) -> Split:
    """The lines of a function around its first loop.

    Raises:
        NoLoopError: there is none over a range, nor one that a condition ends; its rounds may be
            left in other ways; or the function does with its names what its lines could not.
    """
    tree, code, name = _tree_of(function), function.__code__, function.__name__
    at = next((n for n, node in enumerate(tree.body) if isinstance(node, Loop)), None)
    if at is None:
        raise NoLoopError(f"{name} has no loop of its own level")
    loop = tree.body[at]
    assert isinstance(loop, Loop)
    own, target = _own_names(function, tree), _checked(loop, name)
    if any(isinstance(n, ast.Return) for node in tree.body[:at] for n in ast.walk(node)):
        raise NoLoopError(f"{name} may return before its loop")
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    before, inside = (
        passage_of(function, tree.body[:at], own),
        passage_of(function, loop.body, own),
    )
    behind = passage_of(function, [*loop.orelse, *tree.body[at + 1 :]], own)
    pieces = _pieces(function, loop, own)
    between = frozenset[str]().union(*(piece.read for piece in pieces))
    results = inside.stored & (inside.read | behind.read | between) - {target}
    kept = (*sorted(results),)
    made = Split(before, inside, behind, loop, parameters, target, kept, pieces)
    bound = before.sure.union(parameters)
    if not made.needed | made.kept <= bound or target in inside.stored | before.stored:
        raise NoLoopError(f"{name} has names in its loop that may be nobody's")
    return made


def _pieces(
    function: FunctionType, loop: Loop, own: frozenset[str]
) -> tuple[Passage | Ending, ...]:
    """The pieces of a round.

    Raises:
        NoLoopError: a round may be left in the midst of a statement, or ``else`` asks how.
    """
    ends = [n for n in loop.body if isinstance(n, ast.If) and _leaves(n)]
    if ends and loop.orelse:
        raise NoLoopError(f"the loop of {function.__name__} has an else, and a break")
    pieces: list[Passage | Ending] = []
    if isinstance(loop, ast.While) and not _is_true(loop.test):
        pieces.append(Ending(function, loop.test, own, is_when=False))
    lines: list[ast.stmt] = []
    for node in (*loop.body, None):
        if node is not None and node not in ends:
            lines.append(node)
            continue
        if lines:
            pieces.append(passage_of(function, lines, own))
            lines = []
        if isinstance(node, ast.If):
            is_break = isinstance(node.body[0], ast.Break)
            behind = None if is_break else passage_of(function, node.body, own)
            pieces.append(Ending(function, node.test, own, True, behind))
    return tuple(pieces)


def _is_true(test: ast.expr) -> bool:
    """Whether a condition always holds, as in ``while True``."""
    return isinstance(test, ast.Constant) and bool(test.value)


def _leaves(node: ast.If) -> bool:
    """Whether a statement is a condition, and a break or a return where it holds."""
    is_one = not node.orelse and len(node.body) == 1
    return is_one and isinstance(node.body[0], ast.Break | ast.Return)


def _tree_of(function: FunctionType) -> ast.FunctionDef:
    """The tree of a function that names alone tell apart.

    Raises:
        NoLoopError: it has others inside, or sees its own names, or has no source.
    """
    tree = function.__dict__[TREE] if TREE in function.__dict__ else tree_of(function)
    assert isinstance(tree, ast.FunctionDef)
    is_variadic = function.__code__.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    if is_variadic or any(isinstance(n, NEVER) or _sees_names(n) for n in _inside(tree)):
        raise NoLoopError(f"{function.__name__} does more with its names than to assign to them")
    return tree


def _own_names(function: FunctionType, tree: ast.FunctionDef) -> frozenset[str]:
    """The names of a function, but for those of comprehensions.

    Raises:
        NoLoopError: ``range`` is one of them, or a name is of both.
    """
    code, nodes = function.__code__, _inside(tree)
    targets = [n.target for n in nodes if isinstance(n, ast.comprehension)]
    within = {id(n) for t in targets for n in ast.walk(t)}
    each = {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    names = (n for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    own = {n.id for n in names if id(n) not in within}.union(parameters)
    is_pythons = function.__globals__.get("range", range) is range
    if each & own or "range" in {*own, *code.co_freevars} or not is_pythons:
        raise NoLoopError(f"{function.__name__} has one name for two things")
    return frozenset(own)


def _checked(loop: Loop, name: str) -> str:
    """The name that counts the rounds of a loop.

    Raises:
        NoLoopError: it goes through no range, or may be left in the midst of a statement.
    """
    rest = [n for n in loop.body if not (isinstance(n, ast.If) and _leaves(n))]
    inside = [n for node in rest for n in ast.walk(node)]
    if any(isinstance(n, NEVER_IN_ROUNDS) for n in inside) or _jumps(rest):
        raise NoLoopError(f"the loop of {name} may be left in the midst of a round")
    if isinstance(loop, ast.While):
        return ROUND
    called = loop.iter.func if isinstance(loop.iter, ast.Call) else None
    is_range = isinstance(called, ast.Name) and called.id == "range"
    if not is_range or not isinstance(loop.target, ast.Name):
        raise NoLoopError(f"the loop of {name} goes through no range")
    return loop.target.id


def _jumps(body: Sequence[ast.stmt]) -> bool:
    """Whether statements of a loop leave its round; loops inside of it have their own."""
    for node in body:
        if isinstance(node, ast.Break | ast.Continue):
            return True
        if isinstance(node, Loop):
            if _jumps(node.orelse):
                return True
        elif isinstance(node, ast.If) and (_jumps(node.body) or _jumps(node.orelse)):
            return True
    return False


def _inside(tree: ast.FunctionDef) -> list[ast.AST]:
    """The nodes of a function, but for itself and its parameters."""
    return [n for node in tree.body for n in ast.walk(node)]


def _sees_names(node: ast.AST) -> bool:
    own, attribute = getattr(node, "id", ""), getattr(node, "attr", "")
    mangled = any(n.startswith("__") and not n.endswith("__") for n in (own, attribute))
    return own in SEES_NAMES | SEES_FRAMES or attribute in SEES_FRAMES or mangled
