"""Joining neighbouring segments into one without their deleted documents.

Documents keep their order, so ties break as before. Postings, rows, texts and vectors pass through in pieces; what is
held for all documents at once is a few bytes each (flags, lengths, hashes of ids) and, per field, the term dictionary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import IndexCorrupt, InvalidInput
from zipfian.index._arrays import Bools, Ints, chunks, stable_order
from zipfian.index.column import Column, join_columns
from zipfian.index.columns import write_columns
from zipfian.index.docstore_writer import IdPiece, merge_blocks, write_docs_file
from zipfian.index.entry import SegmentEntry
from zipfian.index.field import FieldReader
from zipfian.index.field_writer import write_field_file
from zipfian.index.passages import flags_of, join_passages
from zipfian.index.postings import Docs, Tf
from zipfian.index.segment import SegmentFiles, SegmentReader
from zipfian.index.terms import merge_terms
from zipfian.index.vectors import Part, merge_vectors
from zipfian.limits import MAX_DOCUMENTS
from zipfian.storage.container import FileRef
from zipfian.storage.directory import Directory
from zipfian.types import Passages

_POSTINGS = 1 << 20
"""Postings decoded at once while merging (a longer list is taken whole)."""

_ROWS = 1 << 14
"""Documents whose ids are read at once while merging."""


def merge_segments(directory: Directory, seg_id: str, readers: Sequence[SegmentReader]) -> SegmentEntry:
    """Write one segment with the live documents of several, which must be neighbours, in order.

    Statistics and scores of the result equal those of an index built from these documents in this order.
    """
    if not readers:
        raise InvalidInput("there is nothing to merge")
    n_docs = sum(r.n_live for r in readers)
    if n_docs > MAX_DOCUMENTS:
        raise InvalidInput(f"{n_docs} documents are more than a segment can hold ({MAX_DOCUMENTS})")
    with SegmentFiles(directory, seg_id) as files:
        files.write("doc", _merge_docs, readers)
        for name in sorted({name for r in readers for name in r.fields}):
            files.write(f"field:{name}", _merge_field, name, readers)
        files.write("col", _merge_columns, n_docs, readers)
        whole: dict[str, list[Part]] = {}
        for name in sorted({name for r in readers for name in r.dims}):
            vectors = [(r.vectors_of(name), r.live) for r in readers]
            rows: list[Part] = [(v, live if v is None else flags_of(v.passages, live)) for v, live in vectors]
            passages = join_passages([(None if v is None else v.passages, live) for v, live in vectors])
            if passages is None:
                whole[name] = rows
            else:
                files.write(f"vec:{name}", merge_vectors, {name: rows}, passages)
        files.write("vec", merge_vectors, whole)
        return SegmentEntry(seg_id, n_docs, files.files)


@dataclass(frozen=True, slots=True)
class _Source:
    """A field that is being merged: where its live documents and (in the joined dictionary) its terms go.

    Its file may be forged. What is written must be sound all the same, so whatever the merged file says twice is
    compared on the way.
    """

    field: FieldReader
    live: Bools
    doc_to: npt.NDArray[np.int32]
    term_to: Ints


def _merge_field(directory: Directory, file_name: str, name: str, readers: Sequence[SegmentReader]) -> FileRef:
    with_field = [r for r in readers if name in r.fields]
    fields = [r.fields[name] for r in with_field]
    if len({(field.spec, field.term_kind) for field in fields}) > 1:
        raise InvalidInput(f"field {name!r} is stored in different ways in the segments to merge")
    union, places = merge_terms([field.terms for field in fields])
    df, stored = np.zeros(len(union), np.int64), np.zeros(len(union), np.int64)
    for reader, place in zip(with_field, places, strict=True):
        df[place] += reader.df_live(name)
        stored[place] += reader.fields[name].df
    used = np.flatnonzero(df)
    number = np.full(len(union), -1, np.int64)
    number[used] = np.arange(len(used))
    sources: list[_Source] = []
    lengths: list[npt.NDArray[np.uint64]] = []
    base = 0
    term_maps = iter(places)
    for reader in readers:
        if name in reader.fields:
            field, live = reader.fields[name], reader.live_rows(name)
            doc_to = (base - 1 + np.cumsum(live)).astype(np.int32)
            sources.append(_Source(field, live, doc_to, next(term_maps)))
            lengths.append(field.lengths[live].astype(np.uint64))
        else:  # its documents have no terms in this field
            lengths.append(np.zeros(reader.n_live, np.uint64))
        base += len(lengths[-1])
    return write_field_file(
        directory,
        file_name,
        fields[0].spec,
        union.select(used) if len(used) < len(union) else union,
        df[used],
        postings=_postings(sources, stored, df),
        lengths=np.concatenate(lengths),
        rows=_rows(readers, name, iter(sources), number, int(df.sum())),
        passages=join_passages([(_passages(r, name), r.live) for r in readers]),
    )


def _passages(reader: SegmentReader, name: str) -> Passages | None:
    return reader.fields[name].passages if name in reader.fields else None


def _postings(sources: Sequence[_Source], stored: Ints, df: Ints) -> Iterator[tuple[Ints, Docs, Tf]]:
    """The joined posting lists, some terms at a time; `stored` is how many postings each has, `df` how many live ones.

    Dictionaries keep their order when they are joined, so what a source has for a range of terms is a range as well.
    """
    for low, high in chunks(np.cumsum(stored), _POSTINGS):
        terms, docs, tfs = [], [], []
        for source in sources:
            first, last = np.searchsorted(source.term_to, [low, high]).tolist()
            if first == last:
                continue
            found, tf = source.field.blocks.terms(first, last)
            live = source.live[found]
            term = np.repeat(source.term_to[first:last] - low, source.field.df[first:last])
            terms.append(term[live])
            docs.append(source.doc_to[found[live]])
            tfs.append(tf[live])
        term = np.concatenate(terms)
        joined: npt.NDArray[Any] = np.concatenate(tfs)
        order = stable_order(term, high - low)  # stable: the documents of a term stay in the order of the segments
        counts = np.bincount(term, minlength=high - low).astype(np.int64)
        if not np.array_equal(counts, df[low:high]):
            raise _contradiction(sources)
        yield counts[counts > 0], np.concatenate(docs)[order], joined[order]


def _rows(
    readers: Sequence[SegmentReader], name: str, sources: Iterator[_Source], number: Ints, n_postings: int
) -> Iterator[tuple[Ints, npt.NDArray[np.int32]]]:
    """The terms of each live document, some documents at a time; `n_postings` in all."""
    left, merged = n_postings, []
    for reader in readers:
        if name not in reader.fields:
            yield np.zeros(reader.n_live, np.int64), np.empty(0, np.int32)
            continue
        source = next(sources)
        merged.append(source)
        term_to = number[source.term_to].astype(np.int32)
        for start, indptr, terms in source.field.rows.scan():
            counts = np.diff(indptr)
            live = source.live[start : start + len(counts)]
            kept = term_to[terms[np.repeat(live, counts)]]
            left -= len(kept)
            if len(kept) and int(kept.min()) < 0:  # a term without live postings
                raise _contradiction(merged)
            yield counts[live], kept
    if left:
        raise _contradiction(merged)


def _contradiction(sources: Sequence[_Source]) -> IndexCorrupt:
    names = ", ".join(source.field.file.name for source in sources)
    return IndexCorrupt(names, "postings, forward index and counts of deleted documents contradict each other")


def _merge_docs(directory: Directory, name: str, readers: Sequence[SegmentReader]) -> FileRef:
    hashes = []
    for reader in readers:
        sorted_hashes, docs = reader.docs.hashes
        by_doc, known = np.zeros(reader.n_docs, np.uint64), np.zeros(reader.n_docs, np.bool_)
        by_doc[docs], known[docs] = sorted_hashes, True
        if not known.all():
            raise IndexCorrupt(reader.docs.file.name, "its table of ids does not have all documents")
        hashes.append(by_doc[reader.live])
    blocks = merge_blocks((r.docs, r.live) for r in readers)
    return write_docs_file(directory, name, _ids(readers), np.concatenate(hashes), blocks)


def _ids(readers: Sequence[SegmentReader]) -> Iterator[IdPiece]:
    for reader in readers:
        ends = reader.docs.id_offsets
        for start in range(0, reader.n_docs, _ROWS):
            live = reader.live[start : start + _ROWS]
            within: Ints = ends[start : start + len(live) + 1].astype(np.int64)
            sizes = within[1:] - within[:-1]
            blob = reader.docs.file.part("ids", int(ends[start]), int(ends[start + len(live)]))
            yield blob[np.repeat(live, sizes)], sizes[live]


def _merge_columns(directory: Directory, name: str, n_docs: int, readers: Sequence[SegmentReader]) -> FileRef | None:
    names = sorted({f for r in readers if r.columns for f in r.columns.types})
    return write_columns(directory, name, n_docs, _columns(names, readers)) if names else None


def _columns(names: Sequence[str], readers: Sequence[SegmentReader]) -> Iterator[tuple[str, Column]]:
    for name in names:
        parts: list[tuple[Column | None, int]] = []
        for reader in readers:
            column = reader.column(name)
            parts.append((None if column is None else column.select(reader.live), reader.n_live))
        joined = join_columns(parts)
        if joined.present.any():
            yield name, joined
