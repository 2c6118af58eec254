// unit_row_f32
// fused: multiply, sum, sqrt, divide, add
// x: f32[n0, n1] -> out: f32[n0, n1]
// accumulation plan: 32 threads x 4 lanes a row, joined pairwise
// rows n0, columns n1; template row.cu.j2, target sm_90a
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     1    // loads and stores of up to 16 bytes at once
#define USE_WARP_SHUFFLE  1    // join the threads of a warp by shuffles, not through shared memory
#define THREADS_PER_ROW   32   // accumulation plan: threads that share a row
#define LANES             4    // accumulation plan: running values of one thread
#define ROWS_PER_BLOCK    4    // rows of one block
#define USE_REGISTER_ROW  1    // the row stays in registers between passes
#define ROW_CHUNKS        8    // chunks of a row that one thread may hold; its loops unroll by them
#define CHUNKS            4    // accesses of one thread, all issued before the first use
#include "opweave.cuh"

#define BLOCK (THREADS_PER_ROW * ROWS_PER_BLOCK)
#include "rows.cuh"

struct Sum_f32 {
    __device__ float operator()(float x, float y) const { return x + y; }
};

extern "C" __global__ void __launch_bounds__(BLOCK)
unit_row_f32(
    const float* x,
    float* out,
    const index_t rows,
    const index_t cols,
    const int turns)
{
    // index
    const int lane = threadIdx.x % THREADS_PER_ROW;
    const index_t row = (index_t)blockIdx.x * ROWS_PER_BLOCK + threadIdx.x / THREADS_PER_ROW;
    const bool active = row < rows;
    // guard: threads beyond the last row see no columns, but stay for barriers and shuffles
    const index_t width = active ? cols : 0;

    // repeat: results are the next turn's operands; each element is the same thread's in all turns
    const float* x_turn = x;

    // load: a chunk of the row
    const auto x_load = [&](float (&x_v)[LANES], const index_t j0) {
        load_chunk(x_v, x_turn + row * cols + j0, width - j0);
    };
#if USE_REGISTER_ROW
    const int chunks = ROW_CHUNKS;
    float x_row[ROW_CHUNKS][LANES];
    hold_row(x_row, lane, x_load);
#else
    const index_t chunks = (cols + THREADS_PER_ROW * LANES - 1) / (THREADS_PER_ROW * LANES);
    const auto& x_row = x_load;  // each pass reads it again
#endif
    for (int turn = 0; turn < turns; ++turn) {

        // pass 0: sum
        float sum0_acc[LANES];
#pragma unroll
        for (int l = 0; l < LANES; ++l) {
            sum0_acc[l] = 0;
        }
#pragma unroll ROW_CHUNKS
        for (index_t c = 0; c < chunks; ++c) {
            const index_t j0 = (c * THREADS_PER_ROW + lane) * LANES;
            float x_v[LANES];
            read_chunk(x_v, x_row, c, j0);
#pragma unroll
            for (int l = 0; l < LANES; ++l) {
                const float v0 = x_v[l] * x_v[l];  // multiply: f32[n0, n1], line 2
                if (j0 + l < width) {
                    sum0_acc[l] = sum0_acc[l] + v0;  // sum: f32[n0, 1], line 2
                }
            }
        }
        const float sum0 = join_row(sum0_acc, lane, Sum_f32());
        const float v2 = sqrt(sum0);  // sqrt: f32[n0, 1], line 2

        // pass 1: store out
#pragma unroll ROW_CHUNKS
        for (index_t c = 0; c < chunks; ++c) {
            const index_t j0 = (c * THREADS_PER_ROW + lane) * LANES;
            float x_v[LANES];
            read_chunk(x_v, x_row, c, j0);
            float v3_chunk[LANES];
            divide_chunk(v3_chunk, x_v, v2);  // divide: f32[n0, n1], line 2
            float out_v[LANES];
#pragma unroll
            for (int l = 0; l < LANES; ++l) {
                const float v4 = v3_chunk[l] + 0.1f;  // add: f32[n0, n1], line 2
                out_v[l] = v4;
            }
#if USE_REGISTER_ROW
            for (int l = 0; l < LANES; ++l) x_row[c][l] = out_v[l];
            if (turn < turns - 1) continue;  // what the last turn makes is stored
#endif
            store_chunk(out + row * cols + j0, out_v, width - j0);
        }
        x_turn = out;
    }
}
