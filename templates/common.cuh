// Device helpers that are plain C++: the same text serves NVRTC and the host compiler.
// Included by opweave.cuh, after the types and the attributes of the target.
#pragma once

typedef long long int64;
typedef unsigned long long uint64;
typedef signed char int8;
typedef short int16;
typedef unsigned char uint8;
typedef unsigned short uint16;
typedef unsigned uint32;
#if USE_64BIT_INDEX
typedef long long index_t;
#else
typedef int index_t;
#endif

// Share of a warp that works on one row.
#define WARP_SHARE (THREADS_PER_ROW < 32 ? THREADS_PER_ROW : 32)
#define FULL_WARP 0xffffffffu

OW_INLINE unsigned bits_of(float x) { unsigned u; OW_COPY(&u, &x, 4); return u; }
OW_INLINE float float_of(unsigned u) { float x; OW_COPY(&x, &u, 4); return x; }
OW_INLINE uint64 bits_of(double x) { uint64 u; OW_COPY(&u, &x, 8); return u; }
OW_INLINE double double_of(uint64 u) { double x; OW_COPY(&x, &u, 8); return x; }

template <class T> OW_INLINE constexpr T divisor(T n) { return n + (n == 0); }  // where nothing is divided

// Calls step(half) with half = HALF, HALF / 2, ..., 1, each of them a constant to the compiler.
template <int N> struct Constant {
    OW_SPECIAL constexpr operator int() const { return N; }
};
template <int HALF, class Step> OW_INLINE void each_half(Step step) {
    if constexpr (HALF > 0) {
        step(Constant<HALF>());
        each_half<HALF / 2>(step);
    }
}

// Limits of the types, for identities of reductions.
template <class T> OW_INLINE T infinity();
template <> OW_SPECIAL float infinity<float>() { return float_of(0x7f800000u); }
template <> OW_SPECIAL double infinity<double>() { return double_of(0x7ff0000000000000ULL); }
template <class T> OW_INLINE T nan();
template <> OW_SPECIAL float nan<float>() { return float_of(0x7fc00000u); }
template <> OW_SPECIAL double nan<double>() { return double_of(0x7ff8000000000000ULL); }
template <class T> OW_INLINE T lowest() { return T(-1) < T(0) ? (T)(1ULL << (8 * sizeof(T) - 1)) : T(0); }
template <> OW_SPECIAL bool lowest<bool>() { return false; }
template <class T> OW_INLINE T highest() { return (T)~lowest<T>(); }
template <> OW_SPECIAL bool highest<bool>() { return true; }

// Maximum and minimum as NumPy's: NaN wins.  OW_WINS(x, y, LOSES): x is NaN, or does not lose.
template <class T> OW_INLINE T max_nan(T x, T y) { return OW_WINS(x, y, <) ? x : y; }
template <class T> OW_INLINE T min_nan(T x, T y) { return OW_WINS(x, y, >) ? x : y; }
// Of a number and NaN the number.
template <class T> OW_INLINE T max_number(T x, T y) { return x >= y || y != y ? x : y; }
template <class T> OW_INLINE T min_number(T x, T y) { return x <= y || y != y ? x : y; }
template <class T> OW_INLINE T clip_int(T x, T low, T high) {
    const T raised = x > low ? x : low;
    return raised < high ? raised : high;
}
template <class T> OW_INLINE T sign(T x) { return x > 0 ? T(1) : x < 0 ? T(-1) : x == 0 ? T(0) : x; }

template <class T> OW_INLINE bool is_inf(T x) { return x == infinity<T>() || x == -infinity<T>(); }

// Overflow wraps, as in NumPy; of signed numbers it would be undefined in C++, and two of 16 bits
// without a sign are multiplied as int.
#define OW_WRAP(T, U) \
    OW_INLINE T wrap_add(T x, T y) { return (T)((U)x + (U)y); } \
    OW_INLINE T wrap_sub(T x, T y) { return (T)((U)x - (U)y); } \
    OW_INLINE T wrap_mul(T x, T y) { return (T)((U)x * (U)y); }
OW_WRAP(int8, uint32) OW_WRAP(int16, uint32) OW_WRAP(int, uint32) OW_WRAP(int64, uint64)
OW_WRAP(uint8, uint32) OW_WRAP(uint16, uint32) OW_WRAP(uint32, uint32) OW_WRAP(uint64, uint64)

