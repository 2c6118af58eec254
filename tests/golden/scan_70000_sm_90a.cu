// drawdown_scan_parts_f32
// fused: cummax, subtract
// x: f32[n0] -> out: f32[n0]
// accumulation plan: 32 blocks x tiles of 256 threads x 8 lanes, in order
// n0; template scan_parts.cu.j2, target sm_90a
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     1    // 16-byte loads and stores
#define USE_WARP_SHUFFLE  1    // join the threads of a warp by shuffles, not through shared memory
#define THREADS_PER_ROW   256  // accumulation plan: threads that share a row
#define LANES             8    // accumulation plan: running values of one thread
#define PARTS             32   // accumulation plan: blocks that share a row
#define USE_RUNS          0    // accumulation plan: a block has a run of its row, not every PARTS-th piece
#include "opweave.cuh"

#define BLOCK THREADS_PER_ROW

// cummax: 32 blocks x tiles of 256 threads x 8 lanes, in order: the lanes of a thread, upper half onto lower half.
static __device__ __forceinline__ float lanes_cummax_f32(float (&acc)[LANES])
{
    each_half<LANES / 2>([&](auto half) {
        for (int l = 0; l < half; ++l) acc[l] = max_nan(acc[l], acc[l + half]);
    });
    return acc[0];
}

// cummax: 32 blocks x tiles of 256 threads x 8 lanes, in order: the threads of a row, likewise; each of them returns the result.
static __device__ __forceinline__ float row_cummax_f32(float mine, const int lane)
{
#if THREADS_PER_ROW > 1
#if USE_WARP_SHUFFLE
#pragma unroll
    for (int offset = WARP_SHARE / 2; offset > 0; offset /= 2) {
        const float other = __shfl_down_sync(FULL_WARP, mine, offset, WARP_SHARE);
        mine = max_nan(mine, other);
    }
#if THREADS_PER_ROW > 32
    __shared__ float warps[BLOCK / 32];
    if (lane % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    const int first = threadIdx.x / THREADS_PER_ROW * (THREADS_PER_ROW / 32);
    mine = warps[first];
    for (int warp = 1; warp < THREADS_PER_ROW / 32; ++warp)
        mine = max_nan(mine, warps[first + warp]);
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
            threads[threadIdx.x] = max_nan(threads[threadIdx.x], threads[threadIdx.x + offset]);
        __syncthreads();
    }
    const int first = threadIdx.x / THREADS_PER_ROW * THREADS_PER_ROW;
    mine = threads[first];
    for (int warp = 1; warp < THREADS_PER_ROW / WARP_SHARE; ++warp)
        mine = max_nan(mine, threads[first + warp * WARP_SHARE]);
    __syncthreads();  // threads may be written again
#endif
#endif
    return mine;
}

// cummax_f32: each element joined to all before it; the carry then has the whole tile.
static __device__ __forceinline__ void scan_cummax_f32(float (&r)[LANES], float& carry, const int lane)
{
#if THREADS_PER_ROW == 1
    r[0] = max_nan(carry, r[0]);
#pragma unroll
    for (int l = 1; l < LANES; ++l) r[l] = max_nan(r[l - 1], r[l]);
    carry = r[LANES - 1];
#else
#pragma unroll
    for (int l = 1; l < LANES; ++l) r[l] = max_nan(r[l - 1], r[l]);
    float mine = r[LANES - 1];
    float before = -infinity<float>();
#if USE_WARP_SHUFFLE
#pragma unroll
    for (int offset = 1; offset < WARP_SHARE; offset *= 2) {
        const float other = __shfl_up_sync(FULL_WARP, mine, offset, WARP_SHARE);
        if (lane % WARP_SHARE >= offset) mine = max_nan(other, mine);
    }
    const float below = __shfl_up_sync(FULL_WARP, mine, 1, WARP_SHARE);
    if (lane % WARP_SHARE > 0) before = below;
#if THREADS_PER_ROW > 32
    __shared__ float warps[BLOCK / 32];
    if (lane % 32 == 31) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    const int first = threadIdx.x / THREADS_PER_ROW * (THREADS_PER_ROW / 32);
    float start = carry;
    for (int warp = 0; warp < THREADS_PER_ROW / 32; ++warp) {
        if (warp == lane / 32) start = carry;
        carry = max_nan(carry, warps[first + warp]);
    }
    __syncthreads();  // warps may be written again
#else
    const float start = carry;
    const float all = __shfl_sync(FULL_WARP, mine, WARP_SHARE - 1, WARP_SHARE);
    carry = max_nan(carry, all);
#endif
#else  // the same pairs in the same order, through shared memory
    __shared__ float threads[BLOCK];
    threads[threadIdx.x] = mine;
    __syncthreads();
    for (int offset = 1; offset < WARP_SHARE; offset *= 2) {
        if (lane % WARP_SHARE >= offset) mine = max_nan(threads[threadIdx.x - offset], mine);
        __syncthreads();
        threads[threadIdx.x] = mine;
        __syncthreads();
    }
    if (lane % WARP_SHARE > 0) before = threads[threadIdx.x - 1];
    const int first = threadIdx.x / THREADS_PER_ROW * THREADS_PER_ROW + WARP_SHARE - 1;
    float start = carry;
    for (int warp = 0; warp < THREADS_PER_ROW / WARP_SHARE; ++warp) {
        if (warp == lane / WARP_SHARE) start = carry;
        carry = max_nan(carry, threads[first + warp * WARP_SHARE]);
    }
    __syncthreads();  // threads may be written again
#endif
    before = max_nan(start, before);
#pragma unroll
    for (int l = 0; l < LANES; ++l) r[l] = max_nan(before, r[l]);
#endif
}

