"""``python -m opweave``: see ``opweave.cli.main``."""

import sys

from opweave.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