// -1, 0 or 1 for a signed and an unsigned operand by value, as NumPy compares them.
OW_INLINE int compare(int64 x, uint64 y) { return x < 0 || (uint64)x < y ? -1 : (uint64)x > y; }
OW_INLINE int compare(uint64 x, int64 y) { return -compare(y, x); }

#include "complex.cuh"
#include "places.cuh"

// Integer division rounds down; by zero it gives 0, and the most negative number by -1 itself.
// All of it without branches: a compiler multiplies them where many meet.  One division each, the
// rest by a product: asked for a remainder, or to choose, compilers divide again, or in vectors.
// OW_QUOTIENT(x, y): x / y, however a compiler does that fast; OW_INDEX_QUOTIENT: of an index by an
// extent; OW_NARROW_FLOOR: rounded down, of less than 64 bits.
template <class T> OW_INLINE bool divides_oddly(T y) { return (y == 0) | ((T(-1) < T(0)) & (y == T(-1))); }
template <class T> OW_INLINE T trunc_div(T x, T y) {
    const T quotient = OW_QUOTIENT(x, divides_oddly(y) ? T(1) : y);
    return y == 0 ? T(0) : divides_oddly(y) ? (T)(0 - (uint64)x) : quotient;
}
template <class T> OW_INLINE T trunc_mod(T x, T y) {
    const T by = divides_oddly(y) ? T(1) : y;
    return x - OW_QUOTIENT(x, by) * by;
}
// Of ~x, which is -1 - x, where x is negative: by a number above 0 that the compiler knows.
template <class T> OW_INLINE T sign_bits(T x) { return x < 0 ? T(-1) : T(0); }
template <class T> OW_INLINE T floor_div_known(T x, T y) {
    return OW_QUOTIENT((T)(x ^ sign_bits(x)), y) ^ sign_bits(x);
}
template <class T> OW_INLINE T floor_mod(T x, T y) {
    if (OW_IS_KNOWN(y) && y > 0) return (T)((uint64)x - (uint64)floor_div_known(x, y) * (uint64)y);
    const T by = divides_oddly(y) ? T(1) : y, rest = x - OW_QUOTIENT(x, by) * by;
    return rest + by * (T)((rest != 0) & ((rest < 0) != (by < 0)));
}
template <class T> OW_INLINE T floor_quotient(T x, T y) {
#ifdef OW_NARROW_FLOOR
    if constexpr (sizeof(T) < 8) return OW_NARROW_FLOOR(x, y);
#endif
    const T quotient = OW_QUOTIENT(x, y), rest = x - quotient * y;
    return (T)(quotient - ((rest != 0) & ((rest < 0) != (y < 0))));
}
template <class T> OW_INLINE T floor_div(T x, T y) {
    if (OW_IS_KNOWN(y) && y > 0) return floor_div_known(x, y);
    const T quotient = floor_quotient(x, divides_oddly(y) ? T(1) : y);
    return y == 0 ? T(0) : divides_oddly(y) ? (T)(0 - (uint64)x) : quotient;
}

// Of a column, what an extent divides it into: a host has vectors for that.
OW_INLINE index_t divided(index_t j, index_t by) { return OW_INDEX_QUOTIENT(j, by); }
OW_INLINE index_t left_by(index_t j, index_t by) { return j - OW_INDEX_QUOTIENT(j, by) * by; }

// Float division that rounds down, after Python's float_divmod: the quotient is made from the
// exact remainder, so that quotient * y + remainder gives x again as nearly as it can.
template <class T> OW_INLINE T float_mod(T x, T y) {
    T rest = fmod(x, y);
    if (y == 0) return rest;
    if (rest != 0) {
        if ((y < 0) != (rest < 0)) rest += y;
    } else {
        rest = copysign(T(0), y);
    }
    return rest;
}
template <class T> OW_INLINE T float_div(T x, T y) {
    if (y == 0) return x / y;
    const T rest = fmod(x, y);
    T quotient = (x - rest) / y;
    if (rest != 0 && (y < 0) != (rest < 0)) quotient -= T(1);
    if (quotient == 0) return copysign(T(0), x / y);
    const T down = floor(quotient);
    return quotient - down > T(0.5) ? down + T(1) : down;
}
template <> OW_SPECIAL float floor_div(float x, float y) { return float_div(x, y); }
template <> OW_SPECIAL double floor_div(double x, double y) { return float_div(x, y); }
template <> OW_SPECIAL float floor_mod(float x, float y) { return float_mod(x, y); }
template <> OW_SPECIAL double floor_mod(double x, double y) { return float_mod(x, y); }

