// Powers, roots and lengths of float and double for the host compiler: see math.cuh.
//
// Polynomials: tests/support/fits.py.
#pragma once
#include "exponentials.cuh"
#include "double_exponentials.cuh"
#include "logarithms.cuh"
OW_NO_CONTRACTION

// Of floats: log2(1 + f) / f, for 1 + f from sqrt(1/2) to sqrt(2), and 2**r for |r| <= 1/2, to some
// ten and four bits more than a float has.  In double, which takes no pairs.
OW_INLINE double log2_over(double f) {
    return horner(f, 0.07553790399095586, -0.1414478821110163, 0.14495052999532315,
        -0.14349039375155948, 0.1587835683254465, -0.18027102577125992, 0.2061728322674953,
        -0.24045433696411544, 0.28853739437874043, -0.3606736553159397, 0.4808983601762459,
        -0.7213475209631551, 1.4426950408708794);
}
OW_INLINE double wide_exp2(double r) {
    return horner(r, 0.00015461444698569338, 0.001340042817761594, 0.009618056678524637,
        0.05550327226670302, 0.24022650922288757, 0.6931472067028326, 1.0);
}
OW_INLINE double wide_log2(Mantissa<float> m) {
    const double f = m.f;
    return fma(f, log2_over(f), (double)m.e);
}
struct NearAndWhole { double near; long long whole; };  // 2**x = near 2**whole
OW_INLINE NearAndWhole exp2_parts(double x) {
    const double t = x + 6755399441055744.0;
    const long long whole = (long long)(host_bits(t) - 0x4338000000000000ULL);
    return {wide_exp2(x - (t - 6755399441055744.0)), whole};
}
// The logarithm of what is not below 0, given that of a number above: 0, infinity and NaN end a power by theirs.
template <class T> OW_INLINE double log_from_zero(T size, double log) {
    const double any = size < of_bits(Format<T>::ENDLESS) ? log : (double)size;
    return size == (T)0 ? -of_bits(Format<double>::ENDLESS) : any;
}
OW_INLINE float power_from_zero(float x, float y) {
    const double any = y * log_from_zero(x, wide_log2(mantissa_of(x))), below = any > 1000.0 ? 1000.0 : any;
    const double product = below < -1000.0 ? -1000.0 : below;
    const NearAndWhole e = exp2_parts(product);
    const bool low = product < -126.0;  // a subnormal is counted, see pairs.cuh
    const double made = e.near * power_of_two(low ? e.whole + 149 : e.whole);
    return low ? host_float((unsigned)(int)__builtin_rint(made)) : (float)made;
}

