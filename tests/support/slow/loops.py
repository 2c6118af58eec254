"""What leaves the default tier of tests/loops."""

from tests.support.tiers import Slow, diagonal, every

# fmt: off
TABLE: dict[str, dict[str, Slow]] = {
    "test_loops_in_c.py": {
        "test_a_loop_does_what_python_does": every(2),
    },
    "test_once_wrong.py": {
        "test_it_does_what_python_does": every(3),
    },
    "test_attributes.py": {
        "test_a_loop_with_attributes_does_what_python_does": every(3),
    },
    "test_made_arrays.py": {
        "test_a_loop_makes_what_numpy_makes": every(2),
    },
    "test_products.py": {
        "test_products_by_ours_are_the_same_in_every_bit": diagonal("sizes", "dtype", "lie"),
        "test_a_product_of_matrices_in_a_loop_has_numpys_bits": every(2),
    },
    "test_random_programs.py": {
        "test_a_random_program_does_in_c_what_it_does_in_python": every(8),
    },
    "test_what_loops_do.py": {
        "test_rolled_equals_unrolled_in_every_bit": every(1).less("backward-small1"),
        "test_rows_are_summed_by_the_plan_of_every_row": every(3),
        "test_what_c_does_not_run_python_does": every(3),
    },
}
# fmt: on