// Places along an axis of `n` elements.
OW_INLINE bool is_inside(int i, int n) { return (unsigned)i < (unsigned)n; }
template <class I, class N> OW_INLINE bool is_inside(I i, N n) { return (uint64)i < (uint64)n; }

// An index, counted from the end where it is negative.  One that has no element wraps, as CuPy's
// do, and is noted where it is `here`: its line's number and itself, the largest of all.
template <class I> OW_INLINE I index_of(I i, I n, bool here, uint64* faults, uint64 site) {
    if (is_inside(i, n)) return i;
    const I counted = wrap_add(i, n);
    if (is_inside(counted, n)) return counted;
    if (here) atomicMax(faults, (site + 1) << 48 | ((uint64)i & 0xffffffffffffull));
    return floor_mod(i, n);
}

// Integer power by squaring; a negative exponent gives 1 / x rounded towards zero.
template <class T> OW_INLINE T int_pow(T x, T y) {
    if (T(-1) < T(0) && y < 0) return x == T(1) ? T(1) : x == T(-1) ? (y % 2 ? T(-1) : T(1)) : T(0);
    T result = 1;
    for (; y != 0; y /= 2) {
        if (y % 2 != 0) result = wrap_mul(result, x);
        x = wrap_mul(x, x);
    }
    return result;
}

// x * x * x with what the square loses: within 0.51 ULP.  Where the square overflows, that is NaN.
template <class T> OW_INLINE T third_power(T x) {
    const T square = x * x, lost = fma(x, x, -square);
    const T made = fma(square, x, lost * x);
    return made == made ? made : square * x;
}

// Euclid's algorithm, of sizes.
template <class T> OW_INLINE uint64 size_of(T x) { return x < 0 ? 0 - (uint64)x : (uint64)x; }
template <class T> OW_INLINE T common_divisor(T x, T y) {
    uint64 a = size_of(x), b = size_of(y);
    while (b != 0) {
        const uint64 rest = a % b;
        a = b;
        b = rest;
    }
    return (T)a;
}
template <class T> OW_INLINE T common_multiple(T x, T y) {
    const uint64 divisor = size_of(common_divisor(x, y));
    return divisor == 0 ? T(0) : (T)(size_of(x) / divisor * size_of(y));
}
template <class T> OW_INLINE uint8 count_bits(T x) { return (uint8)OW_COUNT_BITS(size_of(x)); }

// x * 2**n, and x as a number from 1/2 to 1 times a power of two.
template <class T, class N> OW_INLINE T scale_by(T x, N n) {
    return ldexp(x, (int)(n > 9999 ? 9999 : n < -9999 ? -9999 : n));
}
template <class T> OW_INLINE T significand(T x, int& exponent) {
    exponent = 0;  // of infinities and NaN
    return x - x == 0 ? frexp(x, &exponent) : x;
}

// Shifts by at least the width give what an endless shift would.
template <int BYTES> struct ShiftedAs { typedef unsigned Type; };
template <> struct ShiftedAs<8> { typedef uint64 Type; };
template <class T> OW_INLINE T shift_left(T x, T y) {
    typedef typename ShiftedAs<sizeof(T)>::Type U;
    return (U)y < 8 * sizeof(T) ? (T)((U)x << ((U)y & (8 * sizeof(T) - 1))) : T(0);
}
template <class T> OW_INLINE T shift_right(T x, T y) {
    typedef typename ShiftedAs<sizeof(T)>::Type U;
    return (U)y < 8 * sizeof(T) ? (T)(x >> ((U)y & (8 * sizeof(T) - 1))) : x < 0 ? T(-1) : T(0);
}

