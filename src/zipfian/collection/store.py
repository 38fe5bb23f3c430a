"""The write side of a collection: documents wait in memory, become segments, and are published by a commit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from zipfian.collection.adding import Adding, stored_languages
from zipfian.collection.batch import make_batch
from zipfian.collection.encoding import Encoding, Problem
from zipfian.collection.items import check_id, check_item, given_id, terms_item
from zipfian.collection.settings import Settings
from zipfian.collection.stored import stored_item
from zipfian.collection.transforms import finder, keep
from zipfian.collection.updating import changed_inputs, changes, not_there, updated
from zipfian.encode.cache import EncodingCache
from zipfian.errors import InvalidInput, LimitExceeded, shown
from zipfian.fields.base import Field
from zipfian.fields.item import Item
from zipfian.index.commit import Writer
from zipfian.index.docstore import hashes_of
from zipfian.index.manifest import Manifest
from zipfian.index.merge import merge_segments
from zipfian.index.metadata import ColumnType, check_metadata
from zipfian.index.segment import (
    SegmentEntry,
    SegmentReader,
    delete_documents,
    write_segment,
)
from zipfian.retrieve.filters import parse_where
from zipfian.storage.directory import Directory

Existing = Literal["error", "skip", "replace"]

Skipped = Callable[[str, Problem], None]
"""Told the id of a document that could not be encoded, and why."""

_LOOKUP = 512
"""Documents whose ids are looked up together."""

_MANY_SEGMENTS = 12
_MERGE_AT_ONCE = 8
"""Where there are more than 12 segments, the 8 neighbours that are smallest together are merged."""


class Store:
    """What a writer holds between commits. Not for concurrent use: the collection serialises its calls."""

    def __init__(
        self, directory: Directory, writer: Writer, settings: Settings, memory_bytes: int,
        encodings: EncodingCache | None = None, known: Iterable[SegmentReader] = (),
    ) -> None:  # fmt: skip
        """`known`: segments that are open already."""
        self.directory = directory
        self.writer = writer
        self.settings = settings
        self.readers: dict[str, SegmentReader] = {one.id: one for one in known}
        """All segments, those of the next commit included, by id."""
        self.memory_bytes = memory_bytes
        self._encodings = encodings
        self._encoding: Encoding | None = None
        self._making = threading.Lock()
        self._load()

    def _load(self) -> None:
        """Start from what the writer's last commit holds."""
        self._items: dict[str, Item] = {}
        self._nbytes = 0
        self._gone: dict[str, set[int]] = {}
        known = self.readers
        self.readers = {e.id: SegmentReader(self.directory, e, known.get(e.id)) for e in self.writer.entries}
        self._dims: dict[str, int] = {}
        for reader in self.readers.values():
            self._dims.update(reader.dims)

    def put(
        self, items: Iterable[Any], existing: Existing, progress: Callable[[int], None] | None,
        skipped: Skipped | None = None,
    ) -> int:  # fmt: skip
        """Take documents in; returns how many. Those before a bad one are kept, and the error names it.

        With `skipped`, a document that cannot be taken is handed there instead, and the others go on.
        """
        _check_existing(existing)
        if isinstance(items, Mapping):
            raise InvalidInput("add takes an iterable of documents; put a single document into a list")
        if not isinstance(items, Iterable):
            raise InvalidInput(f"add takes an iterable of documents, not {type(items).__name__}")
        taken = 0
        chunk = _Chunk(self.settings.columns, self._dims)
        try:
            for raw in items:
                try:
                    chunk.add(raw, self.settings)
                except (InvalidInput, LimitExceeded) as problem:
                    if skipped is None or (doc_id := given_id(raw)) is None:
                        raise
                    skipped(doc_id, problem)
                    continue
                if len(chunk.items) >= _LOOKUP or self._nbytes + chunk.nbytes > self.memory_bytes:
                    full, chunk = chunk, _Chunk({}, {})
                    taken += self._keep(full.items, existing, skipped, columns=full.columns)
                    chunk = _Chunk(self.settings.columns, self._dims)
                    if progress:
                        progress(taken)
        finally:
            taken += self._keep(chunk.items, existing, skipped, columns=chunk.columns)
        if progress:
            progress(taken)
        return taken

    def put_stored(self, items: Iterable[Item], existing: Existing, progress: Callable[[int], None] | None) -> int:
        """Take documents that another collection with the same fields has checked and encoded already."""
        _check_existing(existing)
        taken, chunk, nbytes = 0, list[Item](), 0
        dims = dict(self._dims)
        for item in items:
            for name, vector in item.vectors.items():
                if dims.setdefault(name, len(vector)) != len(vector):
                    raise InvalidInput(
                        f"document {item.id!r}: vector {name!r} has {len(vector)} numbers where others have "
                        f"{dims[name]}"
                    )
            chunk.append(item)
            nbytes += item.nbytes
            if len(chunk) >= _LOOKUP or self._nbytes + nbytes > self.memory_bytes:
                taken += self._keep(chunk, existing, None, encoded=True)
                chunk, nbytes = [], 0
                if progress:
                    progress(taken)
        taken += self._keep(chunk, existing, None, encoded=True)
        if progress:
            progress(taken)
        return taken

    def update(self, items: Iterable[Any], progress: Callable[[int], None] | None) -> int:
        """Change parts of documents that are there; returns how many. Those before a bad one are changed."""
        taken, chunk = 0, dict[str, tuple[Item, frozenset[str]]]()
        try:
            for raw in changes(items):
                if raw["id"] in chunk or len(chunk) >= _LOOKUP:
                    full, chunk = chunk, {}
                    taken += self._change(full)
                    if progress:
                        progress(taken)
                chunk[raw["id"]] = self._updated(raw)
        finally:
            taken += self._change(chunk)
        if progress:
            progress(taken)
        return taken

    def _updated(self, raw: Mapping[str, Any]) -> tuple[Item, frozenset[str]]:
        """A document as it will be, and what of it fields have to read again."""
        new, _ = check_item(raw, self.settings, self.settings.columns, self._dims)
        old = self._items.get(new.id)
        if old is None:
            (place,) = self._locate([new.id])
            if place is None:
                raise not_there(new.id)
            old = stored_item(self.readers[place[0]], self.settings.fields, place[1])
        changed = changed_inputs(raw)
        return updated(old, new, changed, self.settings.fields), changed

    def _change(self, chunk: Mapping[str, tuple[Item, frozenset[str]]]) -> int:
        """Encode what has changed, and take the documents in the place of those that were there."""
        self.settings = self.settings.tell([item for item, _ in chunk.values()])
        problems: dict[str, Problem] = {}
        for source in ("text", "image"):
            again = [item for item, changed in chunk.values() if source in changed]
            read = {name: field for name, field in self.settings.fields.items() if field.reads == source}
            if again and read:
                found = Encoding(read, self._encodings).fill(again)
                problems |= {again[i].id: problem for i, problem in found.items()}
        taken = 0
        for (item, _), place in zip(chunk.values(), self._locate(list(chunk)), strict=True):
            if item.id in problems:
                raise _named(problems[item.id], item)
            self._take(item, place)
            taken += 1
        if self._nbytes > self.memory_bytes:
            self.flush()
        return taken

    def _keep(
        self, items: Sequence[Item], existing: Existing, skipped: Skipped | None, encoded: bool = False,
        columns: Mapping[str, ColumnType] | None = None,
    ) -> int:  # fmt: skip
        """Encode and take the documents that may be taken; the first that may not is an error after those before it.

        `columns` are the types with all of them: where these are the collection's own, none adds anything.
        """
        known = columns is self.settings.columns
        wanted: list[tuple[Item, tuple[str, int] | None]] = []
        seen: set[str] = set()
        refused: Problem | None = None
        for item, place in zip(items, self._locate([i.id for i in items]), strict=True):
            if existing != "replace" and (place is not None or item.id in self._items or item.id in seen):
                if existing == "skip":
                    continue
                refused = InvalidInput(
                    f"document {item.id!r} is in the collection already: use upsert, or existing='skip' or 'replace'"
                )
                break
            seen.add(item.id)
            wanted.append((item, place))
        self.settings = self.settings.tell([item for item, _ in wanted])
        problems = {} if encoded or not self.encoding else self.encoding.fill([item for item, _ in wanted])
        taken = 0
        for i, (item, place) in enumerate(wanted):
            if i in problems:
                if skipped is None:
                    refused = _named(problems[i], item)
                    break
                skipped(item.id, problems[i])
                continue
            self._take(item, place, known)
            taken += 1
        if self._nbytes > self.memory_bytes:
            self.flush()
        if refused is not None:
            raise refused
        return taken

    @property
    def encoding(self) -> Encoding:
        """The encoders of the fields; those who have them read ahead ask for it on other threads."""
        with self._making:
            if self._encoding is None:
                self._encoding = Encoding(self.settings.fields, self._encodings)
            return self._encoding

    def _take(self, item: Item, place: tuple[str, int] | None, known: bool = False) -> None:
        """Have a document wait for the next segment; `known`: its columns are the collection's already."""
        waiting = self._items.get(item.id)
        if waiting is not None:
            self._nbytes -= waiting.nbytes
            del self._items[item.id]  # so that it moves to the end: order is that of the last upsert
        elif place is not None:
            self._gone.setdefault(place[0], set()).add(place[1])
        if not known:  # only now is it certain that it is taken: what it adds to the collection's types counts
            _, columns = check_metadata(item.metadata, self.settings.columns)
            if columns is not self.settings.columns:
                self.settings = self.settings.with_columns(columns)
        rows = [item, *(parts[0] for parts in item.passages.values())]
        self._dims.update((name, len(vector)) for row in rows for name, vector in row.vectors.items())
        item.image = None  # encoded by now
        self._items[item.id] = item
        self._nbytes += item.nbytes

    def delete(self, ids: Iterable[Any]) -> int:
        """Remove documents; returns how many were there."""
        if isinstance(ids, str) or not isinstance(ids, Iterable):
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

    def delete_where(self, where: Mapping[str, Any]) -> int:
        """Remove the documents that a filter allows, those since the last commit included; returns how many."""
        condition = parse_where(where, self.settings.columns)
        self.flush()  # filters read columns, which waiting documents have only in a segment
        removed = 0
        for seg_id, reader in self.readers.items():
            gone = self._gone.get(seg_id, set())
            found = set(np.flatnonzero(condition.mask(reader)).tolist()) - gone
            if found:
                self._gone[seg_id] = gone | found
            removed += len(found)
        return removed

    def _locate(self, ids: list[str]) -> list[tuple[str, int] | None]:
        """Segment and document of each id among those written and not deleted."""
        out: list[tuple[str, int] | None] = [None] * len(ids)
        if not ids:
            return out
        wanted = hashes_of(ids)
        for seg_id, reader in self.readers.items():
            gone = self._gone.get(seg_id, ())
            docs = reader.docs.find_many(ids, wanted)
            for i in np.flatnonzero(docs >= 0).tolist():
                doc = int(docs[i])
                if doc not in gone and reader.live[doc]:
                    out[i] = (seg_id, doc)
        return out

    def flush(self) -> None:
        """Write the waiting documents as a segment; it is published by the next commit."""
        if not self._items:
            return
        items = list(self._items.values())
        batch = make_batch(items, self.settings)
        specs = {name: field.write_spec for name, field in self.settings.posting_fields.items()}
        entry = write_segment(self.directory, self.writer.new_segment_id(), batch, specs, self.settings.columns)
        reader = self._open(entry)
        self.writer.add_segment(entry)
        self.readers[entry.id] = reader
        self._count_lost(items)
        self.settings = self.settings.with_languages(self.settings.languages.counted(items))
        self._items, self._nbytes = {}, 0
        if len(self.readers) > _MANY_SEGMENTS:  # also between commits: every file of a segment is open
            self._apply_deletes()
            self._merge_many()

    def _open(self, entry: SegmentEntry, before: SegmentReader | None = None) -> SegmentReader:
        """Open what was just written, before anything else changes; if that fails its new files go again."""
        try:
            return SegmentReader(self.directory, entry, before)
        except BaseException:
            self.writer.discard(entry)
            raise

    def _count_lost(self, items: Sequence[Item]) -> None:
        """What quantisation clipped or rounded to zero is counted in the manifest."""
        for name in ("clipped", "zeroed"):
            lost = sum(getattr(i, name) for i in items)
            if lost:
                self.writer.counters[name] = self.writer.counters.get(name, 0) + lost

    def _apply_deletes(self) -> None:
        for seg_id in list(self._gone):
            reader = self.readers[seg_id]
            entry = delete_documents(self.directory, reader, np.array(sorted(self._gone[seg_id]), np.int64))
            if entry is not reader.entry:
                reader = self._open(entry, reader)
                self.writer.update(entry)
                self.readers[seg_id] = reader
            del self._gone[seg_id]
            if reader.n_live == 0:
                self.writer.replace([entry], None)
                del self.readers[seg_id]

    def commit(self, user: Mapping[str, Any] | None) -> int:
        """Publish everything; on an error nothing is lost and the call may be repeated."""
        if user is not None:
            if not isinstance(user, Mapping):
                raise InvalidInput(f"user data of a commit must be a mapping, not {type(user).__name__}")
            Manifest(1, user=dict(user)).encode()  # an error now, not one that every later commit meets again
        self.flush()
        self._apply_deletes()
        self._merge_many()
        self.writer.settings = self.settings.to_json()
        return self.writer.commit(user)

    def merge(self, max_segments: int) -> None:
        """Join neighbours until at most so many segments are left; deleted documents leave the files."""
        if isinstance(max_segments, bool) or not isinstance(max_segments, int) or max_segments < 1:
            raise InvalidInput(f"max_segments must be a whole number from 1, not {shown(max_segments)}")
        self.flush()
        self._apply_deletes()
        order = list(self.readers)
        if len(order) > max_segments:
            self._merge(order[max_segments - 1 :])
        for seg_id in [s for s, r in self.readers.items() if r.n_live < r.n_docs]:
            self._merge([seg_id])

    def _merge_many(self) -> None:
        while len(self.readers) > _MANY_SEGMENTS:
            self._merge(self._smallest_neighbours())

    def _smallest_neighbours(self) -> list[str]:
        order = list(self.readers)
        sizes = np.array([self.readers[s].n_live for s in order])
        totals = np.convolve(sizes, np.ones(_MERGE_AT_ONCE, np.int64), "valid")
        at = int(np.argmin(totals))
        return order[at : at + _MERGE_AT_ONCE]

    def _merge(self, seg_ids: Sequence[str]) -> None:
        """Replace neighbours, each with live documents, by one segment."""
        readers = [self.readers[s] for s in seg_ids]
        new = merge_segments(self.directory, self.writer.new_segment_id(), readers)
        merged = self._open(new)
        self.writer.replace([r.entry for r in readers], new)
        kept: dict[str, SegmentReader] = {}
        for seg_id, reader in self.readers.items():
            if seg_id not in seg_ids:
                kept[seg_id] = reader
            elif seg_id == seg_ids[0]:
                kept[new.id] = merged
        self.readers = kept

    def add_field(
        self, name: str, field: Field, terms: Mapping[str, Any] | None, progress: Callable[[int], None] | None = None
    ) -> None:
        """Give every segment one more field, all or none of them; published by the next commit."""
        settings = self.settings.with_field(name, field)
        if (field.takes == "terms") != (terms is not None):
            raise InvalidInput("a sparse field needs terms={id: Terms}; other fields read what is stored and take none")
        if terms is not None and not isinstance(terms, Mapping):
            raise InvalidInput(f"terms must be a mapping id -> Terms, not {type(terms).__name__}")
        given = {check_id(i): terms_item(i, name, t, settings) for i, t in (terms or {}).items()}
        self.flush()
        self._apply_deletes()
        first_to_ask = settings.ask_languages and not self.settings.ask_languages
        languages = stored_languages(self.readers.values()) if first_to_ask else self.settings.languages
        settings = settings.with_languages(languages)
        missing = [i for i, place in zip(given, self._locate(list(given)), strict=True) if place is None]
        if missing:
            raise InvalidInput(f"terms for document {missing[0]!r}, which is not in the collection")
        keep(self.directory, {name: field})
        encoding = Encoding({name: field}, self._encodings, self.settings.trust)
        adding = Adding(self.directory, name, field, encoding, given, settings.languages, progress)
        done: dict[str, SegmentReader] = {}
        try:
            for seg_id, reader in self.readers.items():
                done[seg_id] = self._open(adding.to_segment(reader), reader)
        except BaseException:
            for reader in done.values():
                self.writer.discard(reader.entry)
            raise
        for reader in done.values():
            self.writer.update(reader.entry)
            self._dims.update(reader.dims)
        self.readers = done
        self._count_lost(adding.items)
        self.settings = settings
        self._encoding = None

    def rollback(self) -> None:
        """Forget everything since the last commit."""
        self.writer.rollback()
        known = Settings.from_json(self.writer.settings, str(self.directory), self.settings.trust)
        self.settings = known.finding(finder(self.directory))
        self._encoding = None
        self._load()


def _check_existing(existing: Any) -> None:
    if not isinstance(existing, str) or existing not in ("error", "skip", "replace"):
        raise InvalidInput(f"existing must be 'error', 'skip' or 'replace', not {shown(existing)}")


def _named(problem: Problem, item: Item) -> Problem:
    """The same kind of error, saying which document it was."""
    if isinstance(problem, InvalidInput | LimitExceeded):
        return type(problem)(f"document {item.id!r}: {problem}")
    problem.add_note(f"document {item.id!r}")
    return problem


class _Chunk:
    """Checked documents whose ids are about to be looked up, and the types they would add if they are all taken."""

    def __init__(self, columns: Mapping[str, ColumnType], dims: Mapping[str, int]) -> None:
        self.items: list[Item] = []
        self.nbytes = 0
        self.columns = columns
        """The collection's own until a document adds to them."""
        self._dims = dict(dims)

    def add(self, raw: Any, settings: Settings) -> None:
        item, self.columns = check_item(raw, settings, self.columns, self._dims)
        self._dims.update((name, len(vector)) for name, vector in item.vectors.items())
        self.items.append(item)
        self.nbytes += item.nbytes
