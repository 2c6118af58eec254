// complex_rows_product_rows_c64
// fused: matmul, add, sum, divide
// x: c64[n0, n1], w: c64[n1, n3], b: c64[n3] -> out: c64[n0, n3]
// accumulation plan: 8 threads x 4 lanes a row, joined pairwise
// accumulation plan of the product: one fma a step, in rising order
// rows n0, columns n3, depth n1; template product_rows.cu.j2, target sm_90a
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     1    // loads and stores of up to 16 bytes at once
#define USE_SHARED_MEMORY 1    // tiles of the operands pass through shared memory
#define USE_PADDED_TILE   1    // lines of a tile start in different banks of shared memory
#define VECTOR            2    // consecutive elements of one access to an operand
#define BLOCK_M           32   // rows of the tile of a block
#define BLOCK_N           64   // columns of the tile of a block
#define BLOCK_K           16   // steps along the inner dimension between two loads of tiles
#define THREAD_M          2    // rows of a thread
#define THREAD_N          4    // columns of a thread
#define WIDTH             4    // adjacent columns of a thread
#define STAGES            1    // tiles of a factor in shared memory, all but one on their way
#define USE_WARP_SHUFFLE  1    // join the threads of a warp by shuffles, not through shared memory
#define THREADS_PER_ROW   8    // accumulation plan: threads that share a row
#define LANES             4    // accumulation plan: running values of one thread
#define USE_REGISTER_ROW  1    // the row stays in registers between passes
#define ROW_CHUNKS        2    // chunks of a row that one thread may hold; its loops unroll by them
#include "opweave.cuh"

#define BLOCK (BLOCK_M / THREAD_M * (BLOCK_N / THREAD_N))
#define FRAGMENTS (THREAD_N / WIDTH)
#define PAD (USE_PADDED_TILE ? 4 : 0)

#include "rows.cuh"

struct Sum_c64 {
    __device__ complex64 operator()(complex64 x, complex64 y) const { return x + y; }
};

