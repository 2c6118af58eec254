"""Loads and stores of a user's own in every template that has them, and why others take none."""

import re

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e

o = ow.opcodes
host = pytest.mark.host
M = np.random.default_rng(0).standard_normal((64, 48)).astype(np.float32)
W = M.T.copy()
LONG = np.random.default_rng(1).standard_normal((2, 70_001)).astype(np.float32)
PICTURE = np.random.default_rng(2).random((16, 20, 3), dtype=np.float32)
OWN_LOAD = ow.structural("load", "(T)__ldcg(p)", name="cached")
OWN_STORE = ow.structural("store", "__stcg(p, (S)x)", name="cached")
HALVES = M.astype(np.float16)
COUNTS = (M * 9).astype(np.int32)

# By the template: functions, and what they are called with.
FORMS = {
    "scan": [(lambda x: np.cumsum(x * 2, axis=1) + 1, M)],
    "scan_parts": [(lambda x: np.cumsum(x * 2, axis=1), LONG)],
    "scan_columns": [(lambda x: np.cumsum(x, axis=0) + x, M)],
    "tile": [(lambda x, w: x + w.T, M, W), (lambda x, w: x * w.T, HALVES, HALVES.T.copy())],
    "product": [
        (lambda x, w: x @ w + 1, M, W),
        (lambda x, w: x.T @ w.T * x[0, 0], M, W),
        (lambda x, w: x @ w, HALVES, HALVES.T.copy()),
        (lambda x, w: x @ w, COUNTS, COUNTS.T.copy()),
        (lambda x, w, b: (x @ w) * b, M[:, ::2], W[::2], np.ones(64, np.float32)),
    ],
    "product_rows": [(lambda x, w: (x @ w).max(axis=1), M, W)],
    "pixel": [
        (lambda x: o.saturation(x, 0.5), PICTURE),
        (lambda x: o.saturation(x[:, ::2], 0.5), PICTURE),
        (lambda x, g: o.saturation(x, 0.5) * g, PICTURE, PICTURE[:, :, :1].copy()),
    ],
    "reduce": [(lambda x: x.sum(axis=1), LONG)],
    "row": [(lambda x: x - x.max(axis=1, keepdims=True), M)],
}  # fmt: skip
CASES = [(name, *row) for name, rows in FORMS.items() for row in rows]
TARGETS = ("host", "sm_80")


def lowered(function, *args, target, **toggles):
    fused = ow.fuse(function).with_toggles(**toggles)
    return fused.lower(*args, target=target).kernels[0]


def bits(result):
    return np.asarray(result).tobytes()


@host
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("template", "function", "args"), [(n, f, a) for n, f, *a in CASES])
def test_op_codes_of_loads_and_stores_keep_the_bits(template, function, args, target):
    kernel = lowered(function, *args, target=target)
    if kernel.data.by_numpy:
        return  # a library's
    want = bits(kernel(*args))
    if target == "sm_80":
        assert kernel.data.template == template

    for load, store in (
        (o.read_only, o.streaming_store),
        (o.packed_pairs, OWN_STORE),
        (o.streaming_load, OWN_STORE),
        (OWN_LOAD, o.streaming_store),
    ):
        if load is OWN_LOAD and args[0].dtype == np.float16:
            continue  # it converts by a cast
        if store is OWN_STORE and args[0].dtype == np.float16:
            store = o.streaming_store
        made = kernel.replace("load", load).replace("store", store)
        assert made.data.template == kernel.data.template or target == "host"
        assert bits(made(*args)) == want
        assert made.source != kernel.source


@host
@pytest.mark.parametrize("template", ["tile", "product", "product_rows"])
def test_tiles_that_come_straight_from_memory_are_read_by_them(template):
    for function, *args in FORMS[template]:
        kernel = lowered(function, *args, target="sm_80", USE_SHARED_MEMORY=0)
        made = kernel.replace("load", o.read_only).replace("store", o.streaming_store)
        assert bits(made(*args)) == bits(kernel(*args))
        assert "ReadOnly" in made.flat


