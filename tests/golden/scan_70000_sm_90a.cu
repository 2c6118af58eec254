// drawdown_scan_parts_f32
// fused: cummax, subtract
// x: f32[n0] -> out: f32[n0]
// accumulation plan: up to 32 blocks x tiles of 256 threads x 16 lanes, in order
// elements n0; template scan_ahead.cu.j2, target sm_90a
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     1    // loads and stores of up to 16 bytes at once
#define USE_WARP_SHUFFLE  1    // join the threads of a warp by shuffles, not through shared memory
#define THREADS_PER_ROW   256  // accumulation plan: threads that share a row
#define LANES             16   // accumulation plan: running values of one thread
#define PARTS             32   // accumulation plan: blocks that share a row
#define BLOCKS_EACH       4    // blocks of a multiprocessor, whose registers they share
#include "opweave.cuh"

#define BLOCK  THREADS_PER_ROW
#define GROUP  BLOCK  // neighbouring parts, whose totals one block adds up
#define STAGES 3      // tiles of a block: its own, the next, and one on its way
#include "rows.cuh"

struct Cummax_f32 {
    __device__ float operator()(float x, float y) const { return max_nan(x, y); }
};

#include "scans.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS_EACH)
drawdown_scan_parts_f32(
    const float* __restrict__ x,
    float* __restrict__ out,
    void* partials,
    unsigned* counter,
    const index_t cols)
{
    // index: blockIdx.y counts the rows; a part is a tile, and blocks take parts in rising order
    const int lane = threadIdx.x;
    const index_t row = blockIdx.y;
    const int parts = (cols + BLOCK * LANES - 1) / (BLOCK * LANES), groups = (parts + GROUP - 1) / GROUP;
    // of each row: how many parts were begun, how many blocks are done, and the totals that were told
    const int flags = 2 * (parts + groups) * (Told<float>::WORDS);
    unsigned* const begun = counter + row * (flags + 2);
    unsigned* const done = begun + 1;
    volatile uint64* const cummax0_told = (volatile uint64*)(begun + 2);

    // load: parts, to shared memory
    const int x_at = 0;
    const int stage_bytes = x_at + BLOCK * LANES * (int)sizeof(float);
    DYNAMIC_SHARED(char, tiles);  // more than a kernel may declare: the launch opts in to it
    const auto fetch = [&](const int part, const int stage) {
        const index_t first = (index_t)part * (BLOCK * LANES);
        if (part < parts) {
            fetch_tile<LANES>((float*)(tiles + stage * stage_bytes + x_at), x + first, lane, cols - first);
        }
        copies_begun();
    };
    const auto read = [&](float (&x_v)[LANES], const int stage) {
        read_tile(x_v, (float*)(tiles + stage * stage_bytes + x_at), lane);
    };

    // a part's total, for the blocks that have the parts behind it in its group
    const auto add_up = [&](const int part, const int stage, float& cummax0_all) {
        if (part >= parts) return;  // the same for all threads
        const index_t j0 = ((index_t)part * BLOCK + lane) * LANES;
        float x_v[LANES];
        read(x_v, stage);
        float cummax0_acc[LANES];
#pragma unroll
        for (int l = 0; l < LANES; ++l) {
            cummax0_acc[l] = -infinity<float>();
        }
#pragma unroll
        for (int l = 0; l < LANES; ++l) {
            if (j0 + l < cols) {
                cummax0_acc[l] = max_nan(cummax0_acc[l], x_v[l]);  // cummax: f32[n0], line 2
            }
        }
        cummax0_all = join_row(cummax0_acc, lane, Cummax_f32());
        if (lane == 0) {  // every thread has the totals
            tell(cummax0_told + part * Told<float>::WORDS, cummax0_all);
        }
    };

    __shared__ int tickets[2];
    if (lane == 0) tickets[0] = atomicAdd(begun, 1u), tickets[1] = atomicAdd(begun, 1u);
    __syncthreads();
    int part = tickets[0], following = tickets[1], stage = 0;
    fetch(part, 0);
    fetch(following, 1);
    copies_done<1>();
    __syncwarp();
    float cummax0_all = -infinity<float>(), cummax0_ahead = -infinity<float>();
    add_up(part, 0, cummax0_all);
    while (part < parts) {
        const int ahead = stage == STAGES - 1 ? 0 : stage + 1, free = ahead == STAGES - 1 ? 0 : ahead + 1;
        unsigned ticket = 0;
        if (lane == 0) ticket = atomicAdd(begun, 1u);
        copies_done<0>();
        __syncthreads();  // all have taken the last ticket
        if (lane == 0) tickets[0] = ticket;
        add_up(following, ahead, cummax0_ahead);
        __syncthreads();
        const int next = tickets[0];
        fetch(next, free);

        // what came before the part: the groups before, then the parts before it in its own group
        const int group = part / GROUP, place = part % GROUP, near = group * GROUP + lane;
        float cummax0_near = -infinity<float>(), cummax0_carry = -infinity<float>();
        if (near < part) cummax0_near = heard<float>(cummax0_told + near * Told<float>::WORDS);
        cummax0_near = join_threads(cummax0_near, lane, Cummax_f32());
        if (lane == 0 && place == GROUP - 1)
            tell<float>(cummax0_told + (parts + group) * Told<float>::WORDS, max_nan(cummax0_near, cummax0_all));
        const int each = ((PARTS + GROUP - 1) / GROUP + BLOCK - 1) / BLOCK;  // groups of a thread, in rising order
        for (int p = lane * each; p < min(lane * each + each, group); ++p) {
            const float cummax0_group = heard<float>(cummax0_told + (parts + p) * Told<float>::WORDS);
            cummax0_carry = max_nan(cummax0_carry, cummax0_group);
        }
        cummax0_carry = join_threads(cummax0_carry, lane, Cummax_f32());
        cummax0_carry = max_nan(cummax0_carry, cummax0_near);

        // the part itself
        const index_t first = (index_t)part * (BLOCK * LANES), j0 = first + lane * LANES;
        float x_v[LANES];
        read(x_v, stage);

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
        store_tile<float>(tiles + stage * stage_bytes, out + first, out_v, lane, cols - first);
        part = following, following = next, stage = ahead;
        cummax0_all = cummax0_ahead;
    }
    unsigned others = 0;
    if (threadIdx.x == 0) {
        __threadfence();  // this block has read all flags when the last one clears them
        others = atomicAdd(done, 1u);
    }
    __shared__ bool is_last;
    if (threadIdx.x == 0) is_last = others == gridDim.x - 1;
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    for (int p = threadIdx.x; p < flags + 2; p += BLOCK) begun[p] = 0;
}
