// julia_map_c64
// fused: multiply, subtract
// z: c64[n0] -> out: c64[n0]
// elements n0; template map.cu.j2, target sm_90a
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     1    // loads and stores of up to 16 bytes at once
#define BLOCK             256  // threads in a block
#define VECTOR            2    // consecutive elements of one access
#define CHUNKS            1    // accesses of one thread, all issued before the first use
#include "opweave.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
julia_map_c64(
    const complex64* __restrict__ z,
    complex64* __restrict__ out,
    const index_t cols)
{
    // index: each thread takes chunks of consecutive elements, a block apart
    const index_t first = ((index_t)blockIdx.x * (CHUNKS * BLOCK) + threadIdx.x) * VECTOR;

    // load: all chunks before the first use; the guard is cols - j0, where one is not whole
    Chunk<complex64, VECTOR> z_v[CHUNKS];
    const auto load_chunks = [&](const auto whole) {
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c) {
            const index_t j0 = first + c * (BLOCK * VECTOR), edge = whole ? j0 + VECTOR : cols;
            load_chunk(z_v[c], z + j0, edge - j0);
        }
    };
    if (first + ((CHUNKS - 1) * BLOCK + 1) * VECTOR <= cols) load_chunks(Constant<1>());
    else load_chunks(Constant<0>());

#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
        const index_t j0 = first + c * (BLOCK * VECTOR);
        complex64 out_v[VECTOR];
#pragma unroll
        for (int l = 0; l < VECTOR; ++l) {
            const complex64 v0 = z_v[c][l] * z_v[c][l];  // multiply: c64[n0], line 2
            const complex64 v1 = v0 - complex64{0.4f, (-0.6f)};  // subtract: c64[n0], line 2
            out_v[l] = v1;
        }
        store_chunk(out + j0, out_v, cols - j0);
    }
}
