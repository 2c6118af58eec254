// loop_linalg.cuh: systems of equations of whole loops of Python by LAPACK, called as numpy.linalg calls it
// (umath_linalg.cpp): matrices are copied column by column.
#pragma once
#include "loop_products.cuh"

OW_INLINE void loop_by_columns(const LoopMatrix<double>& from, double* to) {
    for (int64 j = 0; j < from.columns; ++j)
        for (int64 i = 0; i < from.rows; ++i) to[j * from.rows + i] = from.at[i * from.line + j * from.next];
}

// a @ out = b, row by row into `out`.  0, the row at which `a` is singular, or -1 where there is no memory.
int64 loop_solve(const ProductLibrary& library, const LoopMatrix<double>& a, const LoopMatrix<double>& b, double* out, LoopRoom& room) {
    typedef void (*Gesv)(const int64*, const int64*, double*, const int64*, int64*, double*, const int64*, int64*);
    const int64 n = a.rows, count = b.columns;
    int64 info = 0;
    if (n == 0) return 0;
    int64* const pivots = room.of<int64>(n + (n + count) * n);
    if (!pivots) return -1;
    double *const matrix = (double*)(pivots + n), *const found = matrix + n * n;
    loop_by_columns(a, matrix), loop_by_columns(b, found);
    ((Gesv)library.solve)(&n, &count, matrix, &n, pivots, found, &n, &info);
    for (int64 i = 0; i < n; ++i)
        for (int64 j = 0; j < count; ++j) out[i * count + j] = found[j * n + i];
    return info;
}

// The lower triangle whose product with what it is transposed is `a`; as above.
int64 loop_cholesky(const ProductLibrary& library, const LoopMatrix<double>& a, double* out, LoopRoom& room) {
    typedef void (*Potrf)(const char*, const int64*, double*, const int64*, int64*);
    const int64 n = a.rows;
    int64 info = 0;
    if (n == 0) return 0;
    double* const matrix = room.of<double>(n * n);
    if (!matrix) return -1;
    loop_by_columns(a, matrix);
    ((Potrf)library.cholesky)("L", &n, matrix, &n, &info);
    for (int64 i = 0; i < n; ++i)
        for (int64 j = 0; j < n; ++j) out[i * n + j] = j > i ? 0.0 : matrix[j * n + i];
    return info;
}

// The determinant, by the logarithms of pivots; false where there is no memory.
bool loop_determinant(const ProductLibrary& library, const LoopMatrix<double>& a, double& out, LoopRoom& room) {
    typedef void (*Getrf)(const int64*, const int64*, double*, const int64*, int64*, int64*);
    const int64 n = a.rows;
    int64 info = 0;
    double sign = 1, logarithm = 0;
    int64* const pivots = room.of<int64>(n + n * n);
    if (!pivots) return false;
    double* const matrix = (double*)(pivots + n);
    loop_by_columns(a, matrix);
    if (n) ((Getrf)library.factor)(&n, &n, matrix, &n, pivots, &info);
    for (int64 i = 0; i < n; ++i) {
        if (pivots[i] != i + 1) sign = -sign;
    }
    for (int64 i = 0; i < n && info == 0; ++i) {
        double pivot = matrix[i * n + i];
        if (pivot < 0) sign = -sign, pivot = -pivot;
        logarithm += libm_log(pivot);
    }
    out = info > 0 ? 0.0 : sign * libm_exp(logarithm);
    return true;
}
