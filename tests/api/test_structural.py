"""Structural op-codes: index, guard, load and store in the place of the template's."""

import pickle

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e

o = ow.opcodes
X = np.arange(700, dtype=np.int32)
host = pytest.mark.host
PLAIN = ow.kernel([ow.load("x"), o.multiply(3), ow.store("y")], name="scale")
ADDS = PLAIN.replace("store", o.accumulate)
SAME = ow.kernel([ow.load("u"), o.exp, ow.store("v", "u")], name="same")  # its argument
FULL = ow.kernel(
    [
        o.grid_stride(blocks=2),
        ow.load("x", by=o.read_only),
        o.multiply(3),
        ow.store("y", by=o.accumulate),
    ],
    name="scale",
)
# Two threads for each chunk, so that two of them store each element.
SHARED = ow.structural(
    "index",
    "first = ((index_t)blockIdx.x * (CHUNKS * BLOCK) + threadIdx.x / 2 * 2) * VECTOR",
    name="two_threads",
)


def source(kernel, *args, target="sm_80"):
    return kernel.lower(*(args or (X,)), target=target).source


# What a kernel looks like


def test_a_grid_stride_loop_reads_as_cuda():
    text = source(FULL)

    assert (
        "    // index: grid_stride\n"
        "    for (index_t first = ((index_t)blockIdx.x * (CHUNKS * BLOCK) + threadIdx.x) * VECTOR; "
        "first < cols;\n"
        "         first += (index_t)gridDim.x * (CHUNKS * BLOCK * VECTOR)) {\n"
    ) in text
    assert "edge = whole ? j0 + VECTOR : cols;" in text
    assert "load_chunk_by<ReadOnly>(x_v[c], x + j0, edge - j0);" in text
    assert "if (j < cols) add_to(out + j, out_v[l]);" in text


def test_edits_stand_in_the_list_of_the_kernel_in_explain_and_in_the_flat_source():
    kernel = FULL.lower(X, target="sm_80")
    lines = {line.name: line.text for line in kernel.opcodes}

    assert lines["index"].endswith("// grid_stride")
    assert lines["load x"] == "x_v <- load_by<ReadOnly>(x + j)  // read_only"
    assert lines["store out"] == "add_to(out + j, v0)  // accumulate"
    assert "put in: index: grid_stride, load x: read_only, store out: accumulate" in (
        FULL.fused.explain(X).text
    )
    assert "first += (index_t)gridDim.x * 1024) {" in kernel.flat


def test_the_launch_follows_the_index():
    x = np.zeros(1 << 22, np.int8)
    device = ow.fuse(lambda x: x + 1).lower(x, target="sm_80").lowered.device
    kernel = ow.fuse(lambda x: x + 1).lower(x, target="sm_80").kernels[0]
    extents = kernel.program.found.extents
    stride = kernel.replace("index", o.grid_stride)
    fixed = stride.replace("index", o.grid_stride(blocks=64))
    smaller = PLAIN.replace("index", o.grid_stride(blocks=64)).lower(X, target="sm_80")

    assert stride.data.most_blocks == device.sms * 8  # of 256 threads
    assert fixed.data.grid(extents) == (64, 1, 1)
    assert fixed.raw_kernel().grid == (64, 1, 1)
    assert smaller.data.grid(smaller.program.found.extents) == (1, 1, 1)


def test_a_loop_s_step_does_not_overflow():
    x = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), (3, 2**29), (0, 1))
    kernel = ow.fuse(lambda a: a + 1).lower(x).kernels[0]

    assert kernel.toggles["USE_64BIT_INDEX"] == 0
    assert kernel.replace("index", o.grid_stride).toggles["USE_64BIT_INDEX"] == 1


def test_names_of_a_contract_may_be_arguments():
    k = ow.kernel([ow.load("end", by=o.read_only), ow.load("p"), o.add("end", "p"), ow.store()])
    text = source(k.replace("guard", ow.structural("guard", "end = cols")), X, X)

    assert "edge = whole ? j0 + VECTOR : end;" in text
    assert "load_chunk_by<ReadOnly>(end__v[c], end_ + j0, edge - j0);" in text


