"""Models with random weights: layers and cells as PyTorch's users write them."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F


class Mlp(nn.Module):
    """Linear layers with ReLU between them."""

    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, width),
        )  # fmt: skip

    def forward(self, x: Any) -> Any:
        return self.layers(x)


class ResidualMlp(nn.Module):
    """Blocks of layer norm, two linear layers with GELU, added to what went in."""

    def __init__(self, width: int, blocks: int = 3):
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(),
                nn.Linear(2 * width, width),
            )
            for _ in range(blocks)
        )  # fmt: skip

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = x + block(x)
        return x


class TransformerBlock(nn.Module):
    """Attention and a feed-forward layer, each behind a layer norm."""

    def __init__(self, width: int, heads: int = 4):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        parts = self.qkv(self.before(x)).chunk(3, -1)
        shape = batch, length, self.heads, width // self.heads
        q, k, v = (part.view(shape).transpose(1, 2) for part in parts)
        seen = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)
        x = x + self.out(seen)
        return x + self.down(F.gelu(self.up(self.between(x))))


class Gru(nn.Module):
    """Eight steps of a GRU cell."""

    def __init__(self, width: int):
        super().__init__()
        self.cell = nn.GRUCell(width, width)

    def forward(self, x: Any, state: Any) -> Any:
        for _ in range(8):
            state = self.cell(x, state)
        return state


def of_mlp(size: int) -> tuple[Any, tuple[Any, ...]]:
    return Mlp(size, 4 * size), (torch.randn(64, size),)


def of_residual(size: int) -> tuple[Any, tuple[Any, ...]]:
    return ResidualMlp(size), (torch.randn(256, size),)


def of_transformer(size: int) -> tuple[Any, tuple[Any, ...]]:
    return TransformerBlock(size), (torch.randn(4, 128, size),)


def of_gru(size: int) -> tuple[Any, tuple[Any, ...]]:
    return Gru(size), (torch.randn(64, size), torch.randn(64, size))
