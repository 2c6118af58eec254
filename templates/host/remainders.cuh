// Remainders of floats for the host compiler, exact as fmod of the C library is: see math.cuh.
//
// A quotient below 2**53 is the whole number that it rounds down to, or that number less one; either
// way fma has what is left without an error.  Larger ones are taken off 52 digits at a time.
#pragma once
OW_NO_CONTRACTION

// x - trunc(x / y) y for y > 0 and x from 0 to 2**53 y.
OW_INLINE double rest_of_whole(double x, double y) {
    const double rest = fma(-trunc(x / y), y, x);
    return rest < 0.0 ? rest + y : rest;
}
OW_INLINE long long exponent_of(double x) { return (long long)(host_bits(x) >> 52 & 2047); }
static __attribute__((noinline, unused)) double far_remainder(double x, double y) {
    double size = fabs(x);
    const double by = fabs(y);
    if (!(by > 0.0)) return x * y / (x * y);
    if (by < 0x1p-1022) return ow_library_fmod(x, y);
    for (;;) {
        const long long more = exponent_of(size) - exponent_of(by) - 52;
        if (more <= 0) return copysign(rest_of_whole(size, by), x);
        size = rest_of_whole(size, host_double(host_bits(by) + ((unsigned long long)more << 52)));
    }
}
OW_INLINE double fmod(double x, double y) {
    const double size = fabs(x), by = fabs(y);
    if (size < by) return x;
    if (!(size < (double)__builtin_inf())) return x * y / (x * y);  // NaN, as the C library makes it
    return size < by * 0x1p52 ? copysign(rest_of_whole(size, by), x) : far_remainder(x, y);
}
OW_INLINE float fmod(float x, float y) { return (float)fmod((double)x, (double)y); }
OW_AS_BEFORE