extern "C" __global__ void __launch_bounds__(BLOCK)
drawdown_scan_parts_f32(
    const float* __restrict__ x,
    float* __restrict__ out,
    void* partials,
    unsigned* counter,
    const index_t cols)
{
    // index: blockIdx.y counts the rows; the parts go to the blocks in the order in which they
    // begin, so that a block waits for such as run already
    const int lane = threadIdx.x;
    const index_t row = blockIdx.y;
    unsigned* begun = counter + row * (PARTS + 2);
    unsigned* done = begun + 1;
    unsigned* ready = begun + 2;
    __shared__ int ticket;
    if (lane == 0) ticket = atomicAdd(begun, 1u);
    __syncthreads();
    const int part = ticket;
    // guard: the tiles of this part
    const index_t tiles = (cols + BLOCK * LANES - 1) / (BLOCK * LANES);
    const index_t share = (tiles + PARTS - 1) / PARTS;
    const index_t first = part * share;
    const index_t last = first + share < tiles ? first + share : tiles;

    // the part's total
    float cummax0_acc[LANES];
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
        cummax0_acc[l] = -infinity<float>();
    }
    for (index_t tile = first; tile < last; ++tile) {
        const index_t j0 = (tile * BLOCK + lane) * LANES;
        float x_v[LANES];
        load_chunk(x_v, x + j0, cols - j0);
#pragma unroll
        for (int l = 0; l < LANES; ++l) {
            const bool inside = j0 + l < cols;
            BRANCH_ON_GPU (inside) {
                const float cummax0_next = max_nan(cummax0_acc[l], x_v[l]);  // cummax: f32[n0], line 2
                cummax0_acc[l] = chosen(inside, cummax0_next, cummax0_acc[l]);
            }
        }
    }
    const float cummax0_all = row_cummax_f32(lanes_cummax_f32(cummax0_acc), lane);
    volatile float* cummax0_parts = part_results<float>(partials, 0, PARTS);
    if (lane == 0) {  // every thread has the totals
        cummax0_parts[part] = cummax0_all;
        __threadfence();  // the total is visible before its sign
        atomicExch(ready + part, 1u);
    }

    // what came before the part: the totals of the parts before, in rising order
    __shared__ float cummax0_part[PARTS];
    for (int p = lane; p < part; p += BLOCK) {
        while (((volatile unsigned*)ready)[p] == 0) {}
        __threadfence();
        cummax0_part[p] = cummax0_parts[p];
    }
    __syncthreads();
    if (lane == 0) {
        __threadfence();  // nobody looks at the signs any more when the last block takes them down
        if (atomicAdd(done, 1u) == PARTS - 1) {
            __threadfence();
            for (int p = 0; p < PARTS + 2; ++p) begun[p] = 0;  // ready for the next launch
        }
    }
    float cummax0_carry = -infinity<float>();
    for (int p = 0; p < part; ++p) cummax0_carry = max_nan(cummax0_carry, cummax0_part[p]);

    // the part itself
    const index_t width = cols;
    for (index_t tile = first; tile < last; ++tile) {
        const index_t j0 = (tile * BLOCK + lane) * LANES;
        float x_v[LANES];
        load_chunk(x_v, x + j0, cols - j0);

        // cummax_f32
        float cummax0[LANES];
#pragma unroll
        for (int l = 0; l < LANES; ++l) {
            cummax0[l] = x_v[l];  // cummax: f32[n0], line 2
        }
        scan_cummax_f32(cummax0, cummax0_carry, lane);

        // store out
        float out_v[LANES];
#pragma unroll
        for (int l = 0; l < LANES; ++l) {
            const float v1 = x_v[l] - cummax0[l];  // subtract: f32[n0], line 2
            out_v[l] = v1;
        }
        store_chunk(out + j0, out_v, cols - j0);
    }
}
