// The functions for ordinary numbers alone, and the loops that fall back on the others: see math.cuh.
//
// Most of what a function takes is for numbers that hardly ever come: NaN, infinity, subnormal or
// huge ones.  A loop over a chunk computes without that, and notes whether one came; if so, it runs
// again, with the whole functions.  Of an ordinary number either way gives the same bits.
#pragma once
#include "opweave.cuh"
#include "pairs.cuh"
OW_NO_CONTRACTION

// What a loop has noted: the first bit is set where a number was not ordinary.
template <bool WHOLE> struct Noted {
    unsigned single = 0;
    unsigned long long wide = 0;
    OW_INLINE void set(Noted& all, unsigned bits) { all.single |= bits; }
    OW_INLINE void set(Noted& all, unsigned long long bits) { all.wide |= bits; }
    OW_INLINE bool any(const Noted& all) { return (all.single >> 31) | (all.wide >> 63); }
};
// `loop(noted)`, as often as it has to run.  Where the last chunk had such a number, the next may.
static bool ow_rare_came;
template <class Loop> OW_INLINE void ow_run_lanes(const Loop& loop) {
    if (!__atomic_load_n(&ow_rare_came, __ATOMIC_RELAXED)) {
        Noted<false> noted;
        loop(noted);
        if (__builtin_expect(!Noted<false>::any(noted), 1)) return;
    }
    Noted<true> noted;
    loop(noted);
    __atomic_store_n(&ow_rare_came, Noted<true>::any(noted), __ATOMIC_RELAXED);
}

// What sets the first bit: a size above the largest; and outside of the normal numbers from 0 on.
template <class T> OW_INLINE auto above(T x, T most) { return host_bits(most) - host_bits(fabs(x)); }
template <class T> OW_INLINE auto not_normal(T x) {
    using U = typename Format<T>::Bits;
    return (host_bits(x) - (U)(sizeof(T) == 4 ? 1ULL << 23 : 1ULL << 52)) | (Format<T>::ENDLESS - 1 - host_bits(x));
}

// What is beside it for float and double: the sizes up to which numbers are ordinary, and how the
// function is computed of them.
#define OW_ORDINARY(NAME, T, RARE, VALUE)                                                     \
    template <bool WHOLE> OW_INLINE T NAME(Noted<WHOLE>& noted, T x) {                        \
        Noted<WHOLE>::set(noted, RARE);                                                       \
        if constexpr (WHOLE) return NAME(x);                                                  \
        else return VALUE;                                                                    \
    }
#ifndef OW_NO_EXPONENTIALS
OW_INLINE float ordinary_exp(FloatRest e, int up) {
    return fma(near_expm1(e.rest), 2.0f, 2.0f) * power_of_two_f(e.whole - 1 + up);
}
OW_INLINE float ordinary_exp(float x) { return ordinary_exp(exp_rest(zero_if_minute(x)), 0); }
OW_INLINE float ordinary_exp2(float x) {
    x = zero_if_minute(x);
    const WholeFloat w = whole_near(x, 1.0f);
    return 2.0f * exp2_near(x - w.n) * power_of_two_f(w.whole - 1);
}
OW_INLINE double ordinary_exp(double x, int up = 0) {
    const DoubleRest e = exp_rest(zero_if_minute(x));
    return ((behind_exp(e.rest) + e.rest) + 1.0) * power_of_two(e.whole + up);
}
OW_INLINE double ordinary_exp2(double x) {
    x = zero_if_minute(x);
    const double t = x + 6755399441055744.0, y = exp2_near(x - (t - 6755399441055744.0));
    return y * power_of_two((long long)(host_bits(t) - 0x4338000000000000ULL));
}
OW_ORDINARY(exp, float, above(x, 86.5f), ordinary_exp(x))
OW_ORDINARY(exp, double, above(x, 708.0), ordinary_exp(x))
OW_ORDINARY(exp2, float, above(x, 125.0f), ordinary_exp2(x))
OW_ORDINARY(exp2, double, above(x, 1020.0), ordinary_exp2(x))
OW_INLINE float ordinary_sinh(float x) {
    const float size = zero_if_tiny(fabs(x));
    return sinh_of(x, size, ordinary_exp(exp_rest(size), -1));
}
OW_ORDINARY(sinh, float, above(x, 87.0f), ordinary_sinh(x))
OW_ORDINARY(sinh, double, above(x, 22.0), copysign(fabs(x) < 0x1p-28 ? fabs(x) : near_sinh(fabs(x)), x))
OW_INLINE float ordinary_cosh(float x) {
    const float half = ordinary_exp(exp_rest(zero_if_minute(fabs(x))), -1);
    return half + 0.25f / half;
}
OW_INLINE double ordinary_cosh(double x) {
    const double half = ordinary_exp(fabs(x), -1);
    return half + 0.25 / half;
}
OW_ORDINARY(cosh, float, above(x, 87.0f), ordinary_cosh(x))
OW_ORDINARY(cosh, double, above(x, 708.0), ordinary_cosh(x))
#endif
#ifndef OW_NO_ANGLES
OW_ORDINARY(sin, float, far_or_not(x), sin_of(near_angle(x), x))
OW_ORDINARY(sin, double, far_or_not(x), sin_of(near_angle(x), x))
OW_ORDINARY(cos, float, far_or_not(x), cos_of(near_angle(x)))
OW_ORDINARY(cos, double, far_or_not(x), cos_of(near_angle(x)))
OW_ORDINARY(tan, float, far_or_not(x), tan_of(near_angle(x), x))
OW_ORDINARY(tan, double, far_or_not(x), tan_of(near_angle(x), x))
#endif
#ifndef OW_NO_LOGARITHMS
#define OW_ORDINARY_LOGARITHM(T)                                                              \
    OW_ORDINARY(log, T, not_normal(x), joined_log(mantissa_of_normal(x), (T)0))               \
    OW_ORDINARY(log2, T, not_normal(x), log2_of(mantissa_of_normal(x)))                       \
    OW_ORDINARY(log10, T, not_normal(x), log10_of(mantissa_of_normal(x)))                     \
    OW_ORDINARY(atanh, T, above(x, (T)1) - 1, (atanh_of<T, true>(x)))                         \
    OW_ORDINARY(asinh, T, above(x, (T)0x1p60), (asinh_of<T, true>(x)))                        \
    OW_ORDINARY(acosh, T, host_bits(x) | (host_bits(x) - Format<T>::ONE) | above(x, (T)0x1p60), (acosh_of<T, true>(x)))
OW_ORDINARY_LOGARITHM(float)
OW_ORDINARY_LOGARITHM(double)
#endif
#ifndef OW_NO_POWERS
#define OW_ORDINARY_ROOT(T) OW_ORDINARY(cbrt, T, not_normal(fabs(x)), copysign(cbrt_of<true>(fabs(x)), x))
OW_ORDINARY_ROOT(float)
OW_ORDINARY_ROOT(double)
#endif
OW_AS_BEFORE
