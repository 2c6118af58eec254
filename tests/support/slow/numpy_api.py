"""What leaves the default tier of tests/numpy_api."""

from tests.support.tiers import Slow, diagonal, every, some

# fmt: off
TABLE: dict[str, dict[str, Slow]] = {
    "test_axes.py": {
        "test_any_set_of_axes_is_reduced_as_by_numpy": diagonal("name", "axes",
            "target", most=4).also("any-axes87-sm_80"),
    },
    "test_complex_arrays.py": {
        "test_any_layout_serves": diagonal("layout", "name", "target", most=3),
        "test_types_shapes_and_values_are_numpys": diagonal("case",
            "name", most=8).also("comparison-complex64", "reductions-complex64"),
    },
    "test_complex_spellings.py": {
        "test_functions_that_are_made_of_others_take_complex_arrays": diagonal("name",
            "dtype", most=8).also("variance, mean-complex128", "real if close-complex128",
            "correlation coefficients-complex128"),
        "test_nan_in_either_part_counts_as_nan": diagonal("name", "dtype", most=6),
    },
    "test_composed.py": {
        "test_it_is_numpys": diagonal("target", "case", most=3).also("host-diff of bool",
            "sm_80-count_nonzero of integers", "sm_80-diff of bool", "sm_80-norm inf",
            "sm_80-ptp of integers", "host-count_nonzero of integers", "sm_80-nansum",
            "host-ptp of integers", "sm_80-nanvar", "host-nanvar"),
    },
    "test_creation.py": {
        "test_what_is_made_is_numpys": diagonal("target", "case", most=3).also("host-by an extent",
            "sm_80-by an extent", "sm_80-full_like of another type", "sm_80-of an extent"),
    },
    "test_errors_by_numpy.py": {
        "test_an_error_is_told_as_by_numpy": every(6).also("47", "16"),
        "test_where_there_is_no_error_kernels_are_the_whole_call": every(8).also("17", "41", "37",
            "38", "40", "29", "34", "20", "31"),
    },
    "test_indexing.py": {
        "test_an_index_is_numpys": diagonal("target", "case", most=9),
        "test_any_layout_can_be_indexed": diagonal("layout", "target", most=2),
    },
    "test_missing_places.py": {
        "test_a_place_is_checked_though_nobody_reads_it": diagonal("fused", "function"),
        "test_a_place_that_is_not_there_is_refused_where_nothing_is_read": every(2),
    },
    "test_numpy_forms.py": {
        "test_a_form_that_was_in_parts_is_whole": every(4),
        "test_a_type_that_follows_from_values_is_pythons": diagonal("scale", "function"),
        "test_max_and_min_of_computed_numbers": diagonal("kind", "name", "scale"),
        "test_the_mean_of_a_variance_takes_part_in_its_type": diagonal("mean", "of"),
    },
    "test_numpys_rules.py": {
        "test_a_cast_to_integers_and_back_is_no_truncation": every(2),
        "test_a_power_of_one_half_is_the_root_where_numpy_takes_it": every(2),
        "test_integer_arrays_meet_integer_constants": diagonal("function", "dtype"),
    },
    "test_reshape.py": {
        "test_a_reshape_is_numpys": diagonal("target", "case", most=10),
        "test_what_stands_in_a_maps_place_is_reshaped_as_rows": diagonal("name", "layout"),
    },
    "test_selection.py": {
        "test_what_a_mask_selects_stays_in_the_kernel": diagonal("target",
            "name", most=2).also("sm_80-a spread", "sm_80-truth"),
    },
    "test_spellings.py": {
        "test_it_is_numpys_in_few_kernels": some("host-a place", "host-a table of products",
            "sm_80-a place from the end", "sm_80-logsumexp", "sm_80-nextafter", "sm_80-norms",
            "sm_80-searchsorted of integers"),
        "test_what_was_wrong_once_is_numpys": every(4).also("a table of integers for bfloat16",
            "nothing, resized", "a square product in place", "rounds of eigenvalues"),
    },
    "test_values.py": {
        "test_dtypes_keep_their_characters": every(16).also("np.gcd(x, y)", "~x"),
        "test_interp_of_complex_values": diagonal("z", "function", most=3),
        "test_results_have_the_types_of_numpy": every(8).also("np.size(x, 0)",
            "np.logical_not(np.allclose(x, x))", "np.allclose(o, 2.5)",
            "np.array([np.allclose(x, x), np.allclose(x, y)])"),
        "test_what_only_python_knows_has_its_types_in_parts": every(2),
    },
    "test_stored_numbers.py": {
        "test_loops_store_numbers_or_refuse_them_as_numpy": diagonal("function", "dtype"),
        "test_a_number_is_stored_or_refused_as_by_numpy": diagonal("function", "key", "dtype"),
    },
}
# fmt: on
