// Exponentials of float for the host compiler, and what is made of them: see math.cuh.
//
// In float, which vectors hold twice as many of as of double, to less than 2 ULP; erfc alone, which
// loses more, goes through double.  Polynomials: tests/support/fits.py.
#pragma once
#include "pairs.cuh"
OW_NO_CONTRACTION

// x = whole ln 2 + rest, with the usual Cody-Waite split of ln 2.
struct FloatRest { float rest; int whole; WholeFloat both; };
OW_INLINE FloatRest exp_rest(float x) {
    const WholeFloat w = whole_near(x, 1.44269504f);
    return {fma(w.n, -1.42860677e-6f, fma(w.n, -0.693145752f, x)), w.whole, w};
}
OW_INLINE FloatRest exp_rest_inside(float x, float most = 89.0f) {  // of the end for what is beyond
    x = x > most ? most : zero_if_minute(x);
    return exp_rest(x < -110.0f ? -110.0f : x);
}
// exp(r) - 1 for |r| <= log(2) / 2.
OW_INLINE float near_expm1(float r) {
    const float p = horner(r, 0.00019890981f, 0.0013933642f, 0.0083333105f, 0.041666467f,
        0.16666667f, 0.5f);
    return fma(p * r, r, r);
}
OW_INLINE float exp(float x) {
    const FloatRest e = exp_rest_inside(x);
    return half_times_power_of_two(fma(near_expm1(e.rest), 2.0f, 2.0f), e.both);
}
OW_INLINE float half_exp(float x) {
    const FloatRest e = exp_rest_inside(x, 89.7f);
    return fma(near_expm1(e.rest), 2.0f, 2.0f) * power_of_two_f(e.whole - 2);  // subnormal it never is
}
OW_INLINE float exp2_near(float r) {  // for |r| <= 1/2
    const float p = horner(r, 0.00015453163f, 0.0013390863f, 0.009618083f, 0.05550357f, 0.2402265f,
        0.6931472f);
    return fma(p, r, 1.0f);
}
OW_INLINE float exp2(float x) {
    x = x > 128.0f ? 128.0f : zero_if_minute(x);
    x = x < -160.0f ? -160.0f : x;
    const WholeFloat w = whole_near(x, 1.0f);
    return half_times_power_of_two(2.0f * exp2_near(x - w.n), w);
}
OW_INLINE float exp10(float x) {
    x = x > 38.6f ? 38.6f : zero_if_minute(x);
    x = x < -50.0f ? -50.0f : x;
    const WholeFloat w = whole_near(x, 3.32192809f);
    const float r = fma(w.n, -4.6050390665e-06f, fma(w.n, -0.301025390625f, x));
    const float p = horner(r, 0.20766282f, 0.5417011f, 1.1712495f, 2.034659f, 2.650949f, 2.3025851f);
    return half_times_power_of_two(2.0f * fma(p, r, 1.0f), w);
}
// Half of it is what is added up, which ends where float does.
OW_INLINE float expm1_of(float x, FloatRest e) {
    const float half = power_of_two_f(e.whole - 1);
    const float y = 2.0f * fma(half, near_expm1(e.rest), half - 0.5f);
    return is_tiny(x) ? x : y;
}
OW_INLINE float expm1(float x) {
    return expm1_of(x, exp_rest(x < -40.0f ? -40.0f : x > 89.0f ? 89.0f : zero_if_tiny(x)));
}
OW_INLINE float sinh_of(float x, float size, float half) {  // half: of exp(size)
    const float z = size * size;
    const float p = horner(z, 2.8062802e-06f, 0.00019838102f, 0.008333339f, 0.16666667f);
    const float y = size < 1.0f ? fma(size * z, p, size) : half - 0.25f / half;
    return is_tiny(x) ? x : copysign(y, x);
}
OW_INLINE float sinh(float x) {
    const float size = zero_if_tiny(fabs(x));
    return sinh_of(x, size, half_exp(size));
}
OW_INLINE float cosh(float x) {
    const float half = half_exp(fabs(x));
    return half + 0.25f / half;
}
// Of x + x * x * x P(x * x) / Q(x * x) or, from 0.55 on, 1 - 2 / (exp(2 x) + 1) the quotient is one division.
OW_INLINE float tanh(float x) {
    const float size = zero_if_tiny(fabs(x)), z = size * size;
    const float inside = size > 10.0f ? 10.0f : size;
    const WholeFloat w = whole_near(inside, 2.88539004f);
    const float part = exp2_near(fma(inside, 2.88539004f, -w.n));
    const float grown = host_float(host_bits(part) + ((unsigned)w.whole << 23));
    const bool near = !(size >= 0.55f);  // a NaN, too, which stays one
    const float over = near ? size * z * horner(z, -0.3333333f) : -2.0f;
    const float under = near ? horner(z, -0.0018669679f, 0.3999957f, 1.0f) : grown + 1.0f;
    // of a tiny number it is that and 0: a sum of a subnormal number takes no longer
    return copysign((near ? fabs(x) : 1.0f) + over / under, x);
}

// Near 0 a polynomial, beyond 1 from that of -log(erfc(x)).
OW_INLINE float erf(float x) {
    const float size = fabs(x), z = size * size, far = size > 4.0f ? 4.0f : size;
    const float p = horner(z, -9.667045e-06f, 0.00011265959f, -0.00084840803f, 0.0052210316f,
        -0.02686543f, 0.11283782f, -0.37612638f, 0.12837917f);
    const float q = horner(far, 1.3272362e-05f, -0.00031693702f, 0.0034323514f, -0.022604773f,
        0.10328112f, 0.63914126f, 1.1258936f, 0.0007658978f);
    const FloatRest e = exp_rest(-q);
    const float scale = power_of_two_f(e.whole), rest = fma(scale, near_expm1(e.rest), scale);
    return copysign(size < 1.0f ? fma(p, size, size) : 1.0f - rest, x);
}
// exp(x) of a double from -700 to 700, to 2e-12.
OW_INLINE double wide_exp(double x) {
    x = x > 700.0 ? 700.0 : x;
    x = x < -700.0 ? -700.0 : x;
    const double t = fma(x, 1.4426950408889634, 6755399441055744.0), n = t - 6755399441055744.0;
    const double r = fma(n, -2.3190468138462996e-17, fma(n, -0.69314718055994529, x));
    const double p = horner(r, 2.761756481848616e-06, 2.486787017847264e-05, 0.00019841224599539338,
        0.0013888839110575157, 0.008333333344203105, 0.04166666678626572, 0.16666666666662586,
        0.4999999999995511);
    const double scale = power_of_two((long long)(host_bits(t) - 0x4338000000000000ULL));
    return fma(scale, fma(p * r, r, r), scale);
}
// exp(-x * x) times a polynomial of (x - 2.5) / (x + 2.5).
OW_INLINE float erfc(float x) {
    const double size = fabs((double)x), near = size > 10.1 ? 10.1 : size;  // where no float is left
    const double t = (near - 2.5) / (near + 2.5);
    const double p = horner(t, 5.9254064127196206e-06, 1.5102987373935953e-05,
        -3.387936203555838e-05, -0.00012669297501240748, 0.00022854501427140215,
        0.0008752320084783798, -0.002642440314329377, -0.003993591787151903, 0.03992254851339855,
        -0.12503306027284974, 0.2517131928796104, -0.37173673377932354, 0.2108063640622723);
    const double y = wide_exp(-near * near) * p;
    // of a NaN itself: which sign it has behind so many operations, the compiler decides
    return x == x ? (float)(x < 0.0f ? 2.0 - y : y) : x;
}
OW_AS_BEFORE
