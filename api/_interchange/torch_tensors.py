"""PyTorch's tensors: NumPy's views of their memory, and tensors on the memory of results."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from opweave._interchange.kinds import ArrayKind, NotTaken, refusing
from opweave._interchange.memory import on_gpu

LABEL = "torch.Tensor"
PLAIN = "a torch.Tensor with its elements, from outside of what torch traces or maps over"
# Types that torch does not hand to NumPy, as both call them, and integers of as many bits.
BITS = {
    "bfloat16": "int16", "float8_e4m3fn": "int8", "float8_e5m2": "int8",
    "float8_e4m3fnuz": "int8", "float8_e5m2fnuz": "int8",
}  # fmt: skip
# In this order: what a tensor is that torch does not hand to NumPy, and what to pass instead.
REFUSALS: tuple[tuple[Callable[[Any, Any], bool], str, str], ...] = (
    (lambda torch, t: t.layout is not torch.strided, "one of layout {t.layout}", "{x}.to_dense()"),
    (lambda torch, t: t.is_nested,
     "a nested one", "one tensor, as of torch.nested.to_padded_tensor"),
    (lambda torch, t: t.is_quantized, "a quantised one ({t.dtype})", "{x}.dequantize()"),
    (lambda torch, t: t.is_meta, "one on the device meta, which has no elements",
     "torch.empty_like({x}, device='cpu')"),
    (lambda torch, t: t.device.type not in ("cpu", "cuda"),
     "one on the device {t.device}", "{x}.cpu()"),
    (lambda torch, t: t.requires_grad and torch.is_grad_enabled(),
     "one that requires grad, and opweave computes no gradients",
     "{x}.detach(), or call under torch.no_grad()"),
    (lambda torch, t: t.is_conj(), "a conjugate that is not computed yet", "{x}.resolve_conj()"),
    (lambda torch, t: t.is_neg(), "a negative that is not computed yet", "{x}.resolve_neg()"),
)  # fmt: skip


def kind_of(cls: type) -> ArrayKind:
    """The kind of a class of tensors: only torch's own have no meaning besides their elements."""
    torch, made = sys.modules["torch"], tensors()
    if cls in (torch.Tensor, torch.nn.Parameter):
        return ArrayKind(LABEL, made.view, made.give, "torch.from_dlpack({x})")
    name = f"{cls.__module__.partition('.')[0]}.{cls.__name__}"
    if cls.__module__.startswith("torch."):
        return refusing(LABEL, f"{name}, which has no elements in one memory", PLAIN)
    found = f"{name}, which gives a tensor a meaning of its own"
    return refusing(LABEL, found, "{x}.as_subclass(torch.Tensor)")


@cache
def tensors() -> Tensors:
    """What sees and makes tensors; who has one has imported torch."""
    return Tensors(sys.modules["torch"])


class Tensors:
    """Sees tensors as NumPy's arrays, and makes tensors of such."""

    def __init__(self, torch: Any):
        self._torch = torch
        self.from_numpy = torch.from_numpy
        there = [name for name in BITS if hasattr(torch, name)]
        # by torch's dtype: integers, and NumPy's dtype; and the other way round
        self._bits = {
            getattr(torch, n): (getattr(torch, BITS[n]), np.dtype(getattr(ml_dtypes, n)))
            for n in there
        }
        self._by_numpy = {
            dtype: (np.dtype(BITS[dtype.name]), kept) for kept, (_, dtype) in self._bits.items()
        }

    def view(self, tensor: Any) -> Any:
        """The elements of a tensor where they lie.

        By torch's own method, which keeps memory where it is: such a tensor cannot be resized.

        Raises:
            NotTaken: it has none that NumPy or CuPy could see.
        """
        try:
            if tensor.dtype in self._bits and not tensor.requires_grad:
                integers, dtype = self._bits[tensor.dtype]
                return tensor.view(integers).numpy().view(dtype)
            return tensor.numpy()
        except (RuntimeError, TypeError) as error:
            return self._otherwise(tensor, error)

    def _otherwise(self, tensor: Any, error: Exception) -> Any:
        """The same of a tensor that torch does not hand to NumPy as it is."""
        for holds, found, do in REFUSALS:
            if holds(self._torch, tensor):
                raise NotTaken(found.format(t=tensor), do) from None
        if tensor.device.type == "cuda":
            return on_gpu(tensor.detach(), LABEL)
        if tensor.requires_grad:  # under torch.no_grad()
            return self.view(tensor.detach())
        wider = "{x}.to(torch.complex64)" if tensor.is_complex() else "{x}.float()"
        do = wider if "ScalarType" in str(error) else PLAIN
        raise NotTaken(f"one that torch does not hand to NumPy ({error})", do) from None

    @staticmethod
    def _can_stride(array: Any) -> bool:
        """Whether torch can step as an array does: forwards, and by whole elements."""
        return all(step >= 0 and step % array.itemsize == 0 for step in array.strides)

    def give(self, array: Any, like: Any) -> Any:
        """A tensor on the memory of an array.

        A copy of what torch cannot hold, or must not write to: strides that are negative or no
        whole elements, read-only memory.

        Raises:
            NotTaken: torch has no such dtype.
        """
        if not isinstance(array, np.ndarray):
            return self._torch.from_dlpack(array)  # CuPy's, whose stream torch's own waits for
        flags = array.flags
        if not flags.carray and (not flags.writeable or not self._can_stride(array)):
            array = array.copy()
        if array.dtype.isbuiltin == 1:
            try:
                return self.from_numpy(array)
            except TypeError:
                pass
        elif (found := self._by_numpy.get(array.dtype)) is not None:
            integers, kept = found
            return self.from_numpy(array.view(integers)).view(kept)
        raise NotTaken(f"a result of {array.dtype}, which torch has not", "{x}.numpy()")
