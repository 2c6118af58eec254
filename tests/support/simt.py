"""Runs hand-written or mutated kernels in verify mode."""

from __future__ import annotations

import re

import numpy as np

from opweave.runtime.binaries.build import builder
from opweave.runtime.simt.fibres import LaunchConfig, run_verify
from opweave.templates import TEMPLATES

PREAMBLE = (
    "#define USE_64BIT_INDEX 0\n#define USE_FAST_MATH 0\n#define USE_VECTOR_IO 0\n"
    '#include "opweave.cuh"\n'
)


def run_source(source, name, grid, block, arrays, scalars=(), shared_bytes=0, schedule=0):
    """Run kernel ``name``: arrays first, then 32-bit integers; returns copies of the arrays."""
    binary = builder().build(PREAMBLE + source, name, "host", mode="verify")
    held = [np.array(a) for a in arrays]

    def slots(copies):
        addresses = [c.address.to_bytes(8, "little") for c in copies]
        numbers = [int(s).to_bytes(8, "little", signed=True) for s in scalars]
        return b"".join(addresses + numbers)

    config = LaunchConfig((grid, 1, 1), (block, 1, 1), schedule, shared_bytes)
    run_verify(name, binary, config, slots, held)
    return held


def line_of(text, source):
    """Line number of a piece of a hand-written source, as verify mode reports it."""
    lines = (PREAMBLE + source).split("\n")
    return next(n for n, line in enumerate(lines, 1) if text in line)


def flattened(source):
    """The source with the host's device helpers in place of its include line."""
    text = source
    for _ in range(4):
        for name, path in (
            ("opweave.cuh", "host/opweave.cuh"),
            ("simt.cuh", "host/simt.cuh"),
            ("math.cuh", "host/math.cuh"),
            ("../common.cuh", "common.cuh"),
        ):
            include = f'#include "{name}"'
            if include in text:
                text = text.replace(include, (TEMPLATES / path).read_text().replace(
                    "#pragma once", ""))  # fmt: skip
    return text


def mutants(text, changes):
    """Yield (description, text) with one place changed at a time."""
    for pattern, replacement in changes:
        for number, match in enumerate(re.finditer(pattern, text)):
            changed = text[: match.start()] + match.expand(replacement) + text[match.end() :]
            yield f"{pattern} #{number}", changed
