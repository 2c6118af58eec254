"""Each call that C may run from arguments to results is run so, too: ``--by-c``."""

from __future__ import annotations

import ctypes
from types import FunctionType

import numpy as np

from opweave._functions import warm
from opweave._functions.fused import Fused
from opweave.compiler.captures import checks
from opweave.compiler.captures.containers import is_object
from opweave.compiler.captures.structure import Changing, leaves_of
from opweave.configuration import config
from opweave.opcodes.errors import ArgumentError
from opweave.runtime.host.warm_layout import UNKNOWN

# How many calls were compared.
COUNT = [0]
# What differed, as texts.
DIFFERED: list[str] = []
CALL = Fused.__call__
# What needs no copy.
STEADY = (
    np.generic, np.dtype, float, int, complex, bool, str, bytes, slice, type(None), type(...),
    FunctionType,
)  # fmt: skip


def is_watching() -> bool:
    """Whether calls are compared."""
    return Fused.__call__ is not CALL


def watch() -> None:
    """Let C take calls as soon as it can, and compare each with what it was compared to."""
    checks.OFTEN = warm.OFTEN = 1

    def called(self, /, *args, **kwargs):
        given = _given(self, args, kwargs)
        if given is None:
            return CALL(self, *args, **kwargs)
        found = Copies(given)
        first, second, third = (found.copied(given) for _ in range(3))
        try:
            result = CALL(self, *args, **kwargs)
        except Exception as error:
            _compare(self, first, second, third, None, error)
            raise
        _compare(self, first, second, given, result)
        return result

    Fused.__call__ = called


def _given(fused, args, kwargs):
    """The array for the result, or None, and the arguments in order; None where C has no part."""
    signature, out = fused.signature, kwargs.get("out")
    if not config.quick or (signature.has_out and "out" in kwargs):
        return None
    try:
        args = signature.in_order(args, {k: v for k, v in kwargs.items() if k != "out"})
    except ArgumentError:
        return None
    given = [out, *args]
    return given if not signature.is_variadic and all(map(_is_plain, given)) else None


def _compare(fused, first, second, third, result, error=None):
    """Hold C to a result and to arguments afterwards, or to an error, which leaves them alone."""
    before = Copies(second).copied(second)
    if (run := _by_c(fused, first)) is None:
        return
    out, *args = second
    found = run.call(*args) if out is None else run.into(out, *args)
    if found is UNKNOWN:
        _hold("arguments that are left to Python", second, before)
        return
    COUNT[0] += 1
    _hold("an error", found, error) if error else _hold("results", found, result)
    _hold("arguments", second, third)
    _hold("what is shared", shared([found, second]), shared([result, third]))


def _hold(what, found, expected):
    """Note and raise that C gives something else."""
    if not same(found, expected):
        DIFFERED.append(f"{what}: {found!r} by C, {expected!r} by Python")
        raise AssertionError(DIFFERED[-1])


def _by_c(fused, given):
    """What runs a call by C, if C knows it and it changes nothing but its arguments."""
    call = fused.signature.bind(tuple(given[1:]), {})
    ready, kept = fused.ready_for(call), fused.signature.latest
    if ready is None or kept is None or not kept.hold():
        return None
    trees = kept.layout.trees[: fused.signature.count]
    inside = sum(map(leaves_of, trees))
    writes = ready.prepared.writes
    places = () if writes is None else writes.places
    if any(ready.arrays[place] >= inside for place in places):
        return None
    if isinstance(ready.structure, Changing) and not all(r.is_steady for r in kept.reads):
        return None
    warm.counted(fused.signature, kept, ready, (ready, call.values))
    return kept.warm


def _is_plain(value):
    if type(value) in (tuple, list):
        return all(map(_is_plain, value))
    if type(value) is dict:
        return all(map(_is_plain, value.values()))
    if is_object(value):
        return all(map(_is_plain, vars(value).values()))
    if type(value) is np.ndarray:
        return not value.dtype.hasobject
    return isinstance(value, STEADY) and type(value).__module__ in ("builtins", "numpy")


