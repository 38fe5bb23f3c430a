"""Writing stored documents, from a batch or from the blocks of other document files."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import InvalidInput, LimitExceeded
from zipfian.index._arrays import Bools, offsets, smallest_uint
from zipfian.index.docstore import BLOCK_BYTES, KIND, DocStoreReader, Record, id_hashes
from zipfian.index.metadata import encode_metadata
from zipfian.limits import MAX_ID_BYTES, MAX_TEXT_CHARS
from zipfian.storage.container import FileRef, SectionWriter
from zipfian.storage.directory import Directory
from zipfian.types import SegmentBatch

_LEVEL = 3
"""zlib level: twice as fast as the default 6 and a tenth larger; at 3 compressing costs less than tokenizing."""

IdPiece = tuple[npt.NDArray[np.uint8], npt.NDArray[Any]]
"""Ids of consecutive documents: their bytes, and the number of bytes of each."""


@dataclass(frozen=True, slots=True)
class PackedBlock:
    """A finished block: compressed bytes, uncompressed size, documents."""

    data: bytes
    size: int
    n_docs: int


def encode_id(id: Any) -> bytes:
    """An id as UTF-8; `InvalidInput` if it cannot be one."""
    if not isinstance(id, str):
        raise InvalidInput(f"a document id must be text, not {type(id).__name__}: {str(id)[:80]!r}")
    try:
        raw = id.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"a document id is not valid Unicode text: {id[:80]!r}") from None
    if not raw:
        raise InvalidInput("a document id must not be empty")
    if len(raw) > MAX_ID_BYTES:
        raise LimitExceeded(f"a document id has {len(raw)} bytes, the limit is {MAX_ID_BYTES}: {id[:80]!r}...")
    return raw


def encode_text(text: Any) -> bytes | None:
    """A text as UTF-8; `InvalidInput` if it cannot be one."""
    if text is None:
        return None
    if not isinstance(text, str):
        raise InvalidInput(f"a text must be a string, not {type(text).__name__}")
    if len(text) > MAX_TEXT_CHARS:
        raise LimitExceeded(f"a text has {len(text)} characters; the limit is {MAX_TEXT_CHARS}")
    try:
        return text.encode()
    except UnicodeEncodeError as e:
        raise InvalidInput(f"a text is not valid Unicode at character {e.start}") from None


def write_docs(directory: Directory, name: str, batch: SegmentBatch) -> FileRef:
    """Write the document file of a new segment."""
    ids = [encode_id(i) for i in batch.ids]
    if len(set(ids)) < len(ids):
        twice = Counter(ids).most_common(1)[0][0]
        raise InvalidInput(f"the id {twice.decode()!r} is there twice")
    sizes = np.fromiter(map(len, ids), np.int64, len(ids))
    pieces = [(np.frombuffer(b"".join(ids), np.uint8), sizes)]
    records = zip(map(encode_text, batch.texts), map(encode_metadata, batch.metadata), strict=True)
    return write_docs_file(directory, name, pieces, id_hashes(ids), pack_records(records))


def write_docs_file(
    directory: Directory,
    name: str,
    ids: Iterable[IdPiece],
    hashes: npt.NDArray[np.uint64],
    blocks: Iterable[PackedBlock],
) -> FileRef:
    """Write a document file from pieces; only sizes and hashes of the ids are held for all documents at once."""
    with SectionWriter(directory, name, KIND, {"n_docs": len(hashes)}) as file:
        sizes = [np.empty(0, np.int64)]
        stream = file.stream("ids", np.uint8)
        for blob, lengths in ids:
            stream.append(blob)
            sizes.append(lengths)
        stream.end()
        file.add("id_offsets", smallest_uint(offsets(np.concatenate(sizes))))
        order = np.argsort(hashes, kind="stable")
        file.add("hashes", hashes[order])
        file.add("hash_docs", smallest_uint(order))
        stream = file.stream("blocks", np.uint8)
        packed: list[tuple[int, int, int]] = []
        for block in blocks:
            stream.append(np.frombuffer(block.data, np.uint8))
            packed.append((block.n_docs, len(block.data), block.size))
        stream.end()
        table = np.array(packed, np.int64).reshape(-1, 3)
        file.add("block_docs", smallest_uint(offsets(table[:, 0])))
        file.add("block_offsets", smallest_uint(offsets(table[:, 1])))
        file.add("block_sizes", smallest_uint(table[:, 2]))
        return file.close()


def pack_records(records: Iterable[Record]) -> Iterator[PackedBlock]:
    """Compress records into blocks as they come."""
    pending = _Pending()
    for record in records:
        pending.add(record)
        if pending.size >= BLOCK_BYTES:
            yield pending.pack()
    if pending.sizes:
        yield pending.pack()


def merge_blocks(parts: Iterable[tuple[DocStoreReader, Bools]]) -> Iterator[PackedBlock]:
    """The blocks of several document files in order, without the documents whose flag is False.

    A block that keeps all its documents is copied as it is; only the others, and small ones, are unpacked.
    """
    pending = _Pending()
    for reader, keep in parts:
        docs, _, sizes = reader.blocks
        for block in range(len(sizes)):
            kept = keep[int(docs[block]) : int(docs[block + 1])]
            if kept.all() and int(sizes[block]) >= BLOCK_BYTES // 2:
                if pending.sizes:
                    yield pending.pack()
                yield PackedBlock(reader.packed_block(block), int(sizes[block]), len(kept))
                continue
            if not kept.any():
                continue
            for record, wanted in zip(reader.block(block), kept.tolist(), strict=True):
                if wanted:
                    pending.add(record)
                    if pending.size >= BLOCK_BYTES:
                        yield pending.pack()
    if pending.sizes:
        yield pending.pack()


class _Pending:
    """The block being filled."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.pieces: list[bytes] = []
        self.size = 0

    def clear(self) -> None:
        self.sizes.clear()
        self.pieces.clear()
        self.size = 0

    def add(self, record: Record) -> None:
        text, metadata = record
        self.sizes += (0 if text is None else len(text) + 1, len(metadata))
        self.pieces += (text or b"", metadata)
        self.size += len(self.pieces[-2]) + len(metadata) + 8

    def pack(self) -> PackedBlock:
        raw = struct.pack(f"<{len(self.sizes)}I", *self.sizes) + b"".join(self.pieces)
        done = PackedBlock(zlib.compress(raw, _LEVEL), len(raw), len(self.sizes) // 2)
        self.clear()
        return done
