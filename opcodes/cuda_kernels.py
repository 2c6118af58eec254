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
from opweave.opcodes.allowed import check_name, shown
from opweave.opcodes.c_parameters import CParameter, parameters_of
from opweave.opcodes.core import Kind, Operator
from opweave.opcodes.errors import ArgumentError, DTypeError, OpweaveError, ShapeError
from opweave.opcodes.shapes import ShapeRule, no_pairs

# CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability".
MOST_THREADS = 1024
MOST_BLOCKS = (2**31 - 1, 65535, 65535)
MOST_BLOCK = (1024, 1024, 64)
MOST_SHARED = 227 * 1024  # of a block on sm_90, more than on any other
Three = tuple[int, int, int]
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
class Launched:
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

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "numpy", self.by_numpy)  # one for each kernel

    def __repr__(self) -> str:
        return f"<kernel {self.c_name}({', '.join(p.text for p in self.parameters)})>"

    @property
    def given(self) -> tuple[CParameter, ...]:
        """The parameters that an operand of the graph's node is for: all but the outputs."""
        return tuple(p for p in self.parameters if p.name not in self.outputs)

    @property
    def operands(self) -> tuple[CParameter, ...]:
        """The parameters that a call gives."""
        return tuple(p for p in self.given if p.name not in self.extents)

    @property
    def made(self) -> tuple[CParameter, ...]:
        """The parameters of the outputs, in order."""
        return tuple(p for p in self.parameters if p.name in self.outputs)

    @property
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

    def launched(self, seen: Mapping[str, Any], most_shared: int) -> Launched:
        """Grid, block and shared memory for arrays of these shapes.

        Raises:
            ArgumentError: a launch that the device does not take.
        """
        found = self.asked("grid", self.blocks, seen)
        grid = three(f"{self.c_name}: grid", found, MOST_BLOCKS)
        shared = self.asked("shared", self.shared, seen)
        check_shared(self.c_name, shared, most_shared)
        return Launched(grid, self.block, int(shared))

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

    @property
    def named_numbers(self) -> frozenset[str]:
        """Numbers that shapes, grid or shared memory ask for, which belong to the guard."""
        functions = (*self.outputs.values(), self.blocks, self.shared)
        asked = {n for f in functions if callable(f) for n in names_of(f)}
        return frozenset(p.name for p in self.operands if not p.is_pointer and p.name in asked)

    def tolerance(self, dtype: dtypes.DType) -> tuple[float, float]:
        """Relative and absolute distance that a result may have from the meaning's."""
        rtol = RTOL.get(dtype.numpy_name, 0.0) if self.rtol is None else self.rtol
        return rtol, self.atol


def names_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """The parameters of a function of shapes."""
    return tuple(inspect.signature(function).parameters)


def three(what: str, given: Any, most: Sequence[int]) -> Three:
    """A number, or up to three, as three.

    Raises:
        ArgumentError: anything else, or one that is 0 or above the largest.
    """
    extents = given if isinstance(given, (tuple, list)) else (given,)
    try:
        numbers = [n.__index__() for n in extents]
    except (AttributeError, TypeError):
        numbers = []
    if not 1 <= len(numbers) <= 3 or isinstance(given, bool):
        raise ArgumentError(f"{what}={shown(given)}: expected a number, or up to three")
    x, y, z = (*numbers, 1, 1)[:3]
    for n, limit in zip((x, y, z), most, strict=True):
        if not 1 <= n <= limit:
            raise ArgumentError(
                f"{what}={shown(given)}: expected numbers from 1 to {tuple(most)}"
            )
    return x, y, z


def check_block(what: str, given: Any) -> Three:
    """The threads of a block as three numbers.

    Raises:
        ArgumentError: more than a block has.
    """
    block = three(what, given, MOST_BLOCK)
    if prod(block) > MOST_THREADS:
        raise ArgumentError(f"{what}={shown(given)}: expected at most {MOST_THREADS} threads")
    return block


def check_shared(name: str, given: Any, most: int) -> None:
    """Refuse more shared memory than a device has.

    Raises:
        ArgumentError: not a number of bytes up to the most.
    """
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or not 0 <= given <= most:
        raise ArgumentError(
            f"{name}: shared={shown(given)}: expected a number of bytes up to {most}, the shared "
            "memory of a block"
        )


def check_definition(kernel: CudaKernel) -> None:
    """Hold what a kernel is declared as to its parameter list.

    Raises:
        ArgumentError, DTypeError: says what was expected and found.
    """
    name, known = kernel.c_name, {p.name: p for p in kernel.parameters}
    listed = ", ".join(p.text for p in kernel.parameters)
    for what, names in (("outputs", kernel.outputs), ("extents", kernel.extents)):
        for wanted in names:
            if wanted not in known:
                raise ArgumentError(
                    f"{name}: {what} names {shown(wanted)}, which is no parameter: it has {listed}"
                )
    for p in kernel.parameters:
        _check_parameter(kernel, p)
    if not kernel.outputs:
        raise ArgumentError(f"{name}: it has no outputs: name its results in outputs={{...}}")
    _check_functions(kernel)
    _check_meaning(kernel)


