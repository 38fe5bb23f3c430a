"""A process that competes for the lock: `python -m tests.reliability.counter FOLDER TIMES`.

Each time it opens a writer, adds one to a number stored with the commit, and closes it. Lost updates would show.
"""

from __future__ import annotations

import sys
import time

from zipfian.errors import IndexLocked
from zipfian.index.commit import Writer
from zipfian.storage.directory import FSDirectory


def main(folder: str, times: int) -> None:
    """Add `times`, waiting for the lock when another has it."""
    refused = 0
    while times:
        try:
            with Writer(FSDirectory(folder)) as writer:
                writer.commit({"count": writer.user.get("count", 0) + 1})
                times -= 1
        except IndexLocked:
            refused += 1
            time.sleep(0.001)
    sys.stdout.write(f"{refused}\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
