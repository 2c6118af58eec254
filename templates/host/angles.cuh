// Angles and their functions, for the host compiler: see math.cuh.  Polynomials: tests/support/fits.py.
#pragma once
#include "pairs.cuh"
OW_NO_CONTRACTION

// An angle less a multiple of pi / 2, and which of the four.
template <class T> struct Angle { Pair<T> rest; typename Format<T>::Bits quarter; };
// pi / 2 in three parts, its inverse, what rounds to a whole number, and how large an angle may be.
template <class T> struct Quarter;
template <> struct Quarter<float> {
    static constexpr float FIRST = 0x1.921fb6p+0f, SECOND = -0x1.777a5cp-25f, THIRD = -0x1.ee59dap-50f;
    static constexpr float INVERSE = 0.636619747f, WHOLE = 12582912.0f, MOST = 0x1p17f;
};
template <> struct Quarter<double> {
    static constexpr double FIRST = 0x1.921fb54442d18p+0, SECOND = 0x1.1a62633145c07p-54;
    static constexpr double THIRD = -0x1.f1976b7ed8fbcp-110, INVERSE = 0.6366197723675814;
    static constexpr double WHOLE = 6755399441055744.0, MOST = 0x1p30;
};
// Of an angle below MOST: what the first product leaves is exact, since it has the last digit of either
// and is less than 1 (Cody and Waite, "Software Manual for the Elementary Functions", 1980, with fma).
template <class T> OW_INLINE Angle<T> near_angle(T x) {
    using Q = Quarter<T>;
    x = zero_if_tiny(x);
    const T t = fma(x, Q::INVERSE, Q::WHOLE), n = t - Q::WHOLE, second = n * Q::SECOND;
    const Pair<T> sum = two_sum(fma(-n, Q::FIRST, x), -second);
    return {{sum.hi, sum.lo - fma(n, Q::THIRD, fma(n, Q::SECOND, -second))}, host_bits(t)};
}
// Of infinity and NaN it is NaN, too.
template <class T> OW_INLINE typename Format<T>::Bits far_or_not(T x) {  // in the first bit
    const auto size = host_bits(fabs(x));
    return ~(size - host_bits(Quarter<T>::MOST)) & (size - Format<T>::ENDLESS);
}
template <class T> OW_INLINE bool is_near_angle(T x) { return !(far_or_not(x) & Format<T>::SIGN); }
template <class T> OW_INLINE Angle<T> chosen_angle(bool near, Angle<T> a, Angle<T> b) {
    return {{near ? a.rest.hi : b.rest.hi, near ? a.rest.lo : b.rest.lo}, near ? a.quarter : b.quarter};
}
// Without a branch or a table for any number, in double.  From 2**50 on it is a whole number times 2**26,
// 2**52 or 2**78, and the power is taken modulo 2 pi.
OW_INLINE Angle<float> far_angle(float x) {
    x = zero_if_tiny(x);
    const float size = fabs(x);
    const bool far = size >= 0x1p50f, farther = size >= 0x1p76f, farthest = size >= 0x1p102f;
    double scale = far ? 0x1p-26 : 1.0;
    double first = far ? 0x1.5a8920fc746b2p+1 : 1.0, second = far ? -0x1.f003a5a903450p-53 : 0.0;
    scale = farther ? 0x1p-52 : scale;
    first = farther ? 0x1.09f4683d25023p+1 : first;
    second = farther ? 0x1.fee10ecf6f246p-55 : second;
    scale = farthest ? 0x1p-78 : scale;
    first = farthest ? 0x1.711a1110cccd4p+1 : first;
    second = farthest ? -0x1.5302971d2c45bp-53 : second;
    const double m = (double)x * scale, whole = m * first;
    const double t = fma(whole, 0.6366197723675814, 6755399441055744.0), n = t - 6755399441055744.0;
    const double r = fma(-n, 0x1.1a62633145c07p-54, fma(-n, 0x1.921fb54442d18p+0, whole))
        + fma(n, 0x1.f1976b7ed8fbcp-110, fma(m, second, fma(m, first, -whole)));
    // of a product beyond 2**50 the last bit is more than a quarter turn
    const double more = fma(r, 0.6366197723675814, 6755399441055744.0), k = more - 6755399441055744.0;
    const double left = fma(-k, 0x1.1a62633145c07p-54, fma(-k, 0x1.921fb54442d18p+0, r));
    const float rest = (float)left;
    return {{rest, (float)(left - (double)rest)}, (unsigned)(host_bits(t) + host_bits(more))};
}

