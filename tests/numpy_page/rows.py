"""The calls that are tried: a line of Python for each function of NumPy's, by chapter.

A row is an expression, or statements that end in what is returned; it names its operands by the
letters of ``OPERANDS``.  ufuncs need no row: ``ufunc_rows`` finds them and what they take.
"""

from __future__ import annotations

from typing import Any

import numpy as np

RNG = np.random.default_rng(0)
OPERANDS: dict[str, Any] = {
    "x": RNG.standard_normal((6, 8)).astype(np.float32),
    "y": RNG.standard_normal((6, 8)).astype(np.float32),
    "p": RNG.uniform(0.1, 0.9, (6, 8)).astype(np.float32),
    "h": np.where(RNG.random((6, 8)) < 0.3, np.nan, RNG.standard_normal((6, 8))),
    "v": RNG.standard_normal(8),
    "w": np.sort(RNG.standard_normal(8)),
    "a": RNG.standard_normal((5, 5)),
    "b": RNG.standard_normal((5, 5)) + 5 * np.eye(5),
    "d": RNG.standard_normal((3, 4, 4)),
    "q": RNG.standard_normal((7, 3)),
    "i": RNG.integers(1, 9, (6, 8)),
    "k": RNG.integers(1, 5, (6, 8)),
    "n": RNG.integers(0, 6, 8),
    "j": np.array([3, 0, 2, 5]),
    "m": RNG.random((6, 8)) < 0.5,
    "u": RNG.integers(0, 256, (6, 8)).astype(np.uint8),
    "c": (RNG.standard_normal(8) + 1j * RNG.standard_normal(8)).astype(np.complex64),
    "o": np.array(2),
    "s": 1.5,
    "t": 2,
}
SHOWN = {
    "x, y": "float32 [6, 8]", "p": "float32 [6, 8] between 0 and 1", "h": "float64 [6, 8] with NaN",
    "v, w": "float64 [8], `w` rising", "a, b": "float64 [5, 5]", "d": "float64 [3, 4, 4]",
    "q": "float64 [7, 3]", "i, k": "int64 [6, 8] from 1 on", "n": "int64 [8]",
    "j": "int64 [4], places", "m": "bool [6, 8]", "u": "uint8 [6, 8]", "c": "complex64 [8]",
    "o": "an int64 array without dimensions", "s": "a float", "t": "an int",
}  # fmt: skip

# What takes no array of numbers, or does not compute: types, files, texts, settings, dates.
APART = frozenset(
    """array2string array_repr array_str asmatrix base_repr binary_repr bmat broadcast_shapes
    busday_count busday_offset can_cast common_type datetime_as_string datetime_data einsum_path
    format_float_positional format_float_scientific from_dlpack frombuffer fromfile fromiter
    frompyfunc fromregex fromstring genfromtxt get_include get_printoptions getbufsize geterr
    geterrcall info is_busday isdtype isnat issubdtype load loadtxt min_scalar_type mintypecode
    nested_iters printoptions promote_types result_type save savetxt savez savez_compressed
    set_printoptions setbufsize seterr seterrcall show_config show_runtime test typename require
    may_share_memory shares_memory""".split()
)
# Methods of arrays that hand out memory or files.
APART_METHODS = frozenset(
    """base byteswap ctypes data device dump dumps flags getfield resize setfield setflags
    strides to_device tobytes tofile view""".split()
)

