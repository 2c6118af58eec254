// linear_relu_product_f32
// fused: matmul, add, relu
// x: f32[n0, n1, n2], w: f32[n2, n4], b: f32[n4] -> out: f32[n0, n1, n4]
// accumulation plan of the product: one fma a step, in rising order
// batch n0, rows n1, columns n4, depth n2; template product.cu.j2, target sm_75
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     1    // loads and stores of up to 16 bytes at once
#define USE_SHARED_MEMORY 1    // tiles of the operands pass through shared memory
#define USE_PADDED_TILE   1    // lines of a tile start in different banks of shared memory
#define VECTOR            4    // consecutive elements of one access to an operand
#define BLOCK_M           32   // rows of the tile of a block
#define BLOCK_N           32   // columns of the tile of a block
#define BLOCK_K           16   // steps along the inner dimension between two loads of tiles
#define THREAD_M          2    // rows of a thread
#define THREAD_N          2    // columns of a thread
#define WIDTH             2    // adjacent columns of a thread
#define STAGES            1    // tiles of a factor in shared memory, all but one on their way
#include "opweave.cuh"

#define BLOCK (BLOCK_M / THREAD_M * (BLOCK_N / THREAD_N))
#define FRAGMENTS (THREAD_N / WIDTH)
#define PAD (USE_PADDED_TILE ? 4 : 0)

extern "C" __global__ void __launch_bounds__(BLOCK)
linear_relu_product_f32(
    const float* __restrict__ x,
    const float* __restrict__ w,
    const float* __restrict__ b,
    float* __restrict__ out,
    const index_t rows,
    const index_t cols,
    const index_t depth,
    const index_t x_s0,
    const index_t x_s1,
    const index_t w_s0)
{
    // index: a block is a tile, tiles along a row of tiles first, the batch last
    const index_t tiles_n = (cols + BLOCK_N - 1) / BLOCK_N;
    const index_t tiles_m = (rows + BLOCK_M - 1) / BLOCK_M;
    const index_t batch = blockIdx.x / tiles_n / tiles_m;
    const index_t m0 = blockIdx.x / tiles_n % tiles_m * BLOCK_M;
    const index_t col0 = blockIdx.x % tiles_n * BLOCK_N;
    const int thread_m = threadIdx.x / (BLOCK_N / THREAD_N) * THREAD_M;
    const int thread_n = threadIdx.x % (BLOCK_N / THREAD_N) * WIDTH;

    float acc[THREAD_M][FRAGMENTS][WIDTH];
#pragma unroll
    for (int i = 0; i < THREAD_M; ++i)
        for (int q = 0; q < FRAGMENTS; ++q)
            for (int l = 0; l < WIDTH; ++l) acc[i][q][l] = 0;

    // one step along the depth, for the columns of fragment q
    const auto accumulate = [&](const float (&left)[THREAD_M], const float (&right)[FRAGMENTS][WIDTH], const int q) {
#pragma unroll
        for (int i = 0; i < THREAD_M; ++i)
            for (int l = 0; l < WIDTH; ++l)
                acc[i][q][l] = fma(left[i], right[q][l], acc[i][q][l]);  // matmul: f32[n0, n1, n4], line 2
    };

#if USE_SHARED_MEMORY
    // what lies outside is 0 * -0, which adds nothing, not even a sign of zero
    __shared__ __align__(16) float left_tile[STAGES * BLOCK_K][BLOCK_M + PAD];
    __shared__ __align__(16) float right_tile[STAGES * BLOCK_K][BLOCK_N + PAD];
    for (index_t k0 = 0; k0 < depth; k0 += BLOCK_K) {
        // load: a tile of x
        for (int e = threadIdx.x * VECTOR; e < BLOCK_M * BLOCK_K; e += BLOCK * VECTOR) {
            const int i = e / BLOCK_K, k = e % BLOCK_K;
            const index_t inside = m0 + i < rows ? depth - k0 - k : 0;
            float chunk[VECTOR];
            load_chunk(chunk, x + batch * x_s0 + (m0 + i) * x_s1 + k0 + k, inside);
#pragma unroll
            for (int l = 0; l < VECTOR; ++l) left_tile[k + l][i] = chunk[l];
        }
        // load: a tile of w
        for (int e = threadIdx.x * VECTOR; e < BLOCK_N * BLOCK_K; e += BLOCK * VECTOR) {
            const int k = e / BLOCK_N, i = e % BLOCK_N;
            const index_t inside = k0 + k < depth ? cols - col0 - i : 0;
            float chunk[VECTOR];
            load_chunk(chunk, w + col0 + i + (k0 + k) * w_s0, inside, -0.0f);
#pragma unroll
            for (int l = 0; l < VECTOR; ++l) right_tile[k][i + l] = chunk[l];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BLOCK_K; ++k) {
            float left[THREAD_M], right[FRAGMENTS][WIDTH];
#pragma unroll
            for (int i = 0; i < THREAD_M; ++i) left[i] = left_tile[k][thread_m + i];
#pragma unroll
            for (int q = 0; q < FRAGMENTS; ++q)
                for (int l = 0; l < WIDTH; ++l) right[q][l] = right_tile[k][q * (BLOCK_N / FRAGMENTS) + thread_n + l];
#pragma unroll
            for (int q = 0; q < FRAGMENTS; ++q) accumulate(left, right, q);
        }
        __syncthreads();  // the tiles may be written again
    }
#else
    // straight from memory; a row behind the last reads the last one, and is not stored
    index_t left_row[THREAD_M];
#pragma unroll
    for (int i = 0; i < THREAD_M; ++i) left_row[i] = min(m0 + thread_m + i, rows - 1);
    const auto accumulate_all = [&](const int q, const index_t j0, const auto inside) {
        for (index_t k = 0; k < depth; ++k) {
            float left[THREAD_M], right[FRAGMENTS][WIDTH];
#pragma unroll
            for (int i = 0; i < THREAD_M; ++i) left[i] = load(x + batch * x_s0 + left_row[i] * x_s1 + k);
            load_chunk(right[q], w + j0 + k * w_s0, inside);
            accumulate(left, right, q);
        }
    };
#pragma unroll
    for (int q = 0; q < FRAGMENTS; ++q) {
        const index_t j0 = col0 + q * (BLOCK_N / FRAGMENTS) + thread_n;
        if (cols - j0 >= WIDTH) accumulate_all(q, j0, Constant<WIDTH>());
        else if (j0 < cols) accumulate_all(q, j0, cols - j0);
    }
#endif

    // epilogue: adjacent columns at a time; the guard is width - j0
#pragma unroll
    for (int i = 0; i < THREAD_M; ++i) {
        const index_t row = m0 + thread_m + i;
        const index_t width = row < rows ? cols : 0;
#pragma unroll
        for (int q = 0; q < FRAGMENTS; ++q) {
            const index_t j0 = col0 + q * (BLOCK_N / FRAGMENTS) + thread_n;
            float b_v[WIDTH];
            load_chunk(b_v, b + j0, width - j0);
            float out_v[WIDTH];
#pragma unroll
            for (int l = 0; l < WIDTH; ++l) {
                const float v0 = acc[i][q][l];  // matmul: f32[n0, n1, n4], line 2
                const float v1 = v0 + b_v[l];  // add: f32[n0, n1, n4], line 2
                const float v2 = max_nan(v1, (float)0);  // relu: f32[n0, n1, n4], line 2
                out_v[l] = v2;
            }
            store_chunk(out + (batch * rows + row) * cols + j0, out_v, width - j0);
        }
    }
}
