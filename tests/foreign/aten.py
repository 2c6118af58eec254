"""How each operator of ATen that has a row is called: a table for test_torch_rows.py.

A call gets the operator and samples: ``x`` of two axes and ``y`` to broadcast with it, of the type
that is tried, ``o`` without axes and ``d`` without axes of float64, ``b`` of bools, ``i`` of
places, ``m`` a matrix and ``v`` a vector that fit ``x``, ``n`` of three axes, ``k`` a number.
"""

X = [lambda op, s: op(s.x), lambda op, s: op(s.o)]
XY = [lambda op, s: op(s.x, s.y), lambda op, s: op(s.y, s.x), lambda op, s: op(s.x, s.o),
      lambda op, s: op(s.x, s.d), lambda op, s: op(s.o, s.x), lambda op, s: op(s.b, s.x),
      lambda op, s: op(s.x, s.b)]  # fmt: skip
XK = [lambda op, s: op(s.x, 2), lambda op, s: op(s.x, -3), lambda op, s: op(s.x, 2.5),
      lambda op, s: op(s.o, 2.5), lambda op, s: op(s.b, 2)]  # fmt: skip
ALPHA = [lambda op, s: op(s.x, s.y, alpha=2)]
ALPHA_K = [lambda op, s: op(s.x, 3, 2)]
XYT = [lambda op, s: op(s.x, s.y)]
AXES = [lambda op, s: op(s.x, [0]), lambda op, s: op(s.x, [-1], True),
        lambda op, s: op(s.n, [0, 2])]  # fmt: skip
AXIS = [lambda op, s: op(s.x, 0), lambda op, s: op(s.x, -1, True), lambda op, s: op(s.n, 1)]
EVERY = [lambda op, s: op(s.x), lambda op, s: op(s.n)]

ONE = """abs neg sign relu ceil floor trunc round bitwise_not square isinf isnan logical_not acos
acosh asin asinh atan atanh cos cosh erf erfc exp exp2 expm1 log log10 log1p log2 rsqrt sigmoid sin
sinh sqrt tan tanh reciprocal silu""".split()
BOTH = "mul bitwise_and bitwise_or bitwise_xor eq ne lt le gt ge".split()
PAIRS = "maximum minimum logical_and logical_or logical_xor atan2".split()

