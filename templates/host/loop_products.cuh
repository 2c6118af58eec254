// loop_products.cuh: products of whole loops of Python by BLAS, asked for as NumPy asks.
#pragma once
#include "loops.cuh"
#include "products.h"

// Elements that lie so far apart, down and across.
template <class T> struct LoopMatrix {
    const T* at;
    int64 rows, columns, line, next;
    bool is_vector() const { return rows == 1 || columns == 1; }
    bool by_rows() const { return next == 1 && line >= columns; }
    bool by_columns() const { return line == 1 && next >= rows; }
    int64 step() const { return rows == 1 ? next : line; }  // of a vector
    bool is_served() const { return is_vector() ? step() >= 1 : by_rows() || by_columns(); }
    int64 lies() const { return by_rows() ? PRODUCT_AS_IT_IS : PRODUCT_TRANSPOSED; }
    int64 apart() const { return by_rows() ? line : next; }  // of a matrix: what BLAS calls lda
    // The same in a room, where BLAS takes no such strides; false where there is no memory.
    bool served_by(LoopRoom& room) {
        if (!is_served()) {
            T* const copy = room.of<T>(rows * columns);
            if (!copy) return false;
            for (int64 i = 0; i < rows; ++i)
                for (int64 j = 0; j < columns; ++j) copy[i * columns + j] = at[i * line + j * next];
            *this = {copy, rows, columns, columns, 1};
        }
        // along an axis of one element nobody steps: BLAS wants a step all the same
        if (rows == 1) line = next == 1 ? columns : 1;
        if (columns == 1) next = 1;
        return true;
    }
};

// x @ y into `out`, row by row; both are served.  The cases of NumPy's matmul (matmul.c.src): its bits are
// those of the routine and of how that reads the matrices.
template <class T>
void loop_multiply(const ProductLibrary& library, int kind, const LoopMatrix<T>& x, const LoopMatrix<T>& y, T* out) {
    Product p = {x.at, y.at, out, x.rows, y.columns, x.columns};
    p.out_line = y.columns;
    const bool is_turned = x.line == y.next && x.next == y.line && x.lies() != y.lies();
    if (x.rows == 1 && y.columns == 1) {
        kind += PRODUCT_OF_VECTORS;
        p.x_line = x.next, p.y_line = y.line;
    } else if (x.rows == 1 || y.columns == 1) {  // rows of the matrix by the vector
        const LoopMatrix<T> turned = {y.at, y.columns, y.rows, y.next, y.line};
        const LoopMatrix<T>& matrix = x.rows == 1 ? turned : x;
        kind += x.rows == 1 ? PRODUCT_VECTOR_BY : PRODUCT_BY_VECTOR;
        p.m = matrix.rows, p.n = 1;
        p.x_lies = matrix.by_rows() ? PRODUCT_COLUMN_MAJOR : PRODUCT_ROW_MAJOR, p.x_line = matrix.apart();
        p.y_lies = PRODUCT_TRANSPOSED, p.y_line = x.rows == 1 ? x.next : y.line, p.out_line = 1;
    } else {
        if (x.at == y.at && x.rows == y.columns && is_turned) kind += PRODUCT_BY_ITSELF;
        p.x_lies = x.lies(), p.x_line = x.apart(), p.y_lies = y.lies(), p.y_line = y.apart();
    }
    p.routine = library.routines[kind], p.kind = kind;
    library.compute(&p);
}

// The same by ours, in the order of kernels: every element of the result, which lie `line` and `next` apart,
// takes the products in rising order.  Columns of `y` are taken side by side, from a panel where they are
// not neighbours in memory.
template <class Adder, class T>
OW_INLINE void columns_by_ours(const LoopMatrix<T>& x, const LoopMatrix<T>& y, T* out, int64 line, int64 next) {
    constexpr int64 WIDTH = 64, PANEL = 2048;
    T acc[WIDTH], panel[PANEL];
    for (int64 from = 0, here; from < y.columns; from += here) {
        here = y.columns - from < WIDTH ? y.columns - from : WIDTH;
        int64 done = 0;
        do {
            int64 deep = y.rows - done, apart = y.line;
            const T* rows = y.at + done * y.line + from * y.next;
            if (y.next != 1) {
                if (deep > PANEL / here) deep = PANEL / here;
                for (int64 k = 0; k < deep; ++k)
                    for (int64 j = 0; j < here; ++j) panel[k * here + j] = rows[k * y.line + j * y.next];
                rows = panel, apart = here;
            }
            const bool is_first = done == 0, is_last = done + deep == y.rows;
            for (int64 i = 0; i < x.rows; ++i) {
                const T* const left = x.at + i * x.line + done * x.next;
                T* const to = out + i * line + from * next;
                T* const __restrict__ row = next == 1 ? to : acc;
                if (is_first || next != 1)
                    for (int64 j = 0; j < here; ++j) row[j] = is_first ? Adder::start() : to[j * next];
                for (int64 k = 0; k < deep; ++k) {
                    const T each = left[k * x.next];
                    #pragma GCC ivdep
                    for (int64 j = 0; j < here; ++j) row[j] = Adder::add(each, rows[k * apart + j], row[j]);
                }
                if (is_last)
                    for (int64 j = 0; j < here; ++j) row[j] = Adder::last(row[j]);
                if (next != 1)
                    for (int64 j = 0; j < here; ++j) to[j * next] = row[j];
            }
            done += deep;
        } while (done < y.rows);
    }
}
template <class Adder> struct Turned : Adder {
    using T = typename Adder::T;
    static T add(T x, T y, T acc) { return Adder::add(y, x, acc); }
};
// By one column: the sum of each row of products, as kernels have it.  Of integers, which are the same in
// any order, an Adder has 0 as the number of rows that are few, and no sums.
template <class Adder, class T>
OW_INLINE void rows_by_ours(const LoopMatrix<T>& x, const LoopMatrix<T>& y, T* __restrict__ out) {
    using Acc = typename Adder::Acc;
    const bool few = x.rows < Adder::few_rows;
    const int64 count = y.rows, next = x.next, line = y.line;
    const T *row = x.at, *const column = y.at;
    for (int64 i = 0; i < x.rows; ++i, row += x.line)
        out[i] = Adder::total(row_of_rows<Acc>(few, count, Adder::zero(),
            [=](int64 k, Acc& acc) { Adder::take(row[k * next], column[k * line], acc); },
            [](Acc a, Acc b) { return Adder::joined(a, b); }));
}
template <class Adder, class T>
__attribute__((noinline)) void loop_multiply_here(const LoopMatrix<T>& x, const LoopMatrix<T>& y, T* __restrict__ out) {
    if constexpr (Adder::few_rows > 0)
        if (y.columns == 1) return rows_by_ours<Adder>(x, y, out);
    if (y.columns >= 4 || y.columns >= x.rows) return columns_by_ours<Adder>(x, y, out, y.columns, 1);
    // few columns: they are what is run over, for many rows of x side by side
    columns_by_ours<Turned<Adder>>(LoopMatrix<T>{y.at, y.columns, y.rows, y.next, y.line},
        LoopMatrix<T>{x.at, x.columns, x.rows, x.next, x.line}, out, 1, y.columns);
}
