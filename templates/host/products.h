// A product for BLAS as NumPy has it loaded: what C passes to a routine, and which one.
#pragma once

struct Product {  // runtime/host/blas.py packs it; of a matrix with a vector `x` is the matrix in what follows
    const void *x, *y;
    void* out;
    long long m, n, k;
    long long x_lies, x_line, y_lies, y_line, out_line;  // CBLAS_TRANSPOSE, elements between lines
    void* routine;
    long long kind;
    long long count, x_step, y_step, out_step;  // of a batch, and bytes from one matrix to the next; loops have none
};
enum { PRODUCT_AS_IT_IS = 111, PRODUCT_TRANSPOSED = 112, PRODUCT_ROW_MAJOR = 101, PRODUCT_COLUMN_MAJOR = 102 };
// What is added to 0 to 3, the kinds of numbers: a matrix by a vector, the other way round, two vectors,
// a matrix by what it is transposed.
enum { PRODUCT_BY_VECTOR = 4, PRODUCT_VECTOR_BY = 8, PRODUCT_OF_VECTORS = 12, PRODUCT_BY_ITSELF = 16, PRODUCT_KINDS = 20 };

// What loops get: who computes a Product, its routines by their kinds, and LAPACK's of doubles.
struct ProductLibrary {
    void (*compute)(const Product*);
    void *routines[PRODUCT_KINDS], *solve, *cholesky, *factor;
};
