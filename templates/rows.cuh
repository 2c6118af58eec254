// rows.cuh -- what the threads of a row do together: reductions join their partial results, scans
// learn what came before.  Included behind the toggles and BLOCK, for both compilers.  `join` is a
// function object over two partial results.  All threads of a block come to each call.
#pragma once

// What several passes read of a row: registers, which hold all of it, or `load(r, j0)`, which reads
// the chunk that begins at column j0.
template <int HELD, class C, class Load>
OW_INLINE void hold_row(C (&row)[HELD], const int lane, const Load& load) {
OW_UNROLL
    for (int c = 0; c < HELD; ++c) load(row[c], (c * THREADS_PER_ROW + lane) * LANES);
}
template <int HELD, class R>
OW_INLINE void read_chunk(R (&r)[LANES], const R (&row)[HELD][LANES], const index_t c, index_t) {
OW_UNROLL
    for (int l = 0; l < LANES; ++l) r[l] = row[c][l];
}
template <int HELD, class S>
OW_INLINE void read_chunk(Chunk<S, LANES>& r, const Chunk<S, LANES> (&row)[HELD], const index_t c, index_t) {
    r = row[c];
}
template <class C, class Load>
OW_INLINE void read_chunk(C& r, const Load& load, index_t, const index_t j0) {
    load(r, j0);
}
// Some chunks from the chunk c0 of a thread on, before the first of them is taken.
template <int AHEAD, class C, class Row>
OW_INLINE void read_chunks(C (&r)[AHEAD], const Row& row, const index_t c0, const int lane) {
OW_UNROLL
    for (int k = 0; k < AHEAD; ++k) read_chunk(r[k], row, c0 + k, ((c0 + k) * THREADS_PER_ROW + lane) * LANES);
}

// Where a row ends, for the chunk that begins at column j0.  The first INNER_CHUNKS of a thread
// lie inside, unless the thread has no row.  Where chunks are whole, they have all elements or none.
#if !defined(INNER_CHUNKS) || !USE_REGISTER_ROW
#undef INNER_CHUNKS
#define INNER_CHUNKS 0
#endif
OW_INLINE bool is_inner(const index_t j0) { return j0 < INNER_CHUNKS * THREADS_PER_ROW * LANES; }
OW_INLINE index_t row_end(const index_t j0, const index_t width) {
    return !is_inner(j0) ? width : width > 0 ? j0 + LANES : j0;
}
OW_INLINE bool in_row(const index_t j0, const int l, const index_t edge) {
    if (is_inner(j0)) return true;  // of a thread without a row nobody asks
#if WHOLE_CHUNKS
    return j0 < edge;
#else
    return j0 + l < edge;
#endif
}

// A chunk of a row from its column j0 on; what lies outside is not read, and reads as 0, but in an
// inner chunk, where nobody looks at it.  HELD: it is one of many, which are on their way together:
// loads with a condition of their own each would wait for one another.
template <bool HELD, int N, class S>
OW_INLINE void load_of_row(Chunk<S, N>& r, const S* p, const index_t j0, const index_t width) {
#if WHOLE_CHUNKS
    if (!is_inner(j0)) r = Chunk<S, N>();
    if (row_end(j0, width) > j0) read_words(r.words, p);
#else
    if (!HELD) return load_chunk(r, p, width - j0);
    const index_t inside = row_end(j0, width) - j0;
    S elements[N];
    if (inside >= N) {
OW_UNROLL
        for (int l = 0; l < N; ++l) elements[l] = p[l];
    } else if (!is_inner(j0)) {
OW_UNROLL
        for (int l = 0; l < N; ++l) elements[l] = l < inside ? p[l] : S();
    }
    r.fill(elements);
#endif
}

// A chunk of float32 divided by a value of its row, with IEEE's bits.  The product with the rounded
// reciprocal is next to the quotient, and corrected by its rest to the nearest float (Markstein; a test
// tries all that could be rounded wrongly), unless numbers come near to the ends of their range.  Then
// all of the chunk are divided, of which a zero is its own product.  `x` may be `r` itself.
template <int N, class X> OW_INLINE void divide_chunk(float (&r)[N], const X& x, const float y) {
    const float by = 1.0f / y;
    const float least = 0x1p-60f <= fabsf(by) && fabsf(by) <= 0x1p20f ? 0x1p-80f : nan<float>();
    float quotient[N];
    bool usual = true;
OW_UNROLL
    for (int l = 0; l < N; ++l) {
        const float near = x[l] * by;
        quotient[l] = fmaf(fmaf(near, -y, x[l]), by, near);
        usual &= fabsf(quotient[l]) >= least;
    }
    if (usual) {
OW_UNROLL
        for (int l = 0; l < N; ++l) r[l] = quotient[l];
    } else {
OW_UNROLL
        for (int l = 0; l < N; ++l) r[l] = x[l] == 0 && x[l] * by == 0 ? x[l] * by : x[l] / y;
    }
}

