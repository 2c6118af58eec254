// Division of integers of up to 32 bits by one number for all lanes: a product with what is made of it
// once.  Granlund and Montgomery, "Division by invariant integers using multiplication" (1994), figure
// 4.1.  Nothing here branches or divides integers, so that a compiler takes it out of loops.
#pragma once

// A divisor that is the same for all lanes of a loop.
template <class T> struct Divisor { T value; };
template <class T> OW_INLINE Divisor<T> for_all(T value) { return {value}; }

template <int BYTES> struct Unsigned { typedef unsigned short Type; };  // bytes are divided as 16 bits
template <> struct Unsigned<4> { typedef unsigned Type; };
template <class U> struct Reciprocal { U factor; int first, then; };

// For a number above 0: 2**N * (2**bits - by) / by + 1, without the part behind the point; `bits` are those
// of the next power of two.  In double a quotient of 64 bits may be off by one.
template <class U> OW_INLINE Reciprocal<U> reciprocal(U by) {
    const int bits = 63 - __builtin_clzll(((unsigned long long)by - 1) * 2 + 1), first = bits < 1 ? bits : 1;
    const long long of = ((1LL << bits) - by) << (8 * sizeof(U));
    long long factor = (long long)((double)of / (double)(long long)by);
    const long long rest = of - factor * (long long)by;
    factor += rest >= (long long)by ? 1 : 0;
    factor -= rest < 0 ? 1 : 0;
    return {(U)(factor + 1), first, (bits - first) & (int)(8 * sizeof(U) - 1)};  // it is that: the compiler may know
}
OW_INLINE unsigned short upper_half(unsigned short x, unsigned short y) { return (unsigned short)((unsigned)x * y >> 16); }
OW_INLINE unsigned upper_half(unsigned x, unsigned y) { return (unsigned)((unsigned long long)x * y >> 32); }
template <class U> OW_INLINE U quotient_by(U x, const Reciprocal<U>& by) {
    const U part = upper_half(by.factor, x);
    return (U)((U)(part + (U)((U)(x - part) >> by.first)) >> by.then);
}
// Of bytes: with 2**16 / by, rounded up, which by 1 is more than fits.
OW_INLINE unsigned short byte_quotient(unsigned short x, unsigned short by) {
    const unsigned short factor = (unsigned short)((int)(65535.0f / by) + 1);
    return upper_half(x, factor) | (x & mask_if<unsigned short>(by == 1));
}

// x / y, rounded down; 0 by 0.  Of a negative quotient, ~q is that of ~x, which is -1 - x: with the signs of
// both turned where y is negative, `below` says where x is.  The least number has no negative one.
template <class T> OW_INLINE T floor_quotient_by(T x, T y) {
    typedef typename Unsigned<sizeof(T)>::Type U;
    const U by_below = mask_if<U>(y < 0), not_zero = mask_if<U>(y != 0);
    const U by = (U)(((U)y ^ by_below) - by_below) | (U)(~not_zero & 1);
    const U turned = (U)(((U)x ^ by_below) - by_below);
    constexpr int SIGN = 8 * sizeof(U) - 1;
    const U of_x = mask_if<U>(x < 0), of_turned = (U)(0 - (U)(turned >> SIGN));
    const U below = T(-1) > T(0) ? U(0) : sizeof(T) == 1 ? of_turned : (U)(of_turned & ~(of_x & by_below));
    const U size = turned ^ below;
    U found;
    if constexpr (sizeof(T) == 1) found = byte_quotient(size, by);
    else found = quotient_by(size, reciprocal(by));
    return (T)((found ^ below) & not_zero);
}
template <class T> OW_INLINE T floor_div(T x, Divisor<T> y) { return floor_quotient_by(x, y.value); }
template <class T> OW_INLINE T floor_mod(T x, Divisor<T> y) {
    const T rest = (T)(x - (unsigned)floor_quotient_by(x, y.value) * y.value);
    return y.value != 0 ? rest : T(0);
}
