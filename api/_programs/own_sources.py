"""A source of the user's in the place of a kernel's: what is refused before it is compiled."""

from __future__ import annotations

import re
from dataclasses import replace

from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.pipeline.driver import Lowered
from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import ArgumentError

# Toggles that the launch is made from, besides the source.
OF_LAUNCH = frozenset(
    """BLOCK VECTOR CHUNKS TILE THREADS_PER_ROW ROWS_PER_BLOCK PARTS BLOCK_M BLOCK_N THREAD_M
    THREAD_N USE_64BIT_INDEX""".split()
)


def with_source(lowered: Lowered, source: str, number: int) -> Lowered:
    """A lowered function with another source of one of its kernels.

    Raises:
        ArgumentError: there is no such kernel, or the source is none of it.
    """
    if type(source) is not str or type(number) is not int:
        raise ArgumentError(
            f"compile: expected a source as text and the number of a kernel, found "
            f"{type(source).__name__} and {shown(number)}"
        )
    sources = list(lowered.sources)
    if not 0 <= number < len(sources):
        raise ArgumentError(f"kernel={number}: the program has {len(sources)} kernels")
    kernel = lowered.kernels[number]
    if kernel.by_numpy:
        raise ArgumentError(
            f"kernel={number}: {kernel.name} is computed by a library or by NumPy: no source runs"
        )
    if kernel.name not in tokens_of(source):
        raise ArgumentError(
            f'the source defines no extern "C" kernel called {kernel.name}: keep the name and '
            "the parameters of the kernel that it stands in for"
        )
    _check_launch(source, kernel)
    sources[number] = source
    return replace(lowered, sources=tuple(sources))


def _check_launch(source: str, kernel: Kernel) -> None:
    """Refuse a source whose #defines ask for another launch than the kernel gets.

    Raises:
        ArgumentError: names the toggle and how to change it.
    """
    for name, text in re.findall(r"^#define[ \t]+(\w+)[ \t]+(-?\d+)\b", source, re.MULTILINE):
        value = kernel.toggles.get(name, int(text))
        if name in OF_LAUNCH and value != int(text):
            raise ArgumentError(
                f"the source defines {name} as {text}, but the kernel is launched for {value}: "
                f"change it with with_toggles({name}={text})"
            )


def tokens_of(source: str) -> set[str]:
    """The identifiers of a source."""
    return set(re.findall(r"[A-Za-z_]\w*", source))
