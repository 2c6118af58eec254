"""Kernels that begin with the same device helpers have them parsed once, and the same bits."""

import re

import pytest

from opweave.opcodes.errors import CompileError
from opweave.runtime.binaries import hostcc
from opweave.runtime.binaries.build import HOST_INCLUDE
from opweave.runtime.binaries.precompiled import ASKED, Headers, beginning

TOGGLES = "#define USE_64BIT_INDEX   0    // offsets need more than 31 bits\n#define VECTOR 64\n"
KERNEL = """extern "C" __global__ void
f(const float* x, float* out, const index_t cols)
{{
    const index_t j0 = ((index_t)blockIdx.x * blockDim.x + threadIdx.x);
    if (j0 < cols) out[j0] = x[j0] + {number}.0f;
}}
OW_ENTRY(f)
"""
SOURCE = f'#define USE_VECTOR_IO 0\n{TOGGLES}#include "opweave.cuh"\n\n{KERNEL}'


@pytest.mark.parametrize(("source", "begins"), [
    (f'#define OW_NO_POWERS\n#line 1\n// a name\n{TOGGLES}#include "opweave.cuh"\n\nint x;\n',
     '#define OW_NO_POWERS\n#define USE_64BIT_INDEX   0\n#include "opweave.cuh"\n'),
    ('#include "opweave.cuh"\n#include "rows.cuh"\nint x;',
     '#include "opweave.cuh"\n#include "rows.cuh"\n'),
    # a toggle that another asks for
    ('#define N 3\n#define USE_FAST_MATH N\n#include "opweave.cuh"\n',
     '#define N 3\n#define USE_FAST_MATH N\n#include "opweave.cuh"\n'),
    # what is no toggle ends it; what comes behind that is no beginning
    ('int x;\n#include "opweave.cuh"\n', ""),
    ('#include "opweave.cuh"\n#pragma once\n#include "rows.cuh"\n', '#include "opweave.cuh"\n'),
    ('#if 0\n#include "opweave.cuh"\n#endif\n', ""),
    ("#include <cuda_fp16.h>\n", ""), ("#define N 3\nint x;", ""), ("", ""),
])  # fmt: skip
def test_a_kernel_begins_with_device_helpers_and_the_toggles_that_they_ask_for(source, begins):
    assert beginning(source) == begins


def test_a_header_is_made_when_enough_kernels_begin_with_it():
    made, headers = [], Headers()

    def make(text, options, name):
        made.append((text, tuple(options), name))
        return "-never" not in options

    asked = [headers.of(SOURCE, ["-O3"], make) for _ in range(ASKED + 1)]
    other = [headers.of(SOURCE, ["-O0"], make) for _ in range(ASKED)]
    refused = [headers.of(SOURCE, ["-never"], make) for _ in range(ASKED + 1)]
    plain = [headers.of("int x;", ["-O3"], make) for _ in range(ASKED + 1)]

    assert [options for _, options, _ in made] == [("-O3",), ("-O0",), ("-never",)]
    assert asked == [[]] * (ASKED - 1) + [["-include-pch", f"{made[0][2]}.pch"]] * 2
    assert other[-1] == ["-include-pch", f"{made[1][2]}.pch"] != asked[-1]
    assert not any(refused)
    assert not any(plain)


def without_names(binary):
    """A library without the names of zig's temporary files, which follow from the source."""
    return re.sub(rb"[0-9a-f]{16,}", b"", binary)


@pytest.mark.host
@pytest.mark.parametrize("mode", ["run", "verify"])
def test_a_binary_is_the_same_by_a_header(monkeypatch, mode):
    if not hostcc.is_zig(hostcc.host_compiler().command):
        pytest.skip("headers are made by zig alone")
    commands, real = [], hostcc.run_compiler

    def watched(command, source, temporary=""):
        commands.append(command)
        return real(command, source, temporary)

    monkeypatch.setattr(hostcc, "run_compiler", watched)
    monkeypatch.setattr(hostcc, "HEADERS", Headers())
    flags = hostcc.flags(mode, fast=False)
    made = [
        hostcc.compile_host(SOURCE.format(number=number), flags, HOST_INCLUDE)
        for number in [1] * ASKED
    ]

    assert sum("-include-pch" in command for command in commands) == 1
    assert without_names(made[-1]) == without_names(made[0])


@pytest.mark.host
def test_a_complaint_is_made_without_a_header(monkeypatch):
    class Broken:
        def of(self, source, options, make):
            return ["-include-pch", "nowhere.pch"]

    monkeypatch.setattr(hostcc, "is_zig", lambda command: True)
    monkeypatch.setattr(hostcc, "HEADERS", Broken())
    flags = hostcc.flags("run", fast=False)

    assert hostcc.compile_host(SOURCE.format(number=2), flags, HOST_INCLUDE)
    with pytest.raises(CompileError) as found:
        hostcc.compile_host(SOURCE.format(number="wrong"), flags, HOST_INCLUDE)
    assert "wrong" in found.value.log
    assert "nowhere" not in found.value.log
