"""Picture files that a collection names: opened only if they are plain files, and known again by size and sha256.

What a collection remembers of a picture is its path and these two. Whoever made the collection wrote them, so a file is
read only up to the size that was promised, and nothing of it is used unless its hash is the promised one.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from typing import Any

from zipfian.errors import ImageUnreadable, LimitExceeded
from zipfian.limits import MAX_IMAGE_BYTES

SIZE_FIELD = "_image_bytes"
HASH_FIELD = "_image_sha256"
"""Metadata fields that keep what a picture file held when it was indexed."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
"""Without waiting: a pipe that takes the file's place between two looks must not hold anybody up."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a picture file held."""

    size: int
    sha256: str

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> Stamp | None:
        """As the metadata of a document say; None where they do not."""
        size, sha256 = metadata.get(SIZE_FIELD), metadata.get(HASH_FIELD)
        if type(size) is not int or not 1 <= size <= MAX_IMAGE_BYTES:
            return None
        return cls(size, sha256) if isinstance(sha256, str) and _SHA256.fullmatch(sha256) else None

    @classmethod
    def take(cls, path: str | os.PathLike[str]) -> Stamp | None:
        """Of a file as it is now; None where it cannot be read, which whoever encodes it will say."""
        try:
            with _opened(os.fspath(path)) as (file, size):
                return cls(size, hashlib.file_digest(file, "sha256").hexdigest())
        except (OSError, ImageUnreadable, LimitExceeded):
            return None

    def metadata(self) -> dict[str, Any]:
        """The form that `of` reads."""
        return {SIZE_FIELD: self.size, HASH_FIELD: self.sha256}

    def read(self, path: str) -> bytes:
        """The bytes of a file, once they have proved to be these; one of another size is not even opened."""
        data = read(path, self.size)
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise ImageUnreadable(path, "the picture is no longer what was indexed")
        return data


def read(path: str, size: int | None = None) -> bytes:
    """The bytes of a plain file within the limit, of a given size where one is given."""
    with _opened(path, size) as (file, found):
        data = file.read(found)
    if len(data) != found:
        raise ImageUnreadable(path, "the file became shorter while it was read")
    return data


@contextmanager
def _opened(path: str, size: int | None = None) -> Iterator[tuple[BufferedReader, int]]:
    """A file and its size. Looked at before it is opened, since opening a device may do something already."""
    _check(path, os.stat(path), size)
    with os.fdopen(os.open(path, _FLAGS), "rb") as file:
        found = os.fstat(file.fileno())
        _check(path, found, size)
        yield file, found.st_size


def _check(path: str, found: os.stat_result, size: int | None) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise ImageUnreadable(path, "not a regular file")
    if size is not None and found.st_size != size:
        raise ImageUnreadable(path, "the picture is no longer what was indexed: it has another size")
    if found.st_size > MAX_IMAGE_BYTES:
        raise LimitExceeded(f"{path}: {found.st_size:,} bytes, more than the limit of {MAX_IMAGE_BYTES:,}")