def test_an_edit_is_one_of_the_cache_key_and_outlives_other_edits():
    kernel = PLAIN.lower(X, target="sm_80").replace("store", o.streaming_store)
    again = kernel.insert(o.add(1), before="store")

    assert kernel.source != source(PLAIN)
    assert "store_chunk_by<Streaming>(out + j0" in again.source
    assert "wrap_add" in again.source


def test_a_list_is_pickled_with_its_structure():
    k = FULL.replace("guard", ow.structural("guard", "end = cols", name="mine"))
    again = pickle.loads(pickle.dumps(k))

    assert str(again) == str(k)
    assert source(again) == source(k)
    assert str(k).startswith("    index grid_stride  // for (")
    assert "    guard mine  // end = cols\n  0 load x  // read_only: load_by<ReadOnly>(p)" in str(
        k
    )


def test_what_is_taken_out_is_the_template_s_again():
    k = PLAIN.replace("index", o.grid_stride)

    assert str(k.lower(X)) != str(PLAIN.lower(X))
    assert str(k.remove("index").lower(X)) == str(PLAIN.lower(X))


# What it computes


@host
def test_every_ready_made_op_code_keeps_the_bits():
    x = np.arange(40 * 66, dtype=np.float32).reshape(40, 66)
    y = (x[:, :1].T.copy(), x[::2, 1:], x.T.copy().T)  # broadcast, strided, transposed
    fused = ow.fuse(lambda a, b, c, d: (np.sqrt(a[:20, :40] + b) - c[:, :40]) * d[:20, :40])
    args = (x, y[0], y[1], y[2])
    for target in ("host", "sm_80"):
        kernel = fused.lower(*args, target=target).kernels[0]
        want = kernel(*args)
        kernel = kernel.replace("index", o.grid_stride(blocks=2))
        kernel = kernel.replace("store", o.streaming_store).replace("load", o.packed_pairs)
        np.testing.assert_array_equal(kernel(*args), want)
        np.testing.assert_array_equal(kernel.replace("load", o.read_only)(*args), want)


@host
@pytest.mark.parametrize("dtype", ["float16", "complex128", "bool", "uint8"])
def test_narrow_and_wide_types_are_read_in_words(dtype):
    x = (np.arange(611) % 3).astype(dtype)
    kernel = ow.fuse(lambda x: x * x).lower(x, target="sm_80").kernels[0]
    kernel = kernel.replace("load", o.packed_pairs).replace("store", o.streaming_store)

    np.testing.assert_array_equal(kernel(x), x * x)


@host
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_numbers_may_start_between_two(dtype):
    x = np.arange(2 * 611 + 1, dtype=dtype(0).real.dtype)[1:].view(dtype)
    kernel = ow.fuse(lambda x: x + 1).lower(x, target="sm_80").kernels[0]
    kernel = kernel.replace("load", o.read_only).replace("store", o.streaming_store)

    np.testing.assert_array_equal(kernel(x), x + 1)


@host
def test_a_store_that_adds_begins_with_zeros_or_with_out():
    out = np.full(700, 7, np.int32)

    np.testing.assert_array_equal(FULL(X), 3 * X)
    assert FULL(X, out=out) is out
    FULL(X, out=out)
    np.testing.assert_array_equal(out, 7 + 6 * X)
    assert FULL.check(X).ok
    assert FULL.lower(X, target="sm_80").check(X).ok
    assert (
        "out = cupy.zeros((700,), 'int32')" in FULL.lower(X, target="sm_80").raw_kernel().launcher
    )


@host
def test_of_several_results_one_may_be_added_up():
    k = ow.kernel([
        ow.load("x"), o.multiply(2).named("a"), o.add(1), ow.store("z"),
        ow.store("w", "a", by=o.accumulate),
    ])  # fmt: skip
    out = [np.full(700, 5, np.int32) for _ in range(2)]
    k(X, out=out)

    np.testing.assert_array_equal(out[0], 2 * X + 1)
    np.testing.assert_array_equal(out[1], 2 * X + 5)


