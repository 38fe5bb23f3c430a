"""A process that reads while another writes: `python -m tests.reliability.reader FOLDER SEED`.

It opens the newest commit again and again, compares all of it with what the seed says, and also reads again from a
snapshot that it keeps open. It stops when its standard input closes, and prints how many commits it has read.
"""

from __future__ import annotations

import sys
import threading

from tests.reliability.store import read_content
from tests.reliability.workload import History
from zipfian.index.snapshot import Snapshot
from zipfian.storage.directory import FSDirectory


def compare(snapshot: Snapshot, history: History) -> int:
    """The number of the commit that a snapshot shows, if it shows exactly that."""
    n, content = int(snapshot.user.get("n", 0)), read_content(snapshot)
    expected = history.content(n)
    if content != expected or list(content) != list(expected):
        raise SystemExit(f"commit {n} is not what was written")
    return n


def main(folder: str, seed: int) -> None:
    """Read until told to stop."""
    stop = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        stop.set()

    threading.Thread(target=wait, daemon=True).start()
    history, directory = History(seed), FSDirectory(folder)
    kept = Snapshot.open(directory)
    seen: list[int] = []
    while not stop.is_set() or not seen:
        with Snapshot.open(directory) as snapshot:
            seen.append(compare(snapshot, history))
        if seen != sorted(seen):
            raise SystemExit("an older commit came back")
        if len(seen) % 7 == 0:
            compare(kept, history)
            kept.close()
            kept = Snapshot.open(directory)
    sys.stdout.write(f"{len(seen)} {len(set(seen))}\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
