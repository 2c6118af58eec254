"""Calls inside of a loop: NumPy's functions and methods by table, and the user's own functions."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np

from opweave.compiler.loops.elementwise import Array, Computed, bounds_of
from opweave.compiler.loops.expressions import as_computed, extent
from opweave.compiler.loops.numbers import literal
from opweave.compiler.loops.source import tree_of
from opweave.compiler.loops.statements import DEEPEST, Env, Statements
from opweave.compiler.loops.values import (
    Constant,
    Counted,
    Elements,
    Held,
    NoLoopError,
    Number,
    Several,
    Size,
    View,
)
from opweave.compiler.numpy_api.dispatch import operator_of
from opweave.opcodes import dtypes
from opweave.opcodes.core import Kind
from opweave.opcodes.errors import OpweaveError

Keywords = Mapping[str, Held]


class Calls(Statements):
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
        if isinstance(owner, View | Elements):
            assert isinstance(node.func, ast.Attribute)
            method = METHODS.get(node.func.attr)
            if method is None:
                raise NoLoopError(f"the method {node.func.attr} inside a loop")
            args, keywords = self._arguments(node)
            return method(self, owner, *args, **keywords)
        function = self.value(node.func)
        args, keywords = self._arguments(node)
        if not isinstance(function, Constant):
            raise NoLoopError("a call of what the loop computes")
        try:
            return self._call(function.value, args, keywords)
        except TypeError as error:  # a keyword that a row of the table does not know
            raise NoLoopError(str(error)) from None

    def _arguments(self, node: ast.Call) -> tuple[list[Held], dict[str, Held]]:
        args = [self.value(arg) for arg in node.args]
        return args, {str(k.arg): self.value(k.value) for k in node.keywords}

    def _call(self, function: Any, args: list[Held], keywords: dict[str, Held]) -> Held:
        found = FUNCTIONS.get(id(function))
        if found is not None:
            return found(self, *args, **keywords)
        if isinstance(function, np.ufunc):
            return self._ufunc(function, args, keywords)
        ufunc = getattr(function, "__self__", None)
        if isinstance(ufunc, np.ufunc) and function.__name__ == "outer" and len(args) == 2:
            return self._outer(ufunc, args, keywords)
        if isinstance(function, type) and issubclass(function, np.generic):
            return self._as_scalar(function, args, keywords)
        if isinstance(function, FunctionType):
            return self._inlined(function, args, keywords)
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
        if ufunc is np.matmul and len(operands) == 2 and out is None:
            return self.product(*operands)
        operator = operator_of(ufunc, ())
        if operator is None or rest or len(operands) != ufunc.nin or operator.kind is not Kind.MAP:
            raise NoLoopError(f"{ufunc.__name__} inside a loop")
        found = self.apply(operator.name, *map(numpys, operands))
        if out is None:
            return found
        if not isinstance(out, View) or isinstance(found, Number):
            raise NoLoopError("out= that is no array")
        if found.rank != out.rank:
            raise NoLoopError("out= of another shape")
        self.put(out, found)
        return out

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

    def _inlined(self, function: FunctionType, args: list[Held], keywords: Keywords) -> Held:
        """A function of the user's own, whose statements become some of the loop's."""
        tree = tree_of(function)
        given = parameters(tree, function, args, keywords)
        if self.depth >= DEEPEST:
            raise NoLoopError(f"{function.__name__}, which calls itself")
        saved = self.env, self.prefix, self.around, self.resolve
        line, self.depth = self.text.line, self.depth + 1
        self.env, self.around = {}, []
        self.prefix = f"{self.text.fresh(function.__name__)}_"
        self.resolve = self.resolver(function)
        try:
            for name, held in given.items():
                self.env[name] = self._entered(name, held)
            returned = self._returned(tree.body)
        finally:
            self.env, self.prefix, self.around, self.resolve = saved
            self.depth, self.text.line = self.depth - 1, line
        return returned

    def _entered(self, name: str, held: Held) -> Held:
        """A parameter: numbers have variables of their own, arrays are those of the caller."""
        if isinstance(held, Number) and held.known is None and held.outside is None:
            self.bind(name, held)
            return self.env[name]
        if isinstance(held, Elements):
            return self.apart(held)
        return held

    def _returned(self, body: Sequence[ast.stmt]) -> Held:
        """What statements return: at their end, or in every branch of an ``if`` there."""
        for place, node in enumerate(body):
            if isinstance(node, ast.Return):
                return Constant(None) if node.value is None else self.value(node.value)
            if isinstance(node, ast.If) and any(isinstance(n, ast.Return) for n in ast.walk(node)):
                return self._returned_by(node, body[place + 1 :])
            if any(isinstance(n, ast.Return) for n in ast.walk(node)):
                raise NoLoopError("return inside a loop")
            self.statements([node])
        return Constant(None)

    def _returned_by(self, node: ast.If, rest: Sequence[ast.stmt]) -> Held:
        test = self.truth(node.test)
        ways = ([*node.body, *rest], [*node.orelse, *rest])
        if test.known is not None:
            return self._returned(ways[0 if test.known else 1])
        before, result, kind = dict(self.env), "", None
        for head, way in zip((f"if ({test.text})", "else"), ways, strict=True):
            self.env = dict(before)
            with self.text.block(head):
                found = self._returned(way)
                if not isinstance(found, Number) or (kind and found.type != kind.type):
                    raise NoLoopError("a function that returns several types")
                kind = kind or found
                result = result or self.text.variable(found.c_type, self.text.fresh("returned"))
                self.text.add(f"{result} = {found.text};")
        assert kind is not None
        _, low, high = bounds_of(kind.type)
        size = Size.of(self.text.named("int64", result)) if kind.type is int else None
        return Number(kind.type, size.text if size else result, size, low, high)

    def resolver(self, function: FunctionType) -> Callable[[str], Any]:
        """What finds the global names of a function, and notes which were asked for."""
        raise NotImplementedError

    def resolve_attribute(self, owner: Any, name: str) -> Any:
        """An attribute of a module or of a function of NumPy, noted likewise."""
        raise NotImplementedError


def parameters(
    tree: ast.FunctionDef, function: FunctionType, args: Sequence[Held], keywords: Keywords
) -> dict[str, Held]:
    """What the parameters of a function are called with."""
    names = [a.arg for a in (*tree.args.posonlyargs, *tree.args.args)]
    if tree.args.vararg or tree.args.kwarg or tree.args.kwonlyargs or len(args) > len(names):
        raise NoLoopError(f"{function.__name__}, whose parameters a loop does not follow")
    found = dict(zip(names, args, strict=False)) | dict(keywords)
    defaults = function.__defaults__ or ()
    for name, value in zip(names[len(names) - len(defaults) :], defaults, strict=True):
        if name not in found:
            is_number = type(value) in (bool, int, float)
            found[name] = literal(value) if is_number else Constant(value)
    if set(found) != set(names):
        raise NoLoopError(f"{function.__name__}, called with other arguments than it has")
    return found


def numpys(operand: Computed) -> Computed:
    """An operand of a ufunc; Python's numbers are weak there, too."""
    return operand


