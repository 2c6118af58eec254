"""What leaves the default tier of tests/html."""

from tests.support.tiers import Slow, away, every, some

# fmt: off
TABLE: dict[str, dict[str, Slow]] = {
    "test_browser.py": {
        "test_light_and_dark_wide_and_narrow": away("html/test_browser.py::test_switches_and_keys"),
    },
    "test_extension.py": {
        "test_a_question_has_an_answer_that_a_notebook_shows": every(3),
    },
    "test_notebooks.py": {
        "test_a_notebook_runs_and_shows_what_is_stored": some("table"),
    },
    "test_page.py": {
        "test_a_switch_shows_the_source_that_the_toggle_gives": some("USE_REGISTER_ROW"),
        "test_a_program_of_several_kernels_has_a_chapter_for_each": away("html/test_page.py::test_kernels_that_are_too_many_are_said_to_be_left_out"),
        "test_spots_lie_under_the_roof_and_inside_of_the_chart": away("html/test_page.py::test_counters_and_a_roofline_are_those_of_the_profile"),
        "test_a_page_of_the_gallery_is_not_too_large": away("html/test_page.py::test_views_take_no_more_room_than_they_may"),
    },
}
# fmt: on
