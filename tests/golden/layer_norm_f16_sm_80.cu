// layer_norm_row_f16
// fused: cast, sum, divide, cast, subtract, multiply, sum, divide, cast, subtract, add, sqrt, divide, multiply,
//   add
// x: f16[n0, n1], w: f16[n1], b: f16[n1] -> out: f16[n0, n1]
// accumulation plan: 32 threads x 4 lanes a row, joined pairwise
// rows n0, columns n1; template row.cu.j2, target sm_80
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

struct Sum_f32 {
    __device__ float operator()(float x, float y) const { return x + y; }
};

extern "C" __global__ void __launch_bounds__(BLOCK)
layer_norm_row_f16(
    const float16* __restrict__ x,
    const float16* __restrict__ w,
    const float16* __restrict__ b,
    const float s0,  // s0 = n1
    float16* __restrict__ out,
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
    Chunk<float16, LANES> x_row[ROW_CHUNKS];
    hold_row(x_row, lane, x_load);
#else
    const index_t chunks = (cols + THREADS_PER_ROW * LANES - 1) / (THREADS_PER_ROW * LANES);
    const auto& x_row = x_load;  // each pass reads it again
#endif

    // pass 0: sum
    float sum0_acc[LANES];
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
        sum0_acc[l] = 0;
    }
#pragma unroll ROW_CHUNKS
    for (index_t c0 = 0; c0 < chunks; c0 += CHUNKS) {
        Chunk<float16, LANES> x_next[CHUNKS];
        read_chunks(x_next, x_row, c0, lane);
#pragma unroll
        for (int k = 0; k < CHUNKS; ++k) {
            const index_t c = c0 + k, j0 = (c * THREADS_PER_ROW + lane) * LANES, edge = row_end(j0, width);
            const auto& x_v = x_next[k];
#pragma unroll
            for (int l = 0; l < LANES; ++l) {
                const float v0 = convert<float>(x_v[l]);  // cast: f32[n0, n1], line 2
                if (in_row(j0, l, edge)) {
                    sum0_acc[l] = sum0_acc[l] + v0;  // sum: f32[n0, 1], line 2
                }
            }
        }
    }
    const float sum0 = join_row(sum0_acc, lane, Sum_f32());
    const float v2 = sum0 / s0;  // divide: f32[n0, 1], line 2
    const float v3 = convert<float16>(v2);  // cast: f16[n0, 1], line 2

    // pass 1: sum
    float sum1_acc[LANES];
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
        sum1_acc[l] = 0;
    }
#pragma unroll ROW_CHUNKS
    for (index_t c0 = 0; c0 < chunks; c0 += CHUNKS) {
        Chunk<float16, LANES> x_next[CHUNKS];
        read_chunks(x_next, x_row, c0, lane);
#pragma unroll
        for (int k = 0; k < CHUNKS; ++k) {
            const index_t c = c0 + k, j0 = (c * THREADS_PER_ROW + lane) * LANES, edge = row_end(j0, width);
            const auto& x_v = x_next[k];
#pragma unroll
            for (int l = 0; l < LANES; ++l) {
                const float v0 = convert<float>(x_v[l]);  // cast: f32[n0, n1], line 2
                const float v4 = v0 - v2;  // subtract: f32[n0, n1], line 3
                const float v5 = v4 * v4;  // multiply: f32[n0, n1], line 3
                if (in_row(j0, l, edge)) {
                    sum1_acc[l] = sum1_acc[l] + v5;  // sum: f32[n0, 1], line 3
                }
            }
        }
    }
    const float sum1 = join_row(sum1_acc, lane, Sum_f32());
    const float v7 = sum1 / s0;  // divide: f32[n0, 1], line 3
    const float v8 = convert<float16>(v7);  // cast: f16[n0, 1], line 3
    const float v9 = round_f16(v8 + 1.001358e-05f);  // add: f16[n0, 1], line 4
    const float v10 = round_f16(sqrt(v9));  // sqrt: f16[n0, 1], line 4

    // load: a chunk of w
    const auto w_load = [&](auto& w_v, const index_t j0) {
        load_of_row<false>(w_v, w + j0, j0, width);
    };

    // load: a chunk of b
    const auto b_load = [&](auto& b_v, const index_t j0) {
        load_of_row<false>(b_v, b + j0, j0, width);
    };

    // pass 2: store out
#pragma unroll ROW_CHUNKS
    for (index_t c0 = 0; c0 < chunks; c0 += CHUNKS) {
        Chunk<float16, LANES> x_next[CHUNKS];
        read_chunks(x_next, x_row, c0, lane);
        Chunk<float16, LANES> w_next[CHUNKS];
        read_chunks(w_next, w_load, c0, lane);
        Chunk<float16, LANES> b_next[CHUNKS];
        read_chunks(b_next, b_load, c0, lane);
#pragma unroll
        for (int k = 0; k < CHUNKS; ++k) {
            const index_t c = c0 + k, j0 = (c * THREADS_PER_ROW + lane) * LANES, edge = row_end(j0, width);
            const auto& x_v = x_next[k];
            const auto& w_v = w_next[k];
            const auto& b_v = b_next[k];
            float out_v[LANES];
#pragma unroll
            for (int l = 0; l < LANES; ++l) {
                const float v11 = round_f16(x_v[l] - v3);  // subtract: f16[n0, n1], line 4
                const float v12 = round_f16(short_quotient(v11, v10));  // divide: f16[n0, n1], line 4
                const float v13 = round_f16(v12 * w_v[l]);  // multiply: f16[n0, n1], line 4
                const float v14 = round_f16(v13 + b_v[l]);  // add: f16[n0, n1], line 4
                out_v[l] = v14;
            }
            store_chunk(out + row * cols + j0, out_v, edge - j0);
        }
    }
}
