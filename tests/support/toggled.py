"""Operators with toggles of their own, for the tests of these."""

import numpy as np

import opweave as ow

X = np.random.default_rng(0).standard_normal((8, 50)).astype(np.float32)

FLIP = ow.toggle("FLIPPED", 0, 1, doc="operands the other way round")
STEPS = ow.toggle("STEPS", 2, 4, doc="terms", same_bits=False)
NAMED = """
#if FLIPPED   // which way
s = 1 / (1 + exp(-x))
#else
s = 1 / (exp(-x) + 1)
#endif"""
INSIDE = "x *\n#if FLIPPED\n(s + 0)\n#else\ns\n#endif"
STATEMENTS = """
if (x > 0) return x;
  #if FLIPPED
return x * (T)0.25;
  #else
return (T)0.25 * x;
  #endif
"""
LOOP = "T s = 1, t = 1;\nfor (int i = 1; i <= STEPS; ++i) { t = t * x / i; s += t; }\nreturn s;"


def swish_of(x):
    return x / (1 + np.exp(-x))


def leaky_of(x):
    return np.where(x > 0, x, x * np.float32(0.25))


def own(name, fragments, meaning, rule="float", ulp=8.0):
    """An operator that no other test finds in the table of all."""
    ow.operator(name, fragments, rule, meaning, ulp=ulp, replace=True)
    return ow.OPERATORS.pop(name)


swish = own("toggled_swish", [FLIP, NAMED, INSIDE], swish_of)
leaky = own("toggled_leaky", [FLIP, STATEMENTS], leaky_of)
terms = own("toggled_terms", [STEPS, LOOP], np.exp, ulp=1e9)


def bits(value):
    found = value if isinstance(value, tuple) else (value,)
    return [(a.dtype, a.shape, np.asarray(a).tobytes()) for a in found]


@ow.fuse
def toggled(x):
    return leaky(swish(x * 2)) + 1, swish(leaky(x)).sum(axis=1)
