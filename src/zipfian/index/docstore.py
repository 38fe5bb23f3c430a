"""Stored documents: ids both ways, and texts with metadata in compressed blocks.

    ids, id_offsets       UTF-8 of all ids, one after the other, in document order
    hashes, hash_docs     64-bit hashes of the ids, ascending, and the document of each: finds a document by its id
    blocks                zlib-compressed blocks of about 32 KiB of texts and metadata (JSON)
    block_docs, block_offsets, block_sizes   first document, first byte and uncompressed bytes of each block

A block holds, for its n documents, 2n little-endian u32 (bytes of the text plus one, 0 for no text at all; bytes of the
metadata), and then the texts and the metadata themselves, document by document.
"""

from __future__ import annotations

import threading
import weakref
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import IndexCorrupt, InvalidInput
from zipfian.index._arrays import Bools, Ints, offsets
from zipfian.index.metadata import decode_metadata
from zipfian.limits import MAX_DOCUMENTS, MAX_METADATA_BYTES, MAX_TEXT_CHARS
from zipfian.recent import Recent
from zipfian.storage.container import FileRef, SectionFile
from zipfian.storage.directory import Directory
from zipfian.storage.sections import BYTES, UINT, UINT32, meta_int, read_offsets, require

KIND = "doc"

Record = tuple[bytes | None, bytes]
"""A document's text (None if it has none) and metadata, in their stored form."""

BLOCK_BYTES = 32 * 1024
"""Uncompressed bytes at which a block is closed: larger compresses better, smaller opens faster."""

_TEXT_BYTES = 4 * MAX_TEXT_CHARS
"""Bytes of the largest text: a character has at most four in UTF-8."""

_LARGEST_BLOCK = BLOCK_BYTES + 8 + _TEXT_BYTES + MAX_METADATA_BYTES
"""Uncompressed bytes of a block just short of being closed that then gets the largest possible document."""

_ZLIB_RATIO = 1040
"""zlib never shrinks more than this: a block that claims to is forged."""

_LARGE_BYTES = 1 << 20
"""Of blocks larger than this, each thread keeps the one it read last, whichever file it is from."""

_KEPT_BYTES = 16 << 20
"""Unpacked bytes of other blocks, those read last, that each open file keeps for all threads: a search that shows its
hits unpacks a block for each."""


def id_hash(raw: bytes) -> int:
    """The 64-bit hash by which ids are found."""
    return int.from_bytes(blake2b(raw, digest_size=8).digest(), "little")


def id_hashes(raw: Sequence[bytes]) -> npt.NDArray[np.uint64]:
    """The hashes of several ids."""
    return np.fromiter((id_hash(r) for r in raw), np.uint64, len(raw))


def hashes_of(ids: Sequence[str]) -> npt.NDArray[np.uint64]:
    """The hashes of ids that are looked for; what cannot be encoded is no stored id, and will not match."""
    return id_hashes([i.encode("utf-8", "replace") for i in ids])


