"""`python -m zipfian` is the `zipfian` command."""

from __future__ import annotations

import sys

from zipfian.cli import main

if __name__ == "__main__":
    sys.exit(main())
