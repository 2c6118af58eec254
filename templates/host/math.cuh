// Mathematics for the host compiler: header-free, and plain enough to vectorise.
//
// float functions go through double where that is what accuracy needs; every result is the same
// whether a loop was vectorised or not, because each operation is IEEE and none is reassociated.
// Reduction and polynomial of exp after Cephes (S. Moshier) and the usual Cody-Waite split of
// ln 2; log from the series of atanh((m - 1) / (m + 1)).
#pragma once

extern "C" {
double exp(double) noexcept; double log(double) noexcept; double expm1(double) noexcept;
double log1p(double) noexcept; double sin(double) noexcept; double cos(double) noexcept;
double tanh(double) noexcept; double pow(double, double) noexcept;
double fmod(double, double) noexcept;
float fmodf(float, float) noexcept;
}

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
OW_INLINE float fmod(float x, float y) { return fmodf(x, y); }

// 2**n for n in [-1022, 1023].
OW_INLINE double power_of_two(long long n) { return host_double((unsigned long long)(n + 1023) << 52); }
OW_INLINE float power_of_two_f(int n) { return host_float((unsigned)(n + 127) << 23); }

OW_INLINE float exp(float x) {
    x = x > 100.0f ? 100.0f : x;
    x = x < -110.0f ? -110.0f : x;
    const float t = __builtin_fmaf(x, 1.44269504f, 12582912.0f);  // rounds to an integer
    const float n = t - 12582912.0f;
    float r = __builtin_fmaf(n, -0.693145752f, x);
    r = __builtin_fmaf(n, -1.42860677e-6f, r);
    float p = 1.9875691500e-4f;
    p = __builtin_fmaf(p, r, 1.3981999507e-3f);
    p = __builtin_fmaf(p, r, 8.3334519073e-3f);
    p = __builtin_fmaf(p, r, 4.1665795894e-2f);
    p = __builtin_fmaf(p, r, 1.6666665459e-1f);
    p = __builtin_fmaf(p, r, 5.0000001201e-1f);
    p = __builtin_fmaf(p * r, r, r) + 1.0f;
    const int whole = (int)(host_bits(t) - 0x4b400000u);
    const int half = whole >> 1;  // in two steps, for results near the ends of the range
    return p * power_of_two_f(half) * power_of_two_f(whole - half);
}

// 2**n and exp(r) - 1 of a double x = n ln 2 + r, for |x| <= 700; beyond, those of the end.
struct WideExp { double scale, rest; };
OW_INLINE WideExp wide_exp_parts(double x) {
    x = x > 700.0 ? 700.0 : x;
    x = x < -700.0 ? -700.0 : x;
    const double t = __builtin_fma(x, 1.4426950408889634, 6755399441055744.0);
    const double n = t - 6755399441055744.0;
    double r = __builtin_fma(n, -0.69314718055994529, x);
    r = __builtin_fma(n, -2.3190468138462996e-17, r);
    double p = 2.08767569878681e-9;  // 1 / 12!
    p = __builtin_fma(p, r, 2.505210838544172e-8);
    p = __builtin_fma(p, r, 2.755731922398589e-7);
    p = __builtin_fma(p, r, 2.7557319223985893e-6);
    p = __builtin_fma(p, r, 2.48015873015873e-5);
    p = __builtin_fma(p, r, 1.984126984126984e-4);
    p = __builtin_fma(p, r, 1.388888888888889e-3);
    p = __builtin_fma(p, r, 8.333333333333333e-3);
    p = __builtin_fma(p, r, 4.1666666666666664e-2);
    p = __builtin_fma(p, r, 0.16666666666666666);
    p = __builtin_fma(p, r, 0.5);
    const long long whole = (long long)(host_bits(t) - 0x4338000000000000ULL);
    return {power_of_two(whole), __builtin_fma(p * r, r, r)};
}
OW_INLINE double wide_exp(double x) {
    const WideExp e = wide_exp_parts(x);
    return __builtin_fma(e.scale, e.rest, e.scale);
}
// Near zero the scale is 1, so nothing cancels.
OW_INLINE double wide_expm1(double x) {
    const WideExp e = wide_exp_parts(x);
    return __builtin_fma(e.scale, e.rest, e.scale - 1.0);
}

