"""Calls with arrays of other libraries: NumPy's in their place, or blocks where they are lazy."""

from __future__ import annotations

from typing import Any

from opweave._interchange.exchange import Exchange, run_exchanged


def run_others(fused: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """The results of a call of which some arguments are arrays of other libraries.

    Args:
        fused: the ``Fused`` of api/_functions/fused.py that is called.
    """

    def later(exchange: Exchange) -> Any:
        from opweave._dask.calling import blocked  # no other call needs it

        return blocked(fused.signature, fused.signature.fn, fused.options, exchange)

    return run_exchanged(fused, fused.signature, args, kwargs, out, later)
