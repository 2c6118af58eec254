"""The standing table's workloads as a user of PyTorch writes them: its own functions, no TF32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional


def eight(x: Any, y: Any) -> Any:
    z = torch.relu(x * 1.5 + y - 0.25) * y
    return torch.clamp_max(z * x + 0.5, 3)


def pixels(x: Any) -> Any:
    shown = torch.clamp(x.float() / 255 * 1.2 - 0.1, 0, 1)
    return (shown * 255 + 0.5).to(torch.uint8)


def layer_norm(x: Any, w: Any, b: Any) -> Any:
    return functional.layer_norm(x, x.shape[1:], w, b, 1e-5)


def heat(u: Any) -> Any:
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return u[1:-1, 1:-1] + 0.1 * (around - 4 * u[1:-1, 1:-1])


def attention(q: Any, k: Any, v: Any) -> Any:
    return functional.scaled_dot_product_attention(q, k, v, scale=0.125)


# By the name of the workload's function.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "eight": eight, "pixels": pixels, "layer_norm": layer_norm, "heat": heat,
    "attention": attention,
    "softmax": lambda x: torch.softmax(x, 1),
    "logsumexp": lambda x: torch.logsumexp(x, 1),
    "total": lambda x: x.sum(),
    "rows": lambda x: x.sum(1),
    "columns": lambda x: x.sum(0),
    "turned": lambda x: x.T.contiguous(),
    "running": lambda x: x.cumsum(0),
    "running_down": lambda x: x.cumsum(0),
    "permuted": lambda x: x.permute(1, 0, 2).contiguous(),
    "linear": lambda x, w, b: torch.relu(x @ w + b),
    "product": lambda x, w: x @ w,
}  # fmt: skip


def tensor(array: Any) -> Any:
    """An array of NumPy's or CuPy's as a tensor on the same memory; bfloat16 through its bits."""
    if array.dtype.name == "bfloat16":
        return torch.from_dlpack(array.view("int16")).view(torch.bfloat16)
    return torch.from_dlpack(array)


def array(made: Any, xp: Any) -> Any:
    """A tensor as an array of ``xp``, on the same memory; bfloat16 in float32."""
    made = made.float() if made.dtype == torch.bfloat16 else made
    return xp.from_dlpack(made.contiguous())


def plain() -> None:
    """No gradients, no TF32: what float32 means elsewhere."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.set_grad_enabled(False)
