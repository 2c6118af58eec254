// Chunks for the host compiler.  One that ends before its last element passes through a copy, so that
// registers are filled, and stored, in one place; where they are in two, they lie on the stack.
#pragma once

#ifndef OW_VERIFY
// So many elements as registers, and the other way.
template <int N, class R, class S> OW_INLINE void fill(R (&r)[N], const S* p) {
    for (int l = 0; l < N; ++l) r[l] = load(p + l);
}
template <int N, class R, class S> OW_INLINE void spill(S* p, const R (&r)[N]) {
    for (int l = 0; l < N; ++l) store(p + l, r[l]);
}
#ifdef __F16C__  // by the processor's own conversions, of which g++ 12 makes no vectors
#define OW_HALF_VECTORS(N, TO_FLOATS, TO_HALVES)                                          \
    typedef float OwFloats##N __attribute__((vector_size(4 * N)));                        \
    typedef short OwHalves##N __attribute__((vector_size(2 * N)));                        \
    OW_INLINE OwFloats##N converted(OwHalves##N x) { return TO_FLOATS; }                  \
    OW_INLINE OwHalves##N converted(OwFloats##N x) { return TO_HALVES; }
#ifdef __clang__
typedef __fp16 OwNumbers8 __attribute__((ext_vector_type(8)));
OW_HALF_VECTORS(8, __builtin_convertvector((OwNumbers8)x, OwFloats8),
    (OwHalves8)__builtin_convertvector(x, OwNumbers8))
#else  // to nearest, ties to even
OW_HALF_VECTORS(8, __builtin_ia32_vcvtph2ps256(x), __builtin_ia32_vcvtps2ph256(x, 0))
#endif
#if defined(__AVX512F__) && defined(__clang__)
typedef __fp16 OwNumbers16 __attribute__((ext_vector_type(16)));
OW_HALF_VECTORS(16, __builtin_convertvector((OwNumbers16)x, OwFloats16),
    (OwHalves16)__builtin_convertvector(x, OwNumbers16))
#elif defined(__AVX512F__)
OW_HALF_VECTORS(16, __builtin_ia32_vcvtph2ps512_mask(x, OwFloats16(), (short)-1, 4),
    __builtin_ia32_vcvtps2ph512_mask(x, 0, OwHalves16(), (short)-1))