// What the series of atanh(s) / s has behind 1 + z / 3, over z * z, and 1 / 3 as a pair.
OW_INLINE double behind_third(double z) {
    return horner(z, 0.0586155679943914, 0.05853120970680075, 0.06667402260915066, 0.07692297482301737,
        0.09090909167694142, 0.1111111111082791, 0.14285714285714685, 0.2);
}
static constexpr Pair<double> THIRD = {0.3333333333333333, 1.850371707708594e-17};
// log(1 + f) + e log(2) to some 11 bits more than a double has: the quotient and the first two
// terms of the series as pairs.
OW_INLINE Pair<double> log_pair(Mantissa<double> m) {
    const Pair<double> s = quotient_by_inverse(m.f, 0.0, fast_two_sum(2.0, m.f));
    const double z = s.hi * s.hi, z_low = fma(s.hi, s.hi, -z) + 2.0 * s.hi * s.lo;
    const Pair<double> p = fast_two_sum(THIRD.hi, z * behind_third(z));
    const double p_low = p.lo + THIRD.lo;
    const double cube = s.hi * z, cube_low = fma(s.hi, z, -cube) + fma(s.hi, z_low, s.lo * z);
    const double tail = cube * p.hi;
    const double tail_low = fma(cube, p.hi, -tail) + fma(cube, p_low, cube_low * p.hi);
    const Pair<double> sum = fast_two_sum(s.hi, tail);
    const Pair<double> whole = two_sum(m.e * LogConstants<double>::LN2.hi, 2.0 * sum.hi);
    const double low = fma(m.e, LogConstants<double>::LN2.lo, 2.0 * (sum.lo + (s.lo + tail_low)));
    return fast_two_sum(whole.hi, whole.lo + low);
}
OW_INLINE Pair<double> times_log(double y, Pair<double> log) {
    const double product = y * log.hi;
    return {product, fma(y, log.hi, -product) + y * log.lo};
}
OW_INLINE double power_from_zero(double x, double y) {
    Pair<double> log = log_pair(mantissa_of(x));
    log.hi = log_from_zero(x, log.hi);
    const Pair<double> product = times_log(y, log);
    const bool ended = fabs(product.hi) > 800.0;  // then there may be no low part
    return exp_of(Pair<double>{product.hi, ended ? 0.0 : product.lo});
}
// A power of the size, then what it is for a number below 0, and what is 1 whatever the other is.  An
// exponent of infinity is as any other whose power of 1 is 1, and of what lies beside 1 endless or 0.
template <class T> OW_INLINE T pow_of(T x, T y) {
    using U = typename Format<T>::Bits;
    const T below = y > Format<T>::FAR ? Format<T>::FAR : y, near = below < -Format<T>::FAR ? -Format<T>::FAR : below;
    const T size = fabs(x), half = near * (T)0.5, infinity = of_bits(Format<T>::ENDLESS);
    const U whole = mask_if<U>(floor(near) == near), odd = whole & mask_if<U>(floor(half) != half);
    U bits = host_bits(power_from_zero(size, near)) ^ (host_bits(x) & odd & Format<T>::SIGN);
    bits |= mask_if<U>(x < (T)0) & mask_if<U>(x != -infinity) & ~whole & Format<T>::QUIET;
    bits = x != x ? host_bits(x) : bits;
    const U one = mask_if<U>(x == (T)1) | mask_if<U>(y == (T)0);
    return of_bits((bits & ~one) | (Format<T>::ONE & one));
}
OW_INLINE float pow(float x, float y) { return pow_of(x, y); }
OW_INLINE double pow(double x, double y) { return pow_of(x, y); }

