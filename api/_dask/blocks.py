"""What a worker runs: one block of a function, from the parts of blocks that it reads.

A ``Stage`` goes to each worker once.  Kernels come from its cache folder, where one of the workers
compiles a key and the others wait for it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from opweave.compiler.ir.builder import scalar_type
from opweave.compiler.ir.device import device_for
from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.reference import run_reference
from opweave.compiler.passes.simplify import simplify
from opweave.compiler.pipeline.driver import Options
from opweave.compiler.pipeline.specialise import Variant, lowered_for, symbol_extents
from opweave.compiler.scheduling.verify import verify_graph
from opweave.compiler.tracing.arguments import ArrayType, Trace
from opweave.opcodes.errors import InterchangeError, NoCompilerError, OpweaveWarning
from opweave.opcodes.operators.registry import OPERATORS
from opweave.runtime.calls.arguments import array_type
from opweave.runtime.calls.prepared import Prepared
from opweave.runtime.host.executor import HostExecutor
from opweave.runtime.process import locks

Slices = tuple[slice, ...]
MOST_PREPARED = 256


class Piece(NamedTuple):
    """A part of an input: which elements of what is given are it, and where it stands.

    ``taken`` is None for all elements, ``at`` for all of the input.
    """

    shape: tuple[int, ...]
    taken: Slices | None
    at: Slices | None


class BlockInput(NamedTuple):
    """An input of a block: a region of an array, by the pieces that it is made of."""

    shape: tuple[int, ...]
    dtype: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """One block: its form, the numbers that say where it is, and its inputs.

    It is no tuple, in which dask would look for keys.
    """

    form: int
    begins: tuple[int, ...]
    parts: tuple[BlockInput, ...]


class BlockForm(NamedTuple):
    """A graph that many blocks share, and numbers of the whole function."""

    graph: FunctionGraph
    numbers: Mapping[str, Any]


@dataclass
class Stage:
    """Steps of a function that blocks do alone.

    Attributes:
        token: which one it is, in every process.
        forms: a graph for each way in which blocks lie; most have one.
    """

    token: str
    name: str
    options: Options
    forms: list[BlockForm] = field(default_factory=list)
    _variants: dict[Any, Variant] = field(default_factory=dict)
    _prepared: dict[Any, Prepared] = field(default_factory=dict)
    _lock: Any = field(default_factory=locks.rlock)

    def __reduce__(self) -> Any:
        return arrived, (self.token, self.name, self.options, self.forms)

    def run(self, block: Block, arrays: Sequence[Any]) -> Sequence[Any]:
        """The results of a block, for the arrays that it reads."""
        form = self.forms[block.form]
        begins = zip(form.graph.scalars[len(form.numbers) :], block.begins, strict=True)
        numbers = {**form.numbers, **dict(begins)}
        try:
            prepared = self._ready(block.form, arrays, numbers)
        except NoCompilerError as error:
            return self._by_numpy(form.graph, arrays, numbers, error)
        found: Sequence[Any] = prepared(arrays, numbers)
        return found

    def _ready(self, number: int, arrays: Sequence[Any], numbers: Mapping[str, Any]) -> Prepared:
        key = number, tuple((a.shape, a.strides, a.flags.aligned) for a in arrays)
        found = self._prepared.get(key)
        if found is not None:
            return found
        with self._lock:
            if key not in self._prepared:
                if len(self._prepared) >= MOST_PREPARED:
                    self._prepared.pop(next(iter(self._prepared)))
                self._prepared[key] = self._prepare(number, arrays, numbers)
            return self._prepared[key]

    def _prepare(self, number: int, arrays: Sequence[Any], numbers: Mapping[str, Any]) -> Prepared:
        types = [array_type("", array) for array in arrays]
        extents = symbol_extents(types)
        like = number, tuple(
            (t.layout, t.aligned, tuple(e == 1 for e in t.shape)) for t in types
        )  # fmt: skip
        variant = self._variants.get(like)
        if variant is None:
            variant = self._variants[like] = self._variant(number, types, extents, numbers)
        extents, device = variant.extents(extents), device_for("host")
        pairs = zip(variant.graph.inputs, types, strict=True)
        spans = {i.value.id: t.span for i, t in pairs}
        lowered = lowered_for(variant, extents, spans, device, self.options)
        return Prepared(lowered, HostExecutor(self.options.fast), extents, arrays)

    def _variant(
        self, number: int, types: Sequence[ArrayType], extents: Mapping[str, int],
        numbers: Mapping[str, Any],
    ) -> Variant:  # fmt: skip
        graph = self.forms[number].graph
        pairs = zip(graph.inputs, types, strict=True)
        laid = tuple(replace(i, layout=t.layout, aligned=t.aligned) for i, t in pairs)
        graph = verify_graph(replace(graph, inputs=laid))
        scalars = {name: scalar_type(value) for name, value in numbers.items()}
        made = Trace(graph, None, frozenset(), extents, scalars)
        return Variant(made, verify_graph(simplify(graph)), {})

    def _by_numpy(
        self, graph: FunctionGraph, arrays: Sequence[Any], numbers: Mapping[str, Any],
        error: NoCompilerError,
    ) -> Sequence[Any]:  # fmt: skip
        """The same by NumPy, operator by operator, where there is no compiler."""
        warnings.warn(
            f"{self.name}: NumPy computes the blocks of this worker: {error}",
            OpweaveWarning, stacklevel=2,
        )  # fmt: skip
        extents = graph.extents(symbol_extents([array_type("", a) for a in arrays]))
        given = {i.value.id: a for i, a in zip(graph.inputs, arrays, strict=True)}
        return run_reference(graph, given, {**extents, **numbers})


# Stages that came to this process: tasks that get the same share what they prepared.
MOST_ARRIVED = 64
_arrived: dict[str, Stage] = {}
_arriving = locks.lock()


def arrived(token: str, name: str, options: Options, forms: list[BlockForm]) -> Stage:
    """The stage of a token; the same one while it is known."""
    with _arriving:
        if token not in _arrived:
            if len(_arrived) >= MOST_ARRIVED:
                _arrived.pop(next(iter(_arrived)))
            _arrived[token] = Stage(token, name, options, forms)
        return _arrived[token]


def run_block(stage: Stage, block: Block, pieces: Sequence[Any]) -> Any:
    """A task: one block; a tuple of results where there are several.

    Raises:
        InterchangeError: a block is not what its array says.
    """
    given = iter(pieces)
    arrays = [_assembled(stage.name, part, given) for part in block.parts]
    found = stage.run(block, arrays)
    return found[0] if len(found) == 1 else tuple(found)


def _assembled(name: str, part: BlockInput, given: Any) -> Any:
    if part.pieces and part.pieces[0].at is None:
        return _checked(name, part, part.pieces[0], next(given))
    found = np.empty(part.shape, part.dtype)
    for piece in part.pieces:
        found[piece.at] = _checked(name, part, piece, next(given))
    return found


def _checked(name: str, part: BlockInput, piece: Piece, value: Any) -> Any:
    array = np.asarray(value) if isinstance(value, np.generic) else value
    if type(array) is not np.ndarray or (array.shape, array.dtype) != (piece.shape, part.dtype):
        of = getattr(array, "dtype", ""), getattr(array, "shape", "")
        raise InterchangeError(
            f"{name}: a block of a dask array: expected {part.dtype}{piece.shape} of NumPy as the "
            f"array says, found {type(array).__name__} {of[0]}{of[1]}; say dtype= and meta= where "
            "the array is made"
        )
    taken = array if piece.taken is None else array[piece.taken]
    return taken if taken.flags.aligned else taken.copy()  # it came in the middle of a message


@dataclass(frozen=True, slots=True)
class Join:
    """How results of blocks become one: a reduction, and the types before and at the end."""

    operator: str
    dtype: str
    result: str
    shape: tuple[int, ...]


def join_blocks(join: Join, parts: Sequence[Any], is_last: bool) -> Any:
    """A task: results of blocks joined in pairs of neighbours, an order that their number says."""
    reduce = OPERATORS[join.operator].numpy
    dtype = np.dtype(join.dtype)
    found = [np.asarray(part) for part in parts]
    with np.errstate(all="ignore"):
        while len(found) > 1:
            pairs = zip(found[::2], found[1::2], strict=False)
            left = found[len(found) // 2 * 2 :]
            found = [np.asarray(reduce(np.stack(p), axis=0)).astype(dtype) for p in pairs] + left
        return found[0].astype(join.result).reshape(join.shape)[()] if is_last else found[0]


def no_block(join: Join) -> Any:
    """A task: the result of no elements, or no result."""
    if 0 in join.shape:
        return np.empty(join.shape, join.result)
    nothing = np.empty((0, *join.shape), join.dtype)
    return np.asarray(OPERATORS[join.operator].numpy(nothing, axis=0)).astype(join.result)[()]
