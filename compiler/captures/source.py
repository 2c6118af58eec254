"""Syntax trees of the user's functions, held to the code that runs."""

from __future__ import annotations

import ast
import copy
import inspect
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dis import opmap
from functools import cache, lru_cache
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from opweave.opcodes.errors import OpweaveError


class NoLoopError(OpweaveError):
    """A loop that is not compiled: Python runs it."""


# Instructions of ``for`` and ``while``; which there are depends on the version of Python.
LOOPING = frozenset(
    number for name, number in opmap.items() if "JUMP_BACKWARD" in name or name == "FOR_ITER"
)
# Names by which a function sees or changes its own names.
SEES_NAMES = frozenset(("locals", "vars", "eval", "exec", "globals", "dir"))
# Names in a text.
NAME = re.compile(r"[^\W\d]\w*")


class _Module(NamedTuple):
    """A file: its functions by name and first line, decorators included, and their codes."""

    functions: Mapping[tuple[str, int], ast.FunctionDef]
    codes: Sequence[CodeType]


def has_loop(code: CodeType) -> bool:
    """Whether a code may have a loop, those inside of it left aside; its source is not asked."""
    return not LOOPING.isdisjoint(code.co_code[::2])


def tree_of(function: FunctionType) -> ast.FunctionDef:
    """The syntax tree of a function, without its decorators; what is in it belongs to all.

    Raises:
        NoLoopError: there is no source, or it is not that of the code that runs.
    """
    name, code = function.__name__, function.__code__
    try:
        lines, _ = inspect.findsource(function)
        module = _parsed("".join(lines), code.co_filename)
    except (OSError, TypeError, SyntaxError, ValueError):
        raise NoLoopError(f"{name}, whose source is not there") from None
    tree = module.functions.get((code.co_name, code.co_firstlineno))
    if tree is None or not any(same_code(found, code) for found in module.codes):
        raise NoLoopError(f"{name}, whose source is not that of the code that runs")
    alone = copy.copy(tree)
    alone.decorator_list = []
    return alone


@lru_cache(maxsize=8)  # files that functions are asked of in turn
def _parsed(text: str, filename: str) -> _Module:
    tree = ast.parse(text, filename)
    whole = compile(tree, filename, "exec", dont_inherit=True)
    functions: dict[tuple[str, int], ast.FunctionDef] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            functions.setdefault((node.name, first), node)
    functions |= _lambdas_in(tree)
    return _Module(functions, tuple(_within(whole)))


def _lambdas_in(module: ast.Module) -> dict[tuple[str, int], ast.FunctionDef]:
    """The lambdas that are the only ones of their lines, as functions."""
    found = [n for n in ast.walk(module) if isinstance(n, ast.Lambda)]
    counted = Counter(n.lineno for n in found)
    return {("<lambda>", n.lineno): _as_function(n) for n in found if counted[n.lineno] == 1}


def _as_function(node: ast.Lambda) -> ast.FunctionDef:
    made = ast.parse("def function(): return 0").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.args, made.body = node.args, [ast.Return(node.body)]
    for part in (made, made.body[0]):
        ast.copy_location(part, node)
    return made


def _within(code: CodeType) -> Iterator[CodeType]:
    """The codes inside of a code, at any depth."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _within(constant)


def code_of(tree: ast.FunctionDef, function: FunctionType) -> CodeType:
    """The code of a tree, compiled with a function's free names."""
    free = function.__code__.co_freevars
    body: list[ast.stmt] = [tree]
    if free:
        body = ast.parse(f"def outside({', '.join(free)}): pass").body
        assert isinstance(body[0], ast.FunctionDef)
        body[0].body = [tree]
    module = ast.fix_missing_locations(ast.Module(body, []))
    found: CodeType = compile(module, function.__code__.co_filename, "exec", dont_inherit=True)
    return _with_inner(next(c for c in _within(found) if _is_code_of(c, tree)), function.__code__)