def with_axes(array: Array, count: int) -> Array:
    """An array with new axes of one element behind its own."""
    sizes = (*array.sizes, *[Size.of(1)] * count)
    if isinstance(array, View):
        return replace(array, sizes=sizes, strides=(*array.strides, *["0"] * count), where=None)
    inner = array.element
    return replace(array, sizes=sizes, element=lambda places: inner(places[: len(places) - count]))


def of_numpy(dtype: Any) -> dtypes.DType:
    try:
        return dtypes.of(dtype)
    except OpweaveError as error:
        raise NoLoopError(str(error)) from None


def _range(self: Calls, *args: Held) -> Held:
    numbers = [a for a in args if isinstance(a, Number)]
    if len(numbers) != len(args) or not 1 <= len(args) <= 3:
        raise NoLoopError("a range of other things than numbers")
    if any(not n.is_integer or n.type is bool for n in numbers):
        raise NoLoopError("a range of what is no integer")
    start, stop = (literal(0), numbers[0]) if len(numbers) == 1 else numbers[:2]
    step = numbers[2].known if len(numbers) == 3 else 1
    if type(step) is not int or not 0 < abs(step) < 1 << 31:
        raise NoLoopError("a range whose step changes")
    if any(n.type is not int for n in numbers):
        raise NoLoopError("a range of NumPy's integers")
    return Counted(start, stop, step)