# Calls of functions; the table of the compiler says to which chapter of the page each belongs.
CALLS: tuple[str, ...] = (
    "np.clip(x, -1, 1)", "np.clip(x, -1, None)", "np.clip(x, y, y + 1)",
    "z = x * 2; np.clip(z, 0, 1, out=z)", "np.round(x, 2)", "np.around(x)",
    "np.astype(x, np.float64)", "np.fix(x)", "np.nan_to_num(h)", "np.nan_to_num(i)",
    "z = h * 2; np.nan_to_num(z, copy=False)", "np.sinc(x)", "np.i0(x)", "np.angle(x)",
    "np.angle(x, deg=True)", "np.angle(c)", "np.real(x)", "np.imag(x)", "np.real(c)",
    "np.iscomplex(x)", "np.isreal(x)", "np.iscomplexobj(x)", "np.isrealobj(x)",
    "np.real_if_close(x)", "np.isposinf(h)", "np.isneginf(h)", "np.isclose(x, y)",
    "np.isclose(i, k)", "np.isclose(h, h, equal_nan=True)", "np.allclose(x, y)",
    "np.array_equal(x, y)", "np.array_equal(x, w)", "np.array_equal(h, h, equal_nan=True)",
    "np.array_equiv(x, x[0])", "np.where(m, x, y)", "np.where(m)",
    "np.select([x > 1, x > 0, y > 0], [x, y, 2.0], -1)", "np.select([m], [i], 0)",
    "np.choose(n % 2, [v, w])", "np.choose(n, [v, w, 0.5], mode='clip')",
    "np.piecewise(x, [x < 0, x > 1], [-1, lambda z: z * z, 0.5])",
    "z = x * 2; np.copyto(z, y)", "z = x * 2; np.copyto(z, y, where=m)",
    "z = x * 2; np.putmask(z, m, 0)", "z = x * 2; np.putmask(z, m, y)",
    "z = x * 2; np.place(z, m, 7)", "z = x * 2; np.place(z, m, [1, 2, 3])",
    "np.unwrap(v)", "np.interp(x, w, v)", "np.interp(0.3, w, v)", "np.interp(x, w, v, left=0, right=1)",
    "np.interp(x, [-1.0, 0.0, 2.0], [0.0, 1.0, 5.0])", "np.interp(x, w, v, period=3.0)",
    "np.vectorize(lambda z: z * 2 if z > 0 else 0.0)(v)", "np.isin(n, j)",
    "np.packbits(u)", "np.unpackbits(u)", "np.bitwise_count(i)",
    "np.sum(x)", "np.sum(x, axis=(0, 1), keepdims=True)", "np.sum(u)",
    "np.sum(x, axis=0, dtype=np.float64)", "np.sum(x, where=m, initial=1.0)",
    "z = x[0] * 2; np.sum(x, axis=0, out=z)", "np.prod(p, axis=1)", "np.max(x, axis=1)",
    "np.min(x)", "np.amax(x)", "np.amin(x, axis=0)", "np.max(x, where=m, initial=0)",
    "np.any(m, axis=0)", "np.all(x)", "np.mean(x, axis=0)", "np.mean(i)", "np.mean(x, where=m)",
    "np.var(x, axis=1)", "np.var(x, ddof=1)", "np.std(x, axis=0, keepdims=True)",
    "np.var(x, correction=1)", "np.std(x, where=m)", "np.mean(x, dtype=np.float64)",
    "np.var(x, axis=0, mean=x.mean(axis=0, keepdims=True))",
    "np.ptp(x, axis=1)", "np.argmax(x)", "np.argmin(x, axis=1)", "np.count_nonzero(m)",
    "np.count_nonzero(x, axis=1)", "np.average(x)", "np.average(x, axis=0, weights=p)",
    "np.average(x, axis=1, weights=w * w)", "np.average(x, axis=0, weights=p, returned=True)",
    "np.nansum(h, axis=0)", "np.nanprod(h)", "np.nansum(h)", "np.nanmean(h, axis=0)", "np.nanmean(h)", "np.nanvar(h, axis=1)", "np.nanvar(h)",
    "np.nanstd(h)", "np.nanmax(h, axis=0)", "np.nanmax(h)", "np.nanmin(h)", "np.nanmin(i)", "np.nanargmax(h, axis=1)",
    "np.nanargmin(h)", "np.trapezoid(v)", "np.trapezoid(x, w, axis=1)",
    "np.trapezoid(x, dx=0.5, axis=0)", "np.cumsum(v)", "np.cumprod(v)",
    "np.cumulative_sum(v)", "np.cumulative_prod(v)", "np.nancumsum(h)", "np.nancumprod(h)",
    "np.cov(x)", "np.cov(v)", "np.cov(x, rowvar=False, ddof=0)", "np.cov(v, w)",
    "np.corrcoef(x)", "np.corrcoef(v, w)", "np.apply_over_axes(np.sum, d, [0, 2])",
    "np.sort(x)", "np.argsort(x)", "np.partition(v, 3)", "np.argpartition(v, 3)",
    "np.lexsort((v, w))", "np.sort_complex(v)", "np.searchsorted(w, x)",
    "np.searchsorted(w, x, side='right')", "np.searchsorted(w, 0.5)",
    "np.digitize(x, [-1.0, 0.0, 1.0])", "np.digitize(x, [1.0, 0.0, -1.0], right=True)",
    "np.digitize(x, w)", "np.median(x)", "np.percentile(x, 30)",
    "np.quantile(x, 0.3, axis=0)", "np.nanmedian(h)", "np.nanpercentile(h, 30)",
    "np.nanquantile(h, 0.3)", "np.unique(n)", "np.unique_all(n)", "np.unique_counts(n)",
    "np.unique_inverse(n)", "np.unique_values(n)", "np.union1d(n, j)", "np.intersect1d(n, j)",
    "np.setdiff1d(n, j)", "np.setxor1d(n, j)", "np.nonzero(m)", "np.flatnonzero(m)",
    "np.argwhere(m)", "np.extract(m, x)", "np.compress([True, False, True], x, axis=0)",
    "np.histogram(x, 5)", "np.histogram2d(v, w, 4)", "np.histogramdd(q, 3)",
    "np.histogram_bin_edges(x, 5)", "np.bincount(n)", "np.trim_zeros(n)",
    "np.reshape(x, (8, 6))", "np.reshape(x, -1)", "np.reshape(x, (8, 6), order='F')",
    "np.ravel(x)", "np.ravel(x, order='F')", "np.transpose(x)", "np.permute_dims(d, (2, 0, 1))",
    "np.matrix_transpose(d)", "np.swapaxes(d, 0, 2)", "np.moveaxis(d, 0, -1)",
    "np.rollaxis(d, 2)", "np.expand_dims(x, 0)", "np.squeeze(x[:1])", "np.flip(x)",
    "np.flipud(x)", "np.fliplr(x)", "np.rot90(x)", "np.roll(x, 1)", "np.roll(x, t, axis=0)",
    "np.atleast_1d(v)", "np.atleast_2d(v)", "np.atleast_3d(v)", "np.broadcast_to(v, (6, 8))",
    "np.broadcast_arrays(x, v)", "np.concatenate([x, y])", "np.concat([x, y], axis=1)",
    "np.concatenate([x, [[1.0] * 8]])", "np.stack([x, y])", "np.vstack([x, v])",
    "np.hstack([x, y])", "np.dstack([x, y])", "np.column_stack([v, w])", "np.row_stack([v, w])",
    "np.block([[a, b], [b, a]])", "np.block([v, 1.0])", "np.append(v, w)", "np.append(v, 2.0)",
    "np.insert(v, 2, 7.0)", "np.insert(x, [1, 3], 0, axis=1)", "np.insert(v, j, w[:4])",
    "np.delete(v, 2)", "np.delete(x, [0, 3], axis=1)", "np.delete(x, slice(1, 4), axis=0)",
    "np.delete(v, j)", "np.split(x, 2)", "np.split(v, [2, 5])", "np.array_split(v, 3)",
    "np.hsplit(x, 4)", "np.vsplit(x, 2)", "np.dsplit(d, 2)", "np.unstack(x)",
    "np.unstack(d, axis=1)", "np.pad(x, 1)", "np.pad(x, ((1, 0), (2, 2)), mode='reflect')",
    "np.pad(x, 1, mode='linear_ramp')", "np.tile(x, (2, 1))", "np.repeat(x, 2, axis=1)",
    "np.repeat(v, n)", "np.resize(x, (3, 20))", "np.resize(v, 5)", "np.diag(v)",
    "np.diag(v, 1)", "np.diag(a)", "np.diagflat(x)", "np.diagonal(d, axis1=1, axis2=2)",
    "np.tril(x)", "np.triu(x, 1)", "np.take(x, j)", "np.take(x, j, axis=0)",
    "np.take(x, o)", "np.take(x, [[0, 1], [2, 3]], mode='wrap')",
    "np.take_along_axis(x, i % 8, axis=1)", "z = x * 2; np.put_along_axis(z, i % 8, 0, axis=1)",
    "z = x * 2; np.put(z, j, 0)", "z = x * 2; np.fill_diagonal(z, 5)",
    "z = d * 2; np.fill_diagonal(z[0], 5)", "np.ix_(j, n)", "x[np.ix_(j, n)]",
    "np.apply_along_axis(np.sum, 0, x)", "np.shape(x)", "np.ndim(x)", "np.size(x)",
    "np.isscalar(x)", "np.isfortran(x)", "np.iterable(x)", "np.copy(x)",
    "np.ravel_multi_index((j, j), (6, 8))", "np.unravel_index(j, (6, 8))",
    "np.zeros(x.shape) + x", "np.ones(x.shape[0])", "z = np.empty_like(x); z[...] = y", "np.zeros_like(x)",
    "np.ones_like(i)", "np.full_like(x, s)", "np.full(x.shape, s)", "np.full(x.shape, v.mean())", "np.full_like(x, v)", "np.linspace(v, w, 8)", "z = np.empty(x.shape); z[:] = 3",
    "np.arange(x.shape[0]) * v[0]", "np.arange(0, 1, 0.1) * s", "np.arange(0.0, s, 0.25)",
    "np.arange(t)", "np.linspace(0, s, 8) * v", "np.linspace(0, 1, v.shape[0]) * v",
    "np.logspace(0, 2, 8) * v", "np.logspace(0, s, 8) * v", "np.geomspace(1, 8, 8) * v",
    "np.geomspace(1, s, 8) * v", "np.eye(x.shape[0])", "np.identity(5) * a", "np.tri(5) * a",
    "np.tri(a.shape[0]) * a", "np.meshgrid(v, w)", "np.indices(x.shape)",
    "np.indices((6, 8)) * x", "np.fromfunction(lambda r, q: r * q, (6, 8)) * x",
    "np.vander(v, 4)", "np.vander(v, 4, increasing=True)", "a[np.triu_indices(5)]",
    "a[np.tril_indices(5, -1)]", "a[np.triu_indices_from(a)]", "a[np.tril_indices_from(a)]",
    "a[np.diag_indices(5)]", "a[np.diag_indices_from(a)]", "a[np.mask_indices(5, np.triu)]",
    "np.array(x)", "np.asarray(x)", "np.asanyarray(x)", "np.ascontiguousarray(x)",
    "np.asfortranarray(x)", "np.asarray_chkfinite(x)", "np.array([v[0], v[1]])",
    "np.array([1.0, 2.0]) * s", "np.hanning(8) * v", "np.hamming(8) * v", "np.bartlett(8) * v",
    "np.blackman(8) * v", "np.kaiser(8, 14.0) * v", "np.hanning(v.shape[0]) * v",
    "np.matmul(a, b)", "np.dot(a, b)", "np.dot(v, w)", "np.dot(d, d[0])", "np.vdot(a, b)",
    "np.inner(a, b)", "np.outer(v, w)", "np.tensordot(d, a[:4, :4], 1)", "np.kron(a, b)",
    "np.cross(q, q[::-1])", "np.einsum('ij,jk->ik', a, b)", "np.einsum('ij->j', a)",
    "np.einsum('ii->i', a)", "np.einsum('ij,jk,kl->il', a, b, a)", "np.trace(a)",
    "np.vecdot(x, y)", "np.matvec(x, v)", "np.vecmat(v, x.T)", "np.convolve(v, [1.0, 2.0, 1.0])",
    "np.convolve(v, w, 'same')", "np.correlate(v, w[:3])", "np.correlate(v, w, 'same')",
    "np.gradient(v)", "np.gradient(x, 0.5, axis=1)", "np.gradient(v, w)", "np.diff(v)",
    "np.diff(x, n=2, axis=0)", "np.diff(v, prepend=0.0)", "np.ediff1d(v)",
    "np.ediff1d(v, to_begin=0.0, to_end=[1.0, 2.0])", "np.polyval([1.0, 2.0, 3.0], x)",
    "np.polyval(w, v)", "np.polyadd(v, w)", "np.polysub(v, w[:3])", "np.polymul(v, w)",
    "np.polyder(v)", "np.polyint(v)", "np.polydiv(v, w)", "np.polyfit(v, w, 2)",
    "np.roots(v)", "np.poly(v)",
    "np.linalg.norm(x)", "np.linalg.norm(v)", "np.linalg.norm(x, axis=1)",
    "np.linalg.norm(v, 1)", "np.linalg.norm(v, 3)", "np.linalg.norm(v, 0)",
    "np.linalg.norm(v, 0.5)", "np.linalg.norm(x, np.inf, axis=0, keepdims=True)",
    "np.linalg.norm(v, -np.inf)", "np.linalg.norm(i, axis=0)", "np.linalg.norm(a, 'fro')",
    "np.linalg.norm(a, 1)", "np.linalg.norm(a, -1)", "np.linalg.norm(a, np.inf)",
    "np.linalg.norm(a, -np.inf)", "np.linalg.norm(d, axis=(1, 2))",
    "np.linalg.norm(d, 1, axis=(2, 0), keepdims=True)", "np.linalg.norm(a, 2)",
    "np.linalg.norm(a, 'nuc')", "np.linalg.matrix_norm(d)", "np.linalg.matrix_norm(a, ord=1)",
    "np.linalg.vector_norm(x)", "np.linalg.vector_norm(d, axis=(0, 2), ord=1)",
    "np.linalg.matmul(a, b)", "np.linalg.matrix_transpose(d)", "np.linalg.outer(v, w)",
    "np.linalg.vecdot(x, y)", "np.linalg.tensordot(a, b)", "np.linalg.trace(d)",
    "np.linalg.diagonal(d)", "np.linalg.cross(q, q[::-1])", "np.linalg.multi_dot([a, b, a])",
    "np.linalg.matrix_power(a, 3)", "np.linalg.matrix_power(a, 0)", "np.linalg.inv(b)",
    "np.linalg.solve(b, a)", "np.linalg.det(b)", "np.linalg.slogdet(b)",
    "np.linalg.cholesky(b @ b.T)", "np.linalg.qr(a)", "np.linalg.svd(a)",
    "np.linalg.svdvals(a)", "np.linalg.eig(b)", "np.linalg.eigh(b + b.T)",
    "np.linalg.eigvals(b)", "np.linalg.eigvalsh(b + b.T)", "np.linalg.lstsq(q, v[:7])",
    "np.linalg.pinv(a)", "np.linalg.matrix_rank(a)", "np.linalg.cond(b)",
    "np.linalg.tensorinv(b, 1)", "np.linalg.tensorsolve(b, v[:5])",
)  # fmt: skip
# Calls of something else than a function of NumPy's.
OTHERS: dict[str, tuple[str, ...]] = {
    "Fourier transforms": (
        "np.fft.fft(x)", "np.fft.fft(c, n=5, norm='ortho')", "np.fft.ifft(c)", "np.fft.rfft(x)",
        "np.fft.irfft(c)", "np.fft.hfft(c)", "np.fft.ihfft(v)", "np.fft.fft2(x)",
        "np.fft.ifft2(d, s=(3, 3))", "np.fft.fftn(d, axes=(0, 2))", "np.fft.ifftn(d)",
        "np.fft.rfft2(x)", "np.fft.rfftn(d)", "np.fft.irfft2(d)", "np.fft.irfftn(d)",
        "np.fft.fftshift(x)", "np.fft.ifftshift(x, axes=1)", "v + np.fft.fftfreq(8)",
        "v[:5] + np.fft.rfftfreq(8, s)",
    ),
    "Indexing and assignment": (
        "x[1:, ::-2]", "x[2, None, ..., :3]", "x[j]", "x[j, j]", "x[j[:, None], j]", "x[[1, 2]]",
        "x[o]", "x[o, 1:]", "x[j, o]", "x[:o]", "x[m]", "x[t]", "x[:t]", "x[j[0]]", "v[v.argmax()]",
        "z = x * 2; z[1:] = y[:-1]", "z = x * 2; z[m] = 0", "z = x * 2; z[m] = y[m]",
        "z = x * 2; z[m] += 1", "z = x * 2; z[j] = 0", "z = x * 2; z[j, :2] += y[j, :2]",
        "z = x * 2; z[o] = 0", "z = x * 2; np.add.at(z, j, y[:4])", "z = x * 2; z.flat[3] = 1",
    ),
    "Methods of arrays": (
        "x.T", "d.mT", "x.real", "x.imag", "x.sum(axis=0)", "p.prod()", "x.max(axis=1)", "x.min()",
        "m.any()", "m.all(axis=0)", "x.mean()", "x.var(axis=0)", "x.std(ddof=1)", "x.argmax()",
        "x.argmin(axis=0)", "x.clip(-1, 1)", "x.clip(max=1)", "z = x * 2; x.clip(0, 1, out=z)",
        "x.round(1)", "x.astype(np.int32)", "x.astype('f8', copy=False)", "x.copy()",
        "x.conj()", "x.conjugate()", "x.dot(v)", "x.reshape(8, 6)", "x.reshape(-1, 4)", "x.ravel()",
        "x.flatten()", "x.transpose(1, 0)", "x.swapaxes(0, 1)", "x[:1].squeeze()", "a.trace()",
        "a.diagonal(1)", "x.take(j)", "x.repeat(2, axis=0)", "z = x * 2; z.fill(3)",
        "z = x * 2; z.put(j, 0)", "x.sort()", "z = x * 2; z.sort()", "x.argsort()",
        "z = v * 2; z.partition(3)", "v.argpartition(3)", "w.searchsorted(x)", "m.nonzero()",
        "x.compress([True, False, True], axis=0)", "n.choose([v] * 6)", "v.cumsum()", "v.cumprod()",
        "x.item(3)", "x.tolist()", "x.flat[3]", "x.shape", "x.ndim", "x.size * s", "x.itemsize",
        "x.nbytes", "x.dtype == np.float32", "len(x)", "[r.sum() for r in x]", "x @ v", "-abs(x)",
        "divmod(x, 2)", "x ** 2", "2 ** i", "i // 3 % 2", "i << 1 | 1", "~m", "x.sum() > 0",
    ),
    "ufuncs' methods and keywords": (
        "np.add.reduce(x)", "np.add.reduce(x, axis=None)", "np.multiply.reduce(p, axis=1)",
        "np.maximum.reduce(x)", "np.minimum.reduce(x, axis=1, keepdims=True)",
        "np.logical_and.reduce(m)", "np.logical_or.reduce(m, axis=1)", "np.logaddexp.reduce(x)",
        "np.fmax.reduce(h)", "np.bitwise_or.reduce(i)", "np.subtract.reduce(x)",
        "np.hypot.reduce(x)", "np.maximum.reduce([x, y])", "np.add.reduce([x, y, p])",
        "np.logical_and.reduce([m, x > 0, y > 0])", "np.multiply.outer(v, w)",
        "np.subtract.outer(v, x)", "np.add.outer(v, [1.0, 2.0])", "np.add.accumulate(v)",
        "np.maximum.accumulate(v)", "np.add.reduceat(v, [0, 3, 5])",
        "z = v * 2; np.add.at(z, n, 1.0)", "z = x * 2; np.add(x, y, out=z)",
        "z = x * 2; np.add(x, y, z)", "z = x * 2; np.add(x, y, out=z, where=m)",
        "np.add(x, y, where=True)", "np.add(x, y, dtype=np.float64)",
        "np.add(i, k, dtype=np.float32, casting='unsafe')", "np.add(x, y, casting='no')",
        "np.multiply(u, u, dtype=np.int32)", "np.sqrt(i, dtype=np.float32, casting='same_kind')",
        "np.exp(x, order='K')", "np.add(x, y, subok=True)", "z = x * 1.0; np.exp(z, z)",
        "np.vecdot(x, y, axis=0)", "np.vecdot(x, y, keepdims=True)",
        "np.matmul(d, d, axes=[(1, 2), (1, 2), (1, 2)])", "np.modf(x)[0]", "np.divmod(i, k)",
        "z = i * 1; np.add(z, s, out=z, casting='unsafe')", "np.float32(3) * x", "np.float64(3) * x",
        "np.int64(3) * u", "u + 3", "u * 1.5", "np.float32(3) * s",
    ),
    "scipy.special": (
        "special.erf(x)", "special.erfc(x)", "special.gamma(p)", "special.expit(x)",
        "special.gammaln(p)", "special.loggamma(p)", "special.logit(p)", "special.log_expit(x)",
        "special.xlogy(p, p)", "special.xlog1py(p, p)", "special.entr(p)", "special.rel_entr(p, p)",
        "special.kl_div(p, p)", "special.exp2(x)", "special.exp10(x)", "special.expm1(x)",
        "special.log1p(p)", "special.cbrt(x)", "special.cosm1(x)", "special.sinc(x)",
        "special.erfinv(p)", "special.ndtr(x)", "special.ndtri(p)", "special.huber(s, x)",
        "special.digamma(p)", "special.i0(x)", "special.j0(x)", "special.beta(p, p)",
        "special.betaln(p, p)", "special.boxcox(p, s)", "special.logsumexp(x)",
        "special.logsumexp(x, axis=1, keepdims=True)", "special.softmax(x, axis=1)",
        "special.log_softmax(x, axis=1)", "special.round(x)",
    ),
}  # fmt: skip

# Operands that a ufunc may take, the first that NumPy takes with it.
TRIED = {1: ("x", "i", "m"), 2: ("x, y", "i, k", "x, i", "m, m", "a, b", "x, v", "v, x.T")}


def ufunc_rows() -> tuple[str, ...]:
    """A call of every public ufunc of NumPy's, with the first operands that it takes."""
    found = []
    for name in sorted(np.__all__):
        ufunc = getattr(np, name)
        if isinstance(ufunc, np.ufunc) and name not in APART:
            found.append(next(c for c in _calls(name, ufunc) if _holds(c)))
    return tuple(found)


def _calls(name: str, ufunc: np.ufunc) -> list[str]:
    positive = [f"np.{name}(p)"] if ufunc.nin == 1 else []  # inside of every domain but one
    given = [f"np.{name}({operands})" for operands in TRIED[ufunc.nin]]
    return [f"np.{name}(p + 1)"] if name in ("arccosh", "acosh") else positive + given


def _holds(call: str) -> bool:
    try:
        with np.errstate(all="ignore"):
            eval(call, {"np": np}, dict(OPERANDS))
    except (TypeError, ValueError):
        return False
    return True
