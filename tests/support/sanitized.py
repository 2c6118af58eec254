"""Kernels as people write them, right and wrong: the table that the SIMT checker is held to.

A line that ends in `// FAULT` is one of the lines that the finding must name.
"""

from tests.support.cuda_bodies import (
    ASYNC,
    ASYNC_PTX,
    GUIDE,
    GUIDED,
    HALF,
    LAST,
    LAST_BLOCK,
    LOCK,
    MMA,
    PRODUCT,
    REDUCE,
    SHUFFLE,
    STAGES,
    TILE,
    WARP_TAIL,
    correct,
    faulty,
    marked,
    without,
)

SHARED64 = "    __shared__ float s[64];\n    s[t] = x[i];\n    __syncthreads();\n"
# What compilers see, and read in between, differs by what an element is and what it is used for.
LOCAL = [
    ("bytes", "    char r[4] = {1, 2, 3, 4};\n    y[i] = r[t % 5];  // FAULT", {}),
    ("bytes that are written", "    signed char r[4] = {1, 2, 3, 4};\n    if (t % 32 == 31) r[t % 5] += 1;\n    r[t % 5 - 1] = 1;  // FAULT\n    y[i] = r[3];", {}),
    ("of shared memory", SHARED64 + "    float r[4], after[4];\n    for (int j = 0; j <= 4; ++j) r[j] = s[t];  // FAULT\n    y[i] = r[0] + (after[0] = 1);", {}),
    ("the first of shared memory", SHARED64 + "    float r[4], after[4];\n    for (int j = 0; j <= 4; ++j) r[j] = s[0];  // FAULT\n    y[i] = r[0] + (after[0] = 1);", {}),
    ("and shared memory by it", SHARED64 + "    int r[4] = {0, 1, 2, 3}, four = 4;\n    s[t] = s[t] + r[four];  // FAULT\n    y[i] = r[3];", {}),
    ("beside a row of a tile", "    __shared__ float tile[4][16];\n    float r[4] = {1, 2, 3, 4};\n    tile[0][t] = r[t / 4];  // FAULT\n    __syncthreads();\n    y[i] = tile[0][t];", {}),
    ("a row", "    int r[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}};\n    y[i] = r[0][t % 5];  // FAULT", {}),
    ("in a struct", "    R r = {{1, 2, 3}, 4};\n    y[i] = r.first[t % 4];  // FAULT", {"before": "struct R { float first[3], rest; };"}),
    ("of structs", "    float4 r[2] = {};\n    y[i] = r[t % 3].x;  // FAULT", {}),
    ("of pointers", "    const float* r[2] = {x, y};\n    y[i] = r[t % 3] == x;  // FAULT", {}),
    ("in front of it", "    float r[4] = {1, 2, 3, 4};\n    y[i] = r[0 - (t & 1)];  // FAULT", {}),
    ("in a lambda", "    float r[4] = {1, 2, 3, 4};\n    auto at = [&](int j) { return r[j]; };  // FAULT\n    y[i] = at(t % 5);", {}),
]  # fmt: skip
ODDLY = [
    ("a copy of a float4", "    float4 v = *(const float4*)(x + 1); y[i] = v.x;", {}),
    ("a float4 that is stored", "    if (i < 16) ((float4*)(y + 1))[i] = float4{1, 2, 3, 4};", {}),
    ("a float4 that is cleared", "    if (i == 0) *(float4*)(y + 2) = float4{};", {}),
    ("__ldg of a float2", "    y[i] = __ldg((const float2*)(x + 1)).x;", {}),
    ("a reference to an int4", "    const int4& v = *(const int4*)(x + 2); y[i] = v.w;", {}),
    ("an own struct", "    V v = ((const V*)(x + 1))[0]; y[i] = v.b;", {"before": "struct __align__(8) V { float a, b; };"}),
    ("a struct in a struct", "    W v = ((const W*)(x + 1))[0]; y[i] = v.v.y;", {"before": "struct W { float2 v; int n; };"}),
    ("a double", "    const double* d = (const double*)(x + 1); y[i] = d[0];", {}),
    ("a short", "    y[i] = *(const short*)((const char*)x + 1);", {}),
    ("a volatile int", "    y[i] = *(const volatile int*)((const char*)x + 1);", {}),
    ("an atomic", "    if (i == 0) atomicAdd((int*)((char*)y + 2), 1);", {}),
]  # fmt: skip
UNWRITTEN = [
    ("an element that is doubled", "    y[i] *= 2;", {"args": ("x", "raw")}),
    ("an element that is counted up", "    ++y[i];", {"args": ("x", "raw")}),
    ("a sum of itself", "    y[i] = x[i] + y[i];", {"args": ("x", "raw")}),
    ("a count in shared memory", "    __shared__ int s[64]; s[t]++; y[i] = 0;", {}),
    ("a member", "    float2* z = (float2*)y; if (i < 64) z[i].y += x[i];", {"args": ("x", "raw")}),
    ("a struct as a whole", "    float4 v = ((const float4*)y)[t]; if (v.x == 7) y[i] = 0;", {"args": ("x", "raw")}),
    ("one of two that are exchanged", "    if (i < 64) { float v = y[i]; y[i] = y[127 - i]; y[127 - i] = v; }", {"args": ("x", "raw")}),
]  # fmt: skip
PLANE = {"grid": (4, 4), "block": (16, 16), "args": ("big", "out")}
QUADS = {"grid": 1, "block": 64, "args": ("big", "y"), "before": ASYNC_PTX}
CORRECT = [
    correct("map with a guard", "    if (i < 100) y[i] = 2 * x[i];"),
    correct("grid-stride loop", "    for (int j = i; j < 256; j += gridDim.x * blockDim.x) y[j] = x[j];"),
    correct("tree reduction", REDUCE),
    correct("warp tail with __syncwarp", WARP_TAIL),
    correct("transpose through a tile", TILE, **PLANE),
    correct("tiled product", PRODUCT, **PLANE),
    correct("last block sums", LAST_BLOCK, parameters=LAST, grid=6, args=("big", "y", "raw", "one")),
    correct("last block of the programming guide", GUIDE, **GUIDED),
    correct("spin lock", LOCK, parameters="const float* x, float* y, int* lock", args=("x", "y", "one")),
    correct("histogram in shared memory", """    __shared__ int bins[16];
    if (t < 16) bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[v[i] % 16], 1);
    __syncthreads();
    if (t < 16) atomicAdd(&out[t], bins[t]);""", parameters="const int* v, int* out", args=("i", "n")),
    correct("shuffle reduction", SHUFFLE),
    correct("butterfly", "    float v = x[i];\n    for (int o = 1; o < 32; o *= 2) v += __shfl_xor_sync(~0u, v, o);\n    y[i] = v;"),
    correct("shuffle in half a warp", "    float v = x[i];\n    if (t % 32 < 16) v = __shfl_sync(0x0000ffffu, v, 3, 16);\n    y[i] = v;"),
    correct("dynamic shared memory", """    extern __shared__ float s[];
    s[t] = x[i];
    __syncthreads();
    y[i] = s[blockDim.x - 1 - t];""", shared=256),
    correct("dynamic shared memory in two parts", """    extern __shared__ __align__(16) unsigned char raw[];
    float* a = reinterpret_cast<float*>(raw);
    int* b = (int*)(a + 64);
    a[t] = x[i];
    b[t] = t;
    __syncthreads();
    y[i] = a[b[63 - t]];""", shared=512),
    correct("template helper with shared memory", "    y[i] = turned<64>(x[i]);", before="""
template <int N> __device__ float turned(float v) {
    __shared__ float s[N];
    s[threadIdx.x] = v;
    __syncthreads();
    return s[N - 1 - threadIdx.x];
}"""),
    correct("float4 loads", "    if (i < 64) reinterpret_cast<float4*>(y)[i] = reinterpret_cast<const float4*>(x)[i];"),
    correct("bytes beside bytes", "    v[i] = v[i] + 1;", parameters="unsigned char* v", args=("bytes",)),
    correct("volatile flag between blocks", """    if (t == 0 && blockIdx.x == 0) {
        y[0] = 42;
        __threadfence();
        *(volatile int*)flag = 1;
    }
    if (t == 0 && blockIdx.x == 1) {
        while (*(volatile int*)flag == 0) {}
        __threadfence();
        y[1] = y[0];
    }""", parameters="float* y, int* flag", args=("y", "one")),
    correct("look-back over blocks", """    if (t == 0) {
        float before = 0;
        if (blockIdx.x > 0) {
            while (atomicAdd(&flags[blockIdx.x - 1], 0) == 0) {}
            __threadfence();
            before = y[blockIdx.x - 1];
        }
        y[blockIdx.x] = before + x[i];
        __threadfence();
        atomicExch(&flags[blockIdx.x], 1);
    }""", parameters="const float* x, float* y, int* flags", grid=4, args=("x", "y", "n")),
    correct("asynchronous copy by PTX", ASYNC, **QUADS),
    correct("two stages of asynchronous copies", STAGES, **QUADS),
    correct("asynchronous copy by __pipeline", """    __shared__ float s[64];
    __pipeline_memcpy_async(&s[t], &x[i], sizeof(float));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    y[i] = s[t];""", before="#include <cuda_pipeline.h>"),
    correct("ldmatrix and mma", MMA, parameters="const half* x, float* y", before=HALF, grid=1, block=32, args=("half", "y")),
    correct("cooperative groups", """    auto block = cooperative_groups::this_thread_block();
    auto warp = cooperative_groups::tiled_partition<32>(block);
    __shared__ float s[64];
    s[t] = x[i];
    block.sync();
    float v = s[63 - t];
    for (int o = warp.size() / 2; o > 0; o /= 2) v += warp.shfl_down(v, o);
    if (warp.thread_rank() == 0) y[i / 32] = v;""", before="#include <cooperative_groups.h>"),
    correct("votes and matches", """    unsigned odd = __ballot_sync(~0u, t & 1), same = __match_any_sync(~0u, t / 4);
    y[i] = __popc(odd) + __popc(same) + __any_sync(~0u, t == 3) + __reduce_add_sync(~0u, t);"""),
    correct("lanes that are together", "    if (t % 3 == 0) y[i] = __popc(__activemask()) > 0;"),
    correct("__syncthreads_count", "    y[i] = __syncthreads_count(x[i] > 0) + __syncthreads_or(t == 5);"),
    correct("atomic maximum of floats", """    int* at = (int*)y;
    int old = *(volatile int*)at, seen;
    do {
        seen = old;
        if (__int_as_float(seen) >= x[i]) break;
        old = atomicCAS(at, seen, __float_as_int(x[i]));
    } while (old != seen);"""),
    correct("device variable", "    atomicAdd(&hits, 1);\n    y[i] = scale[t % 4];",
            before="__device__ int hits;\n__constant__ float scale[4] = {1, 2, 3, 4};"),
    correct("row of a tile as one array", """    __shared__ float tile[4][16];
    float* flat = &tile[0][0];
    flat[t] = x[i];
    __syncthreads();
    y[i] = tile[0][63 - t];"""),
    correct("scan of a warp in shared memory", """    __shared__ float s[64];
    s[t] = x[i];
    __syncwarp();
    for (int o = 1; o < 32; o *= 2) {
        float v = t % 32 >= o ? s[t - o] : 0.0f;
        __syncwarp();
        s[t] += v;
        __syncwarp();
    }
    y[i] = s[t];"""),
    correct("writes into memory that nobody wrote", "    y[i] = x[i];\n    y[i] += 1;", args=("x", "raw")),
    correct("local arrays", "    float r[4];\n    for (int j = 0; j < 4; ++j) r[j] = x[i] + j;\n    y[i] = r[t % 4];"),
    correct("struct with padding", """    __shared__ P s[64];
    s[t].value = x[i];
    s[t].index = t;
    __syncthreads();
    P other = s[63 - t];
    y[i] = other.value + other.index;""", before="struct P { double value; int index; };"),
    correct("warps that hand over by a volatile flag in shared memory", """    __shared__ float s[32];
    __shared__ volatile int ready;
    if (t == 0) ready = 0;
    __syncthreads();
    if (t == 0) {
        s[0] = x[i];
        __threadfence_block();
        ready = 1;
    }
    if (t == 32) {
        while (ready == 0) {}
        __threadfence_block();
        y[i] = s[0];
    }"""),
    correct("many atomics that change nothing", "    if (i == 0) for (int j = 0; j < 30000; ++j) atomicMax((int*)y, 1);"),
    correct("votes in part of a warp", "    y[i] = __ballot_sync(~0u, 1) == 0xfffffu && __all_sync(~0u, 1) && __reduce_min_sync(~0u, 5u + t) == 5;",
            block=20, grid=1),
    correct("half and bfloat16", "    y[i] = __half2float(__float2half(x[i])) + __bfloat162float(__float2bfloat16(x[i]));",
            before="#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <stdint.h> /* on\n two lines */"),
    correct("own integers, clocks, qualifiers", """    static __shared__ volatile float s[64];
    volatile __shared__ float r[64];
    alignas(16) __shared__ float q[64];
    long long begun = clock64();
    s[t] = r[t] = q[t] = x[i];
    float a[2], b[2];
    memset(a, 0, sizeof a);
    memcpy(b, a, sizeof a);
    y[i] = s[t] + r[t] + q[t] + b[0] + (clock64() < begun) + warpSize;""",
            before="typedef unsigned long long uint64_t;\n#define SIDE 4\nconst int sides = SIDE;"),
    correct("pointers and references into rows of a tile", """    __shared__ float tile[4][16];
    __shared__ double wide[4][16];
    float* p = &tile[0][t]; double* q = &wide[0][t]; double** qq = &q;
    *p = x[i]; **qq = x[i];
    __syncthreads();
    float& r = tile[0][63 - t]; const double* d = &wide[0][63 - t];
    y[i] = r + *d;"""),
    correct("row of a tile from a local array", """    __shared__ float tile[4][16];
    float r[4] = {1, 2, 3, 4};
    tile[0][t] = r[t % 4];
    __syncthreads();
    r[t % 4] = tile[0][63 - t];
    y[i] = r[t % 4];"""),
    correct("row of a tile handed to a function", """    __shared__ float tile[4][16];
    __shared__ int counts[4][16];
    counts[0][t] = 0;
    put(&tile[0][t], x[i]);
    __syncthreads();
    atomicAdd(&counts[0][63 - t], 1);
    y[i] = tile[0][63 - t];""", before="__device__ void put(float* to, float v) { float kept = v; *to = kept; }"),
    correct("bit-fields of what nobody wrote", """    __shared__ B s[64];
    s[t].low = 1;
    y[i] = s[t].low;""", before="struct B { unsigned low : 4, high : 28; };"),
    correct("structs that need no alignment", """    P v = ((const P*)(x + 1))[t];
    if (i < 32) ((P*)(y + 1))[i] = v;""", before="struct P { float x, y, z, w; };", args=("big", "out")),
    correct("copies of bytes at any address", """    char text[5];
    memcpy(text, (const char*)x + t + 1, 5);
    y[i] = text[0];"""),
    correct("reductions of cooperative groups", """    namespace cg = cooperative_groups;
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    y[i] = cg::reduce(tile, x[i], cg::plus<float>());
    if (t % 3 == 0) y[i] += cg::reduce(cg::coalesced_threads(), t, cg::greater<int>());""",
            before="#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>"),
    correct("in place", "    y[i] = y[i] * 2;", parameters="float* y", args=("y",)),
    correct("several kernels in one source", "    y[i] = x[i];", before='__global__ void other(float* y) { __shared__ float s[8]; s[0] = y[0]; }'),
    correct("one thread per row of a struct", "    P& p = rows[i];\n    p.x += p.y;", before="struct P { float x, y; };", parameters="P* rows", args=("big",)),
]  # fmt: skip
FAULTY = [
    faulty("reduction without its first barrier", "shared-race", without(REDUCE, "    __syncthreads();\n", "s[t + o]")),
    faulty("reduction without the barrier of its loop", "shared-race",
           without(REDUCE, "        __syncthreads();\n", "s[t + o]").replace("o = 32", "o = 64").replace("s[64]", "s[128]"), block=128),
    faulty("transpose without its barrier", "shared-race", without(TILE, "    __syncthreads();\n", "tile[c][r]"), **PLANE),
    faulty("product without the barrier behind the tile", "shared-race",
           marked(without(PRODUCT, "        __syncthreads();\n"), "sum +=", "a[r][c] =", "b[r][c] ="), **PLANE),
    faulty("product without the barrier before the next tile", "shared-race",
           marked(PRODUCT.replace("sum += a[r][k] * b[k][c];\n        __syncthreads();", "sum += a[r][k] * b[k][c];"), "sum +=", "a[r][c] =", "b[r][c] ="), **PLANE),
    faulty("warp tail without __syncwarp after the store", "warp-sync-missing",
           marked(WARP_TAIL.replace("            s[t] = v;\n            __syncwarp();", "            s[t] = v;"), "s[t + o]")),
    faulty("volatile warp tail", "warp-sync-missing", """    __shared__ float s[64];
    s[t] = x[i];
    __syncthreads();
    if (t < 16) {
        volatile float* v = s;
        v[t] += v[t + 16];
        v[t] += v[t + 8];  // FAULT
    }""", block=32, grid=1),
    faulty("neighbours in a warp without __syncwarp", "warp-sync-missing", """    __shared__ float s[64];
    s[t] = x[i];
    y[i] = s[t ^ 1];  // FAULT"""),
    faulty("shuffle taken for a barrier", "warp-sync-missing", """    __shared__ float s[64];
    s[t] = x[i];
    float v = __shfl_xor_sync(~0u, x[i], 1);
    y[i] = v + s[t ^ 2];  // FAULT"""),
    faulty("all threads write one result", "global-race", "    y[0] = x[i];  // FAULT"),
    faulty("blocks write the same elements", "global-race", "    y[t] = x[i];  // FAULT"),
    faulty("counting without atomics", "global-race", "    out[v[i] % 16] += 1;  // FAULT", parameters="const int* v, int* out", args=("i", "n")),
    faulty("stencil in place", "global-race", "    y[i] = y[i] + y[(i + 1) % 128];  // FAULT", parameters="float* y", args=("y",)),
    faulty("shared histogram without atomics", "shared-race", """    __shared__ int bins[16];
    if (t < 16) bins[t] = 0;
    __syncthreads();
    bins[v[i] % 16] += 1;  // FAULT
    __syncthreads();
    if (t < 16) atomicAdd(&out[t], bins[t]);""", parameters="const int* v, int* out", args=("i", "n")),
    faulty("last block without its fence", "global-race", marked(without(LAST_BLOCK, "        __threadfence();\n"), "volatile float*"),
           parameters=LAST, grid=6, args=("big", "y", "raw", "one")),
    faulty("last block of the programming guide without its fence", "global-race",
           marked(without(GUIDE, "        __threadfence();\n"), "+= result"), **GUIDED),
    faulty("last block with a fence of the block", "global-race",
           marked(LAST_BLOCK.replace("__threadfence()", "__threadfence_block()"), "volatile float*"),
           parameters=LAST, grid=6, args=("big", "y", "raw", "one")),
    faulty("lock without fences", "global-race", marked(LOCK.replace("        __threadfence();\n", ""), "y[0] +="),
           parameters="const float* x, float* y, int* lock", args=("x", "y", "one")),
    faulty("plain read of a counter", "global-race", "    atomicAdd(out, 1);\n    v[i] = *out;  // FAULT", parameters="int* v, int* out", args=("n", "one")),
    faulty("barrier in half of a block", "barrier-divergence", "    if (t < 32) __syncthreads();  // FAULT\n    y[i] = x[i];"),
    faulty("return before a barrier", "barrier-divergence", "    if (i >= 100) return;\n    __shared__ float s[64];\n    s[t] = x[i];\n    __syncthreads();  // FAULT\n    y[i] = s[t];"),
    faulty("barriers on both sides of a branch", "barrier-divergence", "    if (x[i] > 0) {\n        __syncthreads();  // FAULT\n    } else {\n        __syncthreads();  // FAULT\n    }"),
    faulty("barrier in a loop of different lengths", "barrier-divergence", "    for (int j = 0; j < t % 3; ++j) __syncthreads();  // FAULT\n    y[i] = x[i];"),
    faulty("__syncwarp without one lane", "barrier-divergence", "    if (t % 32 != 7) __syncwarp();  // FAULT\n    y[i] = x[i];"),
    faulty("a flag that nobody sets", "barrier-divergence", "    if (t == 0) while (*(volatile float*)y == 0) {}  // FAULT"),
    faulty("no guard", "out-of-bounds", "    y[i] = x[i];  // FAULT", grid=5),
    faulty("one element in front", "out-of-bounds", "    y[i] = x[i - 1];  // FAULT"),
    faulty("<= in the guard", "out-of-bounds", "    for (int j = i; j <= 256; j += 128) y[j] = x[j % 256];  // FAULT"),
    faulty("far away", "out-of-bounds", "    y[i] = x[(long long)i << 32];  // FAULT"),
    faulty("end of a shared array", "out-of-bounds", "    __shared__ float s[63];\n    __shared__ float other[64];\n    other[t] = 0;\n    float* p = s;\n    p[t] = x[i];  // FAULT"),
    faulty("too little dynamic shared memory", "out-of-bounds", "    extern __shared__ float s[];\n    s[t] = x[i];  // FAULT", shared=64),
    faulty("end of a local array", "out-of-bounds", "    float r[4];\n    for (int j = 0; j <= 4; ++j) r[j] = x[i];  // FAULT\n    y[i] = r[0];"),
    *(faulty(f"end of a local array: {what}", "out-of-bounds", body, **more) for what, body, more in LOCAL),
    faulty("array of the same declaration", "out-of-bounds", "    __shared__ float r[64], s[64], u[64];\n    r[t] = u[t] = x[i];\n    s[t + 1] = x[i];  // FAULT\n    y[i] = r[t] + u[t];"),
    faulty("end of an array of half", "out-of-bounds", "    __shared__ half a[64], b[64];\n    a[t] = x[i];\n    b[t + 1] = x[i];  // FAULT\n    y[i] = a[t];", before=HALF),
    *(faulty(f"misaligned: {what}", "misaligned", body + "  // FAULT", **more) for what, body, more in ODDLY),
    *(faulty(f"unwritten: {what}", "uninitialised", body + "  // FAULT", **more) for what, body, more in UNWRITTEN),
    faulty("lanes that a reduction of a group waits for", "shuffle-mask", """    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    if (t % 32 < 20) y[i] = cg::reduce(warp, x[i], cg::plus<float>());  // FAULT""",
           before="#include <cooperative_groups/reduce.h>\nnamespace cg = cooperative_groups;"),
    faulty("float4 of an odd pointer", "misaligned", "    y[i] = reinterpret_cast<const float4*>(x + 1)[t / 4].x;  // FAULT"),
    faulty("float2 of a slice", "misaligned", "    y[i] = reinterpret_cast<const float2*>(x)[t].y;  // FAULT", args=("odd", "y")),
    faulty("misaligned asynchronous copy", "misaligned", ASYNC.replace("x + 4 * t", "x + 4 * t + 1"),
           before=ASYNC_PTX.replace('"l"(from));', '"l"(from));  // FAULT'), grid=1, args=("big", "y")),
    faulty("halo that nobody loads", "uninitialised", "    __shared__ float s[66];\n    s[t + 1] = x[i];\n    __syncthreads();\n    y[i] = s[t] + s[t + 2];  // FAULT"),
    faulty("sum into memory that nobody cleared", "uninitialised", "    y[i] += x[i];  // FAULT", args=("x", "raw")),
    faulty("atomic on memory that nobody cleared", "uninitialised", "    atomicAdd(&y[t % 4], x[i]);  // FAULT", args=("x", "raw")),
    faulty("a tile that is loaded in part", "uninitialised", "    __shared__ float s[64];\n    if (i < 100) s[t] = x[i];\n    __syncthreads();\n    y[i] = s[t];  // FAULT"),
    faulty("no wait for an asynchronous copy", "async-wait-missing", marked(without(ASYNC, '    asm volatile("cp.async.wait_group 0;\\n" ::);\n'), "255 - t"), **QUADS),
    faulty("wait for too few groups", "async-wait-missing", marked(STAGES.replace('"n"(1)', '"n"(2)'), "255 - t"),
           **{**QUADS, "before": marked(ASYNC_PTX, "asm volatile")}),
    faulty("no wait for __pipeline", "async-wait-missing", "    __shared__ float s[64];\n    __pipeline_memcpy_async(&s[t], &x[i], 4);\n    __pipeline_commit();\n    y[i] = s[t];  // FAULT"),
    faulty("asynchronous copy without a barrier", "shared-race", marked(without(ASYNC, "    __syncthreads();\n"), "255 - t"), **QUADS),
    faulty("full mask in a branch", "shuffle-mask", "    float v = x[i];\n    if (t % 32 < 16) v += __shfl_down_sync(0xffffffffu, v, 8);  // FAULT\n    y[i] = v;"),
    faulty("source lane outside the mask", "shuffle-mask", "    float v = x[i];\n    if (t % 32 < 16) v = __shfl_sync(0x0000ffffu, v, 20);  // FAULT\n    y[i] = v;"),
    faulty("a lane that its own mask leaves out", "shuffle-mask", "    y[i] = __shfl_sync(0x0000ffffu, x[i], 0);  // FAULT"),
    faulty("reduction over half a warp", "shuffle-mask", "    float v = x[i];\n    for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(~0u, v, o);  // FAULT\n    y[i] = v;", block=20, grid=1),
    faulty("two barriers on one line", "barrier-divergence", "    if (t & 1) __syncthreads(); else __syncthreads();  // FAULT"),
    faulty("two shuffles on one line", "shuffle-mask", "    int v = t % 32 < 16 ? __shfl_sync(~0u, t, 0) : __shfl_sync(~0u, t, 1);  // FAULT\n    y[i] = v;"),
    faulty("a plain flag that is waited for", "global-race", """    volatile int* ready = (volatile int*)y;
    if (t == 0) while (*(int*)y == 0) {}  // FAULT
    if (t == 32) *(int*)y = 1;  // FAULT
    if (t == 64) *ready = 0;""", grid=1),
    faulty("lanes that returned", "shuffle-mask", "    if (t % 32 > 20) return;\n    y[i] = __ballot_sync(0xffffffffu, x[i] > 0);  // FAULT"),
]  # fmt: skip
