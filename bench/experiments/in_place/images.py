"""Filters of images that write to arrays that are there."""

from __future__ import annotations

from typing import Any

import numpy as np


def gaussian_blur(img: Any, tmp: Any, out: Any) -> Any:
    """Five binomial weights along rows, then along columns; the frame is copied."""
    tmp[:] = img
    tmp[:, 2:-2] = (
        img[:, :-4] + 4 * img[:, 1:-3] + 6 * img[:, 2:-2] + 4 * img[:, 3:-1] + img[:, 4:]
    ) / 16
    out[:] = tmp
    out[2:-2] = (tmp[:-4] + 4 * tmp[1:-3] + 6 * tmp[2:-2] + 4 * tmp[3:-1] + tmp[4:]) / 16
    return out


def sobel(img: Any, edges: Any, threshold: float) -> int:
    """The strength of edges; weak ones are removed, the others counted."""
    gx = np.zeros_like(img)
    gy = np.zeros_like(img)
    gx[1:-1, 1:-1] = (
        img[:-2, 2:] - img[:-2, :-2] + 2 * (img[1:-1, 2:] - img[1:-1, :-2])
        + img[2:, 2:] - img[2:, :-2]
    )  # fmt: skip
    gy[1:-1, 1:-1] = (
        img[2:, :-2] - img[:-2, :-2] + 2 * (img[2:, 1:-1] - img[:-2, 1:-1])
        + img[2:, 2:] - img[:-2, 2:]
    )  # fmt: skip
    np.hypot(gx, gy, out=edges)
    edges /= edges.max()
    edges[edges < threshold] = 0
    return np.count_nonzero(edges)


def dilate(img: Any, out: Any) -> None:
    """The largest of nine pixels, by rows and then by columns."""
    out[...] = img
    np.maximum(out[1:], img[:-1], out=out[1:])
    np.maximum(out[:-1], img[1:], out=out[:-1])
    rows = out.copy()
    np.maximum(out[:, 1:], rows[:, :-1], out=out[:, 1:])
    np.maximum(out[:, :-1], rows[:, 1:], out=out[:, :-1])


def colour(img: Any, out: Any) -> None:
    """RGB of bytes to YCbCr of bytes."""
    rgb = img.astype(np.float32)
    r, g, b = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    y = 0.299 * r + 0.587 * g + 0.114 * b
    out[..., 0] = np.clip(np.rint(y), 0, 255)
    out[..., 1] = np.clip(np.rint(128 + 0.564 * (b - y)), 0, 255)
    out[..., 2] = np.clip(np.rint(128 + 0.713 * (r - y)), 0, 255)


def blend(dst: Any, src: Any, alpha: Any) -> None:
    """One image of bytes over another; what is darker than ten becomes black."""
    a = alpha[..., None].astype(np.uint16)
    dst[...] = (src * a + dst * (255 - a) + 127) // 255
    dst[dst < 10] = 0


def perona_malik(img: Any, kappa: float, step: float) -> None:
    """Diffusion that stops at edges; nothing flows through the frame."""
    south = np.zeros_like(img)
    east = np.zeros_like(img)
    south[:-1] = np.diff(img, axis=0)
    east[:, :-1] = np.diff(img, axis=1)
    south *= np.exp(-((south / kappa) ** 2))
    east *= np.exp(-((east / kappa) ** 2))
    img += step * (south + east)
    img[1:] -= step * south[:-1]
    img[:, 1:] -= step * east[:, :-1]
