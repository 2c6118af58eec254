// places_of_rows_row_i64
// fused: argmax, cast, argmin, cast
// x: f32[n0, n1] -> out0: i64[n0], out1: i64[n0]
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

struct Argmax_f32 {
    __device__ Largest<float, int> operator()(Largest<float, int> x, Largest<float, int> y) const { return first_of(x, y); }
};

struct Argmin_f32 {
    __device__ Smallest<float, int> operator()(Smallest<float, int> x, Smallest<float, int> y) const { return first_of(x, y); }
};

extern "C" __global__ void __launch_bounds__(BLOCK)
places_of_rows_row_i64(
    const float* __restrict__ x,
    int64* __restrict__ out0,
    int64* __restrict__ out1,
    const index_t rows,
    const index_t cols)
{
    // index
    const int lane = threadIdx.x % THREADS_PER_ROW;
    const index_t row = (index_t)blockIdx.x * ROWS_PER_BLOCK + threadIdx.x / THREADS_PER_ROW;
    const bool active = row < rows;
    // guard: threads beyond the last row see no columns, but stay for barriers and shuffles
    const index_t width = active ? cols : 0;
#if USE_REGISTER_ROW
    const int chunks = ROW_CHUNKS;
#else
    const index_t chunks = (cols + THREADS_PER_ROW * LANES - 1) / (THREADS_PER_ROW * LANES);
#endif

    // load: a chunk of x
    const auto x_load = [&](auto& x_v, const index_t j0) {
        load_of_row<false>(x_v, x + row * cols + j0, j0, width);
    };

    // pass 0: argmax, argmin
    Largest<float, int> argmax0_acc[LANES];
    Smallest<float, int> argmin0_acc[LANES];
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
        argmax0_acc[l] = Largest<float, int>::none();
        argmin0_acc[l] = Smallest<float, int>::none();
    }
#pragma unroll ROW_CHUNKS
    for (index_t c0 = 0; c0 < chunks; c0 += CHUNKS) {
        Chunk<float, LANES> x_next[CHUNKS];
        read_chunks(x_next, x_load, c0, lane);
#pragma unroll
        for (int k = 0; k < CHUNKS; ++k) {
            const index_t c = c0 + k, j0 = (c * THREADS_PER_ROW + lane) * LANES, edge = row_end(j0, width);
            const auto& x_v = x_next[k];
#pragma unroll
            for (int l = 0; l < LANES; ++l) {
                const index_t j = j0 + l;
                if (in_row(j0, l, edge)) {
                    argmax0_acc[l] = taken(argmax0_acc[l], x_v[l], j);  // argmax: i32[n0], line 2
                    argmin0_acc[l] = taken(argmin0_acc[l], x_v[l], j);  // argmin: i32[n0], line 2
                }
            }
        }
    }
    const int argmax0 = place_of(join_row(argmax0_acc, lane, Argmax_f32()));
    const int argmin0 = place_of(join_row(argmin0_acc, lane, Argmin_f32()));
    const int64 v2 = convert<int64>(argmax0);  // cast: i64[n0], line 2
    const int64 v3 = convert<int64>(argmin0);  // cast: i64[n0], line 2

    // store: one thread a row
    if (active && lane == 0) {
        store(out0 + row, v2);
        store(out1 + row, v3);
    }
}
