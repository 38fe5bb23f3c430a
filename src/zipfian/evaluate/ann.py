"""Approximate baselines: a FAISS index over a collection's dense field, ranked by FAISS' own scores or refined.

`FaissIndex` refines its shortlist by exact cosine. The published baselines do not, so here the order is FAISS' own
unless `refine` is asked for.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from zipfian.errors import InvalidInput
from zipfian.fields.query import Query
from zipfian.retrieve.faiss_index import FAMILIES, FaissIndex

Key = tuple[str, ...]
_BUILT: weakref.WeakKeyDictionary[Any, dict[Key, tuple[Any, float]]] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class FoundHit:
    """As much of a hit as the lab needs."""

    id: str
    score: float


@dataclass(frozen=True)
class Found:
    """Hits, best first."""

    hits: tuple[FoundHit, ...]
    timings: Mapping[str, float]
    touched: tuple[float, float] | None
    """Postings read (0 for vectors) and share of the documents looked at; None where it is not known."""

    def __iter__(self) -> Iterator[FoundHit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)


class OwnSearch(Protocol):
    """A method that searches by itself, over a collection's vectors."""

    def __call__(self, collection: Any, query: Query, k: int) -> Found:
        """The k best documents."""
        ...

    def nbytes(self, collection: Any) -> int:
        """Of what it searches."""
        ...


def once(collection: Any, key: Key, make: Callable[[Any], Any]) -> tuple[Any, float]:
    """Something built from a snapshot, made once for each, and the seconds that took."""
    searcher = collection.searcher()
    known = _BUILT.setdefault(searcher, {})
    if key not in known:
        start = time.perf_counter()
        made = make(searcher)
        known[key] = made, time.perf_counter() - start
    return known[key]


@dataclass(frozen=True)
class AnnSearch:
    """A method's `run`: one FAISS family over one dense field."""

    family: str
    field: str = "dense"
    refine: bool = False

    def __call__(self, collection: Any, query: Query, k: int) -> Found:
        """The k best documents."""
        searcher = collection.searcher()
        index, _ = self.index(collection)
        start = time.perf_counter()
        vector = searcher.settings.vectors(self.field).vector_of(query)
        encoded = time.perf_counter()
        scanned: float | None = None

        def search(n: int, _: Any) -> tuple[Any, Any]:
            nonlocal scanned
            if self.refine:
                found = index.find(vector, n)
                scanned = found.scanned
                return found.docs, found.scores
            rows, scanned = index.propose(index.searcher.prepare(vector), min(n, index.n_vectors), None)
            return rows, -np.arange(len(rows), dtype=np.float64)

        passages = searcher.passages(self.field)
        docs, scores = search(k, None) if passages is None else passages.search(search, k, None)
        hits = tuple(FoundHit(*pair) for pair in zip(searcher.ids_of(docs), scores.tolist(), strict=True))
        timings = {"encode": encoded - start, "total": time.perf_counter() - start}
        return Found(hits, timings, None if scanned is None else (0.0, scanned / max(1, len(collection))))

    def index(self, collection: Any) -> tuple[FaissIndex, float]:
        """The index and the seconds it took to build."""
        if self.family not in FAMILIES:
            raise InvalidInput(f"unknown FAISS index {self.family!r}; one of {', '.join(FAMILIES)}")
        return once(
            collection, ("faiss", self.field, self.family), lambda v: FaissIndex.build(v.dense(self.field), self.family)
        )

    def nbytes(self, collection: Any) -> int:
        """Of the index as FAISS writes it."""
        return len(self.index(collection)[0].to_bytes())