// 16-bit floats are bits in memory and float in registers.
struct float16 { unsigned short bits; };
struct bfloat16 { unsigned short bits; };
OW_INLINE float load(const bfloat16* p) { return float_of((unsigned)p->bits << 16); }
#ifndef OW_ROUNDS_BFLOAT16  // the target has no instruction for it
OW_INLINE unsigned short bfloat16_bits(float x) {  // to nearest, ties to even; NaN stays NaN
    const unsigned u = bits_of(x);
    const unsigned rounded = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
    return (unsigned short)((u & 0x7fffffffu) > 0x7f800000u ? u >> 16 | 0x40u : rounded);
}
OW_INLINE float round_to_bfloat16(float x) { return float_of((unsigned)bfloat16_bits(x) << 16); }
#endif
OW_INLINE void store(bfloat16* p, float x) { p->bits = bfloat16_bits(x); }
OW_INLINE float load(const float16* p) { return half_to_float(p->bits); }
OW_INLINE void store(float16* p, float x) { p->bits = float_to_half(x); }
template <class T> OW_INLINE T load(const T* p) { return OW_READ(p); }
OW_INLINE void store(bool* p, int truth) { *p = truth; }
template <class T> OW_INLINE void store(T* p, T x) { *p = x; }

// The numbers of a type in memory, by their bits: beside a number, of two equal zeros, and where
// the distance to the next is measured.  NumPy has these differently for each type.
template <class S> struct Steps {
    template <class T> OW_INLINE auto bits(T x) { return bits_of(x); }
    OW_INLINE float at(unsigned u) { return float_of(u); }
    OW_INLINE double at(uint64 u) { return double_of(u); }
    template <class T> OW_INLINE T equal(T, T y) { return y; }
    template <class T> OW_INLINE T end(T x) { return x < 0 ? -infinity<T>() : infinity<T>(); }
};
template <> struct Steps<float16> {
    OW_INLINE unsigned bits(float x) { return float_to_half(x); }
    OW_INLINE float at(unsigned u) { return half_to_float((unsigned short)u); }
    OW_INLINE float equal(float x, float) { return x; }
    OW_INLINE float end(float) { return infinity<float>(); }
};
template <> struct Steps<bfloat16> {
    OW_INLINE unsigned bits(float x) { return bits_of(x) >> 16; }
    OW_INLINE float at(unsigned u) { return float_of(u << 16); }
    OW_INLINE float equal(float, float y) { return y; }
    OW_INLINE float end(float x) { return copysign(infinity<float>(), x); }
};
template <class S, class T> OW_INLINE T next_after(T x, T y) {
    if (x != x || y != y) return nan<T>();
    if (x == y) return Steps<S>::equal(x, y);
    const auto bits = Steps<S>::bits(x);
    if (x == 0) return copysign(Steps<S>::at((decltype(bits))1), y);
    return Steps<S>::at((x < y) == (x > 0) ? bits + 1 : bits - 1);
}
template <class S, class T> OW_INLINE T spacing_of(T x) {
    if (is_inf(x)) return nan<T>();
    return next_after<S>(x, Steps<S>::end(x)) - x;
}

// Round a register to 16 bits, as storing and loading would.
#if USE_FAST_MATH
OW_INLINE float round_f16(float x) { return x; }
OW_INLINE float round_bf16(float x) { return x; }
#else
OW_INLINE float round_f16(float x) { return round_to_half(x); }
OW_INLINE float round_bf16(float x) { return round_to_bfloat16(x); }
#endif

// Conversions: to a type in memory, left in its register.
template <class To> struct Convert {
    template <class From> OW_INLINE To from(From x) { return (To)x; }
    OW_INLINE To from(bool x) { return OW_OF_BOOL(To, x); }
};
#define OW_CONVERT_WHOLE(T) template <> struct Convert<T> { \
    template <class From> OW_INLINE T from(From x) { return (T)x; } \
    OW_INLINE T from(float x) { return OW_WHOLE(T, x); } \
    OW_INLINE T from(double x) { return OW_WHOLE(T, x); } }
OW_CONVERT_WHOLE(int);
OW_CONVERT_WHOLE(int64);
// What uint64 has not wraps as on x86, where it is taken from the lower or the upper half of it.
template <class R> OW_INLINE uint64 wrapped(R x) {
    const R half = R(9223372036854775808.0);
    return x >= half ? (uint64)OW_WHOLE(int64, x - half) ^ 1ULL << 63 : (uint64)OW_WHOLE(int64, x);
}
template <> struct Convert<uint64> {
    template <class From> OW_INLINE uint64 from(From x) { return (uint64)x; }
    OW_INLINE uint64 from(float x) { return wrapped(x); }
    OW_INLINE uint64 from(double x) { return wrapped(x); }
};
template <> struct Convert<bool> {
    template <class From> OW_INLINE bool from(From x) { return x != 0; }
};
// What lies outside of a narrow type wraps through int64, as on x86.  A float from 2**31 on is a
// multiple of 2**8, so that of its byte OW_BYTE(x) has as much.
#define OW_CONVERT_NARROW(T, OF_FLOAT) template <> struct Convert<T> { \
    template <class From> OW_INLINE T from(From x) { return (T)(int64)x; } \
    OW_INLINE T from(float x) { return (T)OF_FLOAT(x); } }
