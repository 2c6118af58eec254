"""A graph of ATen operators as plain data, and as the function that ``fuse`` traces."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from opweave._torch.rows import RESULT, AtenCall, AtenRow
from opweave._torch.shapes import SHARING
from opweave._torch.table import row_of

# What says where and how a result lies, or of which type it is, which torch has worked out.
UNREAD = frozenset(
    "dtype layout device pin_memory memory_format non_blocking requires_grad".split()
)


class Held(NamedTuple):
    """A value that an earlier step has made, by its place, and the type to cast it to."""

    place: int
    dtype: Any


class RecipeStep(NamedTuple):
    """One operator: the place of its result, what computes it, of what, and in which types."""

    place: int
    compute: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    dtypes: tuple[Any, ...]


class Recipe(NamedTuple):
    """Steps in order.

    Attributes:
        arrays, numbers: places of the arguments that are tensors, and of those that are integers.
        outputs: places of the results.
        orders: for each result the order of axes in which it lies in memory; None as it is.
        is_one: the result is no tuple.
    """

    steps: tuple[RecipeStep, ...]
    arrays: tuple[int, ...]
    numbers: tuple[int, ...]
    outputs: tuple[int, ...]
    orders: tuple[tuple[int, ...] | None, ...]
    is_one: bool


def recipe_of(module: Any) -> Recipe:
    """The recipe of a graph all of whose nodes have rows."""
    from torch.fx import Node

    # arguments come first, as they do in a call
    nodes = sorted(module.graph.nodes, key=lambda node: node.op != "placeholder")
    places = {node: place for place, node in enumerate(nodes)}
    given = [node for node in nodes if node.op == "placeholder"]
    is_array = [hasattr(node.meta["val"], "dtype") for node in given]
    found = module.graph.output_node().args[0]
    outputs = [found] if isinstance(found, Node) else list(found)
    return Recipe(
        tuple(_step(node, places) for node in nodes if node.op == "call_function"),
        tuple(places[node] for node, yes in zip(given, is_array, strict=True) if yes),
        tuple(places[node] for node, yes in zip(given, is_array, strict=True) if not yes),
        tuple(places[node] for node in outputs),
        tuple(order_of(node.meta["val"]) for node in outputs),
        isinstance(found, Node),
    )


def _step(node: Any, places: dict[Any, int]) -> RecipeStep:
    from torch.fx import Node

    row = row_of(node)
    assert row is not None
    dtypes = tuple(numpy_dtype(v) for v in results_of(node.meta["val"]))
    wanted = computed_in(row, node)

    def held(value: Any, cast: bool) -> Any:
        if isinstance(value, Node):
            kept = numpy_dtype(value.meta["val"])
            return Held(places[value], wanted if cast and kept != wanted else None)
        if isinstance(value, list | tuple):
            return [held(each, cast) for each in value]
        return wrapped(value, wanted) if cast else value

    count = len(node.args) if row.last is None else row.last
    args = [
        held(a, wanted is not None and row.first <= i < count) for i, a in enumerate(node.args)
    ]
    kwargs = {k: held(v, False) for k, v in node.kwargs.items() if k not in UNREAD}
    if row.makes:
        kwargs["dtype"] = dtypes[0]
    return RecipeStep(places[node], row.compute, tuple(args), kwargs, dtypes)


def computed_in(row: AtenRow, node: Any) -> Any:
    """The type of NumPy's in which operands of a node are computed; None where none is asked."""
    if not row.types:
        return None
    if row.types == RESULT:
        return numpy_dtype(results_of(node.meta["val"])[0])
    from torch import _prims_common as common

    kind = common.ELEMENTWISE_TYPE_PROMOTION_KIND[row.types]
    operands = _flat(asked_of(node).args[row.first : row.last])
    _, dtype = common.elementwise_dtypes(*operands, type_promotion_kind=kind)
    is_short = dtype.is_floating_point and dtype.itemsize == 2
    # a tensor without dimensions is a number to torch's kernels, but where it comes first
    if row.exact and is_short and operands[0].dtype == dtype:
        return np.dtype(np.float32)
    return np_dtype(dtype)


def wrapped(value: Any, dtype: Any) -> Any:
    """An integer in an integer type, modulo its range, as torch converts one."""
    if type(value) is not int or dtype is None or dtype.kind not in "iu":
        return value
    return int(np.int64(value).astype(dtype))


def asked_of(node: Any) -> AtenCall:
    """A node as its row sees it."""
    from torch.fx.node import map_arg

    def value(found: Any) -> Any:
        return found.meta["val"]

    return AtenCall(map_arg(node.args, value), map_arg(node.kwargs, value), node.meta["val"])


