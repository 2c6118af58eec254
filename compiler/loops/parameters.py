"""What the parameters of a function of the user's own are called with."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import FunctionType

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.numbers import literal
from opweave.compiler.lines.values import Held, Unchanging


def parameters(
    tree: ast.FunctionDef,
    function: FunctionType,
    args: Sequence[Held],
    keywords: Mapping[str, Held],
) -> dict[str, Held]:
    """What the parameters of a function are called with."""
    names = [a.arg for a in (*tree.args.posonlyargs, *tree.args.args)]
    if tree.args.vararg or tree.args.kwarg or tree.args.kwonlyargs or len(args) > len(names):
        raise NoLoopError(f"{function.__name__}, whose parameters a loop does not follow")
    by_place = {*names[: len(args)], *(a.arg for a in tree.args.posonlyargs)}
    found = dict(zip(names, args, strict=False)) | dict(keywords)
    defaults = function.__defaults__ or ()
    for name, value in zip(names[len(names) - len(defaults) :], defaults, strict=True):
        if name not in found:
            is_number = type(value) in (bool, int, float)
            found[name] = literal(value) if is_number else Unchanging(value)
    if set(found) != set(names) or not by_place.isdisjoint(keywords):
        raise NoLoopError(f"{function.__name__}, called with other arguments than it has")
    return found