def _len(self: Calls, array: Held) -> Held:
    if isinstance(array, Several):
        return literal(len(array.items))
    if not isinstance(array, View | Elements) or not array.rank:
        raise NoLoopError("len of what is no array")
    return extent(array.sizes[0])


def _extreme(sign: str) -> Callable[..., Held]:
    def choose(self: Calls, *args: Held) -> Held:
        """Python's ``max`` and ``min``: the first one of equals, and of those with NaN."""
        numbers = [a for a in args if isinstance(a, Number)]
        if len(numbers) != len(args) or len(args) < 2:
            raise NoLoopError("max, min of arrays")
        found = numbers[0]
        for other in numbers[1:]:
            if other.type != found.type or (getattr(found.type, "kind", "") == "c"):
                raise NoLoopError("max, min of several types")
            if found.known is not None and other.known is not None:
                found = literal((max if sign == ">" else min)(found.known, other.known))
                continue
            text = f"{other.text} {sign} {found.text} ? {other.text} : {found.text}"
            name = self.text.named(found.c_type, text)
            size = Size.of(name) if found.is_integer else None
            pick = max if sign == ">" else min
            low, high = pick(found.low, other.low), pick(found.high, other.high)
            found = Number(found.type, name, size, low, high)
        return found

    return choose


def _abs(self: Calls, x: Held) -> Held:
    value = as_computed(x)
    if not isinstance(value, Number) or not value.is_python:
        return self.apply("absolute", value)
    if value.known is not None:
        return literal(abs(value.known))
    if value.type is float:
        return Number(float, self.text.named("double", f"fabs({value.text})"))
    raise NoLoopError("abs of an integer of Python")


def _float(self: Calls, x: Held) -> Held:
    if not isinstance(x, Number) or getattr(x.type, "kind", "") == "c":
        raise NoLoopError("float of an array")
    if x.is_python:
        return self.numbers.as_float(x)
    return Number(float, self.text.named("double", f"(double){x.text}"))


def _int(self: Calls, x: Held) -> Held:
    if isinstance(x, Number) and x.type is int:
        return x
    if not isinstance(x, Number) or not x.is_integer or x.high > (1 << 63) - 1:
        raise NoLoopError("int of what is no integer")
    name = self.text.named("int64", f"(int64){x.text}")
    return Number(int, name, Size.of(name), x.low, x.high)


def _bool(self: Calls, x: Held) -> Held:
    if not isinstance(x, Number):
        raise NoLoopError("bool of an array")
    return self.truth_of(x)


def _reduction(name: str) -> Callable[..., Held]:
    def reduce(self: Calls, a: Held, axis: Held = Constant(None)) -> Held:
        array = as_computed(a)
        if isinstance(array, Number):
            raise NoLoopError(f"{name} of a number")
        if not isinstance(axis, Constant) and (array.rank > 1 or axis.known not in (0, -1)):
            raise NoLoopError(f"{name} along an axis")
        return self.reduced(name, array)

    return reduce


