// sums_of_sums_scan_columns_f32
// fused: exp, cumsum, cumsum, divide
// x: f32[n0, n1] -> out: f32[n0, n1]
// accumulation plan: element by element
// rows n0, columns n1; template scan_columns.cu.j2, target sm_80
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     0    // loads and stores of up to 16 bytes at once
#define BLOCK             64   // threads in a block
#define VECTOR            1    // neighbouring columns of one thread
#define CHUNKS            8    // rows of one round, all read before the first is taken
#define PARTS             1    // accumulation plan: blocks that share a row
#include "opweave.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
sums_of_sums_scan_columns_f32(
    const float* __restrict__ x,
    float* __restrict__ out,
    const index_t rows,
    const index_t cols)
{
    // index: a thread has neighbouring columns
    const index_t j0 = ((index_t)blockIdx.x * BLOCK + threadIdx.x) * VECTOR;

    // what came before a row
    float cumsum0[VECTOR];
    float cumsum1[VECTOR];
#pragma unroll
    for (int l = 0; l < VECTOR; ++l) {
        cumsum0[l] = -0.0f;
        cumsum1[l] = -0.0f;
    }

    for (index_t row0 = 0; row0 < rows; row0 += CHUNKS) {
        // load: all rows of a round before the first is taken, the last one again behind it
        float x_v[CHUNKS][VECTOR];
        const auto load_rows = [&](const auto whole) {  // no branch between them
            const index_t edge = whole ? j0 + VECTOR : cols;
#pragma unroll
            for (int c = 0; c < CHUNKS; ++c) {
                const index_t row = row0 + c < rows ? row0 + c : rows - 1;
                load_chunk(x_v[c], x + row * cols + j0, edge - j0);
            }
        };
        if (j0 + VECTOR <= cols) load_rows(Constant<1>());
        else load_rows(Constant<0>());

        // cumsum, cumsum, store out
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c) {
            const index_t row = row0 + c;
            const index_t width = row < rows ? cols : 0;
            float out_v[VECTOR];
#pragma unroll
            for (int l = 0; l < VECTOR; ++l) {
                const float v0 = exp(x_v[c][l]);  // exp: f32[n0, n1], line 2
                cumsum0[l] = cumsum0[l] + v0;  // cumsum: f32[n0, n1], line 2
                cumsum1[l] = cumsum1[l] + cumsum0[l];  // cumsum: f32[n0, n1], line 2
                const float v3 = v0 / cumsum1[l];  // divide: f32[n0, n1], line 2
                out_v[l] = v3;
            }
            store_chunk(out + row * cols + j0, out_v, width - j0);
        }
    }
}