// Places in shared memory where warps meet, or without shuffles threads, by the bytes of each.  No
// template over the type: g++ does not take shared variables of templates for the block's.
#if USE_WARP_SHUFFLE
#define MEETING ((BLOCK + 31) / 32)
#else
#define MEETING BLOCK
#endif
#define OW_PLACES(BYTES) OW_INLINE void* places(Bytes<BYTES>) { \
    __shared__ __align__(BYTES) char met[BYTES * MEETING]; return met; }
template <int BYTES> struct Bytes {};
OW_PLACES(1) OW_PLACES(2) OW_PLACES(4) OW_PLACES(8) OW_PLACES(16)

template <class T> OW_INLINE T* places() { return (T*)places(Bytes<sizeof(T)>()); }
// The first of a row's threads, and of its warps.
OW_INLINE int first_thread() { return threadIdx.x / THREADS_PER_ROW * THREADS_PER_ROW; }
OW_INLINE int first_warp() { return threadIdx.x / THREADS_PER_ROW * (THREADS_PER_ROW / 32); }

// The lanes of a thread: upper half onto lower half.
template <class T, class Join> OW_INLINE T join_lanes(T (&acc)[LANES], const Join join) {
    each_half<LANES / 2>([&](auto half) {
OW_SIMD
        for (int l = 0; l < half; ++l) acc[l] = join(acc[l], acc[l + half]);
    });
    return acc[0];
}

// The warps of a row, whose results lie `apart`: in rising order.
template <class T, class Join> OW_INLINE T join_warps(const T* results, const int apart, const Join join) {
    T all = results[0];
    for (int warp = 1; warp < THREADS_PER_ROW / WARP_SHARE; ++warp)
        all = join(all, results[warp * apart]);
    return all;
}

// The threads of a row: of each warp upper half onto lower half, then the warps.  Each of them
// returns the result.
template <class T, class Join>
OW_INLINE T join_threads(T mine, const int lane, const Join join OW_CALLED_FROM) {
#if THREADS_PER_ROW > 1
#if USE_WARP_SHUFFLE
OW_UNROLL
    for (int offset = WARP_SHARE / 2; offset > 0; offset /= 2) {
        const T other = __shfl_down_sync(FULL_WARP, mine, offset, WARP_SHARE);
        mine = join(mine, other);
    }
#if THREADS_PER_ROW > 32
    T* const warps = places<T>();
    if (lane % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    mine = join_warps(warps + first_warp(), 1, join);
    __syncthreads();  // the places may be written again
#else
    mine = __shfl_sync(FULL_WARP, mine, 0, WARP_SHARE);
#endif
#else  // the same pairs in the same order, through shared memory
    T* const threads = places<T>();
    threads[threadIdx.x] = mine;
    __syncthreads();
    for (int offset = WARP_SHARE / 2; offset > 0; offset /= 2) {
        if (lane % WARP_SHARE < offset)
            threads[threadIdx.x] = join(threads[threadIdx.x], threads[threadIdx.x + offset]);
        __syncthreads();
    }
    mine = join_warps(threads + first_thread(), WARP_SHARE, join);
    __syncthreads();  // the places may be written again
#endif
#endif
    return mine;
}

// All elements of a row.
template <class T, class Join>
OW_INLINE T join_row(T (&acc)[LANES], const int lane, const Join join OW_CALLED_FROM) {
    return join_threads(join_lanes(acc, join), lane, join OW_CALLER);
}

// Sums of exponentials of a row whose maximum is not known yet: `re` is the largest of the elements so
// far, NaN apart, `im` the sum of exp(element - re), which what is larger scales down.  A first `re` that
// is finite has no difference of equal infinities; elements of -inf alone leave a sum of 0.
template <class T> OW_INLINE T no_exponentials();
template <> OW_SPECIAL complex64 no_exponentials<complex64>() { return {float_of(0xff7fffffu), 0.0f}; }
template <> OW_SPECIAL complex128 no_exponentials<complex128>() { return {double_of(0xffefffffffffffffULL), 0.0}; }
template <class R> OW_INLINE Complex<R> with_exponentials(const Complex<R> acc, const Complex<R> x) {
    const R factor = exp(-fabs(acc.re - x.re));
    const bool larger = x.re > acc.re;
    return {larger ? x.re : acc.re, larger ? fma(acc.im, factor, x.im) : fma(x.im, factor, acc.im)};
}
template <class R> OW_INLINE Complex<R> with_exponential(const Complex<R> acc, const R x) {
    return with_exponentials(acc, Complex<R>{x, R(1)});
}
// As by NumPy, NaN where the largest element is not finite.
template <class R> OW_INLINE R sum_of_exponentials(const Complex<R> all) {
    return all.im > R(0) && all.re < infinity<R>() ? all.im : nan<R>();
}

#ifdef ACROSS
// Places in shared memory where the columns of a block become rows of neighbouring threads, and a
// line behind them for what is reduced, which is read while the places are written again.  An odd
// pitch keeps the threads of a row in different banks.
#define PITCH (ACROSS * COLUMNS + 1)
#define OW_LINES(BYTES) OW_INLINE void* lines(Bytes<BYTES>) { \
    __shared__ __align__(BYTES) char met[BYTES * (THREADS_PER_ROW + 1) * PITCH]; return met; }
