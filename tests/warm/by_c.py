"""Each call that C may run from arguments to results is run so, too: ``pytest --by-c``."""

from __future__ import annotations

import numpy as np

from opweave._functions import warm
from opweave._functions.fused import Fused
from opweave._functions.ready import Ready
from opweave.compiler.captures import checks
from opweave.configuration import config

# How many calls were compared.
COUNT = [0]


def watch() -> None:
    """Let C take calls as soon as it can, and compare each with what it was compared to."""
    checks.OFTEN = warm.OFTEN = 1
    call = Fused.__call__

    def called(self, /, *args, **kwargs):
        if kwargs or not config.quick or not all(map(_is_plain, args)) or _share(args):
            return call(self, *args, **kwargs)
        first, second = [[*map(copied, args)] for _ in range(2)]
        result = call(self, *args)
        if (run := _by_c(self, first)) is not None:
            found = run(*second)
            if found is not NotImplemented:
                COUNT[0] += 1
                assert same(found, result), (found, result)
                assert same(second, [*args]), (second, args)
        return result

    Fused.__call__ = called


def _by_c(fused, args):
    """What runs a call by C, if C knows it and it changes nothing but its arguments."""
    known = fused.prepared_calls.quickly(args)
    kept = fused.signature.kept
    if known is None or not isinstance(known[0], Ready) or not kept.warm:
        return None
    writes = known[0].prepared.writes
    places = () if writes is None else writes.places
    outside = any(known[0].arrays[place] >= fused.signature.count for place in places)
    return None if outside else kept.warm.call


def _is_plain(value):
    return type(value) in (np.ndarray, float, int, bool, str)


def _share(args):
    arrays = [a for a in args if type(a) is np.ndarray]
    pairs = ((a, b) for n, a in enumerate(arrays) for b in arrays[:n])
    return any(np.may_share_memory(a, b) for a, b in pairs)


def copied(value):
    """A copy that lies as an array does."""
    if type(value) is not np.ndarray or not value.size or value.dtype.hasobject:
        return value
    low, high = np.lib.array_utils.byte_bounds(value)
    at = value.__array_interface__["data"][0] - low
    memory = np.empty(high - low + 64, np.uint8)
    skip = (low - memory.ctypes.data) % 64
    made = np.ndarray(value.shape, value.dtype, memory, skip + at, value.strides)
    made[...] = value
    made.flags.writeable = value.flags.writeable
    return made


def same(found, expected):
    """Whether results have the same types and bits."""
    if type(found) is not type(expected):
        return False
    if isinstance(found, list | tuple):
        pairs = zip(found, expected, strict=True)
        return len(found) == len(expected) and all(same(*pair) for pair in pairs)
    if isinstance(found, dict):
        return found.keys() == expected.keys() and all(same(found[k], expected[k]) for k in found)
    if isinstance(found, np.ndarray | np.generic):
        a, b = np.asarray(found), np.asarray(expected)
        is_like = (a.shape, a.dtype, a.strides) == (b.shape, b.dtype, b.strides)
        return is_like and a.tobytes() == b.tobytes()
    return repr(found) == repr(expected)
