// opweave.cuh -- device helpers for NVRTC: no other header is needed.  PTX stands here only.
#pragma once

#define OW_INLINE static __device__ __forceinline__
#define OW_COPY memcpy
#define OW_COUNT_BITS(x) __popcll(x)
#define OW_SPECIAL __device__ __forceinline__
#define OW_UNROLL _Pragma("unroll")
#define OW_SIMD
#define OW_READ(p) (*(p))
#define OW_OF_BOOL(T, x) ((T)(x))
// NVRTC has it from 13.4 on, nvcc in functions of the host alone.
#if defined(__CUDACC_RTC__) && __has_builtin(__builtin_constant_p)
#define OW_IS_KNOWN(x) __builtin_constant_p(x)
#else
#define OW_IS_KNOWN(x) false
#endif
#define OW_AS_LOADED(bits) asm("" : "+h"(bits))
#define OW_WAIT  // for a block that has begun before
#define OW_WHOLE(T, x) ((T)(x))
#define OW_WINS(x, y, LOSES) (!(x LOSES y) && y == y)  // beside a literal one comparison
#define OW_BYTE(x) ((int)(fabsf(x) < 2147483648.0f ? x : 0.0f))
#define OW_QUOTIENT(x, y) ((x) / (y))
#define OW_INDEX_QUOTIENT(x, y) ((x) / (y))
#define OW_UNROLL_CHANNELS OW_UNROLL
#define OW_CALLED_FROM
#define OW_CALLER
#define OW_FOUND_ONCE(p) (p)
#define OW_INLINED  // of a lambda
// x - y as x + minus(y), for the sake of g++: see host/opweave.cuh.
template <class R> OW_INLINE R minus(R x) { return -x; }
// Some of N registers, which stay registers.
#define OW_EACH_BETWEEN(l, begin, end, N) \
    OW_UNROLL for (int l = 0; l < N; ++l) if (l >= begin && l < end)

static __device__ __forceinline__ float half_to_float(unsigned short bits) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}
static __device__ __forceinline__ unsigned short float_to_half(float x) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
OW_INLINE float round_to_half(float x) { return half_to_float(float_to_half(x)); }
// Two floats as 16-bit floats, of which `low` lies first in memory.  The instructions for one alone
// run on a slow unit; so one has a zero for company.  A NaN becomes the canonical one, 0x7fff.
#if __CUDA_ARCH__ >= 800
#define OW_ROUNDS_BFLOAT16
OW_INLINE unsigned bfloat16_pair(float low, float high) {
    unsigned bits;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
    return bits;
}
OW_INLINE unsigned float16_pair(float low, float high) {
    unsigned bits;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
    return bits;
}
OW_INLINE unsigned short bfloat16_bits(float x) { return (unsigned short)bfloat16_pair(x, 0.0f); }
OW_INLINE float round_to_bfloat16(float x) { return __uint_as_float(bfloat16_pair(0.0f, x)); }
#endif
static __device__ __forceinline__ unsigned short double_to_half(double x) {
    unsigned short bits;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(x));
    return bits;
}

// x / y of a whole number of at most 16 bits and a literal, likewise short, with an exponent far from
// the ends of the range.  The reciprocal in two floats is off by 2**-46 at most, and no such quotient
// lies within 2**-41 of the middle of two floats.  Zeros have the sign of y.
static __device__ __forceinline__ float whole_quotient(float x, float y) {
#if USE_FAST_MATH
    return x / y;
#else
    const float reciprocal = 1.0f / fabsf(y), rest = fmaf(-reciprocal, fabsf(y), 1.0f) * reciprocal;
    const float quotient = fmaf(x, reciprocal, x * rest);
    return y < 0 ? -quotient : quotient;
#endif
}
// Of -0, infinities and NaN, too: where there is no rest, or no number, the product itself is right.
static __device__ __forceinline__ float short_quotient(float x, float y) {
#if USE_FAST_MATH
    return x / y;
#else
    const float reciprocal = 1.0f / y, near = x * reciprocal, rest = fmaf(near, -y, x);
    return fabsf(rest) > 0 ? fmaf(rest, reciprocal, near) : near;
#endif
}
// Of bfloat16 numbers, rounded to bfloat16 then: no quotient lies within 2**-17 of the middle of two,
// unless it is subnormal, and such a middle is met.  `scale` keeps the reciprocal far from the ends
// of the range; it is exact where the quotient is neither 0 nor infinite.
static __device__ __forceinline__ float bfloat16_quotient(float x, float y) {
#if USE_FAST_MATH
    return x / y;
#else
    const float scale = fabsf(y) > 0x1p100f ? 0x1p-64f : fabsf(y) < 0x1p-100f ? 0x1p64f : 1.0f;
    return x * scale * (1.0f / (y * scale));
#endif
}

