// norm_reduce_f32
// fused: multiply, sum, sqrt
// x: f32[n0, n1] -> out: f32[]
// accumulation plan: 32 blocks x 256 threads x 4 lanes a row, joined pairwise
// n0 * n1; template reduce.cu.j2, target sm_90a
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     1    // 16-byte loads and stores
#define USE_WARP_SHUFFLE  1    // join the threads of a warp by shuffles, not through shared memory
#define THREADS_PER_ROW   256  // accumulation plan: threads that share a row
#define LANES             4    // accumulation plan: running values of one thread
#define PARTS             32   // accumulation plan: blocks that share a row
#define USE_RUNS          0    // accumulation plan: a block has a run of its row, not every PARTS-th piece
#include "opweave.cuh"

#define BLOCK THREADS_PER_ROW

// sum: 32 blocks x 256 threads x 4 lanes: the lanes of a thread, upper half onto lower half.
static __device__ __forceinline__ float lanes_sum_f32(float (&acc)[LANES])
{
    each_half<LANES / 2>([&](auto half) {
        for (int l = 0; l < half; ++l) acc[l] = acc[l] + acc[l + half];
    });
    return acc[0];
}

// sum: 32 blocks x 256 threads x 4 lanes: the threads of a row, likewise; each of them returns the result.
static __device__ __forceinline__ float row_sum_f32(float mine, const int lane)
{
#if THREADS_PER_ROW > 1
#if USE_WARP_SHUFFLE
#pragma unroll
    for (int offset = WARP_SHARE / 2; offset > 0; offset /= 2) {
        const float other = __shfl_down_sync(FULL_WARP, mine, offset, WARP_SHARE);
        mine = mine + other;
    }
#if THREADS_PER_ROW > 32
    __shared__ float warps[BLOCK / 32];
    if (lane % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    const int first = threadIdx.x / THREADS_PER_ROW * (THREADS_PER_ROW / 32);
    mine = warps[first];
    for (int warp = 1; warp < THREADS_PER_ROW / 32; ++warp)
        mine = mine + warps[first + warp];
    __syncthreads();  // warps may be written again
#else
    mine = __shfl_sync(FULL_WARP, mine, 0, WARP_SHARE);
#endif
#else  // the same pairs in the same order, through shared memory
    __shared__ float threads[BLOCK];
    threads[threadIdx.x] = mine;
    __syncthreads();
    for (int offset = WARP_SHARE / 2; offset > 0; offset /= 2) {
        if (lane % WARP_SHARE < offset)
            threads[threadIdx.x] = threads[threadIdx.x] + threads[threadIdx.x + offset];
        __syncthreads();
    }
    const int first = threadIdx.x / THREADS_PER_ROW * THREADS_PER_ROW;
    mine = threads[first];
    for (int warp = 1; warp < THREADS_PER_ROW / WARP_SHARE; ++warp)
        mine = mine + threads[first + warp * WARP_SHARE];
    __syncthreads();  // threads may be written again
#endif
#endif
    return mine;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
norm_reduce_f32(
    const float* __restrict__ x,
    float* __restrict__ out,
    void* partials,
    unsigned* counter,
    const index_t cols)
{
    // index: blockIdx.x counts the parts of a row, blockIdx.y the rows
    const int lane = threadIdx.x;
    const index_t row = blockIdx.y;

    // sum_f32 of this block's part
    float sum0_acc[LANES];
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
        sum0_acc[l] = 0;
    }
    const index_t chunks = (cols + LANES - 1) / LANES;
#if USE_RUNS
    const index_t run = (chunks + PARTS - 1) / PARTS, step = BLOCK;
    const index_t begin = (index_t)blockIdx.x * run, end = begin + run;
#else
    const index_t begin = (index_t)blockIdx.x * BLOCK, end = chunks, step = PARTS * BLOCK;
#endif
    for (index_t c = begin + lane; c < end; c += step) {
        const index_t j0 = c * LANES;
        float x_v[LANES];
        load_chunk(x_v, x + j0, cols - j0);
#pragma unroll
        for (int l = 0; l < LANES; ++l) {
            const float v0 = x_v[l] * x_v[l];  // multiply: f32[n0, n1], line 2
            const bool inside = j0 + l < cols;
            BRANCH_ON_GPU (inside) {
                const float sum0_next = sum0_acc[l] + v0;  // sum: f32[], line 2
                sum0_acc[l] = chosen(inside, sum0_next, sum0_acc[l]);
            }
        }
    }
    const float sum0_part = row_sum_f32(lanes_sum_f32(sum0_acc), lane);
    volatile float* sum0_parts = part_results<float>(partials, 0, PARTS);
    if (lane == 0) sum0_parts[blockIdx.x] = sum0_part;

    // the last block of the row to get here joins the parts, in rising order whoever it is
    __shared__ bool last;
    if (lane == 0) {
        __threadfence();  // the parts are visible before the count
        last = atomicAdd(&counter[row], 1u) == PARTS - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    float sum0_all = 0;
    for (int part = lane; part < PARTS; part += BLOCK) {
        const float other = sum0_parts[part];
        sum0_all = sum0_all + other;
    }
    const float sum0 = row_sum_f32(sum0_all, lane);
    if (lane == 0) {
        counter[row] = 0;  // ready for the next launch
        const float v2 = sqrt(sum0);  // sqrt: f32[], line 2
        store(out, v2);
    }
}
