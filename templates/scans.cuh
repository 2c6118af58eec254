// scans.cuh -- tiles of a scan in shared memory, and totals that blocks tell each other.  Included
// behind rows.cuh; a tile has BLOCK * LANES elements, of which a thread takes LANES neighbours.
#pragma once

// Words of 16 bytes: neighbours in memory are copied by neighbouring threads of a warp, so that an
// access of the warp touches whole sectors.  A thread's own lie behind one another; the places of
// eight threads would be in few banks, and are exchanged among each eight.
template <class S> struct Wide { enum { COUNT = 16 / sizeof(S) }; };
template <class S> OW_INLINE void copy_wide(S* to, const S* from) {
    *(typename Word<16>::type*)to = *(const typename Word<16>::type*)from;
}
template <int N, class S> OW_INLINE S* place_of(S* tile, const int warp, const int word) {
    enum { EACH = WARP_SHARE * N / Wide<S>::COUNT };
    return tile + (warp * EACH + (word ^ (word >> 3 & 7))) * Wide<S>::COUNT;
}

// Begin to copy a tile, of which so many elements lie inside of the row; the others become 0.
template <int N, class S> OW_INLINE void fetch_tile(S* tile, const S* from, const int lane, const index_t inside) {
    enum { EACH = Wide<S>::COUNT, WORDS = N / EACH };
    const int warp = lane / WARP_SHARE;
OW_UNROLL
    for (int k = 0; k < WORDS; ++k) {
        const int word = k * WARP_SHARE + lane % WARP_SHARE, at = (warp * WORDS * WARP_SHARE + word) * EACH;
        S* const to = place_of<N>(tile, warp, word);
        if (at + EACH <= inside) {
            copy_words<16, EACH>(to, from + at);
        } else {
            for (int l = 0; l < EACH; ++l) to[l] = at + l < inside ? from[at + l] : S();
        }
    }
}
// The elements of a thread, as they are computed with.
template <int N, class R, class S> OW_INLINE void read_tile(R (&r)[N], S* tile, const int lane) {
    enum { EACH = Wide<S>::COUNT, WORDS = N / EACH };
OW_UNROLL
    for (int k = 0; k < WORDS; ++k) {
        __align__(16) S elements[EACH];
        copy_wide(elements, place_of<N>(tile, lane / WARP_SHARE, lane % WARP_SHARE * WORDS + k));
OW_UNROLL
        for (int l = 0; l < EACH; ++l) r[k * EACH + l] = load(elements + l);
    }
}
// Store a tile by way of one of L in shared memory, where elements are as long: then the places of a
// warp are those that it has read.
template <class L, int N, class R, class S>
OW_INLINE void store_tile(char* room, S* to, const R (&r)[N], const int lane, const index_t inside) {
    enum { EACH = Wide<S>::COUNT, WORDS = N / EACH };
    if (sizeof(S) != sizeof(L)) return store_chunk(to + lane * N, r, inside - lane * N);
    S* const tile = (S*)room;
    const int warp = lane / WARP_SHARE;
    __syncwarp();  // all have read what lies there
OW_UNROLL
    for (int k = 0; k < WORDS; ++k) {
        __align__(16) S elements[EACH];
OW_UNROLL
        for (int l = 0; l < EACH; ++l) store(elements + l, r[k * EACH + l]);
        copy_wide(place_of<N>(tile, warp, lane % WARP_SHARE * WORDS + k), elements);
    }
    __syncwarp();
OW_UNROLL
    for (int k = 0; k < WORDS; ++k) {
        const int word = k * WARP_SHARE + lane % WARP_SHARE, at = (warp * WORDS * WARP_SHARE + word) * EACH;
        const S* const from = place_of<N>(tile, warp, word);
        if (at + EACH <= inside) {
            copy_wide(to + at, from);
        } else {
            for (int l = 0; l < EACH; ++l)
                if (at + l < inside) to[at + l] = from[l];
        }
    }
    __syncwarp();  // what comes next may lie there
}

// A value that other blocks wait for: words of 4 bytes of it, each with a flag beside it, so that no
// fence stands between the two.  They begin as zeros.
template <class T> struct Told { enum { WORDS = (sizeof(T) + 3) / 4 }; };
template <class T> OW_INLINE void tell(volatile uint64* words, const T x) {
    unsigned bits[Told<T>::WORDS] = {};
    OW_COPY(bits, &x, sizeof(T));
OW_UNROLL
    for (int w = 0; w < Told<T>::WORDS; ++w) words[w] = (uint64)1 << 32 | bits[w];
}
template <class T> OW_INLINE T heard(const volatile uint64* words) {
    unsigned bits[Told<T>::WORDS];
OW_UNROLL
    for (int w = 0; w < Told<T>::WORDS; ++w) {
        uint64 word = words[w];
        while (word >> 32 == 0) {
            OW_WAIT;
            word = words[w];
        }
        bits[w] = (unsigned)word;
    }
    T x;
    OW_COPY(&x, bits, sizeof(T));
    return x;
}
