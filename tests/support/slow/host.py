"""What leaves the default tier of tests/host."""

from tests.support.tiers import Slow, diagonal, some

# fmt: off
TABLE: dict[str, dict[str, Slow]] = {
    "test_headers.py": {
        "test_choices_and_places_are_computed_by_vectors": diagonal("function", "dtype"),
    },
    "test_row_ends.py": {
        "test_rows_of_every_length_are_numpys": diagonal("name", "columns", "dtype"),
    },
    "test_row_passes.py": {
        "test_any_number_of_a_row_has_the_bits_of_single_operators": some("softmax-f4",
            "by_least-f8", "whole-f4"),
        "test_a_division_by_one_number_has_numpys_bits": diagonal("case", "dtype", most=4),
        "test_indices_are_found_missing_wherever_they_are": diagonal("case", "dtype", most=3),
    },
    "test_extreme_places.py": {
        "test_the_threads_and_blocks_of_a_gpu_find_the_first_place": diagonal("case", "dtype"),
        "test_what_is_computed_beside_a_place_is_computed_of_all_elements": diagonal("beside", "dtype"),
    },
}