// log of a double to about 1e-15; zero gives -inf, negative numbers NaN.
OW_INLINE double wide_log(double x) {
    const unsigned long long bits = host_bits(x);
    // mantissa in [sqrt(1/2), sqrt(2)), exponent to match
    const unsigned long long shifted = bits - 0x3fe6a09e667f3bcdULL;
    const long long exponent = (long long)shifted >> 52;
    const double m = host_double(bits - ((unsigned long long)exponent << 52));
    const double s = (m - 1.0) / (m + 1.0);
    const double z = s * s;
    double p = 0.08695652173913043;  // 2 / 23, 2 / 21, ...
    p = __builtin_fma(p, z, 0.09523809523809523);
    p = __builtin_fma(p, z, 0.10526315789473684);
    p = __builtin_fma(p, z, 0.11764705882352941);
    p = __builtin_fma(p, z, 0.13333333333333333);
    p = __builtin_fma(p, z, 0.15384615384615385);
    p = __builtin_fma(p, z, 0.18181818181818182);
    p = __builtin_fma(p, z, 0.2222222222222222);
    p = __builtin_fma(p, z, 0.2857142857142857);
    p = __builtin_fma(p, z, 0.4);
    p = __builtin_fma(p, z, 0.6666666666666666);
    // the exponent as a double without a conversion that AVX2 lacks
    const double e = host_double(0x4338000000000000ULL + (unsigned long long)exponent) - 6755399441055744.0;
    double y = __builtin_fma(e, 0.6931471805599453, __builtin_fma(s * z, p, 2.0 * s));
    y = x == host_double(0x7ff0000000000000ULL) ? x : y;
    y = x == 0.0 ? -host_double(0x7ff0000000000000ULL) : y;
    y = x >= 0.0 ? y : host_double(0x7ff8000000000000ULL);
    return y;
}