WORDS = {
    "scan": ("load_chunk_by<ReadOnly>(x_v, x", "store_chunk_by<Streaming>(out"),
    "scan_parts": ("load_chunk_by<ReadOnly>(x_v, x", "store_chunk_by<Streaming>(out"),
    "scan_columns": ("load_chunk_by<ReadOnly>(x_v[c], x", "store_chunk_by<Streaming>(out"),
    "tile": ("load_chunk_by<ReadOnly>(w_view_v, w_view + ", "store_chunk_by<Streaming>(out"),
    "product": ("load_chunk_by<ReadOnly>(chunk, w + ", "store_chunk_by<Streaming>(out"),
    "product_rows": (
        "load_chunk_by<ReadOnly>(chunk, x + ",
        "store_by<Streaming>(out + row, max0)",
    ),
    "pixel": ("load_pixels_by<ReadOnly>(x_v[c], x + ", "store_pixels_by<Streaming>(out + "),
}


@pytest.mark.parametrize("template", WORDS)
def test_whole_chunks_go_by_the_policy_on_a_gpu(template):
    function, *args = FORMS[template][0]
    kernel = lowered(function, *args, target="sm_80")
    made = kernel.replace("load", o.read_only).replace("store", o.streaming_store)

    for text in WORDS[template]:
        assert text in made.source
        assert text not in kernel.source
    left = re.findall(r"\bload_(?:chunk|strided|pixels)\((\w+)", made.flat.split("extern")[1])
    assert left == ["product_v"] * (template == "product_rows")
    listed = str(made)
    assert "// read_only" in listed
    assert "// streaming_store" in listed


@host
def test_what_fills_a_tile_up_is_as_before():
    x, w = np.full((3, 5), -0.0, np.float32), np.ones((5, 7), np.float32)
    codes = ["acc = -0.0f", "acc + x * y"]
    times = ow.product("begun", codes, "same", (np.multiply, np.add), replace=True)
    kernel = lowered(lambda x, w: times(x, w), x, w, target="sm_80")
    for code in (o.read_only, OWN_LOAD):
        made = kernel.replace("load", code)
        assert bits(made(x, w)) == bits(kernel(x, w))
        assert np.signbit(made(x, w)).all()


@host
def test_an_op_code_of_a_factor_is_a_function_that_errors_name():
    kernel = lowered(lambda x, w: x @ w, M, W, target="sm_80")
    made = kernel.replace("load w", OWN_LOAD)
    assert (
        "static __device__ __forceinline__ float w_read(const float* p)\n{\n"
        "    return (float)__ldcg(p);\n}"
    ) in made.source
    assert "w_read(w + " in made.source

    broken = kernel.replace("load w", ow.structural("load", "nosuch(p)"))
    with pytest.raises(e.CompileError) as caught:
        broken.program.compile()
    assert caught.value.opcode == "load w"


@host
def test_lists_of_products_scans_and_pixels_have_them():
    k = ow.kernel([
        ow.load("x", by=o.read_only), ow.load("w", by=OWN_LOAD), o.matmul("x", "w"), o.add(1),
        ow.store("y", by=o.streaming_store),
    ], name="k")  # fmt: skip
    np.testing.assert_allclose(k(M, W), M @ W + 1, rtol=1e-4, atol=1e-5)
    assert k.lower(M, W, target="sm_80").check(M, W).ok

    runs = ow.kernel([ow.load("x", by=o.read_only), o.cumsum, ow.store(by=o.streaming_store)])
    assert bits(runs(M)) == bits(ow.fuse(lambda x: np.cumsum(x, axis=-1))(M))


