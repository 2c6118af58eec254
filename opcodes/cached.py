"""``cached_property`` without a lock, as that of Python 3.12 and later.

That of 3.11 has a lock for all instances of a class.  In a child that is forked while another
thread holds the lock, a first access would wait for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):
    """A property that is computed at the first access, and is an attribute from then on.

    Two threads may both compute it; their values are equal.
    """

    def __init__(self, compute: Callable[[Any], T]):
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        made = self._compute(instance)
        instance.__dict__[self._name] = made  # Python finds this first from now on
        return made
