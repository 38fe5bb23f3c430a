"""The read side of a collection: one snapshot, its searchers, and the way from document numbers to documents."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.collection.settings import Settings
from zipfian.errors import InvalidInput
from zipfian.index.segment import SegmentReader
from zipfian.index.snapshot import Snapshot
from zipfian.retrieve.filters import parse_where
from zipfian.retrieve.searcher import LegSearcher

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class View:
    """An immutable snapshot, shared by all results that came from it."""

    def __init__(self, snapshot: Snapshot, settings: Settings, cache_bytes: int) -> None:
        self.snapshot = snapshot
        self.settings = settings
        self._cache_bytes = cache_bytes
        self._searchers: dict[str, LegSearcher] = {}
        self._lock = threading.Lock()
        sizes = [s.n_docs for s in snapshot.segments]
        self.bases = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def __len__(self) -> int:
        return sum(s.n_live for s in self.snapshot.segments)

    @property
    def generation(self) -> int:
        return self.snapshot.generation

    def searcher(self, name: str) -> LegSearcher:
        """The searcher of a leg, made on first use."""
        leg = self.settings.leg(name)
        with self._lock:
            if name not in self._searchers:
                self._searchers[name] = LegSearcher(
                    name, self.snapshot.segments, leg.scoring, leg.pruning, self._cache_bytes
                )
            return self._searchers[name]

    def mask(self, where: Mapping[str, Any] | None) -> Mask | None:
        """Documents a filter allows, over all segments; None: no filter."""
        if where is None:
            return None
        condition = parse_where(where, self.settings.fields)
        parts = [condition.mask(s) for s in self.snapshot.segments]
        return np.concatenate([np.empty(0, np.bool_), *parts])

    def find(self, doc_id: str) -> int:
        """The number of a live document, -1 when there is none."""
        for base, segment in zip(self.bases.tolist(), self.snapshot.segments, strict=False):
            doc = segment.find(doc_id)
            if doc >= 0:
                return int(base + doc)
        return -1

    def number(self, doc_id: str) -> int:
        """The number of a document that must be there."""
        found = self.find(doc_id)
        if found < 0:
            raise InvalidInput(f"there is no document {doc_id!r} in generation {self.generation}")
        return found

    def place(self, number: int) -> tuple[SegmentReader, int]:
        """Segment and number within it."""
        at = int(np.searchsorted(self.bases, number, side="right")) - 1
        return self.snapshot.segments[at], int(number - self.bases[at])

    def ids(self) -> Iterator[str]:
        """All live ids in document order."""
        for segment in self.snapshot.segments:
            for doc in np.flatnonzero(segment.live).tolist():
                yield segment.docs.id(doc)

    def vector(self, number: int, name: str = "default") -> npt.NDArray[np.float32] | None:
        """The pooled vector of a document, None if it has none."""
        segment, doc = self.place(number)
        if segment.vectors is None or name not in segment.vectors.dims or not segment.vectors.present(name)[doc]:
            return None
        return segment.vectors.rows(name, np.array([doc]))[0]
