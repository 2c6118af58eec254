// Exponentials, logarithms and powers of double for the host compiler: see math.cuh.
//
// What would lose bits is kept as a pair of numbers, the sum of which is meant; all of it is plain
// enough to vectorise, which the C library's functions are not.  Polynomials: tests/fits.py.
#pragma once
OW_NO_CONTRACTION

struct DoubleDouble { double hi, lo; };  // the sum of the two, of which hi is the larger by far
// Knuth's and Dekker's sums without an error; the second for |a| >= |b| (Muller and others,
// "Handbook of Floating-Point Arithmetic", 2nd edition, 4.3).
OW_INLINE DoubleDouble two_sum(double a, double b) {
    const double s = a + b, part = s - a;
    return {s, (a - (s - part)) + (b - part)};
}
OW_INLINE DoubleDouble fast_two_sum(double a, double b) {
    const double s = a + b;
    return {s, b - (s - a)};
}
// (a + low) / b with what the division loses.
OW_INLINE DoubleDouble quotient(double a, double low, DoubleDouble b) {
    const double q = a / b.hi;
    return {q, (fma(-q, b.hi, a) + fma(-q, b.lo, low)) / b.hi};
}

// 2**whole of a double that is a whole number from -1022 to 1023.
OW_INLINE double power_of(double whole) {
    return power_of_two((long long)(host_bits(whole + 6755399441055744.0) - 0x4338000000000000ULL));
}
// In two steps, for results near the ends of the range.
OW_INLINE double times_power_of_two(double y, long long whole) {
    const long long half = (long long)((unsigned long long)(whole + 2048) >> 1) - 1024;
    return y * power_of_two(half) * power_of_two(whole - half);
}

// exp(r) - 1 - r for |r| <= log(2) / 2.
OW_INLINE double behind_exp(double r) {
    return r * r * horner(r, 2.0920925229013683e-09, 2.510533217428392e-08, 2.755725710285716e-07,
        2.755725516401745e-06, 2.4801587340675172e-05, 0.00019841269874905086,
        0.0013888888888878121, 0.008333333333326223, 0.04166666666666668, 0.1666666666666667, 0.5);
}

// 2**up * exp(hi + lo).
OW_INLINE double scaled_exp(double hi, double lo, long long up) {
    hi = hi > 712.0 ? 712.0 : hi;
    hi = hi < -750.0 ? -750.0 : hi;
    const double t = fma(hi, 1.4426950408889634, 6755399441055744.0), n = t - 6755399441055744.0;
    const double r = fma(n, -2.3190468138462996e-17, fma(n, -0.69314718055994529, hi)) + lo;
    const double y = (behind_exp(r) + r) + 1.0;
    const long long whole = (long long)(host_bits(t) - 0x4338000000000000ULL) + up;
    return times_power_of_two(y, whole);
}
OW_INLINE double exp(double x) { return scaled_exp(x, 0.0, 0); }
OW_INLINE double exp2(double x) {
    const double inside = x > 1025.0 ? 1025.0 : x, clamped = inside < -1080.0 ? -1080.0 : inside;
    const double t = clamped + 6755399441055744.0, r = clamped - (t - 6755399441055744.0);
    const double p = horner(r, 4.4541023224309354e-10, 7.070977907271434e-09,
        1.0178067274348704e-07, 1.3215451632980893e-06, 1.5252733820781191e-05,
        0.00015403530424776935, 0.0013333558146423222, 0.009618129107618665, 0.05550410866482158,
        0.24022650695910075);
    const double y = fma(r, 0.6931471805599453, fma(r, 2.3190468138462996e-17, r * r * p)) + 1.0;
    const long long whole = (long long)(host_bits(t) - 0x4338000000000000ULL);
    return times_power_of_two(y, whole);
}

