"""The machine stops at every point, and forgets whatever was not synced: this is what finds a missing fsync."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.conftest import SOAK
from tests.reliability.conftest import Report
from tests.reliability.states import STARTS, assert_is, files_at, next_of, one_commit
from tests.reliability.store import Store
from tests.storage.doubles import FaultyDirectory, Inode, MemoryDirectory, PowerLoss, stop_at
from zipfian.errors import IndexCorrupt, IndexNotFound

DISKS = 20 if SOAK else 4
"""Different remains looked at for each point."""


def run_until(inner: MemoryDirectory, target: int, n: int) -> tuple[bool, int]:
    """Try to make commit `target`, with the power going at operation `n`. Was it acknowledged? And operations done."""
    directory = FaultyDirectory(inner, stop_at(n))
    try:
        store = Store(directory, create=target == 0)
        one_commit(store, target)
    except PowerLoss:
        return False, len(directory.log)
    return True, len(directory.log)


def assert_remains(disk: MemoryDirectory, start: int | None, target: int, acknowledged: bool) -> int | None:
    """The commit that a disk holds after the crash, which must be the right one."""
    if acknowledged:
        return assert_is(disk, target)
    if start is not None:
        return assert_is(disk, start, target)
    try:
        return assert_is(disk, target)
    except IndexNotFound:
        return None


@pytest.mark.parametrize("start", STARTS)
def test_power_goes_at_each_operation(start: int | None, report: Report) -> None:
    rng = random.Random(str(start))
    target = next_of(start)
    counts: Counter[str] = Counter()
    n, acknowledged = 0, False
    while not acknowledged:
        n += 1
        inner = MemoryDirectory(files_at(start))
        acknowledged, _ = run_until(inner, target, n)
        for _ in range(DISKS):
            disk = inner.after_power_loss(rng)
            found = assert_remains(disk, start, target, acknowledged)
            counts["new" if found == target else "old"] += 1
        assert run_until(disk, next_of(found), 10**9)[0]  # and the work goes on
        assert_is(disk, next_of(found))
    assert n > 5 and counts["new"] > DISKS
    report(
        f"power loss, commit after {start}: {n} points x {DISKS} disks; {counts['old']} times the commit before was "
        f"there, {counts['new']} times the new one"
    )


def test_one_power_loss_after_another(report: Report) -> None:
    rng = random.Random(1)
    disk, at = MemoryDirectory(), None
    losses = 0
    while losses < (2_000 if SOAK else 60):
        target = next_of(at)
        acknowledged, _ = run_until(disk, target, rng.randint(1, 150))
        disk = disk.after_power_loss(rng)
        at = assert_remains(disk, at, target, acknowledged)
        losses += 1
    assert at is not None and at > 5
    report(f"{losses} power losses in a row: {at} commits made, none lost")


@pytest.mark.parametrize("start", [start for start in STARTS if start is not None])
def test_killed_at_each_operation_then_the_power_goes(start: int, report: Report) -> None:
    """A kill leaves what it wrote to be seen, synced or not. Whoever opens the collection builds on what it sees, and a
    commit that has nothing to add says that it is safe: then no power loss may take it away."""
    rng = random.Random(start)
    target = next_of(start)
    unsynced, n = 0, 0
    while True:
        n += 1
        inner = MemoryDirectory(files_at(start))
        try:
            one_commit(Store(FaultyDirectory(inner, stop_at(n))), target)
            break
        except PowerLoss:
            inner.locked = False  # the system lets go of a dead process's lock
        unsynced += inner.durable.keys() != inner.files.keys()
        with Store(inner).writer as again:
            seen = int(again.user.get("n", 0))
            again.commit()
            assert seen in (start, target)
            for _ in range(DISKS):
                assert_is(inner.after_power_loss(rng), seen)
    assert unsynced > 3, "most points leave names that only the next writer's sync makes safe"
    report(f"killed at {n} points of the commit after {start}, opened, committed, power lost: what was seen was there")


class ForgetsNames(MemoryDirectory):
    """A disk on which syncing the folder does nothing."""

    def sync(self) -> None:
        pass


class ForgetsFiles(MemoryDirectory):
    """A disk on which syncing a file does nothing."""

    def sync(self) -> None:
        super().sync()
        for inode in self.files.values():
            inode.synced = False


@pytest.mark.parametrize("kind", [ForgetsNames, ForgetsFiles])
def test_these_tests_would_notice(kind: type[MemoryDirectory]) -> None:
    """On a disk that only pretends to sync, acknowledged commits do get lost, and the assertions above see it."""
    rng = random.Random(2)
    noticed = 0
    for _ in range(20):
        inner = kind(files_at(3))
        inner.files = {name: Inode(bytes(inode.data), synced=True) for name, inode in inner.files.items()}
        assert run_until(inner, 4, 10**9)[0]
        try:
            assert_remains(inner.after_power_loss(rng), 3, 4, acknowledged=True)
        except (AssertionError, IndexCorrupt):
            noticed += 1
    assert noticed > 10
