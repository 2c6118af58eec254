// column_sum_row_f32
// fused: multiply, sum
// x: f32[n0, n1] -> out: f32[n1]
// accumulation plan: 1 thread x 32 lanes a row, joined pairwise
// rows n0, columns n1; template columns.cu.j2, target host
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     0    // loads and stores of up to 16 bytes at once
#define THREADS_PER_ROW   1    // accumulation plan: threads that share a row
#define LANES             32   // accumulation plan: running values of one thread
#define COLUMNS           64   // neighbouring columns that a block goes down together
#define USE_OWN_LANES     0    // each row has a running value of its own, which begins with it
#define ROWS              0    // the rows, where they are few: loops unroll by them; 0 for any number
#define ROWS_AHEAD        4    // rows below that memory is asked for; 0: what lies ahead in the row
#include "opweave.cuh"

#define EACH_COLUMN for (int l = 0; l < COLUMNS; ++l)

extern "C" __global__ void __launch_bounds__(THREADS_PER_ROW)
column_sum_row_f32(
    const float* __restrict__ x,
    float* __restrict__ out,
    const index_t rows,
    const index_t cols)
{
    // index: a block takes neighbouring columns from the first row to the last
    const index_t down = ROWS ? ROWS : rows;
    const index_t j0 = (index_t)blockIdx.x * COLUMNS;

    // pass 0: sum
    float sum0_acc[LANES][COLUMNS];
    for (int k = USE_OWN_LANES ? (int)down : 0; k < LANES && (k == 0 || k / 2 < down); ++k)
        EACH_COLUMN sum0_acc[k][l] = 0;
    for (index_t row = 0; row < down; ++row) {
        const int k = (int)(row % LANES);
        float x_v[COLUMNS];
        load_chunk(x_v, x + row * cols + j0, cols - j0);
#if ROWS_AHEAD
        ask_for<COLUMNS>([&](index_t row) { return x + row * cols + j0; }(row + ROWS_AHEAD));
#endif
        EACH_COLUMN {
            if (USE_OWN_LANES) sum0_acc[k][l] = 0;
            const float v0 = x_v[l] * x_v[l];  // multiply: f32[n0, n1], line 2
            sum0_acc[k][l] = sum0_acc[k][l] + v0;  // sum: f32[n1], line 2
        }
    }
    // sum: 1 thread x 32 lanes: upper half onto lower half; lanes that no row reached are left out
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int k = 0; k < half && half < down; ++k)
            EACH_COLUMN sum0_acc[k][l] = sum0_acc[k][l] + sum0_acc[k + half][l];
    float sum0[COLUMNS];
    EACH_COLUMN sum0[l] = sum0_acc[0][l];

    // store: values of the columns
    float out_v[COLUMNS];
    EACH_COLUMN out_v[l] = sum0[l];
    store_chunk(out + j0, out_v, cols - j0);
}
