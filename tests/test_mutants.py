"""Removing any one barrier, shuffle or guard of any template makes a run go wrong.

Not here: memory fences and the early return of the blocks that are not last, which one block at a
time cannot show.
"""

import subprocess
from dataclasses import replace

import numpy as np
import pytest
from simt import flattened, mutants
from variants import aligned, layer_norm, softmax

import opweave as ow
from opweave.opcodes.errors import OpweaveError
from opweave.runtime.build import HOST_INCLUDE
from opweave.runtime.hostcc import host_compiler

pytestmark = pytest.mark.host

KERNEL_CHANGES = [
    (r"__syncthreads\(\);", ";"),
    (r"__shfl_down_sync\(FULL_WARP, mine, offset, WARP_SHARE\)", "mine"),
    (r"mine = __shfl_sync\(FULL_WARP, mine, 0, WARP_SHARE\);", ";"),
    (r"if \(j0 \+ l < (cols|width)\)", "if (true)"),
    (r"if \(active && lane == 0\)", "if (lane == 0)"),
    (r"active \? cols : 0", "cols"),
    (r"active \? (load\(.*\)) : 0", r"\1"),
    (r"(cols|width) - j0\)", r"\1)"),
    (r"if \(lane == 0\) \{\n    +__threadfence", "{\n __threadfence"),
    (r"counter\[row\] = 0;", ";"),
    (r"if \(lane % 32 == 0\)", "if (true)"),
    (r"if \(lane % WARP_SHARE < offset\)", "if (threadIdx.x + offset < BLOCK)"),
    (r"if \(j < (cols|width)\)", "if (true)"),
    (r"j < cols \? (load\(.*\)) : 0", r"\1"),
    (r"m0 \+ i < rows \? depth - k0 - k : 0", "depth - k0 - k"),
    (r"n0 \+ i < cols \? depth - k0 - k : 0", "depth - k0 - k"),
    (r"k0 \+ k < depth \? rows - m0 - i : 0", "rows - m0 - i"),
    (r"k0 \+ k < depth \? cols - n0 - i : 0", "cols - n0 - i"),
    (r"row < rows \? cols : 0", "cols"),
    (r"rows - m0 - thread_m\)", "rows)"),
    (r"n0 \+ j < cols \? rows - m0 - i : 0", "rows - m0 - i"),
    (r"row < rows \? (load\(.*\)) : 0", r"\1"),
    (r"\(float\)-0\.0f", "0.0f"),
    (r"depth - k0 - k : 0", "depth : 0"),
]
HELPER_CHANGES = [
    (r"if \(inside >= N\)", "if (true)"),
    (r"l < inside \? load\(p \+ l\) : outside", "load(p + l)"),
    (r"l < inside \? load\(p \+ l \* stride\) : outside", "load(p + l * stride)"),
    (r"if \(l < inside\) store\(p \+ l, r\[l\]\)", "store(p + l, r[l])"),
    (r"if \(l < inside\) store\(p \+ l \* stride, r\[l\]\)", "store(p + l * stride, r[l])"),
]


def two_sums(x):
    return x - x.sum(axis=-1, keepdims=True) / 7, (x - x.sum(axis=-1, keepdims=True)).sum(axis=-1)


def strided_both(x):
    return x - x.max(axis=0)


def broadcast_columns(x, y):
    return np.exp(x * y).sum()


def long_norm(x):
    return np.sqrt((x * x + 1).sum())


def array(shape):
    return aligned(np.random.default_rng(2).standard_normal(shape).astype(np.float32))


def scores(x, w, b):
    return softmax(-1 - np.abs(x @ w + b))


def grade(img):
    return ow.pixels.saturation(ow.pixels.grey(img) * 0.1 + img, 1.5)


def tiny(shape):
    """Products of these underflow to -0."""
    return aligned((np.random.default_rng(3).random(shape) + 1).astype(np.float32) * 1e-30)


