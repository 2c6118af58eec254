"""Products by the BLAS that NumPy has loaded, called by C between kernels.

NumPy's wheels carry OpenBLAS with 64-bit integers, and with names of its own.  Where another
library computes NumPy's products, ``np.matmul`` is called.
"""

from __future__ import annotations

import ctypes
import importlib
import math
import struct
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from opweave.opcodes.dtypes import C64, C128, F32, F64, DType
from opweave.runtime.host.launcher import HostLaunch, Run, runtime_library

if TYPE_CHECKING:
    from opweave.compiler.ir.graph import Node
    from opweave.runtime.calls.layouts import Layouts
    from opweave.runtime.calls.steps import Step

# The letter of a routine, and the code by which runtime.cpp knows how numbers are passed.
KINDS: dict[DType, tuple[str, int]] = {F32: ("s", 0), F64: ("d", 1), C64: ("c", 2), C128: ("z", 3)}
NAME, LAPACK = "scipy_cblas_{}{}64_", "scipy_{}{}_64_"
# Of LAPACK, in the order of ``ProductLibrary``.
SOLVERS = ("gesv", "potrf", "getrf")
AS_IT_IS, TRANSPOSED = 111, 112  # CBLAS_TRANSPOSE of cblas.h
ROW_MAJOR, COLUMN_MAJOR = 101, 102  # CBLAS_ORDER
# What is added to the code of a kind, as in templates/host/products.h: a matrix by a vector, the
# other way round, two vectors, a matrix by what it is transposed.
BY_VECTOR, VECTOR_BY, OF_VECTORS, BY_ITSELF = 4, 8, 12, 16
# Names of the routines; of two vectors of complex numbers it is another.
ROUTINES = {0: "gemm", BY_VECTOR: "gemv", VECTOR_BY: "gemv", OF_VECTORS: "dot", BY_ITSELF: "syrk"}
DOT_OF_COMPLEX = "dotu_sub"
# Multiply-adds of a library in a nanosecond: a guess, to tell short calls from long ones.
STEPS_PER_NS = 32
# ``Product`` of runtime.cpp: three pointers, then numbers.
PRODUCT = struct.Struct("<3Q8qQ5q")


@cache
def routine(letter: str, name: str = "gemm", form: str = "") -> int | None:
    """The address of a routine, if NumPy's own BLAS has it."""
    try:
        path = importlib.import_module("numpy._core._multiarray_umath").__file__
        library = ctypes.CDLL(path)  # looks in what it is linked with, too
        found = getattr(library, (form or NAME).format(letter, name))
    except (ImportError, AttributeError, OSError):
        return None
    return ctypes.cast(found, ctypes.c_void_p).value


def _routine_of(how: int, letter: str) -> int | None:
    name = DOT_OF_COMPLEX if how == OF_VECTORS and letter in "cz" else ROUTINES[how]
    return routine(letter, name)


@cache
def product_library() -> int:
    """The address of a ``ProductLibrary``, for loops of Python; 0 where NumPy has another BLAS."""
    found = [_routine_of(how, letter) for how in ROUTINES for letter, _ in KINDS.values()]
    found += [routine("d", name, LAPACK) for name in SOLVERS]
    if None in found:
        return 0
    made = (ctypes.c_void_p * (1 + len(found)))(None, *found)
    runtime_library().ow_product_library(made)
    _KEPT.append(made)
    return ctypes.addressof(made)


# How many matrices, and the elements from one to the next: of both factors and of the result.
Batch = tuple[int, ...]
# Memory whose addresses C has, for as long as the process runs.
_KEPT: list[Any] = []


def native_product(step: Step, layouts: Layouts) -> Step:
    """A product of a library as a step of C's, if C can ask for it."""
    if step.kernel.template != "vendor":
        return step
    sources = [param.source for param in step.kernel.params]
    memory = [(array, offset) for _, array, offset in step.arrays]
    if len(sources) == 2:  # x @ x has one parameter for both
        sources, memory = [sources[0], *sources], [memory[0], *memory]
    node = next(n for n in layouts.graph.nodes if n.result.id == sources[2])
    lines = [layouts.strides[source] for source in sources]
    found = _numbers(node, layouts, lines, memory[0] == memory[1])
    if found is None:
        return step
    arrays = tuple((slot, *place) for slot, place in enumerate(memory))
    launch = HostLaunch(_run(math.prod(layouts.shape_of(node.result)[0]) * found[2]))
    fixed = (None, None, None, *found)
    return replace(
        step, launch=launch, compute=None, pack=PRODUCT.pack, fixed=fixed, arrays=arrays
    )


