// laplacian_map_f32
// fused: coordinate, subtract, less, add, where, coordinate, gather_2d, subtract, less, add, where, gather_2d,
//   add, subtract, add, gather_2d, gather_2d, less, where, add, subtract, add, gather_2d, gather_2d, less, where,
//   add, multiply, subtract
// x: f32[n0, n1] -> out: f32[n0, n1]
// elements n0 * n1; template map.cu.j2, target sm_80
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     1    // loads and stores of up to 16 bytes at once
#define BLOCK             256  // threads in a block
#define VECTOR            1    // consecutive elements of one access
#define CHUNKS            1    // accesses of one thread, all issued before the first use
#include "opweave.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
laplacian_map_f32(
    const float* __restrict__ x,
    const int s0,  // s0 = 1 % max(n0, 1)
    const int s1,  // s1 = n0
    const int s2,  // s2 = -1 % max(n0, 1)
    const int s3,  // s3 = 1 % max(n1, 1)
    const int s4,  // s4 = n1
    const int s5,  // s5 = -1 % max(n1, 1)
    float* __restrict__ out,
    const index_t cols,
    const index_t n1,
    const index_t n0,
    const index_t x_s0)
{
    // index: each thread takes chunks of consecutive elements, a block apart
    const index_t first = ((index_t)blockIdx.x * (CHUNKS * BLOCK) + threadIdx.x) * VECTOR;

    // load: all chunks before the first use; the guard is cols - j0, where one is not whole
    Chunk<float, VECTOR> x_v[CHUNKS];
    const auto load_chunks = [&](const auto whole) {
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c) {
            const index_t j0 = first + c * (BLOCK * VECTOR), edge = whole ? j0 + VECTOR : cols;
            load_chunk(x_v[c], x + j0, edge - j0);
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
            const index_t j = j0 + l;
            const int v0 = j / n1;  // coordinate: i32[n0, 1], line 2
            const int v1 = wrap_sub(v0, s0);  // subtract: i32[n0, 1], line 2
            const bool v2 = v1 < 0;  // less: b1[n0, 1], line 2
            const int v3 = wrap_add(v1, s1);  // add: i32[n0, 1], line 2
            const int v4 = v2 ? v3 : v1;  // where: i32[n0, 1], line 2
            const int v5 = j % n1;  // coordinate: i32[n1], line 2
            const float v6 = read_at<float>(x, v4, n0, x_s0, v5, n1, 1);  // gather_2d: f32[n0, n1], line 2
            const int v7 = wrap_sub(v0, s2);  // subtract: i32[n0, 1], line 2
            const bool v8 = v7 < 0;  // less: b1[n0, 1], line 2
            const int v9 = wrap_add(v7, s1);  // add: i32[n0, 1], line 2
            const int v10 = v8 ? v9 : v7;  // where: i32[n0, 1], line 2
            const float v11 = read_at<float>(x, v10, n0, x_s0, v5, n1, 1);  // gather_2d: f32[n0, n1], line 2
            const float v12 = v6 + v11;  // add: f32[n0, n1], line 2
            const int v13 = wrap_sub(v5, s3);  // subtract: i32[n1], line 2
            const int v14 = wrap_add(v13, s4);  // add: i32[n1], line 2
            const float v15 = read_at<float>(x, v0, n0, x_s0, v14, n1, 1);  // gather_2d: f32[n0, n1], line 2
            const float v16 = read_at<float>(x, v0, n0, x_s0, v13, n1, 1);  // gather_2d: f32[n0, n1], line 2
            const bool v17 = v13 < 0;  // less: b1[n1], line 2
            const float v18 = v17 ? v15 : v16;  // where: f32[n0, n1], line 2
            const float v19 = v12 + v18;  // add: f32[n0, n1], line 2
            const int v20 = wrap_sub(v5, s5);  // subtract: i32[n1], line 2
            const int v21 = wrap_add(v20, s4);  // add: i32[n1], line 2
            const float v22 = read_at<float>(x, v0, n0, x_s0, v21, n1, 1);  // gather_2d: f32[n0, n1], line 2
            const float v23 = read_at<float>(x, v0, n0, x_s0, v20, n1, 1);  // gather_2d: f32[n0, n1], line 2
            const bool v24 = v20 < 0;  // less: b1[n1], line 2
            const float v25 = v24 ? v22 : v23;  // where: f32[n0, n1], line 2
            const float v26 = v19 + v25;  // add: f32[n0, n1], line 2
            const float v27 = 4.0f * x_v[c][l];  // multiply: f32[n0, n1], line 3
            const float v28 = v26 - v27;  // subtract: f32[n0, n1], line 3
            out_v[l] = v28;
        }
        store_chunk(out + j0, out_v, cols - j0);
    }
}