PRODUCT = [array((35, 21)), array((21, 37)), array((35, 1))]
# function, arguments, toggles: together they reach every line of the templates.
CASES = {
    "map": (lambda x: x * 2 + 1, [array((1030,))], {}),
    "map scalar io": (lambda x: x * 2 + 1, [array((1030,))], {"USE_VECTOR_IO": 0}),
    "map strided": (lambda x: x * 2 + 1, [array((30, 66))[:, ::2]], {}),
    "map gather": (lambda x, y: x + y, [array((40, 33)), array((33,))], {}),
    "row warp": (softmax, [array((6, 36)) - 10], {}),
    "row operand": (lambda x, s: np.exp(x * s).sum(axis=-1), [array((6, 36)), array((6, 1))], {}),
    "row block": (softmax, [array((3, 2500)) - 10], {"USE_REGISTER_ROW": 0}),
    "row block twice": (layer_norm, [array((3, 2500)), array((2500,)), array((2500,))], {}),
    "row through memory": (layer_norm, [array((3, 300)), array((300,)), array((300,))],
                           {"USE_WARP_SHUFFLE": 0}),
    "row block through memory": (layer_norm, [array((3, 2500)), array((2500,)), array((2500,))],
                                 {"USE_WARP_SHUFFLE": 0}),
    "row values": (two_sums, [array((5, 130))], {}),
    "columns": (strided_both, [array((37, 21)) - 10], {}),
    "gathered sum": (broadcast_columns, [array((12, 30))[:, ::2], array((15,))], {}),
    "reduce": (long_norm, [array((39004,))[1:]], {}),
    "product": (lambda x, w, b: x @ w + b, PRODUCT, {}),
    "product of tiny numbers": (lambda x, w: x @ w, [-tiny((33, 17)), tiny((17, 5))], {}),
    "product straight from memory": (lambda x, w, b: x @ w + b, PRODUCT, {"USE_SHARED_MEMORY": 0}),
    "product of transposed": (lambda x, w, b: x @ w + b,
                              [array((21, 35)).T, array((37, 21)).T, array((35, 1))], {}),
    "product in batches": (lambda x, w, b: x @ w + b,
                           [array((2, 5, 7)), array((2, 7, 6)), array((2, 5, 1))], {}),
    "product and rows": (scores, [array((35, 21)), array((21, 101)), array((101,))], {}),
    "product and rows through memory": (
        scores, [array((35, 21)), array((21, 101)), array((101,))],
        {"USE_WARP_SHUFFLE": 0, "USE_REGISTER_ROW": 0}),
    "tile": (lambda x, y, z: x.T * y + z, [array((70, 67)), array((67, 70)), array((67, 1))], {}),
    "tile of several": (lambda x, y: np.exp(x) - y, [array((2, 33, 67)).swapaxes(1, 2),
                        array((2, 33, 67)).swapaxes(1, 2)], {}),
    "tile straight from memory": (lambda x, y: x.T * y, [array((70, 67)), array((67, 70))],
                                  {"USE_SHARED_MEMORY": 0}),
    "pixels": (grade, [array((7, 9, 3))], {}),
    "pixels strided": (grade, [array((7, 18, 6))[:, ::2, ::-2]], {}),
    "reduce through memory": (long_norm, [array((39004,))[1:]], {"USE_WARP_SHUFFLE": 0}),
}  # fmt: skip
HELPER_CASES = ["map", "map scalar io", "map strided", "columns", "row warp"]
# Mutants that change nothing in a case; each of them dies in another case.
BARRIER, GUARD = r"__syncthreads\(\); #", r"if \(j0 \+ l < (cols|width)\) #"
BROADCAST = r"mine = __shfl_sync\(FULL_WARP, mine, 0, WARP_SHARE\); #0"
MINUS_ZERO, BEHIND = r"\(float\)-0\.0f #0", r"(cols|width) - j0\) #"
EQUIVALENT = {
    # the offset is a remainder, inside for every j
    "map gather": [r"if \(j < (cols|width)\) #0"],
    # a join function that is called once writes its shared array once
    "row block": [BARRIER + "1", BARRIER + "6"],
    # what lies outside reads as zero, and adding zero changes no sum
    "row block twice": [GUARD + "0"],
    "row through memory": [GUARD + "0"],
    "row block through memory": [GUARD + "0"],
    "row values": [GUARD + "0"],
    # only the first thread of a row needs the result
    "row operand": [BROADCAST],
    # ... and threads beyond a single row repeat it, storing nothing
    "gathered sum": [BROADCAST, r"active \? cols : 0 #0", r"if \(j < (cols|width)\) #1"],
    # zeros of either sign change no other sum, and one tile along the inner dimension is no race
    "product": [MINUS_ZERO],
    "product of transposed": [MINUS_ZERO],
    "product in batches": [BARRIER + "1", MINUS_ZERO],
    # every product is -0, whichever tile it comes from
    "product of tiny numbers": [BARRIER + "1"],
    # what lies behind a row of the tile is read, but guarded where it would count; between two
    # rounds of a join stand the barriers of the other
    "product and rows": [BEHIND + "2", MINUS_ZERO],
    "product and rows through memory": [
        BARRIER + "4",
        BARRIER + "9",
        BEHIND + "4",
        BEHIND + "6",
        BEHIND + "8",
        MINUS_ZERO,
    ],
    # between the two joins stands the barrier before the early return
    "reduce": [BARRIER + "1"],
    "reduce through memory": [BARRIER + "4"],
}