#endif
// As many vectors as there is room for behind `l`, and what is left.
template <class From, class To, int N, class R, class S> OW_INLINE int convert(R* to, const S* from, int l) {
    constexpr int EACH = sizeof(From) / sizeof(S);
    for (; l + EACH <= N; l += EACH) {
        From vector;
        OW_COPY(&vector, from + l, sizeof vector);
        const To made = converted(vector);
        OW_COPY(to + l, &made, sizeof made);
    }
    return l;
}
template <int N> OW_INLINE void fill(float (&r)[N], const float16* p) {
    int l = 0;
#ifdef __AVX512F__  // what a loop reads at once must have been written at once, or it waits
    l = convert<OwHalves16, OwFloats16, N>(r, p, l);
#endif
    for (l = convert<OwHalves8, OwFloats8, N>(r, p, l); l < N; ++l) r[l] = load(p + l);
}
template <int N> OW_INLINE void spill(float16* p, const float (&r)[N]) {
    int l = 0;
#ifdef __AVX512F__
    l = convert<OwFloats16, OwHalves16, N>(p, r, l);
#endif
    for (l = convert<OwFloats8, OwHalves8, N>(p, r, l); l < N; ++l) store(p + l, r[l]);
}
#endif
// Numbers that the processor loads, and stores, under a mask, if they have so many bytes: what a loop
// reads at once has been written at once then.  A copy of some bytes is read while it is written.
// Before AVX-512 some processors take tens of cycles for a store under a mask.
#ifdef __AVX512BW__
enum { OW_LEAST_LOADED = 1, OW_LEAST_STORED = 1 };
#elif defined(__AVX512F__)
enum { OW_LEAST_LOADED = 4, OW_LEAST_STORED = 4 };
#elif defined(__AVX2__)
enum { OW_LEAST_LOADED = 4, OW_LEAST_STORED = 99 };
#else
enum { OW_LEAST_LOADED = 99, OW_LEAST_STORED = 99 };  // none
#endif
template <class S> inline constexpr bool OW_HAS_MASKS = !__is_class(S) && sizeof(S) >= OW_LEAST_LOADED;
// Some elements, by vectors of so many bytes, of which the last one may begin within the one before.
template <class S> OW_INLINE void copy_part(S* to, const S* from, long long count) {
    enum { AT_ONCE = 32 / sizeof(S) ? 32 / sizeof(S) : 1 };
    if (count < AT_ONCE) {
        for (long long l = 0; l < count; ++l) OW_COPY(to + l, from + l, sizeof(S));
        return;
    }
    for (long long l = 0; l + AT_ONCE <= count; l += AT_ONCE) OW_COPY(to + l, from + l, AT_ONCE * sizeof(S));
    OW_COPY(to + count - AT_ONCE, from + count - AT_ONCE, AT_ONCE * sizeof(S));
}
// A call that is seldom made.  For it g++ keeps nothing of what whole chunks need in memory: read there, between
// stores that wait for memory themselves, an address is late, and a copy beyond the caches takes twice as long.
// The function itself stays as fast as others.  Every row may end within a chunk: there it is an ordinary call.
#ifdef THREADS_PER_ROW
#define OW_SELDOM inline __attribute__((always_inline))
#else
#define OW_SELDOM __attribute__((noinline, cold))
#endif
template <auto F, class... A> OW_SELDOM void seldom(A... given) { F(given...); }
// The first elements of a chunk, and behind them the last number once more, which is as ordinary.  It
// is called, so that what whole chunks pass through is short.
template <int N, class S> __attribute__((noinline)) void load_part(S* kept, const S* p, long long inside) {
    const S last = inside > 0 ? p[inside - 1] : S();
    if constexpr (OW_HAS_MASKS<S>) {
        const int end = inside > 0 ? (int)inside : 0;
        for (int l = 0; l < N; ++l) kept[l] = l < end ? p[l] : last;
    } else {
        for (int l = 0; l < N; ++l) kept[l] = last;
        copy_part(kept, p, inside);
    }
}
template <int N, class S> __attribute__((noinline)) void store_part(S* p, const S* kept, long long begin, long long end) {
    if constexpr (!__is_class(S) && sizeof(S) >= OW_LEAST_STORED) {
        const int from = (int)begin, to = end > 0 ? (int)end : 0;
        for (int l = 0; l < N; ++l) if (l >= from && l < to) p[l] = kept[l];
    } else copy_part(p + begin, kept + begin, end - begin);
}
// Where chunks are chosen, lie in many rows, or are read and little is made of them, processors ask too late for what
// comes next.  Asked for here, so many bytes ahead, moves of 8 MB take 0.8 of their time, sums of 30 rows of float32
// 0.7, maxima of long rows 0.7, and short ones no longer; of stencils short ones would take 1.4 of it.
enum { OW_AHEAD = 4096 };
template <int N, class S> OW_INLINE void ask_for(const S* at) {
    for (int b = 0; b < N * (int)sizeof(S); b += 64) __builtin_prefetch((const char*)at + b);
}
template <int N, class S> OW_INLINE void ask_ahead(const S* at) { ask_for<N>((const S*)((const char*)at + OW_AHEAD)); }
template <int N, class R, class S>
OW_INLINE void load_chunk(R (&r)[N], const S* p, long long inside) {
    S kept[N];
    if (inside < N) seldom<load_part<N, S>>(kept, p, inside);
    fill(r, inside < N ? kept : p);
#if (defined(THREADS_PER_ROW) && !ROWS_AHEAD) || defined(TILE)
    ask_ahead<N>(p);
#endif
}
template <int N, class R, class S>
OW_INLINE void load_chunk(R (&r)[N], const S* p, long long inside, typename OwSame<R>::type outside) {
    for (int l = 0; l < N; ++l) r[l] = l < inside ? load(p + l) : outside;
}
// Where N elements from `first` on begin so that all lie before `end`: earlier, if so many are there.
template <int N> OW_INLINE index_t whole_from(index_t first, index_t end) {
    return first + N <= end || end < N ? first : end - N;
}
// Of a step that is known a compiler makes vectors.
template <int STEP, int N, class R, class S>
OW_INLINE void load_steps(R (&r)[N], const S* p, index_t stride) {
    const index_t step = STEP ? STEP : stride;
    for (int l = 0; l < N; ++l) r[l] = load(p + l * step);
}
template <int N, class R, class S>
__attribute__((noinline)) void load_strided_part(R* r, const S* p, index_t stride, index_t count) {
    for (int l = 0; l < count; ++l) r[l] = load(p + l * stride);
}
template <int N, class R, class S> OW_INLINE void load_whole(R (&r)[N], const S* p, index_t stride) {
    if (stride == 2) load_steps<2>(r, p, stride);
    else if (stride == 3) load_steps<3>(r, p, stride);
    else if (stride == 4) load_steps<4>(r, p, stride);
    else if (stride == -1) load_steps<-1>(r, p, stride);
    else load_steps<0>(r, p, stride);
}
// The same in a function of its own, for kernels with many such arrays, which g++ compiles for long: it
// makes a path for each step of each.
template <int N, class R, class S>
__attribute__((noinline)) void load_whole_apart(R* r, const S* p, index_t stride) {
    load_whole(*(R (*)[N])r, p, stride);
}
template <bool APART, int N, class R, class S>
OW_INLINE void load_strided_or(R (&r)[N], const S* p, index_t stride, index_t inside, R outside) {
    if (inside >= N && !APART) return load_whole(r, p, stride);
    R kept[N];
    if (inside >= N) {
        load_whole_apart<N, R, S>(kept, p, stride);
    } else {
        for (int l = 0; l < N; ++l) kept[l] = outside;
        seldom<load_strided_part<N, R, S>>(kept, p, stride, inside < 0 ? 0 : inside);
    }
    for (int l = 0; l < N; ++l) r[l] = kept[l];
}
#define OW_LOAD_STRIDED(NAME, APART)                                                                       \
    template <int N, class R, class S>                                                                     \
    OW_INLINE void NAME(R (&r)[N], const S* p, index_t stride, index_t inside, typename OwSame<R>::type outside) { \
        load_strided_or<APART>(r, p, stride, inside, outside);                                             \
    }                                                                                                      \
    template <int N, class R, class S>                                                                     \
    OW_INLINE void NAME(R (&r)[N], const S* p, index_t stride, index_t inside) {                           \
        NAME(r, p, stride, inside, inside > 0 && inside < N ? R(load(p + (inside - 1) * stride)) : R());   \
    }
