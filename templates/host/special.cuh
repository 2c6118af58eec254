// Special functions for the host compiler, by kinds, of which a kernel leaves out those that it
// names no function of: see runtime/binaries/headers.py.
#pragma once

#define OW_FLOAT_NAME(NAME) OW_INLINE float NAME##f(float x) { return NAME(x); }
#define OW_LIBRARY(NAME) \
    OW_INLINE float NAME(float x) { return (float)NAME((double)x); } \
    OW_INLINE float NAME##f(float x) { return (float)NAME((double)x); }
#ifndef OW_NO_EXPONENTIALS
#include "exponentials.cuh"
#include "double_exponentials.cuh"
extern "C" {
double exp10(double) noexcept;
}
OW_FLOAT_NAME(exp) OW_FLOAT_NAME(expm1) OW_FLOAT_NAME(exp2) OW_FLOAT_NAME(exp10) OW_FLOAT_NAME(sinh)
OW_FLOAT_NAME(cosh) OW_FLOAT_NAME(tanh) OW_FLOAT_NAME(erf) OW_FLOAT_NAME(erfc)
#endif
#ifndef OW_NO_LOGARITHMS
#include "logarithms.cuh"
extern "C" {
double tgamma(double) noexcept; double lgamma(double) noexcept;
}
OW_FLOAT_NAME(log) OW_FLOAT_NAME(log1p) OW_FLOAT_NAME(log2) OW_FLOAT_NAME(log10)
OW_FLOAT_NAME(asinh) OW_FLOAT_NAME(acosh) OW_FLOAT_NAME(atanh)
OW_LIBRARY(tgamma) OW_LIBRARY(lgamma)
#endif
#ifndef OW_NO_POWERS
#include "powers.cuh"
OW_FLOAT_NAME(cbrt)
OW_INLINE float hypotf(float x, float y) { return hypot(x, y); }
OW_INLINE float powf(float x, float y) { return pow(x, y); }
#endif
#ifndef OW_NO_ANGLES
#include "angles.cuh"
#include "double_angles.cuh"
OW_FLOAT_NAME(sin) OW_FLOAT_NAME(cos) OW_FLOAT_NAME(tan) OW_FLOAT_NAME(asin) OW_FLOAT_NAME(acos)
OW_FLOAT_NAME(atan)
OW_INLINE float atan2f(float y, float x) { return atan2(y, x); }
#endif
