"""Whether the parts of a segment agree: what is stored twice, in two forms, must say the same.

Checksums find bytes that changed; these comparisons find files that were wrong when they were written. Everything is
read in pieces, so a check needs little memory whatever the size of the segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import IndexCorrupt, InvalidInput, LimitExceeded
from zipfian.index._arrays import Ints
from zipfian.index.column import Column
from zipfian.index.deletes import Deletes
from zipfian.index.docstore import DocStoreReader, id_hashes
from zipfian.index.docstore_writer import encode_id
from zipfian.index.field import FieldReader
from zipfian.index.lengths import exact_sum, posting_lengths
from zipfian.index.metadata import element_type, microseconds
from zipfian.index.postings import Tf
from zipfian.index.segment import SegmentReader
from zipfian.index.vectors import VectorReader

_DOCS = 1 << 14
"""Ids looked at together."""


def cross_check(segment: SegmentReader) -> None:
    """`IndexCorrupt`, naming a file, if two parts of a segment contradict each other."""
    for field in segment.fields.values():
        _check_field(field)
        _check_passages(segment, field)
    _check_documents(segment)
    _check_deletes(segment)
    _check_vectors(segment)


def cross_check_ids(segments: Sequence[SegmentReader]) -> None:
    """No id is live in two segments of a commit."""
    found = [np.empty(0, np.uint64)]
    for segment in segments:
        hashes, docs = segment.docs.hashes
        found.append(hashes[segment.live[docs]])
    ordered = np.sort(np.concatenate(found))
    suspects = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])  # the same id, or a rare accident
    seen: set[str] = set()
    for segment in segments if len(suspects) else ():
        hashes, docs = segment.docs.hashes
        for doc in docs[np.isin(hashes, suspects)].tolist():
            if segment.live[doc]:
                name = segment.docs.id(doc)
                if name in seen:
                    raise IndexCorrupt(segment.docs.file.name, f"the document {name!r} is there twice")
                seen.add(name)


def _check_field(field: FieldReader) -> None:
    """Postings against lengths, and against the forward index."""
    name = field.file.name
    field.terms.verify()
    lengths = np.zeros(field.n_docs, np.int64)
    by_term = 0
    for low, high, docs, tf in field.scan():
        if not np.all(np.isfinite(tf) & (tf > 0)):
            raise IndexCorrupt(name, "a term frequency is not a positive number")
        term = np.repeat(np.arange(low, high), field.df[low:high])
        by_term += _fingerprint(docs, term)
        np.add.at(lengths, docs, _shares(field, tf))
    if not np.array_equal(lengths, field.lengths) or field.total_length != exact_sum(field.lengths):
        raise IndexCorrupt(name, "its document lengths do not follow from its postings")
    by_doc = 0
    for start, indptr, terms in field.rows.scan():
        by_doc += _fingerprint(np.repeat(np.arange(start, start + len(indptr) - 1), np.diff(indptr)), terms)
    if (by_doc - by_term) % 2**64:
        raise IndexCorrupt(name, "its forward index does not hold the postings that its posting lists hold")


def _check_passages(segment: SegmentReader, rows: FieldReader | VectorReader) -> None:
    """Passages lie in the texts of their documents."""
    passages = rows.passages
    if passages is None:
        return
    for doc in range(segment.n_docs):
        last = int(passages.ends[passages.first[doc] : passages.first[doc + 1]].max())
        if last and last > len(segment.docs.text(doc) or ""):
            raise IndexCorrupt(rows.file.name, f"a passage of document {doc} does not lie in its text")


def _shares(field: FieldReader, tf: Tf) -> Ints:
    try:
        return posting_lengths(tf, field.spec.tf, field.spec.scale, field.spec.phi)
    except LimitExceeded as e:
        raise IndexCorrupt(field.file.name, str(e)) from e


def _fingerprint(docs: npt.NDArray[Any], terms: npt.NDArray[Any]) -> int:
    """A sum modulo 2**64 over (document, term) pairs, in any order: each pair goes through splitmix64 first."""
    x = docs.astype(np.uint64) << np.uint64(32) | terms.astype(np.uint64)
    x += np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return int(np.sum(x ^ x >> np.uint64(31), dtype=np.uint64))


def _check_documents(segment: SegmentReader) -> None:
    """Ids against their hashes; every text and every metadata object decodes; metadata against the columns."""
    docs = segment.docs
    hashes, of = docs.hashes
    if np.any(hashes[1:] < hashes[:-1]) or len(np.unique(of)) != docs.n_docs:
        raise IndexCorrupt(docs.file.name, "its table of ids is out of order")
    for at in np.flatnonzero(hashes[1:] == hashes[:-1]).tolist():
        if docs.raw_id(int(of[at])) == docs.raw_id(int(of[at + 1])):
            raise IndexCorrupt(docs.file.name, f"the id {docs.id(int(of[at]))!r} is there twice")
    by_doc = np.empty(docs.n_docs, np.uint64)
    by_doc[of] = hashes
    types = segment.columns.types if segment.columns else {}
    columns = {name: _Stored(column) for name in types if (column := segment.column(name)) is not None}
    for start in range(0, docs.n_docs, _DOCS):
        stop = min(start + _DOCS, docs.n_docs)
        if not np.array_equal(id_hashes([_checked_id(docs, d) for d in range(start, stop)]), by_doc[start:stop]):
            raise IndexCorrupt(docs.file.name, "its table of ids does not belong to its ids")
    for doc in range(docs.n_docs):  # one after the other: a small file may unpack to large texts and metadata
        row = docs.content(doc)[1]
        for name, stored in columns.items():
            if not stored.has(doc, row.get(name)):
                where = segment.entry.files["col"].name
                raise IndexCorrupt(where, f"its column {name!r} does not hold what the documents hold")
        if any(value is not None and name not in columns for name, value in row.items()):
            raise IndexCorrupt(docs.file.name, "its metadata has columns without a column")


def _checked_id(docs: DocStoreReader, doc: int) -> bytes:
    try:
        return encode_id(docs.id(doc))
    except (InvalidInput, LimitExceeded) as e:
        raise IndexCorrupt(docs.file.name, f"document {doc}: {e}") from e


class _Stored:
    """A column, for comparing it with the documents one by one."""

    def __init__(self, column: Column) -> None:
        self._column = column
        self._odd: dict[int, int] = {}
        if column.odd_at is not None and column.odd is not None:
            self._odd = dict(zip(column.odd_at.tolist(), column.odd.tolist(), strict=True))
        self._is_date = element_type(column.type) == "date"

    def has(self, doc: int, value: Any) -> bool:
        """Whether the column holds this value for a document."""
        column = self._column
        if bool(column.present[doc]) != (value is not None):
            return False
        if value is None:
            return True
        if column.starts is None:
            found, wanted = [self._element(doc)], [value]
        else:
            found, wanted = [self._element(i) for i in range(*column.starts[doc : doc + 2].tolist())], value
        return bool(found == ([microseconds(v) for v in wanted] if self._is_date else wanted))

    def _element(self, at: int) -> Any:
        if self._column.words is not None:
            return self._column.words.term(int(self._column.values[at]))
        stored, odd = self._column.values[at].item(), self._odd.get(at)
        return odd if odd is not None and float(odd) == stored else stored  # beside an exact value: its rounding


def _check_deletes(segment: SegmentReader) -> None:
    """The counts of a delete file against a new count."""
    if "del" not in segment.entry.files:
        return
    deletes = segment.deletes
    again = Deletes.none(segment.n_docs).plus(np.flatnonzero(deletes.deleted), segment.fields)
    for name in segment.fields:
        stored, counted = deletes.field(name), again.field(name)
        if (
            not np.array_equal(stored.terms, counted.terms)
            or not np.array_equal(stored.counts, counted.counts)
            or stored.length != counted.length
        ):
            raise IndexCorrupt(segment.entry.files["del"].name, f"what it takes away from field {name!r} is wrong")


def _check_vectors(segment: SegmentReader) -> None:
    for name in segment.dims:
        vectors = segment.vectors_of(name)
        if vectors is not None:
            vectors.array(name)  # which refuses numbers that are not finite
            _check_passages(segment, vectors)