OW_LOAD_STRIDED(load_strided, false)
OW_LOAD_STRIDED(load_strided_apart, true)
// N elements where they lie, so that a loop over them has no other before it, or a copy of some.
template <class S, int N> struct Chunk {
    const S* at;
    S kept[N];
    OW_SPECIAL S operator[](int l) const { return OW_READ(at + l); }
};
template <int N, class S> OW_INLINE void load_chunk(Chunk<S, N>& r, const S* p, long long inside) {
    if (inside < N) seldom<load_part<N, S>>(r.kept, p, inside);
    r.at = inside < N ? r.kept : p;
}
template <int N, class S>
__attribute__((noinline)) void join_part(S* kept, const S* from, const S* other, int count) {
    for (int l = 0; l < N; ++l) kept[l] = l < count ? from[l] : other[l];
}
template <int N, class S> OW_INLINE void join_at(Chunk<S, N>& r, const S* before, const S* behind, index_t count) {
    if (count > 0 && count < N) seldom<join_part<N, S>>(r.kept, before, behind, (int)count);
    r.at = count >= N ? before : count > 0 ? r.kept : behind;
    ask_ahead<N>(r.at);
}
template <int N, class S> inline constexpr S NOTHING[N] = {};
template <int N, class S> OW_INLINE void join_chunks(Chunk<S, N>& r, const Chunk<S, N>& other, index_t count) {
    join_at(r, r.at, other.at, count);
}
template <int N, class S> OW_INLINE void join_behind(Chunk<S, N>& r, const Chunk<S, N>& other, index_t count) {
    join_at(r, other.at, r.at, count);
}
template <int N, class S> OW_INLINE void join_chunks(Chunk<S, N>& r, index_t count) {
    join_at(r, r.at, NOTHING<N, S>, count);
}
template <int N, class S> OW_INLINE void join_behind(Chunk<S, N>& r, index_t count) {
    join_at(r, NOTHING<N, S>, r.at, count);
}
// The elements of a chunk from one place to another, and 0 around them.
template <int N, class S>
__attribute__((noinline)) void load_within(S* kept, const S* p, index_t stride, int begin, int end) {
    if (OW_HAS_MASKS<S> && stride == 1) {
        for (int l = 0; l < N; ++l) kept[l] = (unsigned)(l - begin) < (unsigned)(end - begin) ? p[l] : S();
    } else {
        for (int l = 0; l < N; ++l) kept[l] = S();
        if (stride == 1) OW_COPY(kept + begin, p + begin, (end - begin) * sizeof(S));
        else for (int l = begin; l < end; ++l) kept[l] = p[l * stride];
    }
}
template <int N, class S>
OW_INLINE const S* window_of(S (&kept)[N], const S* p, index_t stride, index_t extent, index_t first) {
    const bool whole = first >= 0 && first <= extent - N && stride == 1, none = first <= -N || first >= extent;
    if (!whole && !none) {
        const int begin = first >= 0 ? 0 : -(int)first, end = extent - first < N ? (int)(extent - first) : N;
        seldom<load_within<N, S>>(kept, p + first * stride, stride, begin, end);
    }
    return whole ? p + first : none ? NOTHING<N, S> : kept;
}
template <int N, class R, class S>
OW_INLINE void load_window(R (&r)[N], const S* p, index_t stride, index_t extent, index_t first) {
    S kept[N];
    fill(r, window_of(kept, p, stride, extent, first));
}
template <int N, class S>
OW_INLINE void load_window(Chunk<S, N>& r, const S* p, index_t stride, index_t extent, index_t first) {
    r.at = window_of(r.kept, p, stride, extent, first);
}
template <int N, class R, class S>
OW_INLINE void store_chunk(S* p, const R (&r)[N], long long inside) {
    S kept[N];
    spill(inside < N ? kept : p, r);
    if (inside < N) seldom<store_part<N, S>>(p, kept, 0LL, inside);
}
// A chunk without its first `begin` elements, none if that is below 0.
template <int N, class R, class S>
OW_INLINE void store_rest(S* p, const R (&r)[N], index_t begin, index_t inside) {
    S kept[N];
    const bool whole = begin <= 0 && inside >= N;
    spill(whole ? p : kept, r);
    if (!whole) seldom<store_part<N, S>>(p, kept, begin < 0 ? 0LL : begin, inside < N ? (long long)inside : N);
}
// Where N elements lie in a table, and whether they lie there one behind the other.
template <int N, class I> struct Places { I at[N]; bool run; };
template <int N, class F> OW_INLINE auto places_of(index_t j0, F place) {
    Places<N, decltype(place(j0))> found;
    for (int l = 0; l < N; ++l) found.at[l] = place(j0 + l);
    auto apart = found.at[0] ^ found.at[0];
    for (int l = 0; l < N; ++l) apart |= found.at[l] ^ (found.at[0] + l);
    found.run = apart == 0;
    return found;
}
// The same of places that rise by 1 or stay: both ends tell whether they are a run.
template <int N, class F> OW_INLINE auto rising_places_of(index_t j0, F place) {
    Places<N, decltype(place(j0))> found;
    const auto first = place(j0);
    found.run = place(j0 + N - 1) - first == N - 1;
    if (found.run)
        for (int l = 0; l < N; ++l) found.at[l] = first + l;
    else
        for (int l = 0; l < N; ++l) found.at[l] = place(j0 + l);
    return found;
}
template <int N, class S, class I>
OW_INLINE void gather_places(S (&kept)[N], const S* p, index_t stride, index_t extent, const Places<N, I>& places) {
    I outside = 0;  // negative where one is
    for (int l = 0; l < N; ++l) outside |= places.at[l] | ((I)extent - 1 - places.at[l]);
    if (I(-1) < I(0) && outside >= 0)  // without a question for each, which g++ makes no vectors of
        for (int l = 0; l < N; ++l) kept[l] = p[(index_t)places.at[l] * stride];
    else
        for (int l = 0; l < N; ++l) kept[l] = is_inside(places.at[l], extent) ? p[places.at[l] * stride] : S();
}
// The elements there, 0 for places that the table has not: where they lie, or a copy.
template <int N, class S, class I>
OW_INLINE const S* elements_at(S (&kept)[N], const S* p, index_t stride, index_t extent, const Places<N, I>& places) {
    const index_t first = places.at[0];
    const bool whole = places.run && stride == 1 && first >= 0 && first <= extent - N;
    if (!whole) gather_places(kept, p, stride, extent, places);
    return whole ? p + first : kept;
}
template <int N, class R, class S, class I>
OW_INLINE void load_places(R (&r)[N], const S* p, index_t stride, index_t extent, const Places<N, I>& places) {
    S kept[N];
    fill(r, elements_at(kept, p, stride, extent, places));
}
template <int N, class S, class I>
OW_INLINE void load_places(Chunk<S, N>& r, const S* p, index_t stride, index_t extent, const Places<N, I>& places) {
    r.at = elements_at(r.kept, p, stride, extent, places);
    ask_ahead<N>(r.at);
}
#else  // where only what is read counts
template <int N, class S> OW_INLINE void ask_for(const S*) {}
#endif
