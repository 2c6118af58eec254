"""python -m tests.numpy_page: write docs/numpy.md; with --check compare the results with NumPy's.

Exit status 1 if a result is another than NumPy's.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np

from .judge import difference
from .page import PAGE, chapters, rows_of, text_of


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.numpy_page", description=__doc__)
    parser.add_argument("--check", action="store_true", help="run the calls, too")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with np.errstate(all="ignore"):
        PAGE.write_text(text_of({name: rows_of(calls) for name, calls in chapters().items()}))
    print(f"wrote {PAGE}")
    if not options.check:
        return 0
    calls = [call for chapter in chapters().values() for call in chapter]
    wrong = {call: found for call in calls if (found := difference(call))}
    for call, found in wrong.items():
        print(f"{call}: {found}")
    print(f"{len(calls)} calls, {len(wrong)} other than NumPy's")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
