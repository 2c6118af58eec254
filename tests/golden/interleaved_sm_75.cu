// interleaved_pixel_u8
// fused: add, coordinate, equal, where, equal, where
// x_view: u8[n3, 1], y_view: u8[n3, 1] -> out: u8[n3, 3]
// a pixel has 3 channels
// pixels n3; template pixel.cu.j2, target sm_75
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     1    // loads and stores of up to 16 bytes at once
#define BLOCK             256  // threads in a block
#define VECTOR            4    // consecutive pixels of one access
#define CHUNKS            1    // accesses of one thread, all issued before the first use
#include "opweave.cuh"

#define CHANNELS 3

extern "C" __global__ void __launch_bounds__(BLOCK)
interleaved_pixel_u8(
    const uint8* __restrict__ x_view,
    const uint8* __restrict__ y_view,
    uint8* __restrict__ out,
    const index_t cols)
{
    // index: each thread takes chunks of consecutive pixels, a block apart
    const index_t first = ((index_t)blockIdx.x * (CHUNKS * BLOCK) + threadIdx.x) * VECTOR;

    // load: all chunks before the first use; the guard is cols - j0
    uint8 x_view_v[CHUNKS][VECTOR];
    uint8 y_view_v[CHUNKS][VECTOR];
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
        const index_t j0 = first + c * (BLOCK * VECTOR);
        load_chunk(x_view_v[c], x_view + j0, cols - j0);
        load_chunk(y_view_v[c], y_view + j0, cols - j0);
    }

    uint8 out_v[CHUNKS][CHANNELS][VECTOR];
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
#pragma unroll
        for (int l = 0; l < VECTOR; ++l) {
            const uint8 v0 = x_view_v[c][l] + y_view_v[c][l];  // add: u8[n3, 1], line 3
            int v1[CHANNELS]; EACH_CHANNEL v1[h] = h;  // coordinate: i32[3], line 3
            bool v2[CHANNELS]; EACH_CHANNEL v2[h] = v1[h] == 1;  // equal: b1[3], line 3
            uint8 v3[CHANNELS]; EACH_CHANNEL v3[h] = v2[h] ? y_view_v[c][l] : x_view_v[c][l];  // where: u8[n3, 3], line 3
            bool v4[CHANNELS]; EACH_CHANNEL v4[h] = v1[h] == 2;  // equal: b1[3], line 3
            uint8 v5[CHANNELS]; EACH_CHANNEL v5[h] = v4[h] ? v0 : v3[h];  // where: u8[n3, 3], line 3
            EACH_CHANNEL out_v[c][h][l] = v5[h];
        }
    }

    // store
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
        const index_t j0 = first + c * (BLOCK * VECTOR);
        store_pixels(out + CHANNELS * (j0), out_v[c], cols - j0);
    }
}
