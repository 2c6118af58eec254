"""The intermediate representation: graphs of operators over typed values."""

from typing import Any


def __getattr__(name: str) -> Any:
    """What this room was when it was one module, whose names are in pickles of graphs."""
    from opweave.compiler.ir import graph

    if name.startswith("__") or not hasattr(graph, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(graph, name)
