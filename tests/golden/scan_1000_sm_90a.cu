// running_mean_scan_f32
// fused: cumsum, coordinate, add, cast, divide
// x: f32[n0, n1] -> out: f32[n0, n1]
// accumulation plan: tiles of 32 threads x 4 lanes, in order
// rows n0, columns n1; template scan.cu.j2, target sm_90a
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     1    // loads and stores of up to 16 bytes at once
#define USE_WARP_SHUFFLE  1    // join the threads of a warp by shuffles, not through shared memory
#define THREADS_PER_ROW   32   // accumulation plan: threads that share a row
#define LANES             4    // accumulation plan: running values of one thread
#define ROWS_PER_BLOCK    4    // rows of one block
#include "opweave.cuh"

#define BLOCK (THREADS_PER_ROW * ROWS_PER_BLOCK)
#include "rows.cuh"

struct Cumsum_f32 {
    __device__ float operator()(float x, float y) const { return x + y; }
};

extern "C" __global__ void __launch_bounds__(BLOCK)
running_mean_scan_f32(
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

    // what came before a tile
    float cumsum0_carry = -0.0f;
    const index_t tiles = (cols + THREADS_PER_ROW * LANES - 1) / (THREADS_PER_ROW * LANES);
    for (index_t tile = 0; tile < tiles; ++tile) {
        // load: what lies behind the row's end comes last, and is joined to nothing inside
        const index_t j0 = (tile * THREADS_PER_ROW + lane) * LANES;
        float x_v[LANES];
        load_chunk(x_v, x + row * cols + j0, width - j0);

        // cumsum
        float cumsum0[LANES];
#pragma unroll
        for (int l = 0; l < LANES; ++l) {
            cumsum0[l] = x_v[l];  // cumsum: f32[n0, n1], line 2
        }
        scan_tile(cumsum0, cumsum0_carry, lane, -0.0f, Cumsum_f32());

        // store out
        float out_v[LANES];
#pragma unroll
        for (int l = 0; l < LANES; ++l) {
            const index_t j = j0 + l;
            const int64 v1 = j;  // coordinate: i64[n1], line 2
            const int64 v2 = wrap_add(v1, 1LL);  // add: i64[n1], line 2
            const float v3 = convert<float>(v2);  // cast: f32[n1], line 2
            const float v4 = cumsum0[l] / v3;  // divide: f32[n0, n1], line 2
            out_v[l] = v4;
        }
        store_chunk(out + row * cols + j0, out_v, width - j0);
    }
}
