// opweave.cuh for the host compiler: the device helpers of our own kernels on a CPU.
#pragma once

#include "simt.cuh"
#include "hints.cuh"
#define OW_IS_KNOWN(x) __builtin_constant_p(x)
#define OW_UNROLL
#ifdef __clang__
#define OW_SIMD
#else
#define OW_SIMD _Pragma("omp simd")  // g++ would unroll a short loop before it makes vectors of it
#endif
#define OW_AS_LOADED(bits)
#if defined(OW_VERIFY) && !defined(OW_SANITIZE)  // blocks run one after the other
#define OW_WAIT ow_host->fail(OW_STOPPED, "a block waits for a part that no block before it had", OW_SITE)
#else
#define OW_WAIT
#endif
#define OW_WINS(x, y, LOSES) (y LOSES##= x || x != x)
#if defined(__x86_64__) && !defined(OW_VERIFY)
#define OW_BYTE(x) ((int)(x))  // of what an int has not it is -2**31, by a vector's instruction, too
#else
#define OW_BYTE(x) ((int64)(x))
#endif
#define OW_READ(p) ow_read(p)
#define OW_OF_BOOL(T, x) of_bool<T>(x)
#define OW_COUNT_BITS(x) __builtin_popcountll(x)
#define OW_UNROLL_CHANNELS _Pragma("GCC unroll 8")  // so that the loop over pixels vectorises
#define OW_EACH_BETWEEN(l, begin, end, N) for (int l = begin; l < end; ++l)

#ifdef OW_VERIFY  // not optimised
#define OW_WHOLE(T, x) ((T)(x))
#define OW_QUOTIENT(x, y) ((x) / (y))
#define OW_INDEX_QUOTIENT(x, y) ((x) / (y))
template <class R> OW_INLINE R minus(R x) { return -x; }
#else
#define OW_ASSIGN_PARTS  // of complex numbers: of an assignment as a whole g++ makes no vectors
// Zero, which the compiler cannot know: g++ takes (double)(int64)x for trunc(x), which keeps the
// sign of a zero and what lies beyond the integers.
__attribute__((weak)) long long ow_zero = 0;
#define OW_WHOLE(T, x) ((T)((T)(x) ^ (T)ow_zero))
#define OW_QUOTIENT(x, y) quotient_of(x, y)
#define OW_INDEX_QUOTIENT(x, y) index_quotient(x, y)
#define OW_NARROW_FLOOR(x, y) narrow_floor(x, y)
// The sign turned behind the compiler's back: where products are subtracted and added in turn, as
// in complex multiplication, g++ 12 makes vfmaddsub of them, whatever -ffp-contract says.
OW_INLINE float minus(float x) {
    unsigned u;
    OW_COPY(&u, &x, 4);
    u ^= 0x80000000u;
    OW_COPY(&x, &u, 4);
    return x;
}
OW_INLINE double minus(double x) {
    unsigned long long u;
    OW_COPY(&u, &x, 8);
    u ^= 0x8000000000000000ull;
    OW_COPY(&x, &u, 8);
    return x;
}
#endif

#include "math.cuh"
#include "integers.cuh"

OW_INLINE float short_quotient(float x, float y) { return x / y; }
OW_INLINE float whole_quotient(float x, float y) { return x / y; }
OW_INLINE float bfloat16_quotient(float x, float y) { return x / y; }

template <int BYTES> struct Word { struct type { char bytes[BYTES]; }; };
template <int WORDS, class W, class S> OW_INLINE void read_words(W (&words)[WORDS], const S* p);
template <int N, class R, class S> OW_INLINE void load_vector(R (&r)[N], const S* p);
template <int N, class R, class S> OW_INLINE void store_vector(S* p, const R (&r)[N]);
template <class How, int EACH, int N, class R, class S> OW_INLINE void load_words(R (&r)[N], const S* p);
template <class How, int EACH, int N, class R, class S> OW_INLINE void store_words(S* p, const R (&r)[N]);
template <int EACH, int N, class T> OW_INLINE void copy_words(T* to, const T* from);
#ifndef OW_VERIFY
#define OW_CHUNKS
template <int N, class R, class S> OW_INLINE void load_chunk(R (&r)[N], const S* p, long long inside);
template <int N, class R, class S>
OW_INLINE void load_chunk(R (&r)[N], const S* p, long long inside, typename OwSame<R>::type outside);
template <int N, class R, class S> OW_INLINE void store_chunk(S* p, const R (&r)[N], long long inside);
#endif