OW_LINES(1) OW_LINES(2) OW_LINES(4) OW_LINES(8) OW_LINES(16)

// The threads of each column: they lie ACROSS apart, and join as the threads of a row do.  Each of
// them has the results of its columns then.
template <class T, class Join>
OW_INLINE void join_down(T (&mine)[COLUMNS], const int side, const int lane, const Join join OW_CALLED_FROM) {
#if THREADS_PER_ROW > 1
    T* const met = (T*)lines(Bytes<sizeof(T)>());
    T* const reduced = met + THREADS_PER_ROW * PITCH;
OW_UNROLL
    for (int l = 0; l < COLUMNS; ++l) met[lane * PITCH + side * COLUMNS + l] = mine[l];
    __syncthreads();
OW_UNROLL
    for (int l = 0; l < COLUMNS; ++l) {
        const int of_row = threadIdx.x % THREADS_PER_ROW;
        const int column = l * ACROSS + threadIdx.x / THREADS_PER_ROW;
        const T all = join_threads(met[of_row * PITCH + column], of_row, join OW_CALLER);
        if (of_row == 0) reduced[column] = all;
    }
    __syncthreads();
OW_UNROLL
    for (int l = 0; l < COLUMNS; ++l) mine[l] = reduced[side * COLUMNS + l];
#endif
}
#endif

// What came before the warp of `lane`; the carry then has the totals of all warps, which lie `apart`.
template <class T, class Join>
OW_INLINE T scan_warps(const T* totals, const int apart, T& carry, const int lane, const Join join) {
    T start = carry;
    for (int warp = 0; warp < THREADS_PER_ROW / WARP_SHARE; ++warp) {
        if (warp == lane / WARP_SHARE) start = carry;
        carry = join(carry, totals[warp * apart]);
    }
    return start;
}

// A tile of a row, LANES elements a thread: each joined to all before it.  `carry` is what came
// before the tile, and then has the whole tile; joined to `identity` nothing changes.
template <class T, class Join>
OW_INLINE void scan_tile(T (&r)[LANES], T& carry, const int lane, const typename Same<T>::type identity,
                         const Join join OW_CALLED_FROM) {
#if THREADS_PER_ROW == 1
    r[0] = join(carry, r[0]);
OW_UNROLL
    for (int l = 1; l < LANES; ++l) r[l] = join(r[l - 1], r[l]);
    carry = r[LANES - 1];
#else
OW_UNROLL
    for (int l = 1; l < LANES; ++l) r[l] = join(r[l - 1], r[l]);
    T mine = r[LANES - 1], before = identity;
#if USE_WARP_SHUFFLE
OW_UNROLL
    for (int offset = 1; offset < WARP_SHARE; offset *= 2) {
        const T other = __shfl_up_sync(FULL_WARP, mine, offset, WARP_SHARE);
        if (lane % WARP_SHARE >= offset) mine = join(other, mine);
    }
    const T below = __shfl_up_sync(FULL_WARP, mine, 1, WARP_SHARE);
    if (lane % WARP_SHARE > 0) before = below;
#if THREADS_PER_ROW > 32
    T* const warps = places<T>();
    if (lane % 32 == 31) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    const T start = scan_warps(warps + first_warp(), 1, carry, lane, join);
    __syncthreads();  // the places may be written again
#else
    const T start = carry, all = __shfl_sync(FULL_WARP, mine, WARP_SHARE - 1, WARP_SHARE);
    carry = join(carry, all);
#endif
#else  // the same pairs in the same order, through shared memory
    T* const threads = places<T>();
    threads[threadIdx.x] = mine;
    __syncthreads();
    for (int offset = 1; offset < WARP_SHARE; offset *= 2) {
        if (lane % WARP_SHARE >= offset) mine = join(threads[threadIdx.x - offset], mine);
        __syncthreads();
        threads[threadIdx.x] = mine;
        __syncthreads();
    }
    if (lane % WARP_SHARE > 0) before = threads[threadIdx.x - 1];
    const T* const totals = threads + first_thread() + WARP_SHARE - 1;
    const T start = scan_warps(totals, WARP_SHARE, carry, lane, join);
    __syncthreads();  // the places may be written again
#endif
    before = join(start, before);
OW_UNROLL
    for (int l = 0; l < LANES; ++l) r[l] = join(before, r[l]);
#endif
}
