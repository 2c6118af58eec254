"""What a trace takes, and what it gives: arguments by what is static of them, and the graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opweave.compiler.captures.structure import Identity, Structure
from opweave.compiler.ir.expr import Expr
from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.values import Value
from opweave.opcodes.dtypes import DType


@dataclass(frozen=True)
class ArrayType:
    """What is static of an array argument, and its example extents.

    Attributes:
        dtype: element type.
        shape: extents of the example.
        layout: layout class, see ``Input`` of ir/graph.py.
        aligned: the first element lies on a 16-byte boundary.
        span: largest offset of the layout from the first element, in elements.
        library: whose array it is, as the function may ask: "numpy" or "cupy", or "memmap" for
            NumPy's class of files in memory.
    """

    dtype: DType
    shape: tuple[int, ...]
    layout: str = "C"
    aligned: bool = False
    span: int = field(default=0, compare=False)
    library: str = "numpy"


@dataclass(frozen=True)
class Static:
    """An argument whose value is part of the guard."""

    value: Any


Argument = ArrayType | Static | Any


def static_key(value: Any) -> Any:
    """A key that tells apart values which compare equal: 1, 1.0 and True; 0.0 and -0.0."""
    if isinstance(value, float):
        return type(value), float(value).hex()
    if isinstance(value, complex):
        return type(value), (value.real.hex(), value.imag.hex())
    if isinstance(value, tuple | frozenset):
        return type(value), tuple(map(static_key, value))
    if isinstance(value, slice):  # which has no hash before Python 3.12
        return slice, tuple(map(static_key, (value.start, value.stop, value.step)))
    if type(value) is Identity and type(array := value.value) is np.ndarray:  # as it lies now
        return Identity, value, array.shape, array.strides, array.dtype
    return type(value), value


@dataclass(frozen=True)
class Trace:
    """A traced function.

    Attributes:
        graph: its graph.
        structure: how outputs are packed; None for a single one.
        static: names of scalars and extents whose values the function, or an operator, asked for.
        extents: example extent of every symbol.
        scalar_types: type of every scalar argument, by its name in C.
        constants: arrays that the function made or found while it was traced; the last inputs.
        constant_types: what is static of them.
        has_faulted: NumPy found a floating-point error in what it computed while tracing.
        sets_errors: the function itself changes NumPy's settings for such errors.
        suspects: values for which NumPy warns where they are not finite.
        numbers: expressions of numbers that may be an error, where errors are looked for.
        looked_up: names that were looked up in modules: the names there, the name, and whether
            the module is of others.
        has_aliases: results are arrays of their own, or may be, which are views to NumPy.
        libraries: whose array each input is; empty where a graph is made otherwise.
    """

    graph: FunctionGraph
    structure: Structure | None
    static: frozenset[str]
    extents: Mapping[str, int]
    scalar_types: Mapping[str, Any]
    constants: tuple[Any, ...] = ()
    constant_types: tuple[ArrayType, ...] = ()
    has_faulted: bool = False
    sets_errors: bool = False
    numbers: tuple[Expr, ...] = ()
    suspects: tuple[Value, ...] = ()
    looked_up: tuple[tuple[Any, str, bool], ...] = ()
    has_aliases: bool = False
    libraries: tuple[str, ...] = ()
