// column_sum_row_f32
// fused: multiply, sum
// x: f32[n0, n1] -> out: f32[n1]
// accumulation plan: 8 threads x 4 lanes a row, joined pairwise
// rows n0, columns n1; template outer.cu.j2, target sm_80
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     1    // loads and stores of up to 16 bytes at once
#define USE_WARP_SHUFFLE  1    // join the threads of a warp by shuffles, not through shared memory
#define THREADS_PER_ROW   8    // accumulation plan: threads that share a row
#define LANES             4    // accumulation plan: running values of one thread
#define COLUMNS           1    // neighbouring columns of one thread
#define ACROSS            32   // threads side by side, with columns of their own
#define PARTS             1    // accumulation plan: blocks that share a row
#define USE_RUNS          0    // accumulation plan: a block has a run of its row, not every PARTS-th piece
#include "opweave.cuh"

#define BLOCK (THREADS_PER_ROW * ACROSS)
#define EACH_COLUMN OW_UNROLL for (int l = 0; l < COLUMNS; ++l)
#include "rows.cuh"

struct Sum_f32 {
    __device__ float operator()(float x, float y) const { return x + y; }
};

extern "C" __global__ void __launch_bounds__(BLOCK)
column_sum_row_f32(
    const float* __restrict__ x,
    float* __restrict__ out,
    const index_t rows,
    const index_t cols)
{
    // index: blockIdx.x counts bands of columns, blockIdx.y the parts of their rows
    const int side = threadIdx.x % ACROSS, lane = threadIdx.x / ACROSS;
    const index_t j0 = ((index_t)blockIdx.x * ACROSS + side) * COLUMNS;
    // guard: all columns of a thread lie inside or none, which stays for barriers and shuffles
    const index_t edge = j0 + COLUMNS;
    const index_t chunks = j0 < cols ? (rows + LANES - 1) / LANES : 0;
#if USE_RUNS
    const index_t run = (chunks + PARTS - 1) / PARTS, step = THREADS_PER_ROW;
    const index_t begin = (index_t)blockIdx.y * run, end = begin + run;
#else
    const index_t begin = (index_t)blockIdx.y * THREADS_PER_ROW, end = chunks, step = PARTS * THREADS_PER_ROW;
#endif

    // pass 0: sum
    float sum0_acc[COLUMNS][LANES];
#pragma unroll
    for (int k = 0; k < LANES; ++k) EACH_COLUMN sum0_acc[l][k] = 0;
    const auto pass_0 = [&](const index_t c, const auto inside) {  // so many rows of a chunk
        // load: all of them before the first is taken, the last one again behind it
        float x_row[LANES][COLUMNS];
#pragma unroll
        for (int k = 0; k < LANES; ++k) {
            const index_t row = c * LANES + min(k, inside - 1);
            load_chunk(x_row[k], x + row * cols + j0, edge - j0);
        }
#pragma unroll
        for (int k = 0; k < LANES; ++k) {
            if (k >= inside) break;
            const auto& x_v = x_row[k];
            EACH_COLUMN {
                const float v0 = x_v[l] * x_v[l];  // multiply: f32[n0, n1], line 2
                sum0_acc[l][k] = sum0_acc[l][k] + v0;  // sum: f32[n1], line 2
            }
        }
    };
    for (index_t c = begin + lane; c < end; c += step) {
        if (c < rows / LANES) pass_0(c, Constant<LANES>());  // no row needs a guard
        else pass_0(c, (int)(rows - c * LANES));
    }
    float sum0[COLUMNS];
    EACH_COLUMN sum0[l] = join_lanes(sum0_acc[l], Sum_f32());
    join_down(sum0, side, lane, Sum_f32());

    // store: one thread a column
    if (lane == 0) {
        float out_v[COLUMNS];
        EACH_COLUMN out_v[l] = sum0[l];
        store_chunk(out + j0, out_v, cols - j0);
    }
}
