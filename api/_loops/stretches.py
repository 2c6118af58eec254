"""Lines of a function that kernels run, between lines that Python runs."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import FunctionType
from typing import Any, Protocol

import numpy as np

from opweave._loops.stretch_kinds import BY_OBJECT, Extents, is_known, kind_of, most_saved
from opweave.compiler.captures.source import code_of, read_in, stored_in
from opweave.compiler.ir.pace import LINES, STEADY_LINES
from opweave.opcodes.errors import OpweaveError
from opweave.runtime.host.loop_results import UNBOUND

# Tries to make kernels of the same lines, or of some of them.
MOST_TRIES = 32
# The name of what a stretch returns from the function.
RETURNED = "returned of opweave"
# Kinds of values of which a stretch remembers what became of them.
MOST_KINDS = 64
# Refusals after which a stretch that never ran is not asked again.
MOST_REFUSALS = 16


class TooLittleError(OpweaveError):
    """Kernels would save too little: neither would those of fewer lines."""


class Whole(Protocol):
    """Lines as a function of their own, all of it kernels."""

    def prepare(self, values: Sequence[Any]) -> None:
        """Make kernels for such values.

        Raises:
            TooLittleError: they are not worth it.
            Exception: no kernels may run the lines.
        """

    def __call__(self, values: Sequence[Any]) -> Sequence[Any]:
        """Run them; where it raises, nothing was written to."""

    def lowered(self) -> Sequence[Any]:
        """What they were lowered to, each with its extents."""


# Makes a whole of a function; whether its lines are in a loop, and what it has to save.
Make = Callable[[FunctionType, bool, float], Whole]
# How names of values begin that are stored by the next statement.
VALUE = "_opweave_value_"
# The name of the extents that a call begins with.
EXTENTS = "extents of opweave"


@dataclass
class Lines:
    """Statements that follow each other, none of which has others inside.

    Attributes:
        read: how often each name is read in all of the function.
        in_loop: they may run again with what they have assigned.
        tries: how often they were to become kernels.
    """

    function: FunctionType
    nodes: Sequence[ast.stmt]
    read: Mapping[str, int]
    in_loop: bool
    make: Make
    tries: int = 0
    wholes: dict[Any, tuple[Whole, FunctionType]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.asked = cache(self._asked)
        self.results = cache(self._results)

    def _asked(self, begin: int, end: int) -> tuple[str, ...]:
        """The names of the function that some of the statements need from before."""
        code = self.function.__code__
        own = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
        stored: set[str] = set()
        found: dict[str, None] = {}
        for node in self.nodes[begin:end]:
            read = {n for n in read_in(node) if n in own or n.startswith(VALUE)}
            found |= dict.fromkeys(sorted(read - stored))
            stored |= stored_in(node)
        return tuple(found)

    def _results(self, begin: int, end: int) -> tuple[str, ...]:
        """The names that they assign to and that are read elsewhere, or in the next round."""
        nodes = self.nodes[begin:end]
        stored = {name for node in nodes for name in stored_in(node)}
        again = {*self.asked(begin, end)} if self.in_loop else set()
        within = {n: sum(_reads(node, n) for node in nodes) for n in stored}
        read = {n: 1 if n.startswith(VALUE) else self.read.get(n, 0) for n in stored}
        left = {n for n in stored if n in again or read[n] > within[n]}
        returns = [RETURNED] if isinstance(nodes[-1], ast.Return) else []
        return (*sorted(left), *returns)

    def whole(self, begin: int, end: int, least: float) -> tuple[Whole, FunctionType]:
        """These statements as a function of what they need, which returns what is read."""
        key = begin, end, least
        if key not in self.wholes:
            function = self._function(begin, end)
            self.wholes[key] = self.make(function, self.in_loop, least), function
        return self.wholes[key]

    def _function(self, begin: int, end: int) -> FunctionType:
        names = self.asked(begin, end)
        body = [*map(_computed, self.nodes[begin:end])]
        read: list[ast.expr] = [ast.Name(n, ast.Load()) for n in self.results(begin, end)]
        returned = ast.copy_location(ast.Return(ast.Tuple(read, ast.Load())), self.nodes[end - 1])
        arguments = ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, [])
        name, outside = self.function.__name__, self.function.__globals__
        made = ast.parse("def lines(): pass").body[0]
        assert isinstance(made, ast.FunctionDef)
        made.name, made.args, made.body = name, arguments, [*body, returned]
        made.lineno = self.function.__code__.co_firstlineno  # lines are counted from there
        made.end_lineno = self.nodes[end - 1].end_lineno
        tree = ast.fix_missing_locations(made)
        return FunctionType(code_of(tree, self.function), outside, name)


@dataclass
class Stretch:
    """The statements of some lines from one on, as far as kernels run them.

    Attributes:
        open: whether it is worth asking.
        shut: what it answers where it is not.
        compiled: how often kernels ran; ``left``: why they did not, where they did not.
    """

    lines: Lines
    begin: int
    open: bool = True
    unbound: object = UNBOUND
    compiled: int = 0
    left: str = ""
    refused: int = 0
    _known: dict[Any, tuple[int, Whole | None]] = field(default_factory=dict)
    _held: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.shut: tuple[int, None] = (self.begin + 1, None)
        self.names = self.lines.asked(self.begin, len(self.lines.nodes))
        ends = range(self.begin + 1, len(self.lines.nodes) + 1)
        results = dict.fromkeys(n for end in ends for n in self.lines.results(self.begin, end))
        self.results = tuple(sorted(results, key=RETURNED.__eq__))  # what is returned stands last

    @property
    def node(self) -> ast.stmt:
        """Where it begins."""
        return self.lines.nodes[self.begin]

    @staticmethod
    def extents(names: dict[str, Any]) -> Extents:
        """The extents of a call, as it begins; the names are let go of."""
        found = Extents(names.values())
        names.clear()
        return found

    @property
    def sources(self) -> list[str]:
        """No loop of C."""
        return []

    @property
    def runs(self) -> list[tuple[int, int, Any]]:
        """The first and the last line that kernels ran, and what these were lowered to."""
        nodes = self.lines.nodes
        ends = {
            (end, id(whole)): whole for end, whole in self._known.values() if whole is not None
        }
        return [
            (self.node.lineno, nodes[end - 1].end_lineno or 0, lowered)
            for (end, _), whole in ends.items()
            for lowered in whole.lowered()
        ]

    def takes_over(self, before: Any) -> None:
        """Know what a stretch that begins there, too, has found out."""
        self._known, self._held = before._known, before._held
        self.compiled = before.compiled
        self.lines.wholes, self.lines.tries = before.lines.wholes, before.lines.tries

    def run(self, names: dict[str, Any]) -> tuple[int, tuple[Any, ...] | None]:
        """Run statements, if kernels can.

        Returns:
            Behind which statement to go on, and what the names of the results hold; None where
            Python has to run the statements until there.
        """
        values = {name: names.get(name, UNBOUND) for name in self.names}
        extents: Extents = names[EXTENTS]
        names.clear()  # a frame keeps what locals() has found
        arrays = (value for value in values.values() if type(value) is np.ndarray)
        least = STEADY_LINES if extents.are_of(arrays) else LINES
        key = (least, *map(kind_of, values.values()))
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= MOST_KINDS:
                return self.shut
            self._held += [v for v in values.values() if isinstance(v, BY_OBJECT)]  # ids are keys
            found = self._known[key] = self._judged(values, least)
        end, whole = found
        if whole is None:
            self.refused += 1
            self.open = self.refused < MOST_REFUSALS or bool(self.compiled)
            return end, None
        try:
            made = whole([values[name] for name in self.lines.asked(self.begin, end)])
        except Exception as error:  # nothing was written: Python finds it, too, or goes on
            self.left = self.left or f"{error}"
            return end, None
        self.compiled += 1
        left = dict(zip(self.lines.results(self.begin, end), made, strict=True))
        return end, tuple(left.get(name, UNBOUND) for name in self.results)

    def _judged(self, values: Mapping[str, Any], least: float) -> tuple[int, Whole | None]:
        """How far kernels run such values; None where Python does."""
        end = self._end_of_known(values)
        while end > self.begin:
            whole, function = self.lines.whole(self.begin, end, least)
            given = [values[name] for name in self.lines.asked(self.begin, end)]
            try:
                if most_saved(function, given) < least or self.lines.tries >= MOST_TRIES:
                    raise TooLittleError("kernels would save too little")
                self.lines.tries += 1
                whole.prepare(given)
            except Exception as error:
                self.left = f"{error}"
                if isinstance(error, TooLittleError):
                    return end, None
                stopped = self._stopped_at(error, function)
                end = min(end - 1, stopped) if stopped >= 0 else end - 1
            else:
                return end, whole
        return self.begin + 1, None

    def _end_of_known(self, values: Mapping[str, Any]) -> int:
        """The first statement that needs what is no array, no number and the like."""
        begin, count = self.begin, len(self.lines.nodes)
        for end in range(begin + 1, count + 1):
            if not all(is_known(values[n]) for n in self.lines.asked(begin, end)):
                return end - 1
        return count

    def _stopped_at(self, error: BaseException, function: FunctionType) -> int:
        """The statement at which an error was raised; -1 where it was at none."""
        trace, line = error.__traceback__, 0
        own = function.__code__
        while trace is not None:
            code = trace.tb_frame.f_code
            if (code.co_filename, code.co_name) == (own.co_filename, own.co_name) and (
                code.co_firstlineno == own.co_firstlineno
            ):
                line = trace.tb_lineno
            trace = trace.tb_next
        nodes = enumerate(self.lines.nodes)
        return next((n for n, s in nodes if s.lineno <= line <= (s.end_lineno or 0)), -1)


def _computed(node: ast.stmt) -> ast.stmt:
    """A statement; what is returned gets a name."""
    if not isinstance(node, ast.Return):
        return node
    assert node.value is not None
    return ast.copy_location(ast.Assign([ast.Name(RETURNED, ast.Store())], node.value), node)


def _reads(node: ast.stmt, name: str) -> int:
    """How often a statement reads a name, as ``reads_of`` counts."""
    found = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name]
    loads = sum(not isinstance(n.ctx, ast.Store) for n in found)
    added = isinstance(node, ast.AugAssign) and node.target in found
    return loads + added
