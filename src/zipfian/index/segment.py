"""A segment: an immutable set of documents, as a handful of files that are read together.

Each structure has its own file, named in a `SegmentEntry` by role: stored documents (`doc`), one posting set per field
(`field:<name>`), filter columns (`col`), vectors of documents (`vec`) and of passages (`vec:<name>`), and deletes
(`del`). A field can be added later, and deletes
grow, by writing one new file and a new entry; no file is ever changed.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from zipfian.errors import IndexCorrupt, InvalidInput, LimitExceeded
from zipfian.index._arrays import Bools, Ints
from zipfian.index.column import Column, build_columns
from zipfian.index.columns import ColumnReader, write_columns
from zipfian.index.deletes import Deletes, read_deletes, write_deletes
from zipfian.index.docstore import DocStoreReader
from zipfian.index.docstore_writer import write_docs
from zipfian.index.entry import SegmentEntry
from zipfian.index.field import FieldReader, FieldWriteSpec
from zipfian.index.field_writer import write_field
from zipfian.index.metadata import ColumnType
from zipfian.index.passages import flags_of
from zipfian.index.vectors import VectorReader, add_vectors, write_vectors
from zipfian.limits import MAX_FIELDS
from zipfian.storage.container import FileRef, SectionFile
from zipfian.storage.directory import Directory
from zipfian.types import FieldBatch, Passages, SegmentBatch

__all__ = [
    "FieldWriteSpec",
    "SegmentEntry",
    "SegmentFiles",
    "SegmentReader",
    "delete_documents",
    "write_field_for_segment",
    "write_segment",
    "write_vectors_for_segment",
]

_FIELD = "field:"
_VECTORS = "vec:"

_Reader = TypeVar("_Reader", DocStoreReader, FieldReader, ColumnReader, VectorReader)


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
    fields: Mapping[str, FieldWriteSpec],
    columns: Mapping[str, ColumnType],
) -> SegmentEntry:
    """Write all files of a new segment. It becomes part of the collection when a commit names its entry.

    `columns` holds the type of every metadata column of the batch (`metadata.check_metadata` keeps it up to date).
    """
    n = len(batch.ids)
    sizes = {"texts": len(batch.texts), "metadata": len(batch.metadata)}
    sizes |= {f"field {name!r}": _documents(field) for name, field in batch.fields.items()}
    sizes |= {f"vectors {name!r}": len(found.first) - 1 for name, found in batch.vector_passages.items()}
    for what, size in sizes.items():
        if size != n:
            raise InvalidInput(f"{n} ids but {size} entries of {what}")
    if batch.fields.keys() != fields.keys() or len(fields) > MAX_FIELDS:
        raise InvalidInput(f"fields {sorted(batch.fields)} were given for a segment with fields {sorted(fields)}")
    with SegmentFiles(directory, seg_id) as files:
        files.write("doc", write_docs, batch)
        for name, field in batch.fields.items():
            files.write(_FIELD + name, write_field, field, fields[name])
        if any(row for row in batch.metadata):
            files.write("col", write_columns, n, build_columns(batch.metadata, columns))
        whole = {name: rows for name, rows in batch.vectors.items() if name not in batch.vector_passages}
        if whole:
            files.write("vec", write_vectors, n, whole)
        for name, passages in batch.vector_passages.items():
            rows = batch.vectors[name]
            files.write(_VECTORS + name, write_vectors, len(rows), {name: rows}, passages)
        return SegmentEntry(seg_id, n, files.files)


def _documents(batch: FieldBatch) -> int:
    """Documents whose rows a batch holds."""
    return len(batch.indptr if batch.passages is None else batch.passages.first) - 1


def write_field_for_segment(
    directory: Directory, segment: SegmentReader, name: str, batch: FieldBatch, spec: FieldWriteSpec
) -> SegmentEntry:
    """Add a field to a segment: a new field file, and new deletes if there are any, since they count terms per field.

    `batch` has a row for every document of the segment; those of deleted documents may be empty.
    """
    if name in segment.fields:
        raise InvalidInput(f"the segment has a field {name!r} already")
    if len(segment.fields) >= MAX_FIELDS:
        raise LimitExceeded(f"a collection has at most {MAX_FIELDS} fields")
    if _documents(batch) != segment.n_docs:
        raise InvalidInput(f"{_documents(batch)} rows for a segment of {segment.n_docs} documents")
    with SegmentFiles(directory, segment.entry.id) as files:
        files.write(_FIELD + name, write_field, batch, spec)
        if segment.deletes.count:
            field = FieldReader.open(directory, files.files[_FIELD + name])
            files.write("del", write_deletes, segment.deletes.with_field(name, field))
        entry = segment.entry
        for role, ref in files.files.items():
            entry = entry.with_file(role, ref)
        return entry


def write_vectors_for_segment(
    directory: Directory, segment: SegmentReader, vectors: Mapping[str, npt.NDArray[Any]],
    passages: Passages | None = None,
) -> SegmentEntry:  # fmt: skip
    """Add vectors to a segment: one new file with those it had and the new ones. A row of NaN means none.

    Where the rows are `passages`, each of the vectors gets a file of its own.
    """
    taken = sorted(set(vectors) & set(segment.dims))
    if taken:
        raise InvalidInput(f"the segment has vectors {taken[0]!r} already")
    with SegmentFiles(directory, segment.entry.id) as files:
        if passages is not None:
            if len(passages.first) - 1 != segment.n_docs:
                raise InvalidInput(f"passages of {len(passages.first) - 1} documents for {segment.n_docs}")
            entry = segment.entry
            for name, rows in vectors.items():
                files.write(_VECTORS + name, write_vectors, len(rows), {name: rows}, passages)
                entry = entry.with_file(_VECTORS + name, files.files[_VECTORS + name])
            return entry
        files.write("vec", add_vectors, segment.vectors, segment.n_docs, vectors)
        return segment.entry.with_file("vec", files.files["vec"])


def delete_documents(directory: Directory, segment: SegmentReader, docs: npt.NDArray[Any]) -> SegmentEntry:
    """Mark documents (numbers in the segment) as deleted: one new file, which replaces the older one.

    Returns the segment's entry itself when all of them were deleted before.
    """
    deletes = segment.deletes.plus(docs, segment.fields)
    if deletes.count == segment.deletes.count:
        return segment.entry
    with SegmentFiles(directory, segment.entry.id) as files:
        files.write("del", write_deletes, deletes)
        return segment.entry.with_file("del", files.files["del"])


def _roles(entry: SegmentEntry, prefix: str) -> list[str]:
    """Files of a kind that a segment may have several of."""
    return [role for role in entry.files if role.startswith(prefix)]


class SegmentReader:
    """The files of a segment, open for reading. Immutable and safe to share between threads."""

    def __init__(self, directory: Directory, entry: SegmentEntry, known: SegmentReader | None = None) -> None:
        """Open every file: headers, footers and sizes are checked now, contents when first used.

        Files that `known`, an earlier state of the segment, has open are read through it: a file never changes, and
        what was checked in it need not be checked again. They are closed when it is.
        """
        self.entry = entry
        self.id = entry.id
        self.n_docs = entry.n_docs
        self._by_role: dict[str, DocStoreReader | FieldReader | ColumnReader | VectorReader] = {}
        self._opened: list[SectionFile] = []
        if "doc" not in entry.files:
            raise IndexCorrupt(entry.id, "the segment has no document file")
        open_file = partial(self._open, directory, known)
        self.docs = open_file("doc", DocStoreReader)
        # first of all: from here on, this number is known to be no larger than the file allows
        self._require_documents("doc", self.docs.n_docs)
        fields = {role.removeprefix(_FIELD): open_file(role, FieldReader) for role in _roles(entry, _FIELD)}
        self.fields: Mapping[str, FieldReader] = MappingProxyType(fields)
        self.columns = open_file("col", ColumnReader) if "col" in entry.files else None
        self.vectors = open_file("vec", VectorReader) if "vec" in entry.files else None
        by_passage = {role.removeprefix(_VECTORS): open_file(role, VectorReader) for role in _roles(entry, _VECTORS)}
        self.passage_vectors: Mapping[str, VectorReader] = MappingProxyType(by_passage)
        """Vectors of the passages of documents, by name."""
        for name, vectors in by_passage.items():
            if list(vectors.dims) != [name] or (self.vectors is not None and name in self.vectors.dims):
                raise IndexCorrupt(vectors.file.name, f"does not hold the vectors {name!r}, or is not alone with them")
        self.deletes = (
            read_deletes(directory, entry.files["del"]) if "del" in entry.files else Deletes.none(self.n_docs)
        )
        for role, found in self._document_counts().items():
            self._require_documents(role, found)
        for name, share in self.deletes.fields.items():
            if name in fields and len(share.terms) and int(share.terms[-1]) >= fields[name].n_terms:
                raise IndexCorrupt(entry.files["del"].name, f"counts terms that field {name!r} does not have")
            gone = self.deletes.count if name not in fields else int(np.count_nonzero(~self.live_rows(name)))
            if len(share.counts) and int(share.counts.max()) > gone:
                raise IndexCorrupt(entry.files["del"].name, f"its counts of field {name!r} are out of range")
        for name in fields if self.deletes.count else ():
            if name not in self.deletes.fields:
                raise IndexCorrupt(entry.files["del"].name, f"does not count the terms of field {name!r}")

    @cached_property
    def live(self) -> Bools:
        """Which documents are not deleted."""
        return ~self.deletes.deleted

    @cached_property
    def n_live(self) -> int:
        """Documents that are not deleted."""
        return self.n_docs - self.deletes.count

    @property
    def dims(self) -> dict[str, int]:
        """The vectors that are there, and their dimensions."""
        whole = {} if self.vectors is None else self.vectors.dims
        return whole | {name: reader.dims[name] for name, reader in self.passage_vectors.items()}

    def vectors_of(self, name: str) -> VectorReader | None:
        """The file that has the vectors of a name; None where the segment has none."""
        if self.vectors is not None and name in self.vectors.dims:
            return self.vectors
        return self.passage_vectors.get(name)

    def live_rows(self, field: str) -> Bools:
        """Which rows of a field are not of deleted documents: its documents, or their passages."""
        return flags_of(self.fields[field].passages, self.live) if field in self.fields else self.live

    def df_live(self, field: str) -> Ints:
        """Rows of each local term, without those of deleted documents."""
        reader, share = self.fields[field], self.deletes.field(field)
        if not len(share.terms):
            return reader.df
        df = reader.df.copy()
        df[share.terms] -= share.counts
        if int(df.min()) < 0:
            raise IndexCorrupt(self.entry.files["del"].name, f"takes away more of field {field!r} than there is")
        return df

    def total_length_live(self, field: str) -> int:
        """Sum of the lengths of the rows that are not of deleted documents, in the field's length unit."""
        total = self.fields[field].total_length - self.deletes.field(field).length
        if total < 0:
            raise IndexCorrupt(self.entry.files["del"].name, f"takes away more of field {field!r} than there is")
        return total

    def column(self, name: str) -> Column | None:
        """The column of a metadata column, None if no document of this segment has it."""
        return self.columns.column(name) if self.columns else None

    def find(self, id: str) -> int:
        """The live document that has this id, -1 when there is none."""
        doc = self.docs.find(id)
        return doc if doc >= 0 and self.live[doc] else -1

    def close(self) -> None:
        """Refuse further use; arrays already handed out stay valid."""
        for file in self._opened:
            file.close()

    def _open(self, directory: Directory, known: SegmentReader | None, role: str, kind: type[_Reader]) -> _Reader:
        """The file of a role, as somebody has it open or opened now."""
        ref = self.entry.files[role]
        found = None if known is None or known.entry.files.get(role) != ref else known._by_role[role]
        if not isinstance(found, kind):
            found = kind.open(directory, ref)
            self._opened.append(found.file)
        self._by_role[role] = found
        return found

    def _require_documents(self, role: str, found: int) -> None:
        if found != self.n_docs:
            name = self.entry.files[role].name
            raise IndexCorrupt(name, f"has {found} documents where its segment has {self.n_docs}")

    def _document_counts(self) -> dict[str, int]:
        counts = {_FIELD + name: field.n_documents for name, field in self.fields.items()}
        counts |= {_VECTORS + name: vectors.n_documents for name, vectors in self.passage_vectors.items()}
        if self.columns:
            counts["col"] = self.columns.n_docs
        if self.vectors:
            counts["vec"] = self.vectors.n_docs
            if self.vectors.passages is not None:
                raise IndexCorrupt(self.vectors.file.name, "has passages where its segment keeps documents")
        if "del" in self.entry.files:
            counts["del"] = len(self.deletes.deleted)
        return counts
