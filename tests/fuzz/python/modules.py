"""The two modules that programs call: a library that is installed, and one of the user's own.

Both count what is asked of them; the counts belong to what is compared.
"""

from __future__ import annotations

FOREIGN = '''"""A library as if installed: it counts its calls."""

import contextlib
import functools

import numpy as np

COUNT = 0
CALLS = []
REGISTRY = {"n": 0}


class Failed(Exception):
    pass


def tick():
    global COUNT
    COUNT += 1
    return COUNT


def clock():
    return tick() * 0.5


def scaled(x, by=2):
    tick()
    return np.asarray(x) * by


def shifted(x):
    return x + 1


def noted(x, name="x"):
    CALLS.append(name)
    return x


def written(x):
    tick()
    x[0] = 7


def applied(function, x):
    tick()
    return function(x)


def fails(n):
    tick()
    raise Failed(f"cannot {n}")


def kind(x):
    tick()
    return type(x).__name__


def is_array(x):
    return isinstance(x, np.ndarray)


def total(x):
    tick()
    return float(np.sum(x))


def pieces(x):
    for row in x:
        tick()
        yield row * 2


def counted(function):
    @functools.wraps(function)
    def called(*args, **named):
        tick()
        return function(*args, **named)

    return called


@functools.lru_cache(maxsize=None)
def table(n):
    tick()
    return np.arange(float(n))


class Recorder:
    def __init__(self):
        self.seen = []

    def add(self, x):
        self.seen.append(float(np.sum(x)))
        return self

    def __enter__(self):
        CALLS.append("enter")
        return self

    def __exit__(self, kind, error, trace):
        CALLS.append("exit" if kind is None else kind.__name__)
        return False


@contextlib.contextmanager
def region(name):
    CALLS.append(name)
    try:
        yield tick()
    finally:
        CALLS.append("/" + name)
'''

OWN = '''"""A module of the user's own."""

import numpy as np

COUNT = 0
FLAG = True
SCALE = 2.0
SEEN = []


def act(x):
    return x * SCALE + 1


def counted(x):
    global COUNT
    COUNT += 1
    return x - COUNT


def bump(x):
    x += 1
    return x


def module_of(x):
    return np


def is_plain(x, flag=True):
    return flag is True and isinstance(x, np.ndarray)
'''

# Name, folder below that of the program, and text of each.
MODULES = (("fuzz_foreign", "site-packages", FOREIGN), ("fuzz_own", "", OWN))
