// counts_count_i64
// fused: bincount
// x: i32[n0] -> out: i64[256]
// elements n0; template count.cu.j2, target sm_90a
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     1    // loads and stores of up to 16 bytes at once
#define BLOCK             512  // threads in a block
#define VECTOR            4    // consecutive elements of one access
#define CHUNKS            4    // accesses of one thread, all issued before the first use
#define USE_SHARED_MEMORY 1    // a block counts in shared memory, and adds that to the counts
#define COPIES            32   // histograms of a block; the threads of a warp take turns at them
#include "opweave.cuh"

#define BINS 256
#define SLOTS 257  // the last is for elements that have no bin
extern "C" __global__ void __launch_bounds__(BLOCK)
counts_count_i64(
    const int* __restrict__ x,
    int64* __restrict__ out,
    const index_t cols,
    int64* outside)
{
    // index: blocks take turns at sets of chunks; a thread has chunks of consecutive elements
    const index_t begin = (index_t)blockIdx.x * (CHUNKS * BLOCK) + threadIdx.x;
    const index_t step = (index_t)gridDim.x * (CHUNKS * BLOCK * VECTOR);
#if USE_SHARED_MEMORY
    // the block's own counts, COPIES of each, which neighbouring threads take in turns
    __shared__ unsigned histograms[SLOTS * COPIES];
    for (int k = threadIdx.x; k < SLOTS * COPIES; k += BLOCK) histograms[k] = 0;
    __syncthreads();
#endif
    const auto count_chunks = [&](const index_t first, const auto whole) {
        // load: all chunks before the first use
        Chunk<int, VECTOR> x_v[CHUNKS];
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c) {
            const index_t j0 = first + c * (BLOCK * VECTOR), edge = whole ? j0 + VECTOR : cols;
            load_chunk(x_v[c], x + j0, edge - j0);
        }
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c) {
            const index_t j0 = first + c * (BLOCK * VECTOR);
#pragma unroll
            for (int l = 0; l < VECTOR; ++l) {
                if (!whole && j0 + l >= cols) break;  // guard
                const int bin = x_v[c][l];  // bincount: i64[256], line 2
#if USE_SHARED_MEMORY
                const int k = is_inside(bin, BINS) ? (int)bin : BINS;
                atomicAdd(histograms + k * COPIES + threadIdx.x % COPIES, 1u);
#else
                add_to(is_inside(bin, BINS) ? out + bin : outside, (int64)1);
#endif
            }
        }
    };
    for (index_t first = begin * VECTOR; first < cols; first += step) {
        if (first + ((CHUNKS - 1) * BLOCK + 1) * VECTOR <= cols) count_chunks(first, Constant<1>());
        else count_chunks(first, Constant<0>());
    }
#if USE_SHARED_MEMORY
    __syncthreads();
    // store: a thread adds the copies of a bin up, from another one on than those before it
    for (int k = threadIdx.x; k < SLOTS; k += BLOCK) {
        unsigned sum = 0;
        for (int c = 0; c < COPIES; ++c) sum += histograms[k * COPIES + (c + k * COPIES / 32) % COPIES];
        if (sum > 0) add_to(k < BINS ? out + k : outside, (int64)sum);
    }
#endif
}
