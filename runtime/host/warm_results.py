"""What a call gives back, for C to build: templates/host/results.h."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_size_t
from typing import Any, NamedTuple

from opweave.runtime.calls.views import ViewStep
from opweave.runtime.host.warm_layout import (
    AGAIN,
    CONSTANT,
    NEW_DICT,
    NEW_LIST,
    NEW_TUPLE,
    PART,
    COp,
    CPut,
    CShape,
)

NEW: dict[type, int] = {tuple: NEW_TUPLE, list: NEW_LIST, dict: NEW_DICT}


class WarmResult(NamedTuple):
    """An array, or a number: its word or leaf, its form, and the dtype of a number of NumPy's."""

    form: int
    at: int
    dtype: Any = None


class WarmPart(NamedTuple):
    """A view of an array, by its word, and the steps that make it."""

    word: int
    steps: tuple[ViewStep, ...]


class WarmStore(NamedTuple):
    """The word of an argument, a key of it, and what stands there when kernels are done."""

    word: int
    key: Any
    shape: WarmResult | WarmPart


class WarmConstant(NamedTuple):
    """An object that is returned at each call."""

    value: Any


class WarmGiven(NamedTuple):
    """A container of the arguments, by its number."""

    number: int


class WarmNew(NamedTuple):
    """A new container, and what it holds; a dict's keys."""

    type: type
    keys: tuple[Any, ...]
    values: tuple[Any, ...]


WarmShape = WarmResult | WarmPart | WarmConstant | WarmGiven | WarmNew


class WarmLeft(NamedTuple):
    """What is left in a container of the arguments: under a key, or in an attribute."""

    container: int
    key: Any
    is_attribute: bool
    shape: WarmShape


class WarmStep(NamedTuple):
    """A step of an expression: a leaf, an object, or a function of so many numbers before it."""

    object: Any
    leaf: int = -1
    operands: int = 0


def shape_rows(shape: WarmShape, alive: list[Any]) -> list[CShape]:
    """A shape as C takes it, in front of those that it holds."""
    alive.append(shape)
    if isinstance(shape, WarmResult):
        return [CShape(shape.form, shape.at, id(shape.dtype))]
    if isinstance(shape, WarmPart):
        each = [0 if item is None else id(item) for step in shape.steps for item in step]
        steps = (c_size_t * max(len(each), 1))(*each)
        alive.append(steps)
        return [CShape(PART, shape.word, len(shape.steps), ctypes.addressof(steps))]
    if isinstance(shape, WarmConstant):
        return [CShape(CONSTANT, 0, id(shape.value))]
    if isinstance(shape, WarmGiven):
        return [CShape(AGAIN, shape.number)]
    keys = (c_size_t * max(len(shape.keys), 1))(*map(id, shape.keys))
    alive.append(keys)
    rows = [CShape(NEW[shape.type], len(shape.values), 0, ctypes.addressof(keys))]
    return rows + [row for value in shape.values for row in shape_rows(value, alive)]


def put_rows(left: Sequence[WarmLeft]) -> list[CPut]:
    """Where C leaves what stands behind the result among the shapes."""
    return [CPut(each.container, each.is_attribute, id(each.key)) for each in left]


def op_rows(expressions: Sequence[Sequence[WarmStep]]) -> list[COp]:
    """The steps of expressions, one after the other."""
    steps = (step for expression in expressions for step in expression)
    return [COp(id(step.object), step.leaf, step.operands) for step in steps]
