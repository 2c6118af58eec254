"""Loops that mix truth values from memory with numbers become vectors by g++, whatever they store."""

import re
import subprocess

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.binaries import hostcc
from opweave.runtime.binaries.canonical import Canonical, with_entry
from tests.opcodes.test_host_math import HOST_INCLUDE

ASKS = ["-fopt-info-vec-optimized", "-S", "-o", "/dev/null", "-"]


def chosen_and_stored(x, high, alive):
    within = alive & (x > 0.5)
    return within, np.where(~within, 0, x)


def barrier(x, high, alive):
    x = x * np.exp(high)
    high = np.maximum(high, x)
    alive = alive & (x > 0.5)
    return np.where(~alive, 0, x), high, alive


def lines_of_arithmetic(source):
    """The lines of loops whose body computes what an operator says."""
    lines = source.splitlines()
    loops = (n for n, line in enumerate(lines, 1) if "for (int l = 0;" in line)
    return {n for n in loops if "// " in lines[n]}


def processor():
    """What g++ defines for the processor that it compiles for."""
    command = [*hostcc.host_compiler().command, "-march=native", "-dM", "-E", "-x", "c++", "-"]
    return subprocess.run(command, input="", text=True, capture_output=True, check=True).stdout


@pytest.mark.host
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4"])
@pytest.mark.parametrize("function", [chosen_and_stored, barrier])
def test_truth_values_beside_numbers_take_vectors(function, dtype):
    if not hostcc.is_gcc():
        pytest.skip("only g++ tells which loops it has made vectors of; CI runs this by g++")
    if dtype == "i8" and "__AVX512DQ__" not in processor():
        pytest.skip("before AVX-512 no instruction makes doubles of several integers of 8 bytes")
    x = np.ones(100_000, dtype)
    (kernel,) = ow.fuse(function, fullgraph=True).lower(x, x.copy(), x > 0).kernels
    source = with_entry(Canonical(kernel.source, kernel.name), True)
    flags = [f for f in hostcc.flags("run", fast=False) if f != "-shared"]
    command = [*hostcc.host_compiler().command, *flags, *(f"-I{path}" for path in HOST_INCLUDE)]
    ran = subprocess.run(
        [*command, *ASKS], input=source, text=True, capture_output=True, check=True
    )
    told = {int(n) for n in re.findall(r"^<stdin>:(\d+):\d+: optimized: loop", ran.stderr, re.M)}
    wanted = lines_of_arithmetic(source)

    assert wanted
    assert wanted <= told, ran.stderr


# Conditions, and how the kernel chooses between elements of 8 and of 4 bytes: vectorised.py says why.
CHOICES = {
    "read": (lambda x, y, a, b: np.where(a, x, y).sum(), "select_bits<{}>(", "chosen("),
    "made of what is read": (lambda x, y, a, b: np.where(~a & b, x, y + 1).sum(), "select_bits<{}>(", " ? "),
    "compared": (lambda x, y, a, b: np.where(x > y, x, y).sum(), "chosen(", "chosen("),
    "compared, and computed": (lambda x, y, a, b: np.where(x > y, x, y + 1), " ? ", " ? "),
    "compared, and read": (lambda x, y, a, b: np.where(a | (x > y), x, y), "chosen(", "chosen("),
    "a number": (lambda x, y, a, b: np.where(x[0] > 1, x, y + 1), "select_bits<{}>(", "select_bits<{}>("),
}  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "f2", "u1"])
@pytest.mark.parametrize("case", CHOICES)
def test_how_a_kernel_of_the_host_chooses(case, dtype):
    function, wide, short = CHOICES[case]
    x, y = (np.arange(800) % 2).astype(dtype), (np.arange(800) % 3).astype(dtype)
    a, b = np.arange(800) % 3 > 0, np.arange(800) % 5 > 0
    fused = ow.fuse(function, fullgraph=True)
    (kernel,) = fused.lower(x, y, a, b).kernels
    register = {"f8": "double", "i8": "int64", "i4": "int", "f2": "float", "f4": "float"}.get(
        dtype, "uint8"
    )

    assert (wide if x.itemsize == 8 else short).format(register) in kernel.source
    np.testing.assert_array_equal(fused(x, y, a, b), function(x, y, a, b))


@pytest.mark.host
def test_truths_that_share_parts_are_looked_at_once():
    def mixed(m, b, c, x):
        for _ in range(60):
            m = (m & b) | (~m & c)
        return np.where(m, x, -x)

    m, b, c = (np.arange(40) % k == 0 for k in (2, 3, 5))

    np.testing.assert_array_equal(
        ow.fuse(mixed, fullgraph=True)(m, b, c, np.ones(40)), mixed(m, b, c, np.ones(40))
    )