// Half of exp(x) - 1, which never overflows; for x below -40 it is -1/2.
OW_INLINE DoubleDouble half_expm1(double x) {
    x = x > 710.0 ? 710.0 : x;
    x = x < -40.0 ? -40.0 : x;
    const double t = fma(x, 1.4426950408889634, 6755399441055744.0), n = t - 6755399441055744.0;
    const double first = fma(n, -0.69314718055994529, x), r = fma(n, -2.3190468138462996e-17, first);
    const double lost = fma(n, -2.3190468138462996e-17, first - r);
    const double scale = power_of_two((long long)(host_bits(t) - 0x4338000000000000ULL) - 1);
    const DoubleDouble shift = two_sum(scale, -0.5), sum = two_sum(shift.hi, scale * r);
    return fast_two_sum(sum.hi, fma(scale, behind_exp(r) + lost, sum.lo + shift.lo));
}
OW_INLINE double expm1(double x) {
    const DoubleDouble half = half_expm1(x);
    return fabs(x) < 0x1p-54 ? x : 2.0 * half.hi;
}
OW_INLINE double sinh(double x) {
    const double size = fabs(x);
    const DoubleDouble e = half_expm1(size < 40.0 ? size : 40.0);  // its pair is exact enough to add to
    const DoubleDouble rest = quotient(e.hi, e.lo, two_sum(1.0, 2.0 * e.hi)), sum = two_sum(e.hi, rest.hi);
    const double y = sum.hi + (sum.lo + (e.lo + rest.lo)), far = scaled_exp(size, 0.0, -1);
    const double picked = size > 22.0 ? far : y;
    return copysign(size < 0x1p-28 || x != x ? size : picked, x);
}
OW_INLINE double cosh(double x) {
    const double half = scaled_exp(fabs(x), 0.0, -1);
    return half + 0.25 / half;
}
OW_INLINE double tanh(double x) {
    const double size = fabs(x);
    const DoubleDouble e = half_expm1(2.0 * (size < 20.0 ? size : 20.0));
    const DoubleDouble y = quotient(e.hi, e.lo, two_sum(1.0, e.hi));
    return copysign(size < 0x1p-28 || x != x ? size : y.hi + y.lo, x);
}

