// corners_pixel_f32
// fused: multiply, subtract, multiply, subtract, coordinate, equal, where, add, add, equal, where, subtract,
//   less, where
// boxes: f32[n0, 4] -> out: f32[n0, 4]
// a pixel has 4 channels
// pixels n0; template pixel.cu.j2, target sm_90a
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     1    // loads and stores of up to 16 bytes at once
#define BLOCK             256  // threads in a block
#define VECTOR            1    // consecutive pixels of one access
#define CHUNKS            1    // accesses of one thread, all issued before the first use
#include "opweave.cuh"

#define CHANNELS 4

extern "C" __global__ void __launch_bounds__(BLOCK)
corners_pixel_f32(
    const float* __restrict__ boxes,
    float* __restrict__ out,
    const index_t cols)
{
    // index: each thread takes chunks of consecutive pixels, a block apart
    const index_t first = ((index_t)blockIdx.x * (CHUNKS * BLOCK) + threadIdx.x) * VECTOR;

    // load: all chunks before the first use; the guard is cols - j0
    float boxes_v[CHUNKS][CHANNELS][VECTOR];
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
        const index_t j0 = first + c * (BLOCK * VECTOR);
        load_pixels(boxes_v[c], boxes + CHANNELS * (j0), cols - j0);
    }

    float out_v[CHUNKS][CHANNELS][VECTOR];
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
#pragma unroll
        for (int l = 0; l < VECTOR; ++l) {
            float boxes_p[CHANNELS]; EACH_CHANNEL boxes_p[h] = boxes_v[c][h][l];
            const float v0 = boxes_p[2] * 0.5f;  // multiply: f32[n0, 1], line 2
            const float v1 = boxes_p[0] - v0;  // subtract: f32[n0, 1], line 3
            const float v2 = boxes_p[3] * 0.5f;  // multiply: f32[n0, 1], line 2
            const float v3 = boxes_p[1] - v2;  // subtract: f32[n0, 1], line 3
            int v4[CHANNELS]; EACH_CHANNEL v4[h] = h;  // coordinate: i32[4], line 3
            bool v5[CHANNELS]; EACH_CHANNEL v5[h] = v4[h] == 0;  // equal: b1[4], line 3
            float v6[CHANNELS]; EACH_CHANNEL v6[h] = v5[h] ? v1 : v3;  // where: f32[n0, 4], line 3
            const float v7 = boxes_p[0] + v0;  // add: f32[n0, 1], line 3
            const float v8 = boxes_p[1] + v2;  // add: f32[n0, 1], line 3
            bool v9[CHANNELS]; EACH_CHANNEL v9[h] = v4[h] == 2;  // equal: b1[4], line 3
            float v10[CHANNELS]; EACH_CHANNEL v10[h] = v9[h] ? v7 : v8;  // where: f32[n0, 4], line 3
            int v11[CHANNELS]; EACH_CHANNEL v11[h] = wrap_sub(v4[h], 2);  // subtract: i32[4], line 3
            bool v12[CHANNELS]; EACH_CHANNEL v12[h] = v11[h] < 0;  // less: b1[4], line 3
            float v13[CHANNELS]; EACH_CHANNEL v13[h] = v12[h] ? v6[h] : v10[h];  // where: f32[n0, 4], line 3
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
