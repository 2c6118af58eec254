// The functions for ordinary numbers alone, and the loops that fall back on the others: see math.cuh.
//
// Most of what a function takes is for numbers that hardly ever come: NaN, infinity, subnormal or
// huge ones.  A loop over a chunk computes without that, and notes whether one came; if so, it runs
// again, with the whole functions.  Of an ordinary number either way gives the same bits.
#pragma once
#include "opweave.cuh"
#include "divisors.cuh"
#include "pairs.cuh"
OW_NO_CONTRACTION
#if defined(__FMA__) || defined(__aarch64__)
enum { OW_HAS_FMA = 1 };
#else
enum { OW_HAS_FMA = 0 };
#endif

// What a loop has noted: the first bit is set where a number was not ordinary.
template <bool ANY> struct Noted {
    enum { WHOLE = ANY };  // functions are computed of any number
    unsigned single = 0;
    unsigned long long wide = 0;
    OW_SPECIAL void note(unsigned bits) { single |= bits; }
    OW_SPECIAL void note(unsigned long long bits) { wide |= bits; }
    OW_SPECIAL bool any() const { return (single >> 31) | (wide >> 63); }
};
// `loop(noted)`, as often as it has to run.  Where the last chunk had such a number, the next may.
static bool ow_rare_came;
template <class Loop> OW_INLINE void ow_run_lanes(const Loop& loop) {
    if (!__atomic_load_n(&ow_rare_came, __ATOMIC_RELAXED)) {
        Noted<false> noted;
        loop(noted);
        if (__builtin_expect(!noted.any(), 1)) return;
    }
    Noted<true> noted;
    loop(noted);
    if (noted.any() != __atomic_load_n(&ow_rare_came, __ATOMIC_RELAXED))  // a store would take it from other cores
        __atomic_store_n(&ow_rare_came, noted.any(), __ATOMIC_RELAXED);
}
// places_of, whose function notes an index that has no element.
template <int N, class F> OW_INLINE auto places_noted(index_t j0, const F& place) {
    Noted<false> ordinary;
    auto found = places_of<N>(j0, [&](const index_t j) __attribute__((always_inline)) { return place(ordinary, j); });
    if (__builtin_expect(ordinary.any(), 0)) {
        Noted<true> noted;
        found = places_of<N>(j0, [&](const index_t j) __attribute__((always_inline)) { return place(noted, j); });
    }
    return found;
}
// What the lanes of a row's pass have noted, each for itself: they meet behind the row alone.  BITS
// are those of the widest numbers in it.
template <bool ANY, class BITS> struct NotedLane {
    enum { WHOLE = ANY, SHIFT = sizeof(BITS) == 8 ? 32 : 0 };
    BITS& noted;
    const BITS here;  // no bit of a lane behind the row
    OW_SPECIAL void note(unsigned bits) { if constexpr (!ANY) noted |= ((BITS)bits << SHIFT) & here; }
    OW_SPECIAL void note(unsigned long long bits) { if constexpr (!ANY) noted |= (BITS)(bits >> (32 - SHIFT)) & here; }
};
template <bool ANY, class BITS, int N> struct NotedLanes {
    BITS noted[ANY ? 1 : N] = {};
    OW_SPECIAL NotedLane<ANY, BITS> at(int l, bool here) { return {noted[ANY ? 0 : l], mask_if<BITS>(here)}; }
    OW_SPECIAL bool any() const {
        BITS all = 0;
        for (const BITS bits : noted) all |= bits;
        return all >> (8 * sizeof(BITS) - 1);
    }
};
// The chunks of a row as by ow_run_chunks, for ordinary numbers, and all of them again for any where a
// number was none; lanes behind the row note nothing.  `begin` sets running values as they were.  Rows
// of few chunks, where asked, and some rows behind one with such a number, are computed for any at once.
static thread_local unsigned ow_rare_rows;
template <class BITS, int N, class Begin, class Body>
OW_INLINE void ow_run_pass(const index_t first, const index_t end, const index_t step, const index_t whole,
                           const index_t least, const Begin& begin, const Body& body) {
    unsigned& left = *OW_FOUND_ONCE(&ow_rare_rows);
    const unsigned rare = left;
    if (rare) left = rare - 1;
    for (bool any = rare || whole < least;; any = true) {
        NotedLanes<false, BITS, N> ordinary;
        NotedLanes<true, BITS, N> others;
        index_t c = first;
        if (!any) {
            for (; c < end && c < whole; c += step) body(Constant<1>(), ordinary, c);
            for (; c < end; c += step) body(Constant<0>(), ordinary, c);
        }
        for (; c < end; c += step) body(Constant<0>(), others, c);
        if (any || __builtin_expect(!ordinary.any(), 1)) return;
        left = 16;
        begin();
    }
}