OW_CONVERT_NARROW(int8, OW_BYTE);
OW_CONVERT_NARROW(int16, (int64));
OW_CONVERT_NARROW(uint8, OW_BYTE);
OW_CONVERT_NARROW(uint16, (int64));
OW_CONVERT_NARROW(uint32, (int64));
template <class T> OW_INLINE T byte_of(float x) { return (T)(int)x; }  // of one that an int holds, or NaN
template <> struct Convert<float16> {
    template <class From> OW_INLINE float from(From x) { return round_f16((float)x); }
    OW_INLINE float from(double x) { return half_to_float(double_to_half(x)); }
};
template <> struct Convert<bfloat16> {
    template <class From> OW_INLINE float from(From x) { return round_bf16((float)x); }
};
template <class To, class From> OW_INLINE auto convert(From x) { return Convert<To>::from(x); }
template <class R> struct Convert<Complex<R>> {
    template <class From> OW_INLINE Complex<R> from(From x) { return {(R)x, R(0)}; }
};
// Of a complex number the real part, unless the other type is complex, or asks whether it is zero.
template <class To> struct ConvertComplex {
    template <class R> OW_INLINE auto from(Complex<R> x) { return Convert<To>::from(x.re); }
};
template <> struct ConvertComplex<bool> {
    template <class R> OW_INLINE bool from(Complex<R> x) { return nonzero(x); }
};
template <class Q> struct ConvertComplex<Complex<Q>> {
    template <class R> OW_INLINE Complex<Q> from(Complex<R> x) { return {(Q)x.re, (Q)x.im}; }
};
template <class To, class R> OW_INLINE auto convert(Complex<R> x) { return ConvertComplex<To>::from(x); }

// 0..1 as 0..255, rounded half up; what lies outside is clipped, NaN is 0.
template <class T> OW_INLINE uint8 quantised(T x) {
    return (uint8)(int)(x > 0 ? (x < 1 ? x * 255.0f + 0.5f : T(255.5f)) : T(0));
}

// Bytes of one access to a run of bytes that starts at a multiple of its length.
template <int BYTES> struct Access {
    enum { WHOLE = BYTES & -BYTES, BYTES_EACH = WHOLE < 16 ? WHOLE : 16 };
};

// One chunk between memory and registers; `inside` elements of it lie inside the array.  What lies
// outside is neither read nor written, and reads as `outside`.
#ifndef OW_CHUNKS  // a host's own
template <int N, class R, class S>
OW_INLINE void load_chunk(R (&r)[N], const S* p, index_t inside, typename Same<R>::type outside = R()) {
    if (inside >= N) {
#if USE_VECTOR_IO
        load_vector<N>(r, p);
#else
OW_UNROLL
        for (int l = 0; l < N; ++l) r[l] = load(p + l);
#endif
    } else {
OW_UNROLL
        for (int l = 0; l < N; ++l) r[l] = l < inside ? load(p + l) : outside;
    }
}
#endif

