// outer_sum_map_f32
// fused: add
// x: f32[n0, 1, n2], y: f32[1, n4, n2] -> out: f32[n0, n4, n2]
// elements n0 * n4 * n2; template map.cu.j2, target sm_80
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     1    // loads and stores of up to 16 bytes at once
#define BLOCK             256  // threads in a block
#define VECTOR            1    // consecutive elements of one access
#define CHUNKS            1    // accesses of one thread, all issued before the first use
#include "opweave.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
outer_sum_map_f32(
    const float* __restrict__ x,
    const float* __restrict__ y,
    float* __restrict__ out,
    const index_t cols,
    const index_t n4,
    const index_t n2,
    const index_t x_s0,
    const index_t y_s1)
{
    // index: each thread takes chunks of consecutive elements, a block apart
    const index_t first = ((index_t)blockIdx.x * (CHUNKS * BLOCK) + threadIdx.x) * VECTOR;

    // load: all chunks before the first use; the guard is cols - j0, where one is not whole
    float x_v[CHUNKS][VECTOR];
    float y_v[CHUNKS][VECTOR];
    const auto load_chunks = [&](const auto whole) {
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c) {
            const index_t j0 = first + c * (BLOCK * VECTOR), edge = whole ? j0 + VECTOR : cols;
#pragma unroll
            for (int l = 0; l < VECTOR; ++l) {
                const index_t j = j0 + l;
                x_v[c][l] = j < edge ? load(x + (j / n2 / n4) * x_s0 + j % n2) : 0;
            }
#pragma unroll
            for (int l = 0; l < VECTOR; ++l) {
                const index_t j = j0 + l;
                y_v[c][l] = j < edge ? load(y + (j / n2 % n4) * y_s1 + j % n2) : 0;
            }
        }
    };
    if (first + ((CHUNKS - 1) * BLOCK + 1) * VECTOR <= cols) load_chunks(Constant<1>());
    else load_chunks(Constant<0>());

#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
        const index_t j0 = first + c * (BLOCK * VECTOR);
        float out_v[VECTOR];
#pragma unroll
        for (int l = 0; l < VECTOR; ++l) {
            const float v0 = x_v[c][l] + y_v[c][l];  // add: f32[n0, n4, n2], line 2
            out_v[l] = v0;
        }
        store_chunk(out + j0, out_v, cols - j0);
    }
}