def _flat(values: Any) -> list[Any]:
    if isinstance(values, list | tuple):
        return [leaf for value in values for leaf in _flat(value)]
    return [] if values is None else [values]


def results_of(value: Any) -> tuple[Any, ...]:
    """The tensors that a node makes."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def numpy_dtype(value: Any) -> Any:
    """NumPy's dtype of a fake tensor; None of what is no tensor."""
    return np_dtype(value.dtype) if hasattr(value, "dtype") else None


def np_dtype(dtype: Any) -> Any:
    """NumPy's dtype for one of torch's."""
    name = str(dtype).partition(".")[2]
    return np.dtype(getattr(ml_dtypes, name, name))


def order_of(value: Any) -> tuple[int, ...] | None:
    """The axes of a fake tensor from the outermost in memory on; None as they are.

    Where extents differ from call to call, and where memory has holes, they are left as they are.
    """
    shape, strides = tuple(value.shape), tuple(value.stride())
    if not all(type(n) is int for n in (*shape, *strides)) or value.is_contiguous():
        return None
    order = tuple(sorted(range(len(shape)), key=lambda axis: (-strides[axis], axis)))
    inner = 1
    for axis in reversed(order):
        if shape[axis] > 1 and strides[axis] != inner:
            return None
        inner *= shape[axis]
    return order


class RecipeFunction:
    """A recipe for given integers, as a function of arrays.

    Attributes:
        constants: arrays that follow from the integers alone; they are arguments, too, the last.
    """

    __opweave_apart__ = True  # each result is an array of its own

    def __init__(self, name: str, recipe: Recipe, numbers: Sequence[int]):
        known: dict[int, Any] = dict(zip(recipe.numbers, numbers, strict=True))
        self._steps = _unknown(recipe.steps, known)
        self._outputs = tuple(zip(recipe.outputs, recipe.orders, strict=True))
        read = {held.place for step in self._steps for held in _held((step.args, step.kwargs))}
        read |= set(recipe.outputs)
        constants = {p: v for p, v in known.items() if p in read and np.ndim(v)}
        self.constants = [*constants.values()]
        self._places = (*recipe.arrays, *constants)
        self._known = {p: v for p, v in known.items() if p in read and p not in constants}
        self._own = {step.place for step in self._steps if step.compute not in SHARING}
        self.__name__ = name
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        names = [f"a{number}" for number in range(len(self._places))]
        self.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])

    def __call__(self, /, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        env = {**self._known, **dict(zip(self._places, (*args, *kwargs.values()), strict=True))}
        for step in self._steps:
            env[step.place] = _done(step, env)
        return tuple(
            in_order(
                env[output] if order is None else np.transpose(env[output], order),
                output in self._own,
            )
            for output, order in self._outputs
        )


def in_order(value: Any, is_own: bool) -> Any:
    """A result whose last axis is the innermost in memory, which NumPy may have otherwise.

    Of what is no array of its own, such as an argument, a view or a constant, it is a copy.
    """
    return value if is_own and value.ndim < 2 else value.copy("C")


def _unknown(steps: Sequence[RecipeStep], known: dict[int, Any]) -> tuple[RecipeStep, ...]:
    """The steps that read arrays of a call; what the others make is added to what is known."""
    found = []
    for step in steps:
        if all(held.place in known for held in _held((step.args, step.kwargs))):
            known[step.place] = _done(step, known)
        else:
            found.append(step)
    return tuple(found)


def _held(value: Any) -> Iterator[Held]:
    """The values that arguments name."""
    if type(value) is Held:
        yield value
    elif isinstance(value, list | tuple | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _held(each)


def _done(step: RecipeStep, env: dict[int, Any]) -> Any:
    """What a step makes, in the types that torch has."""
    found = step.compute(*_filled(step.args, env), **_filled(step.kwargs, env))
    if isinstance(found, list | tuple):
        return [_cast(each, dtype) for each, dtype in zip(found, step.dtypes, strict=True)]
    return _cast(found, step.dtypes[0])


def _filled(value: Any, env: dict[int, Any]) -> Any:
    """Arguments with the values that earlier steps have made."""
    if type(value) is Held:
        return _cast(env[value.place], value.dtype)
    if type(value) is list or type(value) is tuple:
        return [_filled(each, env) for each in value]
    if type(value) is dict:
        return {key: _filled(each, env) for key, each in value.items()}
    return value


def _cast(value: Any, dtype: Any) -> Any:
    """A value in another type; floats become narrow integers by way of 32 bits, as in torch."""
    if dtype is None or not hasattr(value, "dtype") or value.dtype == dtype:
        return value
    is_narrow = dtype.kind in "iu" and dtype.itemsize < 4
    if is_narrow and value.dtype.kind not in "iub":
        value = value.astype(np.int32)
    return value.astype(dtype)