OW_INLINE Angle<float> angle_of(float x) {
    return chosen_angle(is_near_angle(x), near_angle(x), far_angle(x));
}

// What sin(r) has behind r, over r**3, and cos(r) behind 1 - r * r / 2, over r**4; z = r * r.
OW_INLINE float behind_angle(float z) {
    return horner(z, 2.7249926e-06f, -0.00019840087f, 0.008333332f, -0.16666667f);
}
OW_INLINE double behind_angle(double z) {
    return horner(z, 1.5918128622119434e-10, -2.505113183537068e-08, 2.755731610250545e-06,
        -0.00019841269836758487, 0.008333333333330948, -0.16666666666666666);
}
OW_INLINE float behind_parabola(float z) {
    return horner(z, 2.4547942e-05f, -0.0013888302f, 0.041666664f);
}
OW_INLINE double behind_parabola(double z) {
    return horner(z, -1.1382632412031337e-11, 2.0876146265937887e-09, -2.7557317271698135e-07,
        2.480158729876554e-05, -0.0013888888888887398, 0.041666666666666664);
}
// For angles up to pi / 4; after FreeBSD's k_sin.c and k_cos.c.
template <class T> OW_INLINE Pair<T> sin_pair(Pair<T> r) {
    const T z = r.hi * r.hi;
    return fast_two_sum(r.hi, fma(z * r.hi, behind_angle(z), fma((T)-0.5 * z, r.lo, r.lo)));
}
template <class T> OW_INLINE Pair<T> cos_pair(Pair<T> r) {
    const T z = r.hi * r.hi, half = (T)0.5 * z, whole = (T)1 - half;
    return fast_two_sum(whole, (((T)1 - whole) - half) + fma(z * z, behind_parabola(z), -r.hi * r.lo));
}
template <class T> OW_INLINE T turned(T s, T c, typename Format<T>::Bits quarter) {
    const T y = quarter & 1 ? c : s;
    return of_bits(host_bits(y) ^ (quarter & 2) << (8 * sizeof(T) - 2));
}
template <class T> OW_INLINE T sin_of(Angle<T> a, T x) {
    const T y = turned(sin_pair(a.rest).hi, cos_pair(a.rest).hi, a.quarter);
    return is_tiny(x) ? x : y;  // and the sign of zero
}
template <class T> OW_INLINE T cos_of(Angle<T> a) {
    return turned(sin_pair(a.rest).hi, cos_pair(a.rest).hi, a.quarter + 1);
}
OW_INLINE float tan_of(Angle<float> a, float x) {
    const Pair<float> r = a.rest;
    const float z = r.hi * r.hi, cube = r.hi * z;
    const float lost = fma(r.hi, z, -cube) + r.hi * fma(r.hi, r.hi, -z);
    const float p = horner(z, 0.0038431399f, 0.0011853216f, 0.009962147f, 0.021621127f,
        0.053994466f, 0.13333231f, 0.33333334f);
    const Pair<float> y = fast_two_sum(r.hi, fma(cube, p, fma(lost, p, fma(r.lo, z, r.lo))));
    const float inverse = -1.0f / y.hi, rest = fma(inverse, y.lo, fma(inverse, y.hi, 1.0f));
    const float picked = a.quarter & 1 ? fma(inverse, rest, inverse) : y.hi;
    return is_tiny(x) ? x : picked;
}
OW_INLINE double tan_of(Angle<double> a, double x) {
    using T = double;
    const Pair<T> s = sin_pair(a.rest), c = cos_pair(a.rest);
    const bool odd = a.quarter & 1;
    const Pair<T> y = quotient_by_inverse(odd ? -c.hi : s.hi, odd ? -c.lo : s.lo, {odd ? s.hi : c.hi, odd ? s.lo : c.lo});
    return is_tiny(x) ? x : y.hi + y.lo;
}
OW_INLINE float sin(float x) { return sin_of(angle_of(x), x); }
OW_INLINE float cos(float x) { return cos_of(angle_of(x)); }
// tan of a NaN is that NaN, and of an infinity the processor's NaN: which sign one has behind a quotient
// of pairs, the compiler decides, of one loop in one way and of another in another.
template <class T> OW_INLINE T of_finite(T y, T x) { return x - x == (T)0 ? y : x - x; }
OW_INLINE float tan(float x) { return of_finite(tan_of(angle_of(x), x), x); }

