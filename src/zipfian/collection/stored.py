"""Documents as a collection in a folder holds them, terms and vectors included, for whoever takes them over."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from zipfian.collection.items import waiting_nbytes
from zipfian.collection.opening import directory_of
from zipfian.collection.settings import Settings
from zipfian.errors import FingerprintMismatch
from zipfian.fields.base import Field, VectorField
from zipfian.fields.item import Item
from zipfian.fields.reader import unit
from zipfian.index.segment import SegmentReader
from zipfian.index.snapshot import Snapshot
from zipfian.types import Passages


@contextmanager
def stored_in(path: str | os.PathLike[str], fields: Mapping[str, Field]) -> Iterator[Iterator[Item]]:
    """The documents of a folder's last commit, if its fields are among these: terms mean nothing elsewhere."""
    with Snapshot.open(directory_of(path)) as snapshot:
        theirs = Settings.from_json(snapshot.settings, os.fspath(path)).fields
        for name, field in theirs.items():
            if fields.get(name) != field:
                raise FingerprintMismatch(
                    f"field {name!r} of {os.fspath(path)} is not the one of this collection: create it with "
                    "fields=Collection.open(path).fields"
                )
        yield stored_items(snapshot, theirs)


def stored_items(snapshot: Snapshot, fields: Mapping[str, Field]) -> Iterator[Item]:
    """Every live document, with its terms in stored form, in document order; long texts with those of passages."""
    for segment in snapshot.segments:
        terms = {
            n: segment.fields[n].to_batch() for n, field in fields.items() if not field.lexical and n in segment.fields
        }
        made = _made_by(fields)
        for doc in np.flatnonzero(segment.live).tolist():
            text, metadata = segment.docs.content(doc)
            item = Item(segment.docs.id(doc), text, {}, {}, metadata, 0)
            for name, batch in terms.items():
                for row, at in _rows(item, name, batch.passages, doc):
                    part = slice(int(batch.indptr[at]), int(batch.indptr[at + 1]))
                    ids = np.asarray(batch.terms)[batch.indices[part]].astype(np.int32)
                    row.terms[name] = (ids, np.asarray(batch.tf[part]))
            _give_vectors(item, segment, made, doc)
            item.nbytes = waiting_nbytes(item)
            yield item


def stored_item(segment: SegmentReader, fields: Mapping[str, Field], doc: int) -> Item:
    """One document of a segment, as `stored_items` gives all: from the forward index, so it costs by its own terms."""
    text, metadata = segment.docs.content(doc)
    item = Item(segment.docs.id(doc), text, {}, {}, metadata, 0)
    for name, field in fields.items():
        reader = None if field.lexical else segment.fields.get(name)
        if reader is None:
            continue
        for row, at in _rows(item, name, reader.passages, doc):
            places = reader.forward(at).tolist()
            ids = np.array([reader.term(place) for place in places], np.int32)
            row.terms[name] = (ids, np.array([reader.tf(place, at) for place in places]))
    _give_vectors(item, segment, _made_by(fields), doc)
    item.nbytes = waiting_nbytes(item)
    return item


def _made_by(fields: Mapping[str, Field]) -> dict[str, str]:
    """Names of vectors to the fields that make them."""
    return {field.stored_as(n): n for n, field in fields.items() if isinstance(field, VectorField)}


def _give_vectors(item: Item, segment: SegmentReader, made: Mapping[str, str], doc: int) -> None:
    for name in segment.dims:
        if (vectors := segment.vectors_of(name)) is None:
            continue
        for row, at in _rows(item, made.get(name, ""), vectors.passages, doc):
            if vectors.present(name)[at]:
                row.vectors[name] = vectors.rows(name, np.array([at]))[0]


def _rows(item: Item, field: str, passages: Passages | None, doc: int) -> Iterator[tuple[Item, int]]:
    """The rows of a field that belong to a document: the item itself, or what is to become its passages."""
    first, last = (doc, doc + 1) if passages is None else passages.first[doc : doc + 2].tolist()
    if passages is None or last - first == 1:
        yield item, first
        return
    for at in range(first, last):
        row = Item(item.id, None, {}, {}, {}, 0, span=(int(passages.starts[at]), int(passages.ends[at])))
        item.passages.setdefault(field, []).append(row)
        yield row, at


def folded(item: Item) -> Item:
    """A document for an engine that keeps documents whole: each term as strong as in the passage where it is
    strongest, and the mean of the passages' vectors."""
    for field, rows in item.passages.items():
        found = [row.terms[field] for row in rows if field in row.terms]
        if found:
            ids, weights = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
            order = np.lexsort((-weights.astype(np.float64), ids))
            kept = order[np.unique(ids[order], return_index=True)[1]]
            item.terms[field] = (ids[kept], weights[kept])
        for name in {name for row in rows for name in row.vectors}:
            item.vectors[name] = unit(np.mean([row.vectors[name] for row in rows if name in row.vectors], axis=0))
    item.passages = {}
    return item
