// places_of_all__reduce_i64
// fused: argmin, cast
// x: f32[n0] -> out: i64[]
// accumulation plan: 4 runs x 1 thread x 32 lanes a row, joined pairwise
// elements n0; template reduce.cu.j2, target host
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     0    // loads and stores of up to 16 bytes at once
#define USE_WARP_SHUFFLE  0    // join the threads of a warp by shuffles, not through shared memory
#define THREADS_PER_ROW   1    // accumulation plan: threads that share a row
#define LANES             32   // accumulation plan: running values of one thread
#define CHUNKS            1    // accesses of one thread, all issued before the first use
#define BLOCKS_EACH       1    // blocks of a multiprocessor, whose registers they share
#define PARTS             4    // accumulation plan: blocks that share a row
#define USE_RUNS          1    // accumulation plan: a block has a run of its row, not every PARTS-th piece
#include "opweave.cuh"

#define BLOCK THREADS_PER_ROW
#include "rows.cuh"

struct Argmin_f32 {
    __device__ Smallest<float, int> operator()(Smallest<float, int> x, Smallest<float, int> y) const { return first_of(x, y); }
};

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS_EACH)
places_of_all__reduce_i64(
    const float* __restrict__ x,
    int64* __restrict__ out,
    void* partials,
    unsigned* counter,
    const index_t cols)
{
    // index: blockIdx.x counts the parts of a row, blockIdx.y the rows
    const int lane = threadIdx.x;
    const index_t row = blockIdx.y;

    // argmin of this block's part
    Smallest<float, int> argmin0_acc[LANES];
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
        argmin0_acc[l] = Smallest<float, int>::none();
    }
    const index_t chunks = (cols + LANES - 1) / LANES;
#if USE_RUNS
    const index_t run = (chunks + PARTS - 1) / PARTS, step = BLOCK;
    const index_t begin = (index_t)blockIdx.x * run, end = begin + run;
#else
    const index_t begin = (index_t)blockIdx.x * BLOCK, end = chunks, step = PARTS * BLOCK;
#endif
    index_t c = begin + lane;
#if CHUNKS > 1
    // whole chunks: several are loaded before the first is taken
    for (; c + (CHUNKS - 1) * step < end && c + (CHUNKS - 1) * step < cols / LANES; c += CHUNKS * step) {
        float x_row[CHUNKS][LANES];
#pragma unroll
        for (int k = 0; k < CHUNKS; ++k) {
            const index_t j0 = (c + k * step) * LANES, edge = j0 + LANES;
            load_chunk(x_row[k], x + j0, edge - j0);
        }
#pragma unroll
        for (int k = 0; k < CHUNKS; ++k) {
            const index_t j0 = (c + k * step) * LANES, edge = j0 + LANES;
            const auto& x_v = x_row[k];
#pragma unroll
            for (int l = 0; l < LANES; ++l) {
                const index_t j = j0 + l;
                const bool inside = j0 + l < edge;
                argmin0_acc[l] = chosen(inside, taken(argmin0_acc[l], x_v[l], j), argmin0_acc[l]);  // argmin: i32[], line 2
            }
        }
    }
#endif
    for (; c < end; c += step) {
        const index_t j0 = c * LANES;
        float x_v[LANES];
        load_chunk(x_v, x + j0, cols - j0);
#pragma unroll
        for (int l = 0; l < LANES; ++l) {
            const index_t j = j0 + l;
            const bool inside = j0 + l < cols;
            argmin0_acc[l] = chosen(inside, taken(argmin0_acc[l], x_v[l], j), argmin0_acc[l]);  // argmin: i32[], line 2
        }
    }
    const Smallest<float, int> argmin0_part = join_row(argmin0_acc, lane, Argmin_f32());
    Volatile<Smallest<float, int>>::type* argmin0_parts = part_results<Smallest<float, int>>(partials, 0, PARTS);
    if (lane == 0) argmin0_parts[blockIdx.x] = argmin0_part;

    // the last block of the row to get here joins the parts, in rising order whoever it is
    __shared__ bool last;
    if (lane == 0) {
        __threadfence();  // the parts are visible before the count
        last = atomicAdd(&counter[row], 1u) == PARTS - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    Smallest<float, int> argmin0_all = Smallest<float, int>::none();
    for (int part = lane; part < PARTS; part += BLOCK) {
        const Smallest<float, int> other = argmin0_parts[part];
        argmin0_all = first_of(argmin0_all, other);
    }
    const int argmin0 = place_of(join_threads(argmin0_all, lane, Argmin_f32()));
    if (lane == 0) {
        counter[row] = 0;  // ready for the next launch
        const int64 v1 = convert<int64>(argmin0);  // cast: i64[], line 2
        store(out, v1);
    }
}
