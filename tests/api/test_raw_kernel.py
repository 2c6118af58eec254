"""``ow.raw_kernel``: whole kernels of one's own, called, in graphs, checked, sanitised, refused."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e

LIBRARY_IN_PARTS = True
SAXPY = r"""
// out = a * x + y
extern "C" __global__ void __launch_bounds__(256)
saxpy(float a, const float* x, const float* __restrict__ y, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i] + y[i];
}
"""
COLUMNS = r"""
extern "C" __global__ void extremes(const double* x, double* low, long long* at, int rows, int cols) {
    extern __shared__ double row[];
    for (int j = threadIdx.x; j < cols; j += blockDim.x) row[j] = x[(long long)blockIdx.x * cols + j];
    __syncthreads();
    if (threadIdx.x == 0) {
        int best = 0;
        for (int j = 1; j < cols; ++j) if (row[j] < row[best]) best = j;
        low[blockIdx.x] = row[best];
        at[blockIdx.x] = best;
    }
}
"""
FILL = 'extern "C" __global__ void iota(int n, int* out) { out[blockIdx.x] = n - blockIdx.x; }'
RACE = """extern "C" __global__ void turned(const float* x, float* out) {
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    out[threadIdx.x] = s[63 - threadIdx.x];
}"""


def declared(source=SAXPY, name="saxpy", **changed):
    fields = {
        "outputs": {"out": lambda x: x.shape},
        "extents": {"n": lambda x: x.size},
        "grid": lambda out: -(-out.size // 256),
        "numpy": lambda a, x, y: a * x + y,
    }
    return ow.raw_kernel(source, name, **{**fields, **changed})


saxpy = declared()
extremes = ow.raw_kernel(
    COLUMNS,
    "extremes",
    outputs={"low": lambda x: x.shape[0], "at": lambda x: x.shape[:1]},
    extents={"rows": lambda x: x.shape[0], "cols": lambda x: x.shape[1]},
    grid=lambda x: x.shape[0],
    block=32,
    shared=lambda x: 8 * x.shape[1],
    numpy=lambda x: (x.min(axis=1), x.argmin(axis=1)),
)
iota = ow.raw_kernel(
    FILL, "iota", outputs={"out": lambda n: n}, grid=lambda n: n, block=1,
    numpy=lambda n: np.arange(n, 0, -1, dtype=np.int32),
)  # fmt: skip
turned = ow.raw_kernel(
    RACE, "turned", outputs={"out": lambda x: x.shape}, grid=1, block=64, numpy=lambda x: x[::-1]
)


def random(*shape, dtype=np.float32):
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


X, Y = random(30, 40), random(30, 40)


def between(a, x, y):
    low, at = extremes((saxpy(a, np.exp(x), y) + 1).astype(np.float64))
    return np.sqrt(low * low), at * 2


@pytest.mark.host
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_it_is_a_node_whose_neighbours_are_fused(target):
    fused = ow.fuse(between, fullgraph=True)
    program = fused.lower(2.0, X, Y, target=target)
    names = [kernel.name for kernel in program.kernels]
    expected = between(2.0, X, Y)

    assert names[1] == "saxpy"
    assert "extremes" in names
    assert len(names) == 6
    assert SAXPY in program.source
    assert COLUMNS in program.source
    for found, wanted in zip(program(2.0, X, Y), expected, strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert program.check(2.0, X, Y).ok


@pytest.mark.host
def test_extents_and_numbers_differ_without_a_new_trace():
    fused = ow.fuse(between, fullgraph=True)
    for a, rows in ((2.0, 30), (0.5, 7), (3.0, 2)):
        x, y = X[:rows], Y[:rows]
        for found, wanted in zip(fused(a, x, y), between(a, x, y), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6)

    assert len(fused.traces) == 1


@pytest.mark.host
def test_a_call_on_arrays():
    np.testing.assert_array_equal(saxpy(2.0, X, Y), np.float32(2) * X + Y)
    np.testing.assert_array_equal(saxpy(y=Y, a=1, x=X), X + Y)
    np.testing.assert_array_equal(saxpy(True, X, Y), X + Y)
    assert saxpy(2.0, X[:0], Y[:0]).shape == (0, 40)
    np.testing.assert_array_equal(iota(5), [5, 4, 3, 2, 1])
    np.testing.assert_array_equal(iota(3), [3, 2, 1])
    program = iota.lower(4, target="sm_80")
    np.testing.assert_array_equal(program(4), [4, 3, 2, 1])


@pytest.mark.host
@pytest.mark.parametrize("target", ["host", "sm_75"])
def test_operands_in_any_order_are_copied_first(target):
    fused = ow.fuse(lambda x, y: saxpy(2.0, x.T, y[1:]))
    x, y = random(20, 31), random(32, 20)
    found = fused.lower(x, y, target=target)(x, y)

    np.testing.assert_array_equal(found, np.float32(2) * x.T + y[1:])
    np.testing.assert_array_equal(
        saxpy(1.0, X.T, np.asfortranarray(Y).T), X.T + np.asfortranarray(Y).T
    )


@pytest.mark.host
def test_in_loops_parts_and_graphs():
    step = ow.repeat(lambda x, a: saxpy(a, np.abs(x), x), 5)
    expected = X
    for _ in range(5):
        expected = np.float32(0.5) * np.abs(expected) + expected
    np.testing.assert_allclose(step(X, 0.5), expected, rtol=1e-6)

    def sorted_between(x, y):
        return saxpy(2.0, np.sort(saxpy(1.0, x, y) * 2, axis=1), y) + 1

    np.testing.assert_allclose(
        ow.fuse(sorted_between)(X, Y), sorted_between(X, Y), rtol=1e-5, atol=1e-6
    )
    graph = ow.Graph("graph")
    x, y = graph.host_to_device("x", X.shape), graph.host_to_device("y", X.shape)
    made = saxpy(2.0, graph.node("exp", x), y)  # or graph.node(saxpy, ...)
    graph.device_to_host(graph.node("sqrt", graph.node("absolute", made)), "root")
    assert "saxpy(2.0, exp_0, y)" in graph.source
    runner = ow.fuse(graph.function())
    np.testing.assert_allclose(
        runner(X, Y)[0], np.sqrt(np.abs(2 * np.exp(X) + Y)), rtol=1e-5, atol=1e-5
    )


@pytest.mark.host
def test_a_check_runs_the_source_and_names_the_kernel_that_is_wrong():
    wrong = declared(SAXPY.replace("+ y[i]", "- y[i]"))
    fused = ow.fuse(lambda x, y: np.exp(wrong(1.0, np.abs(x), y)) * 2)

    assert saxpy.check(2.0, X, Y).ok
    np.testing.assert_array_equal(wrong(1.0, X, Y), X + Y)  # NumPy stands in on the host
    with pytest.raises(e.CheckError, match=r"saxpy\.out: 1200 elements, \d+ elements WRONG"):
        fused.check(X, Y)
    found = fused.bisect(X, Y)
    assert found.culprit.operator == "kernel_saxpy"
    assert found.culprit.before == 1


@pytest.mark.host
def test_a_tolerance_is_the_authors():
    near = SAXPY.replace("a * x[i] + y[i]", "(a * x[i] + y[i]) * 1.001f")
    with pytest.raises(e.CheckError):
        declared(near).check(2.0, X, Y)
    assert declared(near, rtol=2e-3).check(2.0, X, Y).ok
    assert declared(near, atol=0.1).check(2.0, X, Y).ok


@pytest.mark.host
def test_races_and_overruns_are_found():
    x = random(64)
    over = declared(SAXPY.replace("i < n", "i <= n"))

    np.testing.assert_array_equal(turned(x), x[::-1])
    with pytest.raises(e.LaunchError, match="turned:4: shared-race"):
        turned.lower(x, target="sm_80").verify(x)
    report = ow.sanitize(turned, x, schedules=2)
    assert [f.kind for f in report.findings] == ["shared-race"]
    with pytest.raises(e.LaunchError, match="saxpy:6: out-of-bounds"):
        over.check(2.0, X, Y)
    assert ow.sanitize(ow.fuse(between), 2.0, X, Y, schedules=2).ok


def test_what_is_shown():
    program = saxpy.lower(2.0, X, Y, target="sm_90a")
    text = str(saxpy.explain(2.0, X, Y))
    fused = ow.fuse(lambda x, y: saxpy(2.0, np.exp(x), y)).lower(X, Y)

    assert "saxpy: handwritten: saxpy" in text
    assert "block (256, 1, 1)" in text
    assert "float a, const float* x" in str(program.kernels[0])
    assert "exp -> kernel_saxpy: not fused, a kernel that someone wrote" in str(
        fused.lowered.schedule.decisions[0]
    )
    assert repr(saxpy).startswith("<kernel saxpy(float a, ")


HISTOGRAM = r"""
extern "C" __global__ void counts(const int* bins, int* total, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(total + bins[i], 1);
}
"""


def counting(**more):
    return ow.raw_kernel(
        HISTOGRAM,
        "counts",
        outputs={"total": lambda bins: 16},
        extents={"n": lambda bins: bins.size},
        grid=lambda bins: -(-bins.size // 256),
        numpy=lambda bins: np.bincount(bins.ravel(), minlength=16).astype(np.int32),
        **more,
    )


@pytest.mark.host
def test_outputs_that_begin_as_zeros():
    bins = np.random.default_rng(0).integers(0, 16, 1000).astype(np.int32)
    counts = counting(zeros=("total",))
    twice = ow.fuse(lambda bins: counts(bins) + counts(bins // 2))

    assert counts.check(bins).ok
    assert twice.check(bins).ok
    assert ow.sanitize(twice, bins, schedules=2).ok
    with pytest.raises(e.LaunchError, match="counts:4: uninitialised"):
        counting().check(bins)


@pytest.mark.host
def test_operands_of_one_shape():
    fused = ow.fuse(lambda x, y: saxpy(2.0, np.exp(x), y))

    np.testing.assert_allclose(fused(X, Y), 2 * np.exp(X) + Y, rtol=1e-4, atol=1e-5)
    with pytest.raises(
        e.ShapeError, match=r"y: expected the shape \(30, 40\), that of x; .*; found \(3, 40\)"
    ):
        fused(X, Y[:3])
    np.testing.assert_allclose(fused(X[:3], Y[:3]), fused(X, Y)[:3])
    assert len(fused.traces) == 1


DOT = """extern "C" __global__ void rows(const float* a, const float* x, float* out, int n) {
    float s = 0;
    for (int j = 0; j < n; ++j) s += a[(long long)blockIdx.x * n + j] * x[j];
    out[blockIdx.x] = s;
}"""


def by_vector(**changed):
    return ow.raw_kernel(
        DOT, "rows", outputs={"out": lambda a: a.shape[0]}, extents={"n": lambda a: a.shape[1]},
        grid=lambda out: out.size, block=1, numpy=lambda a, x: a @ x, **changed
    )  # fmt: skip


@pytest.mark.host
def test_the_shape_of_an_operand_is_declared():
    kernel = by_vector(shapes={"x": lambda a: a.shape[1]})
    np.testing.assert_allclose(kernel(X, Y[0]), X @ Y[0], rtol=1e-4, atol=1e-4)
    assert kernel.check(X, Y[0]).ok
    with pytest.raises(e.ShapeError, match=r"x: expected .*\(40,\), as shapes\['x'\].* \(39,\)"):
        kernel(X, Y[0, 1:])
    with pytest.raises(e.ShapeError, match=r"that of a; declare another one in shapes={'x': ...}"):
        by_vector()(X, Y[0])
    longer = by_vector(shapes={"x": None}, rtol=1e-3)  # any: the meaning, then the checker judges
    np.testing.assert_allclose(longer(X, Y[0]), X @ Y[0], rtol=1e-4, atol=1e-4)


def test_what_a_call_waits_for_is_told():
    found = ow.regime(saxpy, 2.0, X, Y, measure=False)

    assert found.launches == 1
    assert found.work.bytes == 3 * X.nbytes


# Refusals


REFUSED = [
    ("another name", e.NameRefusedError, "no __global__ function called 'axpy': it has saxpy",
     {'name': "axpy"}),
    ("no C name", e.NameRefusedError, "write extern \"C\" __global__ void saxpy",
     {'source': SAXPY.replace('extern "C"', "")}),
    ("no text", e.ArgumentError, "expected CUDA C", {'source': b"x"}),
    ("meaning of two", e.ArgumentError, r"takes 2 parameters \(a, x\), a call of the kernel 3",
     {'numpy': lambda a, x: a * x}),
    ("meaning with other names", e.ArgumentError, "same names in the same order",
     {'numpy': lambda a, y, x: a * x + y}),
    ("no meaning", e.ArgumentError, "numpy=None: expected a function", {'numpy': None}),
    ("undeclared output", e.ArgumentError, "parameter out .*may write there, and no output",
     {'outputs': {}}),
    ("output of no parameter", e.ArgumentError, "outputs names 'z', which is no parameter",
     {'outputs': {"z": lambda x: x.shape}}),
    ("const output", e.ArgumentError, "parameter x .*line 4.*an output is a pointer",
     {'outputs': {"x": lambda y: y.shape, "out": lambda y: y.shape}}),
    ("extent of a float", e.ArgumentError, "parameter a .*an extent is an integer",
     {'extents': {"a": lambda x: 1, "n": lambda x: x.size}}),
    ("shape of an unknown", e.ArgumentError, r"outputs\['out'\] asks for 'z'",
     {'outputs': {"out": lambda z: z.shape}}),
    ("no function", e.ArgumentError, r"outputs\['out'\]: expected a function",
     {'outputs': {"out": (3, 4)}}),
    ("grid of 0", e.ArgumentError, "grid=0: expected numbers from 1", {'grid': 0}),
    ("grid of text", e.ArgumentError, "grid='x': expected a number", {'grid': "x"}),
    ("too many blocks", e.ArgumentError, "grid=.*65536", {'grid': (1, 65536)}),
    ("too many threads", e.ArgumentError, "at most 1024 threads", {'block': (64, 32)}),
    ("no threads", e.ArgumentError, "block=0", {'block': 0}),
    ("shared memory", e.ArgumentError, "bytes up to 232448", {'shared': 1 << 20}),
    ("shape of a number", e.ArgumentError, r"shapes=\['a'\]: expected names among x, y",
     {'shapes': {"a": None}}),
    ("shape by no function", e.ArgumentError, r"shapes\['y'\]: expected a function",
     {'shapes': {"y": (3,)}}),
    ("shapes that are none", e.ArgumentError, r"shapes=\('y',\): expected a dict",
     {'shapes': ("y",)}),
    ("zeros of no output", e.ArgumentError, r"zeros=\['x'\]: expected names of outputs",
     {'zeros': ("x",)}),
    ("negative tolerance", e.ArgumentError, "rtol=-1", {'rtol': -1}),
    ("a type of its own", e.DTypeError, "parameter x .*none of NumPy's: name the dtype",
     {'source': SAXPY.replace("const float* x", "const My* x")}),
    ("a half by value", e.DTypeError, "a number by value",
     {'source': SAXPY.replace("float a", "half a")}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "text", "changed"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_definitions_that_are_refused(kind, text, changed):
    with pytest.raises(kind, match=text):
        declared(**changed)


CALLS = [
    ("float64", e.DTypeError, r"parameter x .*array of float32, found float64: .*astype",
     lambda: saxpy.lower(2.0, X.astype(float), Y)),
    ("a number for an array", e.ArgumentError, "parameter x .*an array of float32, found a number",
     lambda: ow.fuse(lambda y: saxpy(2.0, 1.0, y)).lower(Y)),
    ("an array for a number", e.ArgumentError, "parameter a .*expected a number, found an array",
     lambda: saxpy.lower(X, X, Y)),
    ("another kind of number", e.DTypeError, "parameter a .*expected float32, found float64",
     lambda: saxpy.lower(np.float64(2), X, Y)),
    ("too few", e.ArgumentError, r"expected 3 operands \(float a, .*found 2",
     lambda: saxpy(2.0, X)),
    ("the user's line", e.DTypeError, r"\(test_raw_kernel\.py:\d+\)",
     lambda: ow.fuse(lambda x, y: saxpy(2.0, x * 1.5, y)).lower(X.astype(float), Y)),
    ("a shape of floats", e.ShapeError, r"outputs\['out'\]: expected a shape of whole numbers",
     lambda: declared(outputs={"out": lambda x: 1.5}).lower(2.0, X, Y)),
    ("a shape that raises", e.ArgumentError, r"outputs\['out'\] raised ZeroDivisionError",
     lambda: declared(outputs={"out": lambda x: 1 // 0}).lower(2.0, X, Y)),
    ("an extent of floats", e.ArgumentError, r"extents\['n'\]: expected a whole number",
     lambda: declared(extents={"n": lambda x: 0.5}).lower(2.0, X, Y)),
    ("an extent that does not fit", e.OutOfRangeError, "out of bounds for int32",
     lambda: declared(extents={"n": lambda x: 2**40}).lower(2.0, X, Y)),
    ("meaning of another shape", e.ShapeError, r"out has the shape \(30, 40\), .*gives \(30,\)",
     lambda: declared(numpy=lambda a, x, y: x[:, 0]).lower(2.0, X, Y)),
    ("meaning of another dtype", e.DTypeError, "array of float32, .*gives float64: end it",
     lambda: declared(numpy=lambda a, x, y: x * 1.0 + np.float64(a)).lower(2.0, X, Y)),
    ("meaning of two results", e.ShapeError, "gives 2 results, the kernel makes 1",
     lambda: declared(numpy=lambda a, x, y: (x, y)).lower(2.0, X, Y)),
    ("no blocks", e.LaunchError, r"grid=0: expected numbers from 1",
     lambda: declared(grid=lambda out: out.size // 10**6)(2.0, X, Y)),
    ("too many blocks", e.LaunchError, "grid=.*expected numbers from 1 to",
     lambda: declared(grid=lambda out: (1, 70000))(2.0, X, Y)),
    ("a grid that raises", e.LaunchError, "grid raised ZeroDivisionError",
     lambda: declared(grid=lambda out: 1 // 0)(2.0, X, Y)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "text", "call"), [c[1:] for c in CALLS], ids=[c[0] for c in CALLS]
)
def test_calls_that_are_refused(kind, text, call, monkeypatch):
    def none(*args, **kwargs):
        raise AssertionError("a compiler runs")

    from opweave.runtime.binaries.build import BinaryBuilder

    monkeypatch.setattr(BinaryBuilder, "_compile", none)
    with pytest.raises(kind, match=text):
        call()


def test_shared_memory_is_held_to_the_devices():
    kernel = declared(shared=100 << 10)

    kernel.lower(2.0, X, Y, target="sm_90a").kernels[0].raw_kernel()
    with pytest.raises(
        e.LaunchError, match="shared=102400: expected a number of bytes up to 65536"
    ):
        kernel.lower(2.0, X, Y, target="sm_75")(2.0, X, Y)


@pytest.mark.host
def test_a_source_that_does_not_compile():
    kernel = declared(SAXPY.replace("a * x[i]", "a * q[i]"))

    np.testing.assert_array_equal(kernel(1.0, X, Y), X + Y)  # the source does not run
    with pytest.raises(e.CompileError, match="kernel saxpy") as error:
        kernel.check(1.0, X, Y)
    assert error.value.line == 6
    assert "q" in error.value.source.split("\n")[5]


@pytest.mark.nvrtc
def test_a_source_that_nvrtc_refuses():
    with pytest.raises(e.CompileError) as error:
        declared(SAXPY.replace("a * x[i]", "a * q[i]")).lower(1.0, X, Y, target="sm_90a").compile()
    assert error.value.line == 6

    program = saxpy.lower(1.0, X, Y, target="sm_90a")
    assert "FFMA" in program.compile().kernels[0].sass or "FMUL" in program.kernels[0].sass
