// CUDA's mathematical functions and intrinsics, by those of the C library.
#define OW_MATH1(NAME)                                                                        \
    OW_INLINE float NAME##f(float x) { return __builtin_##NAME##f(x); }                       \
    OW_INLINE float NAME(float x) { return __builtin_##NAME##f(x); }                          \
    OW_INLINE double NAME(double x) { return __builtin_##NAME(x); }
#define OW_MATH2(NAME)                                                                        \
    OW_INLINE float NAME##f(float x, float y) { return __builtin_##NAME##f(x, y); }           \
    OW_INLINE float NAME(float x, float y) { return __builtin_##NAME##f(x, y); }              \
    OW_INLINE double NAME(double x, double y) { return __builtin_##NAME(x, y); }              \
    OW_INLINE double NAME(double x, int y) { return __builtin_##NAME(x, y); }
OW_MATH1(acos) OW_MATH1(acosh) OW_MATH1(asin) OW_MATH1(asinh) OW_MATH1(atan) OW_MATH1(atanh)
OW_MATH1(cbrt) OW_MATH1(ceil) OW_MATH1(cos) OW_MATH1(cosh) OW_MATH1(erf) OW_MATH1(erfc)
OW_MATH1(exp) OW_MATH1(exp2) OW_MATH1(exp10) OW_MATH1(expm1) OW_MATH1(fabs) OW_MATH1(floor)
OW_MATH1(lgamma) OW_MATH1(log) OW_MATH1(log10) OW_MATH1(log1p) OW_MATH1(log2) OW_MATH1(logb)
OW_MATH1(nearbyint) OW_MATH1(rint) OW_MATH1(round) OW_MATH1(sin) OW_MATH1(sinh) OW_MATH1(sqrt)
OW_MATH1(tan) OW_MATH1(tanh) OW_MATH1(tgamma) OW_MATH1(trunc)
OW_MATH2(atan2) OW_MATH2(copysign) OW_MATH2(fdim) OW_MATH2(fmax) OW_MATH2(fmin) OW_MATH2(fmod)
OW_MATH2(hypot) OW_MATH2(nextafter) OW_MATH2(pow) OW_MATH2(remainder)
OW_INLINE float powf(float x, int y) { return __builtin_powf(x, (float)y); }
OW_INLINE float pow(float x, int y) { return __builtin_powf(x, (float)y); }
OW_INLINE float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
OW_INLINE float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
OW_INLINE double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
OW_INLINE float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
OW_INLINE float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
OW_INLINE double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
OW_INLINE float ldexpf(float x, int e) { return __builtin_ldexpf(x, e); }
OW_INLINE double ldexp(double x, int e) { return __builtin_ldexp(x, e); }
OW_INLINE float sinpif(float x) { return (float)__builtin_sin(3.14159265358979323846 * x); }
OW_INLINE float cospif(float x) { return (float)__builtin_cos(3.14159265358979323846 * x); }
OW_INLINE void sincosf(float x, float* s, float* c) { *s = __builtin_sinf(x); *c = __builtin_cosf(x); }
OW_INLINE void sincos(double x, double* s, double* c) { *s = __builtin_sin(x); *c = __builtin_cos(x); }
OW_INLINE float modff(float x, float* whole) { *whole = __builtin_truncf(x); return x - *whole; }
OW_INLINE int lrintf(float x) { return (int)__builtin_rintf(x); }
OW_INLINE int lroundf(float x) { return (int)__builtin_roundf(x); }
template <class T> OW_INLINE bool isnan(T x) { return x != x; }
template <class T> OW_INLINE bool isinf(T x) { return x == x && x - x != x - x; }
template <class T> OW_INLINE bool isfinite(T x) { return x - x == x - x; }
OW_INLINE bool signbit(float x) { return __builtin_signbit(x); }
OW_INLINE bool signbit(double x) { return __builtin_signbit(x); }

OW_INLINE int abs(int x) { return x < 0 ? -x : x; }
OW_INLINE long abs(long x) { return x < 0 ? -x : x; }
OW_INLINE long long abs(long long x) { return x < 0 ? -x : x; }
OW_INLINE long long llabs(long long x) { return x < 0 ? -x : x; }
OW_INLINE float abs(float x) { return __builtin_fabsf(x); }
OW_INLINE double abs(double x) { return __builtin_fabs(x); }
OW_INLINE float max(float x, float y) { return __builtin_fmaxf(x, y); }
OW_INLINE float min(float x, float y) { return __builtin_fminf(x, y); }
OW_INLINE double max(double x, double y) { return __builtin_fmax(x, y); }
OW_INLINE double min(double x, double y) { return __builtin_fmin(x, y); }
template <class A, class B> OW_INLINE decltype(A() + B()) max(A x, B y) {
    typedef decltype(A() + B()) T;
    return (T)x > (T)y ? (T)x : (T)y;
}
template <class A, class B> OW_INLINE decltype(A() + B()) min(A x, B y) {
    typedef decltype(A() + B()) T;
    return (T)x < (T)y ? (T)x : (T)y;
}

// Fast versions are only less exact on a GPU.
#define OW_FAST(NAME, F) OW_INLINE float NAME(float x) { return F(x); }
OW_FAST(__expf, __builtin_expf) OW_FAST(__exp10f, __builtin_exp10f) OW_FAST(__logf, __builtin_logf)
OW_FAST(__log2f, __builtin_log2f) OW_FAST(__log10f, __builtin_log10f) OW_FAST(__sinf, __builtin_sinf)
OW_FAST(__cosf, __builtin_cosf) OW_FAST(__tanf, __builtin_tanf) OW_FAST(__frsqrt_rn, rsqrtf)
OW_FAST(__fsqrt_rn, __builtin_sqrtf) OW_FAST(__tanhf, __builtin_tanhf)
OW_INLINE void __sincosf(float x, float* s, float* c) { sincosf(x, s, c); }
OW_INLINE float __powf(float x, float y) { return __builtin_powf(x, y); }
OW_INLINE float __fdividef(float x, float y) { return x / y; }
OW_INLINE float fdividef(float x, float y) { return x / y; }
OW_INLINE float __fdiv_rn(float x, float y) { return x / y; }
OW_INLINE float __frcp_rn(float x) { return 1.0f / x; }
OW_INLINE float __fadd_rn(float x, float y) { return x + y; }
OW_INLINE float __fsub_rn(float x, float y) { return x - y; }
OW_INLINE float __fmul_rn(float x, float y) { return x * y; }
OW_INLINE float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
OW_INLINE float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
OW_INLINE double __dadd_rn(double x, double y) { return x + y; }
OW_INLINE double __dsub_rn(double x, double y) { return x - y; }
OW_INLINE double __dmul_rn(double x, double y) { return x * y; }
OW_INLINE double __ddiv_rn(double x, double y) { return x / y; }
OW_INLINE double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }

// Conversions: what does not fit becomes the nearest that does, NaN becomes 0, as on a GPU.
template <class To> OW_INLINE To ow_saturated(double x, double lowest, double highest) {
    return x != x ? 0 : x <= lowest ? (To)lowest : x >= highest ? (To)highest : (To)x;
}
OW_INLINE int ow_int(double x) { return ow_saturated<int>(x, -2147483648.0, 2147483647.0); }
OW_INLINE unsigned ow_uint(double x) { return ow_saturated<unsigned>(x, 0.0, 4294967295.0); }
OW_INLINE int __float2int_rn(float x) { return ow_int(__builtin_rint(x)); }
OW_INLINE int __float2int_rz(float x) { return ow_int(x); }
OW_INLINE int __float2int_rd(float x) { return ow_int(__builtin_floor(x)); }
OW_INLINE int __float2int_ru(float x) { return ow_int(__builtin_ceil(x)); }
OW_INLINE unsigned __float2uint_rn(float x) { return ow_uint(__builtin_rint(x)); }
OW_INLINE unsigned __float2uint_rz(float x) { return ow_uint(x); }
OW_INLINE int __double2int_rn(double x) { return ow_int(__builtin_rint(x)); }
OW_INLINE int __double2int_rz(double x) { return ow_int(x); }
OW_INLINE double __dsqrt_rn(double x) { return __builtin_sqrt(x); }
OW_INLINE double __drcp_rn(double x) { return 1.0 / x; }
OW_INLINE float rcbrtf(float x) { return 1.0f / __builtin_cbrtf(x); }
OW_INLINE float normcdff(float x) { return 0.5f * __builtin_erfcf(-0.70710678f * x); }
OW_INLINE long long __float2ll_rn(float x) { return (long long)__builtin_rintf(x); }
OW_INLINE float __ll2float_rn(long long x) { return (float)x; }
OW_INLINE unsigned umin(unsigned x, unsigned y) { return x < y ? x : y; }
OW_INLINE unsigned umax(unsigned x, unsigned y) { return x > y ? x : y; }
OW_INLINE float __int2float_rn(int x) { return (float)x; }
OW_INLINE float __uint2float_rn(unsigned x) { return (float)x; }
OW_INLINE double __int2double_rn(int x) { return x; }
OW_INLINE float __double2float_rn(double x) { return (float)x; }
template <class To, class From> OW_INLINE To ow_bits(From x) { To made; __builtin_memcpy(&made, &x, sizeof made); return made; }
OW_INLINE int __float_as_int(float x) { return ow_bits<int>(x); }
OW_INLINE unsigned __float_as_uint(float x) { return ow_bits<unsigned>(x); }
OW_INLINE float __int_as_float(int x) { return ow_bits<float>(x); }
OW_INLINE float __uint_as_float(unsigned x) { return ow_bits<float>(x); }
OW_INLINE long long __double_as_longlong(double x) { return ow_bits<long long>(x); }
OW_INLINE double __longlong_as_double(long long x) { return ow_bits<double>(x); }

// Bits of integers.
OW_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
OW_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
OW_INLINE int __clz(int x) { return x ? __builtin_clz(x) : 32; }
OW_INLINE int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
OW_INLINE int __ffs(int x) { return __builtin_ffs(x); }
OW_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
OW_INLINE unsigned __brev(unsigned x) {
    unsigned made = 0;
    for (int i = 0; i < 32; ++i) made |= (x >> i & 1u) << (31 - i);
    return made;
}
OW_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned s) {
    const unsigned long long both = (unsigned long long)y << 32 | x;
    unsigned made = 0;
    for (int i = 0; i < 4; ++i) made |= (unsigned)(both >> 8 * (s >> 4 * i & 7u) & 0xffu) << 8 * i;
    return made;
}
OW_INLINE unsigned long long __brevll(unsigned long long x) {
    return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
OW_INLINE int __mulhi(int x, int y) { return (int)((long long)x * y >> 32); }
OW_INLINE unsigned __umulhi(unsigned x, unsigned y) { return (unsigned)((unsigned long long)x * y >> 32); }
OW_INLINE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) { return (unsigned long long)((unsigned __int128)x * y >> 64); }
OW_INLINE int __mul24(int x, int y) { return (int)((unsigned)(x << 8 >> 8) * (unsigned)(y << 8 >> 8)); }
OW_INLINE unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffffu) * (y & 0xffffffu); }
OW_INLINE unsigned __sad(int x, int y, unsigned z) { return (x > y ? x - y : y - x) + z; }
OW_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) { return (unsigned)(((unsigned long long)high << 32 | low) << (n & 31) >> 32); }
OW_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n) { return (unsigned)(((unsigned long long)high << 32 | low) >> (n & 31)); }
OW_INLINE int __dp4a(int x, int y, int sum) {
    for (int i = 0; i < 4; ++i) sum += (signed char)(x >> 8 * i) * (signed char)(y >> 8 * i);
    return sum;
}
