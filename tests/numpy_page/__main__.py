"""python -m tests.numpy_page: write docs/numpy.md; with --check compare the results with NumPy's.

With --kinds the results for operands of other types, shapes and layouts, too: some ten minutes.
Exit status 1 if a result is another than NumPy's.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np

from .judge import difference
from .kinds import KINDS, differences
from .page import PAGE, chapters, rows_of, text_of


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.numpy_page", description=__doc__)
    parser.add_argument("--check", action="store_true", help="run the calls, too")
    parser.add_argument("--kinds", action="store_true", help="run them on other operands, too")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with np.errstate(all="ignore"):
        PAGE.write_text(text_of({name: rows_of(calls) for name, calls in chapters().items()}))
    print(f"wrote {PAGE}")
    calls = tuple(call for chapter in chapters().values() for call in chapter)
    count = 0
    if options.check:
        wrong = {call: found for call in calls if (found := difference(call))}
        count += shown("as on the page", len(calls), wrong)
    for kind in KINDS if options.kinds else ():
        count += shown(kind, len(calls), differences(kind, calls))
    return 1 if count else 0


def shown(kind: str, calls: int, wrong: dict[str, str]) -> int:
    """Print what differs; how much that is."""
    for call, found in wrong.items():
        print(f"  {call}: {found}")
    print(f"{kind}: {calls} calls, {len(wrong)} other than NumPy's")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(main())
