"""Loops that are passed over: every count is that of the loop run whole."""

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.sass.deciding import deciding
from opweave.runtime.sass.flow import Flow
from opweave.runtime.sass.rounds import loops_of
from opweave.runtime.sass.steady import SteadyLoops
from tests.sass.support import executor, listing

LOOPS = {
    "rows": "for (int k = 0; k < n; ++k) s += x[k * 32 + t];",
    "rows down": "for (int k = n; k > 0; --k) s += x[k * 32 + t];",
    "rows of a stride": "for (int k = t; k < n * 32; k += 96) s += x[k];",
    "rows of each lane": "for (int k = t; k < n; ++k) s += x[k * 7];",
    "one round is another": "for (int k = 0; k < n; ++k) { s += x[k]; if (k == 57) y[t] = s; }",
    "some rounds are others": "for (int k = 0; k < n; ++k) { s += x[k];"
    " if (k >= 61 && k < 70) y[k * 32 + t] = s; }",
    "one lane of a round": "for (int k = 0; k < n; ++k) { s += x[k]; if (k == 3 * t) y[k] = s; }",
    "each eighth round": "for (int k = 0; k < n; ++k) { s += x[k]; if (k % 8 == 0) y[k] = s; }",
    "each hundredth round": "for (int k = 0; k < n; ++k) { s += x[k];"
    " if (k % 100 == 99) y[k] = s; }",
    "stages": "for (int k = 0, at = 0; k < n; ++k) { s += x[k * 32 + at];"
    " at = at == 2 ? 0 : at + 1; if (at == 1) y[k] = s; }",
    "two loops": "for (int k = 0; k < 20; ++k) for (int j = 0; j < n; ++j)"
    " s += x[k * 8192 + j * 32 + t];",
    "the same again": "for (int k = 0; k < n; ++k) s += x[k * 32 + t];"
    " for (int k = 0; k < n; ++k) s = s * x[k * 32 + t] + 1;",
    "a triangle": "for (int k = 0; k < n / 4; ++k) for (int j = 0; j < k; ++j) s += x[k * 64 + j];",
    "shared memory": "for (int k = 0; k < n; ++k) { own[t] = x[k * 32 + t]; __syncthreads();"
    " s += own[31 - t]; __syncthreads(); }",
    "integers in shared memory": "own[t] = t; for (int k = 0; k < n; ++k) { __syncthreads();"
    " int at = own[(t + k) % 32]; s += x[at]; if (at > 20) y[k] = s; }",
    "shared integers that grow": "for (int k = 0; k < n; ++k) { own[t] = k; __syncthreads();"
    " if (own[31 - t] == 80) y[k] = s; s += x[k]; __syncthreads(); }",
    "one shared integer is another": "for (int k = t; k < 512; k += 32) own[k] = k == 80;"
    " __syncthreads();\n#pragma unroll 1\n"
    "for (int k = 0; k < n; ++k) { s += x[k]; if (own[k] > 0) y[k] = s; }",
    "elements decide": "for (int k = 0; k < n; ++k) { float v = x[k * 32 + t];"
    " if (v > 0) y[k] = v; s += v; }",
    "columns far apart": "for (int k = 0; k < n; ++k) s += x[(size_t)t * 4096 + k * 8];",
    "products decide": "for (int k = 0; k < n; ++k) { s += x[k]; if (k * k > 900) y[k] = s; }",
}
SOURCE = """
extern "C" __global__ void walk(const float* x, float* y, int n) {{
    __shared__ {kind} own[512];
    int t = threadIdx.x;
    float s = 0;
    own[t] = 0;
    __syncthreads();
    #pragma unroll 1
    {loop}
    y[t] = s + own[31 - t];
}}
"""


def profiled(name, rounds):
    loop = LOOPS[name]
    x, y = np.zeros(1 << 18, np.float32), np.zeros(1 << 18, np.float32)
    text = SOURCE.format(loop=loop, kind="int" if "integer" in name else "float")
    (kernel,) = ow.profile_source(text, "walk", 2, 32, [x, y, rounds], target="sm_80").kernels
    return kernel


MOVED = "opweave__bytes_moved.sum"


def exactly(counters):
    """Those that are no estimates."""
    return {n: v for n, v in counters.items() if n not in (MOVED, "opweave__bytes_least.sum")}


@pytest.mark.parametrize("rounds", [9, 129])
@pytest.mark.parametrize("name", LOOPS)
def test_counts_are_those_of_the_loop_run_whole(monkeypatch, name, rounds):
    found = profiled(name, rounds)
    monkeypatch.setattr(SteadyLoops, "arrive", lambda *_: False)
    whole = profiled(name, rounds)

    assert exactly(found.counters) == exactly(whole.counters)
    assert found.counters[MOVED] == pytest.approx(whole.counters[MOVED], rel=0.02, abs=128)
    assert found.lines == whole.lines
    assert found.skipped == whole.skipped
    assert found.facts.warp_cycles == pytest.approx(whole.facts.warp_cycles, rel=0.01)


@pytest.mark.parametrize("name", ["rows", "rows of a stride", "stages", "shared memory"])
def test_most_rounds_are_not_executed(monkeypatch, name):
    executed = []
    arrive = SteadyLoops.arrive

    def counted(self, header, lanes):
        executed.append(header)
        return arrive(self, header, lanes)

    monkeypatch.setattr(SteadyLoops, "arrive", counted)
    found = profiled(name, 5000)

    assert len(executed) < 200
    assert found.counters["smsp__inst_executed.sum"] > 5000


COUNTED = """
    MOV R1, c[0x0][0x160]
.L_1:
    IADD3 R1, R1, -0x1, RZ
    ISETP.NE.AND P0, PT, R1, RZ, PT
    @P0 BRA `(.L_1)
    EXIT
"""


@pytest.mark.parametrize("trips", [1, 8, 20, 1000, 123_456_789, 2**31 - 1])
def test_a_counter_ends_where_it_ends(trips):
    run = executor(COUNTED, block=64, constants={0x160: trips}).run()

    assert list(run.issued) == pytest.approx([2, *[2 * trips] * 3, 2])


WIDE = """
    MOV R1, c[0x0][0x160]
    MOV R2, RZ
.L_1:
    IADD3 R1, P1, R1, 0x1, RZ
    IADD3.X R2, R2, RZ, RZ, P1, !PT
    ISETP.EQ.AND P0, PT, R2, RZ, PT
    @P0 BRA `(.L_1)
    EXIT
"""


def test_a_carry_is_not_passed_over():
    run = executor(WIDE, block=32, constants={0x160: 2**32 - 5000}).run()

    assert list(run.issued) == pytest.approx([1, 1, *[5000] * 4, 1])


GUARDED = """
    ISETP.GE.AND P0, PT, R0, 0x1, PT
.L_1:
    @P0 IADD3 R4, R0, 0x1, RZ
    @P0 LDG.E R5, [R4]
    @P0 IADD3 R6, R5, 0x1, RZ
    FADD R7, R6, R7
    IADD3 R0, R0, 0x1, RZ
    ISETP.NE.AND P1, PT, R0, 0x64, PT
    @P1 BRA `(.L_1)
    EXIT
"""


def test_what_decides_is_found_along_the_flow():
    flow = Flow(listing(GUARDED))
    found = deciding(flow)

    assert {0, 1, 5, 6} <= found.rows
    assert not {3, 4} & found.rows
    assert 4 not in found.before[1]  # written under the guard under which it is read
    (loop,) = loops_of(flow).values()
    assert (loop.header, loop.body) == (1, frozenset({1}))