@host
def test_a_store_that_adds_adds_each_element_once():
    i = np.arange(64 * 48, dtype=np.int32).reshape(64, 48) % 7
    for function, args in (
        (lambda x: np.cumsum(x, axis=1, dtype=np.int32), (i,)),
        (lambda x, w: x + w.T, (i, i.T.copy())),
        (lambda x, w: x @ w, (i, i.T.copy())),
    ):
        fused = ow.fuse(function)
        made = fused.lower(*args, target="sm_80").kernels[0].replace("store", o.accumulate)
        np.testing.assert_array_equal(made(*args), function(*args))
        assert ow.sanitize(made, *args, schedules=1).ok


# The checker


@host
@pytest.mark.parametrize("template", ["tile", "product", "scan"])
def test_an_overrun_of_a_load_or_store_is_found(template):
    function, *args = FORMS[template][0]
    kernel = lowered(function, *args, target="sm_80")
    for name, code in (
        ("load x", ow.structural("load", "p[4096]")),
        ("store", ow.structural("store", "p[1 << 14] = x")),
    ):
        findings = ow.sanitize(kernel.replace(name, code), *args, schedules=1).findings
        assert {f.kind for f in findings} == {"out-of-bounds"}


@host
@pytest.mark.parametrize("template", ["tile", "product", "scan_columns"])
def test_a_race_of_stores_is_found(template):
    function, *args = FORMS[template][0]
    kernel = lowered(function, *args, target="sm_80")
    racy = kernel.replace("store", ow.structural("store", "*(S*)((uint64)p & ~(uint64)31) = x"))

    kinds = {f.kind for f in ow.sanitize(racy, *args, schedules=2).findings}
    assert "global-race" in kinds


# What is refused

REFUSED = [
    ("scan", "index", o.grid_stride, "scan.*meet at barriers.*Here its loads and its stores can"),
    ("tile", "guard", ow.structural("guard", "end = cols"), None),
    ("product", "index", o.grid_stride, "product.*threads of a tile.*expected .*: map"),
    ("product_rows", "guard", ow.structural("guard", "end = cols"), "product_rows.*no guard"),
    ("pixel", "index", o.grid_stride, "pixel.*whole pixels"),
    ("scan_columns", "index", o.grid_stride, "scan_columns.*goes down its columns"),
    ("scan_parts", "index", o.grid_stride, "scan_parts.*barriers"),
    ("product", "load q", o.read_only, "those of .*: load x, load w"),
    ("product_rows", "load product", o.read_only, "those of .*: load x, load w"),
]


@pytest.mark.parametrize(("template", "place", "code", "message"), REFUSED)
def test_what_a_template_does_not_take_is_refused_with_what_it_does(
    template, place, code, message
):
    function, *args = FORMS[template][0]
    kernel = lowered(function, *args, target="sm_80")
    if message is None:  # a map without tiles takes it
        assert kernel.replace(place, code).data.template == "map"
        return
    with pytest.raises(e.EditError, match=f"(?s){message}"):
        kernel.replace(place, code)


def test_a_library_takes_none():
    kernel = ow.fuse(lambda x, w: x @ w).lower(M, W, target="host").kernels[0]
    with pytest.raises(e.EditError, match=r"a library computes it; in an ow.kernel list"):
        kernel.replace("load", o.read_only)


@pytest.mark.parametrize("place", ["load x", "store"])
def test_what_a_loop_reads_again_is_refused(place):
    code = o.read_only if place == "load x" else o.streaming_store
    loop = ow.repeat(ow.fuse(lambda x: x - x.max(axis=1, keepdims=True)), 3)
    with pytest.raises(e.EditError, match="it has stored in the one before.*no turn changes"):
        loop.lower(M, target="sm_80").kernels[0].replace(place, code)
    scaled = ow.repeat(ow.fuse(lambda x: x * 0.5), 3).lower(M, target="sm_80").kernels[0]
    assert scaled.replace(place, code).source != scaled.source


