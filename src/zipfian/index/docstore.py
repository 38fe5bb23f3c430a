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
import zlib
from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import IndexCorrupt, InvalidInput
from zipfian.index._arrays import Ints
from zipfian.index._sections import meta_int, read_offsets, unsigned
from zipfian.index.container import FileRef, SectionFile
from zipfian.index.directory import Directory
from zipfian.index.metadata import decode_metadata
from zipfian.limits import MAX_DOCUMENTS

KIND = "doc"

Record = tuple[bytes | None, bytes]
"""A document's text (None if it has none) and metadata, in their stored form."""

_ZLIB_RATIO = 1040
"""zlib never shrinks more than this: a block that claims to is forged."""


def id_hash(raw: bytes) -> int:
    """The 64-bit hash by which ids are found."""
    return int.from_bytes(blake2b(raw, digest_size=8).digest(), "little")


def id_hashes(raw: Sequence[bytes]) -> npt.NDArray[np.uint64]:
    """The hashes of several ids."""
    return np.fromiter((id_hash(r) for r in raw), np.uint64, len(raw))


class DocStoreReader:
    """A document file open for reading; safe to share between threads."""

    def __init__(self, file: SectionFile) -> None:
        self.file = file
        self.n_docs = meta_int(file, "n_docs", 0, MAX_DOCUMENTS)
        self._local = threading.local()  # the block that this thread read last

    @classmethod
    def open(cls, directory: Directory, ref: FileRef | str) -> DocStoreReader:
        """Open a document file."""
        return cls(SectionFile.open(directory, ref, KIND))

    @cached_property
    def id_offsets(self) -> npt.NDArray[Any]:
        """Where each id starts in the section `ids`."""
        return read_offsets(self.file, "id_offsets", self.n_docs, self.file.length("ids"))

    @cached_property
    def hashes(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[Any]]:
        """Hashes of all ids, ascending, and their documents."""
        hashes = unsigned(self.file, "hashes", self.n_docs)
        docs = unsigned(self.file, "hash_docs", self.n_docs)
        if hashes.dtype != np.uint64 or (self.n_docs and int(docs.max()) >= self.n_docs):
            raise IndexCorrupt(self.file.name, "its table of ids is out of range")
        return hashes, docs

    @cached_property
    def blocks(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
        """First document, first byte (each with the end appended) and uncompressed bytes of the blocks."""
        n = self.file.length("block_sizes")
        return (
            read_offsets(self.file, "block_docs", n, self.n_docs),
            read_offsets(self.file, "block_offsets", n, self.file.length("blocks")),
            unsigned(self.file, "block_sizes", n),
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
            self._check_doc(int(docs.min()))
            self._check_doc(int(docs.max()))
        ranges = zip(self.id_offsets[docs].tolist(), self.id_offsets[docs + 1].tolist(), strict=True)
        raw = self.file.slices("ids", ranges)
        try:
            return [one.decode() for one in raw]
        except UnicodeDecodeError as e:
            raise IndexCorrupt(self.file.name, "an id is not UTF-8") from e

    def find(self, id: str) -> int:
        """The document that has this id, deleted or not; -1 when there is none."""
        return int(self.find_many([id])[0])

    def find_many(self, ids: Sequence[str]) -> Ints:
        """The document of each id, -1 where there is none."""
        found = np.full(len(ids), -1, np.int64)
        if not self.n_docs:
            return found
        raw = [i.encode("utf-8", "replace") for i in ids]  # what cannot be encoded is no stored id: it will not match
        hashes, docs = self.hashes
        wanted = id_hashes(raw)
        low, high = np.searchsorted(hashes, wanted, "left"), np.searchsorted(hashes, wanted, "right")
        for i in np.flatnonzero(low < high).tolist():
            for doc in docs[int(low[i]) : int(high[i])].tolist():  # more than one only if hashes collide
                if self.id(doc) == ids[i]:
                    found[i] = doc
        return found

    def text(self, doc: int) -> str | None:
        """The stored text of a document, None if it has none."""
        raw = self.record(doc)[0]
        try:
            return None if raw is None else raw.decode()
        except UnicodeDecodeError as e:
            raise IndexCorrupt(self.file.name, f"the text of document {doc} is not UTF-8") from e

    def metadata(self, doc: int) -> dict[str, Any]:
        """The stored metadata of a document."""
        raw = self.record(doc)[1]
        try:
            return decode_metadata(raw)
        except (ValueError, TypeError, RecursionError) as e:
            raise IndexCorrupt(self.file.name, f"the metadata of document {doc} cannot be read") from e

    def record(self, doc: int) -> Record:
        """Text and metadata of a document in their stored form."""
        self._check_doc(doc)
        block = int(np.searchsorted(self.blocks[0], doc, side="right")) - 1
        last: tuple[int, list[Record]] | None = getattr(self._local, "block", None)
        if last is None or last[0] != block:
            last = self._local.block = (block, self.block(block))
        return last[1][doc - int(self.blocks[0][block])]

    def block(self, block: int) -> list[Record]:
        """All documents of a block."""
        docs, _, sizes = self.blocks
        n, size = int(docs[block + 1]) - int(docs[block]), int(sizes[block])
        packed = self.packed_block(block)
        if not 8 * n <= size <= _ZLIB_RATIO * (len(packed) + 64) or not size:
            raise IndexCorrupt(self.file.name, f"its block {block} claims to hold {size} bytes")
        inflate = zlib.decompressobj()
        try:
            data = inflate.decompress(packed, size)
            more = inflate.decompress(inflate.unconsumed_tail, 1)
        except zlib.error as e:
            raise IndexCorrupt(self.file.name, f"its block {block} cannot be decompressed") from e
        if len(data) != size or more or not inflate.eof:
            raise IndexCorrupt(self.file.name, f"its block {block} does not hold {size} bytes")
        return self._split(block, data, n)

    def packed_block(self, block: int) -> bytes:
        """A block as it is stored."""
        starts = self.blocks[1]
        return self.file.part("blocks", int(starts[block]), int(starts[block + 1])).tobytes()

    def _split(self, block: int, data: bytes, n: int) -> list[Record]:
        sizes = np.frombuffer(data, "<u4", 2 * n).astype(np.int64)
        has_text = sizes[::2] > 0
        sizes[::2] -= has_text
        if 8 * n + int(sizes.sum()) != len(data):
            raise IndexCorrupt(self.file.name, f"its block {block} does not add up")
        ends = (8 * n + np.cumsum(sizes)).tolist()
        out: list[Record] = []
        at = 8 * n
        for i, text in enumerate(has_text.tolist()):
            middle, end = ends[2 * i], ends[2 * i + 1]
            out.append((data[at:middle] if text else None, data[middle:end]))
            at = end
        return out

    def _check_doc(self, doc: int) -> None:
        if not 0 <= doc < self.n_docs:
            raise InvalidInput(f"no document {doc} in a segment of {self.n_docs}")
