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

// The same with one division, where the inverse of b is neither endless nor subnormal.
template <class T> OW_INLINE Pair<T> quotient_by_inverse(T a, T low, Pair<T> b) {
    const T inverse = (T)1 / b.hi, q = a * inverse;
    return {q, (fma(-q, b.hi, a) + fma(-q, b.lo, low)) * inverse};
}

// The bits of a number: its sign, infinity, NaN and 1; TINY, below which 1 + x is 1 and
// sin(x) is x, CUBED, below which a cube is subnormal, and FAR, whose inverse is next to nothing.
template <class T> struct Format;
template <> struct Format<float> {
    using Bits = unsigned;
    static constexpr Bits SIGN = 1u << 31, ENDLESS = 0x7f800000u, QUIET = 0x7fc00000u, ONE = 0x3f800000u;
    static constexpr float TINY = 0x1p-30f, CUBED = 0x1p-42f, FAR = 0x1p100f;
};
template <> struct Format<double> {
    using Bits = unsigned long long;
    static constexpr Bits SIGN = 1ULL << 63, ENDLESS = 0x7ff0000000000000ULL;
    static constexpr Bits QUIET = 0x7ff8000000000000ULL, ONE = 0x3ff0000000000000ULL;
    static constexpr double TINY = 0x1p-60, CUBED = 0x1p-340, FAR = 0x1p900;
};
OW_INLINE float of_bits(unsigned bits) { return host_float(bits); }
OW_INLINE double of_bits(unsigned long long bits) { return host_double(bits); }

// 2**n for n in [-1022, 1023], and in [-126, 127].
OW_INLINE double power_of_two(long long n) { return host_double((unsigned long long)(n + 1023) << 52); }
OW_INLINE float power_of_two_f(int n) { return host_float((unsigned)(n + 127) << 23); }
// Arithmetic that meets or makes a subnormal number takes a processor of Intel's some 150 cycles, so
// there is none of it: a subnormal is counted in its smallest unit, and its bits are that count.
OW_INLINE float raised(float x) { return (float)(int)host_bits(x); }  // of one from 0 on: the count
OW_INLINE double raised(double x) { return host_double(host_bits(x) | 0x4330000000000000ULL) - 0x1p52; }
template <class T> OW_INLINE bool is_tiny(T x) { return fabs(x) < Format<T>::TINY; }
// By a mask: where a number is chosen, g++ computes with either one.
template <class T> OW_INLINE T zero_if_tiny(T x) {
    return of_bits(host_bits(x) & ~mask_if<typename Format<T>::Bits>(is_tiny(x)));
}
// The same for exponentials, by two bits of the exponent: below 2**-63, and 2**-511.
OW_INLINE float zero_if_minute(float x) { return host_bits(x) & 0x60000000u ? x : 0.0f; }
OW_INLINE double zero_if_minute(double x) { return host_bits(x) & 0x6000000000000000ULL ? x : 0.0; }
// y 2**whole, given 2 y from 1 to 3 and whole up to 128, or 1024.  What may be subnormal is counted.
struct WholeFloat { float n; int whole; };  // the same number
OW_INLINE float half_times_power_of_two(float twice, WholeFloat by) {
    const bool low = by.n < -125.0f;
    const float made = twice * power_of_two_f((low ? by.whole + 149 : by.whole) - 1);
    return low ? host_float((unsigned)(int)__builtin_rintf(made)) : made;
}
OW_INLINE double times_power_of_two(double y, long long whole) {
    const bool low = (unsigned long long)(whole + 4000) < 2979u;
    const double made = (y + y) * power_of_two((low ? whole + 1074 : whole) - 1);
    const bool counts = made < 0x1p52;  // else it is the count, in digits of its own
    const unsigned long long bits = host_bits(counts ? made + 0x1p52 : made);
    return low ? host_double(bits - (counts ? 1075ULL << 52 : 1074ULL << 52)) : made;
}
// A number and the whole number next to it: adding 1.5 times 2 to the digits of a mantissa rounds.
OW_INLINE WholeFloat whole_near(float x, float by) {
    const float t = fma(x, by, 12582912.0f);
    return {t - 12582912.0f, (int)(host_bits(t) - 0x4b400000u)};
}
OW_AS_BEFORE
