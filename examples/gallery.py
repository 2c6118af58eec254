"""Small real programs, written as a NumPy user would: what opweave makes of each.

    python examples/gallery.py                       # a line each: kernels, and NumPy's answer
    python examples/gallery.py --write docs/gallery  # a page each, with its kernels, and an index

Each program is a function of arrays, unmodified NumPy.  ``PROGRAMS`` says what it is called with
(arrays of about ``n`` elements) and how many kernels it becomes.
"""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class Program(NamedTuple):
    """A program, its arguments for about ``n`` elements, and its kernels on a GPU.

    ``eager`` counts the calls of NumPy's library between them, on the host.
    """

    function: Callable[..., Any]
    arguments: Callable[[int], tuple[Any, ...]]
    kernels: int
    eager: int = 0


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def _rows(n: int, width: int) -> Array:
    return _rng().standard_normal((max(n // width, 2), width)).astype(np.float32)


def _picture(n: int) -> Array:
    side = max(int(np.sqrt(n)), 8)
    return _rng().random((side, side)).astype(np.float32)


# Statistics and learning


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def log_softmax(x):
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def layer_norm(x, w, b):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5) * w + b


def rms_norm(x, w):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6) * w


def cross_entropy(logits, labels):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    total = np.log(np.exp(shifted).sum(axis=-1))
    chosen = np.take_along_axis(shifted, labels[:, None], axis=-1)[:, 0]
    return total - chosen


def standardise(x):
    return (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-6)


def adam(p, g, m, v, step):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    update = (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
    return p - 1e-3 * update, m, v


def logistic_gradient(x, w, y):
    p = 1 / (1 + np.exp(-(x * w).sum(axis=1)))
    return (p - y)[:, None] * x


def cosine_similarity(a, b):
    return (a * b).sum(axis=1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))


def nearest_centre(points, centres):
    distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=-1)
    return distances.argmin(axis=1)


def transformer_block(x, wq, wk, wv, w1, w2):
    def normed(x):
        return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)

    h = normed(x)
    scores = (h @ wq) @ (h @ wk).swapaxes(-1, -2) / np.sqrt(x.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    x = x + weights / weights.sum(axis=-1, keepdims=True) @ (h @ wv)
    return x + np.maximum(normed(x) @ w1, 0) @ w2


# Simulation


def mandelbrot(re, im):
    x, y, count = re * 0, im * 0, re * 0
    for _ in range(6):
        x, y = x * x - y * y + re, 2 * x * y + im
        count = count + (x * x + y * y < 4)
    return count


def laplacian(u):
    return (
        np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u
    )  # fmt: skip


def gray_scott(u, v):
    r = u * v * v
    return u + 0.16 * laplacian(u) - r + 0.06 * (1 - u), v + 0.08 * laplacian(v) + r - 0.122 * v


def life(cells):
    neighbours = sum(
        np.roll(np.roll(cells, i, 0), j, 1)
        for i in (-1, 0, 1)
        for j in (-1, 0, 1)
        if (i, j) != (0, 0)
    )
    return ((neighbours == 3) | ((cells == 1) & (neighbours == 2))).astype(cells.dtype)


def heat(u):
    new = u.copy()
    new[1:-1, 1:-1] += 0.1 * (
        u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    )
    return new


def wave(u, before):
    new = np.zeros_like(u)
    new[1:-1] = 2 * u[1:-1] - before[1:-1] + 0.25 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return new


def n_body(positions, masses):
    apart = positions[None, :, :] - positions[:, None, :]
    square = (apart * apart).sum(axis=-1) + 1e-3
    return (apart * (masses / (square * np.sqrt(square)))[:, :, None]).sum(axis=1)


def runge_kutta(x, y, z, h):
    def slope(x, y, z):
        return 10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z

    def moved(by, k):
        return x + by * k[0], y + by * k[1], z + by * k[2]

    k1 = slope(x, y, z)
    k2 = slope(*moved(h / 2, k1))
    k3 = slope(*moved(h / 2, k2))
    k4 = slope(*moved(h, k3))
    mean = [(a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k1, k2, k3, k4, strict=True)]
    return moved(h, mean)


def rotate(v, axis, angle):
    c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
    return v * c + np.cross(axis, v) * s + axis * (axis * v).sum(axis=1, keepdims=True) * (1 - c)


# Finance and geography


def black_scholes(price, strike, years):
    rate, volatility = 0.02, 0.3
    root = volatility * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + volatility**2 / 2) * years) / root

    def normal(x):
        k = 1 / (1 + 0.2316419 * np.abs(x))
        poly = 1.781477937 + k * (-1.821255978 + k * 1.330274429)
        poly = k * (0.319381530 + k * (-0.356563782 + k * poly))
        tail = np.exp(-x * x / 2) * 0.3989422804 * poly
        return np.where(x > 0, 1 - tail, tail)

    return price * normal(d1) - strike * np.exp(-rate * years) * normal(d1 - root)


