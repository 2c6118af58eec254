"""Op-code lists that several tests have."""

import numpy as np

import opweave as ow

o = ow.opcodes
X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6)
Y = np.cos(X)
HERE = r"\(\w+\.py:\d+\)"


def listed(name, *codes):
    return ow.kernel(list(codes), name=name)


scale = listed("scale", ow.load("x"), o.multiply(2.0), ow.store("y"))
shift = listed("shift", ow.load("y"), ow.load("b"), o.add("y", "b"), ow.store("z"))
norm = listed("norm", ow.load("z"), o.sum(axis=-1, keepdims=True).named("s"), o.divide("z", "s"),
              ow.store())  # fmt: skip
pair = listed("pair", ow.load("u"), o.exp, ow.store("p"), o.negative, ow.store("q"))
swap = listed("swap", ow.load("a"), ow.load("b"), o.subtract("a", "b").named("d"), o.multiply("a"),
              ow.store("f"), ow.store("g", "d"))  # fmt: skip
columns = listed("columns", ow.load("z"), o.sum(axis=1), o.max(axis=0), ow.store())


def bits(value):
    found = value if isinstance(value, tuple | list) else (value,)
    return [(a.dtype, a.shape, np.asarray(a).tobytes()) for a in found]