def parts_of(value):
    """What a container or an object holds."""
    if type(value) is dict:
        return value.values()
    if type(value) in (tuple, list):
        return value
    return vars(value).values() if is_object(value) else ()


def arrays_in(value):
    """All arrays of arguments."""
    if type(value) is np.ndarray:
        yield value
    for item in parts_of(value):
        yield from arrays_in(item)


def bounds_of(array):
    """Where the bytes of an array lie."""
    if not array.size:
        return (array.__array_interface__["data"][0],) * 2
    return np.lib.array_utils.byte_bounds(array)


class Copies:
    """Copies of values, whose arrays lie as those do, to each other too."""

    def __init__(self, value):
        self._spans = []
        for low, high in sorted(map(bounds_of, arrays_in(value))):
            if self._spans and low < self._spans[-1][1]:
                self._spans[-1][1] = max(high, self._spans[-1][1])
            else:
                self._spans.append([low, high])

    def copied(self, value):
        """A copy of one of them."""
        memory = [(low, high, _memory_like(low, high)) for low, high in self._spans]
        return self._copied(value, memory, {})

    def _copied(self, value, memory, known):
        if id(value) in known:
            return known[id(value)]

        def inside(item):
            return self._copied(item, memory, known)

        made = value
        if type(value) in (tuple, list):
            made = type(value)(map(inside, value))
        elif type(value) is dict:
            made = {key: inside(item) for key, item in value.items()}
        elif is_object(value):
            made = object.__new__(type(value))
            vars(made).update({key: inside(item) for key, item in vars(value).items()})
        elif type(value) is np.ndarray and value.size and not value.dtype.hasobject:
            made = _array_in(memory, value)
        known[id(value)] = made
        return made


def _memory_like(low, high):
    """A copy of some bytes, which lies as they do to the lines of a cache."""
    memory = np.empty(high - low + 64, np.uint8)
    start = memory[(low - memory.ctypes.data) % 64 :]
    ctypes.memmove(start.ctypes.data, low, high - low)
    return start


def _array_in(memory, array):
    low, high = bounds_of(array)
    start, found = next((a, made) for a, b, made in memory if a <= low and high <= b)
    at = array.__array_interface__["data"][0] - start
    made = np.ndarray(array.shape, array.dtype, found, at, array.strides)
    made.flags.writeable = array.flags.writeable
    return made


def copied(value):
    """A copy whose arrays lie as those of a value do."""
    return Copies(value).copied(value)


def shared(value):
    """Which containers and objects of a value are one, and which arrays share memory."""
    met, arrays, found = {}, [], []

    def walk(item):
        if type(item) is np.ndarray or type(item) in (list, dict) or is_object(item):
            found.append(met.setdefault(id(item), len(met)))
        if type(item) is np.ndarray:
            found.append([n for n, a in enumerate(arrays) if np.may_share_memory(a, item)])
            arrays.append(item)
        for part in parts_of(item):
            walk(part)

    walk(value)
    return found


def same(found, expected):
    """Whether results have the same types and bits."""
    if type(found) is not type(expected):
        return False
    if isinstance(found, list | tuple):
        pairs = zip(found, expected, strict=True)
        return len(found) == len(expected) and all(same(*pair) for pair in pairs)
    if isinstance(found, dict):
        return [*found] == [*expected] and all(same(found[k], expected[k]) for k in found)
    if is_object(found):
        return same(vars(found), vars(expected))
    if isinstance(found, np.ndarray | np.generic):
        a, b = np.asarray(found), np.asarray(expected)
        is_like = (a.shape, a.dtype, a.strides) == (b.shape, b.dtype, b.strides)
        return (
            is_like
            and a.tobytes() == b.tobytes()
            and found.flags.writeable == expected.flags.writeable
        )
    return repr(found) == repr(expected)
