"""Every operation that changes the disk fails once, in turn; and the disk fills up at every point."""

from __future__ import annotations

import errno

import pytest

from tests.reliability.conftest import Report
from tests.reliability.states import HISTORY, STARTS, assert_is, files_at, next_of, one_commit
from tests.reliability.store import Store
from tests.storage.doubles import Fault, FaultyDirectory, MemoryDirectory, fail_from, fail_once
from zipfian.errors import IndexNotFound
from zipfian.index.manifest import list_generations

NO_FAULT: Fault = lambda i, verb: None  # noqa: E731
SPACE = frozenset({"create", "write", "fsync", "prepare"})


class Attempt:
    """One commit on a directory with a fault, and what came of it."""

    def __init__(self, start: int | None, fault: Fault) -> None:
        self.start, self.target = start, next_of(start)
        self.inner = MemoryDirectory(files_at(start))
        self.directory = FaultyDirectory(self.inner, fault)
        self.store: Store | None = None
        self.error: OSError | None = None
        self.working = False  # failed before `commit` was called
        try:
            self.store = Store(self.directory, create=start is None)
            self.working = True
            for action in next(todo for _, todo in HISTORY.forward(start)) if start is not None else ():
                self.store.run(action)
            self.working = False
            if start is not None:
                self.store.commit(self.target)
        except OSError as e:
            self.error = e
        self.directory.fault = NO_FAULT

    def assert_previous(self, *also: int) -> None:
        """Readers see what was there before."""
        if self.start is None and not also:
            with pytest.raises(IndexNotFound):
                assert_is(self.inner)
        elif self.start is None:
            try:
                assert_is(self.inner, *also)
            except IndexNotFound:
                pass
        else:
            assert_is(self.inner, self.start, *also)

    def go_on(self) -> str:
        """The next attempt, with the fault gone, succeeds: with the same writer if it is still open."""
        how = "reopened"
        if self.store is not None and not self.store.writer.closed:
            how = "same writer"
            if self.working:
                self.store.writer.rollback()
                one_commit(self.store, self.target)
            else:
                self.store.commit(self.target)
        else:
            assert not self.inner.locked
            self.store = Store(self.directory, create=not list_generations(self.inner))
            if self.store.n < self.target:
                one_commit(self.store, self.target)
        self.store.close()
        assert not self.inner.locked
        assert_is(self.inner, self.target)
        return how


@pytest.mark.parametrize("start", STARTS)
def test_each_operation_fails_once(start: int | None, report: Report) -> None:
    n, failed, how = 0, 0, []
    while True:
        n += 1
        attempt = Attempt(start, fail_once(n))
        if n > len(attempt.directory.log):
            break
        if attempt.error is None:  # the commit was complete: only cleaning up or the note failed
            assert_is(attempt.inner, attempt.target)
            assert attempt.directory.log[n - 1] in ("delete", "note")
        else:
            failed += 1
            assert attempt.error.errno == errno.EIO
            attempt.assert_previous()
        how.append(attempt.go_on())
    assert failed > 5
    report(
        f"n-th failure, commit after {start}: {n - 1} operations, each failed once; {failed} made the commit fail, "
        f"{how.count('same writer')} times the same writer went on, {how.count('reopened')} times a new one"
    )


@pytest.mark.parametrize("start", STARTS)
def test_everything_fails_from_an_operation_on(start: int | None, report: Report) -> None:
    n, doubt = 0, 0
    while True:
        n += 1
        attempt = Attempt(start, fail_from(n))
        if n > len(attempt.directory.log):
            break
        if attempt.error is None:
            assert_is(attempt.inner, attempt.target)
        elif any("may or may not" in note for note in getattr(attempt.error, "__notes__", ())):
            doubt += 1  # not even the withdrawal worked: the error says so, and either commit is whole
            attempt.assert_previous(attempt.target)
        else:
            attempt.assert_previous()
        attempt.go_on()
    assert doubt == 1
    report(f"failure from the n-th operation on, commit after {start}: {n - 1} points, {doubt} of them in doubt")


@pytest.mark.parametrize("start", [s for s in STARTS if s is not None])
def test_disk_full(start: int, report: Report) -> None:
    n, failed = 0, 0
    while True:
        n += 1
        attempt = Attempt(start, fail_from(n, errno.ENOSPC, SPACE))
        if n > len(attempt.directory.log):
            break
        if attempt.error is None:
            continue
        failed += 1
        assert attempt.error.errno == errno.ENOSPC
        attempt.assert_previous()
        assert attempt.go_on() == "same writer"  # once there is space, nothing needs to be done again
    report(f"disk full, commit after {start}: at {failed} points; afterwards the same writer went on each time")


def test_what_cannot_be_deleted_is_collected_later() -> None:
    attempt = Attempt(6, fail_from(1, errno.EACCES, frozenset({"delete"})))
    assert attempt.error is None and attempt.store is not None
    assert_is(attempt.inner, 7)
    before = len(attempt.inner.list())
    one_commit(attempt.store, 8)
    attempt.store.close()
    assert len(attempt.inner.list()) < before
    assert_is(attempt.inner, 8)


def test_starts_are_varied() -> None:
    """The commits that are tried contain every kind of action."""
    verbs = {a.verb for s in STARTS if s is not None for a in next(todo for _, todo in HISTORY.forward(s))}
    assert verbs == {"put", "delete", "merge"}
    assert any(name.endswith(".del") for name in files_at(6)) and any(name.endswith(".vec") for name in files_at(6))
