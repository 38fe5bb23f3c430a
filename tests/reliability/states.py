"""Collections in memory to start from, and one commit to make on them."""

from __future__ import annotations

from functools import lru_cache

from tests.reliability.store import Store, read_commit
from tests.reliability.workload import History
from tests.storage.doubles import MemoryDirectory
from zipfian.index.check import check
from zipfian.storage.directory import Directory

SEED = 7
HISTORY = History(SEED)
STARTS = (None, 0, 3, 6, 11)
"""Commits from which the next one is tried; None: the collection does not exist yet. See `test_starts_are_varied`."""


@lru_cache
def files_at(n: int | None) -> dict[str, bytes]:
    """The files of a collection after commit `n`."""
    directory = MemoryDirectory()
    if n is not None:
        store = Store(directory, create=True)
        for number, _ in zip(range(1, n + 1), range(n), strict=True):
            one_commit(store, number)
        store.close()
    return {name: bytes(inode.data) for name, inode in directory.files.items()}


def next_of(n: int | None) -> int:
    """The commit after `n`; creating a collection makes number 0."""
    return 0 if n is None else n + 1


def one_commit(store: Store, n: int) -> None:
    """Do the work of commit `n` and commit it."""
    if n > 0:
        for _, todo in zip(range(1), (todo for _, todo in HISTORY.forward(n - 1)), strict=False):
            for action in todo:
                store.run(action)
        store.commit(n)


def assert_is(directory: Directory, *allowed: int) -> int:
    """The directory holds exactly one of these commits, and `check` finds nothing wrong with it."""
    found, content = read_commit(directory)
    assert found in allowed, (found, allowed)
    assert content == HISTORY.content(found)
    assert list(content) == list(HISTORY.content(found))
    report = check(directory)
    assert report.ok, str(report)
    return found
