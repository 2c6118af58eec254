// Exponentials of double for the host compiler, and what is made of them: see math.cuh.
//
// What would lose bits is kept as a pair of numbers, the sum of which is meant.  Polynomials:
// tests/support/fits.py.
#pragma once
#include "pairs.cuh"
OW_NO_CONTRACTION

// exp(r) - 1 - r for |r| <= log(2) / 2.
OW_INLINE double behind_exp(double r) {
    return r * r * horner(r, 2.0920925229013683e-09, 2.510533217428392e-08, 2.755725710285716e-07,
        2.755725516401745e-06, 2.4801587340675172e-05, 0.00019841269874905086,
        0.0013888888888878121, 0.008333333333326223, 0.04166666666666668, 0.1666666666666667, 0.5);
}

struct DoubleRest { double rest; long long whole; };  // x = whole ln 2 + rest
OW_INLINE DoubleRest exp_rest(double x) {
    const double t = fma(x, 1.4426950408889634, 6755399441055744.0), n = t - 6755399441055744.0;
    return {fma(n, -2.3190468138462996e-17, fma(n, -0.69314718055994529, x)), (long long)(host_bits(t) - 0x4338000000000000ULL)};
}
// 2**up * exp(hi + lo).
OW_INLINE double scaled_exp(Pair<double> x, int up) {
    const double most = up ? 710.6 : 710.0;
    double hi = x.hi > most ? most : zero_if_minute(x.hi);
    hi = hi < -750.0 ? -750.0 : hi;
    const DoubleRest e = exp_rest(hi);
    const double r = e.rest + x.lo, y = (behind_exp(r) + r) + 1.0;
    return times_power_of_two(y, e.whole + up);
}
OW_INLINE double exp_of(Pair<double> x) { return scaled_exp(x, 0); }
OW_INLINE double exp(double x) { return scaled_exp({x, 0.0}, 0); }
OW_INLINE double exp2_near(double r) {  // for |r| <= 1/2
    const double p = horner(r, 4.4541023224309354e-10, 7.070977907271434e-09,
        1.0178067274348704e-07, 1.3215451632980893e-06, 1.5252733820781191e-05,
        0.00015403530424776935, 0.0013333558146423222, 0.009618129107618665, 0.05550410866482158,
        0.24022650695910075);
    return fma(r, 0.6931471805599453, fma(r, 2.3190468138462996e-17, r * r * p)) + 1.0;
}
OW_INLINE double exp2(double x) {
    const double inside = x > 1024.0 ? 1024.0 : zero_if_minute(x), clamped = inside < -1080.0 ? -1080.0 : inside;
    const double t = clamped + 6755399441055744.0, y = exp2_near(clamped - (t - 6755399441055744.0));
    const long long whole = (long long)(host_bits(t) - 0x4338000000000000ULL);
    return times_power_of_two(y, whole);
}

