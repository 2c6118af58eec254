// opweave.cuh for the host compiler: the device helpers of our own kernels on a CPU.
#pragma once

#include "simt.cuh"
#define OW_UNROLL
// What a branch writes is a masked store to a CPU, and it waits for that before it loads again; so
// all is computed, and what counts is chosen.
#define BRANCH_ON_GPU(condition)
#define OW_COUNT_BITS(x) __builtin_popcountll(x)
#define OW_UNROLL_CHANNELS _Pragma("GCC unroll 4")  // so that the loop over pixels vectorises
#define OW_EACH_BETWEEN(l, begin, end, N) for (int l = begin; l < end; ++l)

#ifdef OW_VERIFY  // not optimised
#define OW_WHOLE(T, x) ((T)(x))
#else
// Zero, which the compiler cannot know: g++ takes (double)(int64)x for trunc(x), which keeps the
// sign of a zero and what lies beyond the integers.
__attribute__((weak)) long long ow_zero = 0;
#define OW_WHOLE(T, x) ((T)((T)(x) ^ (T)ow_zero))
#endif

#include "math.cuh"

template <int N, class R, class S> OW_INLINE void load_vector(R (&r)[N], const S* p);
template <int N, class R, class S> OW_INLINE void store_vector(S* p, const R (&r)[N]);

#include "../common.cuh"

// Wide accesses mean narrow ones here, but must be aligned as a GPU asks.
template <int N, class R, class S> OW_INLINE void load_vector(R (&r)[N], const S* p) {
    ow_check_aligned(p, Access<N * sizeof(S)>::BYTES_EACH, __LINE__);
    for (int l = 0; l < N; ++l) r[l] = load(p + l);
}
template <int N, class R, class S> OW_INLINE void store_vector(S* p, const R (&r)[N]) {
    ow_check_aligned(p, Access<N * sizeof(S)>::BYTES_EACH, __LINE__);
    for (int l = 0; l < N; ++l) store(p + l, r[l]);
}
