"""The standard's functions that make arrays."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from opweave.compiler.ir.plain_arrays import is_cupy
from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import (
    ArgumentError,
    DTypeError,
    OpweaveError,
    OutOfMemoryError,
    ShapeError,
    SubclassError,
)
from opweave.xp import devices
from opweave.xp.arrays import Array, array_of
from opweave.xp.called import by_library, concrete, nodes_in
from opweave.xp.dtypes import DEFAULTS, FLOAT64, LETTER, DType, Number, dtype_of
from opweave.xp.lines import at_line
from opweave.xp.looks import look
from opweave.xp.maps import NUMBERS, node_of
from opweave.xp.nodes import given
from opweave.xp.shapes import cast, shape_of

# What NumPy makes new arrays of.
SEQUENCES = (list, tuple, *NUMBERS)
# Classes of arrays of NumPy's that hold what their elements say, and no more.
PLAIN = (np.ndarray, np.memmap, np.matrix, np.recarray)


def _made(what: str, device: Any, *args: Any, **kwargs: Any) -> Array:
    """What a function of NumPy's or CuPy's makes.

    Raises:
        OutOfMemoryError: there is no memory for it.
        ArgumentError, ShapeError: the library does not take the arguments.
    """
    library = devices.module_of(device, what)
    try:
        with np.errstate(all="ignore"):
            return array_of(given(getattr(library, what)(*args, **kwargs)))
    except MemoryError as error:
        raise OutOfMemoryError(f"{what}: {error}{at_line()}") from None
    except (TypeError, ValueError) as error:
        kind = ArgumentError if isinstance(error, TypeError) else ShapeError
        raise kind(f"{what}: {error}{at_line()}") from None


def _dtype(dtype: Any, usual: Any, what: str) -> Any:
    return usual if dtype is None else dtype_of(dtype, what)


def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
) -> Array:
    """An array of numbers, of sequences of them, or of an array of NumPy's, CuPy's or others'.

    Args:
        dtype: of the result; by default that of ``obj``, or the widest of the numbers' kind.
        device: where its memory lies; by default where that of ``obj`` does.
        copy: False shares memory: what either side writes, the other sees.  By default arrays of
            others are copied, since what is recorded on an array reads it later.

    Raises:
        DTypeError: elements that the standard has no dtype for.
        ArgumentError: ``copy=False`` where only a copy can be, or no such device.
        SubclassError: an array of NumPy's that has a mask, a unit or the like.
    """
    if isinstance(obj, Array):
        return _from_ours(obj, dtype, device, copy)
    if isinstance(obj, np.ndarray) and type(obj) not in PLAIN and not is_cupy(obj):
        raise SubclassError(
            f"asarray: {type(obj).__name__} gives an array a meaning that would be lost"
            f"{at_line()}: take what is to be computed with by np.asarray"
        )
    shares = copy is False
    if dtype is not None and isinstance(obj, SEQUENCES):
        _check_kept(obj, dtype_of(dtype, "asarray"))
    memory = _memory_of(obj, dtype, device, shares)
    if not shares and not memory.dtype.isnative:
        memory = memory.astype(memory.dtype.newbyteorder("="))
    if LETTER.get(memory.dtype) is None:
        raise DTypeError(f"asarray: the standard has no dtype {memory.dtype}{at_line()}")
    if not shares and not isinstance(obj, SEQUENCES):
        memory = memory.copy()
    return array_of(given(memory, is_given=shares))


def _check_kept(obj: Any, dtype: DType) -> None:
    """Refuse a dtype that would lose a part of numbers: floats as integers, or as truths."""
    made = _memory_of(obj, None, None, False)
    found = LETTER.get(made.dtype, "b")  # of other elements NumPy says it
    if made.size and LETTER[dtype] not in "bifc"["bifc".index(found) :]:
        raise DTypeError(
            f"asarray: {dtype} cannot hold {shown(obj)}{at_line()}: cast by xp.astype"
        )


def _from_ours(x: Array, dtype: Any, device: Any, copy: bool | None) -> Array:
    node = x._node
    wanted = node.dtype if dtype is None else dtype_of(dtype, "asarray")
    moved = node if device is None else devices.moved(node, device)
    if wanted != node.dtype or moved is not node:
        if copy is False:
            raise ArgumentError(f"asarray: copy=False, and {x.dtype} needs a copy{at_line()}")
        return array_of(moved if wanted == node.dtype else cast(moved, wanted))
    return array_of(devices.copied(node)) if copy else x


def _memory_of(obj: Any, dtype: Any, device: Any, shares: bool) -> Any:
    """An array of NumPy's or CuPy's, which may share the memory of the object."""
    wanted = None if dtype is None else dtype_of(dtype, "asarray")
    is_on_gpu = device is None and hasattr(obj, "__cuda_array_interface__")
    library = import_module("cupy") if is_on_gpu else devices.module_of(device, "asarray")
    try:
        options = {"copy": False} if shares else {}
        return library.asarray(_plain(obj), dtype=wanted, **options)
    except OpweaveError:
        raise
    except (ValueError, TypeError, OverflowError, RuntimeError) as error:
        raise ArgumentError(f"asarray: {shown(obj)}: {error}{at_line()}") from None


def _plain(obj: Any) -> Any:
    """Sequences with memory in the place of arrays of ours, all looked at as one program."""
    if type(obj) not in SEQUENCES:
        return obj
    look(*nodes_in(obj))
    return concrete(obj)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """An array of what holds memory by DLPack; ``copy`` as in ``asarray``.

    Raises:
        ArgumentError: ``x`` has no ``__dlpack__``, or there is no such device.
        DTypeError: elements that the standard has no dtype for.
    """
    if isinstance(x, Array):
        return _from_ours(x, None, device, copy)
    if not hasattr(x, "__dlpack__"):
        raise ArgumentError(f"from_dlpack: {type(x).__name__} has no __dlpack__{at_line()}")
    is_host = int(x.__dlpack_device__()[0]) in (1, 3)
    library: Any = np if is_host else import_module("cupy")
    try:
        memory = library.from_dlpack(x)
    except (BufferError, RuntimeError) as error:
        raise ArgumentError(f"from_dlpack: {error}{at_line()}") from None
    if LETTER.get(memory.dtype) is None:
        raise DTypeError(f"from_dlpack: the standard has no dtype {memory.dtype}{at_line()}")
    made = array_of(given(memory if copy is False else memory.copy(), is_given=copy is False))
    return made if device is None else made.to_device(device)


def arange(
    start: float, /, stop: float | None = None, step: float = 1, *, dtype: Any = None,
    device: Any = None,
) -> Array:  # fmt: skip
    """Numbers from ``start`` to ``stop``, which is not reached, a step apart."""
    first, last = (0, start) if stop is None else (start, stop)
    numbers = {type(n) for n in (first, last, step)}
    usual = DEFAULTS[float if float in numbers else int]
    wanted = _dtype(dtype, usual, "arange")
    if step == 0:
        raise ArgumentError(f"arange: expected a step, found 0{at_line()}")
    return _made("arange", device, first, last, step, dtype=wanted)


def linspace(
    start: complex, stop: complex, /, num: int, *, dtype: Any = None, device: Any = None,
    endpoint: bool = True,
) -> Array:  # fmt: skip
    """``num`` numbers from ``start`` to ``stop``, as far from each other.

    Raises:
        ArgumentError: ``num`` is negative.
    """
    usual = DEFAULTS[complex if complex in (type(start), type(stop)) else float]
    wanted = _dtype(dtype, usual, "linspace")
    if num < 0:
        raise ArgumentError(f"linspace: expected num of at least 0, found {num}{at_line()}")
    return _made("linspace", device, start, stop, num, endpoint=endpoint, dtype=wanted)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None
) -> Array:
    """A matrix with ones on a diagonal."""
    wanted = _dtype(dtype, FLOAT64, "eye")
    return _made("eye", device, n_rows, n_cols, k=k, dtype=wanted)


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """An array whose elements are anything; they are zeros."""
    return zeros(shape, dtype=dtype, device=device)


def full(shape: Any, fill_value: Number, *, dtype: Any = None, device: Any = None) -> Array:
    """An array of one number.

    Raises:
        ArgumentError: it is no number of Python's.
    """
    if type(fill_value) not in NUMBERS:
        raise ArgumentError(
            f"full: expected a number of Python's, found {shown(fill_value)}{at_line()}"
        )
    wanted = _dtype(dtype, DEFAULTS[type(fill_value)], "full")
    return _made("full", device, shape_of(shape, "full"), fill_value, dtype=wanted)


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """An array of ones."""
    wanted = _dtype(dtype, FLOAT64, "ones")
    return _made("ones", device, shape_of(shape, "ones"), dtype=wanted)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """An array of zeros."""
    wanted = _dtype(dtype, FLOAT64, "zeros")
    return _made("zeros", device, shape_of(shape, "zeros"), dtype=wanted)


def _like(x: Array, dtype: Any, device: Any, what: str) -> dict[str, Any]:
    node = node_of(x, what)
    return {
        "dtype": node.dtype if dtype is None else dtype,
        "device": devices.device_of(node) if device is None else device,
    }


def empty_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    """An array of this shape, whose elements are anything; they are zeros."""
    return zeros(x.shape, **_like(x, dtype, device, "empty_like"))


def full_like(x: Array, /, fill_value: Number, *, dtype: Any = None, device: Any = None) -> Array:
    """An array of this shape, of one number."""
    return full(x.shape, fill_value, **_like(x, dtype, device, "full_like"))


def ones_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    """An array of this shape, of ones."""
    return ones(x.shape, **_like(x, dtype, device, "ones_like"))


def zeros_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    """An array of this shape, of zeros."""
    return zeros(x.shape, **_like(x, dtype, device, "zeros_like"))


def meshgrid(*arrays: Array, indexing: str = "xy") -> tuple[Array, ...]:
    """Coordinates of a grid, of vectors along its axes."""
    for array in arrays:
        node_of(array, "meshgrid")
    return tuple(by_library("meshgrid", *arrays, indexing=indexing)) if arrays else ()


def tril(x: Array, /, *, k: int = 0) -> Array:
    """The elements on and below a diagonal of matrices, else zeros."""
    found: Array = by_library("tril", x, k=k)
    return found


def triu(x: Array, /, *, k: int = 0) -> Array:
    """The elements on and above a diagonal of matrices, else zeros."""
    found: Array = by_library("triu", x, k=k)
    return found