def _numbers(
    node: Node, layouts: Layouts, lines: Sequence[tuple[int, ...]], is_same: bool
) -> tuple[int, ...] | None:
    """What follows the pointers of ``Product``; None where NumPy is asked."""
    batch = _batch(node, layouts, lines)
    (m, k), (_, n) = (layouts.shape_of(value)[0][-2:] for value in node.values)
    if batch is None or not m * n * k * batch[0]:
        return None
    m, strides, (many, *apart) = _in_rows(m, [each[-2:] for each in lines], batch)
    if m == 1 or n == 1:
        found = _with_vector(m, n, k, strides)
    else:
        found = _of_matrices(m, n, k, strides, is_same and apart[0] == apart[1])
    letter, kind = KINDS[node.result.dtype]
    if found is None or (address := _routine_of(found[-1], letter)) is None:
        return None
    steps = (each * node.result.dtype.itemsize for each in apart)
    return (*found[:-1], address, kind + found[-1], many, *steps)


def _batch(node: Node, layouts: Layouts, lines: Sequence[tuple[int, ...]]) -> Batch | None:
    """The axes in front of matrices as one; None where no one step leads to each next matrix.

    ``lines``: the strides of both factors and of the result.
    """
    sizes = layouts.shape_of(node.result)[0][:-2]
    shapes = [layouts.shape_of(value)[0] for value in (*node.values, node.result)]
    many, steps = 1, tuple[int, ...]((0, 0, 0))
    for axis in range(-3, -3 - len(sizes), -1):
        if (size := sizes[axis + 2]) == 1:
            continue
        own = tuple(
            line[axis] if -axis <= len(shape) and shape[axis] == size else 0
            for line, shape in zip(lines, shapes, strict=True)
        )
        if many == 1:
            steps = own
        elif own != tuple(many * step for step in steps):
            return None
        many *= size
    return many, *steps


def _in_rows(
    m: int, strides: Sequence[tuple[int, ...]], batch: Batch
) -> tuple[int, Sequence[tuple[int, ...]], Batch]:
    """A batch by one matrix is one product of more rows, if these lie one behind the other.

    As on GPUs (``calls_of``): 3,600 rows by a matrix, each by itself, took 6 times as long.
    """
    (x, y, out), (many, *apart) = strides, batch
    if apart[1] or many == 1 or (m > 1 and (apart[0], apart[2]) != (m * x[0], m * out[0])):
        return m, strides, batch
    if m == 1:
        x, out = (apart[0], x[1]), (apart[2], out[1])
    return m * many, (x, y, out), (1, 0, 0, 0)


def _of_matrices(
    m: int, n: int, k: int, strides: Sequence[tuple[int, ...]], is_same: bool
) -> tuple[int, ...] | None:
    """The numbers of ``Product`` of two matrices, and what is added to its kind.

    ``is_same``: they begin at one place; turned, NumPy takes the matrix by itself.
    """
    x, y, out = strides
    first, second = _leading(x, m, k), _leading(y, k, n)
    if min(m, n, k) < 2 or first is None or second is None:
        return None
    by_itself = is_same and m == n and x == y[::-1] and first[0] != second[0]
    return m, n, k, *first, *second, out[0], BY_ITSELF * by_itself


def _with_vector(
    m: int, n: int, k: int, strides: Sequence[tuple[int, ...]]
) -> tuple[int, ...] | None:
    """The same of a matrix and a vector: the matrix has a row for each element of the result.

    It is read as NumPy has it read, so that bits are NumPy's: transposed in either order.  Of two
    vectors the numbers are those between their elements.
    """
    x, y, out = strides
    if k < 2:
        return None
    if m == n:
        apart = x[1], y[0]
        return (1, 1, k, 0, apart[0], 0, apart[1], 1, OF_VECTORS) if min(apart) > 0 else None
    rows = max(m, n)
    lines, vector, step = (x, y[0], out[0]) if n == 1 else (y[::-1], x[1], out[1])
    found = _leading(lines, rows, k)
    if found is None or vector < 1:
        return None
    order = COLUMN_MAJOR if found[0] == AS_IT_IS else ROW_MAJOR
    how = BY_VECTOR if n == 1 else VECTOR_BY
    return rows, 1, k, order, found[1], TRANSPOSED, vector, step, how


def _run(steps: int) -> Run:
    """A ``Run`` of one block; the library itself shares it out among threads."""
    blocks = ctypes.cast(runtime_library().ow_product, ctypes.c_void_p).value
    one = (ctypes.c_uint * 3)(1, 1, 1)
    return Run(blocks=blocks, share=1, alone=steps // STEPS_PER_NS, grid=one)


def _leading(strides: tuple[int, ...], rows: int, cols: int) -> tuple[int, int] | None:
    """Whether a matrix is transposed, and its leading dimension; None if no stride is 1."""
    if strides[1] == 1 and strides[0] >= cols:
        return AS_IT_IS, strides[0]
    if strides[0] == 1 and strides[1] >= rows:
        return TRANSPOSED, strides[1]
    return None
