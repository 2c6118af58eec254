"""Functions whose loops C runs, and kernels lines of theirs; Python runs what is between."""

from __future__ import annotations

import ast
import copy
from types import FunctionType
from typing import Any

from opweave._loops.asking import with_sites
from opweave._loops.called import CalledFunctions, CallSite
from opweave._loops.rewriting import AnySite, SiteRewriter
from opweave._loops.sites import Place, Site, place_of
from opweave._loops.stretches import Make, Stretch
from opweave.compiler.captures.source import SEES_NAMES, NoLoopError, code_of, tree_of
from opweave.compiler.loops.comprehensions import with_own_names

# Attributes by which it gets its frame.
SEES_FRAMES = frozenset(("_getframe", "currentframe"))


class Rolled:
    """A function in which loops that can be are run by C.

    Attributes:
        sites: its loops, those within others too, calls of functions that have some, and where
            kernels may run lines.
        left: the lines of loops that are left to Python, and why.
    """

    def __init__(
        self,
        function: FunctionType,
        but: frozenset[Place] = frozenset(),
        make: Make | None = None,
        called: CalledFunctions | None = None,
    ):
        """``but``: the loops and lines that are left to Python; ``make`` makes kernels of lines.

        ``called`` has the functions with loops that it calls.

        Raises:
            NoLoopError: there is no source, or no loop.
        """
        tree = tree_of(function)
        if any(map(_sees_names, ast.walk(tree))):
            raise NoLoopError(f"{function.__name__} sees its own names")
        self.function, self.but, self.make, self.called = function, but, make, called
        self.left: list[tuple[int, str]] = []
        self.sites: list[AnySite] = []
        own = copy.deepcopy(tree)
        with_own_names(own)
        made = SiteRewriter(function, own, self.sites, but, make, called).rewritten()
        if not self.sites:
            raise NoLoopError(f"{function.__name__} has no loop")
        if any(map(_is_mangled, ast.walk(tree))):
            raise NoLoopError(f"{function.__name__} has names that its class makes its own")
        code = with_sites(code_of(made, function), self.sites)
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
    def called_fused(self) -> list[tuple[int, str, list[str]]]:
        """The lines of calls of functions that are fused themselves, these, and their sources."""
        calls = [s for s in self.sites if isinstance(s, CallSite) and s.compiled]
        return [(s.node.lineno, ast.unparse(s.name), s.in_c) for s in calls]

    @property
    def by_kernels(self) -> list[Any]:
        """The first and the last of lines that kernels ran, and what they were lowered to."""
        return [run for s in self.sites if isinstance(s, Stretch) for run in s.runs]

    @property
    def ran(self) -> bool:
        """Whether a loop ran in C, or lines by kernels."""
        return any(site.compiled for site in self.sites)

    def settled(self) -> Rolled | None:
        """The same without what is left to Python: to ask it costs a call; None of nothing."""
        refused = [s for s in self.sites if s.left and not s.compiled]
        for each in self.sites:
            if isinstance(each, Site) and each.is_short:
                each.left = "its rounds are few, and Python runs the loop around it"
                refused.append(each)
        places = {id(s) for s in refused}
        if not any(s.compiled and id(s) not in places for s in self.sites):
            return None
        if not refused:
            return self
        but = self.but | {place_of(s.node) for s in refused}
        made = Rolled(self.function, but, self.make, self.called)
        made.left = [(s.node.lineno, s.left) for s in refused if isinstance(s, Site)]
        before = {place_of(s.node): s for s in self.sites}
        for site in made.sites:
            site.takes_over(before[place_of(site.node)])
        return made


def _sees_names(node: ast.AST) -> bool:
    own, frames = getattr(node, "id", None), getattr(node, "attr", None)
    return own in SEES_NAMES or own in SEES_FRAMES or frames in SEES_FRAMES


def _is_mangled(node: ast.AST) -> bool:
    """Whether a name means another one inside of a class."""
    name = getattr(node, "attr", getattr(node, "id", ""))
    return name.startswith("__") and not name.endswith("__")