// Wide accesses: an integer type of the right width, taken apart in registers.  A struct of narrow
// members would be split into narrow loads.
template <int BYTES> struct Word;
template <> struct Word<1> { typedef unsigned char type; };
template <> struct Word<2> { typedef unsigned short type; };
template <> struct Word<4> { typedef unsigned type; };
template <> struct Word<8> { typedef uint2 type; };
template <> struct Word<16> { typedef uint4 type; };

template <int N, class R, class S>
static __device__ __forceinline__ void load_vector(R (&r)[N], const S* p);
template <int N, class R, class S>
static __device__ __forceinline__ void store_vector(S* p, const R (&r)[N]);
template <int WORDS, class W, class S>
static __device__ __forceinline__ void read_words(W (&words)[WORDS], const S* p);
template <class How, int EACH, int N, class R, class S>
static __device__ __forceinline__ void load_words(R (&r)[N], const S* p);
template <class How, int EACH, int N, class R, class S>
static __device__ __forceinline__ void store_words(S* p, const R (&r)[N]);
template <int EACH, int N, class T> static __device__ __forceinline__ void copy_words(T* to, const T* from);

#include "common.cuh"

// A byte becomes the end of 2**23, so that nothing waits for the unit that converts.
template <> template <> OW_SPECIAL float Convert<float>::from(uint8 x) {
    return __uint_as_float(0x4b000000u | x) - 8388608.0f;
}
template <int WORDS, class W, class S>
static __device__ __forceinline__ void read_words(W (&words)[WORDS], const S* p) {
#pragma unroll
    for (int w = 0; w < WORDS; ++w) words[w] = *((const W*)p + w);
}
template <class How, int EACH, int N, class R, class S>
static __device__ __forceinline__ void load_words(R (&r)[N], const S* p) {
    enum { WORDS = N * sizeof(S) / EACH };
    typename Word<EACH>::type words[WORDS];
    S elements[N];
#pragma unroll
    for (int w = 0; w < WORDS; ++w) words[w] = How::read((const typename Word<EACH>::type*)p + w);
    OW_COPY(elements, words, sizeof(elements));
#pragma unroll
    for (int l = 0; l < N; ++l) r[l] = load(elements + l);
}
// Registers as elements of memory; 16-bit floats two at a time, where there is an instruction.
template <int N, class R, class S>
static __device__ __forceinline__ void narrow(S (&elements)[N], const R (&r)[N]) {
#pragma unroll
    for (int l = 0; l < N; ++l) store(elements + l, r[l]);
}
#if __CUDA_ARCH__ >= 800
OW_INLINE unsigned pair_of(bfloat16*, float low, float high) { return bfloat16_pair(low, high); }
OW_INLINE unsigned pair_of(float16*, float low, float high) { return float16_pair(low, high); }
template <int N, class S> OW_INLINE void narrow_pairs(S (&elements)[N], const float (&r)[N]) {
#pragma unroll
    for (int l = 0; l < N; l += 2) {
        const bool two = l + 1 < N;  // N may be odd: a pixel of three channels
        const unsigned bits = pair_of(elements, r[l], two ? r[l + 1] : 0.0f);
        OW_COPY(elements + l, &bits, two ? 4 : 2);
    }
}
template <int N> OW_INLINE void narrow(bfloat16 (&elements)[N], const float (&r)[N]) { narrow_pairs(elements, r); }
template <int N> OW_INLINE void narrow(float16 (&elements)[N], const float (&r)[N]) { narrow_pairs(elements, r); }
#endif
template <class How, int EACH, int N, class R, class S>
static __device__ __forceinline__ void store_words(S* p, const R (&r)[N]) {
    enum { WORDS = N * sizeof(S) / EACH };
    typename Word<EACH>::type words[WORDS];
    S elements[N];
    narrow(elements, r);
    OW_COPY(words, elements, sizeof(elements));
#pragma unroll
    for (int w = 0; w < WORDS; ++w) How::write((typename Word<EACH>::type*)p + w, words[w]);
}
template <int N, class R, class S>
static __device__ __forceinline__ void load_vector(R (&r)[N], const S* p) {
    load_words<Plain, Access<N * sizeof(S)>::BYTES_EACH>(r, p);
}
template <int N, class R, class S>
static __device__ __forceinline__ void store_vector(S* p, const R (&r)[N]) {
    store_words<Plain, Access<N * sizeof(S)>::BYTES_EACH>(p, r);
}

