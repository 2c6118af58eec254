"""Functions of the user's own that a loop calls: their statements become some of the loop's."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from opweave.compiler.captures.exits import plain_body
from opweave.compiler.captures.kinds import BY_TYPE
from opweave.compiler.captures.source import NoLoopError, stored_in, tree_of
from opweave.compiler.lines.chosen import Chosen, chosen_of, fits, give, variables_for
from opweave.compiler.lines.numbers import literal
from opweave.compiler.lines.values import Elements, Held, Number, Several, Unchanging, check_made
from opweave.compiler.loops.appending import Appending
from opweave.compiler.loops.functions.table import Keywords
from opweave.compiler.loops.given import locals_of
from opweave.compiler.loops.methods import Names, Owner, with_names
from opweave.compiler.loops.statements import DEEPEST


class SeveralTypesError(NoLoopError):
    """A function returns numbers of several types; these variables may hold them."""

    def __init__(self, chosen: Sequence[Chosen]):
        super().__init__("a function that returns several types")
        self.chosen = chosen


class Inlining(Appending):
    """Lowers calls of such functions.

    Attributes:
        depth: of calls within each other.
        attributes: names of attributes, by the name of their object and their own.
    """

    depth = 0
    attributes: Names

    def inlined(self, function: FunctionType, args: list[Held], keywords: Keywords) -> Held:
        """A function of the user's own, whose statements become some of the loop's."""
        tree = tree_of(function)
        given = parameters(tree, function, args, keywords)
        if self.depth >= DEEPEST:
            raise NoLoopError(f"{function.__name__}, which calls itself")
        owners = {name: held for name, held in given.items() if isinstance(held, Owner)}
        tree = with_names(tree, owners, self.attributes) if owners else tree
        saved = self.env, self.prefix, self.around, self.resolve, self.locals
        line, self.depth = self.text.line, self.depth + 1
        self.env, self.around = {n: h for n, h in self.env.items() if n in self.shared}, []
        self.callers.append(saved[0])
        self.prefix = f"{self.text.fresh(function.__name__)}_"
        self.resolve = self.resolver(function)
        self.locals = locals_of(function) | self.shared
        changed = stored_in(tree)
        try:
            for name, held in given.items():
                self.env[name] = self._entered(name, held, name in changed)
            returned = self._returned(plain_body(tree.body))
        finally:
            shared = {n: h for n, h in self.env.items() if n in self.shared}
            self.env, self.prefix, self.around, self.resolve, self.locals = saved
            self.depth, self.text.line = self.depth - 1, line
            self.callers.pop()
        self.env = {n: h for n, h in self.env.items() if n not in self.shared} | shared
        check_made(returned)
        return self.of_caller(returned)

    def _entered(self, name: str, held: Held, changes: bool) -> Held:
        """A parameter: numbers have variables of their own, arrays are those of the caller."""
        check_made(held)
        is_known = isinstance(held, Number) and (
            held.known is not None or held.outside is not None
        )
        if isinstance(held, Number) and (changes or not is_known):
            self.bind(name, held)
            return self.env[name]
        return self.pinned(held) if isinstance(held, Elements | Several) else held

    def _returned(self, body: Sequence[ast.stmt]) -> Held:
        """What statements return: at their end, or in every branch of an ``if`` there."""
        for place, node in enumerate(body):
            if isinstance(node, ast.Return):
                return Unchanging(None) if node.value is None else self.value(node.value)
            if isinstance(node, ast.If) and any(isinstance(n, ast.Return) for n in ast.walk(node)):
                return self._returned_by(node, body[place + 1 :])
            if any(isinstance(n, ast.Return) for n in ast.walk(node)):
                raise NoLoopError("return inside a loop")
            self.statements([node])
        return Unchanging(None)

    def _returned_by(self, node: ast.If, rest: Sequence[ast.stmt]) -> Held:
        test = self.truth(node.test)
        ways = ([*node.body, *rest], [*node.orelse, *rest])
        if test.known is not None:
            return self._returned(ways[0 if test.known else 1])
        before, mark, chosen = dict(self.env), self.text.mark(), None
        for _ in range(2):  # once more where numbers are of several types
            try:
                return self._of_ways(test, ways, chosen)
            except SeveralTypesError as error:
                self.text.back(mark)
                self.env, chosen = before, error.chosen
        raise NoLoopError("a function that returns several types")

    def _of_ways(
        self,
        test: Number,
        ways: Sequence[Sequence[ast.stmt]],
        chosen: Sequence[Chosen] | None,
    ) -> Held:
        """What both ways return, in variables."""
        before, ends, like = dict(self.env), list[dict[str, Held]](), list[Held]()
        for head, way in zip((f"if ({test.text})", "else"), ways, strict=True):
            self.env = dict(before)
            with self.text.block(head):
                found = self._returned(way)
                like.append(found)
                if chosen is None:
                    chosen = variables_for(self.text, found, found)
                if not fits(chosen, found):
                    raise SeveralTypesError(variables_for(self.text, *like))
                give(self.text, chosen, found)
                ends.append(self.env)
        self.env = self.met(ends)
        assert chosen is not None
        return chosen_of(self.text, chosen, like[0])

    def resolver(self, function: FunctionType) -> Callable[[str], Any]:
        """What finds the global names of a function, and notes which were asked for."""
        raise NotImplementedError

    def resolve_attribute(self, owner: Any, name: str) -> Any:
        """An attribute of a module or of a function of NumPy, noted likewise."""
        raise NotImplementedError


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
            is_number = type(value) in BY_TYPE
            found[name] = literal(value) if is_number else Unchanging(value)
    if set(found) != set(names) or not by_place.isdisjoint(keywords):
        raise NoLoopError(f"{function.__name__}, called with other arguments than it has")
    return found
