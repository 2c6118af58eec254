// Angles and their functions, for the host compiler: see math.cuh.  Polynomials: tests/fits.py.
#pragma once

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

// asin of a number from 0 to 1/2; of one beyond half the angle that is left to a quarter turn.
OW_INLINE double wide_asin(double x) {
    const double z = x > 0.5 ? (1.0 - x) * 0.5 : x * x;
    const double s = __builtin_sqrt(z);  // x again where it is near: its square is exact
    const double p = horner(z, 0.02834674690974415, 0.0010675043831256423, 0.01686409120342798,
        0.01690268364424304, 0.022412417763690826, 0.030379945206673593, 0.04464290647475796,
        0.07499999953429255, 0.16666666666738636);
    return __builtin_fma(s * z, p, s);
}
OW_INLINE float asin(float x) {
    const double d = __builtin_fabs((double)x), angle = wide_asin(d);
    return __builtin_copysignf((float)(d > 0.5 ? 1.5707963267948966 - 2.0 * angle : angle), x);
}
OW_INLINE float acos(float x) {
    const double d = (double)x, size = __builtin_fabs(d), angle = wide_asin(size);
    const double twice = angle + angle, beyond = d < 0.0 ? 3.141592653589793 - twice : twice;
    return (float)(size > 0.5 ? beyond : 1.5707963267948966 - __builtin_copysign(angle, d));
}
// atan(a / b) for a and b from 0 on, not both 0 or both infinite: less an eighth or a quarter turn,
// so that the quotient is at most tan(pi / 8).
OW_INLINE double wide_atan(double a, double b) {
    const bool middle = a > 0.41421356237309503 * b, steep = a > 2.414213562373095 * b;
    double up = middle ? a - b : a, across = middle ? a + b : b;
    double turn = middle ? 0.7853981633974483 : 0.0;
    up = steep ? -b : up;
    across = steep ? a : across;
    turn = steep ? 1.5707963267948966 : turn;
    const double s = up / across, z = s * s;
    const double p = horner(z, 0.03295679643339708, -0.06027307526166858, 0.07604800062993362,
        -0.09084101897621848, 0.11110819716915903, -0.14285708110367462, 0.19999999949854944,
        -0.333333333332662);
    return turn + __builtin_fma(s * z, p, s);
}
OW_INLINE float atan(float x) {
    return __builtin_copysignf((float)wide_atan(__builtin_fabs((double)x), 1.0), x);
}
OW_INLINE float atan2(float y, float x) {
    const double endless = __builtin_inf();
    double a = __builtin_fabs((double)y), b = __builtin_fabs((double)x);
    const bool ends = (a == endless) & (b == endless);
    a = ends ? 1.0 : a;
    b = ends | ((a == 0.0) & (b == 0.0)) ? 1.0 : b;
    const double angle = wide_atan(a, b);
    const double turned = host_bits((double)x) >> 63 ? 3.141592653589793 - angle : angle;
    return __builtin_copysignf((float)turned, y);
}
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
    const double a = large * scale, b = small * scale, square = a * a;
    const double root = __builtin_sqrt(__builtin_fma(b, b, square)), whole = root * root;
    const double low = __builtin_fma(root, root, -whole) - __builtin_fma(a, a, -square);
    const double rest = __builtin_fma(-b, b, whole - square) + low;
    const double length = (root > 0.0 ? root - rest / (root + root) : root) * host_double(exponent << 52);
    const double far = __builtin_inf();
    return p == far || q == far ? far : length;
}
