"""Products by the BLAS that NumPy has loaded, called by C between kernels.

NumPy's wheels carry OpenBLAS with 64-bit integers, and with names of its own.  Where another
library computes NumPy's products, ``np.matmul`` is called.
"""

from __future__ import annotations

import ctypes
import importlib
import struct
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from opweave.opcodes.dtypes import C64, C128, F32, F64, DType
from opweave.runtime.host.launcher import HostLaunch, Run, runtime_library

if TYPE_CHECKING:
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
PRODUCT = struct.Struct("<3Q8qQq")


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


# Memory whose addresses C has, for as long as the process runs.
_KEPT: list[Any] = []


def native_product(step: Step, layouts: Layouts) -> Step:
    """A product of a library as a step of C's, if C can ask for it: NumPy loops over batches."""
    kernel = step.kernel
    if kernel.template != "vendor":
        return step
    sources = [param.source for param in kernel.params]
    memory = [(array, offset) for _, array, offset in step.arrays]
    if len(sources) == 2:  # x @ x has one parameter for both
        sources, memory = [sources[0], *sources], [memory[0], *memory]
    node = next(n for n in layouts.graph.nodes if n.result.id == sources[2])
    letter, kind = KINDS[node.result.dtype]
    shapes = [layouts.shape_of(value)[0] for value in node.values]
    if any(len(s) != 2 for s in shapes):
        return step
    (m, k), (_, n) = shapes
    strides = tuple(layouts.strides[source] for source in sources)
    if m == 1 or n == 1:
        found = _with_vector(m, n, k, strides)
    else:
        found = _of_matrices(m, n, k, strides, memory[0] == memory[1])
    if found is None:
        return step
    *numbers, how = found
    address = _routine_of(how, letter)
    if address is None:
        return step
    fixed = (None, None, None, *numbers, address, kind + how)
    arrays = tuple((slot, *place) for slot, place in enumerate(memory))
    launch, pack = HostLaunch(_run(m * n * k)), PRODUCT.pack
    return replace(step, launch=launch, compute=None, pack=pack, fixed=fixed, arrays=arrays)


def _of_matrices(
    m: int, n: int, k: int, strides: tuple[tuple[int, ...], ...], is_same: bool
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
    m: int, n: int, k: int, strides: tuple[tuple[int, ...], ...]
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
    return Run(blocks, 1, steps // STEPS_PER_NS, (ctypes.c_uint * 3)(1, 1, 1))


def _leading(strides: tuple[int, ...], rows: int, cols: int) -> tuple[int, int] | None:
    """Whether a matrix is transposed, and its leading dimension; None if no stride is 1."""
    if strides[1] == 1 and strides[0] >= cols:
        return AS_IT_IS, strides[0]
    if strides[0] == 1 and strides[1] >= rows:
        return TRANSPOSED, strides[1]
    return None