// A number from 0 on as m 2**e with m from sqrt(1/2) to sqrt(2): e and m - 1.
struct WideMantissa { double e, f; };
OW_INLINE WideMantissa mantissa_of(double x) {
    const bool small = x < 0x1p-1022;
    const unsigned long long shifted = host_bits(small ? x * 0x1p54 : x) - 0x3fe6a09e667f3bcdULL;
    // the exponent plus 2048, as a double without a conversion that AVX2 lacks
    const double biased = host_double(0x4330000000000000ULL + ((shifted ^ 1ULL << 63) >> 52));
    const double f = host_double((shifted & 0x000fffffffffffffULL) + 0x3fe6a09e667f3bcdULL) - 1.0;
    return {biased - (small ? 4503599627372598.0 : 4503599627372544.0), f};
}
OW_INLINE double log_or_end(double y, double x) {  // what a logarithm is where it is no number
    y = x == __builtin_inf() ? x : y;
    y = x == 0.0 ? -__builtin_inf() : y;
    return x >= 0.0 ? y : __builtin_nan("");
}
// With s = f / (2 + f) log(1 + f) is f - (f * f / 2 - s * (f * f / 2 + R)), where R is what the series
// of 2 atanh(s) has behind 2 s, over s: the largest term is exact.  After FreeBSD's e_log.c.
OW_INLINE double behind_square(double f, double square) {
    const double s = f / (2.0 + f), z = s * s;
    const double p = horner(z, 0.0609237668959801, 0.06688175367557916, 0.0769051631407193,
        0.09090963312653101, 0.11111110286413717, 0.1428571429220765, 0.19999999999975906,
        0.33333333333333365);
    return s * fma(z + z, p, square);
}
// log(1 + f + low) + e log(2), to be given log(1 + f)'s own low part.
OW_INLINE double joined_log(WideMantissa m, double low) {
    const double square = 0.5 * m.f * m.f;
    const double rest = behind_square(m.f, square) + fma(m.e, 1.9082149292705877e-10, low);
    return fma(m.e, 0.6931471803691238, m.f - (square - rest));
}
OW_INLINE double log(double x) { return log_or_end(joined_log(mantissa_of(x), 0.0), x); }
// log(1 + f) times a number, given in two parts, plus another.
OW_INLINE double log_times(double f, DoubleDouble by, DoubleDouble plus) {
    const double square = 0.5 * f * f, hi = f - square, lo = ((f - hi) - square) + behind_square(f, square);
    const double product = hi * by.hi;
    const double rest = fma(hi, by.hi, -product) + fma(lo, by.hi, hi * by.lo);
    const DoubleDouble sum = two_sum(plus.hi, product);
    return sum.hi + (sum.lo + (rest + plus.lo));
}
OW_INLINE double log2(double x) {
    const WideMantissa m = mantissa_of(x);
    return log_or_end(log_times(m.f, {1.4426950408889634, 2.0355273740931033e-17}, {m.e, 0.0}), x);
}
OW_INLINE double log10(double x) {
    const WideMantissa m = mantissa_of(x);
    const DoubleDouble whole = {m.e * 0.3010299801826477, m.e * 1.5481333490135613e-08};  // the first is exact
    return log_or_end(log_times(m.f, {0.4342944819032518, 1.098319650216765e-17}, whole), x);
}
// log(1 + a) + more log(2): near 1 of a itself, else of 1 + a with what the sum loses.
OW_INLINE double log_beside(DoubleDouble a, double more) {
    const DoubleDouble u = two_sum(1.0, a.hi);
    const WideMantissa m = mantissa_of(u.hi);
    const bool near = m.e == 0.0;
    const double low = (near ? a.lo : u.lo + a.lo) / u.hi;
    return log_or_end(joined_log({m.e + more, near ? a.hi : m.f}, low), u.hi);
}
OW_INLINE double log1p(double x) {
    const double y = log_beside({x, 0.0}, 0.0), kept = x == __builtin_inf() ? x : y;
    return x == 0.0 ? x : kept;  // the sign of zero
}
// Beyond 2**60 the square would overflow, and the root is the number.
OW_INLINE double asinh(double x) {
    const double size = fabs(x), square = size * size, root = __builtin_sqrt(1.0 + square);
    const bool far = size > 0x1p60;
    const DoubleDouble a = two_sum(size, far ? 0.0 : square / (1.0 + root));
    const double y = log_beside({a.hi, far ? 0.0 : a.lo}, far ? 1.0 : 0.0);
    return copysign(size < 0x1p-28 ? size : y, x);
}
OW_INLINE double acosh(double x) {
    const double above = x - 1.0;
    const bool far = x > 0x1p60;
    const DoubleDouble a = two_sum(above, far ? 0.0 : __builtin_sqrt(fma(above, above, above + above)));
    const double y = log_beside({a.hi, far ? 0.0 : a.lo}, far ? 1.0 : 0.0);
    return x >= 1.0 ? y : __builtin_nan("");
}
OW_INLINE double atanh(double x) {
    const double size = fabs(x);
    const DoubleDouble a = quotient(size + size, 0.0, two_sum(1.0, -size));
    const double y = 0.5 * log_beside(a, 0.0);
    return copysign(size == 1.0 ? __builtin_inf() : size < 0x1p-28 ? size : y, x);
}