@host
def test_floats_are_added_up_only_where_the_order_may_differ():
    x = np.arange(9, dtype=np.float32)
    fused = ow.fuse(lambda x: x * 0.5, fast=True)
    kernel = fused.lower(x).kernels[0].replace("store", o.accumulate)

    np.testing.assert_array_equal(kernel(x), x * 0.5)
    with pytest.raises(e.DTypeError, match=r"int32.*found float32; floats .*fast=True"):
        ADDS(x)
    with pytest.raises(e.DTypeError, match="found int8"):
        ADDS(x.astype(np.int8))


@host
def test_out_must_be_what_the_kernel_itself_adds_to():
    for out in (np.zeros(1400, np.int32)[::2], X):
        with pytest.raises(e.ArgumentError, match="adds to what is there"):
            ADDS(X, out=out)
    with (
        ow.config(errors="numpy"),
        pytest.raises(e.ArgumentError, match="add the result yourself"),
    ):
        ADDS(X, out=np.zeros(700, np.int32))


def test_a_value_that_another_kernel_reads_is_not_added_up():
    program = ow.fuse(lambda x: x * 2 + 1).unfused().lower(X)

    with pytest.raises(e.EditError, match=r"expected a result.*kernel_1_map_i32 reads"):
        program.kernels[0].replace("store", o.accumulate)
    assert program.kernels[1].replace("store", o.accumulate).data.added


@host
@pytest.mark.parametrize(
    ("bounds", "mode"), [("clamp", "edge"), ("wrap", "wrap"), ("zero", "constant")]
)
def test_a_policy_says_what_is_read_beside_the_array(bounds, mode):
    x = X.reshape(20, 35)
    k = ow.kernel([
        o.grid_stride(blocks=1), ow.load("x"),
        o.neighbour(step=-2, bounds=bounds).named("left"), o.neighbour("x", bounds=bounds),
        o.subtract("left"), ow.store(by=o.streaming_store),
    ])  # fmt: skip
    padded = np.pad(x, [(0, 0), (2, 1)], mode)

    np.testing.assert_array_equal(k(x), padded[:, 3:] - padded[:, :-3])
    assert k.lower(x, target="sm_80").check(x).ok


def test_another_policy_or_none_to_shift_is_refused():
    k = ow.kernel([ow.load("x"), o.neighbour(bounds="mirror"), ow.store()])

    with pytest.raises(e.ArgumentError, match="bounds='mirror': expected one of clamp, wrap, z"):
        k.lower(X)
    with pytest.raises(e.AxisError, match="an array with an axis"):
        o.neighbour(np.array(1))


# The checker


@host
def test_a_race_of_stores_that_add_without_atomics_is_found():
    shared = PLAIN.replace("index", SHARED)
    plain = shared.replace("store", ow.structural("store", "*p = *p + x"))
    atomic = shared.replace("store", ow.structural("store", "atomicAdd(p, x)"))

    (found,) = ow.sanitize(plain, X, schedules=2).findings
    assert found.kind == "global-race"
    assert "*(out + j) = *(out + j) + out_v[l]" in str(found)
    assert ow.sanitize(atomic, X, schedules=2).ok
    with pytest.raises(e.CheckError):  # each element was added twice
        atomic.lower(X, target="sm_80").check(X)


@host
def test_an_overrun_of_an_index_whose_guard_does_not_guard_is_found():
    over = PLAIN.replace("guard", ow.structural("guard", "end = cols + VECTOR"))

    kinds = {f.kind for f in ow.sanitize(over, X, schedules=1).findings}
    assert kinds == {"out-of-bounds"}
    with pytest.raises(e.LaunchError, match="outside every array"):
        over.lower(X, target="sm_80").check(X)


@host
def test_the_checker_takes_kernels_and_finds_no_fault_in_what_is_ready_made():
    kernel = FULL.lower(X, target="sm_80")

    assert ow.sanitize(kernel, X, schedules=2).ok
    assert ow.sanitize(FULL, X, schedules=2).ok


