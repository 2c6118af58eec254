// Logarithms of float and double for the host compiler, and what is made of them: see math.cuh.
//
// What would lose bits is kept as a pair.  Each function is one text for both types, over the
// polynomial and the constants of each.  Polynomials: tests/support/fits.py.
#pragma once
#include "pairs.cuh"
OW_NO_CONTRACTION

template <class T> struct LogConstants;
template <> struct LogConstants<float> {
    static constexpr float NORMAL = 0x1p-126f, UNITS = 149;  // the smallest; how often a unit doubles to 1
    static constexpr Pair<float> PER_LN2 = {1.44269502f, 1.92596303e-08f}, PER_LN10 = {0.434294492f, -1.010305e-08f};
    // the first of each in so few digits that its product with an exponent is exact
    static constexpr Pair<float> LN2 = {0.693359375f, -2.12194440e-4f}, LOG2 = {0.301025390625f, 4.60503907e-06f};
};
template <> struct LogConstants<double> {
    static constexpr double NORMAL = 0x1p-1022, UNITS = 1074;
    static constexpr Pair<double> PER_LN2 = {1.4426950408889634, 2.0355273740931033e-17};
    static constexpr Pair<double> PER_LN10 = {0.4342944819032518, 1.098319650216765e-17};
    static constexpr Pair<double> LN2 = {0.6931471803691238, 1.9082149292705877e-10};
    static constexpr Pair<double> LOG2 = {0.3010299801826477, 1.5481333490135613e-08};
};