OW_INLINE float log(float x) { return (float)wide_log((double)x); }
OW_INLINE float log1p(float x) {
    const double d = (double)x;
    const double y = wide_log(1.0 + d);
    return (float)(d < 1e-5 && d > -1e-5 ? d - 0.5 * d * d : y);
}
OW_INLINE float expm1(float x) {
    const double d = (double)x;
    const double y = wide_expm1(d);
    return d == 0.0 ? x : (float)y;  // keeps the sign of zero
}
OW_INLINE float tanh(float x) {
    double d = (double)x;
    d = d > 10.0 ? 10.0 : d;
    d = d < -10.0 ? -10.0 : d;
    const double y = wide_expm1(2.0 * d);
    return __builtin_copysignf((float)(y / (y + 2.0)), x);
}
// An angle less a multiple of pi / 2, and which of the four: without a branch or a table for any
// number.  From 2**50 on it is taken as m 2**26, m 2**52 or m 2**78, and the power modulo 2 pi.
struct Angle { double rest; unsigned long long quarter; };
OW_INLINE Angle angle_of(float x) {
    const float size = __builtin_fabsf(x);
    double scale = 1.0, first = 1.0, second = 0.0, third = 0.0;
    const bool far = size >= 0x1p50f, farther = size >= 0x1p76f, farthest = size >= 0x1p102f;
    scale = far ? 0x1p-26 : scale;
    first = far ? 0x1.5a8920fc746b2p+1 : first;
    second = far ? -0x1.f003a5a903450p-53 : second;
    third = far ? -0x1.88d826def4ab5p-107 : third;
    scale = farther ? 0x1p-52 : scale;
    first = farther ? 0x1.09f4683d25023p+1 : first;
    second = farther ? 0x1.fee10ecf6f246p-55 : second;
    third = farther ? -0x1.f37734e4c32c2p-109 : third;
    scale = farthest ? 0x1p-78 : scale;
    first = farthest ? 0x1.711a1110cccd4p+1 : first;
    second = farthest ? -0x1.5302971d2c45bp-53 : second;
    third = farthest ? 0x1.11dd8c2b1f85dp-110 : third;
    const double m = (double)x * scale;
    const double high = m * first;
    const double low = __builtin_fma(m, third, __builtin_fma(m, second, __builtin_fma(m, first, -high)));
    const double t = __builtin_fma(high, 0.6366197723675814, 6755399441055744.0);
    const double n = t - 6755399441055744.0;
    double r = __builtin_fma(-n, 0x1.921fb54442d18p+0, high);
    r = __builtin_fma(-n, 0x1.1a62633145c07p-54, r) + low;
    r = __builtin_fma(n, 0x1.f1976b7ed8fbcp-110, r);
    return {r, host_bits(t)};
}
OW_INLINE double wide_sin(double r) {  // for |r| <= pi / 4: the series to r**13
    const double z = r * r;
    double p = 1.6059043836821613e-10;
    p = __builtin_fma(p, z, -2.5052108385441719e-8);
    p = __builtin_fma(p, z, 2.7557319223985891e-6);
    p = __builtin_fma(p, z, -1.9841269841269841e-4);
    p = __builtin_fma(p, z, 8.3333333333333332e-3);
    p = __builtin_fma(p, z, -1.6666666666666666e-1);
    return __builtin_fma(r * z, p, r);
}
OW_INLINE double wide_cos(double r) {  // to r**14
    const double z = r * r;
    double p = -1.1470745597729725e-11;
    p = __builtin_fma(p, z, 2.0876756987868099e-9);
    p = __builtin_fma(p, z, -2.7557319223985888e-7);
    p = __builtin_fma(p, z, 2.4801587301587302e-5);
    p = __builtin_fma(p, z, -1.3888888888888889e-3);
    p = __builtin_fma(p, z, 4.1666666666666664e-2);
    p = __builtin_fma(p, z, -0.5);
    return __builtin_fma(p, z, 1.0);
}
OW_INLINE double turned(double s, double c, unsigned long long quarter) {
    const double y = quarter & 1 ? c : s;
    return host_double(host_bits(y) ^ (quarter & 2) << 62);
}
OW_INLINE float sin(float x) {
    const Angle a = angle_of(x);
    const float y = (float)turned(wide_sin(a.rest), wide_cos(a.rest), a.quarter);
    return x == 0.0f ? x : y;  // keeps the sign of zero
}
OW_INLINE float cos(float x) {
    const Angle a = angle_of(x);
    return (float)turned(wide_sin(a.rest), wide_cos(a.rest), a.quarter + 1);
}
OW_INLINE float tan(float x) {
    const Angle a = angle_of(x);
    const double s = wide_sin(a.rest), c = wide_cos(a.rest);
    const float y = (float)(a.quarter & 1 ? -c / s : s / c);
    return x == 0.0f ? x : y;
}
OW_INLINE float hypot(float x, float y) {
    const double a = (double)x, b = (double)y;
    const float length = (float)__builtin_sqrt(a * a + b * b);  // no double overflows
    const float far = __builtin_inff();
    return __builtin_fabsf(x) == far || __builtin_fabsf(y) == far ? far : length;
}
// With one correction of the root by fma (Borges, "Algorithm 1014: An improved algorithm for
// hypot(x,y)", ACM TOMS 47, 2020), scaled by a power of two so that nothing overflows on the way.
OW_INLINE double hypot(double x, double y) {
    const double p = __builtin_fabs(x), q = __builtin_fabs(y);
    const double large = p > q ? p : q, small = p > q ? q : p;
    unsigned long long exponent = host_bits(large) >> 52;
    exponent = exponent < 1 ? 1 : exponent;
    exponent = exponent > 2045 ? 2045 : exponent;
    const double scale = host_double((2046 - exponent) << 52);
    const double a = large * scale, b = small * scale, square = a * a;
    const double root = __builtin_sqrt(__builtin_fma(b, b, square)), whole = root * root;
    const double low = __builtin_fma(root, root, -whole) - __builtin_fma(a, a, -square);
    const double rest = __builtin_fma(-b, b, whole - square) + low;
    const double length = (root > 0.0 ? root - rest / (root + root) : root) * host_double(exponent << 52);
    const double far = __builtin_inf();
    return p == far || q == far ? far : length;
}
// What depends on y alone is made of masks without a branch: only so is it taken out of a loop over
// x with one y, which then vectorises (g++ 12).
OW_INLINE unsigned mask_if(bool condition) { return 0u - (unsigned)condition; }
OW_INLINE unsigned long long wide_mask_if(bool condition) { return 0ULL - (unsigned long long)condition; }
OW_INLINE float pow(float x, float y) {
    const double d = (double)y, half = d * 0.5;
    const unsigned whole = mask_if(__builtin_floor(d) == d), one = 0x3f800000u;
    const unsigned odd_sign = whole & mask_if(__builtin_floor(half) != half) & 0x80000000u;
    const unsigned fraction = ~whole & 0x7fc00000u;
    const unsigned far = mask_if(__builtin_fabsf(y) == __builtin_inff()), zero = mask_if(y == 0.0f);
    const unsigned long long endless = 0x7ff0000000000000ULL, no_number = wide_mask_if(d != d) & host_bits(d);
    const double at_zero = host_double((wide_mask_if(d < 0) & endless) | no_number);
    const double at_infinity = host_double((wide_mask_if(d > 0) & endless) | no_number);
    const float magnitude = __builtin_fabsf(x);
    double r = wide_exp(d * wide_log((double)magnitude));
    r = magnitude == 0.0f ? at_zero : r;
    r = magnitude == __builtin_inff() ? at_infinity : r;
    unsigned bits = host_bits((float)r) ^ (host_bits(x) & odd_sign);
    const unsigned root = x < 0.0f ? fraction : 0u;  // of a negative number: NaN
    bits |= magnitude != __builtin_inff() ? root : 0u;
    bits = x != x ? host_bits(x) : bits;
    const unsigned ones = magnitude == 1.0f ? far : 0u;
    bits = (bits & ~ones) | (one & ones);
    bits = x == 1.0f ? one : bits;
    return host_float((bits & ~zero) | (one & zero));
}