def live(source):
    """What the toggles of a source leave of it."""
    command = [*host_compiler().command, "-E", "-P", "-DOW_VERIFY", "-x", "c++", "-std=c++20"]
    include = [f"-I{path}" for path in HOST_INCLUDE]
    ran = subprocess.run(
        [*command, *include, "-"], input=source, capture_output=True, text=True, check=True
    )
    return ran.stdout


def outcome(program, source, arguments, schedule):
    """Bytes of the results of a changed source, or the error that stopped it."""
    changed = program._edited(replace(program.lowered, sources=(source,)))
    try:
        made = changed.verify(*arguments, schedule=schedule)
    except OpweaveError as error:
        return type(error).__name__
    return [np.asarray(m).tobytes() for m in (made if isinstance(made, tuple) else (made,))]


def lowered(case):
    function, arguments, toggles = CASES[case]
    program = ow.fuse(function).with_toggles(**toggles).lower(*arguments, target="sm_80")
    assert len(program.kernels) == 1
    return program, arguments


@pytest.mark.parametrize("case", CASES)
def test_every_mutant_of_the_kernel_is_killed(case):
    program, arguments = lowered(case)
    source = program.source
    expected = outcome(program, source, arguments, 0)
    assert all(outcome(program, source, arguments, s) == expected for s in (1, 2, 3))

    survivors = [
        description
        for description, mutant in mutants(source, KERNEL_CHANGES)
        if live(mutant) != live(source)
        and all(outcome(program, mutant, arguments, s) == expected for s in (1, 0, 2, 3))
    ]
    assert EQUIVALENT.get(case, []) == survivors, survivors


@pytest.mark.parametrize("change", HELPER_CHANGES, ids=lambda c: c[0])
def test_every_mutant_of_the_helpers_is_killed(change):
    made = [lowered(case) for case in HELPER_CASES]
    sources = [flattened(program.source) for program, _ in made]
    count = len(list(mutants(sources[0], [change])))
    assert count > 0

    for number in range(count):
        killed = False
        for (program, arguments), source in zip(made, sources, strict=True):
            mutant = list(mutants(source, [change]))[number][1]
            if live(mutant) == live(source):
                continue
            expected = outcome(program, source, arguments, 0)
            killed = killed or outcome(program, mutant, arguments, 0) != expected
        assert killed, number
