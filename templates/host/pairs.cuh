// What the mathematics of the host is made of: pairs of numbers, polynomials, powers of two, masks.
#pragma once
OW_NO_CONTRACTION

// A polynomial of z, highest power first.
template <class T> OW_INLINE T horner(T, T sum) { return sum; }
template <class T, class... Rest> OW_INLINE T horner(T z, T sum, T next, Rest... rest) {
    return horner(z, fma(sum, z, next), rest...);
}

template <class T> struct Pair { T hi, lo; };  // the sum of the two, of which hi is the larger by far
// Knuth's and Dekker's sums without an error; the second for |a| >= |b| (Muller and others,
// "Handbook of Floating-Point Arithmetic", 2nd edition, 4.3).
template <class T> OW_INLINE Pair<T> two_sum(T a, T b) {
    const T s = a + b, part = s - a;
    return {s, (a - (s - part)) + (b - part)};
}
template <class T> OW_INLINE Pair<T> fast_two_sum(T a, T b) {
    const T s = a + b;
    return {s, b - (s - a)};
}
template <class T> OW_INLINE Pair<T> plus(Pair<T> sum, T term) {  // what is lost gathers in lo
    const Pair<T> made = two_sum(sum.hi, term);
    return {made.hi, sum.lo + made.lo};
}
// (a + low) / b with what the division loses.
template <class T> OW_INLINE Pair<T> quotient(T a, T low, Pair<T> b) {
    const T q = a / b.hi;
    return {q, (fma(-q, b.hi, a) + fma(-q, b.lo, low)) / b.hi};
}

// The bits of a number: its sign, infinity, NaN and 1; and END, beyond which exp() has ended.
template <class T> struct Format;
template <> struct Format<float> {
    using Bits = unsigned;
    static constexpr Bits SIGN = 1u << 31, ENDLESS = 0x7f800000u, QUIET = 0x7fc00000u, ONE = 0x3f800000u;
    static constexpr float END = 200.0f;
};
template <> struct Format<double> {
    using Bits = unsigned long long;
    static constexpr Bits SIGN = 1ULL << 63, ENDLESS = 0x7ff0000000000000ULL;
    static constexpr Bits QUIET = 0x7ff8000000000000ULL, ONE = 0x3ff0000000000000ULL;
    static constexpr double END = 800.0;
};
OW_INLINE float of_bits(unsigned bits) { return host_float(bits); }
OW_INLINE double of_bits(unsigned long long bits) { return host_double(bits); }
// What depends on one operand alone is made of masks without a branch: only so is it taken out of a
// loop over the other, which then vectorises (g++ 12).
template <class U> OW_INLINE U mask_if(bool condition) { return (U)0 - (U)condition; }

// 2**n for n in [-1022, 1023], and in [-126, 127].
OW_INLINE double power_of_two(long long n) { return host_double((unsigned long long)(n + 1023) << 52); }
OW_INLINE float power_of_two_f(int n) { return host_float((unsigned)(n + 127) << 23); }
// In two steps, for results near the ends of the range.
OW_INLINE double times_power_of_two(double y, long long whole) {
    const long long half = (long long)((unsigned long long)(whole + 2048) >> 1) - 1024;
    return y * power_of_two(half) * power_of_two(whole - half);
}
OW_INLINE float times_power_of_two(float y, int whole) {
    const int half = whole >> 1;
    return y * power_of_two_f(half) * power_of_two_f(whole - half);
}
// A number and the whole number next to it: adding 1.5 times 2 to the digits of a mantissa rounds.
struct WholeFloat { float n; int whole; };
OW_INLINE WholeFloat whole_near(float x, float by) {
    const float t = fma(x, by, 12582912.0f);
    return {t - 12582912.0f, (int)(host_bits(t) - 0x4b400000u)};
}
OW_AS_BEFORE
