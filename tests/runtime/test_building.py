"""Kernels of a program compile together: each kind once, the longest first, and what is told.

The device helpers that many begin with are parsed once.
"""

import re
import time

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.scheduling.compile_costs import (
    MOST_SECONDS,
    SECONDS,
    Constants,
    KernelSize,
    group_seconds,
    whole_seconds,
)
from opweave.opcodes.errors import CompileError
from opweave.runtime.binaries import compilers, hostcc, progress
from opweave.runtime.binaries.build import HOST_INCLUDE, BinaryBuilder, builder
from opweave.runtime.binaries.cache import DiskCache
from opweave.runtime.binaries.compilers import at_once
from opweave.runtime.binaries.precompiled import ASKED, Headers, beginning
from opweave.runtime.calls import building
from opweave.runtime.calls.building import build_all, costs
from opweave.runtime.process.locks import Once

X = np.ones((32, 24), np.float32)


def several(x):
    """A short kernel, a long one, another short one."""
    a = np.cumsum(x + 1, axis=0)
    b = a.T.copy()
    for _ in range(6):
        b = np.exp(b - b.max(axis=-1, keepdims=True))
    return a, b, np.cumsum(b[::-1] * 2, axis=0)


def test_the_longest_kernel_is_begun_first():
    lowered = ow.fuse(several).lower(X, target="host").lowered
    seconds = [each for *_, each in costs(lowered, "run")]

    assert len(seconds) >= 3
    assert seconds == sorted(seconds, reverse=True)
    assert seconds[0] > 2 * seconds[-1]


class Noting:
    """An executor that notes what is built."""

    mode = "run"

    def __init__(self):
        self.built = []
        self.also = (Once(lambda: self.built.append("library")),)

    def build(self, kernel, source):
        self.built.append(kernel.name)


def test_a_program_builds_each_kind_of_kernel_and_the_library_once():
    def rounds(x):
        for _ in range(9):
            x = np.cumsum(x[::-1], axis=0) * 0.5
        return x

    program, noting = ow.fuse(rounds).lower(X, target="host"), Noting()
    lowered, extents = program.lowered, program.found.extents
    build_all(lowered, noting, extents)
    assert len(lowered.kernels) == 9
    assert "library" in noting.built
    assert len(noting.built) <= 4

    build_all(lowered, noting, extents)
    assert noting.built.count("library") == 1


def test_calls_begin_in_order(monkeypatch):
    monkeypatch.setattr(compilers, "cores", lambda: 1)
    begun = []
    found = at_once(lambda n: begun.append(n) or n * n, [(n,) for n in range(20)])

    assert found == [n * n for n in range(20)]
    assert begun == [*range(20)]


@pytest.mark.parametrize("form", [form for form in SECONDS if form not in ("vendor", "library")])
def test_a_kernel_costs_more_for_more_of_anything(form):
    one = SECONDS[form].seconds(KernelSize(10, 4, 2))

    assert 0 < one < SECONDS[form].seconds(KernelSize(20, 4, 2))
    assert one < SECONDS[form].seconds(KernelSize(10, 8, 2))
    assert one < SECONDS[form].seconds(KernelSize(10, 4, 2, rounded=1))


def test_constants_are_of_a_kernel_and_of_operations_and_operands():
    assert Constants(1, 0.5, 0.25, 2, 3).seconds(KernelSize(6, 4, 2)) == 1 + 3 + 4 + 48 + 192


@pytest.mark.parametrize(
    ("each", "whole"), [([], 0), ([3.0], 3), ([3.0, 1.0], 3), ([1.0] * 8, 4), ([2.0, 1.0, 3.0], 3)]
)
def test_a_whole_takes_half_of_its_sum_and_no_less_than_its_longest(each, whole):
    assert whole_seconds(each) == whole


def recurrence(a, b, x):
    out = []
    s = np.zeros(64, np.float32)
    for t in range(60):
        s = a * s + b * x[:, t]
        out.append(s)
    return np.stack(out, 1)


