"""What goes to workers, as bytes: built-in operators and types by name, all else by value."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from typing import Any

from opweave.opcodes import dtypes
from opweave.opcodes.core import Operator
from opweave.opcodes.dtypes import DType
from opweave.opcodes.operators.registry import BUILT_IN, OPERATORS
from opweave.runtime.process import locks

# What came to this process, by its bytes: tasks that get the same share what they prepared.
MOST_KEPT = 64
_kept: dict[str, Any] = {}
_lock = locks.lock()


def dumped(parts: tuple[Any, ...], make: Callable[..., Any]) -> Any:
    """What ``__reduce__`` returns for an object that ``make`` makes of its parts.

    Raises:
        TypeError, PicklingError: something cannot be pickled.
    """
    import cloudpickle  # which dask brings

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, item: Any) -> Any:
            if isinstance(item, Operator) and OPERATORS.get(item.name) is item:
                if item.name in BUILT_IN:
                    return built_in, (item.name,)
            elif isinstance(item, DType):
                return dtypes.of, (item.numpy_name,)
            return super().reducer_override(item)

    stream = io.BytesIO()
    Pickler(stream).dump((make, parts))
    return loaded, (stream.getvalue(),)


def built_in(name: str) -> Operator:
    """A built-in operator."""
    return OPERATORS[name]


def loaded(data: bytes) -> Any:
    """The object of these bytes; the same one while it is known."""
    import pickle

    key = hashlib.sha256(data).hexdigest()
    with _lock:
        if key not in _kept:
            make, parts = pickle.loads(data)
            if len(_kept) >= MOST_KEPT:
                _kept.pop(next(iter(_kept)))
            _kept[key] = make(*parts)
        return _kept[key]
