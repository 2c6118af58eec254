"""Functions of ours whose calls the profile function of a run need not see."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])


def unwatched(function: Function) -> Function:
    """Mark a function of ours that calls nothing of the user's: the profile function is off there.

    Else it would take most of the time.  A profiler of the user's own is told of all calls.
    """

    @functools.wraps(function)
    def quiet(*args: Any, **kwargs: Any) -> Any:
        found: Any = sys.getprofile()
        if not hasattr(type(found), "__opweave_profile__") or found.pauses:
            return function(*args, **kwargs)
        found.pauses = True
        if found.before is None:
            sys.setprofile(None)
        try:
            return function(*args, **kwargs)
        finally:
            found.pauses = False
            if found.before is None:
                sys.setprofile(found)

    return cast(Function, quiet)
