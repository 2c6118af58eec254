// Quotients of integers through double, for the host compiler: it has no vectors of integer
// division, and one by a number of the call takes it ten times as long as the product that this is.
#pragma once

// What holds all numbers of a type, and half of its unit beside them, to some bits more.
template <int SIZE> struct Wider { typedef float Real; };
template <> struct Wider<4> { typedef double Real; };
template <class T> using NarrowReal = typename Wider<sizeof(T)>::Real;
// A whole number of such.  Of those from 2**31 on no vectors are made, but of their last bits.
template <class T> OW_INLINE T narrow_whole(NarrowReal<T> x) {
    if constexpr (sizeof(T) == 4 && T(-1) > T(0)) return (T)host_bits(floor(x) + 0x1.8p52);  // which are from 0 on
    else return (T)OW_WHOLE(int, x);
}
// Of up to 32 bits: half of the unit further from zero, no quotient is nearer to a whole number than
// what a reciprocal and a product lose: 2**-33 of itself in double, 2**-17 of 16 bits in float.
template <class T> OW_INLINE T narrow_quotient(T x, T y) {
    const NarrowReal<T> of = x, half = 0.5f;
    return narrow_whole<T>((of + copysign(half, of)) * (1 / (NarrowReal<T>)y));
}
// The same, rounded down: half of the unit in the direction of y, so that whole ones stay whole.
template <class T> OW_INLINE T narrow_floor(T x, T y) {
    const NarrowReal<T> by = y, half = 0.5f;
    return narrow_whole<T>(floor(((NarrowReal<T>)x + copysign(half, by)) * (1 / by)));
}
// 64 bits to double and back, for sizes up to 2**50, in vectors of any processor: in the double
// 1.5 * 2**52 + x the last bits are those of x.
OW_INLINE double small_double(long long x) { return host_double(0x4338000000000000ULL + (unsigned long long)x) - 0x1.8p52; }
OW_INLINE long long small_whole(double x) { return (long long)(host_bits(x + 0x1.8p52) - 0x4338000000000000ULL); }
// Of such, by such: half of the unit is more than what a reciprocal and a product lose.
OW_INLINE double small_floor(double x, double y) { return floor((x + copysign(0.5, y)) * (1.0 / y)); }
OW_INLINE int index_quotient(int j, int by) { return narrow_floor(j, by); }
OW_INLINE long long index_quotient(long long j, long long by) {
    return small_whole(small_floor(small_double(j), small_double(by)));
}
// Of 64 bits: a quotient to some 50 bits, that of what it leaves, and at most one more or less.  What
// depends on y alone is made of masks, as in pow: what branches is not taken out of a loop.
OW_INLINE unsigned long long wide_quotient(unsigned long long x, unsigned long long y) {
    const unsigned long long one = mask_if<unsigned long long>(y == 1), large = 0 - (y >> 63);
    const double by = 1.0 / (double)(y + (one & 1));  // by 1 the double might be no int64
    const unsigned long long rough = (unsigned long long)((double)x * by);
    const long long left = (long long)(x - rough * y);  // where y is an int64
    const long long more = (long long)((double)left * by), rest = left - more * (long long)y;
    unsigned long long quotient = rough + (unsigned long long)more;
    quotient -= rest < 0 ? 1 : 0;
    quotient += rest >= (long long)y ? 1 : 0;
    const unsigned long long fits = x >= y ? 1 : 0;
    return (quotient & ~(large | one)) | (fits & large) | (x & one);
}
OW_INLINE long long wide_quotient(long long x, long long y) {
    const unsigned long long below = 0 - ((unsigned long long)x >> 63), by_below = 0 - ((unsigned long long)y >> 63);
    const unsigned long long turned = below ^ by_below;
    const unsigned long long quotient = wide_quotient(((unsigned long long)x ^ below) - below,
                                                      ((unsigned long long)y ^ by_below) - by_below);
    return (long long)((quotient ^ turned) - turned);
}

// x / y where that is an integer of the type.  A compiler multiplies by what it knows to be constant,
// in vectors but for 64 bits, which only AVX-512 converts to and from double in vectors.
#ifdef __AVX512DQ__
#define OW_WIDE_BY_DOUBLE true
#else
#define OW_WIDE_BY_DOUBLE false
#endif
template <class T> OW_INLINE T quotient_of(T x, T y) {
    if (__builtin_constant_p(y) && (sizeof(T) < 8 || (y & (y - 1)) == 0)) return x / y;
    if constexpr (sizeof(T) < 8) return narrow_quotient(x, y);
    else if constexpr (!OW_WIDE_BY_DOUBLE) return x / y;
    else if constexpr (T(-1) < T(0)) return (T)wide_quotient((long long)x, (long long)y);
    else return (T)wide_quotient((unsigned long long)x, (unsigned long long)y);
}
