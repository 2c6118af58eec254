"""The arguments of a saved program: what it was lowered for, and how a call is held to it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from opweave._saved.plain import as_data, dtype_of, expr_of, of_data, structure_of
from opweave.compiler.captures.structure import Structure, Tree, has_identity
from opweave.compiler.ir.expr import evaluate
from opweave.compiler.ir.plain_arrays import is_plain
from opweave.opcodes import dtypes
from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import ArgumentError, DTypeError, SavedError
from opweave.runtime.calls.arrays import pointer

Data = dict[str, Any]
ALIGNMENT = 16


class SavedSignature:
    """Holds calls to the arguments that a program was saved for.

    Attributes:
        name: of the function.
        count: of its parameters; -1 where there may be any.
        structure: how results are packed.
        arrays: names of the arrays among its arguments.
    """

    def __init__(self, data: Data, structure: Any):
        self.name: str = data["name"]
        self.structure = structure_of(structure)
        self._parameters = Signature([_parameter_of(row) for row in data["parameters"]])
        self._names = [*self._parameters.parameters]
        rows = self._parameters.parameters.values()
        variadic = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        self.count = -1 if any(p.kind in variadic for p in rows) else len(rows)
        self._trees = [structure_of(tree) for tree in data["trees"]]
        self._leaves: list[Data] = data["leaves"]
        self._dtypes = [dtype_of(leaf["array"]) for leaf in self._leaves if "array" in leaf]
        self.arrays = [str(leaf["name"]) for leaf in self._leaves if "array" in leaf]
        self._frozen = {name: of_data(value) for name, value in data["frozen"].items()}
        self._static: Data = data["static"]
        self._conditions = [(expr_of(c), of_data(value)) for c, value in data["conditions"]]

    def __str__(self) -> str:
        """Such as ``tonemap(img: f32[1080, 1920, 3], exposure: float)``."""
        kinds = iter(self._dtypes)
        return f"{self.name}({', '.join(_shown(leaf, kinds) for leaf in self._leaves)})"

    def place(self, number: int) -> str:
        """How a user writes an argument by its position."""
        return self._names[number] if 0 <= number < self.count else str(number)

    def bound(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], Data, list[Any]]:
        """The arrays of a call, its numbers by name, and the containers of its arguments.

        Raises:
            ArgumentError: they are not those that the program was saved for; says both.
        """
        values = self._in_order(args, kwargs)
        containers: list[Any] = []
        leaves: list[Any] = []
        for value, tree, name in zip(values, self._trees, self._names, strict=True):
            self._add(value, tree, name, leaves, containers)
        arrays, numbers, kinds = [], dict(self._frozen), iter(self._dtypes)
        for leaf, value in zip(self._leaves, leaves, strict=True):
            if "array" in leaf:
                arrays.append(self._array(leaf, next(kinds), value))
            elif "number" in leaf:
                numbers[leaf["number"]] = self._number(leaf, value)
            else:
                self._same(leaf["name"], leaf["static"], value)
        self._hold(numbers)
        return arrays, numbers, containers

    def _in_order(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        if not kwargs and len(args) == self.count:
            return tuple(args)
        try:
            bound = self._parameters.bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentError(f"{self.name}: {error}; it is {self}") from None
        bound.apply_defaults()
        return tuple(bound.arguments.values())

    def _add(
        self, value: Any, tree: Structure | None, name: str, leaves: list[Any], made: list[Any]
    ) -> None:
        """Take an argument apart as it was when the program was lowered."""
        if tree is None:
            leaves.append(value)
            return
        assert isinstance(tree, Tree)
        keys = tuple(value) if type(value) is dict else ()
        size = 0 if value is None else len(value) if type(value) in (tuple, list, dict) else -1
        are_same = keys == tree.keys and [*map(type, keys)] == [*map(type, tree.keys)]
        if type(value) is not tree.type or not are_same or size != len(tree.children):
            raise self._other(name, _called(tree), _called_value(value))
        held: Any = value or ()
        items = list(held.values() if type(value) is dict else held)
        for number, (item, child) in enumerate(zip(items, tree.children, strict=True)):
            step = repr(tree.keys[number]) if tree.keys else number
            self._add(item, child, f"{name}[{step}]", leaves, made)
        if has_identity(tree):
            made.append(value)

    def _other(self, name: str, expected: str, found: str) -> ArgumentError:
        return ArgumentError(
            f"{self.name}: argument {name}: the program was saved for {expected}, found {found}; "
            "lower the function for it, and save that"
        )

    def _array(self, leaf: Data, dtype: dtypes.DType, value: Any) -> Any:
        shape, same = tuple(leaf["shape"]), False
        if is_plain(type(value)) and value.shape == shape:
            with suppress(DTypeError):
                same = dtypes.of(value.dtype) is dtype
        if not (same and value.flags.c_contiguous):
            order = ", in C order" if same else ""
            raise self._other(leaf["name"], f"{dtype}{list(shape)}{order}", _called_value(value))
        if leaf["aligned"] and pointer(value) % ALIGNMENT:
            at = f"an array at a multiple of {ALIGNMENT} bytes"
            raise self._other(leaf["name"], at, "one elsewhere (copy it)")
        return value

    def _number(self, leaf: Data, value: Any) -> Any:
        is_known = type(value) in (bool, int, float, complex) or isinstance(value, np.generic)
        if not is_known or type(value).__name__ != leaf["type"]:
            raise self._other(leaf["name"], f"a number of type {leaf['type']}",
                              _called_value(value))  # fmt: skip
        return value

    def _same(self, name: str, expected: Any, value: Any) -> None:
        try:
            is_same = json.dumps(as_data(value)) == json.dumps(expected)  # where True is not 1
        except SavedError:
            is_same = False
        if not is_same:
            raise self._other(name, shown(of_data(expected)), shown(value))

    def _hold(self, numbers: Data) -> None:
        """Hold numbers to those that the function had looked at."""
        for name, expected in self._static.items():
            self._same(name, expected, numbers[name])
        for condition, expected in self._conditions:
            try:
                holds = bool(evaluate(condition, numbers) == expected)
            except ArithmeticError:
                holds = False
            if not holds:
                raise self._other(
                    "of a number", f"{condition!r} = {shown(expected)}", f"{shown(numbers)}"
                )


def _parameter_of(row: Sequence[Any]) -> Parameter:
    default = of_data(row[2]) if len(row) > 2 else Parameter.empty
    return Parameter(row[0], getattr(Parameter, row[1]), default=default)


def _shown(leaf: Data, kinds: Iterator[dtypes.DType]) -> str:
    if "array" in leaf:
        return f"{leaf['name']}: {next(kinds)}{list(leaf['shape'])}"
    if "number" in leaf:
        return f"{leaf['name']}: {leaf['type']}"
    return f"{leaf['name']}={shown(of_data(leaf['static']))}"


def _called(tree: Tree) -> str:
    if not tree.children:
        return "None" if tree.type is type(None) else f"an empty {tree.type.__name__}"
    keys = f" with {', '.join(map(shown, tree.keys))}" if tree.keys else ""
    return f"a {tree.type.__name__} of {len(tree.children)}{keys}"


def _called_value(value: Any) -> str:
    """An argument as a message says it."""
    if value is None:
        return "None"
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is not None and dtype is not None and not isinstance(value, np.generic):
        flags = getattr(value, "flags", None)
        order = "" if flags is None or flags.c_contiguous else ", not in C order"
        try:
            name = dtypes.of(dtype).name
        except DTypeError:
            name = str(dtype)
        kind = "" if is_plain(type(value)) else f" of type {type(value).__name__}"
        return f"{name}{list(shape)}{order}{kind}"
    if type(value) in (tuple, list, dict):
        keys = f" with {', '.join(map(shown, value))}" if type(value) is dict and value else ""
        return f"a {type(value).__name__} of {len(value)}{keys}"
    return f"{shown(value)} of type {type(value).__name__}"
