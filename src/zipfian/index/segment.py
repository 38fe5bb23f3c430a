"""A segment: an immutable set of documents, as a handful of files that are read together.

Each structure has its own file, named in a `SegmentEntry` by role: stored documents (`doc`), one posting set per leg
(`leg:<name>`), filter columns (`col`), vectors (`vec`) and deletes (`del`). A leg can be added later, and deletes grow,
by writing one new file and a new entry; no file is ever changed.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy.typing as npt

from zipfian.errors import IndexCorrupt, InvalidInput, LimitExceeded
from zipfian.index._arrays import Bools, Ints
from zipfian.index.column import Column, build_columns
from zipfian.index.columns import ColumnReader, write_columns
from zipfian.index.container import FileRef
from zipfian.index.deletes import Deletes, read_deletes, write_deletes
from zipfian.index.directory import Directory
from zipfian.index.docstore import DocStoreReader
from zipfian.index.docstore_writer import write_docs
from zipfian.index.entry import SegmentEntry
from zipfian.index.leg import LegReader, LegWriteSpec
from zipfian.index.leg_writer import write_leg
from zipfian.index.metadata import FieldType
from zipfian.index.vectors import VectorReader, add_vectors, write_vectors
from zipfian.limits import MAX_LEGS
from zipfian.types import LegBatch, SegmentBatch

__all__ = [
    "LegWriteSpec",
    "SegmentEntry",
    "SegmentFiles",
    "SegmentReader",
    "delete_documents",
    "write_leg_for_segment",
    "write_segment",
    "write_vectors_for_segment",
]

_LEG = "leg:"


class SegmentFiles:
    """The files written so far for one segment; on an error they are deleted again, as far as possible."""

    def __init__(self, directory: Directory, seg_id: str) -> None:
        self.directory = directory
        self.seg_id = seg_id
        self.files: dict[str, FileRef] = {}

    def name(self, kind: str) -> str:
        """A file name that nobody has used: a crashed writer may have left files of the same segment id."""
        return f"{self.seg_id}-{secrets.token_hex(4)}.{kind}"

    def write(self, role: str, writer: Callable[..., FileRef | None], *arguments: Any) -> None:
        """Call `writer(directory, name, *arguments)` and keep the file it returns (None: there was nothing)."""
        ref = writer(self.directory, self.name(role.partition(":")[0]), *arguments)
        if ref is not None:
            self.files[role] = ref

    def __enter__(self) -> SegmentFiles:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            for ref in self.files.values():
                with contextlib.suppress(OSError):
                    self.directory.delete(ref.name)


def write_segment(
    directory: Directory,
    seg_id: str,
    batch: SegmentBatch,
    legs: Mapping[str, LegWriteSpec],
    fields: Mapping[str, FieldType],
) -> SegmentEntry:
    """Write all files of a new segment. It becomes part of the collection when a commit names its entry.

    `fields` holds the type of every metadata field of the batch (`metadata.check_metadata` keeps it up to date).
    """
    n = len(batch.ids)
    sizes = {"texts": len(batch.texts), "metadata": len(batch.metadata)}
    sizes |= {f"leg {name!r}": len(leg.indptr) - 1 for name, leg in batch.legs.items()}
    for what, size in sizes.items():
        if size != n:
            raise InvalidInput(f"{n} ids but {size} entries of {what}")
    if batch.legs.keys() != legs.keys() or len(legs) > MAX_LEGS:
        raise InvalidInput(f"legs {sorted(batch.legs)} were given for a segment with legs {sorted(legs)}")
    with SegmentFiles(directory, seg_id) as files:
        files.write("doc", write_docs, batch)
        for name, leg in batch.legs.items():
            files.write(_LEG + name, write_leg, leg, legs[name])
        if any(row for row in batch.metadata):
            files.write("col", write_columns, n, build_columns(batch.metadata, fields))
        if batch.vectors:
            files.write("vec", write_vectors, n, batch.vectors)
        return SegmentEntry(seg_id, n, files.files)


def write_leg_for_segment(
    directory: Directory, segment: SegmentReader, name: str, batch: LegBatch, spec: LegWriteSpec
) -> SegmentEntry:
    """Add a leg to a segment: a new leg file, and new deletes if there are any, since they count terms per leg.

    `batch` has a row for every document of the segment; those of deleted documents may be empty.
    """
    if name in segment.legs:
        raise InvalidInput(f"the segment has a leg {name!r} already")
    if len(segment.legs) >= MAX_LEGS:
        raise LimitExceeded(f"a collection has at most {MAX_LEGS} legs")
    if len(batch.indptr) - 1 != segment.n_docs:
        raise InvalidInput(f"{len(batch.indptr) - 1} rows for a segment of {segment.n_docs} documents")
    with SegmentFiles(directory, segment.entry.id) as files:
        files.write(_LEG + name, write_leg, batch, spec)
        if segment.deletes.count:
            leg = LegReader.open(directory, files.files[_LEG + name])
            files.write("del", write_deletes, segment.deletes.with_leg(name, leg))
        entry = segment.entry
        for role, ref in files.files.items():
            entry = entry.with_file(role, ref)
        return entry


def write_vectors_for_segment(
    directory: Directory, segment: SegmentReader, vectors: Mapping[str, npt.NDArray[Any]]
) -> SegmentEntry:
    """Add vectors to a segment: one new file with those it had and the new ones. A row of NaN means none."""
    taken = sorted(set(vectors) & set(segment.vectors.dims if segment.vectors else ()))
    if taken:
        raise InvalidInput(f"the segment has vectors {taken[0]!r} already")
    with SegmentFiles(directory, segment.entry.id) as files:
        files.write("vec", add_vectors, segment.vectors, segment.n_docs, vectors)
        return segment.entry.with_file("vec", files.files["vec"])


def delete_documents(directory: Directory, segment: SegmentReader, docs: npt.NDArray[Any]) -> SegmentEntry:
    """Mark documents (numbers in the segment) as deleted: one new file, which replaces the older one.

    Returns the segment's entry itself when all of them were deleted before.
    """
    deletes = segment.deletes.plus(docs, segment.legs)
    if deletes.count == segment.deletes.count:
        return segment.entry
    with SegmentFiles(directory, segment.entry.id) as files:
        files.write("del", write_deletes, deletes)
        return segment.entry.with_file("del", files.files["del"])


class SegmentReader:
    """The files of a segment, open for reading. Immutable and safe to share between threads."""

    def __init__(self, directory: Directory, entry: SegmentEntry) -> None:
        """Open every file: headers, footers and sizes are checked now, contents when first used."""
        self.entry = entry
        self.id = entry.id
        self.n_docs = entry.n_docs
        if "doc" not in entry.files:
            raise IndexCorrupt(entry.id, "the segment has no document file")
        self.docs = DocStoreReader.open(directory, entry.files["doc"])
        # first of all: from here on, this number is known to be no larger than the file allows
        self._require_documents("doc", self.docs.n_docs)
        legs = {
            role.removeprefix(_LEG): LegReader.open(directory, ref)
            for role, ref in entry.files.items()
            if role.startswith(_LEG)
        }
        self.legs: Mapping[str, LegReader] = MappingProxyType(legs)
        self.columns = ColumnReader.open(directory, entry.files["col"]) if "col" in entry.files else None
        self.vectors = VectorReader.open(directory, entry.files["vec"]) if "vec" in entry.files else None
        self.deletes = (
            read_deletes(directory, entry.files["del"]) if "del" in entry.files else Deletes.none(self.n_docs)
        )
        for role, found in self._document_counts().items():
            self._require_documents(role, found)
        for name, share in self.deletes.legs.items():
            if name in legs and len(share.terms) and int(share.terms[-1]) >= legs[name].n_terms:
                raise IndexCorrupt(entry.files["del"].name, f"counts terms that leg {name!r} does not have")
        for name in legs if self.deletes.count else ():
            if name not in self.deletes.legs:
                raise IndexCorrupt(entry.files["del"].name, f"does not count the terms of leg {name!r}")

    @cached_property
    def live(self) -> Bools:
        """Which documents are not deleted."""
        return ~self.deletes.deleted

    @cached_property
    def n_live(self) -> int:
        """Documents that are not deleted."""
        return self.n_docs - self.deletes.count

    def df_live(self, leg: str) -> Ints:
        """Documents of each local term, without the deleted ones."""
        reader, share = self.legs[leg], self.deletes.leg(leg)
        if not len(share.terms):
            return reader.df
        df = reader.df.copy()
        df[share.terms] -= share.counts
        if int(df.min()) < 0:
            raise IndexCorrupt(self.entry.files["del"].name, f"takes away more of leg {leg!r} than there is")
        return df

    def total_length_live(self, leg: str) -> int:
        """Sum of the lengths of the documents that are not deleted, in the leg's length unit."""
        total = self.legs[leg].total_length - self.deletes.leg(leg).length
        if total < 0:
            raise IndexCorrupt(self.entry.files["del"].name, f"takes away more of leg {leg!r} than there is")
        return total

    def column(self, name: str) -> Column | None:
        """The column of a metadata field, None if no document of this segment has it."""
        return self.columns.column(name) if self.columns else None

    def find(self, id: str) -> int:
        """The live document that has this id, -1 when there is none."""
        doc = self.docs.find(id)
        return doc if doc >= 0 and self.live[doc] else -1

    def close(self) -> None:
        """Refuse further use; arrays already handed out stay valid."""
        for reader in (self.docs, self.columns, self.vectors, *self.legs.values()):
            if reader is not None:
                reader.file.close()

    def _require_documents(self, role: str, found: int) -> None:
        if found != self.n_docs:
            name = self.entry.files[role].name
            raise IndexCorrupt(name, f"has {found} documents where its segment has {self.n_docs}")

    def _document_counts(self) -> dict[str, int]:
        counts = {_LEG + name: leg.n_docs for name, leg in self.legs.items()}
        if self.columns:
            counts["col"] = self.columns.n_docs
        if self.vectors:
            counts["vec"] = self.vectors.n_docs
        if "del" in self.entry.files:
            counts["del"] = len(self.deletes.deleted)
        return counts
