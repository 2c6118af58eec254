"""The extension ``fft``: NumPy's or CuPy's transforms, in the precision of the array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opweave.xp import devices
from opweave.xp.arrays import Array, array_of
from opweave.xp.called import by_library
from opweave.xp.dtypes import COMPLEX_OF, DType, dtype_of
from opweave.xp.maps import node_of
from opweave.xp.nodes import given
from opweave.xp.reductions import check_kinds
from opweave.xp.shapes import axes_of, cast

# Kinds that a transform takes, and whether its result is complex.
TRANSFORMS = {
    "fft": ("fc", True), "ifft": ("fc", True), "rfft": ("f", True), "irfft": ("fc", False),
    "hfft": ("fc", False), "ihfft": ("f", True), "fftn": ("fc", True), "ifftn": ("fc", True),
    "rfftn": ("f", True), "irfftn": ("fc", False),
}  # fmt: skip


def _transformed(name: str, x: Array, options: dict[str, Any]) -> Array:
    kinds, is_complex = TRANSFORMS[name]
    node = node_of(x, name)
    check_kinds(name, node.dtype, kinds)
    found: Array = by_library(f"fft.{name}", x, **options)
    wanted = _precision(node.dtype, is_complex)
    return found if found.dtype == wanted else array_of(cast(found._node, wanted))


def _precision(dtype: DType, is_complex: bool) -> DType:
    made = COMPLEX_OF.get(dtype, dtype)
    real = {complex_: real for real, complex_ in COMPLEX_OF.items()}
    return made if is_complex else real[made]


def _one(name: str) -> Callable[..., Array]:
    def transform(
        x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward"
    ) -> Array:
        return _transformed(name, x, {"n": n, "axis": axis, "norm": norm})

    return _named(transform, name)


def _several(name: str) -> Callable[..., Array]:
    def transform(
        x: Array, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
        norm: str = "backward",
    ) -> Array:  # fmt: skip
        if s is not None and axes is None:
            axes = range(-len(s), 0)
        axes = None if axes is None else axes_of(tuple(axes), len(node_of(x, name).shape), name)
        return _transformed(name, x, {"s": s, "axes": axes, "norm": norm})

    return _named(transform, name)


def _named(function: Callable[..., Array], name: str) -> Callable[..., Array]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The standard's ``fft.{name}``."
    return function


fft, ifft, rfft, irfft = _one("fft"), _one("ifft"), _one("rfft"), _one("irfft")
hfft, ihfft = _one("hfft"), _one("ihfft")
fftn, ifftn, rfftn, irfftn = map(_several, ("fftn", "ifftn", "rfftn", "irfftn"))


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Array:
    """The frequencies of a transform of ``n`` elements."""
    return _frequencies("fftfreq", n, d, dtype, device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Array:
    """The frequencies of a transform of ``n`` real elements."""
    return _frequencies("rfftfreq", n, d, dtype, device)


def _frequencies(name: str, n: int, d: float, dtype: Any, device: Any) -> Array:
    library = devices.module_of(device, name)
    made = getattr(library.fft, name)(n, d=d)
    wanted = np.dtype("float64") if dtype is None else dtype_of(dtype, name)
    check_kinds(name, wanted, "f")
    return array_of(given(made.astype(wanted)))


def fftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """The elements with the frequency zero in the middle."""
    check_kinds("fftshift", node_of(x, "fftshift").dtype, "fc")
    found: Array = by_library("fft.fftshift", x, axes=axes)
    return found


def ifftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """What ``fftshift`` has moved, back."""
    check_kinds("ifftshift", node_of(x, "ifftshift").dtype, "fc")
    found: Array = by_library("fft.ifftshift", x, axes=axes)
    return found
