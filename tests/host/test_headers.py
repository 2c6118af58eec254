"""A kernel for the host includes the kinds of special functions that it names, and no others."""

import itertools
import re
import shutil
import subprocess

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.binaries import build, hostcc
from opweave.runtime.binaries.headers import fitted, left_out, special_names
from opweave.templates import TEMPLATES

INCLUDE = '#include "opweave.cuh"\n'
KINDS = ("EXPONENTIALS", "LOGARITHMS", "POWERS", "ANGLES")


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("out[0] = x[0] * 2.0f;", ""),
        ("out[0] = sqrt(fabs(x[0])) + floor(x[0]);", ""),
        ("out[0] = fmod(x[0], fma(x[0], 2.0f, 1.0f));", ""),
        ("out[0] = exp(x[0]);", "EXPONENTIALS"),
        ("out[0] = expf(x[0]) * log1p(y[0]);", "EXPONENTIALS LOGARITHMS"),
        ("out[0] = atan2f(x[0], 2.0f);", "ANGLES"),
        ("out[0] = tgamma(x[0]);", "LOGARITHMS"),
        ("out[0] = hypot(x[0], pow(x[0], 2.0f));", "POWERS"),
        ("const complex64 z = w[0] * w[1];", ""),
        ("const complex64 z = sign(w[0]);", "POWERS"),  # which divides by hypot
        ("out[0] = significand(x[0], n);", "POWERS"),  # which calls frexp
        ("out[0] = ex ## p(x[0]);", "EXPONENTIALS LOGARITHMS POWERS ANGLES"),
    ],
)
def test_a_kernel_includes_the_kinds_that_it_names(line, kinds):
    missing = [kind for kind in KINDS if kind not in kinds.split()]
    expected = [f"#define OW_NO_{kind}" for kind in missing]
    assert left_out(f"{INCLUDE}{line}\n").splitlines() == expected


def test_every_special_function_is_of_one_kind():
    headers = [p.read_text() for p in (TEMPLATES / "host").glob("*.cuh")]
    known = {kind: set(names) for kind, names in special_names().items()}
    for first, second in itertools.combinations(known, 2):
        assert not known[first] & known[second], (first, second)
    everything = set().union(*known.values())
    asked = {"exp", "log", "tanh", "sin", "tan", "pow", "cbrt", "erf", "lgamma", "atan2", "hypotf"}
    assert asked <= everything
    assert not {"sqrt", "sqrtf", "fabs", "fmod", "floor", "load_chunk"} & everything
    named = set(re.findall(r"OW_FLOAT_NAME\((\w+)\)", "".join(headers))) - {"NAME"}
    plain = {"sqrt", "rsqrt", "fabs", "floor", "ceil", "trunc", "rint"}
    assert named - plain <= everything


@pytest.mark.host
@pytest.mark.parametrize("missing", [KINDS, *itertools.combinations(KINDS, 2)], ids="-".join)
def test_headers_compile_without_any_of_the_kinds(missing):
    defines = "".join(f"#define OW_NO_{kind}\n" for kind in missing)
    toggles = "".join(f"#define {name} 0\n" for name in ("USE_64BIT_INDEX", "USE_FAST_MATH"))
    for include in ("opweave", "ordinary"):
        source = f'{defines}{toggles}#include "{include}.cuh"\n'
        assert hostcc.compile_host(source, hostcc.flags("run", fast=False), build.HOST_INCLUDE)


def test_a_users_own_text_is_not_touched():
    assert left_out("__global__ void twice(float* x) { x[0] = 2 * x[0]; }\n") == ""


@pytest.mark.host
def test_with_and_without_them_the_bits_are_the_same():
    x = np.linspace(-3, 3, 1001, dtype=np.float32)
    plain = ow.fuse(lambda x: x * 3 + np.sqrt(abs(x)))(x)
    beside = ow.fuse(lambda x: (x * 3 + np.sqrt(abs(x)), np.exp(x)))(x)[0]
    assert np.array_equal(plain, beside)


def test_what_is_unrolled_on_a_gpu_is_left_to_the_hosts_compiler():
    def softmax(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    (kernel,) = ow.fuse(softmax).lower(np.ones((90, 100), "f4"), target="host").kernels
    assert "#pragma unroll ROW_CHUNKS" in kernel.source
    runs, checked = (fitted(kernel.source, plainly=plainly) for plainly in (False, True))
    assert "#pragma unroll" not in runs
    assert checked.endswith(kernel.source)
    lines = [text.partition("#line 1\n")[2].count("\n") for text in (runs, checked)]
    assert lines[0] == lines[1] == kernel.source.count("\n")  # of a complaint


@pytest.mark.host
def test_a_row_is_not_compiled_for_each_chunk():
    def logits(x):
        return np.log(np.exp(x - x.max(axis=1, keepdims=True)).sum(axis=1))

    (kernel,) = ow.fuse(logits).lower(np.ones((90, 100), "f4"), target="host").kernels
    built = build.build_kernel(kernel.data, kernel.source, mode="run")
    assert len(built.payload) < 50_000  # 170,000 and ten times as long, where it is


def few(u):
    u[: len(u) // 2] *= 0.5


def shifted(u, v):
    u[1:-1] += v[2:]


def points(p):
    p[3:-2] += p[5:] * 2


def turned(u):
    z = u * 1j
    return np.where(u < 2, z * z, z + 1)


def masked(u):
    return u * 2 * (u > 0.5)


def of_rows(u):
    return (u - u.max(axis=1, keepdims=True)) * 2


@pytest.mark.host
@pytest.mark.parametrize(("dtype", "registers"), [("f8", "pd"), ("f4", "ps")])
@pytest.mark.parametrize(
    ("function", "columns"),
    [(few, 100), (shifted, 100), (points, 3), (turned, 100), (masked, 100), (of_rows, 100)],
)
def test_choices_and_places_are_computed_by_vectors(function, columns, dtype, registers, tmp_path):
    objdump = shutil.which("objdump")
    if "g++" not in hostcc.host_compiler().command[0]:
        pytest.skip("what g++ makes of it")
    if objdump is None or "avx2" not in hostcc.cpu_features().split():
        pytest.skip("no objdump, or a processor without AVX2")
    if (function, dtype) == (points, "f8") and "avx512f" not in hostcc.cpu_features().split():
        pytest.skip("gathers of four doubles do not pay by g++'s model of the processor")
    args = [np.ones((90, columns), dtype)] * function.__code__.co_argcount
    (kernel,) = ow.fuse(function).lower(*args, target="host").kernels
    path = tmp_path / "kernel.so"
    path.write_bytes(build.build_kernel(kernel.data, kernel.source, mode="run").payload)
    told = subprocess.run([objdump, "-d", path], capture_output=True, text=True, check=True).stdout

    assert re.search(rf"v(mul|add){registers}\b", told)
    assert not re.search(rf"v(mul|add)s{registers[1]}\b", told)
