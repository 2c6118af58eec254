"""Each call that C may run from arguments to results is run so, too: ``--by-c``."""

from __future__ import annotations

import numpy as np

from opweave._functions import warm
from opweave._functions.fused import Fused
from opweave.compiler.captures import checks
from opweave.compiler.captures.containers import is_object
from opweave.compiler.captures.structure import Changing, leaves_of
from opweave.configuration import config
from opweave.runtime.host.warm_layout import UNKNOWN

# How many calls were compared.
COUNT = [0]
# What differed, as texts.
DIFFERED: list[str] = []
CALL = Fused.__call__


def is_watching() -> bool:
    """Whether calls are compared."""
    return Fused.__call__ is not CALL


def watch() -> None:
    """Let C take calls as soon as it can, and compare each with what it was compared to."""
    checks.OFTEN = warm.OFTEN = 1

    def called(self, /, *args, **kwargs):
        arrays = [*arrays_in(args)]
        if kwargs or not config.quick or not all(map(_is_plain, args)) or _share(arrays):
            return CALL(self, *args, **kwargs)
        first, second = copied(args), copied(args)
        result = CALL(self, *args)
        if (run := _by_c(self, first)) is not None:
            found = run(*second)
            if found is not UNKNOWN:
                COUNT[0] += 1
                _hold("results", found, result)
                _hold("arguments", second, args)
        return result

    Fused.__call__ = called


def _hold(what, found, expected):
    """Note and raise that C gives something else."""
    if not same(found, expected):
        DIFFERED.append(f"{what} {found!r} by C, {expected!r} by Python")
        raise AssertionError(DIFFERED[-1])


def _by_c(fused, args):
    """What runs a call by C, if C knows it and it changes nothing but its arguments."""
    call = fused.signature.bind(args, {})
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
    warm.counted(fused.signature, kept, ready, call.values)
    return kept.warm and kept.warm.call


def _is_plain(value):
    if type(value) in (tuple, list):
        return all(map(_is_plain, value))
    if type(value) is dict:
        return all(map(_is_plain, value.values()))
    if is_object(value):
        return all(map(_is_plain, vars(value).values()))
    return type(value) in (np.ndarray, float, int, bool, str, type(None), np.float32, np.int64)


def arrays_in(value):
    """All arrays of arguments."""
    if type(value) is np.ndarray:
        yield value
    held = value if type(value) in (tuple, list) else value.values() if type(value) is dict else ()
    for item in vars(value).values() if is_object(value) else held:
        yield from arrays_in(item)


def _share(arrays):
    pairs = ((a, b) for n, a in enumerate(arrays) for b in arrays[:n])
    return any(np.may_share_memory(a, b) for a, b in pairs)


def copied(value):
    """A copy whose arrays lie as those of a value do."""
    if type(value) in (tuple, list):
        return type(value)(map(copied, value))
    if type(value) is dict:
        return {key: copied(item) for key, item in value.items()}
    if is_object(value):
        made = object.__new__(type(value))
        vars(made).update({key: copied(item) for key, item in vars(value).items()})
        return made
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
    if is_object(found):
        return same(vars(found), vars(expected))
    if isinstance(found, np.ndarray | np.generic):
        a, b = np.asarray(found), np.asarray(expected)
        is_like = (a.shape, a.dtype, a.strides) == (b.shape, b.dtype, b.strides)
        return is_like and a.tobytes() == b.tobytes()
    return repr(found) == repr(expected)
