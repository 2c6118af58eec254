// softmax_0_reduce_f32
// fused: max, exp_sum
// x: f32[n0, n1] -> out0: f32[n0, 1], out1: f32[n0, 1]
// accumulation plan: 16 blocks x 256 threads x 4 lanes a row, joined pairwise
// rows n0, columns n1; template reduce.cu.j2, target sm_80
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     1    // loads and stores of up to 16 bytes at once
#define USE_WARP_SHUFFLE  1    // join the threads of a warp by shuffles, not through shared memory
#define THREADS_PER_ROW   256  // accumulation plan: threads that share a row
#define LANES             4    // accumulation plan: running values of one thread
#define CHUNKS            4    // accesses of one thread, all issued before the first use
#define BLOCKS_EACH       5    // blocks of a multiprocessor, whose registers they share
#define PARTS             16   // accumulation plan: blocks that share a row
#define USE_RUNS          0    // accumulation plan: a block has a run of its row, not every PARTS-th piece
#include "opweave.cuh"

#define BLOCK THREADS_PER_ROW
#include "rows.cuh"

struct Max_f32 {
    __device__ float operator()(float x, float y) const { return max_nan(x, y); }
};

struct Exp_sum_c64 {
    __device__ complex64 operator()(complex64 x, complex64 y) const { return with_exponentials(x, y); }
};

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS_EACH)
softmax_0_reduce_f32(
    const float* __restrict__ x,
    float* __restrict__ out0,
    float* __restrict__ out1,
    void* partials,
    unsigned* counter,
    const index_t rows,
    const index_t cols)
{
    // index: blockIdx.x counts the parts of a row, blockIdx.y the rows
    const int lane = threadIdx.x;
    const index_t row = blockIdx.y;

    // max, exp_sum of this block's part
    float max0_acc[LANES];
    complex64 exp_sum0_acc[LANES];
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
        max0_acc[l] = -infinity<float>();
        exp_sum0_acc[l] = no_exponentials<complex64>();
    }
    const index_t chunks = (cols + LANES - 1) / LANES;
#if USE_RUNS
    const index_t run = (chunks + PARTS - 1) / PARTS, step = BLOCK;
    const index_t begin = (index_t)blockIdx.x * run, end = begin + run;
#else
    const index_t begin = (index_t)blockIdx.x * BLOCK, end = chunks, step = PARTS * BLOCK;
#endif
    index_t c = begin + lane;
#if CHUNKS > 1
    // whole chunks: several are loaded before the first is taken
    for (; c + (CHUNKS - 1) * step < end && c + (CHUNKS - 1) * step < cols / LANES; c += CHUNKS * step) {
        float x_row[CHUNKS][LANES];
#pragma unroll
        for (int k = 0; k < CHUNKS; ++k) {
            const index_t j0 = (c + k * step) * LANES, edge = j0 + LANES;
            load_chunk(x_row[k], x + row * cols + j0, edge - j0);
        }
#pragma unroll
        for (int k = 0; k < CHUNKS; ++k) {
            const index_t j0 = (c + k * step) * LANES, edge = j0 + LANES;
            const auto& x_v = x_row[k];
#pragma unroll
            for (int l = 0; l < LANES; ++l) {
                if (j0 + l < edge) {
                    max0_acc[l] = max_nan(max0_acc[l], x_v[l]);  // max: f32[n0, 1], line 2
                    exp_sum0_acc[l] = with_exponential(exp_sum0_acc[l], x_v[l]);  // exp_sum: f32[n0, 1], line 3
                }
            }
        }
    }