#ifndef OW_CHUNKS
// An element that stays what memory has until it is used.  Where not all are loaded, the compiler
// would convert it beside its load, and wait for each.
template <class S> OW_INLINE void as_loaded(S& element) {}
OW_INLINE void as_loaded(bfloat16& element) { OW_AS_LOADED(element.bits); }
// N elements as memory has them, which take as few registers as they can: each is converted where
// it is used.  What lies outside reads as 0.
template <class S, int N> struct Chunk {
#if USE_VECTOR_IO
    enum { EACH = Access<N * sizeof(S)>::BYTES_EACH };
    typename Word<EACH>::type words[N * sizeof(S) / EACH];
    OW_SPECIAL auto operator[](int l) const {
        S elements[N];
        OW_COPY(elements, words, sizeof(elements));
        return load(elements + l);
    }
    OW_SPECIAL void fill(const S (&elements)[N]) { OW_COPY(words, elements, sizeof(elements)); }
#else
    S elements[N];
    OW_SPECIAL auto operator[](int l) const {
        S element = elements[l];
        as_loaded(element);
        return load(&element);
    }
    OW_SPECIAL void fill(const S (&from)[N]) { OW_COPY(elements, from, sizeof(from)); }
#endif
};
template <int N, class S> OW_INLINE void load_chunk(Chunk<S, N>& r, const S* p, index_t inside) {
#if USE_VECTOR_IO
    if (inside >= N) return read_words(r.words, p);
#endif
    S elements[N];
OW_UNROLL
    for (int l = 0; l < N; ++l) elements[l] = l < inside ? p[l] : S();
    r.fill(elements);
}
#endif
// One chunk before an element, and another or zeros from there on; the first is both then.
template <int N, class R> OW_INLINE void join_chunks(R (&r)[N], const R (&other)[N], index_t count) {
OW_UNROLL
    for (int l = 0; l < N; ++l) r[l] = l < count ? r[l] : other[l];
}
// The same of the elements of the first from there on.
template <int N, class R> OW_INLINE void join_behind(R (&r)[N], const R (&other)[N], index_t count) {
OW_UNROLL
    for (int l = 0; l < N; ++l) r[l] = l < count ? other[l] : r[l];
}
template <int N, class R> OW_INLINE void join_chunks(R (&r)[N], index_t count) {
OW_UNROLL
    for (int l = 0; l < N; ++l) r[l] = l < count ? r[l] : R();
}
template <int N, class R> OW_INLINE void join_behind(R (&r)[N], index_t count) {
OW_UNROLL
    for (int l = 0; l < N; ++l) r[l] = l < count ? R() : r[l];
}
#ifndef OW_CHUNKS
// A host moves chunks so that they are whole; where each access is checked, all are where they are.
template <int N> OW_INLINE index_t whole_from(index_t first, index_t end) { return first; }
template <int N, class R, class S>
OW_INLINE void store_rest(S* p, const R (&r)[N], index_t begin, index_t inside) { store_chunk(p, r, inside); }
template <int N, class R, class S>
OW_INLINE void load_strided(R (&r)[N], const S* p, index_t stride, index_t inside,
                           typename Same<R>::type outside = R()) {
OW_UNROLL
    for (int l = 0; l < N; ++l) r[l] = l < inside ? load(p + l * stride) : outside;
}
#endif
// Runs of consecutive elements, `step` apart: from element `first` of all runs on.
template <int N, class R, class S>
OW_INLINE void load_runs(R (&r)[N], const S* p, index_t run, index_t step, index_t first, index_t inside) {
    index_t at = first % divisor(run);
    p += first / divisor(run) * step;
    if (at + N <= run && inside >= N) {
OW_UNROLL
        for (int l = 0; l < N; ++l) r[l] = load(p + at + l);
    } else {
OW_UNROLL
        for (int l = 0; l < N; ++l) {
            r[l] = l < inside ? load(p + at) : R();
            if (++at == run) at = 0, p += step;
        }
    }
}
// One element: of each axis the place, the extent and the stride; 0 where a place lies outside.
template <class R, class S> OW_INLINE R read_inside(bool inside, const S* p) {
    return inside ? load(p) : R();
}
template <class R, class S, class I, class... Axes>
OW_INLINE R read_inside(bool inside, const S* p, I i, index_t n, index_t stride, Axes... axes) {
    return read_inside<R>(inside & is_inside(i, n), p + (index_t)i * stride, axes...);
}
// One element of a vector that has it.
template <class R, class S, class I> OW_INLINE R read_known(const S* p, I i, index_t, index_t stride) {
    return load(p + (index_t)i * stride);
}
template <class R, class S, class... Axes> OW_INLINE R read_at(const S* p, Axes... axes) {
    return read_inside<R>(true, p, axes...);
}