// log(1 + f) + e log(2) to some 65 bits: the quotient and the first two terms of the series as pairs.
OW_INLINE DoubleDouble log_pair(WideMantissa m) {
    const DoubleDouble s = quotient(m.f, 0.0, fast_two_sum(2.0, m.f));
    const double z = s.hi * s.hi, z_low = fma(s.hi, s.hi, -z) + 2.0 * s.hi * s.lo;
    const DoubleDouble p = fast_two_sum(0.3333333333333333, z * horner(z, 0.0586155679943914,
        0.05853120970680075, 0.06667402260915066, 0.07692297482301737, 0.09090909167694142,
        0.1111111111082791, 0.14285714285714685, 0.2));
    const double p_low = p.lo + 1.850371707708594e-17;
    const double cube = s.hi * z, cube_low = fma(s.hi, z, -cube) + fma(s.hi, z_low, s.lo * z);
    const double tail = cube * p.hi, tail_low = fma(cube, p.hi, -tail) + fma(cube, p_low, cube_low * p.hi);
    const DoubleDouble sum = fast_two_sum(s.hi, tail), whole = two_sum(m.e * 0.6931471803691238, 2.0 * sum.hi);
    const double low = fma(m.e, 1.9082149292705877e-10, 2.0 * (sum.lo + (s.lo + tail_low)));
    return fast_two_sum(whole.hi, whole.lo + low);
}
// exp(y log(x)) for x from 0 on; what depends on y alone is made of masks, as in float's.
OW_INLINE double pow(double x, double y) {
    const double size = fabs(x), half = y * 0.5;
    const unsigned long long endless = 0x7ff0000000000000ULL, one = 0x3ff0000000000000ULL;
    const unsigned long long whole = wide_mask_if(__builtin_floor(y) == y);
    const unsigned long long odd_sign = whole & wide_mask_if(__builtin_floor(half) != half) & 1ULL << 63;
    const unsigned long long fraction = ~whole & 0x7ff8000000000000ULL;
    const unsigned long long far = wide_mask_if(fabs(y) == __builtin_inf()), zero = wide_mask_if(y == 0.0);
    const unsigned long long no_number = wide_mask_if(y != y) & host_bits(y);
    const double at_zero = host_double((wide_mask_if(y < 0.0) & endless) | no_number);
    const double at_infinity = host_double((wide_mask_if(y > 0.0) & endless) | no_number);
    const DoubleDouble log = log_pair(mantissa_of(size));
    const double product = y * log.hi, low = fma(y, log.hi, -product) + y * log.lo;
    double r = scaled_exp(product, fabs(product) < 800.0 ? low : 0.0, 0);
    r = size == 0.0 ? at_zero : r;
    r = size == __builtin_inf() ? at_infinity : r;
    unsigned long long bits = host_bits(r) ^ (host_bits(x) & odd_sign);
    const unsigned long long root = x < 0.0 ? fraction : 0ULL;  // of a negative number: NaN
    bits |= size != __builtin_inf() ? root : 0ULL;
    bits = x != x ? host_bits(x) : bits;
    const unsigned long long ones = size == 1.0 ? far : 0ULL;
    bits = (bits & ~ones) | (one & ones);
    bits = x == 1.0 ? one : bits;
    return host_double((bits & ~zero) | (one & zero));
}
// Of a number from 0 on: it is scaled * third**3, and root * third its cube root to 2e-13, from a
// polynomial by a step of Halley.
struct CubeRoot { double scaled, root, third; };
OW_INLINE CubeRoot cube_root_of(double size) {
    const bool small = size < 0x1p-1022;
    const unsigned long long bits = host_bits(small ? size * 0x1p54 : size);
    const double m = host_double((bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL);
    const double biased = host_double(0x4330000000000000ULL + (bits >> 52));
    const double e = biased - (small ? 4503599627371573.0 : 4503599627371519.0);
    const double third = __builtin_floor(e * 0.3333333333333333 + 0.1), left = e - 3.0 * third;
    const double x = m * (left == 0.0 ? 1.0 : left == 1.0 ? 2.0 : 4.0);
    const double factor = left == 0.0 ? 1.0 : left == 1.0 ? 1.2599210498948732 : 1.5874010519681996;
    const double y = factor * horner(m, 0.022148699208245196, -0.1586624600531909,
        0.5808263911380952, 0.5557909602691388), cube = y * y * y;
    return {x, y * ((cube + x + x) / (cube + cube + x)), power_of(third)};
}
// By a step of Newton with the exact residual x - y * y * y.
OW_INLINE double cbrt(double x) {
    const CubeRoot c = cube_root_of(fabs(x));
    const double y = c.root, square = y * y, lost = fma(y, y, -square);
    const double rest = fma(-lost, y, fma(-square, y, c.scaled));
    const double found = fma(rest, 1.0 / (3.0 * square), y) * c.third;
    return fabs(x) > 0.0 && fabs(x) < __builtin_inf() ? copysign(found, x) : x + x;
}
OW_INLINE float cbrt(float x) {
    const CubeRoot c = cube_root_of(fabs((double)x));
    const float found = (float)(c.root * c.third);
    return fabs(x) > 0.0f && fabs(x) < __builtin_inff() ? copysign(found, x) : x + x;
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
OW_AS_BEFORE
