"""A program for the command line."""

import sys

import pytest

APP = """\
import numpy as np
import opweave as ow

print("said by the file")

def tonemap(img, exposure, gamma=2.2):
    x = img * exposure
    return (x / (1 + x)) ** (1 / gamma)

fused = ow.fuse(tonemap)
double = ow.kernel([ow.load("x"), ow.opcodes.multiply(2.0), ow.opcodes.exp, ow.store("y")])
orbit = ow.repeat(lambda x, r: r * x * (1 - x), 1000)
two = ow.kernel([ow.load("x"), ow.opcodes.sum(), ow.opcodes.exp, ow.opcodes.sum(), ow.store("y")])

@ow.fuse(static_argnames="mode")
def moded(x, mode="fast"):
    return x * 2 if mode == "fast" else x + 1

def target(target):
    return target + 1

def norm(x):
    return x / x.sum(axis=-1, keepdims=True)

def fails(x):
    return x / (1 // 0)

def prints(x):
    print("said while traced")
    return x + 1

def ranks(x, k):
    y = np.sort(x * 2) + 1
    return y * k if y.sum() > 0 else y

def deep(x):
    for _ in range(30):
        x = x / x.sum(axis=-1, keepdims=True) @ x
    return x

def fails_in_parts(x):
    np.sort(x)
    return x / (1 // 0)

def folded(x):
    for i in range(1, len(x)):
        if x[i] > 0:
            x[i] += x[i - 1]

def rolled(x):
    for _ in range(20):
        x = np.tanh(x[::-1] * 0.5 + x)
    return x

def small(x):
    for k in range(2):
        x = x * k + 1
    return x

number = 3

class Shape:
    @staticmethod
    def area(x):
        return x * x
"""


@pytest.fixture
def app(tmp_path, monkeypatch):
    """A folder with ``app.py``, made the current one; what is imported from it is forgotten."""
    (tmp_path / "app.py").write_text(APP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
