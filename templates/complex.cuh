// Complex numbers: pairs of floats with NumPy's arithmetic, for both compilers.  Included by
// common.cuh.  Nothing recovers an infinity as C99's annex G does: a product of one may be NaN.
#pragma once

// No constructor, so that shared memory may hold it.
template <class R> struct Complex {
    R re, im;
    OW_SPECIAL void operator=(R x) { re = x, im = R(0); }
#ifdef OW_ASSIGN_PARTS
    OW_SPECIAL void operator=(const Complex& z) { re = z.re, im = z.im; }
#endif
};
typedef Complex<float> complex64;
typedef Complex<double> complex128;

// x as a y, or else y, for kernels of the host: of a choice between two places in memory g++ makes
// no vectors.
template <class T> struct Same { typedef T type; };
template <class T> OW_INLINE T chosen(bool first, typename Same<T>::type x, T y) { return first ? x : y; }
template <class R> OW_INLINE Complex<R> chosen(bool first, Complex<R> x, Complex<R> y) {
    return {first ? x.re : y.re, first ? x.im : y.im};
}

// What stands behind a volatile pointer to a type.
template <class T> struct Volatile { typedef volatile T type; };
template <class R> struct VolatileComplex {
    volatile R re, im;
    OW_SPECIAL operator Complex<R>() const { return {re, im}; }
    OW_SPECIAL void operator=(Complex<R> z) { re = z.re, im = z.im; }
};
template <class R> struct Volatile<Complex<R>> { typedef VolatileComplex<R> type; };
typedef VolatileComplex<float> volatile_complex64;
typedef VolatileComplex<double> volatile_complex128;

#define OW_COMPLEX template <class R> OW_INLINE Complex<R>
#define OW_COMPLEX_TEST template <class R> OW_INLINE bool
OW_COMPLEX operator+(Complex<R> x, Complex<R> y) { return {x.re + y.re, x.im + y.im}; }
OW_COMPLEX operator-(Complex<R> x, Complex<R> y) { return {x.re - y.re, x.im - y.im}; }
OW_COMPLEX operator-(Complex<R> x) { return {-x.re, -x.im}; }
// A difference of products is a sum of one and minus(the other), so that each is rounded.
OW_COMPLEX operator*(Complex<R> x, Complex<R> y) {
    return {x.re * y.re + minus(x.im * y.im), x.re * y.im + x.im * y.re};
}
// Smith's algorithm ("Algorithm 116: Complex division", CACM 5, 1962) without a branch: both are
// divided by the larger part of the divisor; by zero each part is.
OW_COMPLEX operator/(Complex<R> x, Complex<R> y) {
    const bool turned = !(fabs(y.re) >= fabs(y.im));
    const R large = turned ? y.im : y.re, small = turned ? y.re : y.im;
    const R ratio = small / large, scale = R(1) / (large + small * ratio);
    const R p = turned ? x.im : x.re, q = turned ? x.re : x.im;
    const R part = p * ratio, im = turned ? part + minus(q) : q + minus(part);
    const bool by_zero = fabs(y.re) == R(0) && fabs(y.im) == R(0);
    const R re = by_zero ? x.re / fabs(y.re) : (p + q * ratio) * scale;
    return {re, by_zero ? x.im / fabs(y.re) : im * scale};
}
OW_COMPLEX reciprocal(Complex<R> x) {
    const bool turned = !(fabs(x.im) <= fabs(x.re));
    const R large = turned ? x.im : x.re, small = turned ? x.re : x.im;
    const R ratio = small / large, size = large + small * ratio;
    return {(turned ? ratio : R(1)) / size, (turned ? R(-1) : -ratio) / size};
}
OW_COMPLEX conjugate(Complex<R> x) { return {x.re, -x.im}; }
OW_COMPLEX rint(Complex<R> x) { return {rint(x.re), rint(x.im)}; }
// One rounding a step: what products accumulate with.
OW_COMPLEX fma(Complex<R> x, Complex<R> y, Complex<R> z) {
    return {fma(-x.im, y.im, fma(x.re, y.re, z.re)), fma(x.im, y.re, fma(x.re, y.im, z.im))};
}

// The order of NumPy's: real parts first; nothing with NaN is less or greater.
OW_COMPLEX_TEST is_nan(Complex<R> x) { return (x.re != x.re) | (x.im != x.im); }
OW_COMPLEX_TEST nonzero(Complex<R> x) { return (x.re != R(0)) | (x.im != R(0)); }
OW_COMPLEX_TEST operator==(Complex<R> x, Complex<R> y) { return (x.re == y.re) & (x.im == y.im); }
OW_COMPLEX_TEST operator!=(Complex<R> x, Complex<R> y) { return (x.re != y.re) | (x.im != y.im); }
OW_COMPLEX_TEST comparable(Complex<R> x, Complex<R> y) { return (x.im == x.im) & (y.im == y.im); }
OW_COMPLEX_TEST operator<(Complex<R> x, Complex<R> y) {
    return ((x.re < y.re) & comparable(x, y)) | ((x.re == y.re) & (x.im < y.im));
}
OW_COMPLEX_TEST operator<=(Complex<R> x, Complex<R> y) {
    return ((x.re < y.re) & comparable(x, y)) | ((x.re == y.re) & (x.im <= y.im));
}
OW_COMPLEX_TEST operator>(Complex<R> x, Complex<R> y) { return y < x; }
OW_COMPLEX_TEST operator>=(Complex<R> x, Complex<R> y) { return y <= x; }
OW_COMPLEX max_nan(Complex<R> x, Complex<R> y) { return x >= y || is_nan(x) ? x : y; }
OW_COMPLEX min_nan(Complex<R> x, Complex<R> y) { return x <= y || is_nan(x) ? x : y; }
OW_COMPLEX max_number(Complex<R> x, Complex<R> y) { return x >= y || is_nan(y) ? x : y; }
OW_COMPLEX min_number(Complex<R> x, Complex<R> y) { return x <= y || is_nan(y) ? x : y; }

// x / |x|; of an infinite part its sign alone, of two NaN.
OW_COMPLEX sign(Complex<R> x) {
    const R far = infinity<R>();
    if (!is_inf(x.re) && !is_inf(x.im) && hypot(x.re, x.im) == far) x = {x.re / 4, x.im / 4};
    const R size = hypot(x.re, x.im);
    const R re = fabs(x.re) == far ? copysign(R(1), x.re) : R(0);
    const R im = fabs(x.im) == far ? copysign(R(1), x.im) : R(0);
    const R lost = re != R(0) && im != R(0) ? nan<R>() : R(0);
    if (size == far) return {re + lost, im + lost};
    if (size != size) return {nan<R>(), nan<R>()};
    if (size == R(0)) return {R(0), R(0)};
    return {x.re / size, x.im / size};
}

// Limits in both parts, for identities of reductions.
template <> OW_SPECIAL complex64 infinity<complex64>() { return {infinity<float>(), infinity<float>()}; }
template <> OW_SPECIAL complex128 infinity<complex128>() { return {infinity<double>(), infinity<double>()}; }
