"""The one way in which files that a user or a document names are opened.

Only regular files are: a pipe would wait for a writer, a device may have no end, and opening one can do something. The
size is looked at before a byte is read, and again while reading, since a file may grow.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import stat
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from zipfian.errors import LimitExceeded, NotAFile

Name = str | os.PathLike[str]
ByteArray = npt.NDArray[np.uint8]

_BLOCK = 1 << 20
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
"""Not waiting: between a look and the opening a file may be replaced by a pipe."""

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def look(path: Name, at_most: int | None = None) -> os.stat_result:
    """Size and times of a regular file, without opening it; an error for anything else and for more bytes than that."""
    try:
        found = os.stat(path)
    except ValueError as error:  # a NUL, or half a character
        raise NotAFile(repr(os.fspath(path))[:200], f"not the name of a file ({error})") from None
    return _checked(found, path, at_most)


def open_regular(path: Name, at_most: int | None = None) -> BinaryIO:
    """A regular file for reading, of at most so many bytes where that is said; anything else is an error at once."""
    handle, _ = _open(path, at_most)
    return os.fdopen(handle, "rb")


def read_regular(path: Name, at_most: int) -> bytes:
    """All bytes of a regular file."""
    handle, size = _open(path, at_most)
    try:
        # Room for what is there, not for what there might be: memory for a large limit costs more than a small file.
        data = os.read(handle, size + 1)
        while data and len(data) <= at_most and (more := os.read(handle, min(_BLOCK, at_most + 1 - len(data)))):
            data += more
    finally:
        os.close(handle)
    if len(data) > at_most:
        raise _too_large(path, len(data), at_most)
    return data


def map_regular(path: Name) -> ByteArray:
    """A regular file as a read-only array: pages are read when touched."""
    handle, size = _open(path, None)
    try:
        return mapped(handle, size)
    finally:
        os.close(handle)


def mapped(handle: int, size: int) -> ByteArray:
    """An open file as a read-only array that stays valid when the file is closed or deleted."""
    if size == 0:
        empty = np.empty(0, np.uint8)
        empty.flags.writeable = False
        return empty
    # Before 3.13 a mapping keeps a descriptor of its own open for as long as it lives.
    extra: dict[str, Any] = {"trackfd": False} if sys.version_info >= (3, 13) and os.name == "posix" else {}
    return np.frombuffer(mmap.mmap(handle, size, access=mmap.ACCESS_READ, **extra), np.uint8)


def blocks(path: Name, at_most: int | None = None) -> Iterator[bytes]:
    """The bytes of a regular file, a block at a time: for hashing what need not be in memory."""
    total = 0
    with open_regular(path, at_most) as file:
        while block := file.read(_BLOCK):
            total += len(block)
            if at_most is not None and total > at_most:
                raise _too_large(path, total, at_most)
            yield block


def sha256_of(path: Name, at_most: int | None = None) -> str:
    """Hash of a regular file's bytes, in hexadecimal: the only one that files are known by."""
    known = hashlib.sha256()
    for block in blocks(path, at_most):
        known.update(block)
    return known.hexdigest()


def _open(path: Name, at_most: int | None) -> tuple[int, int]:
    """A descriptor of a regular file, and its size."""
    look(path, at_most)
    handle = os.open(path, _FLAGS)
    try:
        return handle, _checked(os.fstat(handle), path, at_most).st_size
    except BaseException:
        os.close(handle)
        raise


def _checked(found: os.stat_result, path: Name, at_most: int | None) -> os.stat_result:
    kind = stat.S_IFMT(found.st_mode)
    if kind != stat.S_IFREG:
        raise NotAFile(os.fspath(path), f"{_KINDS.get(kind, 'no regular file')}, not a regular file")
    if at_most is not None and found.st_size > at_most:
        raise _too_large(path, found.st_size, at_most)
    return found


def _too_large(path: Name, size: int, at_most: int) -> LimitExceeded:
    return LimitExceeded(f"{os.fspath(path)}: {size:,} bytes, more than the limit of {at_most:,} bytes")
