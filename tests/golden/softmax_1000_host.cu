// softmax_row_f32
// fused: max, subtract, exp, sum, divide
// x: f32[n0, n1] -> out: f32[n0, n1]
// accumulation plan: 1 thread x 32 lanes a row, joined pairwise
// rows n0, columns n1; template row.cu.j2, target host
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     0    // loads and stores of up to 16 bytes at once
#define USE_WARP_SHUFFLE  0    // join the threads of a warp by shuffles, not through shared memory
#define THREADS_PER_ROW   1    // accumulation plan: threads that share a row
#define LANES             32   // accumulation plan: running values of one thread
#define ROWS_PER_BLOCK    1    // rows of one block
#define USE_REGISTER_ROW  0    // the row stays in registers between passes
#define ROW_CHUNKS        1    // chunks of a row that one thread may hold; its loops unroll by them
#define CHUNKS            1    // accesses of one thread, all issued before the first use
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

    // load: a chunk of the row
    const auto x_load = [&](float (&x_v)[LANES], const index_t j0) {
        load_chunk(x_v, x + row * cols + j0, width - j0);
    };
#if USE_REGISTER_ROW
    const int chunks = ROW_CHUNKS;
    float x_row[ROW_CHUNKS][LANES];
    hold_row(x_row, lane, x_load);
#else
    const index_t chunks = (cols + THREADS_PER_ROW * LANES - 1) / (THREADS_PER_ROW * LANES);
    const auto& x_row = x_load;  // each pass reads it again
#endif
    float v2_kept[1024 / LANES][LANES];  // it takes long to compute

    // pass 0: max
    float max0_acc[LANES];
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
        max0_acc[l] = -infinity<float>();
    }
#pragma unroll ROW_CHUNKS
    for (index_t c = 0; c < chunks; ++c) {
        const index_t j0 = (c * THREADS_PER_ROW + lane) * LANES;
        float x_v[LANES];
        read_chunk(x_v, x_row, c, j0);
#pragma unroll
        for (int l = 0; l < LANES; ++l) {
            const bool inside = j0 + l < width;
            max0_acc[l] = chosen(inside, max_nan(max0_acc[l], x_v[l]), max0_acc[l]);  // max: f32[n0, 1], line 2
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
    for (index_t c = 0; c < chunks; ++c) {
        const index_t j0 = (c * THREADS_PER_ROW + lane) * LANES;
        float x_v[LANES];
        read_chunk(x_v, x_row, c, j0);
#pragma unroll
        for (int l = 0; l < LANES; ++l) {
            const float v1 = x_v[l] - max0;  // subtract: f32[n0, n1], line 2
            const float v2 = exp(v1);  // exp: f32[n0, n1], line 2
            const bool inside = j0 + l < width;
            sum0_acc[l] = chosen(inside, sum0_acc[l] + v2, sum0_acc[l]);  // sum: f32[n0, 1], line 3
            v2_kept[c][l] = v2;
        }
    }
    const float sum0 = join_row(sum0_acc, lane, Sum_f32());

    // pass 2: store out
#pragma unroll ROW_CHUNKS
    for (index_t c = 0; c < chunks; ++c) {
        const index_t j0 = (c * THREADS_PER_ROW + lane) * LANES;
        float out_v[LANES];
#pragma unroll
        for (int l = 0; l < LANES; ++l) {
            const float v2 = v2_kept[c][l];  // exp: f32[n0, n1], line 2, kept
            const float v4 = v2 / sum0;  // divide: f32[n0, n1], line 3
            out_v[l] = v4;
        }
        store_chunk(out + row * cols + j0, out_v, width - j0);
    }
}