// CUDA's other names of these, and the functions that go to the C library.
#define OW_FLOAT_NAME(NAME) OW_INLINE float NAME##f(float x) { return NAME(x); }
OW_FLOAT_NAME(sqrt) OW_FLOAT_NAME(rsqrt) OW_FLOAT_NAME(fabs) OW_FLOAT_NAME(floor) OW_FLOAT_NAME(ceil)
OW_FLOAT_NAME(trunc) OW_FLOAT_NAME(rint) OW_FLOAT_NAME(exp) OW_FLOAT_NAME(expm1) OW_FLOAT_NAME(log)
OW_FLOAT_NAME(log1p) OW_FLOAT_NAME(tanh) OW_FLOAT_NAME(sin) OW_FLOAT_NAME(cos) OW_FLOAT_NAME(tan)
OW_INLINE float hypotf(float x, float y) { return hypot(x, y); }
OW_INLINE float powf(float x, float y) { return pow(x, y); }
OW_INLINE float fmaf(float x, float y, float z) { return fma(x, y, z); }
OW_INLINE float copysignf(float x, float y) { return copysign(x, y); }
extern "C" {
double exp2(double) noexcept; double exp10(double) noexcept; double log2(double) noexcept; double log10(double) noexcept;
double tan(double) noexcept; double asin(double) noexcept; double acos(double) noexcept; double atan(double) noexcept;
double sinh(double) noexcept; double cosh(double) noexcept; double asinh(double) noexcept; double acosh(double) noexcept;
double atanh(double) noexcept; double erf(double) noexcept; double erfc(double) noexcept;
double library_cbrt(double) noexcept __asm__("cbrt");
double tgamma(double) noexcept; double lgamma(double) noexcept; double atan2(double, double) noexcept;
double fmax(double, double) noexcept; double fmin(double, double) noexcept;
double ldexp(double, int) noexcept; double frexp(double, int*) noexcept;
}
OW_INLINE float ldexp(float x, int n) { return (float)ldexp((double)x, n); }
OW_INLINE float frexp(float x, int* n) { return (float)frexp((double)x, n); }
// The C library's cube root is over 3 ULP off at worst: one step of Newton, its residual x - y * y * y by fma.
OW_INLINE double cbrt(double x) {
    const double size = __builtin_fabs(x);
    if (!(size > 0.0 && size < __builtin_inf())) return x + x;  // 0, infinities and NaN themselves
    const bool small = size < 1e-270;  // scaled, where the residual would be subnormal
    const double scaled = small ? x * 0x1p300 : x;
    const double y = library_cbrt(scaled), square = y * y;
    const double low = __builtin_fma(y, y, -square);
    const double rest = __builtin_fma(-low, y, __builtin_fma(-square, y, scaled));
    const double root = __builtin_fma(rest, 1.0 / (3.0 * square), y);
    return small ? root * 0x1p-100 : root;
}
#define OW_LIBRARY(NAME) \
    OW_INLINE float NAME(float x) { return (float)NAME((double)x); } \
    OW_INLINE float NAME##f(float x) { return (float)NAME((double)x); }
OW_LIBRARY(exp2) OW_LIBRARY(exp10) OW_LIBRARY(log2) OW_LIBRARY(log10) OW_LIBRARY(asin)
OW_LIBRARY(acos) OW_LIBRARY(atan) OW_LIBRARY(sinh) OW_LIBRARY(cosh) OW_LIBRARY(asinh) OW_LIBRARY(acosh)
OW_LIBRARY(atanh) OW_LIBRARY(erf) OW_LIBRARY(erfc) OW_LIBRARY(cbrt) OW_LIBRARY(tgamma) OW_LIBRARY(lgamma)
#define OW_LIBRARY_2(NAME) \
    OW_INLINE float NAME(float x, float y) { return (float)NAME((double)x, (double)y); } \
    OW_INLINE float NAME##f(float x, float y) { return (float)NAME((double)x, (double)y); }
OW_LIBRARY_2(atan2) OW_LIBRARY_2(fmax) OW_LIBRARY_2(fmin)
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