def test_no_kernel_of_many_operands_costs_more_than_two_seconds():
    a = np.ones(64, np.float32)
    lowered = ow.fuse(recurrence).lower(a, a, np.ones((64, 60), np.float32), target="host").lowered
    seconds = [group_seconds(lowered.graph, group) for group in lowered.schedule.groups]

    assert max(seconds) <= MOST_SECONDS
    assert len(seconds) > 3


def kinds(name, seconds=(1.0, 1.0, 2.0)):
    return progress.Progress(name, seconds)


@pytest.fixture
def loud(monkeypatch):
    monkeypatch.delenv("OPWEAVE_LOGS", raising=False)


def test_below_two_seconds_nothing_is_told(loud, capsys):
    at_once(lambda n: n, [(1,), (2,), (3,)], kinds("f"))

    assert capsys.readouterr().err == ""


def test_after_two_seconds_one_line_says_what_compiles_and_how_much_is_left(
    loud, capsys, monkeypatch
):
    monkeypatch.setattr(progress, "SECONDS_QUIET", 0.02)
    monkeypatch.setattr(progress.share, "cores", lambda: 2)
    at_once(time.sleep, [(0.0,), (0.1,), (0.15,)], kinds("train"))

    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "\r" not in told
    assert re.fullmatch(
        r"opweave: compiling train: [01] of 3 binaries in 0 s, some 2 s left\n", told
    )


