"""A whole CUDA kernel that someone wrote, as an operator: ``ow.raw_kernel``.

The kernel's parameters are its arrays and numbers (*operands*), the arrays that it makes
(*outputs*), and numbers that follow from shapes (*extents*).  Shapes, grid and shared memory are
functions of what they name: arrays stand there with ``shape``, ``dtype``, ``ndim`` and ``size``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from opweave.opcodes import dtypes
from opweave.opcodes.cached import cached_property
from opweave.opcodes.core import Operator
from opweave.opcodes.errors import ArgumentError, DTypeError, OpweaveError, ShapeError
from opweave.opcodes.handwritten.c_parameters import CParameter
from opweave.opcodes.handwritten.launch_limits import MOST_BLOCKS, Three, check_shared, three
from opweave.opcodes.shapes import ShapeRule, no_pairs

# How far results may be from the meaning's, by their dtype; integers and bools must be equal.
RTOL = {"float16": 1e-2, "bfloat16": 5e-2, "float32": 1e-5, "float64": 1e-12,
        "complex64": 1e-5, "complex128": 1e-12}  # fmt: skip


@dataclass(frozen=True)
class Shaped:
    """What functions of shapes see of an array."""

    shape: tuple[Any, ...]
    dtype: np.dtype[Any]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Any:
        return prod(self.shape)


@dataclass(frozen=True)
class ExecutionConfig:
    """Grid, block and dynamic shared memory of a launch."""

    grid: Three
    block: Three
    shared_bytes: int


def _no_rule(*_: Any) -> Any:
    raise ShapeError("the kernel's own functions give its shapes")


@dataclass(frozen=True, eq=False, kw_only=True)
class CudaKernel(Operator):
    """A kernel that someone wrote.

    Attributes:
        source: CUDA C++ as it was given.
        c_name: name of the ``__global__`` function.
        parameters: all of them, in order.
        outputs: functions that give the outputs' shapes, by their parameters.
        extents: functions that give numbers, by their parameters.
        blocks: blocks of the grid: a number, up to three, or a function that gives them.
        block: threads of a block.
        shared: dynamic shared memory of a block in bytes, or a function that gives it.
        meaning: the NumPy function of the operands.
        rtol, atol: how far results may be from the meaning's.
        zeros: outputs that begin as zeros.
        shapes: functions that give the shapes of operands, by their parameters; None for any.
    """

    shape_rule: ShapeRule = field(default=ShapeRule(no_pairs, _no_rule), compare=False)
    source: str
    c_name: str
    parameters: tuple[CParameter, ...]
    outputs: Mapping[str, Callable[..., Any]]
    extents: Mapping[str, Callable[..., Any]]
    blocks: Any
    block: Three
    shared: Any
    meaning: Callable[..., Any]
    rtol: float | None = None
    atol: float = 0.0
    zeros: frozenset[str] = frozenset()
    shapes: Mapping[str, Callable[..., Any] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "numpy", self.by_numpy)  # one for each kernel

    def __repr__(self) -> str:
        return f"<kernel {self.c_name}({', '.join(p.text for p in self.parameters)})>"

    @cached_property
    def given(self) -> tuple[CParameter, ...]:
        """The parameters that an operand of the graph's node is for: all but the outputs."""
        return tuple(p for p in self.parameters if p.name not in self.outputs)

    @cached_property
    def operands(self) -> tuple[CParameter, ...]:
        """The parameters that a call gives."""
        return tuple(p for p in self.given if p.name not in self.extents)

    @cached_property
    def made(self) -> tuple[CParameter, ...]:
        """The parameters of the outputs, in order."""
        return tuple(p for p in self.parameters if p.name in self.outputs)

    @cached_property
    def __signature__(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(p.name, kind) for p in self.operands])

    def by_numpy(self, *given: Any, shapes: Sequence[tuple[int, ...]]) -> Any:
        """The meaning of the operands of a node, held to the shapes and dtypes of the outputs.

        Raises:
            ShapeError, DTypeError: the meaning gives other arrays than the kernel makes.
        """
        pairs = zip(self.given, given, strict=True)
        operands = [value for p, value in pairs if p.name not in self.extents]
        found = self.meaning(*operands)
        results = found if isinstance(found, tuple) else (found,)
        if len(results) != len(self.made):
            raise ShapeError(
                f"{self.c_name}: the NumPy meaning gives {len(results)} results, the kernel makes "
                f"{len(self.made)} ({', '.join(p.name for p in self.made)})"
            )
        arrays = tuple(map(np.asarray, results))
        for p, array, shape in zip(self.made, arrays, shapes, strict=True):
            if array.shape != shape:
                raise ShapeError(
                    f"{self.c_name}: output {p.name} has the shape {shape}, the NumPy meaning "
                    f"gives {array.shape}: change outputs={{{p.name!r}: ...}} or the meaning"
                )
            assert p.dtype is not None
            if array.dtype != p.dtype.numpy:
                raise DTypeError(
                    f"{self.c_name}: output {p.name} ({p.text}) is an array of "
                    f"{p.dtype.numpy_name}, the NumPy meaning gives {array.dtype}: end it with "
                    f".astype({p.dtype.numpy_name!r})"
                )
        return arrays if len(arrays) > 1 else arrays[0]

    def launched(self, seen: Mapping[str, Any], most_shared: int) -> ExecutionConfig:
        """Grid, block and shared memory for arrays of these shapes.

        Raises:
            ArgumentError: a launch that the device does not take.
        """
        found = self.asked("grid", self.blocks, seen)
        grid = three(f"{self.c_name}: grid", found, MOST_BLOCKS)
        shared = self.asked("shared", self.shared, seen)
        check_shared(self.c_name, shared, most_shared)
        return ExecutionConfig(grid, self.block, int(shared))

    def asked(self, what: str, function: Any, seen: Mapping[str, Any]) -> Any:
        """What a function of shapes gives; anything else is the answer itself.

        Raises:
            ArgumentError: it raises something.
        """
        if not callable(function):
            return function
        try:
            return function(*(seen[name] for name in names_of(function)))
        except OpweaveError:
            raise
        except Exception as error:  # the user's function may raise anything
            text = f"{type(error).__name__}: {error}"
            raise ArgumentError(f"{self.c_name}: {what} raised {text}") from error

    @cached_property
    def functions(self) -> dict[str, Callable[..., Any]]:
        """The functions of shapes, by what they give."""
        found: dict[str, Any] = {
            **{f"outputs[{n!r}]": f for n, f in self.outputs.items()},
            **{f"extents[{n!r}]": f for n, f in self.extents.items()},
            **{f"shapes[{n!r}]": f for n, f in self.shapes.items()},
            "grid": self.blocks,
            "shared": self.shared,
        }
        return {what: f for what, f in found.items() if callable(f)}

    @cached_property
    def alike(self) -> tuple[str, ...]:
        """The operands that have one shape: of these a kernel may take the extents of the first.

        They are the arrays whose shape nobody has declared or asked for, and before them the first
        one that a function asks for.
        """
        arrays = [p.name for p in self.operands if p.is_pointer]
        asked = {n for f in self.functions.values() for n in names_of(f)}
        free = [n for n in arrays if n not in asked and n not in self.shapes]
        return (*[n for n in arrays if n in asked][:1], *free)

    @cached_property
    def named_numbers(self) -> frozenset[str]:
        """Numbers that shapes, grid or shared memory ask for, which belong to the guard."""
        functions = (f for what, f in self.functions.items() if not what.startswith("extents"))
        asked = {n for f in functions for n in names_of(f)}
        return frozenset(p.name for p in self.operands if not p.is_pointer and p.name in asked)

    def tolerance(self, dtype: dtypes.DType) -> tuple[float, float]:
        """Relative and absolute distance that a result may have from the meaning's."""
        rtol = RTOL.get(dtype.numpy_name, 0.0) if self.rtol is None else self.rtol
        return rtol, self.atol


def names_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """The parameters of a function of shapes."""
    return tuple(inspect.signature(function).parameters)
