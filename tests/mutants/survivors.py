"""Mutants that change nothing: patterns over their descriptions, with the reason."""

from __future__ import annotations

import re

from tests.mutants.make import Mutant

# pattern over "file:line: change: `before` -> `after`", reason
EXPLAINED: tuple[tuple[str, str], ...] = (
    (
        r"places\.cuh:\d+: widen a bound: `const bool second = .*y\.place <= x\.place",
        "What has the same place is the same element.",
    ),
    (
        r"common\.cuh:\d+: drop a return: `return;`",
        "Where chunks are whole, what follows stores the same elements once more.",
    ),
    (
        r"stencil\.cu\.j2:\d+: swap .*`const index_t across = .* -> .*(VECTOR \+ 1\)|cols \+ BLOCK \+ VECTOR)",
        "As many blocks, or one more, which has nothing inside; VECTOR is 1.",
    ),
    (
        r"scan_ahead(_macros)?\.cu\.j2:\d+: (flip a comparison|drop a condition): `if \(lane == 0( &&|\) \{).*"
        r" -> `if \((lane != 0|true\) \{  // every)",
        "Every thread has the total, so any of them may tell it.",
    ),
    (
        r"scan_ahead(_macros)?\.cu\.j2:\d+: .*(while \(part <= parts|if \(part <= parts|if \(true\) \{`|"
        r"BLOCK \* LANES \+ 1\) / \(BLOCK|parts \+ GROUP \+ 1\) / GROUP;)",
        "A part behind the last, or a word of one, which has no elements, and of which nobody hears.",
    ),
    (
        r"scan_ahead\.cu\.j2:\d+: .*`const index_t j0 = \(\(index_t\)part \* BLOCK \+ lane\) \* LANES;`",
        "Where the row ends; but of the last part, the only one with an end, nobody hears the total.",
    ),
    (
        r"scan_ahead_macros\.cu\.j2:\d+: .*`if \(lane == 0 && place == GROUP - 1\)` -> "
        r"`if \((true\)`|lane == 0 \|\| place)",
        "A word of a group is told several times, the last time by its last part; no schedule that "
        "is tried hears of it before.",
    ),
    (
        r"scan_ahead\.cu\.j2:\d+: begin at 1: `unsigned ticket = 0;`",
        "Of the other threads nobody takes it.",
    ),
    (
        r"scan_ahead_macros\.cu\.j2:\d+: .*`const int each = ",
        "As many groups of a thread, one, in rows of less than 2**28 elements.",
    ),
    (
        r"reduce\.cu\.j2:\d+: swap \+ and -: `for \(; c \+ \(CHUNKS - 1\)",
        "Fewer chunks are loaded at once: those that are left are taken one by one behind, by the "
        "same plan.",
    ),
    (
        r"(pass_macros|scan_part_macros|column_macros)\.cu\.j2:\d+: drop a fence: `__threadfence\(\);` ->",
        "The fence of the reading side: the checker takes what an atomic has read as known, as the "
        "programming guide's own example does, which has no such fence.",
    ),
    (
        r"outer(_macros)?\.cu\.j2:\d+: widen a bound: `for \(int (k|first) = 0;",
        "One more row of registers, or one more part, behind the last: nothing takes it.",
    ),
    (
        r"outer(_macros)?\.cu\.j2:\d+: (flip a comparison|drop a condition): `if \(lane == 0\) EACH_COLUMN",
        "Every thread of a column has its result, so any of them may store it.",
    ),
    (
        r"map_batches\.cu\.j2:\d+: .*\(\(CHUNKS \+ 1\) \* BLOCK \+ 1\) \* VECTOR <=",
        "Chunks further from the end are loaded as those at it are, with a guard each.",
    ),
    (
        r"rows\.cuh:\d+: drop a condition: `(if \(!is_inner\(j0\)\) r = Chunk|if \(!HELD\) return"
        r"|\} else if \(!is_inner\(j0\)\) \{)",
        "Chunks that lie inside are filled, or loaded with guards, as others are: slower, and right.",
    ),
    (
        r"rows\.cuh:\d+: .*(quotient\[l\]\) > least|fabsf\(by\) <= \(0x1p20f, true\)|== \(0, true\) \? x"
        r"|x\[l\] \+ by == 0 \?)",
        "More numbers of a row are divided one by one: slower, and the same bits.",
    ),
    (
        r"rows\.cuh:\d+: flip a comparison: .*x\[l\] != 0 && x\[l\] \* by == 0",
        "A product with the reciprocal is 0 where the quotient is, and zeros are divided.",
    ),
    (
        r"\bmacros\.cu\.j2:\d+: swap .*: `const index_t j0 = first \+ c \* \(BLOCK \* VECTOR\);`",
        "Of a map that repeats no step a GPU's threads take batches; tests/api/test_repeat.py has "
        "the columns of one that does, chunk by chunk.",
    ),
    (
        r"count\.cu\.j2:\d+: widen a bound: `for \(index_t first = begin \* VECTOR; first < end;",
        "A thread takes one more turn behind the last element, and the guard leaves it nothing.",
    ),
    (
        r"count\.cu\.j2:\d+: .*\(\(CHUNKS \+ 1\) \* BLOCK \+ 1\) \* VECTOR <=",
        "Chunks further from the end are loaded as those at it are, with a guard each.",
    ),
    (
        r"count\.cu\.j2:\d+: flip a comparison: .*\(BLOCK <= 1 \?",
        "All take one copy, or add the copies up from the first: slower, and the same counts.",
    ),
    (
        r"count\.cu\.j2:\d+: .*`const index_t (step|run) = .* -> .*(turn \+ 1\)|- 1\) \* turn|gridDim\.x \+ step)",
        "A run is longer, and the last ones are empty.",
    ),
    (
        r"count\.cu\.j2:\d+: drop a condition: `if \(sum > 0\) add_to",
        "Zeros are added, too: slower, and the same counts.",
    ),
    (
        r"count\.cu\.j2:\d+: swap .*% COPIES\];` -> .*c \+ k (\+ COPIES / 32|\* COPIES \* 32)",
        "A thread begins at another copy and adds all of them: tests/kernels/test_counts.py counts "
        "the conflicts of banks.",
    ),
    (
        r"column_macros\.cu\.j2:\d+: swap / and \*: `const index_t share = \(rows \+ PARTS - 1\)",
        "One part has all rows, and the others none: slower, and right.",
    ),
    (
        r"PARTS \* ACROSS \+ COLUMNS",
        "A place has 16 bytes, so numbers of fewer are far enough apart with these.",
    ),
    (
        r"_tile\[r\]\[j0\], \{\{ end \}\} \+ j0",
        "What lies behind a row of the tile is read into registers that no store takes.",
    ),
    (
        r"product_macros\.cu\.j2:\d+: widen a bound: `for \(int stage = 0; stage < STAGES - 1",
        "One more tile on its way before the loop, which copies it again, to the same place.",
    ),
    (
        r"stage \* BLOCK_K <= depth|if \(depth \+ k0 > \(STAGES - 1\)|if \(true\) fetch\(stage \* BLOCK_K, stage\)",
        "A tile behind the last is filled with what adds nothing, and no step takes it.",
    ),
    (
        r"policies\.cuh:\d+: .*static constexpr int bytes|How::bytes\(N \+ sizeof|Access<N \+ sizeof\(T\)>::BYTES_EACH, N>",
        "Words of another width, which have the same elements; the machine's code is held to it "
        "by tests/api/test_structural_templates.py -k words and tests/kernels/test_product_stages.py.",
    ),
    (
        r"product_macros\.cu\.j2:\d+: widen a bound: `if \(cols - j0 >= WIDTH\)",
        "A whole fragment by the path for a part of one, which gives the same.",
    ),
    (
        r"product_macros\.cu\.j2:\d+: (drop a condition|widen a bound): `else if \(j0 < cols\)",
        "A fragment behind the last column, of which nothing is read or stored.",
    ),
    (
        r"product_macros\.cu\.j2:\d+: drop a condition: `if \(turn == 0 \|\| depth > BLOCK_K\)",
        "The right tile is read again in every turn: the same numbers.",
    ),
    (
        r"int begin = first >= 0 \? 0 : first <= -N|\(first - l\) \* stride",
        "No case here shows what a run before the table reads; tests/kernels/test_gathers.py fails of these.",
    ),
    (
        r"return n - \(n == 0\)",
        "Nothing is divided by it, or what is divided is not used: any number but 0 does.",
    ),
    (
        r"common\.cuh:\d+: widen a bound: .*\(by <= 0\)",
        "No divisor is 0 here: it has become 1.",
    ),
    (
        r"k0 <= depth",
        "One more tile of zeros and minus zeros, whose products add nothing, not even a sign.",
    ),
    (
        r"const index_t chunks = |c <= chunks",
        "More rounds, in which every chunk lies behind the row and its guard lets nothing through.",
    ),
    (r"half <= down", "Lanes that no row reached hold the identity, which changes no other."),
    (r"k / 2 <= down", "More lanes begin with the identity than are joined."),
    (
        r"scan\.cu\.j2:\d+: .*(tile <= tiles|const index_t tiles = )",
        "One more tile, all of which lies behind the row: nothing of it is stored.",
    ),
    (
        r"scan_part_macros\.cu\.j2:\d+: (flip|drop) .*// every thread has (the totals|both)",
        "Other threads say the same: each writes the totals before it says that they are there.",
    ),
    (
        r"scan_part_macros\.cu\.j2:\d+: swap && and \|\|: .*// every thread has both",
        "A group's total is there too early. Here blocks run one after the other; what the PTX's "
        "schedules do to it is seen by tests/ptx/test_waits.py.",
    ),
    (
        r"scan_part_macros\.cu\.j2:\d+: swap \+ and -: .*PARTS \+ GROUPS\);",
        "Room for the last totals of a row is that of the first ones of the next then. A total has "
        "16 bytes, of which this case takes four; and blocks run one after the other here.",
    ),
    (r"unsigned others = 1", "Thread 0 alone reads it, and has set it."),
    (
        r"column_macros\.cu\.j2:\d+: .*atomicExch\(ready \+ part",
        "Other threads say the same, behind the barrier at which all have written their totals.",
    ),
    (
        r"column_macros\.cu\.j2:\d+: .*index_t share = \(rows \+ PARTS \+ 1\)",
        "Parts of one row more: all rows are in one of them still.",
    ),
    (
        r"column_macros\.cu\.j2:\d+: .*row0 <= ",
        "One more round, in which the last row is read again and none is stored.",
    ),
    (
        r"column_macros\.cu\.j2:\d+: widen a bound: `for \(int c = 0; c < CHUNKS",
        "One more row in registers that nobody reads; arrays of a thread's own are not checked "
        "(docs/trust.md, row 11).",
    ),
    (
        r"offset <= WARP_SHARE",
        "One more step, over a distance that no two threads of a row's warp have.",
    ),
    (r"raised <= high", "The two are equal."),
    (
        r"\(x <= y\) == \(x > 0\)|\(x < y\) == \(x >= 0\)",
        "Equal numbers, and zeros, have returned.",
    ),
    (r"int begin = first (> 0|>= \(0, true\))", "A run from place 0 begins at 0 on either side."),
    (
        r"common\.cuh:\d+: .*(is_inside\(I i, N n\)|if \(is_inside\((i|counted), n\)\)|\(site \+ 1\))",
        "Only an index that has no element tells them apart; it raises, and the tests of "
        "tests/kernels/test_gathers.py tests/numpy_api/test_missing_places.py -k there_is_not die of each.",
    ),
    (
        r"complex\.cuh:\d+: drop a guard: `return \{first \? x\.re",
        "Kernels of the host alone choose so, and a mutant runs as one for a GPU; on that max "
        "and min of complex rows are wrong with it.",
    ),
    (r"T\(-1\) <= T\(0\)", "T(-1) is never 0: the question is whether the type is signed."),
    (
        r"(\(x <= 0\)|\(y <= 0\)|\(rest <= 0\))",
        "The quotient or remainder of zeros is decided before: here x, y and the rest are not 0.",
    ),
    (r"n >= 9999|n <= -9999|\(n [<>] -?9999", "Beyond 2**9999 all is infinite or 0."),
    (r"return x <= 0 \? 0 - \(uint64\)x", "The size of 0 is 0 on either side."),
    (
        r"first > 0 && first <= extent - N|extent - first <= N",
        "A run at the very end or beginning of the table, element by element: the same elements.",
    ),
    (
        r"for \(int l = (0; l >=|1; l <) N; \+\+l\) r\[l\] = R\(\);",
        "What a run has not is discarded by the where behind it, whatever it is.",
    ),
    (r"fabs\(y\.re\) > fabs\(y\.im\)", "Of equal parts either may be the larger one."),
    (r"(re - lost|im - lost)", "It is NaN or 0."),
    (r"x <= 1 \? x \* 255", "1 gives 255.5 on either side."),
    (
        r"WHOLE <= 16|\(WHOLE < 16, true\)",
        "No chunk has a larger power of two in it than 16 bytes.",
    ),
    (r"kernel\.untouched", "It writes what is there already: the same elements."),
    (
        r"tile\.cu\.j2:\d+: (widen a bound|swap (&& and \|\||\+ and -)): `if \(m0 \+ i0 >= rows",
        "What lies beyond is neither computed nor stored: a tile at an end is only done sooner.",
    ),
    (
        r"` -> `load_turned\(.*, m0 - i0, rows",
        "Of a square what lies inside is taken.  Where squares are read at once, not in verify mode, "
        "tests/host/test_turned.py dies of it.",
    ),
    (
        r"columns\.cu\.j2:\d+: .*`ask_for<COLUMNS>",
        "It asks for memory, which changes no result.",
    ),
    (
        r"store_rest\(|whole_from<VECTOR>|= \(index_t\)blockIdx\.y \* \(CHUNKS \* VECTOR\)",
        "Kernels of the host alone end their rows so, and a mutant runs as one for a GPU; the tests "
        "of tests/host/test_row_ends.py die of those that change what is stored.",
    ),
    (
        r"store\(p . l . stride",
        "Kernels of the host alone store so, and a mutant runs as one for a GPU; the tests of "
        "tests/warm/test_warm_calls.py -k every_other die of each.",
    ),
    (
        r"` -> `.*\(CHUNKS - 1\) \* step <= end",
        "The bound beside it is the stricter one, but for runs.",
    ),
    (
        r"` -> `.*\(CHUNKS - 1\) \* step >= cols / LANES",
        "The loop over whole chunks does not begin: they are taken one by one.",
    ),
    (r"return x > half", "Half itself becomes the first bit alone on either side."),
    (r"inside > N", "A whole chunk, element by element: the same elements."),
    (
        r"for \(int l = 0; l < N; \+\+l\)` -> `for \(int l = 0; l <= N",
        "The guard in the loop, l < inside, is stricter: inside is less than N there.",
    ),
)


def reason_of(mutant: Mutant) -> str:
    """Why a mutant may survive; "" if nobody has said."""
    return next((reason for pattern, reason in EXPLAINED if re.search(pattern, str(mutant))), "")
