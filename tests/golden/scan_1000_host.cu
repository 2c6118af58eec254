// running_mean_scan_f32
// fused: cumsum, coordinate, add, cast, divide
// x: f32[n0, n1] -> out: f32[n0, n1]
// accumulation plan: element by element
// rows n0, columns n1; template scan.cu.j2, target host
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     0    // 16-byte loads and stores
#define USE_WARP_SHUFFLE  0    // join the threads of a warp by shuffles, not through shared memory
#define THREADS_PER_ROW   1    // accumulation plan: threads that share a row
#define LANES             8    // accumulation plan: running values of one thread
#define ROWS_PER_BLOCK    1    // rows of one block
#include "opweave.cuh"

#define BLOCK (THREADS_PER_ROW * ROWS_PER_BLOCK)

// cumsum_f32: each element joined to all before it; the carry then has the whole tile.
static __device__ __forceinline__ void scan_cumsum_f32(float (&r)[LANES], float& carry, const int lane)
{
#if THREADS_PER_ROW == 1
    r[0] = carry + r[0];
#pragma unroll
    for (int l = 1; l < LANES; ++l) r[l] = r[l - 1] + r[l];
    carry = r[LANES - 1];
#else
#pragma unroll
    for (int l = 1; l < LANES; ++l) r[l] = r[l - 1] + r[l];
    float mine = r[LANES - 1];
    float before = -float(0);
#if USE_WARP_SHUFFLE
#pragma unroll
    for (int offset = 1; offset < WARP_SHARE; offset *= 2) {
        const float other = __shfl_up_sync(FULL_WARP, mine, offset, WARP_SHARE);
        if (lane % WARP_SHARE >= offset) mine = other + mine;
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
        carry = carry + warps[first + warp];
    }
    __syncthreads();  // warps may be written again
#else
    const float start = carry;
    const float all = __shfl_sync(FULL_WARP, mine, WARP_SHARE - 1, WARP_SHARE);
    carry = carry + all;
#endif
#else  // the same pairs in the same order, through shared memory
    __shared__ float threads[BLOCK];
    threads[threadIdx.x] = mine;
    __syncthreads();
    for (int offset = 1; offset < WARP_SHARE; offset *= 2) {
        if (lane % WARP_SHARE >= offset) mine = threads[threadIdx.x - offset] + mine;
        __syncthreads();
        threads[threadIdx.x] = mine;
        __syncthreads();
    }
    if (lane % WARP_SHARE > 0) before = threads[threadIdx.x - 1];
    const int first = threadIdx.x / THREADS_PER_ROW * THREADS_PER_ROW + WARP_SHARE - 1;
    float start = carry;
    for (int warp = 0; warp < THREADS_PER_ROW / WARP_SHARE; ++warp) {
        if (warp == lane / WARP_SHARE) start = carry;
        carry = carry + threads[first + warp * WARP_SHARE];
    }
    __syncthreads();  // threads may be written again
#endif
    before = start + before;
#pragma unroll
    for (int l = 0; l < LANES; ++l) r[l] = before + r[l];
#endif
}

extern "C" __global__ void __launch_bounds__(BLOCK)
running_mean_scan_f32(
    const float* __restrict__ x,
    float* __restrict__ out,
    const index_t rows,
    const index_t cols)
{
    // index
    const int lane = threadIdx.x % THREADS_PER_ROW;
    const index_t row = (index_t)blockIdx.x * ROWS_PER_BLOCK + threadIdx.x / THREADS_PER_ROW;
    const bool active = row < rows;
    // guard: threads beyond the last row see no columns, but stay for barriers and shuffles
    const index_t width = active ? cols : 0;

    // what came before a tile
    float cumsum0_carry = -float(0);
    const index_t tiles = (cols + THREADS_PER_ROW * LANES - 1) / (THREADS_PER_ROW * LANES);
    for (index_t tile = 0; tile < tiles; ++tile) {
        // load: what lies behind the row's end comes last, and is joined to nothing inside
        const index_t j0 = (tile * THREADS_PER_ROW + lane) * LANES;
        float x_v[LANES];
        load_chunk(x_v, x + row * cols + j0, width - j0);

        // cumsum_f32
        float cumsum0[LANES];
#pragma unroll
        for (int l = 0; l < LANES; ++l) {
            cumsum0[l] = x_v[l];  // cumsum: f32[n0, n1], line 2
        }
        scan_cumsum_f32(cumsum0, cumsum0_carry, lane);

        // store out
        float out_v[LANES];
#pragma unroll
        for (int l = 0; l < LANES; ++l) {
            const index_t j = j0 + l;
            const int64 v1 = j;  // coordinate: i64[n1], line 2
            const int64 v2 = wrap_add(v1, 1LL);  // add: i64[n1], line 2
            const float v3 = convert<float>(v2);  // cast: f32[n1], line 2
            const float v4 = cumsum0[l] / v3;  // divide: f32[n0, n1], line 2
            out_v[l] = v4;
        }
        store_chunk(out + row * cols + j0, out_v, width - j0);
    }
}
