"""Kernels as people write them: their PTX gives what the checker of sources gives."""

import re

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.binaries import nvrtc
from opweave.runtime.ptx.launch import PtxLaunch, packed, run
from opweave.runtime.ptx.machine import Shape
from opweave.runtime.ptx.memory import region_of
from opweave.templates import TEMPLATES
from tests.support.sanitized import CORRECT

pytestmark = [pytest.mark.host, pytest.mark.nvrtc]
# Half a minute of atomics; a word that is read to write some of its bits, which nobody has written.
LEFT_OUT = ("many atomics that change nothing", "bit-fields of what nobody wrote")
CASES = [case for case in CORRECT if case.name not in LEFT_OUT]


def three(extents):
    found = list(extents) if isinstance(extents, tuple) else [extents]
    return tuple(([*found, 1, 1])[:3])


def ptx_of(source):
    options = nvrtc.options(fast=False) | {"minimal": False}
    try:
        return nvrtc.ptx(source, "sm_90a", options, TEMPLATES)
    except ow.errors.CompileError as error:
        if "cannot open source file" in error.log:
            pytest.skip("needs CUDA's headers")
        raise


@pytest.mark.parametrize("schedule", [0, 1])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_kernel_gives_what_its_source_means(case, schedule):
    text, given = ptx_of(case.source), case.arguments()
    name = re.findall(r"\.entry (\w+)", text)[-1]
    fresh = [not isinstance(a, np.ndarray | np.generic | int | float) for a in given]
    held = [
        np.zeros(a.shape, a.dtype) if f else np.array(a) for a, f in zip(given, fresh, strict=True)
    ]
    arrays = [n for n, a in enumerate(held) if a.ndim]
    regions = [region_of(f"argument {n}", held[n], fresh[n]) for n in arrays]
    values = [a.ctypes.data.to_bytes(8, "little") if a.ndim else a.tobytes() for a in held]
    shape = Shape(three(case.grid), three(case.block))
    run(PtxLaunch(text, name, shape, packed(text, name, values), case.shared, schedule), regions)
    report = ow.sanitize_source(
        case.source, "k", case.grid, case.block, case.arguments(), schedules=1,
        **({"shared_bytes": case.shared} if case.shared else {}),
    )  # fmt: skip

    for n in arrays:
        if not fresh[n]:
            np.testing.assert_array_equal(
                held[n].view("u1"), np.ascontiguousarray(report.args[n]).view("u1")
            )
