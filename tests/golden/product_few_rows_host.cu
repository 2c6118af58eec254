// linear_relu_0_vendor_f32
// fused: matmul
// x: f32[n0, n1], w: f32[n1, n3] -> out: f32[n0, n3]
// accumulation plan of the product: the vendor's library
// rows n0, columns n3, depth n1; numpy.matmul, target host

// linear_relu_1_map_f32
// fused: add, relu
// t3: f32[n0, n3], b: f32[n3] -> out: f32[n0, n3]
// rows n0, columns n3; template map.cu.j2, target host
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     0    // loads and stores of up to 16 bytes at once
#define BLOCK             1    // threads in a block
#define VECTOR            64   // consecutive elements of one access
#define CHUNKS            1    // accesses of one thread, all issued before the first use
#include "opweave.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
linear_relu_1_map_f32(
    const float* __restrict__ t3,
    const float* __restrict__ b,
    float* __restrict__ out,
    const index_t rows,
    const index_t cols)
{
    // index: each thread takes chunks of consecutive elements, a block apart
    const index_t row = blockIdx.x;
    const index_t first = (index_t)blockIdx.y * (CHUNKS * VECTOR);

    // load: all chunks before the first use; the guard is cols - j0
    Chunk<float, VECTOR> t3_v[CHUNKS];
    Chunk<float, VECTOR> b_v[CHUNKS];
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
        const index_t j0 = whole_from<VECTOR>(first + c * VECTOR, cols);
        load_chunk(t3_v[c], t3 + row * cols + j0, cols - j0);
        load_chunk(b_v[c], b + j0, cols - j0);
    }

    float out_v[CHUNKS][VECTOR];
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
#pragma unroll
        for (int l = 0; l < VECTOR; ++l) {
            const float v0 = t3_v[c][l] + b_v[c][l];  // add: f32[n0, n3], line 2
            const float v1 = max_nan(v0, (float)0);  // relu: f32[n0, n3], line 2
            out_v[c][l] = v1;
        }
    }

    // store
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
        const index_t j0 = whole_from<VECTOR>(first + c * VECTOR, cols);
        store_chunk(out + row * cols + j0, out_v[c], cols - j0);
    }
}
