"""What leaves the default tier of tests/compiler."""

from tests.support.tiers import Slow, diagonal, every, only

# fmt: off
TABLE: dict[str, dict[str, Slow]] = {
    "test_fuse.py": {
        "test_a_kernel_that_would_compile_for_long_is_split": every(2),
    },
    "test_memory.py": {
        "test_results_are_those_of_arrays_apart": diagonal("function", "args",
            "unfused", most=7).also("a fan-fused"),
    },
    "test_reads.py": {
        "test_results_are_those_of_numpy_in_as_many_kernels": only("name", "difference", "tiled",
            "counted", "of a reduction"),
    },
    "test_undecided.py": {
        "test_a_bound_of_clip_beyond_the_type_bounds_nothing": diagonal("low", "high", "dtype"),
    },
    "test_forwarding.py": {
        # what `streamed` and `some_planes` leave: test_arguments_hold_what_numpy_leaves_there
        "test_fused_kernels_and_single_ones_leave_the_same_bits": every(3).less("streamed",
            "some_planes"),
    },
}
# fmt: on