def haversine(lat1, lon1, lat2, lon2):
    lat1, lon1, lat2, lon2 = map(np.radians, (lat1, lon1, lat2, lon2))
    south, east = np.sin((lat2 - lat1) / 2), np.sin((lon2 - lon1) / 2)
    a = south**2 + np.cos(lat1) * np.cos(lat2) * east**2
    return 2 * 6371 * np.arcsin(np.sqrt(a))


def returns(prices):
    change = np.diff(np.log(prices))
    return change.mean(), change.std()


# Pictures and signals


def filmic(img, exposure):
    x = img * exposure
    return ((x * (2.51 * x + 0.03)) / (x * (2.43 * x + 0.59) + 0.14)).clip(0, 1) ** (1 / 2.2)


def sobel(img):
    p = np.pad(img, 1, mode="edge")
    gx = p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:] - p[:-2, :-2] - 2 * p[1:-1, :-2] - p[2:, :-2]
    gy = p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:] - p[:-2, :-2] - 2 * p[:-2, 1:-1] - p[:-2, 2:]
    return np.hypot(gx, gy)


def half_size(img):
    return (img[::2, ::2] + img[1::2, ::2] + img[::2, 1::2] + img[1::2, 1::2]) / 4


def bilinear(img, rows, cols):
    r, c = np.floor(rows).astype(np.int64), np.floor(cols).astype(np.int64)
    fr, fc = rows - r, cols - c
    top = img[r, c] * (1 - fc) + img[r, c + 1] * fc
    bottom = img[r + 1, c] * (1 - fc) + img[r + 1, c + 1] * fc
    return top * (1 - fr) + bottom * fr


def hue_and_value(rgb):
    r, g, b = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    high, low = rgb.max(axis=-1), rgb.min(axis=-1)
    span = np.where(high > low, high - low, 1)
    sides = [(g - b) / span, 2 + (b - r) / span]
    hue = np.select([high == r, high == g], sides, 4 + (r - g) / span)
    return (hue / 6) % 1, high


def fir(signal, taps):
    return np.convolve(signal, taps, mode="same")


def limiter(x):
    y = np.abs(x - np.median(x)) * 1.4826
    y[y < 2.0] = 0
    return y / np.maximum(y.max(), 1)


def random_bits(seed):
    x = seed * np.uint32(747796405) + np.uint32(2891336453)
    x = ((x >> ((x >> np.uint32(28)) + np.uint32(4))) ^ x) * np.uint32(277803737)
    return ((x >> np.uint32(22)) ^ x) / np.float32(2**32)


