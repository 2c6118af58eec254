// picked_softmax_row_f32
// fused: index, coordinate, gather_2d, max, subtract, exp, sum, divide
// x: f32[n0, n1], constant0_view: i64[4, 1] -> out: f32[4, n1]
// accumulation plan: 16 threads x 4 lanes a row, joined pairwise
// rows 4, columns n1; template row.cu.j2, target sm_75
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     1    // loads and stores of up to 16 bytes at once
#define USE_WARP_SHUFFLE  1    // join the threads of a warp by shuffles, not through shared memory
#define THREADS_PER_ROW   16   // accumulation plan: threads that share a row
#define LANES             4    // accumulation plan: running values of one thread
#define ROWS_PER_BLOCK    8    // rows of one block
#define USE_REGISTER_ROW  1    // the row stays in registers between passes
#define ROW_CHUNKS        2    // chunks of a row that one thread may hold; its loops unroll by them
#define CHUNKS            2    // accesses of one thread, all issued before the first use
#define WHOLE_CHUNKS      USE_VECTOR_IO  // no row ends inside of a chunk
#define INNER_CHUNKS      1    // the first chunks of a thread lie inside of each row of this class
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
picked_softmax_row_f32(
    const float* __restrict__ x,
    const int64* __restrict__ constant0_view,
    const int64 s0,  // s0 = n0
    float* __restrict__ out,
    const index_t rows,
    const index_t cols,
    const index_t n0,
    const index_t n1,
    const index_t x_s0,
    uint64* faults)
{
    // index
    const int lane = threadIdx.x % THREADS_PER_ROW;
    const index_t row = (index_t)blockIdx.x * ROWS_PER_BLOCK + threadIdx.x / THREADS_PER_ROW;
    const bool active = row < rows;
    // guard: threads beyond the last row see no columns, but stay for barriers and shuffles
    const index_t width = active ? cols : 0;
    const bool here = active;
    const int64 constant0_view_v = active ? load(constant0_view + row) : 0;
    const int64 v0 = index_of(constant0_view_v, s0, here, faults, 1);  // index: i64[4, 1], line 2

    // load: a chunk of x
    const auto window0_load = [&](auto& window0, const index_t j0) {
        const index_t edge = row_end(j0, width);
        load_window(window0, x + (index_t)v0 * x_s0, 1, is_inside(v0, n0) ? n1 : 0, j0);
    };
#if USE_REGISTER_ROW
    const int chunks = ROW_CHUNKS;
    float window0_row[ROW_CHUNKS][LANES];
    hold_row(window0_row, lane, window0_load);
#else
    const index_t chunks = (cols + THREADS_PER_ROW * LANES - 1) / (THREADS_PER_ROW * LANES);
    const auto& window0_row = window0_load;  // each pass reads it again
#endif
    float v3_kept[ROW_CHUNKS][LANES];  // it takes long to compute

    // pass 0: max
    float max0_acc[LANES];
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
        max0_acc[l] = -infinity<float>();
    }
#pragma unroll ROW_CHUNKS
    for (index_t c0 = 0; c0 < chunks; c0 += CHUNKS) {
        float window0_next[CHUNKS][LANES];
        read_chunks(window0_next, window0_row, c0, lane);
#pragma unroll
        for (int k = 0; k < CHUNKS; ++k) {
            const index_t c = c0 + k, j0 = (c * THREADS_PER_ROW + lane) * LANES, edge = row_end(j0, width);
            const auto& window0 = window0_next[k];
#pragma unroll
            for (int l = 0; l < LANES; ++l) {
                if (in_row(j0, l, edge)) {
                    max0_acc[l] = max_nan(max0_acc[l], window0[l]);  // max: f32[4, 1]
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
        float window0_next[CHUNKS][LANES];
        read_chunks(window0_next, window0_row, c0, lane);
#pragma unroll
        for (int k = 0; k < CHUNKS; ++k) {
            const index_t c = c0 + k, j0 = (c * THREADS_PER_ROW + lane) * LANES, edge = row_end(j0, width);
            const auto& window0 = window0_next[k];
#pragma unroll
            for (int l = 0; l < LANES; ++l) {
                const float v2 = window0[l] - max0;  // subtract: f32[4, n1]
                const float v3 = exp(v2);  // exp: f32[4, n1]
                if (in_row(j0, l, edge)) {
                    sum0_acc[l] = sum0_acc[l] + v3;  // sum: f32[4, 1]
                }
                v3_kept[c][l] = v3;
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
            float v5_chunk[LANES];
            divide_chunk(v5_chunk, v3_kept[c], sum0);  // divide: f32[4, n1]
            float out_v[LANES];
#pragma unroll
            for (int l = 0; l < LANES; ++l) {
                out_v[l] = v5_chunk[l];
            }
            store_chunk(out + row * cols + j0, out_v, edge - j0);
        }
    }
}