#include "../common.cuh"
#include "chunks.cuh"
#include "streams.cuh"

// One of two numbers, bit by bit: see compiler/codegen/vectorised.py.
template <int BYTES> struct BitsOf { typedef unsigned char type; };
template <> struct BitsOf<2> { typedef unsigned short type; };
template <> struct BitsOf<4> { typedef unsigned type; };
template <> struct BitsOf<8> { typedef unsigned long long type; };
template <class T> OW_INLINE T select_bits(bool condition, T x, T y) {
    // by shifts, which g++ takes out of a loop; it leaves a mere conversion there, and makes no vectors
    const long long all = (long long)((unsigned long long)condition << 63) >> 63;
    typename BitsOf<sizeof(T)>::type a, b, mask = all;
    OW_COPY(&a, &x, sizeof(T));
    OW_COPY(&b, &y, sizeof(T));
    a = (a & mask) | (b & ~mask);
    OW_COPY(&x, &a, sizeof(T));
    return x;
}
#include "turned.cuh"

#ifdef OW_VERIFY  // a lane passes 8 bytes at a time
template <class R> OW_INLINE Complex<R> ow_exchange(unsigned mask, Complex<R> z, int source, int line) {
    const R re = ow_exchange(mask, z.re, source, line);
    return {re, ow_exchange(mask, z.im, source, line)};
}
#define OW_EXCHANGED(NAME)                                                                    \
    template <class T, class I>                                                               \
    OW_INLINE NAME<T, I> ow_exchange(unsigned mask, NAME<T, I> x, int source, int line) {     \
        const T value = ow_exchange(mask, x.value, source, line);                             \
        return {value, ow_exchange(mask, x.place, source, line)};                             \
    }
OW_EXCHANGED(Largest)
OW_EXCHANGED(Smallest)
#endif

// Copies of a fibre are under way until it waits for them; where a block is one thread, they are
// there when the function returns.
template <int EACH, int N, class T> OW_INLINE void copy_words(T* to, const T* from) {
    ow_check_aligned(from, EACH, __LINE__);
    ow_check_aligned(to, EACH, __LINE__);
#ifdef OW_VERIFY
    for (int w = 0; w < N * (int)sizeof(T); w += EACH)
        ow_host->copy_async((char*)to + w, (const char*)from + w, EACH, EACH, __LINE__);
#else
    for (int l = 0; l < N; ++l) to[l] = from[l];
#endif
}
#ifdef OW_VERIFY
OW_INLINE void copies_begun() { ow_host->commit_async(); }
template <int N> OW_INLINE void copies_done() { ow_host->wait_async(N); }
#else
OW_INLINE void copies_begun() {}
template <int N> OW_INLINE void copies_done() {}
#endif

// Wide accesses mean narrow ones here, but must be aligned as a GPU asks.
template <int WORDS, class W, class S> OW_INLINE void read_words(W (&words)[WORDS], const S* p) {
    ow_check_aligned(p, sizeof(W), __LINE__);
    for (int at = 0; at < (int)sizeof(words); at += sizeof(S)) {
        const S element = *p++;
        OW_COPY((char*)words + at, &element, sizeof(S));
    }
}
template <class How, int EACH, int N, class R, class S> OW_INLINE void load_words(R (&r)[N], const S* p) {
    ow_check_aligned(p, EACH, __LINE__);
    for (int l = 0; l < N; ++l) r[l] = load(p + l);
}
template <class How, int EACH, int N, class R, class S> OW_INLINE void store_words(S* p, const R (&r)[N]) {
    ow_check_aligned(p, EACH, __LINE__);
    for (int l = 0; l < N; ++l) store(p + l, r[l]);
}
template <int N, class R, class S> OW_INLINE void load_vector(R (&r)[N], const S* p) {
    load_words<Plain, Access<N * sizeof(S)>::BYTES_EACH>(r, p);
}
template <int N, class R, class S> OW_INLINE void store_vector(S* p, const R (&r)[N]) {
    store_words<Plain, Access<N * sizeof(S)>::BYTES_EACH>(p, r);
}
