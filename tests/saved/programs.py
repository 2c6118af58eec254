"""Programs to save: each kind of plan, result and argument, with what is special of it."""

import numpy as np

import opweave as ow

WEIGHTS = np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6)
SCALE = 1.5


def drawn(*shape, dtype="float32"):
    return np.random.default_rng(3).standard_normal(shape).astype(dtype)


def scaled(x, s, t=2.0):
    return np.exp(x * s) / t


def softmax(x):
    return ow.softmax(x)


def several(x, y):
    return {"sum": x + y, "pair": (x - y, [x.sum(axis=1), None])}


def nested(p, k):
    return p["w"] * k[0] + p["b"] * k[1]


def total(x):
    return x.sum()


def truth(x):
    return np.array_equal(x, x)


def extents(x):
    return x * 2, x.shape[0] * 3, x.T


def same(x):
    return x, x[1:], x


def stored(x, y):
    x[1:-1] += y[2:] - y[:-2]
    y *= 2


def places(x, i):
    return np.take(x, i) * 2


def outside(x):
    return (x @ WEIGHTS) * SCALE + np.arange(6)


def product(x, y):
    return np.maximum(x @ y, 0) @ y.T


def chosen(x, mode="exp", cut=1):
    y = np.exp(x) if mode == "exp" else np.log(x)
    return y if cut > 0 else -y


def temporaries(x):
    y = ow.softmax(x)
    return np.cumsum(y.T @ y, axis=1)


def rest(*xs, by=1.0):
    return sum(x * by for x in xs)


# By name: the function, its arguments, and other numbers that it takes as well.
PROGRAMS = {
    "numbers": (scaled, (drawn(5, 33), 0.5), {"s": -1.5, "t": 3.0}),
    "rows": (softmax, (drawn(6, 1000),), {}),
    "containers of results": (several, (drawn(4, 5), drawn(4, 5)), {}),
    "containers of arguments": (nested, ({"w": drawn(3, 4), "b": drawn(4)}, (2.0, 0.5)), {}),
    "a number as a result": (total, (drawn(300, 70),), {}),
    "parts of a long row": (total, (drawn(200_000),), {}),
    "a truth": (truth, (drawn(8),), {}),
    "an extent and a view": (extents, (drawn(3, 5),), {}),
    "arguments that are returned": (same, (drawn(6),), {}),
    "arguments that are written": (stored, (drawn(40), drawn(40)), {}),
    "indices": (places, (drawn(9), np.array([3, -1, 0])), {}),
    "arrays and numbers outside": (outside, (drawn(5, 4),), {}),
    "products": (product, (drawn(17, 30), drawn(30, 20)), {}),
    "a text, and a number that is looked at": (chosen, (np.abs(drawn(7)),), {"cut": 3}),
    "temporaries": (temporaries, (drawn(40, 30),), {}),
    "any number of arguments": (rest, (drawn(3), drawn(3)), {"by": 0.25}),
    "bfloat16": (scaled, (drawn(12, dtype=ow.opcodes.dtypes.BF16.numpy), 2.0), {}),
    "complex": (scaled, (drawn(9, dtype="complex128"), 0.5), {}),
    "integers": (several, (np.arange(6).reshape(2, 3), np.ones((2, 3), np.uint8)), {}),
    "nothing": (scaled, (drawn(0, 3), 1.0), {}),
}  # fmt: skip
STATIC = {chosen: ("mode",)}


def lowered(name, target="host"):
    function, args, _ = PROGRAMS[name]
    fused = ow.fuse(function, static_argnames=STATIC.get(function, ()))
    return fused.lower(*args, target=target)
