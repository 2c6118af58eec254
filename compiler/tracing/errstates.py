"""NumPy's settings of floating-point errors in a traced function, which kernels do not have."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from opweave.compiler.traced.made import users_line
from opweave.compiler.traced.tracer import Tracer
from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import UnsupportedError


def checked(found: Any) -> Any:
    """A stand-in for NumPy's settings of floating-point errors; other values as they are."""
    if found is np.errstate:
        return _errstate
    if type(found) is np.errstate:
        names = ("all", "divide", "over", "under", "invalid")
        return _errstate(**{name: getattr(found, f"_{name}", None) for name in names})
    if any(found is function for function in (np.seterr, np.seterrcall)):
        return _setting
    return found


def _errstate(**kinds: Any) -> Any:
    """``np.errstate``, if it asks for nothing that kernels do not do."""
    for name, kind in kinds.items():
        if kind not in ("ignore", "warn", None):
            raise UnsupportedError(
                f"np.errstate({name}={shown(kind)}): kernels neither raise nor call, expected "
                f"'ignore' or 'warn' ({users_line()}); look at the results, with np.isfinite for "
                "instance, or compute this by NumPy outside the fused function"
            )
    tracer = getattr(np.geterrcall(), "__self__", None)  # see Tracer.errors
    if isinstance(tracer, Tracer):
        tracer.sets_errors = True
        heard = "call" if tracer.watches else "warn"
        kinds = {name: heard if kind == "warn" else kind for name, kind in kinds.items()}
    return np.errstate(**kinds)


def _setting(*args: Any, **kwargs: Any) -> NoReturn:
    raise UnsupportedError(
        "np.seterr: changes NumPy's settings, which a compiled function would do once and not at "
        f"each call ({users_line()}); call it outside the fused function"
    )
