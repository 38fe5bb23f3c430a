"""Deleted documents of a segment, with what their absence does to the statistics.

Segments never change, so a delete is a new small file: a bit per document, and for each field how many of the deleted
documents had each term, and the sum of their lengths. The forward index gives these when the delete is committed, at
O(deleted documents); opening an index then subtracts two short arrays and never looks at a posting. A newer delete
file of a segment holds everything the older one did and takes its place.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import IndexCorrupt, InvalidInput
from zipfian.index._arrays import Bools, Ints, chunks, smallest_uint
from zipfian.index.field import FieldReader
from zipfian.index.lengths import exact_sum
from zipfian.index.passages import rows_of
from zipfian.limits import MAX_DOCUMENTS, MAX_FIELDS
from zipfian.storage.container import FileRef, SectionFile, SectionWriter
from zipfian.storage.directory import Directory
from zipfian.storage.sections import UINT32, flags, meta_int, pack_flags, require, unpack_flags

KIND = "del"

_POSTINGS = 1 << 21
"""Postings of deleted documents that are counted at once."""


@dataclass(frozen=True, slots=True, eq=False)
class FieldDeletes:
    """What the deleted documents take away from one field: `counts[i]` documents of local term `terms[i]`."""

    terms: Ints
    counts: Ints
    length: int

    @classmethod
    def of(cls, field: FieldReader, docs: Ints) -> FieldDeletes:
        """The share of some documents (ascending) in a field, through the forward index, so many postings at a time.

        Where the field's rows are passages, it is theirs: all of a document's go with it.
        """
        share = _NOTHING
        rows = rows_of(field.passages, docs)
        for first, last in chunks(np.cumsum(field.rows.mean_terms(rows)), _POSTINGS):
            some = rows[first:last]
            terms, counts = np.unique(field.forward_many(some)[1], return_counts=True)
            share = share.plus(cls(terms.astype(np.int64), counts.astype(np.int64), exact_sum(field.lengths[some])))
        return share

    def plus(self, other: FieldDeletes) -> FieldDeletes:
        """Both together; their documents are distinct."""
        terms, places = np.unique(np.concatenate([self.terms, other.terms]), return_inverse=True)
        counts = np.zeros(len(terms), np.int64)
        np.add.at(counts, places, np.concatenate([self.counts, other.counts]))
        return FieldDeletes(terms, counts, self.length + other.length)


_NOTHING = FieldDeletes(np.empty(0, np.int64), np.empty(0, np.int64), 0)


@dataclass(frozen=True, slots=True, eq=False)
class Deletes:
    """The deleted documents of a segment and their share in each field."""

    deleted: Bools
    fields: Mapping[str, FieldDeletes] = dataclasses.field(default_factory=dict)

    @property
    def count(self) -> int:
        """Deleted documents."""
        return int(np.count_nonzero(self.deleted))

    @classmethod
    def none(cls, n_docs: int) -> Deletes:
        """Nothing is deleted."""
        return cls(np.zeros(n_docs, np.bool_))

    def field(self, name: str) -> FieldDeletes:
        """The share in one field."""
        return self.fields.get(name, _NOTHING)

    def plus(self, docs: npt.NDArray[Any], fields: Mapping[str, FieldReader]) -> Deletes:
        """These and some more documents; those already deleted are passed over."""
        if len(docs) and not 0 <= int(docs.min()) <= int(docs.max()) < len(self.deleted):
            raise InvalidInput(f"documents out of range in a segment of {len(self.deleted)}")
        more = np.zeros(len(self.deleted), np.bool_)
        more[docs] = True
        more &= ~self.deleted
        new = np.flatnonzero(more)
        shares = {name: self.field(name).plus(FieldDeletes.of(field, new)) for name, field in fields.items()}
        return Deletes(self.deleted | more, shares)

    def with_field(self, name: str, field: FieldReader) -> Deletes:
        """The same documents, counted in one more field as well."""
        return Deletes(self.deleted, {**self.fields, name: FieldDeletes.of(field, np.flatnonzero(self.deleted))})


def write_deletes(directory: Directory, name: str, deletes: Deletes) -> FileRef:
    """Write a delete file."""
    fields = [{"name": key, "terms": len(share.terms), "length": share.length} for key, share in deletes.fields.items()]
    meta = {"n_docs": len(deletes.deleted), "n_deleted": deletes.count, "fields": fields}
    with SectionWriter(directory, name, KIND, meta) as file:
        file.add("deleted", pack_flags(deletes.deleted))
        for i, share in enumerate(deletes.fields.values()):
            file.add(f"{i}.terms", smallest_uint(share.terms))
            file.add(f"{i}.counts", smallest_uint(share.counts))
        return file.close()


def read_deletes(directory: Directory, ref: FileRef | str) -> Deletes:
    """Read a delete file whole: it is small."""
    file = SectionFile.open(directory, ref, KIND)
    n_docs = meta_int(file, "n_docs", 0, MAX_DOCUMENTS)
    n_deleted = meta_int(file, "n_deleted", 0, n_docs)
    require(file, {"deleted": flags(n_docs)})
    deleted = unpack_flags(file, "deleted", n_docs)
    if int(np.count_nonzero(deleted)) != n_deleted:
        raise IndexCorrupt(file.name, f"does not mark {n_deleted} documents as deleted")
    fields: dict[str, FieldDeletes] = {}
    try:
        listed = [(e["name"], e["terms"], e["length"]) for e in file.meta["fields"]]
    except (KeyError, TypeError) as e:
        raise IndexCorrupt(file.name, f"its list of fields cannot be read ({e!r})"[:300]) from e
    if len(listed) > MAX_FIELDS:
        raise IndexCorrupt(
            file.name, f"counts the terms of {len(listed)} fields; a collection has at most {MAX_FIELDS}"
        )
    for i, (name, n_terms, length) in enumerate(listed):
        if not isinstance(name, str) or type(n_terms) is not int or type(length) is not int or length < 0:
            raise IndexCorrupt(file.name, f"its share of field {i} cannot be read")
        require(file, {f"{i}.terms": (UINT32, n_terms), f"{i}.counts": (UINT32, n_terms)})
        terms, counts = file.array(f"{i}.terms").astype(np.int64), file.array(f"{i}.counts").astype(np.int64)
        if np.any(terms[1:] <= terms[:-1]) or np.any(counts < 1):
            raise IndexCorrupt(file.name, f"its counts of field {name!r} are out of range")
        fields[name] = FieldDeletes(terms, counts, length)
    return Deletes(deleted, fields)
