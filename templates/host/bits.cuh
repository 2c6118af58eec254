// Floats as bits, and the conversions of float16.
#pragma once

OW_INLINE unsigned host_bits(float x) { unsigned u; __builtin_memcpy(&u, &x, 4); return u; }
OW_INLINE float host_float(unsigned u) { float x; __builtin_memcpy(&x, &u, 4); return x; }
OW_INLINE unsigned long long host_bits(double x) { unsigned long long u; __builtin_memcpy(&u, &x, 8); return u; }
OW_INLINE double host_double(unsigned long long u) { double x; __builtin_memcpy(&x, &u, 8); return x; }
// What depends on one operand alone is made of masks without a branch: only so is it taken out of a
// loop over the other, which then vectorises (g++ 12).
template <class U> OW_INLINE U mask_if(bool condition) { return (U)0 - (U)condition; }
// g++ makes vectors of a byte that is compared, not of a bool in memory.
template <class S> OW_INLINE S ow_read(const S* p) { return *p; }
template <> OW_SPECIAL bool ow_read(const bool* p) { return *(const unsigned char*)p != 0; }
// 0 or 1 of a condition, likewise: where it is compared, or lies in memory, the loop vectorises.
template <class T> OW_INLINE T of_bool(bool x) { return (T)x; }
template <> OW_SPECIAL float of_bool(bool x) { return host_float(mask_if<unsigned>(x) & host_bits(1.0f)); }
template <> OW_SPECIAL double of_bool(bool x) { return host_double(mask_if<unsigned long long>(x) & host_bits(1.0)); }

// Signs of halves that are only moved: see runtime/binaries/loads.py.
OW_INLINE unsigned short size_of_half(unsigned short x) { return x & 0x7fffu; }
OW_INLINE unsigned short negated_half(unsigned short x) { return x ^ 0x8000u; }
OW_INLINE unsigned short signed_half(unsigned short x, unsigned short y) { return (x & 0x7fffu) | (y & 0x8000u); }
// float16 in bits, branch-free so that loops of it vectorise.
OW_INLINE float half_to_float(unsigned short bits) {
    const unsigned magnitude = (bits & 0x7fffu) << 13;
    // 2**112 moves the exponent's bias; it is exact for subnormal halves too
    const unsigned scaled = host_bits(host_float(magnitude) * 5.192296858534828e33f);
    const unsigned special = magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : scaled;
    return host_float(special | (bits & 0x8000u) << 16);
}
OW_INLINE unsigned short float_to_half(float x) {
    const unsigned bits = host_bits(x);
    const unsigned u = bits & 0x7fffffffu;
    const unsigned rounded = u + 0xfffu + (u >> 13 & 1u);
    unsigned h = (rounded - 0x38000000u) >> 13;
    h = rounded >= 0x47800000u ? 0x7c00u : h;
    // adding 1/2 puts the last bit of a subnormal half at the last bit of the float
    const unsigned small = host_bits(host_float(u) + 0.5f) - 0x3f000000u;
    h = u < 0x38800000u ? small : h;
    h = u > 0x7f800000u ? 0x7e00u | (u >> 13 & 0x3ffu) : h;
    return (unsigned short)(h | (bits >> 16 & 0x8000u));
}
// What is left of a float in a half, as a float: adding 2**13 times its power of two rounds behind the
// 11th digit.  The least power is that of the subnormal halves; one above all gives 65536, or infinity.
OW_INLINE float round_to_half(float x) {
    const unsigned bits = host_bits(x), u = bits & 0x7fffffffu, size = u < 0x00800000u ? 0u : u;
    unsigned power = size & 0x7f800000u;
    power = power < 0x38800000u ? 0x38800000u : power;
    power = power > 0x48000000u ? 0x48000000u : power;
    const float shift = host_float(power + 0x06800000u), kept = (host_float(size) + shift) - shift;
    const float rounded = kept >= 65536.0f ? __builtin_inff() : kept;
    return host_float((host_bits(rounded) & 0x7fffe000u) | (bits & 0x80000000u));
}
OW_INLINE unsigned short double_to_half(double x) {
    // to float with the last bit odd where inexact; then rounding again is rounding once
    const float f = (float)x;
    unsigned bits = host_bits(f);
    const bool above = __builtin_fabs((double)f) > __builtin_fabs(x);
    const unsigned toward_zero = above ? bits - 1 : bits;
    bits = (double)f != x && x == x ? toward_zero | 1u : bits;
    return float_to_half(host_float(bits));
}
