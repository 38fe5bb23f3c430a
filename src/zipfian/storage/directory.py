"""Where files live: the interface through which the index touches a disk.

A directory is a flat folder of write-once files, plus the lock file. Everything the durability promise rests on
(exclusive creation, fsync of a file, rename, fsync of the folder, the writer's lock) is a method here, so that
tests can put a directory in its place that fails, or that forgets what was not synced.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import sys
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Protocol

from zipfian import limits
from zipfian.errors import IndexCorrupt, IndexExists, IndexNotFound, InvalidInput, ReadOnly, room_for
from zipfian.storage.lock import FileLock, Lock
from zipfian.storage.regular import ByteArray, mapped

Bytes = bytes | bytearray | memoryview

LOCK_NAME = "write.lock"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*(\.[a-z0-9_-]+)*")
_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{d}{i}" for d in ("com", "lpt") for i in range(10))})
_READ_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | (_READ_FLAGS & ~os.O_RDONLY)


class FileWriter(Protocol):
    """A new file being written, front to back, once."""

    def write(self, data: Bytes) -> None:
        """Append `data`."""

    def tell(self) -> int:
        """Bytes written so far."""

    def close(self) -> None:
        """Make the content durable (fsync) and close. The name is durable only after `Directory.sync`."""

    def abort(self) -> None:
        """Close without making anything durable. Never raises; harmless after `close`."""


class Creates(Protocol):
    """What can begin a file, and take it away again: a directory, or whatever else a `SectionWriter` writes to."""

    def create(self, name: str) -> FileWriter:
        """A new file."""

    def delete(self, name: str) -> None:
        """Remove it."""


class Directory(Protocol):
    """A flat folder of write-once files."""

    @property
    def key(self) -> Hashable:
        """The same value for every object that stands for this folder, in this process."""

    def prepare(self) -> None:
        """Create the folder if it is not there, durably."""

    def list(self) -> list[str]:
        """Sorted names of all entries, also foreign ones; `IndexNotFound` if there is no such folder."""

    def exists(self, name: str) -> bool:
        """Whether `name` is there."""

    def size(self, name: str) -> int:
        """Bytes of a file."""

    def read(self, name: str, limit: int) -> bytes:
        """A whole small file; `IndexCorrupt` if it is larger than `limit` bytes."""

    def map(self, name: str) -> ByteArray:
        """A whole file as a read-only array that stays valid when the file is deleted."""

    def create(self, name: str) -> FileWriter:
        """A new file; `FileExistsError` if the name is taken: nothing is ever written twice."""

    def rename(self, old: str, new: str) -> None:
        """Give a file its final name, atomically; `FileExistsError` if that is taken."""

    def delete(self, name: str) -> None:
        """Remove a file; `FileNotFoundError` if it is not there."""

    def sync(self) -> None:
        """Make creations, renames and deletions durable: fsync of the folder itself."""

    def lock(self) -> Lock:
        """Become the only writer; `IndexLocked` if there is one already."""


def write_file(directory: Directory, name: str, data: bytes) -> None:
    """A new file with this content, synced; what went wrong leaves it unfinished, and whoever named it cleans up."""
    file = directory.create(name)
    try:
        file.write(data)
        file.close()
    except BaseException:
        file.abort()
        raise


def check_name(name: str) -> str:
    """`name` if it is a plain file name that is safe on every file system, else `InvalidInput`.

    Lower case only, because some file systems do not tell cases apart; no separators, no `..`, no device names.
    """
    if len(name) > limits.MAX_FILE_NAME_CHARS or not _NAME.fullmatch(name) or name.partition(".")[0] in _DEVICES:
        raise InvalidInput(f"not a valid name for a file of a collection: {name[:200]!r}")
    return name


class FSDirectory:
    """A folder of the local file system. Creating the object touches nothing."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def __repr__(self) -> str:
        return f"FSDirectory({str(self.path)!r})"

    def __str__(self) -> str:
        return str(self.path)

    @property
    def key(self) -> Hashable:
        """Device and inode of the folder, or its path while there is none."""
        try:
            info = self.path.stat()
        except OSError:
            return str(self.path.absolute())
        return (info.st_dev, info.st_ino)

    def prepare(self) -> None:
        """Create the folder and its missing parents; each new name is synced into its own parent."""
        if self.path.exists() and not self.path.is_dir():
            raise IndexExists(f"{self.path} is a file; a collection is a folder: choose another path")
        missing = []
        folder = self.path.absolute()
        while not folder.exists() and folder != folder.parent:
            missing.append(folder)
            folder = folder.parent
        for folder in reversed(missing):
            with contextlib.suppress(FileExistsError), _writing(self.path):
                folder.mkdir()
            sync_folder(folder.parent)

    def list(self) -> list[str]:
        """Sorted names, whatever kind of entry they are: opening one that is not a plain file is an error."""
        try:
            return sorted(os.listdir(self.path))
        except FileNotFoundError as e:
            raise IndexNotFound(f"no such folder: {self.path}") from e
        except NotADirectoryError as e:
            raise IndexNotFound(f"{self.path} is a file; a collection is a folder") from e

    def exists(self, name: str) -> bool:
        """Whether an entry of that name is there, even one of the wrong kind."""
        return os.path.lexists(self._file(name))

    def size(self, name: str) -> int:
        """Bytes of a plain file."""
        return _plain(name, os.lstat(self._file(name))).st_size

    def read(self, name: str, limit: int) -> bytes:
        """The whole file in memory, for manifests."""
        fd, size = self._open(name)
        with os.fdopen(fd, "rb", buffering=0) as f:
            if size > limit:
                raise IndexCorrupt(name, f"is {size} bytes long, more than the {limit} such a file may have")
            data = f.read(limit + 1) if size else b""
            while data and len(data) < size and (more := f.read(size - len(data))):
                data += more
            return data

    def map(self, name: str) -> ByteArray:
        """The whole file, memory-mapped: pages are read when touched and belong to the system's cache."""
        fd, size = self._open(name)
        try:
            return mapped(fd, size)
        finally:
            os.close(fd)

    def create(self, name: str) -> FileWriter:
        """A new file, readable by whoever the umask allows."""
        with _writing(self.path):
            return _FSFile(os.open(self._file(name), _CREATE_FLAGS, 0o666), self._file(name))

    def rename(self, old: str, new: str) -> None:
        """Atomic for readers. That `new` is free is checked first: only the lock's holder renames."""
        target = self._file(new)
        if os.path.lexists(target):
            raise FileExistsError(f"{new} is there already")
        with _writing(self.path):
            os.rename(self._file(old), target)

    def delete(self, name: str) -> None:
        """Unlink. Mappings of the file stay valid on POSIX; on Windows a mapped file refuses to go."""
        with _writing(self.path):
            os.unlink(self._file(name))

    def sync(self) -> None:
        """Fsync of the folder (Windows has no such call: NTFS journals names by itself)."""
        with room_for(self.path):
            sync_folder(self.path)

    def lock(self) -> Lock:
        """An OS lock on `write.lock`, which the system drops when the process dies, however it dies."""
        with _writing(self.path):
            return FileLock(self._file(LOCK_NAME))

    def _file(self, name: str) -> Path:
        return self.path / check_name(name)

    def _open(self, name: str) -> tuple[int, int]:
        path = self._file(name)
        _plain(name, os.lstat(path))  # before opening: opening a pipe could wait for ever
        fd = os.open(path, _READ_FLAGS)
        try:
            return fd, _plain(name, os.fstat(fd)).st_size
        except BaseException:
            os.close(fd)
            raise