// asin of a number from 0 to 1/2; of one beyond half the angle that is left to a quarter turn: the
// sum of the two.
OW_INLINE Pair<float> asin_pair(float size) {
    const bool beyond = size > 0.5f;
    const float near = is_tiny(size) ? 0.0f : size;  // a square that is subnormal takes long
    const float z = beyond ? (1.0f - size) * 0.5f : near * near, s = beyond ? sqrt(z) : size;
    const float p = horner(z, 0.033690847f, 0.017149238f, 0.031100662f, 0.044599403f, 0.07500094f,
        0.16666666f);
    return {s, s * z * p};
}
OW_INLINE float asin(float x) {
    const float size = fabs(x);
    const Pair<float> a = asin_pair(size);
    const float y = 1.57079637f - fma(2.0f, a.hi, fma(2.0f, a.lo, 4.37113883e-08f));
    return copysign(size > 0.5f ? y : a.hi + a.lo, x);
}
template <bool ORDINARY = false> OW_INLINE float acos_of(float x) {
    const float size = ORDINARY ? fabs(x) : zero_if_tiny(fabs(x));
    const bool beyond = size > 0.5f, negative = x < 0.0f;
    const Pair<float> a = asin_pair(size);
    const float times = beyond ? negative ? -2.0f : 2.0f : negative ? 1.0f : -1.0f;
    const float turn = beyond ? negative ? 3.14159274f : 0.0f : 1.57079637f;
    const float turn_low = beyond ? negative ? -8.74227766e-08f : 0.0f : -4.37113883e-08f;
    return turn + fma(times, a.hi, fma(times, a.lo, turn_low));
}
// atan(a / b) for a and b from 0 on, not both 0 or both infinite: less a quarter turn where it is
// more than an eighth.  `side` -1: a half turn less that.
OW_INLINE float atan_of(float a, float b, float side) {
    const bool steep = a > b;
    const float s = side * ((steep ? -b : a) / (steep ? a : b)), z = s * s;
    const float quarter = steep ? 1.0f : 0.0f, quarters = side < 0.0f ? 2.0f - quarter : quarter;
    const float p = horner(z, 0.0014886919f, -0.009144629f, 0.026305001f, -0.048960514f,
        0.070319146f, -0.08931827f, 0.11088262f, -0.14284004f, 0.1999995f, -0.33333334f);
    return fma(quarters, 1.57079637f, s + fma(s * z, p, quarters * -4.37113883e-08f));
}
template <bool ORDINARY = false> OW_INLINE float atan_alone(float x) {
    const float size = ORDINARY ? fabs(x) : zero_if_tiny(fabs(x)), far = 0x1p30f;  // as near a quarter turn as infinity
    return !ORDINARY && is_tiny(x) ? x : copysign(atan_of(size > far ? far : size, 1.0f, 1.0f), x);
}
OW_INLINE float acos(float x) { return acos_of(x); }
OW_INLINE float atan(float x) { return atan_alone(x); }
OW_INLINE float atan2(float y, float x) {
    const float endless = __builtin_inff(), a = fabs(y), b = fabs(x);
    const bool ends = (a == endless) & (b == endless), none = (a == 0.0f) & (b == 0.0f);
    return copysign(atan_of(ends ? 1.0f : a, ends | none ? 1.0f : b, copysign(1.0f, x)), y);
}
OW_AS_BEFORE
