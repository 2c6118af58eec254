"""What leaves the default tier of tests/foreign."""

from tests.support.tiers import Slow, diagonal, every

# fmt: off
TABLE: dict[str, dict[str, Slow]] = {
    "test_torch_compile.py": {
        "test_a_function_gives_tensors_of_the_same_values_types_and_strides": every(3),
        "test_a_program_gives_what_it_gives_without_a_compiler": every(5),
        "test_gradients_are_those_of_torch": every(1).less(
            "residual_mlp", "transformer_block", "gru"),
    },
    "test_torch_rows.py": {
        "test_a_row_means_what_torch_means": every(20),
        "test_kernels_of_all_rows_at_once_give_what_torch_gives": diagonal("family", "dtype"),
    },
}
# fmt: on
