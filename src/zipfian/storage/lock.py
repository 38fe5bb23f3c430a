"""The writer's lock: held by the operating system, so it cannot outlive the process that took it.

The lock file also carries a note of the newest committed generation. It is written after a commit is durable and is
never synced, so it may lag behind but is never ahead: a collection whose note is ahead of its newest manifest has lost
that manifest, and opening it as the older commit would be a silent step back in time.
"""

from __future__ import annotations

import contextlib
import errno
import os
import weakref
from pathlib import Path
from typing import Protocol

from zipfian.errors import IndexCorrupt, IndexLocked

_FAR = 1 << 30
"""The byte that is locked on Windows, where a locked range cannot be read: far behind the note."""

_BUSY = frozenset({errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK})


class Lock(Protocol):
    """The right to write, until released."""

    def note(self, text: bytes) -> None:
        """Replace the lock file's content (a few bytes, not synced)."""

    def check(self) -> None:
        """`IndexLocked` unless the right is still ours alone."""

    def release(self) -> None:
        """Give the right back. Harmless when repeated."""


class FileLock:
    """An exclusive OS lock on a file, taken when the object is made; `IndexLocked` if somebody holds it."""

    def __init__(self, path: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        self._path = path
        self._fd: int | None = None  # first of all: `__del__` also runs when the next lines fail
        if path.is_symlink():
            raise IndexCorrupt(path.name, "is a symbolic link; a collection holds plain files only")
        self._fd = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o666)
        try:
            _acquire(self._fd)
        except OSError as e:
            self._close()
            if e.errno not in _BUSY:
                raise
            raise IndexLocked(
                f"{path.parent} is being written by another writer, in this or another process; "
                "close it, or open the collection for reading"
            ) from e
        _held.add(self)

    def note(self, text: bytes) -> None:
        """One small write in place; a torn one is recognised by its own checksum (see `manifest.read_note`)."""
        if self._fd is None:
            raise IndexLocked("the lock was released")
        os.lseek(self._fd, 0, os.SEEK_SET)
        os.write(self._fd, text)

    def check(self) -> None:
        """The file that is locked must still be the one of that name: another writer would lock a new one beside it."""
        if self._fd is None:
            raise IndexLocked("the lock was released")
        try:
            same = os.path.samestat(os.fstat(self._fd), os.lstat(self._path))
        except FileNotFoundError:
            same = False
        if not same:
            raise IndexLocked(
                f"{self._path} was removed or replaced while this writer held it, so another writer may be at work. "
                "Nothing was committed here, and every earlier commit is as it was: close this collection, open it "
                "again, and repeat what was not committed. Never delete that file; it is no sign of a writer"
            )

    def release(self) -> None:
        """Close the file, which drops the lock. The file stays: deleting it could let two writers in."""
        self._close()

    def __del__(self) -> None:
        self._close()

    def _close(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)


def _acquire(fd: int) -> None:
    if os.name == "nt":  # pragma: no cover
        import msvcrt

        os.lseek(fd, _FAR, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    else:
        import fcntl

        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


_held: weakref.WeakSet[FileLock] = weakref.WeakSet()


def _forget_in_child() -> None:
    """A forked child shares the parent's lock; without this it would keep it alive after the parent's death."""
    for lock in list(_held):
        with contextlib.suppress(OSError):
            lock._close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
