"""Syntax trees of the user's functions, held to the code that runs."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from types import CodeType, FunctionType
from typing import TypeGuard

from opweave.compiler.loops.values import NoLoopError


def tree_of(function: FunctionType) -> ast.FunctionDef:
    """The syntax tree of a function, without its decorators.

    Raises:
        NoLoopError: there is no source, or it is not that of the code that runs.
    """
    name, code = function.__name__, function.__code__
    try:
        lines, _ = inspect.findsource(function)
        module = ast.parse("".join(lines), code.co_filename)
        whole = compile(module, code.co_filename, "exec", dont_inherit=True)
    except (OSError, TypeError, SyntaxError, ValueError):
        raise NoLoopError(f"{name}, whose source is not there") from None
    tree = next((n for n in ast.walk(module) if _begins_at(n, code)), None)
    if tree is None or not any(same_code(found, code) for found in _within(whole)):
        raise NoLoopError(f"{name}, whose source is not that of the code that runs")
    tree.decorator_list = []
    return tree


def _begins_at(node: ast.AST, code: CodeType) -> TypeGuard[ast.FunctionDef]:
    """Whether a node is the function of a code."""
    if not isinstance(node, ast.FunctionDef) or node.name != code.co_name:
        return False
    lines = [node.lineno, *(decorator.lineno for decorator in node.decorator_list)]
    return min(lines) == code.co_firstlineno


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
    return next(c for c in _within(found) if _is_code_of(c, tree))


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


@cache
def read_in(node: ast.AST) -> frozenset[str]:
    """The names that a statement reads, also those that it adds to."""
    added = {
        n.target.id
        for n in ast.walk(node)
        if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
    }
    return frozenset({n.id for n in _names(node) if isinstance(n.ctx, ast.Load)} | added)


def _names(node: ast.AST) -> Iterator[ast.Name]:
    return (n for n in ast.walk(node) if isinstance(n, ast.Name))
