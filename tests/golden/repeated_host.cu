// waves_map_f32
// fused: multiply, subtract, multiply, add
// u: f32[n1], v: f32[n1] -> out0: f32[n1], out1: f32[n1]
// elements n1; template map.cu.j2, target host
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     0    // loads and stores of up to 16 bytes at once
#define BLOCK             1    // threads in a block
#define VECTOR            128  // consecutive elements of one access
#define CHUNKS            1    // accesses of one thread, all issued before the first use
#include "opweave.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
waves_map_f32(
    const float* __restrict__ u,
    const float* __restrict__ v,
    const float dt,
    float* __restrict__ out0,
    float* __restrict__ out1,
    const index_t cols,
    const int turns)
{
    // index: each thread takes chunks of consecutive elements, a block apart
    const index_t first = ((index_t)blockIdx.x * (CHUNKS * BLOCK) + threadIdx.x) * VECTOR;

    // load: all chunks before the first use; the guard is cols - j0
    float u_v[CHUNKS][VECTOR];
    float v_v[CHUNKS][VECTOR];
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
        const index_t j0 = first + c * (BLOCK * VECTOR);
        load_chunk(u_v[c], u + j0, cols - j0);
        load_chunk(v_v[c], v + j0, cols - j0);
    }

    float out0_v[CHUNKS][VECTOR];
    float out1_v[CHUNKS][VECTOR];
    // repeat: results are the next turn's operands
    for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c) {
#pragma unroll
            for (int l = 0; l < VECTOR; ++l) {
                const float v0 = u_v[c][l] * dt;  // multiply: f32[n1], line 2
                const float v1 = v_v[c][l] - v0;  // subtract: f32[n1], line 2
                const float v2 = v1 * dt;  // multiply: f32[n1], line 3
                const float v3 = u_v[c][l] + v2;  // add: f32[n1], line 3
                out0_v[c][l] = v1;
                out1_v[c][l] = v3;
            }
        }
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c) {
#pragma unroll
            for (int l = 0; l < VECTOR; ++l) {
                u_v[c][l] = out1_v[c][l];
                v_v[c][l] = out0_v[c][l];
            }
        }
    }

    // store
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
        const index_t j0 = first + c * (BLOCK * VECTOR);
        store_chunk(out0 + j0, out0_v[c], cols - j0);
        store_chunk(out1 + j0, out1_v[c], cols - j0);
    }
}