# What breaks a contract

CONTRACTS = [
    ("index", "i = blockIdx.x * BLOCK", "'first', the first element of a thread.*binds 'i'"),
    ("index", "blockIdx.x * BLOCK", "binds no name"),
    ("index", "first = row", "'row'.*none of its operands"),
    ("index", "for (index_t first = 0; first < 10; first += 1)", "guard is left out.*'cols'"),
    ("index", "for (index_t first = 0; ; first += 1)", "guard is left out.*'cols'"),
    ("index", "for (index_t first = 0; first < cols; )", "step that changes 'first'"),
    ("index", "for (index_t first = 0; first < cols; cols)", "changes 'first'.*never ends"),
    ("index", "for (int i = 0; i < cols; i += 1)", "binds 'first'.*found 'int i = 0'"),
    ("index", "for (index_t first = 0; first < cols; first += 1) {}", "head of a loop"),
    ("guard", "end = 10", "names 'cols'"),
    ("guard", "cols", "binds? 'end'"),
    ("load", "__ldg(x)", "'x'.*none of its operands p"),
    ("load", "1 + 1", "names 'p'"),
    ("load", "return *p;", "one expression"),
    ("store", "*p = 1", "names 'x'"),
    ("store", "atomicMax(p, x)", "found atomicMax.*no meaning in NumPy"),
    ("store", "*p = *p * x", "reads what is there"),
    ("store", "*p = x; asm(0)", "one expression"),
    ("load", "asm(p)", "inline assembly"),
    ("load", 3, "as text, found 3"),
]


@pytest.mark.parametrize(("phase", "text", "message"), CONTRACTS)
def test_what_breaks_a_contract_is_refused_with_what_it_must_bind(phase, text, message):
    with pytest.raises(e.FragmentError, match=f"^{phase} own: .*{message}.*test_structural.py:"):
        ow.structural(phase, text)


MISTAKES = [
    (lambda: ow.structural("close", "}"), "phase of index, guard, load, store.*'close'"),
    (lambda: ow.structural("index", "first = 0", blocks=4), "a loop.*leaves elements out"),
    (lambda: o.grid_stride(blocks=-1), "blocks=-1"),
    (lambda: ow.kernel([ow.load("x"), o.grid_stride, ow.store()]), "op-code 1.*out of order"),
    (lambda: ow.kernel([ow.structural("guard", "end = cols"), o.grid_stride]), "before guard"),
    (lambda: ow.kernel([o.grid_stride, o.grid_stride]), "has one index, and two"),
    (lambda: ow.kernel([o.read_only, ow.load("x")]), r"ow\.load\(\"x\", by=read_only\)"),
    (lambda: ow.kernel([ow.load("x", by=o.accumulate), ow.store()]), "phase load, found accum"),
    (lambda: ow.load("x", by=o.exp), "by=.*a structural op-code"),
    (lambda: ow.kernel([ow.load("x"), o.exp, ow.store("a"), ow.store("b", by=o.accumulate)]),
     "stored twice"),
    (lambda: ow.kernel([ow.load("x"), o.exp, ow.store("a"), SAME, ow.store("b", by=o.streaming_store)]),
     "stored twice"),
    (lambda: ow.kernel([ow.load("x"), SAME, ow.store("b", by=o.streaming_store)]),
     "'x' is an argument"),
    (lambda: ow.kernel([ow.load("x"), o.exp().named("y"), ow.load("y", by=o.read_only), ow.store()]),
     "'y' is a result in a register"),
    (lambda: ow.kernel([ow.load("x"), o.exp, ow.store(), ow.store("y", "x", by=o.accumulate)]),
     "store y: .*'x' is an argument.*op-code in between, such as ow.opcodes.copy"),
    (lambda: ow.kernel([ow.load("x"), o.exp, ow.store(), ow.load("x"), o.reshape(shape=(7, 100)),
                        ow.store("y", by=o.streaming_store)])(X),
     "store 1: .*is a view of an argument.*op-code in between, such as ow.opcodes.copy"),
    (lambda: PLAIN.remove("index"), "'index' is structural.*binds 'first'"),
    (lambda: PLAIN.remove("guard"), "'guard' is structural.*binds 'end'"),
    (lambda: PLAIN.lower(X).remove("guard"), "'guard' is structural.*binds 'end'"),
    (lambda: PLAIN.lower(X).replace("guard", o.exp), "replace takes a structural"),
    (lambda: PLAIN.lower(X).replace("load q", o.read_only), "those of .*: load x"),
    (lambda: PLAIN.lower(X).replace("store", o.read_only), "takes the place of load alone"),
    (lambda: PLAIN.replace("guard", o.grid_stride), r"replace\('index', ...\)"),
    (lambda: PLAIN.replace("multiply", o.read_only), "one of its own phase"),
    (lambda: PLAIN.insert(o.grid_stride, before="load"), r"write replace\('index', ...\)"),
    (lambda: PLAIN.replace("load", o.read_only)(2, out=None), "does not fit one kernel"),
    (lambda: ow.fuse(lambda x: FULL(x) + 1, fullgraph=True)(X), "index, load x, store y.*alone"),
    (lambda: ow.kernel([ow.load("x"), FULL, ow.store()]), "a kernel of its own"),
    (lambda: ow.schedule([FULL, PLAIN], X), "a kernel of its own"),
    (lambda: ow.repeat(FULL, 3)(X), "a kernel of its own"),
    (lambda: ADDS + PLAIN, "store y adds to what is there, and scale takes its result"),
    (lambda: PLAIN.replace("index", SHARED) + PLAIN.replace("index", o.grid_stride),
     "two_threads and grid_stride"),
]  # fmt: skip


