// Mathematics for the host compiler: header-free, and plain enough to vectorise.
//
// Functions of float are computed in float, in double where accuracy needs it.  Every result is the
// same whether a loop was vectorised or not: each operation is IEEE and none is reassociated.
#pragma once

extern "C" double ow_library_fmod(double, double) noexcept __asm__("fmod");

#include "bits.cuh"

OW_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
OW_INLINE double sqrt(double x) { return __builtin_sqrt(x); }
OW_INLINE float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
OW_INLINE double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
OW_INLINE float fabs(float x) { return __builtin_fabsf(x); }
OW_INLINE double fabs(double x) { return __builtin_fabs(x); }
OW_INLINE float floor(float x) { return __builtin_floorf(x); }
OW_INLINE double floor(double x) { return __builtin_floor(x); }
OW_INLINE float ceil(float x) { return __builtin_ceilf(x); }
OW_INLINE double ceil(double x) { return __builtin_ceil(x); }
OW_INLINE float trunc(float x) { return __builtin_truncf(x); }
OW_INLINE double trunc(double x) { return __builtin_trunc(x); }
OW_INLINE float rint(float x) { return __builtin_rintf(x); }
OW_INLINE double rint(double x) { return __builtin_rint(x); }
OW_INLINE float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
OW_INLINE double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
OW_INLINE float copysign(float x, float y) { return __builtin_copysignf(x, y); }
OW_INLINE double copysign(double x, double y) { return __builtin_copysign(x, y); }
OW_INLINE bool signbit(float x) { return host_bits(x) >> 31; }
OW_INLINE bool signbit(double x) { return host_bits(x) >> 63; }

// What is exact by pairs of numbers is so only if no product is joined to a sum behind its back, as
// clang does where it may (`-ffp-contract=fast`, of relaxed kernels).
#ifdef __clang__
#define OW_NO_CONTRACTION _Pragma("clang fp contract(off)")
#if USE_FAST_MATH
#define OW_AS_BEFORE _Pragma("clang fp contract(fast)")
#else
#define OW_AS_BEFORE
#endif
#else
#define OW_NO_CONTRACTION
#define OW_AS_BEFORE
#endif
#include "remainders.cuh"

#include "special.cuh"

// CUDA's other names of these.
OW_FLOAT_NAME(sqrt) OW_FLOAT_NAME(rsqrt) OW_FLOAT_NAME(fabs) OW_FLOAT_NAME(floor) OW_FLOAT_NAME(ceil)
OW_FLOAT_NAME(trunc) OW_FLOAT_NAME(rint)
OW_INLINE float fmaf(float x, float y, float z) { return fma(x, y, z); }
OW_INLINE float copysignf(float x, float y) { return copysign(x, y); }
// Of a number and NaN the number.
#define OW_PICK_NUMBER(NAME, T, ORDER) \
    OW_INLINE T NAME(T x, T y) { return (x ORDER y) | (y != y) ? x : y; }
OW_PICK_NUMBER(fmax, float, >=) OW_PICK_NUMBER(fmin, float, <=)
OW_PICK_NUMBER(fmax, double, >=) OW_PICK_NUMBER(fmin, double, <=)
OW_INLINE float fmaxf(float x, float y) { return fmax(x, y); }
OW_INLINE float fminf(float x, float y) { return fmin(x, y); }
#ifndef OW_VERIFY
// Maximum and minimum of which NaN is one.  As in common.cuh, but by masks: where lanes are joined
// g++ makes branches of two conditions, and nothing predicts them.
#define OW_PICK_NAN(NAME, T, BITS, QUIET, ORDER) \
    OW_INLINE T NAME(T x, T y) { \
        const T picked = y ORDER x ? y : x; \
        return host_##T(host_bits(picked) | ((BITS)0 - (BITS)(y != y) & QUIET)); \
    }
OW_PICK_NAN(max_nan, float, unsigned, 0x7fc00000u, >)
OW_PICK_NAN(min_nan, float, unsigned, 0x7fc00000u, <)
OW_PICK_NAN(max_nan, double, unsigned long long, 0x7ff8000000000000ULL, >)
OW_PICK_NAN(min_nan, double, unsigned long long, 0x7ff8000000000000ULL, <)
#endif
#define OW_PICK(T) \
    OW_INLINE T max(T x, T y) { return x < y ? y : x; } \
    OW_INLINE T min(T x, T y) { return y < x ? y : x; }
OW_PICK(int) OW_PICK(unsigned) OW_PICK(long long) OW_PICK(unsigned long long)
OW_INLINE float max(float x, float y) { return fmax(x, y); }
OW_INLINE float min(float x, float y) { return fmin(x, y); }
OW_INLINE double max(double x, double y) { return fmax(x, y); }
OW_INLINE double min(double x, double y) { return fmin(x, y); }
OW_INLINE float abs(float x) { return fabs(x); }
OW_INLINE double abs(double x) { return fabs(x); }
OW_INLINE int abs(int x) { return x < 0 ? (int)(0u - (unsigned)x) : x; }
OW_INLINE long long abs(long long x) { return x < 0 ? (long long)(0ULL - (unsigned long long)x) : x; }
