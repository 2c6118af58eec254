// Policies: how words of memory are read and written, and how long the words of a chunk are.
#pragma once

struct Plain {
    template <class W> OW_INLINE W read(const W* p) { return *p; }
    template <class W> OW_INLINE void write(W* p, W w) { *p = w; }
    // bytes of a word, of a chunk of `whole` bytes and elements of `one`
    OW_SPECIAL static constexpr int bytes(int whole, int) { return (whole & -whole) < 16 ? whole & -whole : 16; }
};
struct ReadOnly : Plain {  // through the cache of what no kernel writes
    template <class W> OW_INLINE W read(const W* p) { return __ldg(p); }
};
struct Streaming : Plain {  // of what is not read again: first to leave the caches
    template <class W> OW_INLINE W read(const W* p) { return __ldcs(p); }
    template <class W> OW_INLINE void write(W* p, W w) { __stcs(p, w); }
};
struct Pairs : Plain {  // two elements a word
    OW_SPECIAL static constexpr int bytes(int whole, int one) { return whole % (2 * one) || one > 8 ? one : 2 * one; }
};

// One element, in words as long as it is aligned; and chunks as of load_chunk and store_chunk.
template <class How, class S> OW_INLINE auto load_by(const S* p) {
    decltype(load(p)) r[1];
    load_words<How, alignof(S)>(r, p);
    return r[0];
}
template <class How, class R, class S> OW_INLINE void store_by(S* p, R x) {
    const R r[1] = {x};
    store_words<How, alignof(S)>(p, r);
}
template <class How, int N, class R, class S>
OW_INLINE void load_chunk_by(R (&r)[N], const S* p, index_t inside, typename Same<R>::type outside = R()) {
#if USE_VECTOR_IO
    if (inside >= N) return load_words<How, How::bytes(N * sizeof(S), sizeof(S))>(r, p);
#endif
OW_UNROLL
    for (int l = 0; l < N; ++l) r[l] = l < inside ? load_by<How>(p + l) : outside;
}
template <class How, int N, class R, class S> OW_INLINE void store_chunk_by(S* p, const R (&r)[N], index_t inside) {
#if USE_VECTOR_IO
    if (inside >= N) return store_words<How, How::bytes(N * sizeof(S), sizeof(S))>(p, r);
#endif
OW_UNROLL
    for (int l = 0; l < N; ++l)
        if (l < inside) store_by<How>(p + l, r[l]);
}

// Adds to what is there, whoever else does; integers wrap.
OW_INLINE void add_to(int* p, int x) { atomicAdd((unsigned*)p, (unsigned)x); }
OW_INLINE void add_to(int64* p, int64 x) { atomicAdd((uint64*)p, (uint64)x); }
template <class T> OW_INLINE void add_to(T* p, T x) { atomicAdd(p, x); }