@host
@pytest.mark.parametrize(("mistake", "message"), MISTAKES)
def test_structural_op_codes_in_wrong_places_are_refused(mistake, message):
    with pytest.raises(e.EditError, match=f"(?s){message}"):
        mistake()


@host
def test_kernels_of_rows_take_loads_and_stores():
    x = X.reshape(7, 100)
    k = ow.kernel([ow.load("x", by=o.read_only), o.sum(axis=1), ow.store(by=o.accumulate)])
    out = np.full(7, 5)
    scaled = ow.fuse(lambda x, w: (x - x.max(axis=1, keepdims=True)) * w)
    kernel = scaled.lower(x, x[0], target="sm_80").kernels[0].replace("load", o.packed_pairs)
    kernel = kernel.replace("store", ow.structural("store", "__stcg(p, x)"))

    np.testing.assert_array_equal(k(x, out=out), 5 + x.sum(axis=1))
    assert "    add_to(out + row, sum0);\n" in source(k, x)
    np.testing.assert_array_equal(kernel(x, x[0]), scaled(x, x[0]))
    assert "__stcg(out + row * cols + j, out_v[l]);" in kernel.source


def test_a_template_that_takes_none_says_which_do():
    kernel = ow.fuse(lambda x: x - x.max(axis=1, keepdims=True)).lower(X[None]).kernels[0]

    with pytest.raises(e.EditError, match=r"template row, which takes no index.*templates: map"):
        kernel.replace("index", o.grid_stride)


# What the compiler makes of it


@host
@pytest.mark.parametrize(("place", "text"), [
    ("index", "first = nosuch(blockIdx.x)"), ("guard", "end = nosuch(cols)"),
    ("load x", "nosuch(p)"), ("store y", "nosuch(p, x)"),
])  # fmt: skip
def test_what_does_not_compile_is_named(place, text):
    k = PLAIN.replace(place, ow.structural(place.split()[0], f"{text}  // a comment"))
    with pytest.raises(e.CompileError) as caught:
        k.lower(X, target="host").program.compile()

    assert caught.value.opcode == place.replace("store y", "store out")
    assert "nosuch" in caught.value.source.split("\n")[caught.value.line - 1]


