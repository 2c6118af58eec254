// corners_pixel_f32
// fused: coordinate, equal, where, where, multiply, subtract, equal, where, where, multiply, add, subtract,
//   less, where
// boxes_0_0: f32[n0, 1], boxes_0_1: f32[n0, 1], boxes_0_2: f32[n0, 1], boxes_0_3: f32[n0, 1] -> out: f32[n0, 4]
// a pixel has 4 channels
// pixels n0; template pixel.cu.j2, target host
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     0    // loads and stores of up to 16 bytes at once
#define BLOCK             1    // threads in a block
#define VECTOR            64   // consecutive pixels of one access
#define CHUNKS            1    // accesses of one thread, all issued before the first use
#include "opweave.cuh"

#define CHANNELS 4

extern "C" __global__ void __launch_bounds__(BLOCK)
corners_pixel_f32(
    const float* __restrict__ boxes_0_0,
    const float* __restrict__ boxes_0_1,
    const float* __restrict__ boxes_0_2,
    const float* __restrict__ boxes_0_3,
    float* __restrict__ out,
    const index_t cols,
    const index_t boxes_s0)
{
    // index: each thread takes chunks of consecutive pixels, a block apart
    const index_t first = ((index_t)blockIdx.x * (CHUNKS * BLOCK) + threadIdx.x) * VECTOR;

    // load: all chunks before the first use; the guard is cols - j0
    float boxes_0_0_v[CHUNKS][VECTOR];
    float boxes_0_1_v[CHUNKS][VECTOR];
    float boxes_0_2_v[CHUNKS][VECTOR];
    float boxes_0_3_v[CHUNKS][VECTOR];
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
        const index_t j0 = first + c * (BLOCK * VECTOR);
        load_strided(boxes_0_0_v[c], boxes_0_0 + j0 * boxes_s0, boxes_s0, cols - j0);
        load_strided(boxes_0_1_v[c], boxes_0_1 + j0 * boxes_s0, boxes_s0, cols - j0);
        load_strided(boxes_0_2_v[c], boxes_0_2 + j0 * boxes_s0, boxes_s0, cols - j0);
        load_strided(boxes_0_3_v[c], boxes_0_3 + j0 * boxes_s0, boxes_s0, cols - j0);
    }

    float out_v[CHUNKS][CHANNELS][VECTOR];
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
#pragma unroll
        for (int l = 0; l < VECTOR; ++l) {
            int v0[CHANNELS]; EACH_CHANNEL v0[h] = h;  // coordinate: i32[4], line 3
            bool v1[CHANNELS]; EACH_CHANNEL v1[h] = v0[h] == 0;  // equal: b1[4]
            float v2[CHANNELS]; EACH_CHANNEL v2[h] = v1[h] ? boxes_0_0_v[c][l] : boxes_0_1_v[c][l];  // where: f32[n0, 4]
            float v3[CHANNELS]; EACH_CHANNEL v3[h] = v1[h] ? boxes_0_2_v[c][l] : boxes_0_3_v[c][l];  // where: f32[n0, 4]
            float v4[CHANNELS]; EACH_CHANNEL v4[h] = v3[h] * 0.5f;  // multiply: f32[n0, 4], line 2
            float v5[CHANNELS]; EACH_CHANNEL v5[h] = v2[h] - v4[h];  // subtract: f32[n0, 4], line 3
            bool v6[CHANNELS]; EACH_CHANNEL v6[h] = v0[h] == 2;  // equal: b1[4]
            float v7[CHANNELS]; EACH_CHANNEL v7[h] = v6[h] ? boxes_0_0_v[c][l] : boxes_0_1_v[c][l];  // where: f32[n0, 4]
            float v8[CHANNELS]; EACH_CHANNEL v8[h] = v6[h] ? boxes_0_2_v[c][l] : boxes_0_3_v[c][l];  // where: f32[n0, 4]
            float v9[CHANNELS]; EACH_CHANNEL v9[h] = v8[h] * 0.5f;  // multiply: f32[n0, 4], line 2
            float v10[CHANNELS]; EACH_CHANNEL v10[h] = v7[h] + v9[h];  // add: f32[n0, 4], line 3
            int v11[CHANNELS]; EACH_CHANNEL v11[h] = wrap_sub(v0[h], 2);  // subtract: i32[4], line 3
            bool v12[CHANNELS]; EACH_CHANNEL v12[h] = v11[h] < 0;  // less: b1[4], line 3
            float v13[CHANNELS]; EACH_CHANNEL v13[h] = v12[h] ? v5[h] : v10[h];  // where: f32[n0, 4], line 3
            EACH_CHANNEL out_v[c][h][l] = v13[h];
        }
    }

    // store
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
        const index_t j0 = first + c * (BLOCK * VECTOR);
        store_pixels(out + CHANNELS * (j0), out_v[c], cols - j0);
    }
}
