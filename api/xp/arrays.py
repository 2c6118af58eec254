"""The array: a handle of a node, with the standard's operators and Python's conversions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from opweave.opcodes.errors import ArgumentError, ShapeError, TraceError
from opweave.xp import devices, shapes
from opweave.xp.dtypes import LETTER, DType
from opweave.xp.hints import no_attribute
from opweave.xp.indexing import exchanged, item, write
from opweave.xp.lines import at_line
from opweave.xp.looks import computed
from opweave.xp.maps import MAPS, is_operand, mapped, operand_of
from opweave.xp.nodes import Handle, LazyNode, given
from opweave.xp.products import multiplied

NAMESPACE = "opweave.xp"
VERSION = "2025.12"
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
Operator = Callable[[Any, Any], Any]


def array_of(node: LazyNode) -> Array:
    """The array of a node."""
    made = object.__new__(Array)
    made._hold(node)
    return made


def _unary(name: str) -> Callable[[Any], Any]:
    row = MAPS[name]

    def operator(self: Array) -> Array:
        return array_of(mapped(row, self))

    return operator


def _binary(name: str, is_reflected: bool = False) -> Operator:
    row = MAPS[name]

    def operator(self: Array, other: Any) -> Any:
        if not is_operand(other):
            return NotImplemented
        return array_of(mapped(row, other, self) if is_reflected else mapped(row, self, other))

    return operator


def _in_place(name: str) -> Operator:
    row = MAPS[name]

    def operator(self: Array, other: Any) -> Any:
        if not is_operand(other):
            return NotImplemented
        self._hold(exchanged(self._node, mapped(row, self, other)))
        return self

    return operator


def _three(name: str) -> tuple[Operator, Operator, Operator]:
    """An operator of two, the same from the right, and in place."""
    return _binary(name), _binary(name, True), _in_place(name)


class Array(Handle):
    """An array whose operations are recorded until somebody looks at it.

    Made by ``xp.asarray`` and the functions of ``opweave.xp``.  ``shape``, ``dtype`` and
    ``device`` are known at once; ``bool``, ``int``, ``float``, ``complex``, ``repr``, iteration,
    ``np.asarray``, DLPack, ``to_device`` and ``xp.compute`` look.
    """

    __slots__ = ()
    __array_ufunc__ = None  # NumPy's arrays leave operators to ours
    __hash__ = None  # type: ignore[assignment]

    def __init__(self) -> None:
        raise ArgumentError("Array: make one by xp.asarray")

    # What is known at once

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._node.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self._node.shape

    @property
    def ndim(self) -> int:
        """How many dimensions there are."""
        return len(self._node.shape)

    @property
    def size(self) -> int:
        """How many elements there are."""
        return prod(self._node.shape)

    @property
    def device(self) -> str:
        """Where the memory lies: "cpu", or "cuda:0"."""
        return devices.device_of(self._node)

    @property
    def T(self) -> Array:
        """The transpose of a matrix.

        Raises:
            ShapeError: it has not two dimensions.
        """
        if self.ndim != 2:
            raise ShapeError(f"T: expected 2 dimensions, found {self.ndim}{at_line()}")
        return self.mT

    @property
    def mT(self) -> Array:
        """The transposes of a stack of matrices.

        Raises:
            ShapeError: it has fewer than two dimensions.
        """
        if self.ndim < 2:
            raise ShapeError(f"mT: expected 2 dimensions or more, found {self.ndim}{at_line()}")
        axes = (*range(self.ndim - 2), self.ndim - 1, self.ndim - 2)
        return array_of(shapes.viewed(shapes.PERMUTE, self._node, (("axes", axes),)))

    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any:
        """The module ``opweave.xp``.

        Raises:
            ArgumentError: a version of the standard that it does not have.
        """
        if api_version is not None and api_version not in VERSIONS:
            raise ArgumentError(f"api_version: expected one of {', '.join(VERSIONS)}")
        return import_module(NAMESPACE)

    # What looks

    def _number(self, what: str, kinds: str) -> Any:
        """The one element."""
        if self._node.shape:
            raise TraceError(
                f"{what}: expected an array of no dimensions, found shape "
                f"{list(self.shape)}{at_line()}"
            )
        if LETTER[self.dtype] not in kinds:
            raise TraceError(f"{what}: an array of {self.dtype} is none{at_line()}")
        return computed(self._node).item()

    def __bool__(self) -> bool:
        return bool(self._number("bool", "bifc"))

    def __int__(self) -> int:
        return int(self._number("int", "bif"))

    def __float__(self) -> float:
        return float(self._number("float", "bif"))

    def __complex__(self) -> complex:
        return complex(self._number("complex", "bifc"))

    def __index__(self) -> int:
        return int(self._number("index", "i"))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """The elements as an array of NumPy's: read-only, or a copy where one is asked for.

        Raises:
            ArgumentError: they lie in a GPU's memory.
        """
        if self.device != devices.CPU:
            raise ArgumentError(f"np.asarray: {self.device}{at_line()}: use to_device('cpu')")
        found = devices.seen_by_numpy(self._node)
        if copy or (dtype is not None and np.dtype(dtype) != found.dtype):
            return found.astype(found.dtype if dtype is None else dtype, copy=True)
        return found

    def __dlpack__(
        self, /, *, stream: Any = None, max_version: Any = None, dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:  # fmt: skip
        """A capsule of the memory; whoever takes it sees the same elements."""
        return devices.capsule(self._node, stream, max_version, dl_device, copy)

    def __dlpack_device__(self, /) -> tuple[Any, int]:
        """Type and number of the device."""
        return devices.dlpack_device(self._node)

    def to_device(self, device: Any, /, *, stream: Any = None) -> Array:
        """The array in the memory of a device, itself if it is there.

        Raises:
            ArgumentError: there is no such device.
        """
        moved = devices.moved(self._node, device, stream)
        return self if moved is self._node else array_of(moved)

    def __repr__(self) -> str:
        text = np.array2string(devices.seen_by_numpy(self._node), separator=", ", prefix="Array(")
        return f"Array({text}, dtype={self.dtype})"

    def __format__(self, spec: str) -> str:
        return format(self._number("format", "bifc"), spec) if spec else repr(self)

    def __iter__(self) -> Iterator[Array]:
        if not self._node.shape:
            raise TraceError(f"iteration: an array of no dimensions has no parts{at_line()}")
        computed(self._node)
        return (self[n] for n in range(self._node.shape[0]))

    def __len__(self) -> int:
        if not self._node.shape:
            raise TraceError(f"len: an array of no dimensions has none{at_line()}")
        return self._node.shape[0]

    def __reduce__(self) -> Any:
        return _loaded, (devices.seen_by_numpy(self._node),)

    def __copy__(self) -> Array:
        return array_of(devices.copied(self._node))

    def __deepcopy__(self, memo: Any) -> Array:
        return self.__copy__()

    if not TYPE_CHECKING:  # which knows by itself that there is none

        def __getattr__(self, name: str) -> Any:
            raise no_attribute(self, name)

    # Elements

    def __getitem__(self, key: Any, /) -> Array:
        return array_of(item(self._node, key))

    def __setitem__(self, key: Any, value: Any, /) -> None:
        write(self._node, key, value)

    # Operators

    __add__, __radd__, __iadd__ = _three("add")
    __sub__, __rsub__, __isub__ = _three("subtract")
    __mul__, __rmul__, __imul__ = _three("multiply")
    __truediv__, __rtruediv__, __itruediv__ = _three("divide")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _three("floor_divide")
    __mod__, __rmod__, __imod__ = _three("remainder")
    __pow__, __rpow__, __ipow__ = _three("pow")
    __and__, __rand__, __iand__ = _three("bitwise_and")
    __or__, __ror__, __ior__ = _three("bitwise_or")
    __xor__, __rxor__, __ixor__ = _three("bitwise_xor")
    __lshift__, __rlshift__, __ilshift__ = _three("bitwise_left_shift")
    __rshift__, __rrshift__, __irshift__ = _three("bitwise_right_shift")
    __abs__, __invert__ = _unary("abs"), _unary("bitwise_invert")
    __neg__, __pos__ = _unary("negative"), _unary("positive")
    __eq__, __ne__ = _binary("equal"), _binary("not_equal")
    __lt__, __le__ = _binary("less"), _binary("less_equal")
    __gt__, __ge__ = _binary("greater"), _binary("greater_equal")

    def __matmul__(self, other: Any, /) -> Array:
        if not isinstance(other, Handle):
            return NotImplemented
        return array_of(multiplied(self._node, operand_of(other, "matmul")))

    def __rmatmul__(self, other: Any, /) -> Array:
        return NotImplemented if not isinstance(other, Array) else other @ self

    def __imatmul__(self, other: Any, /) -> Array:
        if not isinstance(other, Handle):
            return NotImplemented
        made = multiplied(self._node, operand_of(other, "matmul"))
        self._hold(exchanged(self._node, made))
        return self


def _loaded(memory: Any) -> Array:
    """An array that was pickled."""
    return array_of(given(memory.copy()))
