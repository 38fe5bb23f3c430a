"""The write side of a collection: documents wait in memory, become segments, and are published by a commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from zipfian.collection.batch import leg_batch, make_batch, words_batch
from zipfian.collection.items import Item, check_id, check_item, check_terms
from zipfian.collection.settings import Leg, Settings
from zipfian.errors import InvalidInput
from zipfian.index.commit import Writer
from zipfian.index.directory import Directory
from zipfian.index.merge import merge_segments
from zipfian.index.segment import SegmentReader, delete_documents, write_leg_for_segment, write_segment
from zipfian.vocabulary import Words

Existing = Literal["error", "skip", "replace"]

_LOOKUP = 512
"""Documents whose ids are looked up together."""

_MANY_SEGMENTS = 12
_MERGE_AT_ONCE = 8
"""A commit that would leave more than 12 segments merges the 8 neighbours that are smallest together."""


class Store:
    """What a writer holds between commits. Not for concurrent use: the collection serialises its calls."""

    def __init__(self, directory: Directory, writer: Writer, settings: Settings, memory_bytes: int) -> None:
        self.directory = directory
        self.writer = writer
        self.settings = settings
        self.memory_bytes = memory_bytes
        self._analysers: dict[str, Words] = {}
        self._load()

    def _load(self) -> None:
        """Start from what the writer's last commit holds."""
        self._items: dict[str, Item] = {}
        self._nbytes = 0
        self._gone: dict[str, set[int]] = {}
        self._readers = {e.id: SegmentReader(self.directory, e) for e in self.writer.entries}
        self._dims: dict[str, int] = {}
        for reader in self._readers.values():
            if reader.vectors is not None:
                self._dims.update(reader.vectors.dims)

    def put(self, items: Iterable[Any], existing: Existing, progress: Callable[[int], None] | None) -> int:
        """Take documents in; returns how many. Those before a bad one are kept, and the error names it."""
        if existing not in ("error", "skip", "replace"):
            raise InvalidInput(f"existing must be 'error', 'skip' or 'replace', not {existing!r}")
        if isinstance(items, Mapping):
            raise InvalidInput("add takes an iterable of documents; put a single document into a list")
        taken = 0
        chunk: list[Item] = []
        try:
            for raw in items:
                item, fields = check_item(raw, self.settings, self.settings.fields, self._dims)
                if fields is not self.settings.fields:
                    self.settings = self.settings.with_fields(fields)
                chunk.append(item)
                if len(chunk) >= _LOOKUP or self._nbytes + sum(i.nbytes for i in chunk) > self.memory_bytes:
                    full, chunk = chunk, []
                    taken += self._keep(full, existing)
                    if progress:
                        progress(taken)
        finally:
            taken += self._keep(chunk, existing)
        if progress:
            progress(taken)
        return taken

    def _keep(self, items: Sequence[Item], existing: Existing) -> int:
        places = self._locate([i.id for i in items])
        taken = 0
        for item, place in zip(items, places, strict=True):
            waiting = self._items.get(item.id)
            if (place is not None or waiting is not None) and existing != "replace":
                if existing == "skip":
                    continue
                raise InvalidInput(
                    f"document {item.id!r} is in the collection already: use upsert, or existing='skip' or 'replace'"
                )
            if waiting is not None:
                self._nbytes -= waiting.nbytes
                del self._items[item.id]  # so that it moves to the end: order is that of the last upsert
            elif place is not None:
                self._gone.setdefault(place[0], set()).add(place[1])
            self._items[item.id] = item
            self._nbytes += item.nbytes
            taken += 1
        if self._nbytes > self.memory_bytes:
            self.flush()
        return taken

    def delete(self, ids: Iterable[Any]) -> int:
        """Remove documents; returns how many were there."""
        if isinstance(ids, str):
            raise InvalidInput("delete takes an iterable of ids; put a single id into a list")
        wanted = list(dict.fromkeys(check_id(i) for i in ids))
        removed = 0
        for doc_id, place in zip(wanted, self._locate(wanted), strict=True):
            waiting = self._items.pop(doc_id, None)
            if waiting is not None:
                self._nbytes -= waiting.nbytes
            if place is not None:
                self._gone.setdefault(place[0], set()).add(place[1])
            removed += waiting is not None or place is not None
        return removed

    def _locate(self, ids: list[str]) -> list[tuple[str, int] | None]:
        """Segment and document of each id among those written and not deleted."""
        out: list[tuple[str, int] | None] = [None] * len(ids)
        if not ids:
            return out
        for seg_id, reader in self._readers.items():
            gone = self._gone.get(seg_id, ())
            for i, doc in enumerate(reader.docs.find_many(ids).tolist()):
                if doc >= 0 and doc not in gone and reader.live[doc]:
                    out[i] = (seg_id, doc)
        return out

    def flush(self) -> None:
        """Write the waiting documents as a segment; it is published by the next commit."""
        if not self._items:
            return
        items = list(self._items.values())
        batch = make_batch(items, self.settings, self._analysers)
        specs = {name: leg.write_spec for name, leg in self.settings.legs.items()}
        entry = write_segment(self.directory, self.writer.new_segment_id(), batch, specs, self.settings.fields)
        reader = SegmentReader(self.directory, entry)
        self.writer.add_segment(entry)
        self._readers[entry.id] = reader
        for name in ("clipped", "zeroed"):
            lost = sum(getattr(i, name) for i in items)
            if lost:
                self.writer.counters[name] = self.writer.counters.get(name, 0) + lost
        self._items, self._nbytes = {}, 0

    def _apply_deletes(self) -> None:
        for seg_id in list(self._gone):
            reader = self._readers[seg_id]
            entry = delete_documents(self.directory, reader, np.array(sorted(self._gone[seg_id]), np.int64))
            if entry is not reader.entry:
                self.writer.update(entry)
                self._readers[seg_id] = SegmentReader(self.directory, entry)
            del self._gone[seg_id]
            if self._readers[seg_id].n_live == 0:
                self.writer.replace([entry], None)
                del self._readers[seg_id]

    def commit(self, user: Mapping[str, Any] | None) -> int:
        """Publish everything; on an error nothing is lost and the call may be repeated."""
        self.flush()
        self._apply_deletes()
        while len(self._readers) > _MANY_SEGMENTS:
            self._merge(self._smallest_neighbours())
        self.writer.settings = self.settings.to_json()
        return self.writer.commit(user)

    def merge(self, max_segments: int) -> None:
        """Join neighbours until at most so many segments are left; deleted documents leave the files."""
        if isinstance(max_segments, bool) or not isinstance(max_segments, int) or max_segments < 1:
            raise InvalidInput(f"max_segments must be a whole number from 1, not {max_segments!r}")
        self.flush()
        self._apply_deletes()
        order = list(self._readers)
        if len(order) <= max_segments:
            dirty = [s for s in order if self._readers[s].n_live < self._readers[s].n_docs]
            for seg_id in dirty:
                self._merge([seg_id])
            return
        self._merge(order[max_segments - 1 :])

    def _smallest_neighbours(self) -> list[str]:
        order = list(self._readers)
        sizes = np.array([self._readers[s].n_live for s in order])
        totals = np.convolve(sizes, np.ones(_MERGE_AT_ONCE, np.int64), "valid")
        at = int(np.argmin(totals))
        return order[at : at + _MERGE_AT_ONCE]

    def _merge(self, seg_ids: Sequence[str]) -> None:
        readers = [self._readers[s] for s in seg_ids]
        old = [r.entry for r in readers]
        if sum(r.n_live for r in readers) == 0:
            self.writer.replace(old, None)
            new = None
        else:
            new = merge_segments(self.directory, self.writer.new_segment_id(), readers)
            self.writer.replace(old, new)
        kept: dict[str, SegmentReader] = {}
        for seg_id, reader in self._readers.items():
            if seg_id not in seg_ids:
                kept[seg_id] = reader
            elif seg_id == seg_ids[0] and new is not None:
                kept[new.id] = SegmentReader(self.directory, new)
        self._readers = kept

    def add_leg(self, name: str, leg: Leg, terms: Mapping[str, Any] | None) -> None:
        """Give every segment one more posting set; published by the next commit."""
        settings = self.settings.with_leg(name, leg)
        if (leg.kind == "terms") != (terms is not None):
            raise InvalidInput("a terms leg needs terms={id: Terms}; a words leg reads the stored texts and takes none")
        known = {i: check_terms(t, leg.n_terms) for i, t in terms.items()} if terms is not None else {}
        self.flush()
        self._apply_deletes()
        for seg_id, reader in list(self._readers.items()):
            if leg.kind == "words":
                texts = [reader.docs.text(d) or "" for d in range(reader.n_docs)]
                batch = words_batch(leg.vocabulary, leg, texts)
            else:
                rows = [known.get(reader.docs.id(d)) for d in range(reader.n_docs)]
                probe = Settings({name: leg})
                items = [
                    check_item({"id": "row", "terms": {} if row is None else {name: row}}, probe, {}, {})[0]
                    for row in rows
                ]
                batch = leg_batch(name, leg, items, {})
            entry = write_leg_for_segment(self.directory, reader, name, batch, leg.write_spec)
            self.writer.update(entry)
            self._readers[seg_id] = SegmentReader(self.directory, entry)
        self.settings = settings

    def rollback(self, settings: Settings) -> None:
        """Forget everything since the last commit."""
        self.writer.rollback()
        self.settings = settings
        self._load()

    @property
    def waiting(self) -> int:
        """Documents not yet in a segment."""
        return len(self._items)
