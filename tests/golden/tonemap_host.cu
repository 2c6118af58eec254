// tonemap_map_f32
// fused: multiply, add, divide, power
// img: f32[n0, n1, n2] -> out: f32[n0, n1, n2]
// elements n0 * n1 * n2; template map.cu.j2, target host
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     0    // loads and stores of up to 16 bytes at once
#define BLOCK             1    // threads in a block
#define VECTOR            128  // consecutive elements of one access
#define CHUNKS            1    // accesses of one thread, all issued before the first use
#include "opweave.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
tonemap_map_f32(
    const float* __restrict__ img,
    const float exposure,
    const float s1,  // s1 = 1 / gamma
    float* __restrict__ out,
    const index_t cols)
{
    // index: each thread takes chunks of consecutive elements, a block apart
    const index_t first = ((index_t)blockIdx.x * (CHUNKS * BLOCK) + threadIdx.x) * VECTOR;

    // load: all chunks before the first use; the guard is cols - j0
    Chunk<float, VECTOR> img_v[CHUNKS];
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
        const index_t j0 = first + c * (BLOCK * VECTOR);
        load_chunk(img_v[c], img + j0, cols - j0);
    }

    float out_v[CHUNKS][VECTOR];
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
#pragma unroll
        for (int l = 0; l < VECTOR; ++l) {
            const float v0 = img_v[c][l] * exposure;  // multiply: f32[n0, n1, n2], line 2
            const float v1 = 1.0f + v0;  // add: f32[n0, n1, n2], line 3
            const float v2 = v0 / v1;  // divide: f32[n0, n1, n2], line 3
            const float v3 = pow(v2, s1);  // power: f32[n0, n1, n2], line 3
            out_v[c][l] = v3;
        }
    }

    // store
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
        const index_t j0 = first + c * (BLOCK * VECTOR);
        store_chunk(out + j0, out_v[c], cols - j0);
    }
}
