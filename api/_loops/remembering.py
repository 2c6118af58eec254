"""What a call may change of its arguments: put back where it has to be run once more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import BuiltinFunctionType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

from opweave.compiler.captures.structure import has_attributes, put

# What is looked into for containers, at most.
MOST = 10_000
# A class that was made by ``class``, as CPython says of types.
HEAP = 1 << 9
CLOSED = (np.ndarray, np.generic, FunctionType, BuiltinFunctionType, ModuleType, type)


def remembered(
    arrays: Sequence[Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Callable[[], None] | None:
    """A function that writes to arrays what they hold now, and to containers of arguments.

    None where these are too many.
    """
    writable = [a for a in arrays if type(a) is np.ndarray and a.flags.writeable]
    held = [(array, array.copy()) for array in writable]
    containers = _containers([*args, *kwargs.values()])
    if containers is None:
        return None

    def put_back() -> None:
        for array, before in held:
            array[...] = before
        for container, before in containers:
            _put_back(container, before)

    return put_back


def _containers(values: Iterable[Any]) -> list[tuple[Any, Any]] | None:
    """Lists, dicts and objects, with what each holds; None where they are too many."""
    found: list[tuple[Any, Any]] = []
    rest, seen = [*values], dict[int, Any]()
    while rest:
        value = rest.pop()
        if id(value) in seen:
            continue
        if len(seen) >= MOST:
            return None
        seen[id(value)] = value
        held = _held(value)
        if held is not None:
            found.append((value, held))
            rest += held.values() if isinstance(held, dict) else held
        elif isinstance(value, tuple):
            rest += value
        elif isinstance(value, MethodType):
            rest.append(value.__self__)
    return found


def _held(value: Any) -> Any:
    """What a list, a dict or an object holds now; None of anything else."""
    if isinstance(value, list | dict):
        return list(value) if isinstance(value, list) else dict(value)
    if isinstance(value, CLOSED):
        return None
    names = [
        n
        for kind in type(value).__mro__
        for n, slot in vars(kind).items()
        if type(slot) is MemberDescriptorType and kind.__flags__ & HEAP
    ]
    found = {n: getattr(value, n) for n in names if hasattr(value, n)}
    if has_attributes(value):
        found |= vars(value)
    return found if found or has_attributes(value) else None


def _put_back(container: Any, before: Any) -> None:
    now = _held(container)
    if isinstance(container, list):
        container[:] = before
    elif isinstance(container, dict):
        container.clear()
        container.update(before)
    else:
        for name in now.keys() - before.keys():
            object.__delattr__(container, name)
        for name, value in before.items():
            if name not in now or now[name] is not value:
                put(container, name, value)
