"""What leaves the default tier of tests/cli."""

from tests.support.tiers import Slow, diagonal, every, some

# fmt: off
TABLE: dict[str, dict[str, Slow]] = {
    "test_cli_doctor.py": {
        "test_the_status_says_whether_kernels_run_anywhere": diagonal("host", "gpu", "status"),
        "test_what_is_missing_comes_with_its_command": every(2),
    },
    "test_cli_view.py": {
        "test_a_page_is_written": some("a whole", "loops in C"),
    },
    "test_cli_profile.py": {
        "test_a_lesson_prints_what_the_page_says": every(2),
        "test_a_mistake_is_one_line": every(2),
    },
}
# fmt: on