class _FSFile:
    """A `FileWriter` over a descriptor, without a buffer: its user writes large pieces."""

    def __init__(self, fd: int, path: Path) -> None:
        self._raw = os.fdopen(fd, "wb", buffering=0)
        self._path = path
        self._size = 0

    def write(self, data: Bytes) -> None:
        view = memoryview(data).cast("B")
        with room_for(self._path):
            while len(view):  # a raw write may take less than it was given
                done = self._raw.write(view) or 0
                self._size += done
                view = view[done:]

    def tell(self) -> int:
        return self._size

    def close(self) -> None:
        try:
            with room_for(self._path):
                fsync(self._raw.fileno())
        finally:
            self._raw.close()

    def abort(self) -> None:
        with contextlib.suppress(OSError):
            self._raw.close()


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turns the system's refusal to write into `ReadOnly` or `DiskFull`, which say where."""
    try:
        with room_for(path):
            yield
    except OSError as error:
        if isinstance(error, ReadOnly) or not (isinstance(error, PermissionError) or error.errno == errno.EROFS):
            raise
        raise ReadOnly(f"{path} cannot be written to: {error.strerror}") from error


def _plain(name: str, info: os.stat_result) -> os.stat_result:
    if stat.S_ISLNK(info.st_mode):
        raise IndexCorrupt(name, "is a symbolic link; a collection holds plain files only")
    if not stat.S_ISREG(info.st_mode):
        raise IndexCorrupt(name, "is not a plain file")
    return info


def fsync(fd: int) -> None:
    """Make the content of an open file, or the names of an open folder, survive a power cut."""
    full = 51 if sys.platform == "darwin" else None  # F_FULLFSYNC: on macOS fsync stops at the drive's cache
    if full is not None:
        import fcntl

        with contextlib.suppress(OSError):  # some file systems do not know the call: fsync is the best they have
            fcntl.fcntl(fd, full)
            return
    os.fsync(fd)


def sync_folder(path: Path) -> None:
    """Make the names in a folder survive a power cut (Windows has no such call)."""
    if os.name == "nt":
        return
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        fsync(fd)
    finally:
        os.close(fd)
