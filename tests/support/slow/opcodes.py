"""What leaves the default tier of tests/opcodes."""

from tests.support.tiers import Slow, diagonal, every, only

# Each kind of dtype, and floats that are rounded in other ways.
_TYPES = ("bool", "int64", "uint8", "bfloat16", "float32", "float64", "complex64")

# fmt: off
TABLE: dict[str, dict[str, Slow]] = {
    "test_broken_fragments.py": {
        "test_the_host_compiler_s_complaint_names_the_op_code": diagonal("name", "target"),
    },
    "test_complex.py": {
        "test_arithmetic_has_numpys_special_values": diagonal("arity", "name"),
        "test_functions_have_the_special_values_of_annex_g": diagonal("row", "name", most=2),
        "test_powers_of_arrays_that_the_function_makes": every(3),
    },
    "test_complex_bounds.py": {
        "test_bounds_of_inverses_are_a_few_ulp_everywhere": diagonal("row", "name",
            "executor", most=3),
        "test_either_part_of_an_inverse_is_right_to_a_few_ulp_everywhere": diagonal("row",
            "name", most=2),
        "test_functions_keep_their_bounds_and_numpys_wide_values_do_too": diagonal("row",
            "name", most=3),
    },
    "test_host_math.py": {
        "test_a_function_keeps_its_stated_ulp": diagonal("name", "dtype", most=7),
        "test_a_vector_and_its_rest_have_the_same_bits": diagonal("name", "dtype", most=4),
        "test_relaxed_arithmetic_leaves_the_functions_themselves": every(4),
    },
    "test_integer_edges.py": {
        "test_integers_of_the_edges": diagonal("table", "target", "dtype", most=8),
        "test_quotients_by_one_number": diagonal("dtype", "y", most=6),
        "test_quotients_next_to_whole_ones": every(2),
    },
    "test_numerics.py": {
        "test_results_are_those_of_numpy": every(2),
    },
    "test_lists.py": {
        "test_a_list_has_the_bits_of_its_op_codes_as_operators": diagonal("dtype", "target",
            most=9).less("int16-host", "int32-host"),
        "test_a_list_has_the_same_bits_wherever_it_stands": diagonal("form", "target").less(
            "behind a product, by rows-host"),
    },
    "test_operators.py": {
        "test_binary_operators_agree_with_numpy_on_all_pairs_of_special_values": only("name", *_TYPES),
        "test_casts_agree_with_numpy": only("source", *_TYPES, "int8", "float16", "uint64"),
        "test_composites_agree_with_numpy": diagonal("composite", "name"),
        "test_fused_operators_return_numpys_dtypes": only("name", *_TYPES),
        "test_reductions_agree_with_numpy": diagonal("name", "axis").less("0-int8"),
        # doubles: test_umath_rows.py::test_rows_hold_on_the_host
        "test_unary_operators_agree_with_numpy_on_special_values": only("name", *_TYPES).less(
            "float64"),
    },
    "test_ordinary_numbers.py": {
        "test_a_long_array_has_the_bits_of_its_pieces": diagonal("name", "dtype"),
        "test_a_rare_number_leaves_every_form_as_it_is": diagonal("columns", "dtype", "name"),
        "test_an_ordinary_number_has_the_same_bits_beside_any_other": diagonal("name", "dtype"),
    },
    "test_own_products.py": {
        "test_a_list_is_a_product": diagonal("name", "target", most=2),
        "test_max_plus_is_exact_but_for_the_sum_in_every_form": diagonal("form", "target"),
    },
    "test_own_reductions.py": {
        "test_a_list_is_a_reduction": diagonal("name", "target", most=4),
        "test_a_list_is_a_scan": diagonal("name", "target"),
        "test_the_list_of_sum_has_the_bits_of_sum_in_every_form": diagonal("form", "target"),
    },
    "test_pixels.py": {
        "test_a_chain_is_one_kernel_from_uint8_to_uint8": diagonal("target", "shape", most=3),
        "test_channels_and_pixels_broadcast_as_by_numpy": diagonal("target", "case", most=4),
        "test_every_layout_gives_the_bits_of_a_copy": diagonal("target", "layout"),
        "test_every_operator_agrees_with_its_meaning": diagonal("target", "operator",
            "name", most=5),
        "test_pictures_broadcast_over_others": diagonal("target", "dtype", "shape", most=2),
    },
    "test_scan_functions.py": {
        "test_a_function_is_numpys": diagonal("name",
            "target", most=8).also("from a row of weights-sm_80", "logical_and.accumulate-sm_80",
            "nancumprod-sm_80", "nancumsum-host", "nancumsum-sm_80", "of a broadcast-sm_80",
            "of columns in an order-sm_80", "of elements at places-sm_80",
            "of rolled columns-host", "of rolled columns-sm_80"),
        "test_every_scan_of_every_type_keeps_its_bound": diagonal("target", "axis",
            "dtype", most=7).also("host-1-bool", "host-1-int8", "host-1-uint8", "sm_80-0-bool",
            "sm_80-0-float64", "sm_80-0-int8", "sm_80-0-uint8", "sm_80-1-bool"),
    },
    "test_toggles_of_running_values.py": {
        "test_a_running_value_has_the_same_bits_with_every_value_in_every_form": diagonal("name",
            "target").less("rows of a product-host", "scanned rows-sm_80", "a product-sm_80"),
    },
    "test_umath_rows.py": {
        "test_rows_hold_in_verify_mode": diagonal("first", "dtype"),
        "test_rows_hold_on_the_host": every(2),
    },
    "test_vectors_in_products.py": {
        "test_a_product_in_a_list_takes_vectors_as_numpy_does": diagonal("operator", "name"),
    },
    "test_specials.py": {
        "test_no_compiler_makes_one_function_of_two": diagonal("family", "turn"),
        "test_special_values_are_numpys": diagonal("name", "arity", most=3),
    },
}
# fmt: on
