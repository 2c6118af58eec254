// transposed_sum_map_f32
// fused: add
// x_view: f32[n1, n0], y: f32[n1, n0] -> out: f32[n1, n0]
// rows n1, columns n0; template tile.cu.j2, target host
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     0    // loads and stores of up to 16 bytes at once
#define USE_SHARED_MEMORY 0    // tiles of the operands pass through shared memory
#define USE_PADDED_TILE   0    // lines of a tile start in different banks of shared memory
#define BLOCK             1    // threads in a block
#define TILE              64   // rows and columns of the tile of a block
#define VECTOR            16   // consecutive elements of one access
#include "opweave.cuh"

#define PAD (USE_PADDED_TILE ? 1 : 0)
// Accesses that go across before the next line: eight lanes share a line, four lines a warp.
#define ACROSS (TILE / VECTOR < 8 ? TILE / VECTOR : 8)

extern "C" __global__ void __launch_bounds__(BLOCK)
transposed_sum_map_f32(
    const float* __restrict__ x_view,
    const float* __restrict__ y,
    float* __restrict__ out,
    const index_t rows,
    const index_t cols,
    const index_t x_s0)
{
    // index: a block is a tile, tiles along a row of tiles first
    const index_t tiles_n = (cols + TILE - 1) / TILE;
    const index_t m0 = blockIdx.x / tiles_n * TILE;
    const index_t col0 = blockIdx.x % tiles_n * TILE;

#if USE_SHARED_MEMORY
    // load: along the rows, column by column
    __shared__ __align__(16) float x_view_tile[TILE][TILE + PAD];
#pragma unroll
    for (int e = threadIdx.x; e < TILE * TILE / VECTOR; e += BLOCK) {
        const int j = e / ACROSS % TILE, i = (e / (ACROSS * TILE) * ACROSS + e % ACROSS) * VECTOR;
        const index_t inside = col0 + j < cols ? rows - m0 - i : 0;
        float x_view_v[VECTOR];
        load_chunk(x_view_v, x_view + m0 + i + (col0 + j) * x_s0, inside);
        for (int l = 0; l < VECTOR; ++l) x_view_tile[j][i + l] = x_view_v[l];
    }
    __syncthreads();
#endif

    // square by square, a line of the caches wide, and row by row of each
    for (int e = threadIdx.x; e < TILE * TILE / (VECTOR * VECTOR); e += BLOCK) {
        const int i0 = e / (TILE / VECTOR) * VECTOR, j = e % (TILE / VECTOR) * VECTOR;
        const index_t j0 = col0 + j;
        if (m0 + i0 >= rows || j0 >= cols) continue;
#if !USE_SHARED_MEMORY
        float x_view_square[VECTOR][VECTOR];
        load_turned(x_view_square, x_view + m0 + i0 + j0 * x_s0, x_s0, m0 + i0, rows, j0, cols);
#endif
        for (int i = i0; i < i0 + VECTOR && m0 + i < rows; ++i) {
            const index_t row = m0 + i, width = cols;
            float x_view_v[VECTOR];
#if USE_SHARED_MEMORY
            for (int l = 0; l < VECTOR; ++l) x_view_v[l] = x_view_tile[j + l][i];
#else
            take_line(x_view_v, x_view_square[i - i0]);
#endif
            float y_v[VECTOR];
            load_chunk(y_v, y + row * cols + j0, width - j0);
            float out_v[VECTOR];
#pragma unroll
            for (int l = 0; l < VECTOR; ++l) {
                const float v0 = x_view_v[l] + y_v[l];  // add: f32[n1, n0], line 2
                out_v[l] = v0;
            }
            store_chunk(out + row * cols + j0, out_v, width - j0);
        }
    }
}
