"""The one file format, written once and read through a mapping: named arrays with a checksum on every 64 KiB.

`SectionWriter` and `SectionFile` are the only code that knows the layout (`layout.py`, docs/format.md). A reader gets
arrays that are views on the mapped file: nothing is copied, and a block's checksum is computed before its bytes are
handed out for the first time in this process, so damage is an error and never an answer.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import FileGone, FormatTooNew, FormatTooOld, IndexCorrupt, InvalidInput
from zipfian.storage import layout
from zipfian.storage.directory import Creates, Directory
from zipfian.storage.layout import ALIGN, BLOCK, DTYPES, FOOTER, HEADER, FileRef, Footer, Section
from zipfian.storage.regular import ByteArray

__all__ = ["FileRef", "SectionFile", "SectionStream", "SectionWriter"]

_BUFFER = 1 << 20
_LOCKED_RUN = 64
"""Blocks verified per acquisition of a file's lock, so that a full check does not hold searches up."""


class SectionWriter:
    """Writes one file: sections in the order given, each whole (`add`) or piece by piece (`stream`).

    As a context manager it deletes the unfinished file unless `close` was reached.
    """

    def __init__(self, directory: Creates, name: str, kind: str, meta: Mapping[str, Any]) -> None:
        self.name = name
        self.meta = dict(meta)  # may be added to until `close`
        self._directory = directory
        self._file_id = secrets.randbits(64)
        self._sections: dict[str, Section] = {}
        self._stream: SectionStream | None = None
        self._buffer = bytearray()
        self._offset = 0
        self._crc = 0
        self._crcs: list[int] = []
        self._done = False
        header = layout.pack_header(kind, self._file_id)
        self._file = directory.create(name)
        self._put(header)

    def add(self, section: str, array: npt.NDArray[Any]) -> None:
        """Write a 1-d or 2-d array of one of the stored types (integers and floats; booleans as uint8)."""
        if array.ndim not in (1, 2):
            raise ValueError(f"section {section!r}: an array of 1 or 2 dimensions is needed, not {array.ndim}")
        dtype = self._begin(section, array.dtype)
        offset = self._offset
        self._put_array(array, dtype)
        self._sections[section] = Section(offset, array.nbytes, dtype, array.shape)

    def stream(self, section: str, dtype: npt.DTypeLike) -> SectionStream:
        """A 1-d section written piece by piece; it must be ended before anything else is written."""
        stored = self._begin(section, np.dtype(dtype))
        self._stream = SectionStream(self, section, stored, self._offset)
        return self._stream

    def close(self) -> FileRef:
        """Write contents, checksums and footer, and fsync. On failure the file is deleted."""
        try:
            self._idle()
            self._pad()
            toc = layout.pack_toc(self.meta, self._sections)
            toc_offset = self._offset
            self._put(toc)
            if self._offset % BLOCK:
                self._crcs.append(self._crc)
            table = np.array(self._crcs, "<u4").tobytes()
            footer = Footer.make(toc_offset, len(toc), len(self._crcs), zlib.crc32(table), self._file_id)
            self._file.write(bytes(self._buffer) + table + footer.pack())
            self._file.close()
        except BaseException:
            self.abort()
            raise
        self._done = True
        return footer.ref(self.name)

    def abort(self) -> None:
        """Give up: close and delete what was written, as far as the disk lets us. Harmless after `close`."""
        if self._done:
            return
        self._done = True
        self._file.abort()
        with contextlib.suppress(OSError):  # whatever stays is collected by the next writer
            self._directory.delete(self.name)

    def __enter__(self) -> SectionWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.abort()

    def _begin(self, section: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
        self._idle()
        if section in self._sections:
            raise ValueError(f"section {section!r} is there already")
        if dtype.name not in DTYPES:
            raise TypeError(f"section {section!r}: arrays of {dtype} cannot be stored")
        self._pad()
        return DTYPES[dtype.name]

    def _idle(self) -> None:
        if self._done:
            raise ValueError(f"{self.name} is closed")
        if self._stream is not None:
            raise ValueError(f"section {self._stream.section!r} has not ended")

    def _pad(self) -> None:
        self._put(bytes(-self._offset % ALIGN))

    def _put_array(self, array: npt.NDArray[Any], dtype: np.dtype[Any]) -> None:
        self._put(np.ascontiguousarray(array, dtype).reshape(-1).view(np.uint8).data)

    def _put(self, data: bytes | memoryview) -> None:
        """Append bytes: through the buffer when few, straight to the file when many; checksums on the way."""
        view = memoryview(data)
        start = 0
        while start < len(view):
            piece = view[start : start + BLOCK - self._offset % BLOCK]
            self._crc = zlib.crc32(piece, self._crc)
            self._offset += len(piece)
            start += len(piece)
            if self._offset % BLOCK == 0:
                self._crcs.append(self._crc)
                self._crc = 0
        if len(view) < _BUFFER:
            self._buffer += view
        if len(view) >= _BUFFER or len(self._buffer) >= _BUFFER:
            self._file.write(self._buffer)
            self._buffer = bytearray()
        if len(view) >= _BUFFER:
            self._file.write(view)


class SectionStream:
    """A section that grows by `append` until `end`: for arrays larger than memory."""

    def __init__(self, writer: SectionWriter, section: str, dtype: np.dtype[Any], offset: int) -> None:
        self.section = section
        self._writer = writer
        self._dtype = dtype
        self._offset = offset
        self._count = 0

    def append(self, array: npt.NDArray[Any]) -> None:
        """Write the next elements (1-d, of the section's type)."""
        if self._writer._stream is not self:
            raise ValueError(f"section {self.section!r} has ended")
        if array.ndim != 1 or array.dtype != self._dtype:
            raise TypeError(f"section {self.section!r} takes 1-d arrays of {self._dtype}, not {array.dtype}")
        self._writer._put_array(array, self._dtype)
        self._count += len(array)

    def end(self) -> None:
        """Close the section."""
        if self._writer._stream is not self:
            raise ValueError(f"section {self.section!r} has ended")
        nbytes = self._count * self._dtype.itemsize
        self._writer._sections[self.section] = Section(self._offset, nbytes, self._dtype, (self._count,))
        self._writer._stream = None


class SectionFile:
    """A file open for reading. Safe to share between threads; arrays handed out outlive `close`."""

    def __init__(self, name: str, data: ByteArray, footer: Footer, crcs: npt.NDArray[np.uint32]) -> None:
        self.name = name
        self.ref = footer.ref(name)
        self.meta: dict[str, Any] = {}
        self._footer = footer
        self._data: ByteArray | None = data
        self._crcs = crcs
        self._seen = bytearray(footer.blocks)  # one byte per block, set once its checksum was found right
        self._lock = threading.Lock()
        self._sections: dict[str, Section] = {}

    @classmethod
    def open(cls, directory: Directory, ref: FileRef | str, kind: str) -> SectionFile:
        """Map a file of a directory and check it as `parse` does."""
        name = ref if isinstance(ref, str) else ref.name
        try:
            data = directory.map(name)
        except FileNotFoundError as e:
            raise FileGone(name, "is missing") from e
        return cls.parse(data, ref, kind)

    @classmethod
    def parse(cls, data: ByteArray, ref: FileRef | str, kind: str) -> SectionFile:
        """Check header, footer, contents, exact size and, given a `FileRef`, identity of a file that is mapped.

        Costs a few pages of reading whatever the file's size; sections are verified when first asked for.
        """
        name = ref if isinstance(ref, str) else ref.name
        if isinstance(ref, FileRef) and len(data) != ref.size:
            raise IndexCorrupt(name, f"is {len(data)} bytes long where the manifest says {ref.size}")
        if len(data) < HEADER.size + FOOTER.size:
            raise IndexCorrupt(name, f"is {len(data)} bytes long, too short for a data file")
        try:
            footer = layout.parse_footer(name, len(data), data[-FOOTER.size :].tobytes())
        except IndexCorrupt as e:  # a later format may end differently
            raise _of_another_release(name, data) or e from None
        table = data[footer.end : len(data) - FOOTER.size].tobytes()
        if zlib.crc32(table) != footer.table_crc:
            raise IndexCorrupt(name, "its checksum table is damaged")
        file = cls(name, data, footer, np.frombuffer(table, "<u4"))
        file._verify(0, HEADER.size)
        file._verify(footer.toc_offset, footer.end)
        layout.parse_header(name, data[: HEADER.size].tobytes(), kind, footer.file_id)
        if isinstance(ref, FileRef) and file.ref != ref:
            raise IndexCorrupt(name, "is a sound file, but not the one the manifest names")
        toc = data[footer.toc_offset : footer.end].tobytes()
        file.meta, file._sections = layout.parse_toc(name, toc, footer.toc_offset)
        return file

    @property
    def names(self) -> list[str]:
        """The sections, in file order."""
        return list(self._sections)

    def length(self, section: str) -> int:
        """Elements of a 1-d section, rows of a 2-d one."""
        return self._section(section).shape[0]

    def form(self, section: str) -> tuple[str, tuple[int, ...]]:
        """Type and shape of a section as the contents declare them; nothing of the section is read."""
        found = self._section(section)
        return found.dtype.name, found.shape

    def array(self, section: str) -> npt.NDArray[Any]:
        """A whole section, verified: a read-only view on the mapping."""
        return self.part(section, 0, self._section(section).shape[0])

    def part(self, section: str, start: int, stop: int) -> npt.NDArray[Any]:
        """Elements (or rows) `start` to `stop` of a section; only the blocks they lie in are verified.

        A range outside the section is damage, not a slice: callers pass numbers that they read from files.
        """
        s = self._section(section)
        if not 0 <= start <= stop <= s.shape[0]:
            raise IndexCorrupt(self.name, f"refers to [{start}, {stop}) of section {section!r}, which has {s.shape[0]}")
        row = s.nbytes // s.shape[0] if s.shape[0] else 0
        low, high = s.offset + int(start) * row, s.offset + int(stop) * row
        data = self._verify(low, high)
        found: npt.NDArray[Any] = data[low:high].view(s.dtype)
        return found if len(s.shape) == 1 else found.reshape((int(stop) - int(start), s.shape[1]))

    def slices(self, section: str, ranges: Iterable[tuple[int, int]]) -> list[bytes]:
        """Several ranges of a section of bytes: what `part` gives for each, at a fraction of its cost."""
        s = self._section(section)
        view, seen, out = self._verify(0, 0).data, self._seen, []
        for start, stop in ranges:
            if not 0 <= start <= stop <= s.nbytes:
                raise IndexCorrupt(self.name, f"refers to [{start}, {stop}) of section {section!r}: {s.nbytes} bytes")
            low, high = s.offset + start, s.offset + stop
            if seen.find(0, low // BLOCK, high // BLOCK + 1) >= 0:
                self._verify(low, high)
            out.append(view[low:high].tobytes())
        return out

    def verify(self) -> None:
        """Check every byte now; `IndexCorrupt` names the first block that is damaged."""
        self._verify(0, self._footer.end)

    def close(self) -> None:
        """Refuse further use. The mapping goes when the last array taken from it does."""
        self._data = None

    def _section(self, name: str) -> Section:
        try:
            return self._sections[name]
        except KeyError:
            raise IndexCorrupt(self.name, f"has no section {name!r}") from None

    def _verify(self, low: int, high: int) -> ByteArray:
        """Make sure that bytes [low, high) are what was written; returns the mapping."""
        data = self._data
        if data is None:
            raise InvalidInput(f"{self.name} was closed")
        first, last = low // BLOCK, -(-high // BLOCK) if high > low else low // BLOCK
        seen = self._seen
        while (todo := seen.find(0, first, last)) >= 0:
            with self._lock:
                for block in range(todo, min(todo + _LOCKED_RUN, last)):
                    if not seen[block]:
                        begin, end = block * BLOCK, min((block + 1) * BLOCK, self._footer.end)
                        if zlib.crc32(data[begin:end].data) != int(self._crcs[block]):
                            raise IndexCorrupt(self.name, f"its bytes {begin} to {end} fail their checksum")
                        seen[block] = 1
            first = todo
        return data


def _of_another_release(name: str, data: ByteArray) -> FormatTooNew | FormatTooOld | None:
    magic, version, *_ = HEADER.unpack(data[: HEADER.size].tobytes())
    return layout.other_format(name, version) if magic == layout.MAGIC and version != layout.VERSION else None
