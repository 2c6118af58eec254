// <cuda_fp16.h> and <cuda_bf16.h>: compute in float, round once per operation.
#define OW_NARROW(NAME, TO_BITS, FROM_BITS)                                                    \
    struct NAME {                                                                             \
        unsigned short bits;                                                                  \
        NAME() = default;                                                                     \
        template <class T> __attribute__((always_inline)) inline NAME(T x) : bits(TO_BITS((float)x)) {} \
        __attribute__((always_inline)) inline operator float() const { return FROM_BITS(bits); } \
        template <class T> __attribute__((always_inline)) inline NAME& operator+=(T x) { return *this = NAME((float)*this + (float)x); } \
        template <class T> __attribute__((always_inline)) inline NAME& operator-=(T x) { return *this = NAME((float)*this - (float)x); } \
        template <class T> __attribute__((always_inline)) inline NAME& operator*=(T x) { return *this = NAME((float)*this * (float)x); } \
        template <class T> __attribute__((always_inline)) inline NAME& operator/=(T x) { return *this = NAME((float)*this / (float)x); } \
    };                                                                                        \
    OW_INLINE NAME operator+(NAME x, NAME y) { return NAME((float)x + (float)y); }            \
    OW_INLINE NAME operator-(NAME x, NAME y) { return NAME((float)x - (float)y); }            \
    OW_INLINE NAME operator*(NAME x, NAME y) { return NAME((float)x * (float)y); }            \
    OW_INLINE NAME operator/(NAME x, NAME y) { return NAME((float)x / (float)y); }            \
    OW_INLINE NAME operator-(NAME x) { return NAME(-(float)x); }                              \
    OW_INLINE NAME __hadd(NAME x, NAME y) { return x + y; }                                   \
    OW_INLINE NAME __hsub(NAME x, NAME y) { return x - y; }                                   \
    OW_INLINE NAME __hmul(NAME x, NAME y) { return x * y; }                                   \
    OW_INLINE NAME __hdiv(NAME x, NAME y) { return x / y; }                                   \
    OW_INLINE NAME __hneg(NAME x) { return -x; }                                              \
    OW_INLINE NAME __habs(NAME x) { return NAME(__builtin_fabsf(x)); }                        \
    OW_INLINE NAME __hfma(NAME x, NAME y, NAME z) { return NAME(__builtin_fma((double)(float)x, (float)y, (float)z)); } \
    OW_INLINE NAME __hmax(NAME x, NAME y) { return NAME(__builtin_fmaxf(x, y)); }             \
    OW_INLINE NAME __hmin(NAME x, NAME y) { return NAME(__builtin_fminf(x, y)); }             \
    OW_INLINE bool __hlt(NAME x, NAME y) { return (float)x < (float)y; }                      \
    OW_INLINE bool __hgt(NAME x, NAME y) { return (float)x > (float)y; }                      \
    OW_INLINE bool __hle(NAME x, NAME y) { return (float)x <= (float)y; }                     \
    OW_INLINE bool __hge(NAME x, NAME y) { return (float)x >= (float)y; }                     \
    OW_INLINE bool __hne(NAME x, NAME y) { return (float)x != (float)y; }                     \
    OW_INLINE bool __hisnan(NAME x) { return (float)x != (float)x; }                          \
    OW_INLINE bool __heq(NAME x, NAME y) { return (float)x == (float)y; }                     \
    OW_INLINE NAME hexp(NAME x) { return NAME(__builtin_expf(x)); }                           \
    OW_INLINE NAME hlog(NAME x) { return NAME(__builtin_logf(x)); }                           \
    OW_INLINE NAME hsqrt(NAME x) { return NAME(__builtin_sqrtf(x)); }                         \
    OW_INLINE NAME hrsqrt(NAME x) { return NAME(1.0f / __builtin_sqrtf(x)); }                 \
    struct __attribute__((aligned(4))) NAME##2 { NAME x, y; };                                \
    OW_INLINE NAME##2 operator+(NAME##2 a, NAME##2 b) { return {a.x + b.x, a.y + b.y}; }      \
    OW_INLINE NAME##2 operator-(NAME##2 a, NAME##2 b) { return {a.x - b.x, a.y - b.y}; }      \
    OW_INLINE NAME##2 operator*(NAME##2 a, NAME##2 b) { return {a.x * b.x, a.y * b.y}; }      \
    OW_INLINE NAME##2 operator/(NAME##2 a, NAME##2 b) { return {a.x / b.x, a.y / b.y}; }      \
    OW_INLINE NAME##2 operator-(NAME##2 a) { return {-a.x, -a.y}; }                           \
    OW_INLINE NAME##2 __hneg2(NAME##2 a) { return {-a.x, -a.y}; }                             \
    OW_INLINE NAME##2 __habs2(NAME##2 a) { return {__habs(a.x), __habs(a.y)}; }               \
    OW_INLINE NAME##2 __h2div(NAME##2 a, NAME##2 b) { return {a.x / b.x, a.y / b.y}; }        \
    OW_INLINE NAME##2 __hmax2(NAME##2 a, NAME##2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; } \
    OW_INLINE NAME##2 __hmin2(NAME##2 a, NAME##2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; } \
    OW_INLINE NAME##2 h2exp(NAME##2 a) { return {NAME(__builtin_expf(a.x)), NAME(__builtin_expf(a.y))}; } \
    OW_INLINE NAME##2 __hadd2(NAME##2 a, NAME##2 b) { return a + b; }                         \
    OW_INLINE NAME##2 __hsub2(NAME##2 a, NAME##2 b) { return a - b; }                         \
    OW_INLINE NAME##2 __hmul2(NAME##2 a, NAME##2 b) { return a * b; }                         \
    OW_INLINE NAME##2 __hfma2(NAME##2 a, NAME##2 b, NAME##2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; } \
    OW_INLINE NAME __low2##NAME(NAME##2 a) { return a.x; }                                    \
    OW_INLINE NAME __high2##NAME(NAME##2 a) { return a.y; }                                   \
    OW_INLINE float __low2float(NAME##2 a) { return a.x; }                                    \
    OW_INLINE float __high2float(NAME##2 a) { return a.y; }

OW_INLINE unsigned short ow_bf16_bits(float x) {  // to nearest, ties to even; NaN stays NaN
    const unsigned u = host_bits(x);
    return (unsigned short)((u & 0x7fffffffu) > 0x7f800000u ? u >> 16 | 0x40u : (u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}
OW_INLINE float ow_bf16_float(unsigned short bits) { return host_float((unsigned)bits << 16); }
OW_NARROW(__half, float_to_half, half_to_float)
OW_NARROW(__nv_bfloat16, ow_bf16_bits, ow_bf16_float)
typedef __half half;
typedef __half2 half2;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
typedef __nv_bfloat16 __nv_bfloat16_raw;
OW_INLINE float2 ow_pair(float x, float y) { return {x, y}; }
OW_INLINE __half __float2half(float x) { return __half(x); }
OW_INLINE __half __float2half_rn(float x) { return __half(x); }
OW_INLINE float __half2float(__half x) { return x; }
OW_INLINE __half __int2half_rn(int x) { return __half((float)x); }
OW_INLINE int __half2int_rn(__half x) { return (int)__builtin_rintf(x); }
OW_INLINE __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
OW_INLINE __half2 __float2half2_rn(float x) { return {__half(x), __half(x)}; }
OW_INLINE __half2 __halves2half2(__half x, __half y) { return {x, y}; }
OW_INLINE __half2 make_half2(__half x, __half y) { return {x, y}; }
OW_INLINE __half2 __half2half2(__half x) { return {x, x}; }
OW_INLINE __half2 __float22half2_rn(float2 v) { return {__half(v.x), __half(v.y)}; }
OW_INLINE float2 __half22float2(__half2 v) { return ow_pair(v.x, v.y); }
OW_INLINE __half __low2half(__half2 v) { return v.x; }
OW_INLINE __half __high2half(__half2 v) { return v.y; }
OW_INLINE unsigned short __half_as_ushort(__half x) { return x.bits; }
OW_INLINE __half __ushort_as_half(unsigned short bits) { __half made; made.bits = bits; return made; }
OW_INLINE __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
OW_INLINE __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
OW_INLINE float __bfloat162float(__nv_bfloat16 x) { return x; }
OW_INLINE __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {__nv_bfloat16(x), __nv_bfloat16(y)}; }
OW_INLINE float2 __bfloat1622float2(__nv_bfloat162 v) { return ow_pair(v.x, v.y); }
#define __CUDA_FP16_TYPES_EXIST__ 1