def test_in_a_terminal_it_is_a_bar_with_an_end(loud, capsys, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_QUIET", 0.0)
    monkeypatch.setattr(progress.Progress, "_is_terminal", staticmethod(lambda: True))
    at_once(time.sleep, [(0.0,), (0.01,), (0.02,)], kinds("train"))

    told = capsys.readouterr().err
    assert told.startswith("\r[")
    assert "3 of 3 binaries" in told.split("\r")[-1]
    assert told.split("\r")[-1].startswith(f"[{'#' * progress.WIDTH}]")
    assert told.endswith("\n")


@pytest.mark.host
def test_a_long_kernel_alone_is_told_of_too(loud, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(progress, "SECONDS_QUIET", 0.0)
    monkeypatch.setattr(building, "LONG_ALONE", 0.0)
    monkeypatch.setattr(builder(), "disk", DiskCache(tmp_path / "cache"))
    ow.fuse(lambda x: x * 1.0625)(X)  # the library of the host is made by now
    capsys.readouterr()
    ow.fuse(lambda alone: np.cosh(alone) * 3.8125)(X)

    assert "of 1 binaries in" in capsys.readouterr().err


def test_quiet_leaves_it_out(capsys, monkeypatch):
    monkeypatch.setenv("OPWEAVE_LOGS", "quiet")
    monkeypatch.setattr(progress, "SECONDS_QUIET", 0.0)
    at_once(time.sleep, [(0.0,), (0.01,)], kinds("train"))

    assert capsys.readouterr().err == ""


@pytest.mark.host
def test_a_log_says_how_long_each_kernel_compiled(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("OPWEAVE_LOGS", "compile")
    monkeypatch.setattr(builder(), "disk", DiskCache(tmp_path / "cache"))
    ow.fuse(lambda pressure: np.cosh(pressure) * 3.75)(X)

    assert re.search(r"opweave: \w+_f32 compiled in \d+\.\d\d s\n", capsys.readouterr().err)
    assert isinstance(builder(), BinaryBuilder)


HEAD_TOGGLES = (
    "#define USE_64BIT_INDEX   0    // offsets need more than 31 bits\n#define VECTOR 64\n"
)
HEADED_KERNEL = """extern "C" __global__ void
f(const float* x, float* out, const index_t cols)
{{
    const index_t j0 = ((index_t)blockIdx.x * blockDim.x + threadIdx.x);
    if (j0 < cols) out[j0] = x[j0] + {number};
}}
OW_ENTRY(f)
"""
HEADED = f'#define USE_VECTOR_IO 0\n{HEAD_TOGGLES}#include "opweave.cuh"\n\n{HEADED_KERNEL}'


@pytest.mark.parametrize(("source", "begins"), [
    # a header has all kinds of special functions, and no toggle that its helpers do not read
    (f'#define OW_NO_POWERS\n#line 1\n// a name\n{HEAD_TOGGLES}#include "opweave.cuh"\n\nint x;\n',
     '#define USE_64BIT_INDEX 0\n#include "opweave.cuh"\n'),
    # it ends behind the first of them; a macro that it defines for the next is not used there
    ('#define ROW_CHUNKS 8\n#include "opweave.cuh"\n#define BLOCK 8\n#include "rows.cuh"\n',
     '#include "opweave.cuh"\n'),
    ('#define THREADS_PER_ROW 8\n#include "rows.cuh"\n',
     '#define THREADS_PER_ROW 8\n#include "rows.cuh"\n'),
    # a toggle that another asks for
    ('#define N 3\n#define USE_FAST_MATH N\n#include "opweave.cuh"\n',
     '#define N 3\n#define USE_FAST_MATH N\n#include "opweave.cuh"\n'),
    # what is no toggle ends it; what comes behind that is no beginning
    ('int x;\n#include "opweave.cuh"\n', ""),
    ('#include "opweave.cuh"\n#pragma once\n#include "rows.cuh"\n', '#include "opweave.cuh"\n'),
    ('#if 0\n#include "opweave.cuh"\n#endif\n', ""),
    ('#include "nowhere.cuh"\n#include "opweave.cuh"\n', ""),
    ("#include <cuda_fp16.h>\n", ""), ("#define N 3\nint x;", ""), ("", ""),
])  # fmt: skip
def test_a_kernel_begins_with_a_device_helper_and_the_toggles_that_it_reads(source, begins):
    assert beginning(source) == begins


def test_a_header_is_made_when_enough_kernels_begin_with_it():
    made, headers = [], Headers()

    def make(text, options, name):
        made.append((text, tuple(options), name))
        return "-never" not in options

    asked = [headers.of(HEADED, ["-O3"], make) for _ in range(ASKED + 1)]
    other = [headers.of(HEADED, ["-O0"], make) for _ in range(ASKED)]
    refused = [headers.of(HEADED, ["-never"], make) for _ in range(ASKED + 1)]
    plain = [headers.of("int x;", ["-O3"], make) for _ in range(ASKED + 1)]

    assert [options for _, options, _ in made] == [("-O3",), ("-O0",), ("-never",)]
    assert asked == [[]] * (ASKED - 1) + [["-include-pch", f"{made[0][2]}.pch"]] * 2
    assert other[-1] == ["-include-pch", f"{made[1][2]}.pch"] != asked[-1]
    assert not any(refused)
    assert not any(plain)


def test_headers_that_are_asked_for_in_turns_have_names_of_their_own():
    """So do those of a forked child, which makes its own in the folder of its parent."""
    names, processes = {}, [Headers(), Headers()]

    def make(text, options, name):
        names.setdefault((text, *options), set()).add(name)
        return True

    for number in [0, 1, 2] * ASKED + [2, 1, 0]:
        for headers in processes[: 1 + number % 2]:
            headers.of(f'#define USE_FAST_MATH {number}\n#include "opweave.cuh"\n', ["-O3"], make)

    assert [len(found) for found in names.values()] == [1, 1, 1]
    assert len(set.union(*names.values())) == 3


def without_names(binary):
    """A library without the names of zig's temporary files, which follow from the source."""
    return re.sub(rb"[0-9a-f]{16,}", b"", binary)


@pytest.mark.host
@pytest.mark.parametrize("leaves_out", ["", "#define OW_NO_POWERS\n#define OW_NO_ANGLES\n"])
@pytest.mark.parametrize("mode", ["run", "verify"])
def test_a_binary_is_the_same_by_a_header(monkeypatch, mode, leaves_out):
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
        hostcc.compile_host(leaves_out + HEADED.format(number="expf(1) + 1"), flags, HOST_INCLUDE)
        for _ in range(ASKED)
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

    assert hostcc.compile_host(HEADED.format(number=2), flags, HOST_INCLUDE)
    with pytest.raises(CompileError) as found:
        hostcc.compile_host(HEADED.format(number="wrong"), flags, HOST_INCLUDE)
    assert "wrong" in found.value.log
    assert "nowhere" not in found.value.log