extern "C" __global__ void __launch_bounds__(BLOCK)
complex_rows_product_rows_c64(
    const complex64* __restrict__ x,
    const complex64* __restrict__ w,
    const complex64* __restrict__ b,
    complex64* __restrict__ out,
    const index_t rows,
    const index_t cols,
    const index_t depth,
    const index_t x_s0,
    const index_t w_s0)
{
    // index: a block is a tile, tiles along a row of tiles first
    const index_t tiles_n = 1;  // a tile holds whole rows, of no columns too
    const index_t m0 = blockIdx.x / tiles_n * BLOCK_M;
    const index_t col0 = blockIdx.x % tiles_n * BLOCK_N;
    const int thread_m = threadIdx.x / (BLOCK_N / THREAD_N) * THREAD_M;
    const int thread_n = threadIdx.x % (BLOCK_N / THREAD_N) * WIDTH;

    complex64 acc[THREAD_M][FRAGMENTS][WIDTH];
#pragma unroll
    for (int i = 0; i < THREAD_M; ++i)
        for (int q = 0; q < FRAGMENTS; ++q)
            for (int l = 0; l < WIDTH; ++l) acc[i][q][l] = complex64();

    // one step along the depth, for the columns of fragment q
    const auto accumulate = [&](const complex64 (&left)[THREAD_M], const complex64 (&right)[FRAGMENTS][WIDTH], const int q) {
#pragma unroll
        for (int i = 0; i < THREAD_M; ++i)
            for (int l = 0; l < WIDTH; ++l)
                acc[i][q][l] = fma(left[i], right[q][l], acc[i][q][l]);  // matmul: c64[n0, n3], line 2
    };

#if USE_SHARED_MEMORY
    // what lies outside is 0 * -0, which adds nothing, not even a sign of zero
    __shared__ __align__(16) complex64 left_tile[STAGES * BLOCK_K][BLOCK_M + PAD];
    __shared__ __align__(16) complex64 right_tile[STAGES * BLOCK_K][BLOCK_N + PAD];
#if STAGES == 1
    for (index_t k0 = 0; k0 < depth; k0 += BLOCK_K) {
        // load: a tile of x
        for (int e = threadIdx.x * VECTOR; e < BLOCK_M * BLOCK_K; e += BLOCK * VECTOR) {
            const int i = e / BLOCK_K, k = e % BLOCK_K;
            const index_t inside = m0 + i < rows ? depth - k0 - k : 0;
            complex64 chunk[VECTOR];
            load_chunk(chunk, x + (m0 + i) * x_s0 + k0 + k, inside);
#pragma unroll
            for (int l = 0; l < VECTOR; ++l) left_tile[k + l][i] = chunk[l];
        }
        // load: a tile of w
        for (int e = threadIdx.x * VECTOR; e < BLOCK_N * BLOCK_K; e += BLOCK * VECTOR) {
            const int k = e / BLOCK_N, i = e % BLOCK_N;
            const index_t inside = k0 + k < depth ? cols - col0 - i : 0;
            complex64 chunk[VECTOR];
            load_chunk(chunk, w + col0 + i + (k0 + k) * w_s0, inside);
#pragma unroll
            for (int l = 0; l < VECTOR; ++l) right_tile[k][i + l] = chunk[l];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BLOCK_K; ++k) {
            complex64 left[THREAD_M], right[FRAGMENTS][WIDTH];
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
    const auto fetch = [&](const index_t k0, const int stage) {
        complex64 (*const left_to)[BLOCK_M + PAD] = left_tile + stage * BLOCK_K;
        complex64 (*const right_to)[BLOCK_N + PAD] = right_tile + stage * BLOCK_K;
        // load: a tile of x
        for (int e = threadIdx.x * VECTOR; e < BLOCK_M * BLOCK_K; e += BLOCK * VECTOR) {
            const int i = e / BLOCK_K, k = e % BLOCK_K;
            const index_t inside = m0 + i < rows ? depth - k0 - k : 0;
#pragma unroll
            for (int l = 0; l < VECTOR; ++l) {
                complex64* const to = &left_to[k + l][i];
                copy_chunk<1>(to, x + (m0 + i) * x_s0 + k0 + k + l, inside - l, complex64());
            }
        }
        // load: a tile of w
        for (int e = threadIdx.x * VECTOR; e < BLOCK_N * BLOCK_K; e += BLOCK * VECTOR) {
            const int k = e / BLOCK_N, i = e % BLOCK_N;
            const index_t inside = k0 + k < depth ? cols - col0 - i : 0;
            copy_chunk<VECTOR>(&right_to[k][i], w + col0 + i + (k0 + k) * w_s0, inside, complex64());
        }
    };
    for (int stage = 0; stage < STAGES - 1; ++stage) {
        if (stage * BLOCK_K < depth) fetch(stage * BLOCK_K, stage);
        copies_begun();
    }
    int stage = 0;
    for (index_t k0 = 0; k0 < depth; k0 += BLOCK_K) {
        copies_done<STAGES - 2>();  // all but those of later tiles
        __syncthreads();  // by every thread; and the tiles that are copied next were read
        if (depth - k0 > (STAGES - 1) * BLOCK_K) fetch(k0 + (STAGES - 1) * BLOCK_K, (stage + STAGES - 1) % STAGES);
        copies_begun();
#pragma unroll
        for (int k = 0; k < BLOCK_K; ++k) {
            complex64 left[THREAD_M], right[FRAGMENTS][WIDTH];
#pragma unroll
            for (int i = 0; i < THREAD_M; ++i) left[i] = left_tile[stage * BLOCK_K + k][thread_m + i];
#pragma unroll
            for (int q = 0; q < FRAGMENTS; ++q)
                for (int l = 0; l < WIDTH; ++l) right[q][l] = right_tile[stage * BLOCK_K + k][q * (BLOCK_N / FRAGMENTS) + thread_n + l];
#pragma unroll
            for (int q = 0; q < FRAGMENTS; ++q) accumulate(left, right, q);
        }
        stage = (stage + 1) % STAGES;
    }
#endif
#else
    // straight from memory; a row behind the last reads the last one, and is not stored
    index_t left_row[THREAD_M];
#pragma unroll
    for (int i = 0; i < THREAD_M; ++i) left_row[i] = min(m0 + thread_m + i, rows - 1);
    const auto accumulate_all = [&](const int q, const index_t j0, const auto inside) {
        for (index_t k = 0; k < depth; ++k) {
            complex64 left[THREAD_M], right[FRAGMENTS][WIDTH];
#pragma unroll
            for (int i = 0; i < THREAD_M; ++i) left[i] = load(x + left_row[i] * x_s0 + k);
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

    // the rows of the block meet in shared memory
    __shared__ __align__(16) complex64 product_tile[BLOCK_M][BLOCK_N + PAD];
    for (int i = 0; i < THREAD_M; ++i)
        for (int q = 0; q < FRAGMENTS; ++q)
            for (int l = 0; l < WIDTH; ++l) {
                const complex64 v = acc[i][q][l] + complex64();  // matmul: c64[n0, n3], line 2
                product_tile[thread_m + i][q * (BLOCK_N / FRAGMENTS) + thread_n + l] = v;
            }
    __syncthreads();

    // guard: threads beyond the last row see no columns, but stay for barriers and shuffles
    const int lane = threadIdx.x % THREADS_PER_ROW;
    for (int r = threadIdx.x / THREADS_PER_ROW; r < BLOCK_M; r += BLOCK / THREADS_PER_ROW) {
        const index_t row = m0 + r;
        const bool active = row < rows;
        const index_t width = active ? cols : 0;

        // load: a chunk of the row
        const auto b_load = [&](complex64 (&b_v)[LANES], const index_t j0) {
            load_chunk(b_v, b + j0, width - j0);
        };

        // load: a chunk of the row
        const auto product_load = [&](complex64 (&product_v)[LANES], const index_t j0) {
            load_chunk(product_v, &product_tile[r][j0], width - j0);
        };
#if USE_REGISTER_ROW
        const int chunks = ROW_CHUNKS;
        complex64 b_row[ROW_CHUNKS][LANES];
        hold_row(b_row, lane, b_load);
        complex64 product_row[ROW_CHUNKS][LANES];
        hold_row(product_row, lane, product_load);
#else
        const index_t chunks = (cols + THREADS_PER_ROW * LANES - 1) / (THREADS_PER_ROW * LANES);
        const auto& b_row = b_load;  // each pass reads it again
        const auto& product_row = product_load;  // each pass reads it again
#endif

        // pass 0: sum
        complex64 sum0_acc[LANES];
#pragma unroll
        for (int l = 0; l < LANES; ++l) {
            sum0_acc[l] = complex64();
        }
#pragma unroll ROW_CHUNKS
        for (index_t c = 0; c < chunks; ++c) {
            const index_t j0 = (c * THREADS_PER_ROW + lane) * LANES;
            complex64 b_v[LANES];
            read_chunk(b_v, b_row, c, j0);
            complex64 product_v[LANES];
            read_chunk(product_v, product_row, c, j0);
#pragma unroll
            for (int l = 0; l < LANES; ++l) {
                const complex64 v0 = product_v[l] + b_v[l];  // add: c64[n0, n3], line 2
                if (j0 + l < width) {
                    sum0_acc[l] = sum0_acc[l] + v0;  // sum: c64[n0, 1], line 3
                }
            }
        }
        const complex64 sum0 = join_row(sum0_acc, lane, Sum_c64());

        // pass 1: store out
#pragma unroll ROW_CHUNKS
        for (index_t c = 0; c < chunks; ++c) {
            const index_t j0 = (c * THREADS_PER_ROW + lane) * LANES;
            complex64 b_v[LANES];
            read_chunk(b_v, b_row, c, j0);
            complex64 product_v[LANES];
            read_chunk(product_v, product_row, c, j0);
            complex64 out_v[LANES];
#pragma unroll
            for (int l = 0; l < LANES; ++l) {
                const complex64 v0 = product_v[l] + b_v[l];  // add: c64[n0, n3], line 2
                const complex64 v2 = v0 / sum0;  // divide: c64[n0, n3], line 3
                out_v[l] = v2;
            }
            store_chunk(out + row * cols + j0, out_v, width - j0);
        }
    }
}
