"""What a host's binary needs of a machine, and of this opweave."""

from __future__ import annotations

import os
import re
from typing import Any

from opweave._saved.folder import digest
from opweave.runtime.calls.arrays import held_at
from opweave.runtime.process.processor import cpu_features
from opweave.templates import RUNTIME

INCLUDED = re.compile(r'^#include "(\w+\.h)"', re.MULTILINE)


def features() -> list[str]:
    """The kind of processor, and what this one can do."""
    return [os.uname().machine, *cpu_features().split()]


def interface() -> str:
    """How kernels and the scheduler call each other, as a hash of the scheduler's source."""
    text = RUNTIME.read_text()
    parts = [text, *(RUNTIME.with_name(name).read_text() for name in INCLUDED.findall(text))]
    return digest("".join(parts).encode())


def problem(data: dict[str, Any]) -> str:
    """Why kernels that were saved cannot run here; "" where they can."""
    machine, *needed = data["cpu"]
    here, *has = features()
    if machine != here:
        return f"its kernels are for processors of kind {machine}, this one is {here}"
    if missing := sorted({*needed} - {*has}):
        shown = ", ".join(missing[:8]) + (", ..." if len(missing) > 8 else "")
        return f"its kernels were compiled for a processor with {shown}, which this one lacks"
    if data["interface"] != interface():
        return "its kernels were compiled for the scheduler of another version of opweave"
    return "" if held_at() else "this Python lays arrays out in a way that is not known"
