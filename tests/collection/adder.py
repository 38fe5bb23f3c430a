"""The process that gets killed: `python -m tests.collection.adder FOLDER COUNT`.

It adds the documents 0 .. COUNT - 1 from a generator, commits now and then, and skips what is already there: run again
after a kill, it goes on where the last commit left off. Each line it prints is the number of documents committed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

import zipfian as zf
from zipfian.errors import IndexNotFound

BATCH = 100


def documents(count: int) -> Iterator[dict[str, Any]]:
    """Made one at a time: they are never all in memory."""
    for n in range(count):
        yield {"id": f"doc-{n}", "text": f"document number {n} of {count}, " + "word " * (n % 9), "metadata": {"n": n}}


def main(folder: str, count: int) -> None:
    """Add everything."""
    try:
        c = zf.Collection.open(folder, "w", memory_bytes=100_000)
    except IndexNotFound:
        c = zf.Collection.create(folder, memory_bytes=100_000)
    with c:
        source = documents(count)
        while batch := list(islice(source, BATCH)):
            if c.add(batch, existing="skip"):
                c.commit()
            sys.stdout.write(f"{len(c)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
    if "numba" in sys.modules:
        raise SystemExit("writing an index must not load numba")