class DocStoreReader:
    """A document file open for reading; safe to share between threads."""

    def __init__(self, file: SectionFile) -> None:
        self.file = file
        n = self.n_docs = meta_int(file, "n_docs", 0, MAX_DOCUMENTS)
        blocks = file.length("block_sizes")
        require(
            file,
            {
                "ids": (BYTES, None),
                "id_offsets": (UINT, n + 1),
                "hashes": (("uint64",), n),
                "hash_docs": (UINT32, n),
                "blocks": (BYTES, None),
                "block_docs": (UINT32, blocks + 1),
                "block_offsets": (UINT, blocks + 1),
                "block_sizes": (UINT32, blocks),
            },
        )
        self._kept: Recent[int, _Block] = Recent(_KEPT_BYTES)

    @classmethod
    def open(cls, directory: Directory, ref: FileRef | str) -> DocStoreReader:
        """Open a document file."""
        return cls(SectionFile.open(directory, ref, KIND))

    @cached_property
    def id_offsets(self) -> npt.NDArray[Any]:
        """Where each id starts in the section `ids`."""
        return read_offsets(self.file, "id_offsets", self.file.length("ids"))

    @cached_property
    def hashes(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[Any]]:
        """Hashes of all ids, ascending, and their documents."""
        hashes, docs = self.file.array("hashes"), self.file.array("hash_docs")
        if self.n_docs and int(docs.max()) >= self.n_docs:
            raise IndexCorrupt(self.file.name, "its table of ids is out of range")
        return hashes, docs

    @cached_property
    def blocks(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
        """First document, first byte (each with the end appended) and uncompressed bytes of the blocks."""
        return (
            read_offsets(self.file, "block_docs", self.n_docs),
            read_offsets(self.file, "block_offsets", self.file.length("blocks")),
            self.file.array("block_sizes"),
        )

    def id(self, doc: int) -> str:
        """The id of a document."""
        try:
            return self.raw_id(doc).decode()
        except UnicodeDecodeError as e:
            raise IndexCorrupt(self.file.name, f"the id of document {doc} is not UTF-8") from e

    def raw_id(self, doc: int) -> bytes:
        """The id of a document as UTF-8."""
        self._check_doc(doc)
        return self.file.part("ids", int(self.id_offsets[doc]), int(self.id_offsets[doc + 1])).tobytes()

    def ids_of(self, docs: Ints) -> list[str]:
        """The ids of several documents."""
        if len(docs):
            self._check_doc(int(np.minimum.reduce(docs)))
            self._check_doc(int(np.maximum.reduce(docs)))
        offsets = self.id_offsets
        ranges = zip(offsets[docs].tolist(), offsets[docs + 1].tolist(), strict=True)
        raw = self.file.slices("ids", ranges)
        try:
            return [one.decode() for one in raw]
        except UnicodeDecodeError as e:
            raise IndexCorrupt(self.file.name, "an id is not UTF-8") from e

    def find(self, id: str) -> int:
        """The document that has this id, deleted or not; -1 when there is none."""
        return int(self.find_many([id])[0])

    def find_many(self, ids: Sequence[str], wanted: npt.NDArray[np.uint64] | None = None) -> Ints:
        """The document of each id, -1 where there is none; `wanted`: what `hashes_of` gave, for many files once."""
        found = np.full(len(ids), -1, np.int64)
        if not self.n_docs:
            return found
        hashes, docs = self.hashes
        if wanted is None:
            wanted = hashes_of(ids)
        low, high = np.searchsorted(hashes, wanted, "left"), np.searchsorted(hashes, wanted, "right")
        for i in np.flatnonzero(low < high).tolist():
            for doc in docs[int(low[i]) : int(high[i])].tolist():  # more than one only if hashes collide
                if self.id(doc) == ids[i]:
                    found[i] = doc
        return found

    def text(self, doc: int) -> str | None:
        """The stored text of a document, None if it has none."""
        return self._text(doc, self._pieces(doc)[0])

    def metadata(self, doc: int) -> dict[str, Any]:
        """The stored metadata of a document."""
        return self._metadata(doc, self._pieces(doc)[1])

    def content(self, doc: int) -> tuple[str | None, dict[str, Any]]:
        """Text and metadata of a document, for the unpacking of one block."""
        text, metadata = self._pieces(doc)
        return self._text(doc, text), self._metadata(doc, metadata)

    def record(self, doc: int) -> Record:
        """Text and metadata of a document in their stored form."""
        text, metadata = self._pieces(doc)
        return None if text is None else bytes(text), bytes(metadata)

    def block(self, block: int) -> Iterator[Record]:
        """The documents of a block, one at a time."""
        unpacked = self._unpack(block)
        for at in range(len(unpacked)):
            text, metadata = unpacked.pieces(at)
            yield None if text is None else bytes(text), bytes(metadata)

    def packed_block(self, block: int) -> bytes:
        """A block as it is stored."""
        starts = self.blocks[1]
        return self.file.part("blocks", int(starts[block]), int(starts[block + 1])).tobytes()

    def _pieces(self, doc: int) -> tuple[memoryview | None, memoryview]:
        """Where text and metadata of a document lie in its unpacked block."""
        self._check_doc(doc)
        starts = self.blocks[0]
        block = int(np.searchsorted(starts, doc, side="right")) - 1
        return self._unpacked(block).pieces(doc - int(starts[block]))

    def _unpacked(self, block: int) -> _Block:
        """A block, from what is kept if it was among the last."""
        if int(self.blocks[2][block]) <= _LARGE_BYTES:
            found = self._kept.get(block)
            if found is None:
                found = self._unpack(block)
                self._kept.put(block, found, len(found.data))
            return found
        large = _large.kept.get(self)
        if large is not None and large[0] == block:
            return large[1]
        _large.kept.clear()  # before the next one is unpacked: there are never two
        found = self._unpack(block)
        _large.kept[self] = (block, found)
        return found

    def _unpack(self, block: int) -> _Block:
        docs, _, sizes = self.blocks
        n, size = int(docs[block + 1]) - int(docs[block]), int(sizes[block])
        packed = self.packed_block(block)
        if not 8 * n <= size <= min(_LARGEST_BLOCK, _ZLIB_RATIO * (len(packed) + 64)) or not size:
            raise IndexCorrupt(self.file.name, f"its block {block} claims to hold {size} bytes")
        inflate = zlib.decompressobj()
        try:
            data = inflate.decompress(packed, size + 1)
        except zlib.error as e:
            raise IndexCorrupt(self.file.name, f"its block {block} cannot be decompressed") from e
        if len(data) != size or not inflate.eof or inflate.unused_data:
            raise IndexCorrupt(self.file.name, f"its block {block} does not hold {size} bytes")
        lengths = np.frombuffer(data, "<u4", 2 * n).astype(np.int64)
        has_text = lengths[::2] > 0
        lengths[::2] -= has_text
        if 8 * n + int(lengths.sum()) != size:
            raise IndexCorrupt(self.file.name, f"its block {block} does not add up")
        if n and (int(lengths[::2].max()) > _TEXT_BYTES or int(lengths[1::2].max()) > MAX_METADATA_BYTES):
            raise IndexCorrupt(self.file.name, f"its block {block} holds a text or metadata over the limit")
        return _Block(data, 8 * n + offsets(lengths), has_text)

    def _text(self, doc: int, raw: memoryview | None) -> str | None:
        if raw is None:
            return None
        try:
            text = str(raw, "utf-8")
        except UnicodeDecodeError as e:
            raise IndexCorrupt(self.file.name, f"the text of document {doc} is not UTF-8") from e
        if len(text) > MAX_TEXT_CHARS:
            raise IndexCorrupt(
                self.file.name, f"the text of document {doc} has {len(text)} characters; the limit is {MAX_TEXT_CHARS}"
            )
        return text

    def _metadata(self, doc: int, raw: memoryview) -> dict[str, Any]:
        try:
            return decode_metadata(bytes(raw))
        except (ValueError, TypeError, OverflowError, RecursionError) as e:
            raise IndexCorrupt(self.file.name, f"the metadata of document {doc} cannot be read") from e

    def _check_doc(self, doc: int) -> None:
        if not 0 <= doc < self.n_docs:
            raise InvalidInput(f"no document {doc} in a segment of {self.n_docs}")


class _Large(threading.local):
    """The one larger block that a thread keeps unpacked, whichever file it is from; it goes with the file's reader."""

    def __init__(self) -> None:
        self.kept: weakref.WeakKeyDictionary[DocStoreReader, tuple[int, _Block]] = weakref.WeakKeyDictionary()


_large = _Large()


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """An unpacked block: pieces 2i and 2i + 1 of `data`, cut at `ends`, are text and metadata of its document i."""

    data: bytes
    ends: Ints
    has_text: Bools

    def __len__(self) -> int:
        return len(self.has_text)

    def pieces(self, at: int) -> tuple[memoryview | None, memoryview]:
        start, middle, end = self.ends[2 * at : 2 * at + 3].tolist()
        view = memoryview(self.data)
        return view[start:middle] if self.has_text[at] else None, view[middle:end]