def _centres(n: int) -> tuple[Array, ...]:
    rng = _rng()
    return rng.standard_normal((max(n // 48, 2), 3)), rng.standard_normal((16, 3))


def _block(n: int) -> tuple[Array, ...]:
    rng, width = _rng(), 64
    square, words = (width, width), (max(n // width // 32, 1), 32, width)
    shapes = [words, square, square, square, (width, 128), (128, width)]
    return tuple(rng.standard_normal(s).astype(np.float32) / 8 for s in shapes)


def _many(n: int, count: int, low: float = 0.5, high: float = 2.0) -> tuple[Array, ...]:
    return tuple(_rng().uniform(low, high, (count, n)).astype(np.float32))


def _even(n: int) -> Array:
    side = max(int(np.sqrt(n)), 8) // 2 * 2
    return _picture(n)[:side, :side]


def _bodies(n: int) -> tuple[Array, ...]:
    count = max(int(np.sqrt(n / 3)), 2)
    return _rng().standard_normal((count, 3)), _rng().random(count)


PROGRAMS: dict[str, Program] = {
    "softmax": Program(softmax, lambda n: (_rows(n, 1000),), 1),
    "log_softmax": Program(log_softmax, lambda n: (_rows(n, 1000),), 1),
    "layer_norm": Program(layer_norm, lambda n: (_rows(n, 768), *_many(768, 2)), 1),
    "rms_norm": Program(rms_norm, lambda n: (_rows(n, 768), *_many(768, 1)), 1),
    "cross_entropy": Program(
        cross_entropy, lambda n: (_rows(n, 100), _rng().integers(0, 100, max(n // 100, 2))), 1
    ),
    "standardise": Program(standardise, lambda n: (_rows(n, 100),), 1),
    "adam": Program(adam, lambda n: (*_many(n, 4), 7), 1),
    "logistic_gradient": Program(
        logistic_gradient, lambda n: (_rows(n, 100), *_many(100, 1, -1, 1), _rows(n, 100)[:, 0]), 1
    ),
    "cosine_similarity": Program(
        cosine_similarity, lambda n: (_rows(n, 100), _rows(n, 100)[::-1]), 1
    ),
    "nearest_centre": Program(nearest_centre, _centres, 2),
    "transformer_block": Program(transformer_block, _block, 10),
    "mandelbrot": Program(mandelbrot, lambda n: _many(n, 2, -2, 0.5), 1),
    "gray_scott": Program(gray_scott, lambda n: (_picture(n), _picture(n) / 4), 1),
    "life": Program(life, lambda n: ((_picture(n) > 0.7).astype(np.uint8),), 1),
    "heat": Program(heat, lambda n: (_picture(n),), 1),
    "wave": Program(wave, lambda n: _many(n, 2), 1),
    "n_body": Program(n_body, _bodies, 2),
    "runge_kutta": Program(runge_kutta, lambda n: (*_many(n, 3), 0.01), 1),
    "rotate": Program(
        rotate, lambda n: (_rows(n, 3), _rows(n, 3)[::-1] / 2, _rows(n, 3)[:, 0].copy()), 2
    ),
    "black_scholes": Program(black_scholes, lambda n: _many(n, 3), 1),
    "haversine": Program(haversine, lambda n: _many(n, 4, -60, 60), 1),
    "returns": Program(returns, lambda n: _many(n, 1), 2),
    "filmic": Program(filmic, lambda n: (*_many(n, 1), 1.4), 1),
    "sobel": Program(sobel, lambda n: (_picture(n),), 2),
    "half_size": Program(half_size, lambda n: (_even(n),), 1),
    "bilinear": Program(
        bilinear, lambda n: (_picture(n), *_many(n, 2, 0, max(int(np.sqrt(n)), 8) - 2)), 1
    ),
    "hue_and_value": Program(hue_and_value, lambda n: (_rng().random((n // 3, 3)),), 1),
    "fir": Program(fir, lambda n: (*_many(n, 1), *_many(9, 1)), 1),
    "limiter": Program(limiter, lambda n: (_rows(max(n, IN_PARTS), 100),), 2, eager=1),
    "random_bits": Program(random_bits, lambda n: (np.arange(n, dtype=np.uint32),), 1),
}


def agrees(made: Any, expected: Any) -> bool:
    """Shapes, dtypes and values are NumPy's, to the digits of the narrower of float32's."""
    pairs = [x if isinstance(x, tuple) else (x,) for x in (made, expected)]
    return all(
        np.shape(a) == np.shape(b)
        and np.asarray(a).dtype == np.asarray(b).dtype
        and np.allclose(a, b, rtol=2e-4, atol=1e-4, equal_nan=True)
        for a, b in zip(*pairs, strict=True)
    )


class Made(NamedTuple):
    """What opweave makes of a program: its explanation, kernels, and calls between them."""

    explained: Any
    kernels: int
    eager: int


def made_of(name: str, target: str | None = "sm_90a") -> Made:
    """Lower a program, for the host where NumPy's library is called between its kernels."""
    import opweave as ow

    program = PROGRAMS[name]
    whole = {} if program.eager else {"target": target}
    explained = ow.fuse(program.function).explain(*program.arguments(SIZE), **whole)
    calls = sum("_library_" in name for name in explained.kernels)
    return Made(explained, len(explained.kernels) - calls, calls)


# Elements of the arrays that the page and the tests call programs with.
SIZE = 4000
# Elements of a program that calls NumPy's library: with fewer NumPy runs all of it.
IN_PARTS = 1 << 20
HEAD = """# Gallery

Small programs as a NumPy user writes them, unmodified, and what becomes of each: kernels for
`sm_90a`, and memory traffic for arrays of about 4,000 elements against one kernel an operator. The
page of a program has its code, the explanation, and the generated source.

Made by `python examples/gallery.py --write docs/gallery`; `tests/docs/test_gallery.py` holds each
program to NumPy's answer, on the host and in verify mode, and to its number of kernels. How fast
each is on the host stands in [benchmarks.md](../benchmarks.md). On an H200 their answers were
right.

| program | kernels | launches saved | memory traffic | instead of |
|---|---:|---:|---:|---:|
"""


def pages() -> dict[str, str]:
    """The page of each program and the index, as Markdown, by file name."""
    from opweave._programs.explain import size

    rows, made = [], {}
    for name, program in PROGRAMS.items():
        found, kernels, eager = made_of(name)
        between = f" and {eager} call of NumPy's library" if eager else ""
        rows.append(
            f"| [{name}]({name}.md) | {kernels}{between} | {found.launches_saved} | "
            f"{size(found.bytes_moved)} | {size(found.bytes_unfused)} |"
        )
        made[f"{name}.md"] = (
            f"# {name}\n\n```python\n{inspect.getsource(program.function)}```\n\n"
            f"## Explanation\n\n```text\n{str(found).rstrip()}\n```\n\n"
            f"## Source\n\n```cuda\n{chr(10).join(found.sources).rstrip()}\n```\n\n"
            "All programs: [gallery](README.md).\n"
        )
    return {"README.md": HEAD + "\n".join(rows) + "\n", **made}


def main() -> int:
    """Print a line for each program, or write the pages; 1 if an answer is not NumPy's."""
    import opweave as ow

    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--write", type=Path, help="the folder to write the pages to")
    chosen = options.parse_args()
    if chosen.write:
        chosen.write.mkdir(exist_ok=True)
        for name, text in pages().items():
            (chosen.write / name).write_text(text)
        return 0
    wrong = 0
    for name, program in PROGRAMS.items():
        args = program.arguments(SIZE)
        ok = agrees(ow.fuse(program.function)(*args), program.function(*args))
        made = made_of(name)
        print(f"{name:20} {made.kernels:2} kernel(s) {'agrees' if ok else 'WRONG'}")
        wrong += not ok
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
