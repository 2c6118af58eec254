"""What leaves the default tier of tests/saved."""

from tests.support.tiers import Slow, some

# fmt: off
TABLE: dict[str, dict[str, Slow]] = {
    "test_saved.py": {
        "test_a_loaded_program_gives_the_results_of_the_function": some("numbers",
            "containers of results", "parts of a long row", "arguments that are returned",
            "arguments that are written", "indices", "arrays and numbers outside", "products",
            "a text, and a number that is looked at"),
    },
    "test_saved_for_a_gpu.py": {
        "test_a_loaded_program_launches_what_the_function_does": some("numbers",
            "parts of a long row", "arguments that are written"),
    },
    "test_exported.py": {
        "test_a_cuda_file_is_compiled_by_nvcc_and_gives_the_bits_of_the_program": some(
            "temporaries", "arguments that are written"),
        "test_a_python_file_launches_by_cupy_alone": some("temporaries",
            "arguments that are written", "numbers of several kinds"),
    },
}
# fmt: on