CALLS = {
    **{f"aten.{name}.default": X for name in ONE},
    **{f"aten.{name}.Tensor": XY for name in BOTH},
    **{f"aten.{name}.Scalar": XK for name in BOTH},
    **{f"aten.{name}.default": XY for name in PAIRS},
    **{f"aten.{name}.Tensor": XY + ALPHA for name in ("add", "sub", "rsub")},
    **{f"aten.{name}.Scalar": XK + ALPHA_K for name in ("add", "sub", "rsub")},
    "aten.gelu.default": [*X, lambda op, s: op(s.x, approximate="tanh")],
    "aten.elu.default": [*X, lambda op, s: op(s.x, 2.0, 1.5, 0.5)],
    "aten.leaky_relu.default": [*X, lambda op, s: op(s.x, 0.2)],
    "aten.hardtanh.default": [*X, lambda op, s: op(s.x, -2, 3)],
    "aten.softplus.default": [*X, lambda op, s: op(s.x, 2, 1)],
    "aten.div.Tensor": XY,
    "aten.div.Scalar": XK,
    "aten.div.Tensor_mode": [lambda op, s, r=r, p=p: op(s.x, getattr(s, p), rounding_mode=r)
                             for r in ("trunc", "floor", None) for p in ("y", "o")],
    "aten.div.Scalar_mode": [lambda op, s, r=r, k=k: op(s.x, k, rounding_mode=r)
                             for r in ("trunc", "floor", None) for k in (3, -2, 1.5)],
    "aten.fmod.Tensor": XY, "aten.fmod.Scalar": XK,
    "aten.remainder.Tensor": XY, "aten.remainder.Scalar": XK,
    "aten.pow.Tensor_Scalar": [*XK, lambda op, s: op(s.x, 0.5), lambda op, s: op(s.x, 3)],
    "aten.pow.Tensor_Tensor": XY,
    "aten.pow.Scalar": [lambda op, s: op(2, s.x), lambda op, s: op(1.5, s.x)],
    "aten.clamp.default": [lambda op, s: op(s.x, -1, 2), lambda op, s: op(s.x, None, 0.5),
                           lambda op, s: op(s.x, 3, 1), lambda op, s: op(s.x, 1)],
    "aten.clamp.Tensor": [lambda op, s: op(s.x, s.y), lambda op, s: op(s.x, None, s.d)],
    "aten.clamp_min.default": XK, "aten.clamp_max.default": XK,
    "aten.where.self": [lambda op, s: op(s.b, s.x, s.y), lambda op, s: op(s.b, s.x, s.d),
                        lambda op, s: op(s.b, s.o, s.d)],
    **{f"aten.{name}.default": [lambda op, s: op(s.x, [-1]), lambda op, s: op(s.n, [3, -1]),
                                lambda op, s: op(s.o, [1, 1])]
       for name in ("view", "reshape", "_unsafe_view")},
    "aten.permute.default": [lambda op, s: op(s.n, [2, 0, 1]), lambda op, s: op(s.x, [-1, 0])],
    "aten.t.default": X, "aten.transpose.int": [lambda op, s: op(s.n, 0, -1)],
    "aten.expand.default": [lambda op, s: op(s.y, [2, 3, -1]), lambda op, s: op(s.o, [2, 3])],
    "aten.unsqueeze.default": [lambda op, s: op(s.x, 0), lambda op, s: op(s.x, -1)],
    "aten.squeeze.default": [lambda op, s: op(s.x[:1])],
    "aten.squeeze.dim": [lambda op, s: op(s.x[:1], 0), lambda op, s: op(s.x, 0)],
    "aten.squeeze.dims": [lambda op, s: op(s.x[:1], [0, 1]), lambda op, s: op(s.x, [])],
    "aten.slice.Tensor": [lambda op, s: op(s.x, 0, 1, 2**63 - 1), lambda op, s: op(s.n, -1, -2),
                          lambda op, s: op(s.n, 1, 0, 9, 2), lambda op, s: op(s.x, 1, 2, 1)],
    "aten.select.int": [lambda op, s: op(s.n, 1, -1), lambda op, s: op(s.x, -1, 0)],
    "aten.split_with_sizes.default": [lambda op, s: op(s.x, [1, 3], 1)[1]],
    "aten.diagonal.default": [lambda op, s: op(s.x), lambda op, s: op(s.n, -1, 2, 0)],
    **{f"aten.{name}.default": X for name in ("alias", "detach", "clone", "lift_fresh_copy")},
    "aten._to_copy.default": [lambda op, s, t=t: op(s.x, dtype=getattr(s.torch, t))
                              for t in ("float32", "float64", "bool", "int32", "uint8")],
    "prims.convert_element_type.default": [lambda op, s: op(s.x, s.torch.float64),
                                           lambda op, s: op(s.x, s.torch.int32)],
    "aten.copy.default": [lambda op, s: op(s.x, s.y), lambda op, s: op(s.x, s.d)],
    "aten.cat.default": [lambda op, s: op([s.x, s.x], 1), lambda op, s: op([s.x, s.x.double()]),
                         lambda op, s: op([s.v[:0], s.v]),
                         lambda op, s: op([s.y.expand(5, 4).reshape(1, 20)] * 2, 1)],
    "aten.stack.default": [lambda op, s: op([s.x, s.x], -1)],
    "aten.flip.default": [lambda op, s: op(s.n, [0, -1]), lambda op, s: op(s.x, [])],
    "aten.repeat.default": [lambda op, s: op(s.x, [2, 1, 3])],
    "aten.constant_pad_nd.default": [lambda op, s: op(s.x, [1, 2]),
                                     lambda op, s: op(s.n, [0, 1, 2, 0], 3)],
    "aten.embedding.default": [lambda op, s: op(s.m, s.i)],
    "aten.index.Tensor": [lambda op, s: op(s.m, [s.i]), lambda op, s: op(s.m, [None, s.i % 3]),
                          lambda op, s: op(s.m, [s.i, s.i % 3]), lambda op, s: op(s.m, [s.i - 3])],
    "aten.index_select.default": [lambda op, s: op(s.m, 0, s.i), lambda op, s: op(s.m, 1, s.i[:1])],
    "aten.gather.default": [lambda op, s: op(s.m, 0, s.i.reshape(1, 3)),
                            lambda op, s: op(s.m, -1, s.i.reshape(3, 1) % 3)],
    "aten.full.default": [lambda op, s: s.x + op([1, 4], 2, dtype=s.x.dtype),
                          lambda op, s: s.x + op([], 2, dtype=s.x.dtype)],
    "aten.full_like.default": [lambda op, s: op(s.x, 3), lambda op, s: op(s.n, 1, dtype=s.torch.bool)],
    "aten.scalar_tensor.default": [lambda op, s: s.x * op(3, dtype=s.x.dtype)],
    "aten.arange.start_step": [lambda op, s: s.x + op(0, 4, 1, dtype=s.torch.int64),
                               lambda op, s: s.x + op(-1.0, 1.0, 0.5, dtype=s.torch.float32)],
    "aten.sum.default": [*EVERY, lambda op, s: op(s.x, dtype=s.torch.float64)],
    "aten.sum.dim_IntList": [*AXES, lambda op, s: op(s.o, []), lambda op, s: op(s.x, None),
                             lambda op, s: op(s.b, [0])],
    "aten.mean.default": EVERY,
    "aten.mean.dim": [*AXES, lambda op, s: op(s.x, None), lambda op, s: op(s.o, [0])],
    "aten.prod.default": EVERY, "aten.prod.dim_int": AXIS,
    "aten.cumsum.default": [lambda op, s: op(s.x, 0), lambda op, s: op(s.n, -1),
                            lambda op, s: op(s.o, 0)],
    "aten.amax.default": AXES + EVERY, "aten.amin.default": AXES + EVERY,
    "aten.max.default": EVERY, "aten.min.default": EVERY,
    "aten.max.dim": [lambda op, s, p=p, a=a: op(s.x, a)[p] for p in (0, 1) for a in (0, -1)],
    "aten.min.dim": [lambda op, s, p=p: op(s.n, 1, True)[p] for p in (0, 1)],
    "aten.argmax.default": AXIS + EVERY, "aten.argmin.default": AXIS + EVERY,
    "aten.any.default": EVERY, "aten.any.dim": AXIS, "aten.any.dims": AXES,
    "aten.all.default": EVERY, "aten.all.dim": AXIS, "aten.all.dims": AXES,
    "aten.var.correction": [lambda op, s: op(s.x, [0]), lambda op, s: op(s.n, [0, 2], correction=0),
                            lambda op, s: op(s.x, correction=2, keepdim=True)],
    "aten.linalg_vector_norm.default": [lambda op, s: op(s.x), lambda op, s: op(s.n, 2, [1], True)],
    "aten._softmax.default": [lambda op, s: op(s.x, -1, False), lambda op, s: op(s.n, 1, False)],
    "aten._log_softmax.default": [lambda op, s: op(s.x, 0, False)],
    "aten.native_layer_norm.default": [
        lambda op, s, p=p: op(s.n, [3, 4], None, None, 1e-5)[p] for p in (0, 1, 2)
    ] + [lambda op, s: op(s.x, [4], s.v, s.v, 1e-3)[0]],
    "aten.native_group_norm.default": [
        lambda op, s, p=p: op(s.g, s.v, s.v, 2, 4, 6, 2, 1e-5)[p] for p in (0, 1, 2)
    ],
    "aten._native_batch_norm_legit_no_training.default": [
        lambda op, s: op(s.g, s.v, s.v, s.v, s.v * s.v, 0.1, 1e-5)[0]
    ],
    "aten.mm.default": [lambda op, s: op(s.x, s.m)],
    "aten.bmm.default": [lambda op, s: op(s.n, s.n.transpose(1, 2))],
    "aten.addmm.default": [lambda op, s: op(s.x[0, :3], s.x, s.m),
                           lambda op, s: op(s.x[0, :3], s.x, s.m, beta=2, alpha=3),
                           lambda op, s: op(s.x[0, :3], s.x, s.m, beta=0)],
    "aten.baddbmm.default": [lambda op, s: op(s.n[:, :, :3], s.n, s.n.transpose(1, 2))],
}  # fmt: skip
