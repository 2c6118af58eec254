"""CUDA's own functions: each operator's PTX stays within the bound that is derived for a GPU."""

import numpy as np
import pytest

import opweave as ow
from tests.support.data import applied, chunks, maps, values

pytestmark = [pytest.mark.host, pytest.mark.nvrtc]
DTYPES = ["float32", "float64", "float16", "bfloat16", "complex64", "complex128", "int32", "int64",
          "uint8", "bool"]  # fmt: skip
# Integers have no reciprocal of zero, and NumPy refuses those to a negative power.
LEFT_OUT = {"i": {"reciprocal", "power"}, "u": {"reciprocal"}}


def groups():
    for dtype in DTYPES:
        for arity in (1, 2):
            kind = np.dtype(dtype).kind if dtype != "bfloat16" else "f"
            rows = [
                r for r in maps(arity, *[dtype] * arity) if r.name not in LEFT_OUT.get(kind, ())
            ]
            for number, group in enumerate(chunks(rows, 6)):
                yield pytest.param(dtype, arity, group, id=f"{dtype}-{arity}-{number}")


@pytest.mark.parametrize(("dtype", "arity", "group"), list(groups()))
def test_operators_stay_within_their_bounds(dtype, arity, group):
    args = [values(dtype, 64, seed) for seed in range(arity)]
    program = ow.fuse(applied(group)).lower(*args, target="sm_80")
    found = program.verify(*args, executor="ptx")
    bounds = ow.bounds.derive(program.fused, *args, executor="cuda")

    for bound, array in zip(bounds, found, strict=True):
        judged = ow.bounds.judge(bound, array)
        assert judged.ok, str(judged)


def test_a_function_within_its_bound_may_have_other_bits_than_the_hosts():
    x = values("float32", 512)
    program = ow.fuse(np.sin).lower(x, target="sm_80")
    cuda, host = program.verify(x, executor="ptx"), program.verify(x)

    assert (cuda != host).any()
    np.testing.assert_allclose(cuda, host, rtol=1e-5)


def test_a_check_in_the_interpreter_goes_by_the_figures_of_cudas_functions():
    x = np.linspace(0.4, 0.6, 1 << 12, dtype=np.float32)  # tanh: 1.7 ULP on the host, 2 on a GPU
    program = ow.fuse(np.tanh).lower(x, target="sm_80")
    report = program.check(x, executor="ptx")

    assert report.ok
    assert 1.7 < report.max_ulp < 2
    assert program.check(x, schedule=0).max_ulp < 1.7
    with pytest.raises(ow.errors.ArgumentError, match="executor='gpu': expected 'simt' or 'ptx'"):
        program.check(x, executor="gpu")
