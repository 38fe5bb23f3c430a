"""A field for documents that are in the collection already: computed segment by segment from what is stored."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from zipfian.collection.batch import vector_rows
from zipfian.collection.encoding import Encoding
from zipfian.collection.languages import FIRST, Languages
from zipfian.errors import InvalidInput
from zipfian.fields.base import Field, PostingField, VectorField
from zipfian.fields.item import Item, passages_of
from zipfian.index.segment import SegmentEntry, SegmentReader, write_field_for_segment, write_vectors_for_segment
from zipfian.storage.directory import Directory

_AT_ONCE = 256
"""Documents encoded together; their texts are in memory."""


def stored_languages(readers: Iterable[SegmentReader]) -> Languages:
    """What stored documents are in, as it would be known had some field asked while they were added."""
    known = Languages()
    items = (
        Item("", reader.docs.text(doc), {}, {}, {}, 0)
        for reader in readers
        for doc in np.flatnonzero(reader.live).tolist()
    )
    while some := list(itertools.islice(items, FIRST)):
        known = known.tell(some).counted(some)
    return known


@dataclass(slots=True)
class Adding:
    """One field on its way into a collection."""

    directory: Directory
    name: str
    field: Field
    encoding: Encoding
    given: Mapping[str, Item]
    """Ready-made terms by document."""
    languages: Languages
    """Of the collection, for fields that ask."""
    progress: Callable[[int], None] | None = None
    items: list[Item] = dataclasses.field(default_factory=list)
    """What was written, for counts of what quantising lost."""
    _done: int = 0

    def to_segment(self, reader: SegmentReader) -> SegmentEntry:
        """Write the field for one segment."""
        field = self.field
        if isinstance(field, PostingField):
            if not field.has_postings:
                return reader.entry  # it borrows postings that are there
            batch = field.batch(self.name, self._texts(reader) if field.lexical else self._items(reader))
            return write_field_for_segment(self.directory, reader, self.name, batch, field.write_spec)
        if not isinstance(field, VectorField):
            raise InvalidInput(f"a field of kind {field.kind} has neither postings nor vectors to write")
        vector, items = field.stored_as(self.name), self._items(reader)
        rows = vector_rows(vector, self.name, items)
        if rows is None:
            return reader.entry
        return write_vectors_for_segment(self.directory, reader, {vector: rows}, passages_of(items, self.name))

    def _texts(self, reader: SegmentReader) -> Iterator[Item]:
        """Every stored text, read one by one."""
        items = (Item("", reader.docs.text(doc), {}, {}, {}, 0) for doc in range(reader.n_docs))
        return (self._told(item) for item in items)

    def _told(self, item: Item) -> Item:
        if item.text and self.field.asks_language:
            item.language = self.languages.of_text(item.text)
        return item

    def _items(self, reader: SegmentReader) -> list[Item]:
        """Every document with its terms or vector."""
        items = list(self._encoded(reader)) if self.encoding else self._given(reader)
        self.items += [Item(i.id, None, {}, {}, {}, 0, i.clipped, i.zeroed) for i in items if i.clipped or i.zeroed]
        return items

    def _given(self, reader: SegmentReader) -> list[Item]:
        """A document without terms has an empty row."""
        nothing = Item("", None, {}, {}, {}, 0)
        return [self.given.get(reader.docs.id(d), nothing) for d in range(reader.n_docs)]

    def _encoded(self, reader: SegmentReader) -> Iterator[Item]:
        """Every document from its stored text or the picture it names; one that cannot be encoded is an error."""
        for start in range(0, reader.n_docs, _AT_ONCE):
            docs = range(start, min(reader.n_docs, start + _AT_ONCE))
            items = [self._told(self._stored(reader, doc)) for doc in docs]
            problems = self.encoding.fill(items)
            for i, problem in sorted(problems.items()):
                raise InvalidInput(
                    f"field {self.name!r} cannot be added: document {items[i].id!r}: {problem}. Replace it first"
                ) from problem
            self._done += len(items)
            if self.progress is not None:
                self.progress(self._done)
            for item in items:
                item.text, item.metadata = None, {}
            yield from items

    def _stored(self, reader: SegmentReader, doc: int) -> Item:
        if not reader.live[doc]:
            return Item("", None, {}, {}, {}, 0)
        metadata: dict[str, Any] = dict(reader.docs.metadata(doc))
        return Item(reader.docs.id(doc), reader.docs.text(doc), {}, {}, metadata, 0)