@pytest.mark.nvrtc
def test_the_hints_reach_the_instructions():
    kernel = PLAIN.lower(X, target="sm_80")
    made = kernel.replace("load x", o.packed_pairs).replace("store", o.streaming_store).sass

    assert "LDG.E.64" in made
    assert "STG.E.EF.128" in made
    assert "RED.E.ADD" in ADDS.lower(X, target="sm_80").sass
    assert "LDG.E.EF.128" in kernel.replace("load x", o.streaming_load).sass


# A list, every operator a kernel of its own

UNFUSED = {
    "an index": ([o.grid_stride, ow.load("x"), o.exp, o.multiply(2.0), ow.store()], "gridDim", 2),
    "a guard": ([ow.structural("guard", "end = cols / 1"), ow.load("x"), o.exp, o.add(1.0),
                 ow.store()], "cols / 1;", 2),
    "a load, where the argument is read": (
        [ow.load("x", by=o.read_only), o.exp, o.add(1.0), o.add("x"), ow.store()], "ReadOnly>(", 2),
    "a store, where the result is made": (
        [ow.load("x"), o.exp, o.add(1.0), ow.store(by=o.streaming_store)], "Streaming>(", 1),
    "of rows": ([ow.load("x", by=o.read_only), o.sum(axis=-1, keepdims=True).named("s"),
                 o.divide("x", "s"), ow.store(by=o.streaming_store)], "ReadOnly>(", 2),
}  # fmt: skip


@host
@pytest.mark.parametrize(("codes", "text", "count"), UNFUSED.values(), ids=list(UNFUSED))
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_a_list_that_is_unfused_keeps_its_structural_op_codes(codes, text, count, target):
    k, x = ow.kernel(codes), np.linspace(-1, 1, 700, dtype=np.float32)
    program = k.fused.unfused().lower(x, target=target)

    assert len(program.kernels) > 1
    assert sum(text in kernel.flat for kernel in program.kernels) == count
    assert np.array_equal(program(x), k.lower(x, target=target)(x))
    assert program.check(x).ok


def test_a_load_that_no_kernel_has_is_refused_unfused_too():
    k = ow.kernel([ow.load("x", by=ow.structural("load", "*p * 2")), ow.load("i"),
                   o.gather_1d("x", "i"), o.add(1.0), ow.store()])  # fmt: skip

    for f in (k.fused, k.fused.unfused()):
        with pytest.raises(e.EditError, match="load x: .* has no such array for own"):
            f.lower(X, np.arange(4), target="sm_80")


@host
def test_a_store_that_adds_does_so_unfused_too():
    k = ow.kernel([ow.load("x"), o.multiply(2), o.add(1), ow.store(by=o.accumulate)])
    x = np.arange(12, dtype=np.int32)
    totals = [np.full(12, 5, np.int32) for _ in range(2)]

    for f, total in zip((k, k.fused.unfused()), totals, strict=True):
        f(x, out=total)
        assert np.array_equal(total, x * 2 + 1 + 5)


def test_a_result_that_is_added_to_is_not_read_by_another_kernel():
    k = ow.kernel([ow.load("x"), o.multiply(2).named("y"), ow.store("y", by=o.accumulate),
                   o.add(1), ow.store("z")])  # fmt: skip

    assert len(k.fused.lower(X, target="sm_80").kernels) == 1
    with pytest.raises(e.EditError, match="begins as zeros .* found a value that .* reads"):
        k.fused.unfused().lower(X, target="sm_80")


@host
def test_a_load_of_an_argument_reads_its_views_too():
    k = ow.kernel([ow.load("x", by=o.read_only), ow.load("w", by=o.read_only),
                   o.matmul("x", "w"), ow.store()])  # fmt: skip
    m, v = np.arange(12, dtype=np.float32).reshape(3, 4), np.ones(4, np.float32)

    for args in ((m, v), (v[:3], m), (v, v)):
        view = k.lower(*args, target="sm_80")
        assert view.flat.count("ReadOnly") >= 2
        assert np.array_equal(view(*args), np.matmul(*args))
