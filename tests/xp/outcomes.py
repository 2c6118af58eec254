"""A plugin of pytest for the run of another suite: what became of each test, a line each.

Loaded by ``-p``.  ``OUTCOMES`` in the environment names the file; ``KERNELS`` makes kernels run
arrays of any length, which NumPy would be done with before.
"""

import os


def pytest_configure(config):
    if os.environ.get("KERNELS"):
        from opweave.xp import programs

        programs.LEAST_ELEMENTS = 0


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        with open(os.environ["OUTCOMES"], "a") as file:
            file.write(f"{report.outcome} {report.nodeid}\n")