// Copies from memory to shared memory, of EACH bytes: 4, 8 or 16, which both are aligned to.  From
// sm_80 on they are on their way when
// the function returns: those between two calls of copies_begun() are a group, and copies_done<N>()
// waits for all groups of the thread but the last N.
template <int EACH, int N, class T> static __device__ __forceinline__ void copy_words(T* to, const T* from) {
#if __CUDA_ARCH__ >= 800
    const unsigned at = (unsigned)__cvta_generic_to_shared(to);
#pragma unroll
    for (int w = 0; w < N * (int)sizeof(T); w += EACH)
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" : : "r"(at + w), "l"((const char*)from + w), "n"(EACH) : "memory");
#else
    for (int l = 0; l < N; ++l) to[l] = from[l];
#endif
}
static __device__ __forceinline__ void copies_begun() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" : : : "memory");
#endif
}
template <int N> static __device__ __forceinline__ void copies_done() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" : : "n"(N) : "memory");
#endif
}

// Shuffles of complex numbers, part by part.
template <class R>
static __device__ __forceinline__ Complex<R> __shfl_sync(unsigned mask, Complex<R> z, int lane, int width) {
    return {__shfl_sync(mask, z.re, lane, width), __shfl_sync(mask, z.im, lane, width)};
}
template <class R>
static __device__ __forceinline__ Complex<R> __shfl_down_sync(unsigned mask, Complex<R> z, unsigned delta, int width) {
    return {__shfl_down_sync(mask, z.re, delta, width), __shfl_down_sync(mask, z.im, delta, width)};
}

// Those of an extreme and its place.
#define OW_SHUFFLED(NAME)                                                                     \
    template <class T, class I>                                                               \
    static __device__ __forceinline__ NAME<T, I> __shfl_sync(unsigned mask, NAME<T, I> x, int lane, int width) { \
        return {(T)__shfl_sync(mask, x.value, lane, width), (I)__shfl_sync(mask, x.place, lane, width)}; \
    }                                                                                         \
    template <class T, class I>                                                               \
    static __device__ __forceinline__ NAME<T, I> __shfl_down_sync(unsigned mask, NAME<T, I> x, unsigned delta, int width) { \
        return {(T)__shfl_down_sync(mask, x.value, delta, width), (I)__shfl_down_sync(mask, x.place, delta, width)}; \
    }
OW_SHUFFLED(Largest)
OW_SHUFFLED(Smallest)

// Memory of the launch, named in the kernel: DYNAMIC_SHARED(float, tile);
#define DYNAMIC_SHARED(TYPE, NAME) extern __shared__ __align__(16) TYPE NAME[]
