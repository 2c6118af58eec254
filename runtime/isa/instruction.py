"""PTX as data: modules, functions, instructions and what they name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
KINDS = {"u": "u", "b": "u", "s": "i", "f": "f"}
WIDTHS = ("8", "16", "32", "64")
TYPES: Mapping[str, np.dtype[Any]] = {
    **{k + w: np.dtype(f"{n}{int(w) // 8}") for k, n in KINDS.items() for w in WIDTHS
       if k + w != "f8"},
    "bf16": np.dtype("u2"), "f16x2": np.dtype("u4"), "bf16x2": np.dtype("u4"),
    "pred": np.dtype(bool), "tf32": np.dtype("u4"),
}  # fmt: skip
"""NumPy's dtype of each PTX type; what NumPy has no arithmetic for is its bits."""


def storage(kind: str) -> np.dtype[Any]:
    """The dtype in which a register holds a value of a PTX type: its bits."""
    dtype = TYPES[kind]
    return dtype if dtype.kind == "b" else np.dtype(f"u{dtype.itemsize}")


@dataclass(frozen=True)
class Name:
    """A register, a variable, a special register, a function or a label, and bytes behind it."""

    text: str
    offset: int = 0


@dataclass(frozen=True)
class Immediate:
    """A constant: ``bits`` of a float of that ``kind``, or an integer of kind ``int``."""

    kind: str
    bits: int


@dataclass(frozen=True)
class Address:
    """``[base + offset]``."""

    base: Name | Immediate
    offset: int


@dataclass(frozen=True)
class Vector:
    """``{a, b}``; of a call also what stands in brackets."""

    parts: tuple[Any, ...]


@dataclass(frozen=True)
class ResultPair:
    """``a|b``: two results."""

    first: Any
    second: Any


@dataclass(frozen=True)
class Not:
    """``!p``."""

    of: Name


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Attributes:
        predicate, negated: the guard, such as ``@!%p1``.
        line: of the PTX text, from 1.
        place: file number and line of the source, by the last ``.loc``; None without one.
    """

    root: str
    modifiers: tuple[str, ...]
    operands: tuple[Any, ...]
    predicate: str | None
    negated: bool
    line: int
    place: tuple[int, int] | None

    @property
    def opcode(self) -> str:
        """Such as ``ld.global.v4.f32``."""
        return ".".join((self.root, *self.modifiers))


@dataclass(frozen=True)
class PtxVariable:
    """Memory with a name.

    Attributes:
        space: "param", "shared", "local", "global" or "const".
        size: bytes; 0 of shared memory whose size the launch says.
        initial: the first bytes.
    """

    name: str
    space: str
    kind: str
    align: int
    size: int
    initial: bytes = b""


@dataclass
class Function:
    """A kernel, or a function that one calls.

    Attributes:
        registers: the PTX type of each.
        labels: numbers of instructions.
        block: ``.reqntid`` or ``.maxntid``, 0 where the text says none.
    """

    name: str
    is_entry: bool
    params: list[PtxVariable] = field(default_factory=list)
    results: list[PtxVariable] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)
    variables: list[PtxVariable] = field(default_factory=list)
    code: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)


@dataclass
class PtxModule:
    """What a PTX text holds.

    Attributes:
        files: names of source files, by the numbers of ``.file``.
    """

    version: tuple[int, int] = (0, 0)
    target: str = ""
    functions: dict[str, Function] = field(default_factory=dict)
    variables: list[PtxVariable] = field(default_factory=list)
    files: dict[int, str] = field(default_factory=dict)
