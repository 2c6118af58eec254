"""Calls inside of a loop: functions by table, and the user's own ones."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from inspect import signature
from types import FunctionType
from typing import Any

import numpy as np

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.applied import bounds_of
from opweave.compiler.lines.arithmetic import as_computed
from opweave.compiler.lines.clibrary import OF_COMPLEX
from opweave.compiler.lines.complexes import conjugate, is_complex
from opweave.compiler.lines.read_lists import ReadList
from opweave.compiler.lines.values import (
    Array,
    Computed,
    Elements,
    Generated,
    Held,
    Items,
    Listed,
    Number,
    Strided,
    Unchanging,
)
from opweave.compiler.loops.comprehensions import listed
from opweave.compiler.loops.functions.joining import as_array, of_numpy, with_axes
from opweave.compiler.loops.functions.prepared import PREPARED, called_at
from opweave.compiler.loops.functions.table import FUNCTIONS, IN_PLACE, METHODS, Keywords
from opweave.compiler.loops.functions.written import WRITTEN, WRITTEN_METHODS
from opweave.compiler.loops.inlining import Inlining
from opweave.compiler.loops.listing import LIST_METHODS, first_added, taken_at_once
from opweave.compiler.loops.methods import Owner, method_of
from opweave.compiler.loops.nodes import taken_back
from opweave.compiler.numpy_api.dispatch import operator_of
from opweave.opcodes.core import Kind


class LoopCalls(Inlining):
    """Lowers calls."""

    def called(self, node: ast.Call) -> Held:
        """What a call returns.

        Raises:
            NoLoopError: of a function that loops do not compile.
        """
        if any(isinstance(a, ast.Starred) for a in node.args) or None in [
            k.arg for k in node.keywords
        ]:
            raise NoLoopError("a call with * or **")
        owner = self.value(node.func.value) if isinstance(node.func, ast.Attribute) else None
        if isinstance(owner, Strided | Elements):
            assert isinstance(node.func, ast.Attribute)
            method, written = (rows.get(node.func.attr) for rows in (METHODS, WRITTEN_METHODS))
            if method is None and written is None:
                raise NoLoopError(f"the method {node.func.attr} inside a loop")
            args, keywords = self._arguments(node, owner)
            if method is not None:
                return _tried(method, self, owner, *args, **keywords)
            return self._written(written, [owner, *args], keywords)
        if isinstance(owner, Number) and is_complex(owner.type):
            return self._of_complex(node, owner)
        if isinstance(owner, Items):
            return self._of_list(node, owner)
        if isinstance(owner, Owner):
            return self._of_object(node, owner)
        if isinstance(owner, Listed):
            return self.appended(owner, node, *self._arguments(node))
        function = self.value(node.func)
        args, keywords = self._arguments(node)
        if not isinstance(function, Unchanging):
            raise NoLoopError("a call of what the loop computes")
        return self._call(function.value, args, keywords)

    def _of_complex(self, node: ast.Call, owner: Number) -> Held:
        name = getattr(node.func, "attr", "")
        is_numpys = owner.type is not complex and not owner.maybe
        if name != "conjugate" and not (name == "conj" and is_numpys):
            raise NoLoopError(f"the method {name} of a complex number inside a loop")
        return _tried(conjugate, owner, *self._arguments(node)[0])

    def _of_object(self, node: ast.Call, owner: Owner) -> Held:
        """A call of a method of an object."""
        name = getattr(node.func, "attr", "")
        if method_of(owner.value, name) is None:
            raise NoLoopError(f".{name} of {owner.value.__name__} inside a loop")
        function = self.noted(owner.value, name)
        args, keywords = self._arguments(node)
        return self.inlined(function, [owner, *args], keywords)

    def noted(self, kind: type, name: str) -> Any:
        """What a class has by a name, noted as asked for."""
        raise NotImplementedError

    def _of_list(self, node: ast.Call, owner: Items) -> Held:
        name = getattr(node.func, "attr", "")
        if name not in LIST_METHODS:
            raise NoLoopError(f"{name} of a list inside a loop")
        args, keywords = self._arguments(node)
        return _tried(LIST_METHODS[name], self, owner, *args, **keywords)

    def listed(self, name: str, held: Generated) -> Items:
        return listed(self, name, held)

    def first_item(self, loop: ast.AST, owner: ReadList) -> Held | None:
        """What is added to a list first, as far as it is known where the list is read."""
        node = None if self.prefix else first_added(loop, owner.name.removesuffix(" list"))
        if node is None or any(isinstance(n, ast.Call) for n in ast.walk(node)):
            return None
        return taken_back(self, node)

    def array_of(self, held: Held) -> Array:
        return as_array(self, held)

    def is_pure(self, node: ast.Call) -> bool:
        if any(k.arg in (None, "out") for k in node.keywords):
            return False
        if isinstance(node.func, ast.Attribute) and not self._is_outside(node.func.value):
            if isinstance(self.env.get(getattr(node.func.value, "id", "")), Owner):
                return False
            name = node.func.attr
            return name in WRITTEN_METHODS or (name in METHODS and name not in IN_PLACE)
        if not self._is_outside(node.func):
            return False
        function = self.value(node.func)
        assert isinstance(function, Unchanging)
        found = function.value
        if isinstance(found, np.ufunc):
            return len(node.args) <= found.nin  # what is behind these is out=
        is_outer = isinstance(getattr(found, "__self__", None), np.ufunc) and (
            found.__name__ == "outer"
        )
        is_type = isinstance(found, type) and issubclass(found, np.generic)
        is_known = id(found) in FUNCTIONS or id(found) in WRITTEN
        return (is_known and found is not np.fill_diagonal) or is_outer or is_type

    def _is_outside(self, node: ast.expr) -> bool:
        """Whether an expression is a name that never changes, or an attribute of such a module."""
        if isinstance(node, ast.Attribute):
            return self._is_outside(node.value)
        if not isinstance(node, ast.Name):
            return False
        held = self.env.get(node.id)
        is_module = isinstance(held, Unchanging) and not isinstance(held, Owner)
        return is_module or (held is None and node.id not in self.locals)

    def _arguments(
        self, node: ast.Call, owner: Held | None = None
    ) -> tuple[list[Held], dict[str, Held]]:
        """What a call is given, in the order in which Python computes it."""
        if isinstance(owner, Elements) and self.has_effects(node):
            raise NoLoopError("a method of what is computed, with arguments that change something")
        nodes = [*node.args, *(k.value for k in node.keywords)]
        found = self.in_order([*map(taken_at_once, nodes)])
        if len(nodes) > 1 and any(
            isinstance(h, Generated) and self.has_effects(h.node) for h in found
        ):
            raise NoLoopError("a generator expression that changes something, beside others")
        names = [str(k.arg) for k in node.keywords]
        count = len(node.args)
        return found[:count], dict(zip(names, found[count:], strict=True))

    def _call(self, function: Any, args: list[Held], keywords: dict[str, Held]) -> Held:
        found = FUNCTIONS.get(id(function))
        if found is not None:
            return _tried(found, self, *args, **keywords)
        if isinstance(function, np.ufunc):
            return self._ufunc(function, args, keywords)
        ufunc = getattr(function, "__self__", None)
        if isinstance(ufunc, np.ufunc) and function.__name__ == "outer" and len(args) == 2:
            return self._outer(ufunc, args, keywords)
        if isinstance(ufunc, np.ufunc) and function.__name__ == "at" and len(args) == 3:
            return self._written(*called_at(self, ufunc, args), keywords)
        if isinstance(function, type) and issubclass(function, np.generic):
            return self._as_scalar(function, args, keywords)
        if (written := WRITTEN.get(id(function))) is not None:
            return self._written(written, args, keywords)
        if isinstance(function, FunctionType):
            return self.inlined(function, args, keywords)
        name = getattr(function, "__name__", type(function).__name__)
        raise NoLoopError(f"{name} inside a loop")

    def _ufunc(self, ufunc: np.ufunc, args: list[Held], keywords: dict[str, Held]) -> Held:
        out = keywords.pop("out", None)
        if keywords:
            raise NoLoopError(f"{ufunc.__name__} with {next(iter(keywords))}=")
        operands = [as_computed(arg) for arg in args[: ufunc.nin]]
        rest = args[ufunc.nin :]
        if rest and out is None:
            out, rest = rest[0], rest[1:]
        found = self._of_ufunc(ufunc, operands) if not rest else None
        if found is None:
            raise NoLoopError(f"{ufunc.__name__} inside a loop")
        if out is None:
            return found
        if not isinstance(out, Strided) or isinstance(found, Number):
            raise NoLoopError("out= that is no array")
        if found.rank != out.rank:
            raise NoLoopError("out= of another shape")
        self.put(out, found)
        return out

    def _of_ufunc(self, ufunc: np.ufunc, operands: Sequence[Computed]) -> Computed | None:
        if len(operands) != ufunc.nin:
            return None
        numbers = [o for o in operands if isinstance(o, Number)]
        if len(numbers) == ufunc.nin and any(is_complex(z.type) for z in numbers):
            if ufunc in OF_COMPLEX and numbers[0].is_pair:
                return self.numbers.of_complex(OF_COMPLEX[ufunc], numbers[0])
            if ufunc in (np.multiply, np.sign):  # NumPy's loops fuse what its operators round
                raise NoLoopError(f"{ufunc.__name__} of complex numbers")
        if ufunc is np.matmul:
            return self.product(*operands)
        operator = operator_of(ufunc, ())
        if operator is None or operator.kind is not Kind.MAP:
            return None
        return self.apply(operator.name, *operands)

    def _outer(self, ufunc: np.ufunc, args: list[Held], keywords: Keywords) -> Held:
        """Every element of the first with every element of the second."""
        a, b = map(as_computed, args)
        operator = operator_of(ufunc, ())
        if keywords or operator is None or isinstance(a, Number) or isinstance(b, Number):
            raise NoLoopError("outer of numbers")
        return self.apply(operator.name, with_axes(a, b.rank), b)

    def _as_scalar(self, kind: type[np.generic], args: list[Held], keywords: Keywords) -> Held:
        """``np.float32(x)``."""
        if len(args) != 1 or keywords or not isinstance(args[0], Number):
            raise NoLoopError(f"{kind.__name__} of an array")
        dtype = of_numpy(np.dtype(kind))
        self.check_kind(args[0], dtype)
        text = self.text.named(dtype.register, self.converted(args[0], dtype))
        return Number(dtype, text, *bounds_of(dtype))

    def _written(self, function: Any, args: list[Held], keywords: Keywords) -> Held:
        """A function of NumPy's that is written as loops compile it, of real numbers."""
        for held in (*args, *keywords.values()):
            if getattr(getattr(held, "dtype", None), "kind", "") == "c":
                raise NoLoopError(f"{function.__name__} of complex numbers")
        if (prepared := PREPARED.get(function)) is not None:
            args, keywords = prepared(self, args, keywords)
        with self.text.one_line():
            return self.inlined(function, args, keywords)


def _tried(function: Callable[..., Held], *args: Any, **keywords: Any) -> Held:
    """What a row of a table makes of a call; a keyword that it does not know is a refusal."""
    try:
        signature(function).bind(*args, **keywords)
    except TypeError as error:
        raise NoLoopError(str(error)) from None
    return function(*args, **keywords)
