// corners_pixel_f32
// fused: coordinate, equal, where, where, multiply, subtract, equal, where, where, multiply, add, subtract,
//   less, where
// boxes: f32[n0, 4] -> out: f32[n0, 4]
// a pixel has 4 channels
// pixels n0; template pixel.cu.j2, target sm_90a
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     1    // loads and stores of up to 16 bytes at once
#define BLOCK             256  // threads in a block
#define VECTOR            4    // consecutive pixels of one access
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
            int v0[CHANNELS]; EACH_CHANNEL v0[h] = h;  // coordinate: i32[4], line 3
            bool v1[CHANNELS]; EACH_CHANNEL v1[h] = v0[h] == 0;  // equal: b1[4]
            float v2[CHANNELS]; EACH_CHANNEL v2[h] = v1[h] ? boxes_p[0] : boxes_p[1];  // where: f32[n0, 4]
            float v3[CHANNELS]; EACH_CHANNEL v3[h] = v1[h] ? boxes_p[2] : boxes_p[3];  // where: f32[n0, 4]
            float v4[CHANNELS]; EACH_CHANNEL v4[h] = v3[h] * 0.5f;  // multiply: f32[n0, 4], line 2
            float v5[CHANNELS]; EACH_CHANNEL v5[h] = v2[h] - v4[h];  // subtract: f32[n0, 4], line 3
            bool v6[CHANNELS]; EACH_CHANNEL v6[h] = v0[h] == 2;  // equal: b1[4]
            float v7[CHANNELS]; EACH_CHANNEL v7[h] = v6[h] ? boxes_p[0] : boxes_p[1];  // where: f32[n0, 4]
            float v8[CHANNELS]; EACH_CHANNEL v8[h] = v6[h] ? boxes_p[2] : boxes_p[3];  // where: f32[n0, 4]
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
