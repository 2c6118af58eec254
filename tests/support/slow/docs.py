"""What leaves the default tier of tests/docs."""

from tests.support.tiers import Slow, diagonal, every, only, some

# fmt: off
TABLE: dict[str, dict[str, Slow]] = {
    "test_gallery.py": {
        "test_a_program_gives_numpys_answer_in_as_many_kernels": every(3),
        "test_a_program_keeps_its_bound": diagonal("target",
            "name", most=15).also("sm_80-haversine", "sm_80-hue_and_value", "sm_80-rotate",
            "sm_80-transformer_block", "host-hue_and_value", "sm_80-bilinear"),
    },
    "test_numpy_page.py": {
        "test_reductions_of_other_operands_are_those_of_numpy": only("kind", "empty"),
        "test_results_are_those_of_numpy": some("creation: arrays of a given shape, like another array, and from data",
            "logic: truth of elements, and comparison of whole arrays",
            "manipulation_shape: shape, order of axes, type and memory order"),
    },
}
# fmt: on
