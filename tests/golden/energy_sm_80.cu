// energy_reduce_c64
// fused: conjugate, multiply, sum
// z: c64[n0, n1] -> out: c64[]
// accumulation plan: 64 blocks x 256 threads x 4 lanes a row, joined pairwise
// elements n0 * n1; template reduce.cu.j2, target sm_80
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     1    // loads and stores of up to 16 bytes at once
#define USE_WARP_SHUFFLE  1    // join the threads of a warp by shuffles, not through shared memory
#define THREADS_PER_ROW   256  // accumulation plan: threads that share a row
#define LANES             4    // accumulation plan: running values of one thread
#define CHUNKS            2    // accesses of one thread, all issued before the first use
#define BLOCKS_EACH       5    // blocks of a multiprocessor, whose registers they share
#define PARTS             64   // accumulation plan: blocks that share a row
#define USE_RUNS          0    // accumulation plan: a block has a run of its row, not every PARTS-th piece
#include "opweave.cuh"

#define BLOCK THREADS_PER_ROW
#include "rows.cuh"

struct Sum_c64 {
    __device__ complex64 operator()(complex64 x, complex64 y) const { return x + y; }
};

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS_EACH)
energy_reduce_c64(
    const complex64* __restrict__ z,
    complex64* __restrict__ out,
    void* partials,
    unsigned* counter,
    const index_t cols)
{
    // index: blockIdx.x counts the parts of a row, blockIdx.y the rows
    const int lane = threadIdx.x;
    const index_t row = blockIdx.y;

    // sum of this block's part
    complex64 sum0_acc[LANES];
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
        sum0_acc[l] = complex64();
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
        complex64 z_row[CHUNKS][LANES];
#pragma unroll
        for (int k = 0; k < CHUNKS; ++k) {
            const index_t j0 = (c + k * step) * LANES, edge = j0 + LANES;
            load_chunk(z_row[k], z + j0, edge - j0);
        }
#pragma unroll
        for (int k = 0; k < CHUNKS; ++k) {
            const index_t j0 = (c + k * step) * LANES, edge = j0 + LANES;
            const auto& z_v = z_row[k];
#pragma unroll
            for (int l = 0; l < LANES; ++l) {
                const complex64 v0 = conjugate(z_v[l]);  // conjugate: c64[n0, n1], line 2
                const complex64 v1 = v0 * z_v[l];  // multiply: c64[n0, n1], line 2
                if (j0 + l < edge) {
                    sum0_acc[l] = sum0_acc[l] + v1;  // sum: c64[], line 2
                }
            }
        }
    }
#endif
    for (; c < end; c += step) {
        const index_t j0 = c * LANES;
        complex64 z_v[LANES];
        load_chunk(z_v, z + j0, cols - j0);
#pragma unroll
        for (int l = 0; l < LANES; ++l) {
            const complex64 v0 = conjugate(z_v[l]);  // conjugate: c64[n0, n1], line 2
            const complex64 v1 = v0 * z_v[l];  // multiply: c64[n0, n1], line 2
            if (j0 + l < cols) {
                sum0_acc[l] = sum0_acc[l] + v1;  // sum: c64[], line 2
            }
        }
    }
    const complex64 sum0_part = join_row(sum0_acc, lane, Sum_c64());
    volatile_complex64* sum0_parts = part_results<complex64>(partials, 0, PARTS);
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
    complex64 sum0_all = complex64();
    for (int part = lane; part < PARTS; part += BLOCK) {
        const complex64 other = sum0_parts[part];
        sum0_all = sum0_all + other;
    }
    const complex64 sum0 = join_threads(sum0_all, lane, Sum_c64());
    if (lane == 0) {
        counter[row] = 0;  // ready for the next launch
        store(out, sum0);
    }
}
