// standardise_row_f32
// fused: sum, divide, subtract, sum, divide, subtract, multiply, sum, divide, sqrt, add, divide
// x: f32[n0, n1] -> out: f32[n0, n1]
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
standardise_row_f32(
    const float* __restrict__ x,
    const float s0,  // s0 = n0
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
            sum0_acc[k][l] = sum0_acc[k][l] + x_v[l];  // sum: f32[n1], line 2
        }
    }
    // sum: 1 thread x 32 lanes: upper half onto lower half; lanes that no row reached are left out
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int k = 0; k < half && half < down; ++k)
            EACH_COLUMN sum0_acc[k][l] = sum0_acc[k][l] + sum0_acc[k + half][l];
    float sum0[COLUMNS];
    EACH_COLUMN sum0[l] = sum0_acc[0][l];
    float v2[COLUMNS]; EACH_COLUMN v2[l] = sum0[l] / s0;  // divide: f32[n1], line 2
    float v3[COLUMNS]; EACH_COLUMN v3[l] = sum0[l] / s0;  // divide: f32[1, n1], line 2

    // pass 1: sum
    float sum1_acc[LANES][COLUMNS];
    for (int k = USE_OWN_LANES ? (int)down : 0; k < LANES && (k == 0 || k / 2 < down); ++k)
        EACH_COLUMN sum1_acc[k][l] = 0;
    for (index_t row = 0; row < down; ++row) {
        const int k = (int)(row % LANES);
        float x_v[COLUMNS];
        load_chunk(x_v, x + row * cols + j0, cols - j0);
#if ROWS_AHEAD
        ask_for<COLUMNS>([&](index_t row) { return x + row * cols + j0; }(row + ROWS_AHEAD));
#endif
        EACH_COLUMN {
            if (USE_OWN_LANES) sum1_acc[k][l] = 0;
            const float v4 = x_v[l] - v3[l];  // subtract: f32[n0, n1], line 2
            const float v5 = v4 * v4;  // multiply: f32[n0, n1], line 2
            sum1_acc[k][l] = sum1_acc[k][l] + v5;  // sum: f32[n1], line 2
        }
    }
    // sum: 1 thread x 32 lanes: upper half onto lower half; lanes that no row reached are left out
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int k = 0; k < half && half < down; ++k)
            EACH_COLUMN sum1_acc[k][l] = sum1_acc[k][l] + sum1_acc[k + half][l];
    float sum1[COLUMNS];
    EACH_COLUMN sum1[l] = sum1_acc[0][l];
    float v7[COLUMNS]; EACH_COLUMN v7[l] = sum1[l] / s0;  // divide: f32[n1], line 2
    float v8[COLUMNS]; EACH_COLUMN v8[l] = sqrt(v7[l]);  // sqrt: f32[n1], line 2
    float v9[COLUMNS]; EACH_COLUMN v9[l] = v8[l] + 1e-06f;  // add: f32[n1], line 2

    // pass 2: store out
    for (index_t row = 0; row < down; ++row) {
        float x_v[COLUMNS];
        load_chunk(x_v, x + row * cols + j0, cols - j0);
#if ROWS_AHEAD
        ask_for<COLUMNS>([&](index_t row) { return x + row * cols + j0; }(row + ROWS_AHEAD));
#endif
        float out_v[COLUMNS];
        EACH_COLUMN {
            const float v10 = x_v[l] - v2[l];  // subtract: f32[n0, n1], line 2
            const float v11 = v10 / v9[l];  // divide: f32[n0, n1], line 2
            out_v[l] = v11;
        }
        store_chunk(out + row * cols + j0, out_v, cols - j0);
    }
}