// What sets the first bit: a size above the largest; one whose cube is subnormal, but 0; and outside
// of the normal numbers from 0 on.
template <class T> OW_INLINE auto above(T x, T most) { return host_bits(most) - host_bits(fabs(x)); }
// The same but for NaN, which some of the short forms keep.
template <class T> OW_INLINE auto beyond(T x, T most) { return above(x, most) & ~(Format<T>::ENDLESS - host_bits(fabs(x))); }
template <class T> OW_INLINE auto small_cube(T x) {
    const auto size = host_bits(fabs(x));
    return (size - host_bits(Format<T>::CUBED)) & (0 - size);
}
template <class T> OW_INLINE auto not_normal(T x) {
    using U = typename Format<T>::Bits;
    return (host_bits(x) - (U)(sizeof(T) == 4 ? 1ULL << 23 : 1ULL << 52)) | (Format<T>::ENDLESS - 1 - host_bits(x));
}

// An index that has an element.  Any other one is noted, and reads the first element meanwhile.
// Behind the end of a row there is no index.
template <class Notes, class I>
OW_INLINE I index_of(Notes&& noted, I i, I n, bool here, uint64* faults, uint64 site) {
    if constexpr (OwNoReference<Notes>::type::WHOLE) return index_of(i, n, here, faults, site);
    const I counted = wrap_add(i, i < 0 ? n : I(0));
    const auto outside = counted | (n - 1 - counted);  // negative
    if constexpr (sizeof(I) == 8) noted.note((unsigned long long)outside & mask_if<unsigned long long>(here));
    else noted.note((unsigned)outside & mask_if<unsigned>(here));
    return is_inside(counted, n) ? counted : I(0);
}

// Quotients of integers that round down, and what they leave: of 64 bits by double, where both are of
// up to 50 bits.  All others have no shorter form.
template <class T> OW_INLINE unsigned long long not_small(T x) {
    constexpr long long most = 1LL << 50;
    const long long number = (long long)x, below = T(-1) < T(0) ? number + most : number;
    return (unsigned long long)(below | (most - 1 - number));
}
#define OW_ORDINARY_QUOTIENT(NAME, VALUE)                                                     \
    template <class Notes, class T> OW_INLINE T NAME(Notes&& noted, T x, T y) {               \
        if constexpr (sizeof(T) < 8 || T(0.5) != T(0)) return NAME(x, y);                     \
        else {                                                                                \
            noted.note(not_small(x) | not_small(y) | ~((unsigned long long)y | (0 - (unsigned long long)y))); \
            if constexpr (OwNoReference<Notes>::type::WHOLE) return NAME(x, y);               \
            const double of = small_double((long long)x), by = small_double((long long)y);    \
            const double quotient = small_floor(of, by);                                      \
            return (T)small_whole(VALUE);                                                     \
        }                                                                                     \
    }
OW_ORDINARY_QUOTIENT(floor_div, quotient)
OW_ORDINARY_QUOTIENT(floor_mod, of - quotient * by)  // exactly: all three are whole numbers
// By a number that is the same for all lanes.
#define OW_QUOTIENT_BY(NAME)                                                                  \
    template <class Notes, class T> OW_INLINE T NAME(Notes&& noted, T x, Divisor<T> y) {      \
        if constexpr (sizeof(T) < 8 && T(0.5) == T(0)) return NAME(x, y);                     \
        else return NAME(noted, x, y.value);                                                  \
    }
