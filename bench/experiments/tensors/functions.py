"""What runs before and behind models: pictures, boxes, scores, losses."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F


def top_probability(logits: Any) -> Any:
    """The likeliest class of each row, and its probability."""
    return F.softmax(logits, -1).max(-1)


def decayed_scores(boxes: Any, scores: Any) -> Any:
    """Scores that overlaps with better boxes have lowered, as matrix NMS does."""
    corner = torch.maximum(boxes[:, None, :2], boxes[None, :, :2])
    other = torch.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    both = (other - corner).clamp(min=0).prod(-1)
    area = (boxes[:, 2:] - boxes[:, :2]).prod(-1)
    overlap = both / (area[:, None] + area[None] - both)
    better = scores[:, None] > scores[None]
    worst = torch.where(better, overlap, 0.0).amax(0)
    return scores * torch.exp(-2 * worst * worst)


def layer_norm(x: Any, weight: Any, bias: Any) -> Any:
    return F.layer_norm(x, x.shape[-1:], weight, bias)


def normalised_images(images: Any, mean: Any, spread: Any) -> Any:
    """Bytes with channels last as numbers around 0 with channels first."""
    scaled = images.to(torch.float32) / 255
    return ((scaled - mean) / spread).permute(0, 3, 1, 2).contiguous()


def tone_mapped(image: Any, exposure: Any) -> Any:
    """Light as bytes: Reinhard's curve and gamma."""
    light = image * exposure
    curve = (light / (1 + light)).clamp(0, 1) ** (1 / 2.2)
    return (curve * 255 + 0.5).to(torch.uint8)


def cross_entropies(logits: Any, classes: Any) -> Any:
    return F.cross_entropy(logits, classes, reduction="none")


def similarities(x: Any, y: Any) -> Any:
    """Cosines of the angles between rows."""
    return F.cosine_similarity(x, y, -1)


def standard_scores(x: Any) -> Any:
    """Columns around 0, of spread 1, without outliers."""
    return ((x - x.mean(0)) / (x.std(0) + 1e-6)).clamp(-3, 3)


def decoded_boxes(anchors: Any, deltas: Any) -> Any:
    """Boxes of anchors and what a detector says of them."""
    size = anchors[:, 2:] - anchors[:, :2]
    centre = anchors[:, :2] + size / 2 + deltas[:, :2] * size
    half = size * torch.exp(deltas[:, 2:].clamp(max=4.0)) / 2
    return torch.cat((centre - half, centre + half), 1).clamp(0, 1024)


def rotated(x: Any, cos: Any, sin: Any) -> Any:
    """Rotary embeddings of positions."""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


def boxes(count: int) -> Any:
    corner = torch.rand(count, 2) * 900
    return torch.cat((corner, corner + 5 + torch.rand(count, 2) * 100), 1)


def of_top_probability(size: int) -> tuple[Any, ...]:
    return (torch.randn(size, 1000),)


def of_decayed_scores(size: int) -> tuple[Any, ...]:
    return boxes(size), torch.rand(size)


def of_layer_norm(size: int) -> tuple[Any, ...]:
    return torch.randn(size, 768), torch.rand(768), torch.rand(768)


def of_normalised_images(size: int) -> tuple[Any, ...]:
    images = torch.randint(0, 256, (size, 224, 224, 3), dtype=torch.uint8)
    return images, torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])


def of_tone_mapped(size: int) -> tuple[Any, ...]:
    return torch.rand(size, size, 3), torch.tensor(1.4)


def of_cross_entropies(size: int) -> tuple[Any, ...]:
    return torch.randn(size, 1000), torch.randint(0, 1000, (size,))


def of_similarities(size: int) -> tuple[Any, ...]:
    return torch.randn(size, 256), torch.randn(size, 256)


def of_standard_scores(size: int) -> tuple[Any, ...]:
    return (torch.randn(size, 64),)


def of_decoded_boxes(size: int) -> tuple[Any, ...]:
    return boxes(size), torch.randn(size, 4) * 0.1


def of_rotated(size: int) -> tuple[Any, ...]:
    angle = torch.rand(size, 64).repeat(1, 2)
    return torch.randn(8, size, 128), angle.cos(), angle.sin()