SCALE = ow.kernel(
    [o.grid_stride, ow.load("x", by=o.read_only), o.multiply(3), ow.store("y")], name="scale"
)
FLIPPED = SCALE.with_toggles(USE_VECTOR_IO=0)
TWICE = ow.repeat(FLIPPED, 2)


def into(x):
    made = np.empty_like(x)
    SCALE(x, out=made)
    return made + 1


INSIDE = {
    "the list": lambda x: SCALE(x) + 1,
    "with its own out": into,
    "with toggles": lambda x: FLIPPED(x) + 1,
    "its function": lambda x: SCALE.fused(x) + 1,
    "repeated": lambda x: TWICE(x) + 1,
    "in a function that runs in parts": lambda x: np.vectorize(abs)(FLIPPED(x)),
}


@host
@pytest.mark.parametrize("name", INSIDE)
def test_a_list_with_structural_op_codes_is_never_silently_without_them(name):
    with pytest.raises(e.EditError, match="scale: structural op-codes .*a kernel of its own"):
        ow.fuse(INSIDE[name])(M)
    plain = SCALE.remove("index").with_toggles(USE_VECTOR_IO=0)
    assert "grid_stride" in FLIPPED.lower(M).kernels[0].source
    assert "read_only" in str(plain.lower(M).kernels[0])


@pytest.mark.nvrtc
@pytest.mark.parametrize("template", WORDS)
def test_nvrtc_takes_them(template):
    function, *args = FORMS[template][0]
    kernel = lowered(function, *args, target="sm_80")
    for load, store in ((o.read_only, o.streaming_store), (OWN_LOAD, OWN_STORE)):
        made = kernel.replace("load", load).replace("store", store)
        made.program.compile()
        assert made.source != kernel.source


# Policies that keep every bit differ in the widths of words alone, which a CPU does not show.
WIDTHS = {
    "float32": ("LDG.E.128.CONSTANT", "STG.E.EF.128", ("LDG.E.64", 2)),
    "float16": ("LDG.E.128.CONSTANT", "STG.E.EF.128", ("LDG.E.CONSTANT", 4)),
    "float64": ("LDG.E.128.CONSTANT", "STG.E.EF.128", ("LDG.E.128", 1)),
}


@pytest.mark.nvrtc
@pytest.mark.parametrize("dtype", WIDTHS)
def test_the_words_of_a_policy_are_as_wide_as_it_says(dtype):
    read, written, (pairs, count) = WIDTHS[dtype]
    kernel = lowered(lambda x: x * 2 + 1, np.zeros(4096, dtype), target="sm_80")

    sass = kernel.replace("load", o.read_only).replace("store", o.streaming_store).sass
    # a block that lies inside as a whole has loads of its own
    assert (sass.count(read), sass.count(written)) == (2, 1)
    assert kernel.replace("load", o.packed_pairs).sass.count(pairs) == 2 * count
    pixels = lowered(lambda x: o.saturation(x, 0.5), PICTURE, target="sm_80")
    assert pixels.replace("load", o.read_only).sass.count("LDG.E.128.CONSTANT") == 3


@pytest.mark.host
@pytest.mark.parametrize("turned", [np.asfortranarray, lambda y: y[::-1], lambda y: y[:, ::-1]])
def test_a_load_of_pixels_that_do_not_lie_in_rows_reads_them_one_by_one(turned):
    codes = ow.opcodes
    shift = codes.neighbour(step=-3, bounds="wrap").named("m")
    rest = [shift, codes.bitwise_and("m", "y").named("k"), ow.store("z", "k")]
    y = turned(np.arange(80, dtype=np.int32).reshape(40, 2))
    loads = (ow.load("y"), ow.load("y", by=codes.streaming_load))
    found = [ow.kernel([load, *rest], name="k1")(y) for load in loads]
    for result in found:
        np.testing.assert_array_equal(result, np.roll(y, 3, -1) & y)
