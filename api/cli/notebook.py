"""``%load_ext opweave``: the magic ``%opweave``, which asks what becomes of a call.

    %opweave explain softmax(x)
    %opweave view softmax(x, target="sm_80")

Objects are shown as HTML without it, too.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from opweave._functions.fuse import fuse
from opweave._functions.parts import BREAKS
from opweave._html.markup import rendered
from opweave._profiler.profile import profile
from opweave._programs.page import page_of, page_of_parts
from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import RequestError


class Shell(Protocol):
    """What an extension is given: IPython."""

    def ev(self, expression: str) -> Any: ...
    def register_magic_function(self, function: Any, kind: str, name: str) -> None: ...


class LookedAt(NamedTuple):
    """A call of a fused function that is looked at, and not made."""

    fused: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Framed:
    """A page inside of a notebook, with its script, apart from all that is around it."""

    def __init__(self, page: str, title: str):
        self.page, self.title = page, title

    def __repr__(self) -> str:
        return f"<page of {self.title}>"

    def _repr_html_(self) -> str:
        return str(rendered("frame", page=self.page, title=self.title))


def _view(asked: LookedAt) -> Framed:
    fused, kwargs = asked.fused, dict(asked.kwargs)
    target = kwargs.pop("target", "sm_90a")
    bound = inspect.signature(fused.__wrapped__).bind(*asked.args, **kwargs)
    if bound.kwargs:
        raise RequestError(
            f"view: expected no arguments by keyword alone: {', '.join(bound.kwargs)}"
        )
    name = fused.__wrapped__.__name__
    try:
        page = page_of(fused.lower(*bound.args, target=target), bound.args)
    except BREAKS:
        page = page_of_parts(fused.__wrapped__, fused.explain(*bound.args))
    return Framed(page, name)


QUESTIONS: dict[str, Callable[[LookedAt], Any]] = {
    "explain": lambda a: a.fused.explain(*a.args, **a.kwargs),
    "kernels": lambda a: a.fused.lower(*a.args, **a.kwargs),
    "check": lambda a: a.fused.check(*a.args, **a.kwargs),
    "profile": lambda a: profile(a.fused, *a.args, **a.kwargs),
    "view": _view,
}
USAGE = (
    f"expected %opweave WHAT CALL, such as %opweave explain softmax(x), where WHAT is one of "
    f"{', '.join(QUESTIONS)}"
)


def load_ipython_extension(shell: Shell) -> None:
    """What ``%load_ext opweave`` runs: registers the magic ``%opweave``."""

    def opweave(line: str) -> Any:
        """Ask what becomes of a call, which is not made: ``%opweave explain softmax(x)``.

        The function may be plain or fused; the keyword ``target`` is for the question.
        """
        what, _, call = line.strip().partition(" ")
        if what not in QUESTIONS:
            raise RequestError(USAGE)
        return QUESTIONS[what](asked_for(shell, call))

    shell.register_magic_function(opweave, "line", "opweave")


def asked_for(shell: Shell, text: str) -> LookedAt:
    """A call by its text, with arguments as they are in the notebook.

    Raises:
        RequestError: it is no call.
    """
    try:
        found = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        found = None
    if not isinstance(found, ast.Call):
        raise RequestError(f"{shown(text)} is no call: {USAGE}")
    function = shell.ev(ast.unparse(found.func))
    found.func = ast.parse("(lambda *args, **kwargs: (args, kwargs))", mode="eval").body
    args, kwargs = shell.ev(ast.unparse(found))
    is_fused = hasattr(function, "explain") or hasattr(function, "fused")
    fused = getattr(function, "fused", function) if is_fused else fuse(function)
    return LookedAt(fused, args, kwargs)
