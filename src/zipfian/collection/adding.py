"""A field for documents that are in the collection already: computed segment by segment from what is stored."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from zipfian.collection.batch import field_batch, words_batch
from zipfian.collection.encoding import Encoding
from zipfian.collection.fields import Field
from zipfian.collection.items import Item
from zipfian.errors import InvalidInput
from zipfian.index.segment import SegmentEntry, SegmentReader, write_field_for_segment, write_vectors_for_segment
from zipfian.storage.directory import Directory

_AT_ONCE = 256
"""Documents encoded together; their texts are in memory."""


@dataclass(slots=True)
class Adding:
    """One field on its way into a collection."""

    directory: Directory
    name: str
    field: Field
    encoding: Encoding
    given: Mapping[str, Item]
    """Ready-made terms by document."""
    progress: Callable[[int], None] | None = None
    items: list[Item] = dataclasses.field(default_factory=list)
    """What was written, for counts of what quantising lost."""
    _done: int = 0

    def to_segment(self, reader: SegmentReader) -> SegmentEntry:
        """Write the field for one segment."""
        if self.field.kind == "words":
            batch = words_batch(self.field, (reader.docs.text(d) or "" for d in range(reader.n_docs)))
            return write_field_for_segment(self.directory, reader, self.name, batch, self.field.write_spec)
        if self.field.of is not None:
            return reader.entry  # it borrows postings that are there
        items = list(self._encoded(reader)) if self.encoding else self._given(reader)
        self.items += [Item(i.id, None, {}, {}, {}, 0, i.clipped, i.zeroed) for i in items if i.clipped or i.zeroed]
        if self.field.has_postings:
            batch = field_batch(self.name, self.field, items)
            return write_field_for_segment(self.directory, reader, self.name, batch, self.field.write_spec)
        vector = self.field.vector or self.name
        found = [i.vectors.get(vector) for i in items]
        dim = next((len(v) for v in found if v is not None), None)
        if dim is None:
            return reader.entry
        rows = np.full((len(items), dim), np.nan, np.float32)
        for i, v in enumerate(found):
            if v is not None:
                rows[i] = v
        return write_vectors_for_segment(self.directory, reader, {vector: rows})

    def _given(self, reader: SegmentReader) -> list[Item]:
        """A document without terms has an empty row."""
        nothing = Item("", None, {}, {}, {}, 0)
        return [self.given.get(reader.docs.id(d), nothing) for d in range(reader.n_docs)]

    def _encoded(self, reader: SegmentReader) -> Iterator[Item]:
        """Every document from its stored text or the picture it names; one that cannot be encoded is an error."""
        for start in range(0, reader.n_docs, _AT_ONCE):
            docs = range(start, min(reader.n_docs, start + _AT_ONCE))
            items = [self._stored(reader, doc) for doc in docs]
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