#endif
    for (; c < end; c += step) {
        const index_t j0 = c * LANES;
        float x_v[LANES];
        load_chunk(x_v, x + row * cols + j0, cols - j0);
#pragma unroll
        for (int l = 0; l < LANES; ++l) {
            if (j0 + l < cols) {
                max0_acc[l] = max_nan(max0_acc[l], x_v[l]);  // max: f32[n0, 1], line 2
                exp_sum0_acc[l] = with_exponential(exp_sum0_acc[l], x_v[l]);  // exp_sum: f32[n0, 1], line 3
            }
        }
    }
    const float max0_part = join_row(max0_acc, lane, Max_f32());
    volatile float* max0_parts = part_results<float>(partials, 0, PARTS);
    if (lane == 0) max0_parts[blockIdx.x] = max0_part;
    const complex64 exp_sum0_part = join_row(exp_sum0_acc, lane, Exp_sum_c64());
    volatile_complex64* exp_sum0_parts = part_results<complex64>(partials, 1, PARTS);
    if (lane == 0) exp_sum0_parts[blockIdx.x] = exp_sum0_part;

    // the last block of the row to get here joins the parts, in rising order whoever it is
    __shared__ bool last;
    if (lane == 0) {
        __threadfence();  // the parts are visible before the count
        last = atomicAdd(&counter[row], 1u) == PARTS - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    float max0_all = -infinity<float>();
    for (int part = lane; part < PARTS; part += BLOCK) {
        const float other = max0_parts[part];
        max0_all = max_nan(max0_all, other);
    }
    const float max0 = join_threads(max0_all, lane, Max_f32());
    complex64 exp_sum0_all = no_exponentials<complex64>();
    for (int part = lane; part < PARTS; part += BLOCK) {
        const complex64 other = exp_sum0_parts[part];
        exp_sum0_all = with_exponentials(exp_sum0_all, other);
    }
    const float exp_sum0 = sum_of_exponentials(join_threads(exp_sum0_all, lane, Exp_sum_c64()));
    if (lane == 0) {
        counter[row] = 0;  // ready for the next launch
        store(out0 + row, max0);
        store(out1 + row, exp_sum0);
    }
}

// softmax_1_map_f32
// fused: subtract, exp, divide
// x: f32[n0, n1], t1: f32[n0, 1], t4: f32[n0, 1] -> out: f32[n0, n1]
// rows n0, columns n1; template map.cu.j2, target sm_80
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     1    // loads and stores of up to 16 bytes at once
#define BLOCK             256  // threads in a block
#define VECTOR            4    // consecutive elements of one access
#define CHUNKS            1    // accesses of one thread, all issued before the first use
#include "opweave.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
softmax_1_map_f32(
    const float* __restrict__ x,
    const float* __restrict__ t1,
    const float* __restrict__ t4,
    float* __restrict__ out,
    const index_t rows,
    const index_t cols)
{
    // index: each thread takes chunks of consecutive elements, a block apart
    const index_t row = blockIdx.x;
    const index_t first = ((index_t)blockIdx.y * (CHUNKS * BLOCK) + threadIdx.x) * VECTOR;
    const float t1_v = load(t1 + row);
    const float t4_v = load(t4 + row);

    // load: all chunks before the first use; the guard is cols - j0, where one is not whole
    Chunk<float, VECTOR> x_v[CHUNKS];
    const auto load_chunks = [&](const auto whole) {
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c) {
            const index_t j0 = first + c * (BLOCK * VECTOR), edge = whole ? j0 + VECTOR : cols;
            load_chunk(x_v[c], x + row * cols + j0, edge - j0);
        }
    };
    if (first + ((CHUNKS - 1) * BLOCK + 1) * VECTOR <= cols) load_chunks(Constant<1>());
    else load_chunks(Constant<0>());

#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
        const index_t j0 = first + c * (BLOCK * VECTOR);
        float out_v[VECTOR];
#pragma unroll
        for (int l = 0; l < VECTOR; ++l) {
            const float v0 = x_v[c][l] - t1_v;  // subtract: f32[n0, n1], line 2
            const float v1 = exp(v0);  // exp: f32[n0, n1], line 2
            const float v2 = v1 / t4_v;  // divide: f32[n0, n1], line 3
            out_v[l] = v2;
        }
        store_chunk(out + row * cols + j0, out_v, cols - j0);
    }
}
