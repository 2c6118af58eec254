// drawdown_scan_parts_f32
// fused: cummax, subtract
// x: f32[n0] -> out: f32[n0]
// accumulation plan: up to 32 blocks x tiles of 256 threads x 16 lanes, in order
// elements n0; template scan_parts.cu.j2, target sm_90a
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     1    // loads and stores of up to 16 bytes at once
#define USE_WARP_SHUFFLE  1    // join the threads of a warp by shuffles, not through shared memory
#define THREADS_PER_ROW   256  // accumulation plan: threads that share a row
#define LANES             16   // accumulation plan: running values of one thread
#define PARTS             32   // accumulation plan: blocks that share a row
#define USE_HELD_TILE     1    // a part is one tile, which stays in registers until it is scanned
#include "opweave.cuh"

#define BLOCK  THREADS_PER_ROW
#define GROUP  BLOCK  // neighbouring parts, whose totals one block adds up
#define GROUPS ((PARTS + GROUP - 1) / GROUP)
#include "rows.cuh"

struct Cummax_f32 {
    __device__ float operator()(float x, float y) const { return max_nan(x, y); }
};

extern "C" __global__ void __launch_bounds__(BLOCK)
drawdown_scan_parts_f32(
    const float* __restrict__ x,
    float* __restrict__ out,
    void* partials,
    unsigned* counter,
    const index_t cols)
{
    // index: blockIdx.y counts the rows; a block takes the next part when it begins, so that it
    // waits for none that has not begun
    const int lane = threadIdx.x;
    const index_t row = blockIdx.y;
    unsigned* const begun = counter + row * (PARTS + GROUPS + 2);
    unsigned* const done = begun + 1;
    unsigned* const ready = begun + 2;  // a flag for each total
    __shared__ int ticket;
    if (threadIdx.x == 0) ticket = atomicAdd(begun, 1u);
    __syncthreads();
    const int part = ticket;
    // guard: the tiles of this part
    const index_t tiles = (cols + BLOCK * LANES - 1) / (BLOCK * LANES);
    const index_t share = (tiles + PARTS - 1) / PARTS;
    const index_t first = part * share;
    const index_t last = min(first + share, tiles);

    // the part's total
    float x_v[LANES];
    float cummax0_acc[LANES];
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
        cummax0_acc[l] = -infinity<float>();
    }
    for (index_t tile = first; tile < last; ++tile) {
        const index_t j0 = (tile * BLOCK + lane) * LANES;
        load_chunk(x_v, x + j0, cols - j0);
#pragma unroll
        for (int l = 0; l < LANES; ++l) {
            if (j0 + l < cols) {
                cummax0_acc[l] = max_nan(cummax0_acc[l], x_v[l]);  // cummax: f32[n0], line 2
            }
        }
    }
    const float cummax0_all = join_row(cummax0_acc, lane, Cummax_f32());
    volatile float* cummax0_parts = part_results<float>(partials, 0, PARTS + GROUPS);
    if (lane == 0) {  // every thread has the totals
        cummax0_parts[part] = cummax0_all;
        __threadfence();  // the total is visible before its flag
        atomicExch(ready + part, 1u);
    }

    // what came before the part: the groups before, then the parts before it in its own group
    const int group = part / GROUP, place = part % GROUP;
    float cummax0_near = -infinity<float>(), cummax0_carry = -infinity<float>();
    const int near = group * GROUP + lane;
    if (near < part) {
        while (((volatile unsigned*)ready)[near] == 0) OW_WAIT;
        __threadfence();
        cummax0_near = cummax0_parts[near];
    }
    cummax0_near = join_threads(cummax0_near, lane, Cummax_f32());
    if (lane == 0 && place == GROUP - 1) {  // every thread has both
        cummax0_parts[PARTS + group] = max_nan(cummax0_near, cummax0_all);
        __threadfence();
        atomicExch(ready + PARTS + group, 1u);
    }
    const int each = (GROUPS + BLOCK - 1) / BLOCK;  // groups of a thread, in rising order
    for (int p = lane * each; p < min(lane * each + each, group); ++p) {
        while (((volatile unsigned*)ready)[PARTS + p] == 0) OW_WAIT;
        __threadfence();
        const float cummax0_group = cummax0_parts[PARTS + p];
        cummax0_carry = max_nan(cummax0_carry, cummax0_group);
    }
    cummax0_carry = join_threads(cummax0_carry, lane, Cummax_f32());
    cummax0_carry = max_nan(cummax0_carry, cummax0_near);
    __syncthreads();
    unsigned others = 0;
    if (threadIdx.x == 0) {
        __threadfence();  // this block has read all flags when the last one clears them
        others = atomicAdd(done, 1u);
    }

    // the part itself
    for (index_t tile = first; tile < last; ++tile) {
        const index_t j0 = (tile * BLOCK + lane) * LANES;
#if !USE_HELD_TILE
        load_chunk(x_v, x + j0, cols - j0);
#endif

        // cummax
        float cummax0[LANES];
#pragma unroll
        for (int l = 0; l < LANES; ++l) {
            cummax0[l] = x_v[l];  // cummax: f32[n0], line 2
        }
        scan_tile(cummax0, cummax0_carry, lane, -infinity<float>(), Cummax_f32());

        // store out
        float out_v[LANES];
#pragma unroll
        for (int l = 0; l < LANES; ++l) {
            const float v1 = x_v[l] - cummax0[l];  // subtract: f32[n0], line 2
            out_v[l] = v1;
        }
        store_chunk(out + j0, out_v, cols - j0);
    }

    __shared__ bool is_last;
    if (threadIdx.x == 0) is_last = others == gridDim.x - 1;
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    for (int p = threadIdx.x; p < PARTS + GROUPS + 2; p += BLOCK) begun[p] = 0;
}
