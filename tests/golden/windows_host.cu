// laplacian_map_f32
// fused: coordinate, subtract, less, add, where, coordinate, gather_2d, subtract, less, add, where, gather_2d,
//   add, subtract, add, gather_2d, gather_2d, less, where, add, subtract, add, gather_2d, gather_2d, less, where,
//   add, multiply, subtract
// x: f32[n0, n1] -> out: f32[n0, n1]
// rows n0, columns n1; template map.cu.j2, target host
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     0    // loads and stores of up to 16 bytes at once
#define BLOCK             1    // threads in a block
#define VECTOR            64   // consecutive elements of one access
#define CHUNKS            1    // accesses of one thread, all issued before the first use
#include "opweave.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
laplacian_map_f32(
    const float* __restrict__ x,
    const int s0,  // s0 = 1 % max(n0, 1)
    const int s1,  // s1 = n0
    const int s2,  // s2 = -1 % max(n0, 1)
    const int s3,  // s3 = -1 % max(n1, 1)
    const int s4,  // s4 = n1
    const int s5,  // s5 = 1 % max(n1, 1)
    float* __restrict__ out,
    const index_t rows,
    const index_t cols,
    const index_t n0,
    const index_t n1,
    const index_t x_s0)
{
    // index: each thread takes chunks of consecutive elements, a block apart
    const index_t row = blockIdx.x;
    const index_t first = (index_t)blockIdx.y * (CHUNKS * VECTOR);
    const int v0 = row;  // coordinate: i32[n0, 1], line 2
    const int v1 = wrap_sub(v0, s0);  // subtract: i32[n0, 1], line 2
    const bool v2 = v1 < 0;  // less: b1[n0, 1], line 2
    const int v3 = wrap_add(v1, s1);  // add: i32[n0, 1], line 2
    const int v4 = v2 ? v3 : v1;  // where: i32[n0, 1], line 2
    const int v5 = wrap_sub(v0, s2);  // subtract: i32[n0, 1], line 2
    const bool v6 = v5 < 0;  // less: b1[n0, 1], line 2
    const int v7 = wrap_add(v5, s1);  // add: i32[n0, 1], line 2
    const int v8 = v6 ? v7 : v5;  // where: i32[n0, 1], line 2

    // load: all chunks before the first use; the guard is cols - j0
    Chunk<float, VECTOR> x_v[CHUNKS];
    Chunk<float, VECTOR> window7[CHUNKS];
    Chunk<float, VECTOR> window6[CHUNKS];
    Chunk<float, VECTOR> window3[CHUNKS];
    Chunk<float, VECTOR> window4[CHUNKS];
    Chunk<float, VECTOR> window0[CHUNKS];
    Chunk<float, VECTOR> window1[CHUNKS];
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
        const index_t j0 = whole_from<VECTOR>(first + c * VECTOR, cols);
        load_chunk(x_v[c], x + row * cols + j0, cols - j0);
        load_window(window7[c], x + (index_t)v4 * x_s0, 1, is_inside(v4, n0) ? n1 : 0, j0);
        load_window(window6[c], x + (index_t)v8 * x_s0, 1, is_inside(v8, n0) ? n1 : 0, j0);
        load_window(window3[c], x + (index_t)v0 * x_s0, 1, is_inside(v0, n0) ? n1 : 0, j0 - s5 + s4);
        load_window(window4[c], x + (index_t)v0 * x_s0, 1, is_inside(v0, n0) ? n1 : 0, j0 - s5);
        load_window(window0[c], x + (index_t)v0 * x_s0, 1, is_inside(v0, n0) ? n1 : 0, j0 - s3 + s4);
        load_window(window1[c], x + (index_t)v0 * x_s0, 1, is_inside(v0, n0) ? n1 : 0, j0 - s3);
        join_chunks(window3[c], window4[c], s5 - j0);
        join_chunks(window0[c], window1[c], s3 - j0);
    }

    float out_v[CHUNKS][VECTOR];
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
#pragma unroll
        for (int l = 0; l < VECTOR; ++l) {
            const float v9 = window7[c][l] + window6[c][l];  // add: f32[n0, n1], line 2
            const float v10 = v9 + window3[c][l];  // add: f32[n0, n1], line 2
            const float v11 = v10 + window0[c][l];  // add: f32[n0, n1], line 2
            const float v12 = 4.0f * x_v[c][l];  // multiply: f32[n0, n1], line 3
            const float v13 = v11 - v12;  // subtract: f32[n0, n1], line 3
            out_v[c][l] = v13;
        }
    }

    // store
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
        const index_t j0 = whole_from<VECTOR>(first + c * VECTOR, cols);
        store_chunk(out + row * cols + j0, out_v[c], cols - j0);
    }
}