def _check_parameter(kernel: CudaKernel, p: CParameter) -> None:
    at = f"{kernel.c_name}: parameter {p.name} ({p.text}, line {p.line} of the source)"
    check_name(p.name, f"{kernel.c_name}: parameter")
    if p.dtype is None:
        raise DTypeError(
            f"{at}: its type is none of NumPy's: name the dtype of its elements in "
            f"dtypes={{{p.name!r}: 'float32'}}"
        )
    is_output, is_extent = p.name in kernel.outputs, p.name in kernel.extents
    if is_output and (not p.is_pointer or p.is_const):
        raise ArgumentError(f"{at}: an output is a pointer to what is not const")
    if is_extent and (p.is_pointer or p.dtype.kind not in "iu"):
        raise ArgumentError(f"{at}: an extent is an integer")
    if p.is_pointer and not is_output and not p.is_const:
        raise ArgumentError(
            f"{at}: the kernel may write there, and no output is declared: name it in "
            f"outputs={{{p.name!r}: ...}}, or make it const {p.text}"
        )
    if not p.is_pointer and (p.dtype.is_complex or p.dtype.round):
        raise DTypeError(
            f"{at}: a number by value is an integer, a bool, a float or a double: pass an array "
            "of one element"
        )


def _check_functions(kernel: CudaKernel) -> None:
    """Each function of shapes names operands; grid, shared and extents also outputs."""
    operands = {p.name for p in kernel.operands}
    functions: list[tuple[str, Any, set[str]]] = [
        *((f"outputs[{n!r}]", f, operands) for n, f in kernel.outputs.items()),
        *((f"extents[{n!r}]", f, operands | {*kernel.outputs}) for n, f in kernel.extents.items()),
        ("grid", kernel.blocks, operands | {*kernel.outputs}),
        ("shared", kernel.shared, operands | {*kernel.outputs}),
    ]
    for what, function, known in functions:
        if not callable(function):
            if what in ("grid", "shared"):
                continue
            raise ArgumentError(f"{kernel.c_name}: {what}: expected a function of what it names")
        for name in names_of(function):
            if name not in known:
                raise ArgumentError(
                    f"{kernel.c_name}: {what} asks for {name!r}: expected names among "
                    f"{', '.join(sorted(known))}"
                )


def _check_meaning(kernel: CudaKernel) -> None:
    if not callable(kernel.meaning):
        raise ArgumentError(f"{kernel.c_name}: numpy={shown(kernel.meaning)}: expected a function")
    wanted = [p.name for p in kernel.operands]
    if isinstance(kernel.meaning, np.ufunc):
        found = wanted if kernel.meaning.nin == len(wanted) else ["?"] * kernel.meaning.nin
    else:
        try:
            found = list(names_of(kernel.meaning))
        except (TypeError, ValueError):
            return  # a function in C
    if found != wanted:
        raise ArgumentError(
            f"{kernel.c_name}: the NumPy meaning takes {len(found)} parameters "
            f"({', '.join(found)}), a call of the kernel {len(wanted)} ({', '.join(wanted)}): they "
            "have the same names in the same order; numbers that follow from shapes are named in "
            "extents={...}"
        )


def described(
    source: Any, name: Any, outputs: Any, grid: Any, block: Any, shared: Any, extents: Any,
    numpy: Any, kinds: Any, tolerance: tuple[Any, Any],
) -> dict[str, Any]:  # fmt: skip
    """The fields of a kernel, from what a user has given; ``kinds`` are dtypes by parameter.

    Raises:
        NameRefusedError: no such kernel in the source.
        ArgumentError: what is no text, no mapping, or no launch.
    """
    check_name(name, "kernel")
    if type(source) is not str or "\0" in source or not source.isascii():
        raise ArgumentError(f"{name}: source: expected CUDA C++ as ASCII text")
    for what, given in (("outputs", outputs), ("extents", extents), ("dtypes", kinds)):
        if not isinstance(given, Mapping):
            raise ArgumentError(f"{name}: {what}={shown(given)}: expected a dict by parameter")
    if not callable(grid):
        three(f"{name}: grid", grid, MOST_BLOCKS)
    if not callable(shared):
        check_shared(name, shared, MOST_SHARED)
    for what, given in zip(("rtol", "atol"), tolerance, strict=True):
        if given is not None and (isinstance(given, bool) or not 0 <= float(given) < np.inf):
            raise ArgumentError(f"{name}: {what}={shown(given)}: expected a number from 0")
    parameters = tuple(_typed(p, kinds) for p in parameters_of(source, name))
    makes = tuple(p.dtype for p in parameters if p.name in outputs)
    takes = tuple(p.dtype for p in parameters if p.name not in outputs)
    return {
        "name": f"kernel_{name}"[:64],
        "kind": Kind.HANDWRITTEN,
        "opcodes": (),
        "numpy": numpy,
        "type_rule": lambda types, attrs: (takes, makes),
        "params": tuple(p.name for p in parameters if p.name not in outputs),
        "source": source,
        "c_name": name,
        "parameters": parameters,
        "outputs": dict(outputs),
        "extents": dict(extents),
        "blocks": grid,
        "block": check_block(f"{name}: block", block),
        "shared": shared,
        "meaning": numpy,
        "rtol": tolerance[0],
        "atol": tolerance[1],
    }


def _typed(p: CParameter, kinds: Mapping[str, Any]) -> CParameter:
    """A parameter with the dtype that the user has named."""
    if p.name not in kinds:
        return p
    return CParameter(p.name, p.text, dtypes.of(kinds[p.name]), p.is_pointer, p.is_const, p.line)
