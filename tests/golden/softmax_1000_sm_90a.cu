// softmax_row_f32
// fused: max, subtract, exp, sum, divide
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
#define WHOLE_CHUNKS      USE_VECTOR_IO  // no row ends inside of a chunk
#define INNER_CHUNKS      4    // the first chunks of a thread lie inside of each row of this class
#include "opweave.cuh"

#define BLOCK (THREADS_PER_ROW * ROWS_PER_BLOCK)
#include "rows.cuh"

struct Max_f32 {
    __device__ float operator()(float x, float y) const { return max_nan(x, y); }
};

struct Sum_f32 {
    __device__ float operator()(float x, float y) const { return x + y; }
};

extern "C" __global__ void __launch_bounds__(BLOCK)
softmax_row_f32(
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

    // load: a chunk of x
    const auto x_load = [&](auto& x_v, const index_t j0) {
        load_of_row<true>(x_v, x + row * cols + j0, j0, width);
    };
#if USE_REGISTER_ROW
    const int chunks = ROW_CHUNKS;
    Chunk<float, LANES> x_row[ROW_CHUNKS];
    hold_row(x_row, lane, x_load);
#else
    const index_t chunks = (cols + THREADS_PER_ROW * LANES - 1) / (THREADS_PER_ROW * LANES);
    const auto& x_row = x_load;  // each pass reads it again
#endif
    float v2_kept[ROW_CHUNKS][LANES];  // it takes long to compute

    // pass 0: max
    float max0_acc[LANES];
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
        max0_acc[l] = -infinity<float>();
    }
#pragma unroll ROW_CHUNKS
    for (index_t c0 = 0; c0 < chunks; c0 += CHUNKS) {
        Chunk<float, LANES> x_next[CHUNKS];
        read_chunks(x_next, x_row, c0, lane);
#pragma unroll
        for (int k = 0; k < CHUNKS; ++k) {
            const index_t c = c0 + k, j0 = (c * THREADS_PER_ROW + lane) * LANES, edge = row_end(j0, width);
            const auto& x_v = x_next[k];
#pragma unroll
            for (int l = 0; l < LANES; ++l) {
                if (in_row(j0, l, edge)) {
                    max0_acc[l] = max_nan(max0_acc[l], x_v[l]);  // max: f32[n0, 1], line 2
                }
            }
        }
    }
    const float max0 = join_row(max0_acc, lane, Max_f32());

    // pass 1: sum
    float sum0_acc[LANES];
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
        sum0_acc[l] = 0;
    }
#pragma unroll ROW_CHUNKS
    for (index_t c0 = 0; c0 < chunks; c0 += CHUNKS) {
        Chunk<float, LANES> x_next[CHUNKS];
        read_chunks(x_next, x_row, c0, lane);
#pragma unroll
        for (int k = 0; k < CHUNKS; ++k) {
            const index_t c = c0 + k, j0 = (c * THREADS_PER_ROW + lane) * LANES, edge = row_end(j0, width);
            const auto& x_v = x_next[k];
#pragma unroll
            for (int l = 0; l < LANES; ++l) {
                const float v1 = x_v[l] - max0;  // subtract: f32[n0, n1], line 2
                const float v2 = exp(v1);  // exp: f32[n0, n1], line 2
                if (in_row(j0, l, edge)) {
                    sum0_acc[l] = sum0_acc[l] + v2;  // sum: f32[n0, 1], line 3
                }
                v2_kept[c][l] = v2;
            }
        }
    }
    const float sum0 = join_row(sum0_acc, lane, Sum_f32());

    // pass 2: store out
#pragma unroll ROW_CHUNKS
    for (index_t c0 = 0; c0 < chunks; c0 += CHUNKS) {
#pragma unroll
        for (int k = 0; k < CHUNKS; ++k) {
            const index_t c = c0 + k, j0 = (c * THREADS_PER_ROW + lane) * LANES, edge = row_end(j0, width);
            float v4_chunk[LANES];
            divide_chunk(v4_chunk, v2_kept[c], sum0);  // divide: f32[n0, n1], line 3
            float out_v[LANES];
#pragma unroll
            for (int l = 0; l < LANES; ++l) {
                out_v[l] = v4_chunk[l];
            }
            store_chunk(out + row * cols + j0, out_v, edge - j0);
        }
    }
}
