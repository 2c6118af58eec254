// Quotients of integers through double, for the host compiler: it has no vectors of integer
// division, and one by a number of the call takes it ten times as long as the product that this is.
#pragma once

// Of up to 32 bits: half of the unit further from zero, no quotient is nearer to a whole number than
// the 2**-33 of itself, which a reciprocal and a product cannot lose.
template <class T> OW_INLINE T narrow_quotient(T x, T y) {
    const double d = (double)x;
    return OW_WHOLE(T, (d + copysign(0.5, d)) * (1.0 / (double)y));
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
