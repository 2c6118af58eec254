"""``fuse``: a NumPy-style function that runs as few kernels as possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

from opweave._functions.fused import Fused
from opweave.compiler.pipeline.driver import Options
from opweave.opcodes.allowed import check_flag


@overload
def fuse(
    fn: Callable[..., Any], /, *, static_argnames: Sequence[str] | str = (), fast: bool = False,
    fullgraph: bool = False, replay: bool = False,
) -> Fused: ...  # fmt: skip


@overload
def fuse(
    fn: None = None, /, *, static_argnames: Sequence[str] | str = (), fast: bool = False,
    fullgraph: bool = False, replay: bool = False,
) -> Callable[[Callable[..., Any]], Fused]: ...  # fmt: skip


def fuse(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    static_argnames: Sequence[str] | str = (),
    fast: bool = False,
    fullgraph: bool = False,
    replay: bool = False,
) -> Any:
    """Compile a NumPy-style function; use as ``@fuse`` or ``@fuse(...)``.

    The function runs once per guard, on traced values.  What it reads besides its arguments
    (globals, closures) is read at each call: arrays are inputs, the rest is part of the guard.
    What it writes to its arguments is in the caller's arrays afterwards, as by NumPy.

    A function with a line that opweave does not compile (a sort, a branch on a value, a selection
    by a mask) runs in parts: it is run at each call, that line by NumPy or CuPy, everything
    between as fused kernels.  ``explain`` names such lines and what they cost.

    Args:
        fn: a function of arrays and numbers, and of tuples, lists, dicts, dataclasses and objects
            of them.  Arrays may be NumPy or CuPy arrays of any rank, or arrays of other libraries
            of one kind, which results have, too: tensors of PyTorch, arrays of JAX or Arrow, or
            what holds memory by a protocol.  Numbers may differ from call to call without a new
            compilation; texts, modules, dtypes and functions may not.
        static_argnames: arguments whose values select what the function does.
        fast: relaxed arithmetic: contraction, approximate functions, no rounding of 16-bit
            intermediates.  Strict otherwise: fused is bit for bit what unfused gives.
        fullgraph: refuse what would run in parts, with an error that says what to write instead.
        replay: on a GPU, a call of several kernels becomes a CUDA graph when arrays at the same
            addresses, and the same numbers, come for the third time on a stream; it is one launch
            from then on, and copies nothing.  Where arrays move or numbers change, and inside of a
            capture of the caller's own, kernels are launched as ever.  Each of up to 16 graphs a
            call keeps memory for its temporaries.  On the host every prepared call is a plan
            already, which reads the addresses anew each time; there it changes nothing.

    Returns:
        A ``Fused`` function.
    """
    check_flag(fast, "fast")
    check_flag(fullgraph, "fullgraph")
    check_flag(replay, "replay")
    options = Options(fast=fast, fullgraph=fullgraph, replay=replay)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    if fn is None:
        return lambda found: Fused(found, names, options)
    return Fused(fn, names, options)
