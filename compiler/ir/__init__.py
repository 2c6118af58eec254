"""The intermediate representation: graphs of operators over typed values."""

from typing import Any


def __getattr__(name: str) -> Any:
    """Names of the module that this room was once; pickles of graphs have these names."""
    from opweave.compiler.ir import graph

    if name.startswith("__") or not hasattr(graph, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(graph, name)
