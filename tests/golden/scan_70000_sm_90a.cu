// drawdown_scan_parts_f32
// fused: cummax, subtract
// x: f32[n0] -> out: f32[n0]
// accumulation plan: 32 blocks x tiles of 256 threads x 8 lanes, in order
// elements n0; template scan_parts.cu.j2, target sm_90a
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     1    // loads and stores of up to 16 bytes at once
#define USE_WARP_SHUFFLE  1    // join the threads of a warp by shuffles, not through shared memory
#define THREADS_PER_ROW   256  // accumulation plan: threads that share a row
#define LANES             8    // accumulation plan: running values of one thread
#define PARTS             32   // accumulation plan: blocks that share a row
#define USE_RUNS          0    // accumulation plan: a block has a run of its row, not every PARTS-th piece
#include "opweave.cuh"

#define BLOCK THREADS_PER_ROW
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
    unsigned* const begun = counter + row * (PARTS + 2);
    unsigned* const done = begun + 1;
    unsigned* const ready = begun + 2;  // a flag for each part's total
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
            if (j0 + l < cols) {
                cummax0_acc[l] = max_nan(cummax0_acc[l], x_v[l]);  // cummax: f32[n0], line 2
            }
        }
    }
    const float cummax0_all = join_row(cummax0_acc, lane, Cummax_f32());
    volatile float* cummax0_parts = part_results<float>(partials, 0, PARTS);
    if (lane == 0) {  // every thread has the totals
        cummax0_parts[part] = cummax0_all;
        __threadfence();  // the total is visible before its flag
        atomicExch(ready + part, 1u);
    }

    // what came before the part: the totals of the parts before, in rising order
    __shared__ float cummax0_part[PARTS];
    for (int p = lane; p < part; p += BLOCK) {
        while (((volatile unsigned*)ready)[p] == 0) OW_WAIT;
        __threadfence();
        cummax0_part[p] = cummax0_parts[p];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();  // this block has read all flags when the last one clears them
        if (atomicAdd(done, 1u) == PARTS - 1) {
            __threadfence();
            for (int p = 0; p < PARTS + 2; ++p) begun[p] = 0;  // for the next launch
        }
    }
    float cummax0_carry = -infinity<float>();
    for (int p = 0; p < part; ++p) cummax0_carry = max_nan(cummax0_carry, cummax0_part[p]);

    // the part itself
    for (index_t tile = first; tile < last; ++tile) {
        const index_t j0 = (tile * BLOCK + lane) * LANES;
        float x_v[LANES];
        load_chunk(x_v, x + j0, cols - j0);

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
}
