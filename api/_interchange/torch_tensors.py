"""PyTorch's tensors: NumPy's views of their memory, and tensors on the memory of results."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from opweave._interchange.kinds import ArrayKind, NotTaken, refusing
from opweave._interchange.memory import on_gpu

torch: Any = sys.modules["torch"]  # who has a tensor has imported it
LABEL = "torch.Tensor"
from_numpy = torch.from_numpy  # looked up once
PLAIN = "a torch.Tensor with its elements, from outside of what torch traces or maps over"
# Types that torch does not hand to NumPy: which integers have the same bits, and NumPy's type.
BITS = {
    getattr(torch, name): (integers, getattr(ml_dtypes, called))
    for name, integers, called in (
        ("bfloat16", torch.int16, "bfloat16"),
        ("float8_e4m3fn", torch.int8, "float8_e4m3fn"),
        ("float8_e5m2", torch.int8, "float8_e5m2"),
        ("float8_e4m3fnuz", torch.int8, "float8_e4m3fnuz"),
        ("float8_e5m2fnuz", torch.int8, "float8_e5m2fnuz"),
    )
    if hasattr(torch, name)
}
BY_NUMPY = {np.dtype(found): (np.dtype(f"i{found(0).itemsize}"), kept)
            for kept, (_, found) in BITS.items()}  # fmt: skip


def kind_of(cls: type) -> ArrayKind:
    """The kind of a class of tensors: only torch's own have no meaning besides their elements."""
    if cls in (torch.Tensor, torch.nn.Parameter):
        return ArrayKind(LABEL, view, give, "torch.from_dlpack({x})")
    name = f"{cls.__module__.partition('.')[0]}.{cls.__name__}"
    if cls.__module__.startswith("torch."):
        return refusing(LABEL, f"{name}, which has no elements in one memory", PLAIN)
    found = f"{name}, which gives a tensor a meaning of its own"
    return refusing(LABEL, found, "{x}.as_subclass(torch.Tensor)")


# In this order: what a tensor is that torch does not hand to NumPy, and what to pass instead.
REFUSALS: tuple[tuple[Callable[[Any], bool], str, str], ...] = (
    (lambda t: t.layout is not torch.strided, "one of layout {t.layout}", "{x}.to_dense()"),
    (lambda t: t.is_nested, "a nested one", "one tensor, as of torch.nested.to_padded_tensor"),
    (lambda t: t.is_quantized, "a quantised one ({t.dtype})", "{x}.dequantize()"),
    (lambda t: t.is_meta, "one on the device meta, which has no elements",
     "torch.empty_like({x}, device='cpu')"),
    (lambda t: t.device.type not in ("cpu", "cuda"), "one on the device {t.device}", "{x}.cpu()"),
    (lambda t: t.requires_grad and torch.is_grad_enabled(),
     "one that requires grad, and opweave computes no gradients",
     "{x}.detach(), or call under torch.no_grad()"),
    (lambda t: t.is_conj(), "a conjugate that is not computed yet", "{x}.resolve_conj()"),
    (lambda t: t.is_neg(), "a negative that is not computed yet", "{x}.resolve_neg()"),
)  # fmt: skip


def view(tensor: Any) -> Any:
    """The elements of a tensor where they lie.

    By torch's own method, which keeps the memory where it is: such a tensor cannot be resized.

    Raises:
        NotTaken: it has none that NumPy or CuPy could see.
    """
    try:
        if tensor.dtype in BITS and not tensor.requires_grad:
            integers, called = BITS[tensor.dtype]
            return tensor.view(integers).numpy().view(called)
        return tensor.numpy()
    except (RuntimeError, TypeError) as error:
        return _otherwise(tensor, error)


def _otherwise(tensor: Any, error: Exception) -> Any:
    """The same of a tensor that torch does not hand to NumPy as it is."""
    for holds, found, do in REFUSALS:
        if holds(tensor):
            raise NotTaken(found.format(t=tensor), do) from None
    if tensor.device.type == "cuda":
        return on_gpu(tensor.detach(), LABEL)
    if tensor.requires_grad:  # under torch.no_grad()
        return view(tensor.detach())
    do = "{x}.float()" if "ScalarType" in str(error) else PLAIN
    raise NotTaken(f"one that torch does not hand to NumPy ({error})", do) from None


def give(array: Any, like: Any) -> Any:
    """A tensor on the memory of an array.

    A copy of what torch cannot hold, or must not write to: negative strides, read-only memory.

    Raises:
        NotTaken: torch has no such dtype.
    """
    if not isinstance(array, np.ndarray):
        return torch.from_dlpack(array)  # of CuPy's, whose stream torch's own waits for
    flags = array.flags
    if not flags.carray and (not flags.writeable or min(array.strides, default=0) < 0):
        array = array.copy()
    if array.dtype.isbuiltin == 1:
        try:
            return from_numpy(array)
        except TypeError:
            pass
    elif (found := BY_NUMPY.get(array.dtype)) is not None:
        integers, kept = found
        return torch.from_numpy(array.view(integers)).view(kept)
    raise NotTaken(f"a result of {array.dtype}, which torch has not", "{x}.numpy()")