OW_QUOTIENT_BY(floor_div)
OW_QUOTIENT_BY(floor_mod)

// x / y, where y is the same for all lanes, by one reciprocal: the product with it is corrected twice,
// the second time from a neighbour of the quotient, which makes it the nearest (Markstein; "Handbook
// of Floating-Point Arithmetic", 2nd edition, 4.7).  Not where a rest might be subnormal, or overflow.
// What has other types is divided.  The sign is turned last, by bits that the compiler does not know:
// of -(a * b + c) g++ makes -a * b - c, whose zero has the other sign.
template <class Notes, class T, class U> OW_INLINE auto row_quotient(Notes&&, T x, U y) { return x / y; }
#define OW_ROW_QUOTIENT(T, LEAST, MOST, LEAST_BY, MOST_BY)                                    \
    template <class Notes> OW_INLINE T row_quotient(Notes&& noted, T x, T y) {                \
        const auto size = host_bits(fabs(x)), by = host_bits(fabs(y));                        \
        const auto sign = host_bits(y) ^ by ^ (decltype(host_bits(y)))ow_zero;                \
        noted.note((host_bits((T)MOST) - size) | ((size - host_bits((T)LEAST)) & (0 - size))); /* not of 0 */ \
        noted.note((host_bits((T)MOST_BY) - by) | (by - host_bits((T)LEAST_BY)));             \
        if constexpr (OwNoReference<Notes>::type::WHOLE || !OW_HAS_FMA) return x / y;         \
        /* The rests are negative ones: those of -0 are then +0, and take its sign from no result. */ \
        const T divisor = fabs(y), reciprocal = 1 / divisor, near = x * reciprocal;           \
        const T next = fma(fma(near, divisor, -x), -reciprocal, near);                        \
        return host_##T(host_bits(fma(fma(next, divisor, -x), -reciprocal, next)) ^ sign);    \
    }
OW_ROW_QUOTIENT(float, 0x1p-76, 0x1p80, 0x1p-40, 0x1p40)
OW_ROW_QUOTIENT(double, 0x1p-600, 0x1p600, 0x1p-200, 0x1p200)

