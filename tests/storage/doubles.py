"""Directories that misbehave on purpose.

`MemoryDirectory` keeps files in memory and knows which of them, and which names, were synced; `after_power_loss` is the
disk as a crash at this moment may leave it. `FaultyDirectory` wraps any directory and fails at chosen operations.
"""

from __future__ import annotations

import errno
import random
from collections.abc import Callable, Hashable

import numpy as np

from zipfian.errors import IndexCorrupt, IndexLocked
from zipfian.storage.directory import LOCK_NAME, Bytes, Directory, FileWriter, check_name
from zipfian.storage.lock import Lock
from zipfian.storage.regular import ByteArray


class PowerLoss(BaseException):
    """The machine stops here. Not an `Exception`, so that no clean-up code takes it for an error it can handle."""


class Inode:
    """A file's content, and whether it was synced."""

    def __init__(self, data: bytes = b"", synced: bool = False) -> None:
        self.data = bytearray(data)
        self.synced = synced


class MemoryDirectory:
    """A folder in memory. `files` is what programs see, `durable` the names as of the last sync of the folder."""

    def __init__(self, files: dict[str, bytes] | None = None) -> None:
        self.files = {name: Inode(data, synced=True) for name, data in (files or {}).items()}
        self.durable = dict(self.files)
        self.unsynced: list[tuple[str, str, Inode | None]] = []  # (verb, name, inode) since the last sync
        self.locked = False
        self._key = object()

    @property
    def key(self) -> Hashable:
        return self._key

    def prepare(self) -> None:
        pass

    def list(self) -> list[str]:
        return sorted(self.files)

    def exists(self, name: str) -> bool:
        return check_name(name) in self.files

    def size(self, name: str) -> int:
        return len(self._inode(name).data)

    def read(self, name: str, limit: int) -> bytes:
        data = bytes(self._inode(name).data)
        if len(data) > limit:
            raise IndexCorrupt(name, f"is {len(data)} bytes long")
        return data

    def map(self, name: str) -> ByteArray:
        return np.frombuffer(bytes(self._inode(name).data), np.uint8)

    def create(self, name: str) -> FileWriter:
        if check_name(name) in self.files:
            raise FileExistsError(name)
        inode = self.files[name] = Inode()
        self.unsynced.append(("link", name, inode))
        return MemoryFile(inode)

    def rename(self, old: str, new: str) -> None:
        if check_name(new) in self.files:
            raise FileExistsError(new)
        inode = self.files[new] = self._inode(old)
        del self.files[old]
        self.unsynced += [("rename", f"{old}>{new}", inode)]

    def delete(self, name: str) -> None:
        self._inode(name)
        del self.files[name]
        self.unsynced.append(("unlink", name, None))

    def sync(self) -> None:
        self.durable = dict(self.files)
        self.unsynced = []

    def lock(self) -> Lock:
        if self.locked:
            raise IndexLocked("locked")
        if LOCK_NAME not in self.files:
            self.files[LOCK_NAME] = Inode()
            self.unsynced.append(("link", LOCK_NAME, self.files[LOCK_NAME]))
        self.locked = True
        return MemoryLock(self)

    def after_power_loss(self, rng: random.Random) -> MemoryDirectory:
        """The disk after a crash now: of what was not synced, anything may be there, missing, or damaged."""
        names = dict(self.durable)
        for verb, name, inode in self.unsynced:
            if rng.random() < 0.5:
                continue  # this change of the folder was lost, later ones may not be
            if verb == "unlink":
                names.pop(name, None)
            elif inode is not None:
                old, _, new = name.rpartition(">")
                names.pop(old, None)
                names[new] = inode
        return MemoryDirectory({n: bytes(i.data) if i.synced else _mangle(i.data, rng) for n, i in names.items()})

    def _inode(self, name: str) -> Inode:
        try:
            return self.files[check_name(name)]
        except KeyError:
            raise FileNotFoundError(name) from None


class MemoryFile:
    def __init__(self, inode: Inode) -> None:
        self._inode = inode

    def write(self, data: Bytes) -> None:
        self._inode.data += data

    def tell(self) -> int:
        return len(self._inode.data)

    def close(self) -> None:
        self._inode.synced = True

    def abort(self) -> None:
        pass