// 2**whole of a double that is a whole number from -1022 to 1023.
OW_INLINE double power_of(double whole) {
    return power_of_two((long long)(host_bits(whole + 6755399441055744.0) - 0x4338000000000000ULL));
}
// The cube root of a float from 2**-60 on.  A third of the exponent, taken off that of 1, is the inverse
// root to 3.5 in 100; three terms of w = 1 - x z**3 make 2e-5 of that, and a step of Newton, whose residual
// is exact enough, the root.  So nothing is divided, and the exponent not split.
OW_INLINE float near_cbrt(float x) {
    const float third = fma((float)(int)host_bits(x), -0.333333343f, 1419910400.0f);
    const float z = host_float((unsigned)(int)third);
    const float w = fma(-(x * z * z), z, 1.0f);
    const float inverse = fma(z, w * horner(w, 0.1738786f, 0.22342083f, 0.33333334f), z);
    const float square = inverse * inverse, y = x * square, y_square = y * y;
    const float lost = fma(y, y, -y_square), left = fma(-lost, y, fma(-y_square, y, x));
    return fma(left, 0.333333343f * square, y);
}
// The same of a double from 2**-900 on, by the upper half of its bits: 2**52 + n is a double whose bits end with
// n.  Four terms make 2e-7 of 3.5 in 100; a step for the root leaves 1e-12 to the last one.
OW_INLINE double near_cbrt(double x) {
    const double upper = host_double(0x4330000000000000ULL | host_bits(x) >> 32);
    const double z = host_double(host_bits(fma(upper, -0.3333333333333333, 0x1.55555aa9443ap+52)) << 32);
    const double w = fma(-(x * z * z), z, 1.0);
    const double p = horner(w, 0.14526610954416402, 0.17422650438112214, 0.22222052078994278, 0.33333141975449837);
    const double inverse = fma(z, w * p, z), square = inverse * inverse, near = x * square;
    const double y = fma(near, 0.6666666666666666 * fma(-near, inverse, 1.0), near), y_square = y * y;
    const double lost = fma(y, y, -y_square), left = fma(-lost, y, fma(-y_square, y, x));
    return fma(left, 0.3333333333333333 * square, y);
}
// A number below the least one of the form, times 2**96 or 2**300.  A subnormal one has no digit before
// the point: with the exponent of the least normal number and what that adds taken off it is the same.
OW_INLINE float lifted(float size) {
    const bool subnormal = size < 0x1p-126f;
    return host_float(host_bits(size) + (subnormal ? 97u << 23 : 96u << 23)) - (subnormal ? 0x1p-30f : 0.0f);
}
OW_INLINE double lifted(double size) {
    const bool subnormal = size < 0x1p-1022;
    return host_double(host_bits(size) + (subnormal ? 301ULL << 52 : 300ULL << 52)) - (subnormal ? 0x1p-722 : 0.0);
}
template <class T> OW_INLINE T cbrt_of(T x, T least, T scale) {
    const T size = fabs(x);
    const bool small = size < least;
    const T root = near_cbrt(small ? lifted(size) : size) * (small ? scale : (T)1);
    return size < of_bits(Format<T>::ENDLESS) ? copysign(root, x) : x;
}
OW_INLINE float cbrt(float x) { return cbrt_of(x, 0x1p-60f, 0x1p-32f); }
OW_INLINE double cbrt(double x) { return cbrt_of(x, 0x1p-900, 0x1p-100); }
OW_INLINE float ldexp(float x, int n) {  // no double is rounded on the way
    n = n > 300 ? 300 : n < -300 ? -300 : n;
    return (float)((double)x * power_of_two(n));
}
// One step is exact but for the last rounding: two steps before it keep a result that is subnormal,
// or an exponent that is larger than any number's.
OW_INLINE double ldexp(double x, int n) {
    double left = (double)n, y = x;
    left = left > 3100.0 ? 3100.0 : left;
    left = left < -3100.0 ? -3100.0 : left;
    double step = left > 1023.0 ? 1023.0 : 0.0;
    step = left < -1022.0 ? -969.0 : step;
    y *= power_of(step), left -= step;
    step = left > 1023.0 ? 1023.0 : 0.0;
    step = left < -1022.0 ? -969.0 : step;
    y *= power_of(step), left -= step;
    left = left > 1023.0 ? 1023.0 : left;
    return y * power_of(left < -1022.0 ? -1022.0 : left);
}
// x = m 2**n with m from 1/2 to 1; zero, infinity and NaN themselves with 0.
// `digits` are those behind the point, `half` is the exponent of 1/2 as the bits have it.
template <class T> OW_INLINE T frexp_of(T x, int* n, int digits, int half) {
    using U = typename Format<T>::Bits;
    const U endless = Format<T>::ENDLESS;
    const T size = fabs(x);
    const bool small = size < of_bits((U)1 << digits), ordinary = (size > (T)0) & (size < of_bits(endless));
    const U bits = host_bits(small ? raised(size) : size);
    *n = ordinary ? (int)(bits >> digits) - half - (small ? half + digits : 0) : 0;
    return ordinary ? copysign(of_bits((bits & ~endless) | (U)half << digits), x) : x;
}
OW_INLINE float frexp(float x, int* n) { return frexp_of(x, n, 23, 126); }
OW_INLINE double frexp(double x, int* n) { return frexp_of(x, n, 52, 1022); }
OW_INLINE float hypot(float x, float y) {
    const double a = (double)x, b = (double)y;
    const float length = (float)__builtin_sqrt(__builtin_fma(a, a, b * b));  // no double overflows
    const float far = __builtin_inff();
    return (__builtin_fabsf(x) == far) | (__builtin_fabsf(y) == far) ? far : length;
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
    // nothing is left of the square of one that is so much smaller
    const double a = large * scale, b = small < large * 0x1p-60 ? 0.0 : small * scale, square = a * a;
    const double root = __builtin_sqrt(__builtin_fma(b, b, square)), whole = root * root;
    const double low = __builtin_fma(root, root, -whole) - __builtin_fma(a, a, -square);
    const double rest = __builtin_fma(-b, b, whole - square) + low;
    const double length = (root > 0.0 ? root - rest / (root + root) : root) * host_double(exponent << 52);
    const double far = __builtin_inf();
    return p == far || q == far ? far : length;
}
OW_AS_BEFORE
