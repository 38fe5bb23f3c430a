"""The read side of a collection: one snapshot, its searchers, and the way from document numbers to documents."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.collection.items import check_id
from zipfian.collection.results import Document
from zipfian.collection.settings import Settings
from zipfian.errors import InvalidInput, shown
from zipfian.fields.base import VectorField
from zipfian.fields.reader import unit
from zipfian.index.docstore import hashes_of
from zipfian.index.passages import rows_of
from zipfian.index.segment import SegmentReader
from zipfian.index.snapshot import Snapshot
from zipfian.retrieve.dense import DenseSearcher
from zipfian.retrieve.faiss_index import FaissIndex
from zipfian.retrieve.filters import parse_where
from zipfian.retrieve.passages import PassageMap
from zipfian.retrieve.searcher import FieldSearcher

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_IDS_AT_ONCE = 4_096


class Searcher:
    """An immutable snapshot, shared by all results that came from it."""

    def __init__(self, snapshot: Snapshot, settings: Settings, cache_bytes: int | None) -> None:
        self.snapshot = snapshot
        self.generation = snapshot.generation
        self.settings = settings
        self._cache_bytes = cache_bytes
        self._searchers: dict[str, FieldSearcher] = {}
        self._dense: dict[str, DenseSearcher] = {}
        self._faiss: dict[tuple[str, str], FaissIndex] = {}
        self._lock = threading.Lock()
        sizes = [s.n_docs for s in snapshot.segments]
        self.bases = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def __len__(self) -> int:
        return sum(s.n_live for s in self.snapshot.segments)

    def field_searcher(self, name: str) -> FieldSearcher:
        """The searcher of a field, made on first use."""
        found = self._searchers.get(name)
        if found is None:
            field = self.settings.postings(name)
            made = FieldSearcher(name, self.snapshot.segments, field.scoring, field.pruning, self._cache_bytes)
            with self._lock:
                found = self._searchers.setdefault(name, made)
        return found

    def dense(self, name: str) -> DenseSearcher:
        """The searcher of a dense field, made on first use."""
        stored = self.settings.vectors(name).stored_as(name)
        with self._lock:
            if name not in self._dense:
                self._dense[name] = DenseSearcher.from_segments(name, self.snapshot.segments, stored)
            return self._dense[name]

    def passages(self, name: str) -> PassageMap | None:
        """Which passages the documents have in a field; None where its rows are documents."""
        vectors = isinstance(self.settings.field(name), VectorField)
        return self.dense(name).passages if vectors else self.field_searcher(name).passages

    def approximate(self, name: str, family: str) -> FaissIndex:
        """A FAISS index over a dense field, built on first use and kept as long as the snapshot."""
        searcher = self.dense(name)
        with self._lock:
            if (name, family) not in self._faiss:
                self._faiss[name, family] = FaissIndex.build(searcher, family)
            return self._faiss[name, family]

    @property
    def mean_words(self) -> float | None:
        """Words of a document on average; None where no field counts them."""
        name = next((n for n, field in self.settings.fields.items() if field.lexical), None)
        if name is None:
            return None
        statistics = self.field_searcher(name).statistics()
        return statistics.mean_length * statistics.unit

    def mask(self, where: Mapping[str, Any] | None) -> Mask | None:
        """Documents a filter allows, over all segments; None: no filter."""
        if where is None:
            return None
        condition = parse_where(where, self.settings.columns)
        parts = [condition.mask(s) for s in self.snapshot.segments]
        return np.concatenate([np.empty(0, np.bool_), *parts])

    def count(self, mask: Mask | None) -> int:
        """Live documents that a filter allows."""
        if mask is None:
            return len(self)
        return int(np.count_nonzero(self.live & mask))

    @property
    def live(self) -> Mask:
        """Which documents are not deleted, over all segments."""
        return np.concatenate([np.empty(0, np.bool_), *(s.live for s in self.snapshot.segments)])

    def find(self, ids: Sequence[str]) -> Ints:
        """The numbers of live documents, -1 where there is none."""
        out = np.full(len(ids), -1, np.int64)
        wanted = hashes_of(ids)
        for base, segment in zip(self.bases.tolist(), self.snapshot.segments, strict=False):
            docs = segment.docs.find_many(ids, wanted)
            there = np.flatnonzero(docs >= 0)
            there = there[segment.live[docs[there]]]
            out[there] = base + docs[there]
        return out

    def numbers(self, ids: Iterable[str]) -> Ints:
        """The numbers of documents that must be there."""
        if not isinstance(ids, Iterable):
            raise InvalidInput(f"documents are named by a sequence of ids, not {shown(ids)}")
        wanted = [check_id(i) for i in ids]
        found = self.find(wanted)
        if len(found) and int(found.min()) < 0:
            missing = wanted[int(np.argmin(found))]
            raise InvalidInput(f"there is no document {missing!r} in generation {self.generation}")
        return found

    def number(self, doc_id: str) -> int:
        """The number of a document that must be there."""
        return int(self.numbers([doc_id])[0])

    def place(self, number: int) -> tuple[SegmentReader, int]:
        """Segment and number within it."""
        at = int(np.searchsorted(self.bases, number, side="right")) - 1
        return self.snapshot.segments[at], int(number - self.bases[at])

    def ids_of(self, numbers: Ints) -> list[str]:
        """The ids of some documents."""
        if len(self.snapshot.segments) == 1:
            return self.snapshot.segments[0].docs.ids_of(numbers)
        places: dict[int, list[int]] = {}  # of each segment; hits are few, and numpy's calls would cost more
        for i, segment in enumerate((self.bases.searchsorted(numbers, side="right") - 1).tolist()):
            places.setdefault(segment, []).append(i)
        out = [""] * len(numbers)
        for segment, here in places.items():
            found = self.snapshot.segments[segment].docs.ids_of(numbers[here] - self.bases[segment])
            for i, doc_id in zip(here, found, strict=True):
                out[i] = doc_id
        return out

    def ids(self) -> Iterator[str]:
        """All live ids in document order."""
        for segment in self.snapshot.segments:
            live = np.flatnonzero(segment.live)
            for start in range(0, len(live), _IDS_AT_ONCE):
                yield from segment.docs.ids_of(live[start : start + _IDS_AT_ONCE])

    def documents(self, mask: Mask | None) -> Iterator[Document]:
        """The live documents that a filter allows, in document order, read one by one."""
        for base, segment in zip(self.bases.tolist(), self.snapshot.segments, strict=False):
            wanted = segment.live if mask is None else segment.live & mask[base : base + segment.n_docs]
            for doc in np.flatnonzero(wanted).tolist():
                yield Document(segment.docs.id(doc), *segment.docs.content(doc))

    def document(self, number: int) -> Document:
        """The stored columns of a document."""
        segment, doc = self.place(number)
        return Document(segment.docs.id(doc), *segment.docs.content(doc))

    def vector(self, number: int, name: str = "default") -> npt.NDArray[np.float32] | None:
        """The pooled vector of a document, None if it has none; of a long text the mean of those of its passages."""
        segment, doc = self.place(number)
        vectors = segment.vectors_of(name)
        if vectors is None:
            return None
        rows = rows_of(vectors.passages, np.array([doc]))
        found = vectors.rows(name, rows[vectors.present(name)[rows]])
        if len(found) <= 1:
            return found[0] if len(found) else None
        return unit(found.mean(axis=0))
