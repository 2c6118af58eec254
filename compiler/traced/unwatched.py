"""Functions of ours whose calls the profile function of a run need not see."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import MethodType
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])
# The profile function of a run, a method of what may pause.
_profile: list[Any] = [None]


def profiling(method: Function) -> Function:
    """Mark the method that is the profile function of a run."""
    _profile[0] = method
    return method


def unwatched(function: Function) -> Function:
    """Mark a function of ours that calls nothing of the user's: the profile function is off there.

    Else it would take most of the time.  A profiler of the user's own is told of all calls.
    """

    @functools.wraps(function)
    def quiet(*args: Any, **kwargs: Any) -> Any:
        profile: Any = sys.getprofile()
        if type(profile) is not MethodType or profile.__func__ is not _profile[0]:
            return function(*args, **kwargs)
        owner: Any = profile.__self__
        if owner.pauses:
            return function(*args, **kwargs)
        owner.pauses = True
        if owner.before is None:
            sys.setprofile(None)
        try:
            return function(*args, **kwargs)
        finally:
            owner.pauses = False
            if owner.before is None:
                sys.setprofile(profile)

    return cast(Function, quiet)
