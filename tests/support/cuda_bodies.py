"""Bodies of kernels as people write them, and how a case of the SIMT checker is made of one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import opweave as ow


@dataclass(frozen=True)
class Case:
    """One kernel called `k`: a launch, its arguments by name, and the kinds of its findings."""

    name: str
    source: str
    grid: object = 2
    block: object = 64
    args: tuple = ("x", "y")
    kinds: frozenset = frozenset()
    shared: int = 0

    def arguments(self):
        return [ARGUMENTS[a]() if isinstance(a, str) else a for a in self.args]

    @property
    def fault_lines(self):
        lines = self.source.split("\n")
        return {n for n, line in enumerate(lines, 1) if line.rstrip().endswith("// FAULT")}


def floats(count):
    return np.random.default_rng(count).standard_normal(count).astype(np.float32)


ARGUMENTS = {
    "x": lambda: floats(256),
    "y": lambda: np.zeros(256, np.float32),
    "raw": lambda: ow.uninitialised(256, np.float32),
    "i": lambda: np.arange(256, dtype=np.int32) * 7 % 256,
    "n": lambda: np.zeros(256, np.int32),
    "one": lambda: np.zeros(1, np.int32),
    "half": lambda: floats(1024).astype(np.float16),
    "bytes": lambda: np.arange(256, dtype=np.uint8),
    "big": lambda: floats(4096),
    "out": lambda: np.zeros(4096, np.float32),
    "odd": lambda: floats(257)[1:],
}
INDEX = "const int t = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;"


def kernel(body, parameters="const float* x, float* y", before="", name="k"):
    return (
        f'{before}\nextern "C" __global__ void {name}({parameters}) {{\n    {INDEX}\n{body}\n}}\n'
    )


REDUCE = """    __shared__ float s[64];
    s[t] = x[i];
    __syncthreads();
    for (int o = 32; o > 0; o /= 2) {
        if (t < o) s[t] += s[t + o];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = s[0];"""
WARP_TAIL = """    __shared__ float s[64];
    s[t] = x[i];
    __syncthreads();
    if (t < 32) {
        float v = s[t] + s[t + 32];
        __syncwarp();
        for (int o = 16; o > 0; o /= 2) {
            s[t] = v;
            __syncwarp();
            v += t < o ? s[t + o] : 0.0f;
            __syncwarp();
        }
        if (t == 0) y[blockIdx.x] = v;
    }"""
TILE = """    __shared__ float tile[16][17];
    const int r = threadIdx.y, c = threadIdx.x;
    tile[r][c] = x[(blockIdx.y * 16 + r) * 64 + blockIdx.x * 16 + c];
    __syncthreads();
    y[(blockIdx.x * 16 + r) * 64 + blockIdx.y * 16 + c] = tile[c][r];"""
PRODUCT = """    __shared__ float a[16][16], b[16][16];
    const int r = threadIdx.y, c = threadIdx.x, row = blockIdx.y * 16 + r, col = blockIdx.x * 16 + c;
    float sum = 0;
    for (int k0 = 0; k0 < 64; k0 += 16) {
        a[r][c] = x[row * 64 + k0 + c];
        b[r][c] = x[(k0 + r) * 64 + col];
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += a[r][k] * b[k][c];
        __syncthreads();
    }
    y[row * 64 + col] = sum;"""
LAST_BLOCK = """    __shared__ bool last;
    if (t == 0) part[blockIdx.x] = x[i] + blockIdx.x;
    if (t == 0) {
        __threadfence();
        last = atomicAdd(counter, 1) == (int)gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        float sum = 0;
        for (int b = 0; b < gridDim.x; ++b) sum += ((volatile float*)part)[b];
        y[0] = sum;
        *counter = 0;
    }"""
LAST = "const float* x, float* y, float* part, int* counter"
LOCK = """    if (t == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {}
        __threadfence();
        y[0] += x[i];
        __threadfence();
        atomicExch(lock, 0);
    }"""
# The example of the CUDA C++ Programming Guide, "Memory Fence Functions".
GUIDE = """    if (t == 0) {
        result[blockIdx.x] = x[i];
        __threadfence();
        last = atomicInc(&count, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        float sum = 0;
        for (int b = t; b < gridDim.x; b += blockDim.x) sum += result[b];
        for (int o = 16; o > 0; o /= 2) sum += __shfl_down_sync(~0u, sum, o);
        if (t == 0) {
            result[0] = sum;
            count = 0;
        }
    }"""
GUIDED = {
    "parameters": "const float* x, volatile float* result",
    "grid": 6,
    "block": 32,
    "args": ("big", "raw"),
    "before": "__device__ unsigned int count = 0;\n__shared__ bool last;",
}
ASYNC_PTX = """
__device__ __forceinline__ void copy16(void* to, const void* from) {
    unsigned at = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\\n" :: "r"(at), "l"(from));
}
"""
ASYNC = """    __shared__ __align__(16) float s[256];
    copy16(&s[4 * t], x + 4 * t);
    asm volatile("cp.async.commit_group;\\n" ::);
    asm volatile("cp.async.wait_group 0;\\n" ::);
    __syncthreads();
    y[t] = s[255 - t];"""
STAGES = """    __shared__ __align__(16) float s[2][256];
    copy16(&s[0][4 * t], x + 4 * t);
    asm volatile("cp.async.commit_group;");
    float sum = 0;
    for (int stage = 0; stage < 4; ++stage) {
        if (stage < 3) copy16(&s[(stage + 1) % 2][4 * t], x + 256 * (stage + 1) + 4 * t);
        asm volatile("cp.async.commit_group;");
        asm volatile("cp.async.wait_group %0;" :: "n"(1));
        __syncthreads();
        sum += s[stage % 2][255 - t];
        __syncthreads();
    }
    y[t] = sum;"""
MMA = r"""    __shared__ __align__(16) half a[16 * 16], b[16 * 8];
    for (int e = t; e < 256; e += 32) a[e] = x[e];
    for (int e = t; e < 128; e += 32) b[e] = x[256 + e];
    __syncwarp();
    unsigned fa[4], fb[2];
    float d[4] = {0, 0, 0, 0};
    unsigned pa = (unsigned)__cvta_generic_to_shared(a + t % 16 * 16 + t / 16 * 8);
    unsigned pb = (unsigned)__cvta_generic_to_shared(b + t % 16 * 8);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3]) : "r"(pa));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                 : "=r"(fb[0]), "=r"(fb[1]) : "r"(pb));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
    for (int n = 0; n < 4; ++n) y[(t / 4 + n / 2 * 8) * 8 + t % 4 * 2 + n % 2] = d[n];"""
SHUFFLE = """    float v = x[i];
    for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(0xffffffffu, v, o);
    if (t % 32 == 0) y[i / 32] = v;"""
HALF = "#include <cuda_fp16.h>\n"


def correct(name, body, **more):
    parameters = more.pop("parameters", "const float* x, float* y")
    return Case(name, kernel(body, parameters, more.pop("before", "")), **more)


def faulty(name, kinds, body, **more):
    parameters = more.pop("parameters", "const float* x, float* y")
    kinds = frozenset(kinds.split())
    return Case(name, kernel(body, parameters, more.pop("before", "")), kinds=kinds, **more)


def without(text, part, mark=None):
    """The text with its first `part` taken out, and a line marked as the faulty one."""
    assert part in text
    made = text.replace(part, "", 1)
    return marked(made, mark) if mark else made


def marked(text, *marks):
    lines = text.split("\n")
    for mark in marks:
        at = next(n for n, line in enumerate(lines) if mark in line)
        lines[at] += "  // FAULT"
    return "\n".join(lines)