// A number from 0 on as m 2**e with m from sqrt(1/2) to sqrt(2): e and m - 1.
template <class T> struct Mantissa { T e, f; };
OW_INLINE Mantissa<float> mantissa_of_normal(float x) {
    const unsigned shifted = host_bits(x) - 0x3f3504f3u;
    return {(float)((int)shifted >> 23), host_float((shifted & 0x007fffffu) + 0x3f3504f3u) - 1.0f};
}
OW_INLINE Mantissa<double> mantissa_of_normal(double x) {
    const unsigned long long shifted = host_bits(x) - 0x3fe6a09e667f3bcdULL;
    // the exponent plus 2048, as a double without a conversion that AVX2 lacks
    const double biased = host_double(0x4330000000000000ULL + ((shifted ^ 1ULL << 63) >> 52));
    const double f = host_double((shifted & 0x000fffffffffffffULL) + 0x3fe6a09e667f3bcdULL) - 1.0;
    return {biased - 4503599627372544.0, f};
}
// Of a subnormal number, the count of its smallest units.  By a mask: of a choice g++ computes both ways to the end.
template <class T> OW_INLINE Mantissa<T> mantissa_of(T x) {
    using U = typename Format<T>::Bits;
    const U small = mask_if<U>(x < LogConstants<T>::NORMAL), bits = host_bits(x);
    const Mantissa<T> m = mantissa_of_normal(of_bits(bits ^ (small & (bits ^ host_bits(raised(x))))));
    return {m.e - of_bits(small & host_bits(LogConstants<T>::UNITS)), m.f};
}
// What log(1 + f) has behind f - f * f / 2, over f * f * f.
OW_INLINE float log_tail(float f) {
    return horner(f, 0.06971612f, -0.11479734f, 0.1168542f, -0.12425687f, 0.14249058f,
        -0.16667803f, 0.20000716f, -0.24999997f, 0.3333333f);
}
// What log(1 + f) has behind f - f * f / 2: the largest term is exact.  `square` is f * f.
OW_INLINE float behind_square(float f, float square) { return f * square * log_tail(f); }
// With s = f / (2 + f) it is s * (f * f / 2 + R), where R is what the series of 2 atanh(s) has
// behind 2 s, over s.  After FreeBSD's e_log.c.
OW_INLINE double behind_square(double f, double square) {
    const double s = f / (2.0 + f), z = s * s;
    const double p = horner(z, 0.0609237668959801, 0.06688175367557916, 0.0769051631407193,
        0.09090963312653101, 0.11111110286413717, 0.1428571429220765, 0.19999999999975906,
        0.33333333333333365);
    return s * fma(z + z, p, 0.5 * square);
}
template <class T> OW_INLINE T log_or_end(T y, T x) {  // what a logarithm is where it is no number
    const T endless = of_bits(Format<T>::ENDLESS);
    y = x == endless ? x : y;
    y = x == (T)0 ? -endless : y;
    return x >= (T)0 ? y : of_bits(Format<T>::QUIET);
}
// log(1 + f + low) + e log(2), to be given log(1 + f)'s own low part.
template <class T> OW_INLINE T joined_log(Mantissa<T> m, T low) {
    const T square = m.f * m.f;
    const T rest = behind_square(m.f, square) + fma(m.e, LogConstants<T>::LN2.lo, low);
    return fma(m.e, LogConstants<T>::LN2.hi, m.f - fma((T)0.5, square, -rest));
}
template <class T> OW_INLINE T log_of(T x) { return log_or_end(joined_log(mantissa_of(x), (T)0), x); }
// log(1 + f) times a number, given in two parts, plus another.
OW_INLINE double log_times(double f, Pair<double> by, Pair<double> plus) {
    const double square = f * f, hi = fma(-0.5, square, f);
    const double lo = fma(-0.5, square, f - hi) + behind_square(f, square);
    const double product = hi * by.hi;
    const double rest = fma(hi, by.hi, -product) + fma(lo, by.hi, hi * by.lo);
    const Pair<double> sum = fast_two_sum(plus.hi, product);  // which is 0, or the larger
    return sum.hi + (sum.lo + (rest + plus.lo));
}
// Half of the steps, and at most one unit of the last place for 0.84.
OW_INLINE float log_times(float f, Pair<float> by, Pair<float> plus) {
    const float behind = fma(f * f * by.hi, fma(f, log_tail(f), -0.5f), fma(f, by.lo, plus.lo));
    return plus.hi + fma(f, by.hi, behind);
}
template <class T> OW_INLINE T log2_of(Mantissa<T> m) {
    return log_times(m.f, LogConstants<T>::PER_LN2, {m.e, (T)0});
}
template <class T> OW_INLINE T log10_of(Mantissa<T> m) {
    const Pair<T> whole = {m.e * LogConstants<T>::LOG2.hi, m.e * LogConstants<T>::LOG2.lo};
    return log_times(m.f, LogConstants<T>::PER_LN10, whole);
}
template <class T> OW_INLINE T log2_of(T x) { return log_or_end(log2_of(mantissa_of(x)), x); }
template <class T> OW_INLINE T log10_of(T x) { return log_or_end(log10_of(mantissa_of(x)), x); }
// Of what is left of a sum u, over u, few digits do; beyond those of float nothing is left.
OW_INLINE double small_over(double lost, double u) { return lost * (double)(1.0f / (float)u); }
OW_INLINE float small_over(float lost, float u) {
    // of a large number it would be subnormal; by a mask, since of a choice g++ divides either one
    return host_float(host_bits(lost) & ~mask_if<unsigned>(u > Format<float>::FAR)) / u;
}
// log(1 + a) + more log(2): near 1 of a itself, else of 1 + a with what the sum loses.  NORMAL: 1 + a is
// a normal number.
template <class T, bool NORMAL> OW_INLINE T log_beside(Pair<T> a, T more) {
    const Pair<T> u = two_sum((T)1, a.hi);
    const Mantissa<T> m = NORMAL ? mantissa_of_normal(u.hi) : mantissa_of(u.hi);
    const bool near = m.e == (T)0;
    const T lost = near ? a.lo : u.lo + a.lo;
    const T y = joined_log<T>({m.e + more, near ? a.hi : m.f}, small_over(lost, u.hi));
    return NORMAL ? y : log_or_end(y, u.hi);
}
template <class T, bool ORDINARY = false> OW_INLINE T log1p_of(T x) {
    const T y = log_beside<T, ORDINARY>({zero_if_tiny(x), (T)0}, (T)0);
    if constexpr (ORDINARY) return is_tiny(x) ? x : y;
    const T kept = x == of_bits(Format<T>::ENDLESS) ? x : y;
    return is_tiny(x) ? x : kept;  // and the sign of zero
}
// y with the sign of x where its size is at least 2**-28, and below `end`; elsewhere `other`.
template <class T> OW_INLINE T odd_between(T y, T x, T end, T other) {
    const auto least = host_bits((T)0x1p-28);
    return host_bits(fabs(x)) - least < host_bits(end) - least ? copysign(y, x) : other;
}
// Beyond 2**60 the square would overflow, and the root is the number.
template <class T> OW_INLINE T asinh_of(T x) {
    const T size = zero_if_tiny(fabs(x));
    const bool far = size > (T)0x1p60;
    const T square = far ? (T)0 : size * size;
    const T y = log_beside<T, true>(fast_two_sum(size, square / ((T)1 + sqrt((T)1 + square))), far ? (T)1 : (T)0);
    return odd_between(y, x, of_bits(Format<T>::ENDLESS), x);
}
template <class T> OW_INLINE T acosh_of(T x) {
    const T above = x - (T)1;
    const bool far = x > (T)0x1p60;
    const T root = far ? (T)0 : sqrt(fma(above, above, above + above));
    const T y = log_beside<T, true>(fast_two_sum(root, above), far ? (T)1 : (T)0);
    const T kept = x < of_bits(Format<T>::ENDLESS) ? y : x;
    return x >= (T)1 ? kept : of_bits(Format<T>::QUIET);
}
// Half of the logarithm of (1 + x) / (1 - x) = m 2**e: that of 2**e, and atanh(s) with
// s = (m - 1) / (m + 1), from -0.11 to 0.273.  With h = 2**-e, s is ((1 + x) h - (1 - x)) /
// ((1 + x) h + (1 - x)), of which products by x or, from 1/2 on, by x - 1 lose nothing.  e is the
// difference of the bits of 1 + x and 1 - x, as digits of a logarithm of base 2, rounded.
OW_INLINE float half_log_quotient(float x) {
    const unsigned whole = (host_bits(1.0f + x) - host_bits(1.0f - x) + 0x00200000u) & 0xff800000u;
    const float h = host_float(Format<float>::ONE - whole), sum = 1.0f + h, less = h - 1.0f;
    const bool large = x >= 0.5f;
    const float by = large ? x - 1.0f : x;
    const float s = fma(by, sum, large ? h + h : less) / fma(by, less, large ? h + h : sum), z = s * s;
    const float p = horner(z, 0.12590544f, 0.14215034f, 0.20001063f, 0.3333333f);
    const float e = (float)((int)whole >> 23);
    return fma(e, 0.3466796875f, s + fma(s * z, p, e * -1.0609722e-4f));
}
OW_INLINE double half_log_quotient(double x) {
    const Pair<double> a = quotient_by_inverse(x + x, 0.0, fast_two_sum(1.0, -x));
    return 0.5 * log_beside<double, true>(a, 0.0);
}
template <class T> OW_INLINE T atanh_of(T x) {
    const T y = half_log_quotient(zero_if_tiny(fabs(x)));
    const T end = fabs(x) == (T)1 ? copysign(of_bits(Format<T>::ENDLESS), x) : of_bits(Format<T>::QUIET);
    return odd_between(y, x, (T)1, fabs(x) < (T)0x1p-28 ? x : end);
}
#define OW_LOGARITHM(NAME) \
    OW_INLINE float NAME(float x) { return NAME##_of(x); } \
    OW_INLINE double NAME(double x) { return NAME##_of(x); }
OW_LOGARITHM(log) OW_LOGARITHM(log2) OW_LOGARITHM(log10) OW_LOGARITHM(log1p)
OW_LOGARITHM(asinh) OW_LOGARITHM(acosh) OW_LOGARITHM(atanh)
OW_AS_BEFORE
