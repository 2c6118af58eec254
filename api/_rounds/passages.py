"""Statements of a function as functions of their own: of what they read, to what they leave."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import FunctionType

from opweave.compiler.captures.source import code_of, read_in, stored_in

# Where a function that was made here has its tree.
TREE = "__opweave_tree__"
Loop = ast.For | ast.While
# Functions in a condition that change nothing.
ASKING = frozenset(("abs", "all", "any", "float", "int", "len", "max", "mean", "min", "sum"))


@dataclass(frozen=True)
class Passage:
    """Statements that become a function of their own.

    Attributes:
        of: the user's function.
        read: names of its own that they read before they surely assign to them.
        stored: names that they assign to; ``sure``: those that they do whatever way they take.
    """

    of: FunctionType
    nodes: Sequence[ast.stmt]
    read: frozenset[str]
    stored: frozenset[str]
    sure: frozenset[str]

    @property
    def is_plain(self) -> bool:
        """Whether they compute nothing: names and constants are assigned and returned."""
        plain = (ast.Assign, ast.Return, ast.Pass, ast.Name, ast.Constant, ast.Tuple, ast.Load,
                 ast.Store)  # fmt: skip
        nodes = (n for node in self.nodes for n in ast.walk(node))
        documented = (ast.Expr,) if all(map(is_text, self.nodes[:1])) else ()
        return all(isinstance(n, (*plain, *documented)) for n in nodes)

    def function(
        self, given: Sequence[str], returned: Sequence[str] | None,
        first: Sequence[ast.stmt] = (), nodes: Sequence[ast.stmt] | None = None,
    ) -> FunctionType:  # fmt: skip
        """A function of some names that runs the lines, and returns others.

        Names that are the user's own, and are not given, are unbound in it, too.

        Args:
            returned: names; None where the lines return by themselves.
            first: statements before them; ``nodes``: in their place.
        """
        function = self.of
        body = [copy.deepcopy(n) for n in (*first, *(self.nodes if nodes is None else nodes))]
        if returned is not None:
            values: list[ast.expr] = [ast.Name(n, ast.Load()) for n in returned]
            body.append(ast.Return(ast.Tuple(values, ast.Load())))
        unbound = sorted(self.read.difference(given))
        never = ast.parse("\n".join(["pass", *(f"{n} = None" for n in unbound)])).body
        if unbound or not body:
            body.insert(0, ast.If(ast.Constant(False), never, []))
        made = self._defined(given, body)
        code = code_of(made, function)
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        closure = tuple(cells[name] for name in code.co_freevars)
        found = FunctionType(code, function.__globals__, function.__name__, None, closure)
        setattr(found, TREE, made)
        found.__module__, found.__qualname__ = function.__module__, function.__qualname__
        return found

    def _defined(self, given: Sequence[str], body: list[ast.stmt]) -> ast.FunctionDef:
        """The tree of a function of some names, at the place of the user's."""
        made = ast.parse("def lines(): pass").body[0]
        assert isinstance(made, ast.FunctionDef)
        made.name, made.body = self.of.__name__, body
        made.args = ast.arguments([], [ast.arg(n) for n in given], None, [], [], None, [])
        made.lineno = self.of.__code__.co_firstlineno  # lines are counted from there
        made.end_lineno = max((n.end_lineno or 0 for n in self.nodes), default=made.lineno)
        for node in body:
            if not hasattr(node, "lineno"):
                ast.copy_location(node, self.nodes[-1] if self.nodes else made)
        return ast.fix_missing_locations(made)


class Ending:
    """A condition that ends a loop, between the statements of a round.

    Attributes:
        is_when: it ends where the condition holds; else where it does not.
        behind: lines in the place of those behind the loop; None for these.
        read: names of the function's own that both read; it assigns to none.
        is_pure: it may be asked again, as if it had not been.
    """

    stored = sure = frozenset[str]()

    def __init__(
        self, function: FunctionType, test: ast.expr, own: frozenset[str], is_when: bool,
        behind: Passage | None = None,
    ):  # fmt: skip
        self.is_when, self.behind = is_when, behind
        self._asked = _asked(function, test, own)
        called = (n.func for n in ast.walk(test) if isinstance(n, ast.Call))
        self.is_pure = all(getattr(f, "id", getattr(f, "attr", "")) in ASKING for f in called)
        self.read = (read_in(test) & own).union(behind.read if behind else ())

    def holds(self, truth: Callable[[Passage], bool]) -> bool:
        """Whether it holds, by the ``truth`` of its parts, which are asked as Python does."""
        return self._asked(truth)


# Asks a part of a condition, by the truth of lines that return a value.
Asked = Callable[[Callable[[Passage], bool]], bool]


def _asked(function: FunctionType, test: ast.expr, own: frozenset[str]) -> Asked:
    """``and``, ``or`` and ``not`` are Python's; what is between them is a function each."""
    if isinstance(test, ast.BoolOp):
        parts = [_asked(function, value, own) for value in test.values]
        return partial(_joined, parts, isinstance(test.op, ast.And))
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        part = _asked(function, test.operand, own)
        return lambda truth: not part(truth)
    lines = passage_of(function, [ast.copy_location(ast.Return(test), test)], own)
    return lambda truth: truth(lines)


def _joined(parts: Sequence[Asked], is_and: bool, truth: Callable[[Passage], bool]) -> bool:
    for part in parts:  # no generator, which would change a StopIteration
        if part(truth) != is_and:
            return not is_and
    return is_and


def passage_of(function: FunctionType, nodes: Sequence[ast.stmt], own: frozenset[str]) -> Passage:
    """Statements of a function, which has names of its own."""
    read, sure = _flow(nodes, frozenset())
    stored = frozenset().union(*map(stored_in, nodes)) & own
    return Passage(function, nodes, read & own, stored, sure & own)


def _flow(
    nodes: Sequence[ast.stmt], sure: frozenset[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """Names that statements read before they surely assign to them, and what they surely do."""
    read: frozenset[str] = frozenset()
    for node in nodes:
        if isinstance(node, ast.If):
            one, other = _flow(node.body, sure), _flow(node.orelse, sure)
            read |= (read_in(node.test) - sure) | one[0] | other[0]
            sure = one[1] & other[1]
        elif isinstance(node, Loop):
            asked = node.iter if isinstance(node, ast.For) else node.test
            bound = stored_in(node.target) if isinstance(node, ast.For) else set[str]()
            read |= (read_in(asked) - sure) | _flow(node.body, sure | bound)[0]
            read |= _flow(node.orelse, sure)[0]
        else:
            read |= read_in(node) - sure
            is_sure = isinstance(node, ast.Assign | ast.AugAssign) or (
                isinstance(node, ast.AnnAssign) and node.value is not None
            )
            sure = sure | stored_in(node) if is_sure else sure
    return read, sure


def is_text(node: ast.stmt) -> bool:
    """Whether a statement is a text, as of a function's documentation."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