// The run from place `first` on of `extent` elements; what it has not reads as 0.
#ifndef OW_CHUNKS
template <int N, class R, class S>
OW_INLINE void load_window(R (&r)[N], const S* p, index_t stride, index_t extent, index_t first) {
    if (first >= 0 && first <= extent - N && stride == 1) {
        p += first;
OW_UNROLL
        for (int l = 0; l < N; ++l) r[l] = load(p + l);
    } else {
OW_UNROLL
        for (int l = 0; l < N; ++l) r[l] = R();
        const int begin = first >= 0 ? 0 : first > -N ? -(int)first : N;
        const int end = extent - first < N ? (int)(extent - first) : N;
        OW_EACH_BETWEEN(l, begin, end, N) r[l] = load(p + (first + l) * stride);
    }
}
template <int N, class R, class S>
OW_INLINE void store_chunk(S* p, const R (&r)[N], index_t inside) {
#if WHOLE_CHUNKS
    if (inside > 0) store_vector<N>(p, r);
    return;
#endif
    if (inside >= N) {
#if USE_VECTOR_IO
        store_vector<N>(p, r);
#else
OW_UNROLL
        for (int l = 0; l < N; ++l) store(p + l, r[l]);
#endif
    } else {
OW_UNROLL
        for (int l = 0; l < N; ++l)
            if (l < inside) store(p + l, r[l]);
    }
}
#endif
template <int N, class R, class S>
OW_INLINE void store_strided(S* p, index_t stride, const R (&r)[N], index_t inside) {
OW_UNROLL
    for (int l = 0; l < N; ++l)
        if (l < inside) store(p + l * stride, r[l]);
}

#include "policies.cuh"

// Pixels: all channels of N consecutive ones between memory and registers, channel by channel.
#define EACH_CHANNEL OW_UNROLL_CHANNELS for (int h = 0; h < CHANNELS; ++h)
template <int C, int N, class R> OW_INLINE void channels_of(R (&r)[C][N], const R (&flat)[C * N]) {
OW_UNROLL
    for (int h = 0; h < C; ++h)
OW_UNROLL
        for (int l = 0; l < N; ++l) r[h][l] = flat[l * C + h];
}
template <int C, int N, class R> OW_INLINE void pixels_of(R (&flat)[C * N], const R (&r)[C][N]) {
OW_UNROLL
    for (int h = 0; h < C; ++h)
OW_UNROLL
        for (int l = 0; l < N; ++l) flat[l * C + h] = r[h][l];
}
template <int C, int N, class R, class S>
OW_INLINE void load_pixels(R (&r)[C][N], const S* p, index_t inside) {
    R flat[C * N];
    load_chunk(flat, p, inside * C);
    channels_of<C, N>(r, flat);
}
template <class How, int C, int N, class R, class S>
OW_INLINE void load_pixels_by(R (&r)[C][N], const S* p, index_t inside) {
    R flat[C * N];
    load_chunk_by<How>(flat, p, inside * C);
    channels_of<C, N>(r, flat);
}
template <int C, int N, class R, class S>
OW_INLINE void store_pixels(S* p, const R (&r)[C][N], index_t inside) {
    R flat[C * N];
    pixels_of<C, N>(flat, r);
    store_chunk(p, flat, inside * C);
}
template <class How, int C, int N, class R, class S>
OW_INLINE void store_pixels_by(S* p, const R (&r)[C][N], index_t inside) {
    R flat[C * N];
    pixels_of<C, N>(flat, r);
    store_chunk_by<How>(p, flat, inside * C);
}

// One chunk from memory to shared memory, by copies that the thread does not wait for: elements as
// they are.
template <int N, class T>
OW_INLINE void copy_chunk(T* to, const T* from, index_t inside, typename Same<T>::type outside) {
#if USE_VECTOR_IO
    if (inside >= N) return copy_words<Access<N * sizeof(T)>::BYTES_EACH, N>(to, from);
#endif
OW_UNROLL
    for (int l = 0; l < N; ++l) {
        if (l < inside) copy_words<alignof(T), 1>(to + l, from + l);  // half a complex number
        else to[l] = outside;
    }
}

// Partial results of reduction `k` for the row blockIdx.y: 16 bytes a part, reduction by reduction.
template <class T> OW_INLINE typename Volatile<T>::type* part_results(void* partials, int k, int parts) {
    return (typename Volatile<T>::type*)((char*)partials + ((index_t)(k * gridDim.y + blockIdx.y) * parts) * 16);
}
// Those for the band of columns blockIdx.x, of all columns of a part side by side.
template <class T> OW_INLINE typename Volatile<T>::type* band_results(void* partials, int k, int columns) {
    return (typename Volatile<T>::type*)((char*)partials + ((uint64)k * gridDim.x + blockIdx.x) * columns * 16);
}