class MemoryLock:
    def __init__(self, directory: MemoryDirectory) -> None:
        self._directory: MemoryDirectory | None = directory

    def note(self, text: bytes) -> None:
        if self._directory is not None:
            inode = self._directory.files[LOCK_NAME]
            inode.data[: len(text)] = text
            inode.synced = False  # written in place and never synced, as the real one is

    def check(self) -> None:
        assert self._directory is not None

    def release(self) -> None:
        if self._directory is not None:
            self._directory.locked = False
        self._directory = None


def _mangle(data: bytearray, rng: random.Random) -> bytes:
    """What may be left of an unsynced file: nothing, a piece, zeros, a flipped bit, or all of it."""
    kind = rng.choice(["empty", "cut", "zeros", "flip", "whole"])
    if kind == "empty" or not data:
        return b""
    if kind == "cut":
        return bytes(data[: rng.randrange(len(data))])
    if kind == "zeros":
        keep = rng.randrange(len(data))
        return bytes(data[:keep]) + bytes(len(data) - keep)
    changed = bytearray(data)
    if kind == "flip":
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


Fault = Callable[[int, str], BaseException | None]
"""Given the number of an operation (from 1) and its verb, the error to raise instead of doing it, or None."""


def fail_once(n: int, code: int = errno.EIO) -> Fault:
    """Operation `n` fails, later ones work."""
    return lambda i, verb: OSError(code, f"made to fail: {verb}") if i == n else None


def fail_from(n: int, code: int = errno.EIO, verbs: frozenset[str] | None = None) -> Fault:
    """Operation `n` and all after it fail, or only those of the given verbs."""
    return lambda i, verb: (
        OSError(code, f"made to fail: {verb}") if i >= n and (verbs is None or verb in verbs) else None
    )


def stop_at(n: int) -> Fault:
    """The power goes before operation `n`."""
    return lambda i, verb: PowerLoss() if i >= n else None


class FaultyDirectory:
    """Counts the operations that change the disk, and lets some fail. `log` holds the verbs in order."""

    def __init__(self, inner: Directory, fault: Fault = lambda i, verb: None) -> None:
        self.inner = inner
        self.fault = fault
        self.log: list[str] = []

    @property
    def key(self) -> Hashable:
        return self.inner.key

    def step(self, verb: str) -> None:
        self.log.append(verb)
        error = self.fault(len(self.log), verb)
        if error is not None:
            raise error

    def prepare(self) -> None:
        self.step("prepare")
        self.inner.prepare()

    def list(self) -> list[str]:
        return self.inner.list()

    def exists(self, name: str) -> bool:
        return self.inner.exists(name)

    def size(self, name: str) -> int:
        return self.inner.size(name)

    def read(self, name: str, limit: int) -> bytes:
        return self.inner.read(name, limit)

    def map(self, name: str) -> ByteArray:
        return self.inner.map(name)

    def create(self, name: str) -> FileWriter:
        self.step("create")
        return FaultyFile(self, self.inner.create(name))

    def rename(self, old: str, new: str) -> None:
        self.step("rename")
        self.inner.rename(old, new)

    def delete(self, name: str) -> None:
        self.step("delete")
        self.inner.delete(name)

    def sync(self) -> None:
        self.step("sync")
        self.inner.sync()

    def lock(self) -> Lock:
        self.step("lock")
        return FaultyLock(self, self.inner.lock())


class FaultyFile:
    def __init__(self, directory: FaultyDirectory, inner: FileWriter) -> None:
        self._directory = directory
        self._inner = inner

    def write(self, data: Bytes) -> None:
        try:
            self._directory.step("write")
        except BaseException:
            self._inner.write(memoryview(data)[: len(data) // 2])  # a failed write may have written some of it
            raise
        self._inner.write(data)

    def tell(self) -> int:
        return self._inner.tell()

    def close(self) -> None:
        try:
            self._directory.step("fsync")
        except BaseException:
            self._inner.abort()
            raise
        self._inner.close()

    def abort(self) -> None:
        self._inner.abort()


class FaultyLock:
    def __init__(self, directory: FaultyDirectory, inner: Lock) -> None:
        self._directory = directory
        self._inner = inner

    def note(self, text: bytes) -> None:
        self._directory.step("note")
        self._inner.note(text)

    def check(self) -> None:
        self._inner.check()

    def release(self) -> None:
        self._inner.release()
