// Squares of elements that lie along the rows of a tile, turned in registers: N elements of each of N
// lines are read at once, and come out side by side.  One by one they would be read N lines apart.
#pragma once

template <class S, int W> struct OwLanes { typedef S type __attribute__((vector_size(W * sizeof(S)))); };

// Of two lines the lower halves, or the upper ones, element by element in turn.
template <bool UPPER, class V, int... L> OW_INLINE V in_turn(V a, V b, OwIndices<L...>) {
    enum { W = sizeof...(L) };
    return __builtin_shufflevector(a, b, (L / 2 + L % 2 * W + UPPER * W / 2)...);
}
// A square of 16 bytes a line.  Each round brings line r + W / 2 between the elements of line r; after
// log2(W) of them lines are columns.
template <int W, class V, class S> OW_INLINE void turn_lanes(V (&lines)[W], const S* from, index_t stride) {
    typedef typename OwCount<W>::type All;
    for (int l = 0; l < W; ++l) OW_COPY(&lines[l], from + l * stride, sizeof(V));
    for (int round = 1; round < W; round *= 2) {
        V next[W];
        for (int l = 0; l < W / 2; ++l) {
            next[2 * l] = in_turn<false>(lines[l], lines[l + W / 2], All());
            next[2 * l + 1] = in_turn<true>(lines[l], lines[l + W / 2], All());
        }
        for (int l = 0; l < W; ++l) lines[l] = next[l];
    }
}
template <class V, int... L> OW_INLINE auto behind(V a, V b, OwIndices<L...>) { return __builtin_shufflevector(a, b, L...); }
// Two such squares give 32 bytes of a line, which are stored at once: they are read again soon, and of two
// stores a processor passes nothing on before both are done.
template <int N, class B, class S> OW_INLINE void turn_square(B (&to)[N][N], const S* p, index_t stride) {
    enum { W = 16 / sizeof(S) };
    typename OwLanes<B, W>::type left[W], right[W];
    for (int l = 0; l < N; ++l) __builtin_prefetch(p + (l + N) * stride);  // the square behind
    for (int i = 0; i < N; i += W)
        for (int l = 0; l < N; l += 2 * W) {
            turn_lanes<W>(left, p + i + l * stride, stride);
            turn_lanes<W>(right, p + i + (l + W) * stride, stride);
            for (int r = 0; r < W; ++r) {
                const auto both = behind(left[r], right[r], typename OwCount<2 * W>::type());
                OW_COPY(&to[i + r][l], &both, sizeof(both));
            }
        }
}
// r[i][l] = p[i + l * stride], of the rows that there are; columns beyond are the last one.
template <int N, class R, class S>
__attribute__((noinline)) void load_turned_by_one(R (&r)[N][N], const S* p, index_t stride, index_t rows, index_t cols) {
    for (int i = 0; i < N && i < rows; ++i)
        for (int l = 0; l < N; ++l) r[i][l] = load(p + i + (l < cols ? l : cols - 1) * stride);
}
template <int N, class S> __attribute__((noinline)) void load_turned_whole(S (&r)[N][N], const S* p, index_t stride) {
    turn_square(*(typename BitsOf<sizeof(S)>::type (*)[N][N])&r, p, stride);
}
template <int N, class R, class S> __attribute__((noinline)) void load_turned_whole(R (&r)[N][N], const S* p, index_t stride) {
    typename BitsOf<sizeof(S)>::type turned[N][N];
    turn_square(turned, p, stride);
    for (int i = 0; i < N; ++i)
        for (int l = 0; l < N; ++l) {
            S element;
            OW_COPY(&element, &turned[i][l], sizeof(S));
            r[i][l] = load(&element);
        }
}
// A square that ends beyond the array begins as much earlier, and is moved to its place.
template <int N, class R, class S>
__attribute__((noinline)) void load_turned_back(R (&r)[N][N], const S* p, index_t stride, int up, int left) {
    R square[N][N];
    load_turned_whole(square, p - up - left * stride, stride);
    for (int i = 0; i < N - up; ++i)
        for (int l = 0; l < N; ++l) r[i][l] = square[i + up][l + left < N ? l + left : N - 1];
}
// The same of an array's row and column `row` and `col`, which has `rows` and `cols` of them.
template <int N, class R, class S>
OW_INLINE void load_turned(R (&r)[N][N], const S* p, index_t stride, index_t row, index_t rows, index_t col, index_t cols) {
    const index_t up = row + N > rows ? row + N - rows : 0, left = col + N > cols ? col + N - cols : 0;
#ifndef OW_VERIFY  // which looks at each element
    if constexpr (sizeof(S) < 16 && N * sizeof(S) % 32 == 0) {
        if (!(up | left)) return load_turned_whole(r, p, stride);
        if (up <= row && left <= col) return load_turned_back(r, p, stride, (int)up, (int)left);
    }
#endif
    load_turned_by_one(r, p, stride, rows - row, cols - col);
}
template <int N, class R> OW_INLINE void take_line(R (&r)[N], const R (&line)[N]) {
    for (int l = 0; l < N; ++l) r[l] = line[l];
}