// What is beside it for float and double: the sizes up to which numbers are ordinary, and how the
// function is computed of them.
#define OW_ORDINARY(NAME, T, RARE, VALUE)                                                     \
    template <class Notes> OW_INLINE T NAME(Notes&& noted, T x) {                             \
        noted.note(RARE);                                                                     \
        if constexpr (OwNoReference<Notes>::type::WHOLE) return NAME(x);                             \
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
OW_ORDINARY(exp, float, beyond(x, 86.5f), ordinary_exp(x))
OW_ORDINARY(exp, double, beyond(x, 708.0), ordinary_exp(x))
OW_ORDINARY(exp2, float, beyond(x, 125.0f), ordinary_exp2(x))
OW_ORDINARY(exp2, double, beyond(x, 1020.0), ordinary_exp2(x))
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
OW_ORDINARY(expm1, float, above(x, 86.5f), expm1_of(x, exp_rest(zero_if_tiny(x))))
OW_ORDINARY(expm1, double, above(x, 708.0), expm1_of(x, half_expm1_inside(zero_if_tiny(x))))
OW_ORDINARY(tanh, float, 0u, tanh(x))  // which has no shorter form
OW_ORDINARY(tanh, double, small_cube(x), tanh_of<true>(x))
#endif
#ifndef OW_NO_ANGLES
OW_ORDINARY(sin, float, far_or_not(x), sin_of(near_angle(x), x))
OW_ORDINARY(sin, double, far_or_not(x), sin_of(near_angle(x), x))
OW_ORDINARY(cos, float, far_or_not(x), cos_of(near_angle(x)))
OW_ORDINARY(cos, double, far_or_not(x), cos_of(near_angle(x)))
OW_ORDINARY(tan, float, far_or_not(x), of_finite(tan_of(near_angle(x), x), x))
OW_ORDINARY(tan, double, far_or_not(x), of_finite(tan_of(near_angle(x), x), x))
OW_ORDINARY(asin, float, 0u, asin(x))  // which has no shorter form
OW_ORDINARY(asin, double, small_cube(x), asin_of<true>(x))
#define OW_ORDINARY_ARC(T)                                                                    \
    OW_ORDINARY(acos, T, small_cube(x), acos_of<true>(x))                                         \
    OW_ORDINARY(atan, T, small_cube(x), atan_alone<true>(x))
OW_ORDINARY_ARC(float)
OW_ORDINARY_ARC(double)
#endif
#ifndef OW_NO_LOGARITHMS
#define OW_ORDINARY_LOGARITHM(T)                                                              \
    OW_ORDINARY(log, T, not_normal(x), joined_log(mantissa_of_normal(x), (T)0))               \
    OW_ORDINARY(log2, T, not_normal(x), log2_of(mantissa_of_normal(x)))                       \
    OW_ORDINARY(log10, T, not_normal(x), log10_of(mantissa_of_normal(x)))                     \
    OW_ORDINARY(log1p, T, not_normal((T)1 + x), (log1p_of<T, true>(x)))                       \
    OW_ORDINARY(atanh, T, 0u, atanh(x))  /* which have no shorter form */                        \
    OW_ORDINARY(asinh, T, 0u, asinh(x))                                                       \
    OW_ORDINARY(acosh, T, 0u, acosh(x))
OW_ORDINARY_LOGARITHM(float)
OW_ORDINARY_LOGARITHM(double)
#endif
#ifndef OW_NO_POWERS
// 0 is ordinary, too.
template <class T> OW_INLINE auto not_normal_root(T x, T least) {
    const auto size = host_bits(fabs(x));
    return (Format<T>::ENDLESS - 1 - size) | ((size - host_bits(least)) & (0 - size));
}
OW_ORDINARY(cbrt, float, not_normal_root(x, 0x1p-60f), copysign(near_cbrt(fabs(x)), x))
OW_ORDINARY(cbrt, double, not_normal_root(x, 0x1p-900), copysign(near_cbrt(fabs(x)), x))
// The whole exponent takes part in one product, which neither overflows nor is subnormal.
OW_INLINE float ordinary_power(double product) {
    const NearAndWhole e = exp2_parts(product);
    return (float)(e.near * power_of_two(e.whole));
}
OW_INLINE double ordinary_power(Pair<double> product) {
    const DoubleRest e = exp_rest(zero_if_minute(product.hi));
    const double r = e.rest + product.lo;
    return ((behind_exp(r) + r) + 1.0) * power_of_two(e.whole);
}
// Of a number above 0, to a power that is neither endless nor subnormal.
template <class Notes> OW_INLINE float pow(Notes&& noted, float x, float y) {
    if constexpr (OwNoReference<Notes>::type::WHOLE) {
        const float any = pow(x, y);
        return noted.note(not_normal(x) | not_normal(any)), any;
    }
    const double product = y * wide_log2(mantissa_of_normal(x));
    noted.note(not_normal(x)), noted.note(above(product, 125.0));
    return ordinary_power(product);
}
// The same; and of 0, as of 1 until the end: the whole function takes twice as long.
template <class Notes> OW_INLINE double pow(Notes&& noted, double x, double y) {
    using U = unsigned long long;
    const U bits = host_bits(x), zero = mask_if<U>(bits == 0);
    const double base = host_double(bits | (Format<double>::ONE & zero));
    noted.note(not_normal(base));
    if constexpr (OwNoReference<Notes>::type::WHOLE) {
        const double any = pow(x, y);
        return noted.note(not_normal(any) & ~zero), any;
    }
    const Pair<double> product = times_log(y, log_pair(mantissa_of_normal(base)));
    noted.note(above(product.hi, 708.0));
    const U ended = zero & mask_if<U>(y != 0.0), endless = mask_if<U>(y < 0.0) & Format<double>::ENDLESS;
    return host_double((host_bits(ordinary_power(product)) & ~ended) | (endless & ended));
}
#endif
OW_AS_BEFORE