def _copy(self: Calls, a: Held) -> Held:
    array = as_computed(a)
    if isinstance(array, Number) or not array.rank:
        raise NoLoopError("a copy of a number")
    if isinstance(array, Elements):
        return array
    view = array
    return Elements(view.dtype, view.sizes, lambda places: self.element(view, places), (view,))


def _filled(value: float) -> Callable[..., Held]:
    def like(self: Calls, a: Held, dtype: Held = Constant(None)) -> Held:
        array = as_computed(a)
        if isinstance(array, Number) or not array.rank:
            raise NoLoopError("an array like a number")
        asked = getattr(dtype, "value", None)
        found = array.dtype if asked is None else of_numpy(asked)
        return _full(self, array.sizes, value, found)

    return like


def _made(value: float) -> Callable[..., Held]:
    def make(self: Calls, shape: Held, dtype: Held = Constant(np.float64)) -> Held:
        items = shape.items if isinstance(shape, Several) else (shape,)
        sizes = []
        for item in items:
            if not isinstance(item, Number) or item.type is not int or item.low < 0:
                raise NoLoopError("an array whose shape may be negative")
            sizes.append(self.indexing.size_of(item))
        asked = getattr(dtype, "value", None)
        return _full(self, tuple(sizes), value, of_numpy(np.float64 if asked is None else asked))

    return make


def _full(self: Calls, sizes: tuple[Size, ...], value: float, dtype: dtypes.DType) -> Held:
    if not sizes:
        raise NoLoopError("an array without dimensions")
    text = self.converted(literal(value), dtype)
    return Elements(dtype, sizes, lambda places: text)


def _flip(self: Calls, a: Held) -> Held:
    array = as_computed(a)
    if not isinstance(array, View) or array.rank != 1:
        raise NoLoopError("flip of other than one dimension")
    (size,), (stride,) = array.sizes, array.strides
    step = "-1" if stride == "1" else f"-({stride})"
    at = f"{array.pointer} + ({size.plus(-1).text}) * {stride}"
    return replace(array, pointer=at, strides=(step,), where=None)


def _where(self: Calls, condition: Held, x: Held, y: Held) -> Held:
    return self.apply("where", *map(as_computed, (condition, x, y)))


def _dot(self: Calls, a: Held, b: Held) -> Held:
    x, y = as_computed(a), as_computed(b)
    if isinstance(x, Number) or isinstance(y, Number):
        return self.apply("multiply", x, y)
    return self.product(x, y)


def _fill(self: Calls, array: Held, value: Held) -> Held:
    if not isinstance(array, View) or not isinstance(value, Number):
        raise NoLoopError("fill of what is computed")
    self.put(array, value)
    return Constant(None)


REDUCED = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}
METHODS: Mapping[str, Callable[..., Held]] = {
    **{name: _reduction(name) for name in REDUCED},
    "copy": _copy,
    "dot": _dot,
    "fill": _fill,
}
_BY_FUNCTION: tuple[tuple[Any, Callable[..., Held]], ...] = (
    (builtins.range, _range),
    (builtins.len, _len),
    (builtins.max, _extreme(">")),
    (builtins.min, _extreme("<")),
    (builtins.abs, _abs),
    (builtins.float, _float),
    (builtins.int, _int),
    (builtins.bool, _bool),
    (np.copy, _copy),
    (np.flip, _flip),
    (np.where, _where),
    (np.dot, _dot),
    (np.amax, _reduction("max")),
    (np.amin, _reduction("min")),
    *((function, _reduction(name)) for name, function in REDUCED.items()),
    *((f, _filled(v)) for f, v in ((np.zeros_like, 0), (np.ones_like, 1), (np.empty_like, 0))),
    *((f, _made(v)) for f, v in ((np.zeros, 0), (np.ones, 1), (np.empty, 0))),
)
# By identity: what a user defines under the same name is another function.
FUNCTIONS: Mapping[int, Callable[..., Held]] = {id(f): handler for f, handler in _BY_FUNCTION}

__all__ = ["Calls", "Env"]
