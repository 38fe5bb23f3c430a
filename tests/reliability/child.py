"""The process that gets killed: `python -m tests.reliability.child FOLDER SEED`.

It continues where the last commit left off and tells what it does on standard output: `ready N` once the collection is
open at commit N, `begin N` before the work of a commit, `commit N` before it is committed, `done N` when `commit` has
returned. It never ends by itself.
"""

from __future__ import annotations

import sys

from tests.reliability.store import Store
from tests.reliability.workload import History
from zipfian.errors import IndexNotFound
from zipfian.storage.directory import FSDirectory


def say(verb: str, n: int) -> None:
    """One line, out of the process before anything else happens."""
    sys.stdout.write(f"{verb} {n}\n")
    sys.stdout.flush()


def main(folder: str, seed: int) -> None:
    """Commit until killed."""
    directory = FSDirectory(folder)
    try:
        store = Store(directory)
    except IndexNotFound:
        store = Store(directory, create=True)
    say("ready", store.n)
    for n, todo in History(seed).forward(store.n):
        say("begin", n)
        for action in todo:
            store.run(action)
        say("commit", n)
        store.commit(n)
        say("done", n)


if __name__ == "__main__":
    if "numba" in sys.modules:
        raise SystemExit("writing an index must not load numba")
    main(sys.argv[1], int(sys.argv[2]))