def _with_inner(code: CodeType, own: CodeType) -> CodeType:
    """A code with the functions that the user's has inside, which are found in the source.

    Of a function alone Python may compile other code than of its module, which imports names.
    """
    inner = list(_directly_in(own))
    if [*map(_place_of, _directly_in(code))] != [*map(_place_of, inner)]:
        return code
    left = iter(inner)
    constants = (next(left) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_consts=tuple(constants))


def _place_of(code: CodeType) -> tuple[Any, ...]:
    """Where a code stands, and the order of its cells, which are given by their places."""
    return code.co_name, code.co_firstlineno, code.co_freevars


def _directly_in(code: CodeType) -> Iterator[CodeType]:
    return (c for c in code.co_consts if isinstance(c, CodeType))


def _is_code_of(code: CodeType, tree: ast.FunctionDef) -> bool:
    return (code.co_name, code.co_firstlineno) == (tree.name, tree.lineno)


def same_code(a: CodeType, b: CodeType) -> bool:
    """Whether two codes do the same."""
    if (a.co_firstlineno, a.co_code, a.co_names, a.co_varnames, a.co_freevars, a.co_cellvars) != (
        b.co_firstlineno, b.co_code, b.co_names, b.co_varnames, b.co_freevars, b.co_cellvars
    ):  # fmt: skip
        return False
    if len(a.co_consts) != len(b.co_consts):
        return False
    return all(
        same_code(x, y) if isinstance(x, CodeType) and isinstance(y, CodeType)
        else type(x) is type(y) and repr(x) == repr(y)
        for x, y in zip(a.co_consts, b.co_consts, strict=True)
    )  # fmt: skip


def stored_in(node: ast.AST) -> set[str]:
    """The names that a statement assigns to."""
    return {n.id for n in _names(node) if isinstance(n.ctx, ast.Store)}


def shared_in(code: CodeType) -> set[str]:
    """The names of a function that functions inside of it read."""
    return {n for c in _directly_in(code) for n in c.co_freevars if n in code.co_cellvars}


def kept_by_functions(code: CodeType) -> set[str]:
    """The same but for comprehensions, which are done with them where they stand."""
    found = set[str]()
    for inner in _directly_in(code):
        is_done = inner.co_name in ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
        found |= kept_by_functions(inner) if is_done else {*inner.co_freevars}
    return found.intersection((*code.co_cellvars, *code.co_freevars))


def surely_stored_in(node: ast.For | ast.While) -> set[str]:
    """The names that every round of a loop assigns to, whatever way it takes."""
    found = stored_in(node.target) if isinstance(node, ast.For) else set()
    for statement in node.body:
        if any(isinstance(n, ast.Break | ast.Continue) for n in ast.walk(statement)):
            break
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            found |= stored_in(statement)
    return found


@cache
def read_in(node: ast.AST) -> frozenset[str]:
    """The names that a statement reads, also those that it adds to."""
    added = {
        n.target.id
        for n in ast.walk(node)
        if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
    }
    return frozenset({n.id for n in _names(node) if isinstance(n.ctx, ast.Load)} | added)


def reads_of(node: ast.AST) -> dict[str, int]:
    """How often each name is read."""
    found: dict[str, int] = {}
    for n in ast.walk(node):
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store):
            found[n.id] = found.get(n.id, 0) + 1
        elif isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name):
            found[n.target.id] = found.get(n.target.id, 0) + 1
    return found


def told_in(tree: ast.FunctionDef) -> set[str]:
    """The names in its texts, but for its docstring: who is given one may look them up.

    As ``evaluate("a + b")`` of numexpr does, in the frame that calls it.
    """
    body = tree.body[1:] if ast.get_docstring(tree, clean=False) is not None else tree.body
    nodes = (n for statement in body for n in ast.walk(statement))
    texts = (n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str))
    return {name for text in texts for name in NAME.findall(text)}


def globals_in(tree: ast.AST) -> set[str]:
    """The names that a function declares to be others'."""
    found = (n.names for n in ast.walk(tree) if isinstance(n, ast.Global | ast.Nonlocal))
    return {name for names in found for name in names}


def _names(node: ast.AST) -> Iterator[ast.Name]:
    return (n for n in ast.walk(node) if isinstance(n, ast.Name))
