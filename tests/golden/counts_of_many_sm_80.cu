// counts_of_many_count_i64
// fused: multiply, bincount
// x: i64[n0] -> out: i64[17000]
// elements n0; template count.cu.j2, target sm_80
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     1    // loads and stores of up to 16 bytes at once
#define BLOCK             512  // threads in a block
#define VECTOR            2    // consecutive elements of one access
#define CHUNKS            1    // accesses of one thread, all issued before the first use
#define USE_SHARED_MEMORY 0    // a block counts in shared memory, and adds that to the counts
#define COPIES            1    // histograms of a block; the threads of a warp take turns at them
#define USE_RUNS          0    // a block has a run of chunks, and does not take turns with the others
#include "opweave.cuh"

#define BINS 17000
#define SLOTS 17001  // the last is for elements that have no bin
extern "C" __global__ void __launch_bounds__(BLOCK)
counts_of_many_count_i64(
    const int64* __restrict__ x,
    int64* __restrict__ out,
    const index_t cols,
    int64* outside)
{
    // index: blocks take turns at sets of chunks, or have a run of them; a thread has chunks of
    // consecutive elements
#if USE_RUNS
    const index_t step = CHUNKS * BLOCK * VECTOR, turn = (index_t)gridDim.x * step;
    const index_t run = (cols + turn - 1) / turn * (CHUNKS * BLOCK);
    const index_t begin = (index_t)blockIdx.x * run + threadIdx.x;
    const index_t end = min(cols, ((index_t)blockIdx.x + 1) * run * VECTOR);
#else
    const index_t begin = (index_t)blockIdx.x * (CHUNKS * BLOCK) + threadIdx.x, end = cols;
    const index_t step = (index_t)gridDim.x * (CHUNKS * BLOCK * VECTOR);
#endif
#if USE_SHARED_MEMORY
    // the block's own counts, COPIES of each, which neighbouring threads take in turns; the
    // elements of one that is alone do, too, since a count waits for the last one in its place
    __shared__ unsigned own[SLOTS * COPIES];
    unsigned* const histograms = OW_FOUND_ONCE(own);
    for (int k = threadIdx.x; k < SLOTS * COPIES; k += BLOCK) histograms[k] = 0;
    __syncthreads();
#endif
    const auto count_chunks = [&](const index_t first, const auto whole) OW_INLINED {
        // load: all chunks before the first use
        Chunk<int64, VECTOR> x_v[CHUNKS];
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c) {
            const index_t j0 = first + c * (BLOCK * VECTOR), edge = whole ? j0 + VECTOR : cols;
            load_chunk(x_v[c], x + j0, edge - j0);
        }
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c) {
            const index_t j0 = first + c * (BLOCK * VECTOR);
            int64 bins[VECTOR];
#pragma unroll
            for (int l = 0; l < VECTOR; ++l) {
                const int64 v0 = wrap_mul(x_v[c][l], 170LL);  // multiply: i64[n0], line 2
                bins[l] = v0;  // bincount: i64[17000], line 2
            }
#pragma unroll
            for (int l = 0; l < VECTOR; ++l) {
                if (!whole && j0 + l >= cols) break;  // guard
                const int64 bin = bins[l];
#if USE_SHARED_MEMORY
                const int k = is_inside(bin, BINS) ? (int)bin : BINS;
                atomicAdd_block(histograms + k * COPIES + (BLOCK > 1 ? threadIdx.x : l) % COPIES, 1u);
#else
                add_to(is_inside(bin, BINS) ? out + bin : outside, (int64)1);
#endif
            }
        }
    };
    for (index_t first = begin * VECTOR; first < end; first += step) {
        if (first + ((CHUNKS - 1) * BLOCK + 1) * VECTOR <= cols) count_chunks(first, Constant<1>());
        else count_chunks(first, Constant<0>());
    }
#if USE_SHARED_MEMORY
    __syncthreads();
    // store: a thread adds the copies of a bin up, from another one on than those before it
    for (int k = threadIdx.x; k < SLOTS; k += BLOCK) {
        unsigned sum = 0;
        for (int c = 0; c < COPIES; ++c) sum += histograms[k * COPIES + (BLOCK > 1 ? c + k * COPIES / 32 : c) % COPIES];
        if (sum > 0) add_to(k < BINS ? out + k : outside, (int64)sum);
    }
#endif
}