// Half of exp(x) - 1, which never overflows.
OW_INLINE Pair<double> half_expm1_inside(double x) {
    const double t = fma(x, 1.4426950408889634, 6755399441055744.0), n = t - 6755399441055744.0;
    const double first = fma(n, -0.69314718055994529, x), r = fma(n, -2.3190468138462996e-17, first);
    const double lost = fma(n, -2.3190468138462996e-17, first - r);
    const double scale = power_of_two((long long)(host_bits(t) - 0x4338000000000000ULL) - 1);
    const Pair<double> shift = two_sum(scale, -0.5), sum = two_sum(shift.hi, scale * r);
    return fast_two_sum(sum.hi, fma(scale, behind_exp(r) + lost, sum.lo + shift.lo));
}
OW_INLINE Pair<double> half_expm1(double x) {  // for x below -40 it is -1/2
    x = x > 710.0 ? 710.0 : x;
    return half_expm1_inside(zero_if_tiny(x < -40.0 ? -40.0 : x));
}
OW_INLINE double expm1_of(double x, Pair<double> half) { return fabs(x) < 0x1p-54 ? x : 2.0 * half.hi; }
OW_INLINE double expm1(double x) { return expm1_of(x, half_expm1(x)); }
// sinh(n ln 2 + r) for up to 40, of sinh(r) and cosh(r), with 2**n and its inverse halved: no division,
// and what cancels is exact.
OW_INLINE double near_sinh(double x) {
    x = zero_if_tiny(x);
    const double t = fma(x, 1.4426950408889634, 6755399441055744.0), n = t - 6755399441055744.0;
    const double first = fma(n, -0.69314718055994529, x), r = fma(n, -2.3190468138462996e-17, first);
    const double lost = fma(n, -2.3190468138462996e-17, first - r), z = r * r;
    const double odd = r * z * horner(z, 2.510037392310532e-08, 2.7557268485457824e-06,
        0.00019841269863036192, 0.008333333333330065, 0.16666666666666669);
    const double p = horner(z, 2.091123462721842e-09, 2.7557282973985783e-07,
        2.4801587317140836e-05, 0.0013888888888886554, 0.041666666666666664);
    const double even = fma(z * z, p, 0.5 * z);
    const long long whole = (long long)(host_bits(t) - 0x4338000000000000ULL);
    const double up = power_of_two(whole - 1), down = power_of_two(-whole - 1), sum = up + down, left = up - down;
    const double most = sum * r, most_low = fma(sum, r, -most);
    const Pair<double> y = fast_two_sum(left, most);  // which is 0, or the larger
    return y.hi + (y.lo + (most_low + fma(sum, odd, fma(left, even, sum * lost))));
}
OW_INLINE double sinh(double x) {
    const double size = fabs(x), y = near_sinh(size < 40.0 ? size : 40.0), far = scaled_exp({size, 0.0}, -1);
    const double picked = size > 22.0 ? far : y;
    return copysign(size < 0x1p-28 || x != x ? size : picked, x);
}
OW_INLINE double cosh(double x) {
    const double half = scaled_exp({fabs(x), 0.0}, -1);
    return half + 0.25 / half;
}
// As in float.
template <bool ORDINARY = false> OW_INLINE double tanh_of(double x) {
    const double size = ORDINARY ? fabs(x) : zero_if_tiny(fabs(x)), z = size * size;
    const DoubleRest e = exp_rest(size > 20.0 ? 40.0 : size + size);
    const double grown = ((behind_exp(e.rest) + e.rest) + 1.0) * power_of_two(e.whole);
    const bool near = size < 0.55;
    const double p = horner(z, -0.0001993365330261949, -0.020502376009330872, -0.33333333333333337);
    const double q = horner(z, 0.00020670348953554467, 0.023296098905532907, 0.461507128027993, 1.0);
    const double over = near ? size * z * p : -2.0, under = near ? q : grown + 1.0;
    const double y = (near ? size : 1.0) + over / under;
    return !ORDINARY && is_tiny(x) ? x : copysign(y, x);
}
OW_INLINE double tanh(double x) { return tanh_of(x); }
// erf(x) / x - 1 for z = x * x up to 1.
OW_INLINE double near_erf(double z) {
    return horner(z, -7.796317710726356e-10, 1.3720308497803522e-08,
        -1.6208545479608174e-07, 1.6447433573132999e-06, -1.4924737705896402e-05,
        0.0001205529495148449, -0.0008548325977161677, 0.005223977607159009, -0.026866170643243828,
        0.11283791670945051, -0.37612638903183543, 0.12837916709551256);
}
// As of float: near 0 a polynomial, beyond 1 from that of -log(erfc(x)).
OW_INLINE double erf(double x) {
    const double size = fabs(x), far = size > 6.0 ? 6.0 : size;
    const double q = horner(far, -6.335669204417514e-19, 5.831388662155766e-17,
        -2.5600950964988306e-15, 7.135762938720675e-14, -1.4179386181876573e-12,
        2.138035218112658e-11, -2.542043400118944e-10, 2.4442385793719876e-09,
        -1.933367007031731e-08, 1.272221072407759e-07, -7.008375486776965e-07,
        3.235984550121684e-06, -1.2455900529720235e-05, 3.9312386224017184e-05,
        -9.76685509055958e-05, 0.00017019690597744075, -0.00011011877253838197,
        -0.0004457876571503655, 0.0015709823844281298, -0.0001217923850519682,
        -0.019176325676494087, 0.10279241681505698, 0.6366139530725994, 1.128380247240557,
        -9.51744286818712e-08);
    const DoubleRest e = exp_rest(-q);
    const double scale = power_of_two(e.whole), rest = fma(scale, behind_exp(e.rest) + e.rest, scale);
    return copysign(size < 1.0 ? fma(near_erf(size * size), size, size) : 1.0 - rest, x);
}
// exp(-x * x) / (1 + 2 * x) times a polynomial of (x - 3) / (x + 3), the square with what it loses;
// near 0 by erf.
OW_INLINE double erfc(double x) {
    const double size = fabs(x), near = size > 27.4 ? 27.4 : size;  // where nothing is left
    const double t = (near - 3.0) / (near + 3.0), square = near * near;
    const double p = horner(t, -4.17702839132078e-09, -8.420439343631562e-09,
        3.286198896996504e-08, 9.160880855381778e-08, -1.3113801431293015e-07,
        -6.04660282936668e-07, 3.491098502247004e-07, 3.4637365024182467e-06,
        -7.277101668719204e-07, -2.009650999110367e-05, 4.948213173285341e-06,
        0.0001250981164342708, -0.00010515951060953825, -0.0007798320314780306,
        0.0018886903157285296, 0.002529391787548776, -0.02377051491462086, 0.06830802734584952,
        -0.11927366341550827, 0.1296451587027042, -0.047562294353446784, -0.13562110612458067,
        1.2530080582697296);
    const double y = exp_of(Pair<double>{-square, -fma(near, near, -square)}) * (p / fma(2.0, near, 1.0));
    const double far = x < 0.0 ? 2.0 - y : y;
    // of a NaN itself: which sign it has behind so many operations, the compiler decides
    return size < 0.5 ? 1.0 - fma(near_erf(x * x), x, x) : x == x ? far : x;
}
OW_AS_BEFORE
