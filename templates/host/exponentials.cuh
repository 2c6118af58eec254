// Exponentials, logarithms and what is made of them, for the host compiler: see math.cuh.
//
// Functions of float but exp and log are computed in double, to about 1e-11: each is off by half a
// ULP and next to nothing.  Polynomials: tests/fits.py.
#pragma once

// A polynomial of z, highest power first.
template <class T> OW_INLINE T horner(T, T sum) { return sum; }
template <class T, class... Rest> OW_INLINE T horner(T z, T sum, T next, Rest... rest) {
    return horner(z, fma(sum, z, next), rest...);
}

// 2**n for n in [-1022, 1023].
OW_INLINE double power_of_two(long long n) { return host_double((unsigned long long)(n + 1023) << 52); }
OW_INLINE float power_of_two_f(int n) { return host_float((unsigned)(n + 127) << 23); }

// Reduction and polynomial after Cephes (S. Moshier) and the usual Cody-Waite split of ln 2.
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
    const double p = horner(r, 2.761756481848616e-06, 2.486787017847264e-05, 0.00019841224599539338,
        0.0013888839110575157, 0.008333333344203105, 0.04166666678626572, 0.16666666666662586,
        0.4999999999995511);
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

// log of a double, from atanh((m - 1) / (m + 1)); zero gives -inf, negative numbers NaN.
OW_INLINE double wide_log(double x) {
    const unsigned long long bits = host_bits(x);
    // mantissa in [sqrt(1/2), sqrt(2)), exponent to match
    const unsigned long long shifted = bits - 0x3fe6a09e667f3bcdULL;
    const long long exponent = (long long)shifted >> 52;
    const double m = host_double(bits - ((unsigned long long)exponent << 52));
    const double s = (m - 1.0) / (m + 1.0), z = s * s, twice = s + s;
    const double p = horner(z, 0.0831088049465257, 0.09070099336532156, 0.11111431061441086,
        0.142857120703141, 0.20000000005595886, 0.33333333333331056);
    // the exponent as a double without a conversion that AVX2 lacks
    const double e = host_double(0x4338000000000000ULL + (unsigned long long)exponent) - 6755399441055744.0;
    double y = __builtin_fma(e, 0.6931471805599453, __builtin_fma(twice * z, p, twice));
    y = x == host_double(0x7ff0000000000000ULL) ? x : y;
    y = x == 0.0 ? -host_double(0x7ff0000000000000ULL) : y;
    y = x >= 0.0 ? y : host_double(0x7ff8000000000000ULL);
    return y;
}

// log(1 + f) = f - f * f / 2 + ... and the exponent's share in two parts, of which the first is exact;
// what the sum of f and it loses is added at the end.  Off by 0.83 ULP at most.
OW_INLINE float log(float x) {
    const bool small = x < 0x1p-126f;
    const unsigned bits = host_bits(small ? x * 0x1p23f : x), shifted = bits - 0x3f3504f3u;
    const float m = host_float((shifted & 0x007fffffu) + 0x3f3504f3u), f = m - 1.0f;
    const float e = (float)((int)shifted >> 23) - (small ? 23.0f : 0.0f);
    const float p = horner(f, 0.06971612f, -0.11479734f, 0.1168542f, -0.12425687f, 0.14249058f,
        -0.16667803f, 0.20000716f, -0.24999997f, 0.3333333f);
    const float square = f * f, high = fma(e, 0.693359375f, f);
    float low = fma(f * square, p, fma(e, 0.693359375f, -high) + f);
    low = fma(e, -2.12194440e-4f, low);
    float y = high + fma(-0.5f, square, low);
    y = x == __builtin_inff() ? x : y;
    y = x == 0.0f ? -__builtin_inff() : y;
    return x >= 0.0f ? y : __builtin_nanf("");
}
OW_INLINE float exp2(float x) { return (float)wide_exp(0.6931471805599453 * (double)x); }
OW_INLINE float exp10(float x) { return (float)wide_exp(2.302585092994046 * (double)x); }
OW_INLINE float log2(float x) { return (float)(1.4426950408889634 * wide_log((double)x)); }
OW_INLINE float log10(float x) { return (float)(0.4342944819032518 * wide_log((double)x)); }
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
OW_INLINE float sinh(float x) {
    const double e = wide_expm1(__builtin_fabs((double)x));
    return __builtin_copysignf((float)(0.5 * (e + e / (e + 1.0))), x);
}
OW_INLINE float cosh(float x) {
    const double e = wide_exp((double)x);
    return (float)(0.5 * (e + 1.0 / e));
}
OW_INLINE float tanh(float x) {
    double d = (double)x;
    d = d > 10.0 ? 10.0 : d;
    d = d < -10.0 ? -10.0 : d;
    const double y = wide_expm1(2.0 * d);
    return __builtin_copysignf((float)(y / (y + 2.0)), x);
}
// Below 1/256 the logarithm would cancel; there two terms of the series do.
OW_INLINE float asinh(float x) {
    const double d = __builtin_fabs((double)x);
    const double y = wide_log(d + __builtin_sqrt(__builtin_fma(d, d, 1.0)));
    const double small = __builtin_fma(d * d, d * (-1.0 / 6.0), d);
    return __builtin_copysignf((float)(d < 0.00390625 ? small : y), x);
}
OW_INLINE float acosh(float x) {
    const double d = (double)x, above = d - 1.0;
    const double y = wide_log(1.0 + (above + __builtin_sqrt(above * (d + 1.0))));
    return (float)(d >= 1.0 ? y : __builtin_nan(""));
}
OW_INLINE float atanh(float x) {
    const double d = (double)x, y = 0.5 * wide_log((1.0 + d) / (1.0 - d));
    const double small = __builtin_fma(d * d, d * (1.0 / 3.0), d);
    return (float)(d < 0.00390625 && d > -0.00390625 ? small : y);
}
// erfc of a number from 0 on: exp(-x * x) times a polynomial of (x - 2.5) / (x + 2.5).
OW_INLINE double wide_erfc(double x) {
    x = x > 10.1 ? 10.1 : x;  // where no float is left
    const double t = (x - 2.5) / (x + 2.5);
    const double p = horner(t, 5.9254064250287135e-06, 1.510298754910544e-05,
        -3.387936164250843e-05, -0.0001266929748765896, 0.0002285450139368081,
        0.0008752320082463677, -0.0026424403142338835, -0.003993591787063603, 0.039922548513387245,
        -0.12503306027286187, 0.251713192879611, -0.3717367337793231, 0.2108063640622723);
    return wide_exp(-x * x) * p;
}
OW_INLINE float erf(float x) {
    const double d = __builtin_fabs((double)x), z = d * d;
    const double p = horner(z, 1.0589400732170648e-06, -1.3909348620755699e-05,
        0.00011956564078945436, -0.0008542638137152178, 0.00522378348451557, -0.02686613323723511,
        0.11283791308636798, -0.37612638889637334, 1.128379167094677);
    return __builtin_copysignf((float)(d < 1.0 ? d * p : 1.0 - wide_erfc(d)), x);
}
OW_INLINE float erfc(float x) {
    const double d = (double)x, y = wide_erfc(__builtin_fabs(d));
    return (float)(d < 0.0 ? 2.0 - y : y);
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
