"""Exact search over pooled vectors: cosine or dot product, all documents scanned in 4 bits, the best scored in float64.

Every row is kept as codes of 8 bits, in two planes of 4 (`kernels.codes`). The scan reads the upper plane, an eighth
of the bytes of float32, and has from it a number that the document's score cannot exceed. A document that seems to be
among the best is compared in 8 bits at once, which also say what its score reaches at least: the k-th best of these
numbers is the floor. Others that may reach it are compared in 8 bits at the end. What is left then is scored from the
float32 rows, highest bound first, until no bound reaches the k-th best score found. What is returned is therefore
right, not likely: how much had to be looked at closer depends on the data, the result does not.

Scores are float64 products of the stored float32 numbers, added in one fixed order: the same bits whatever the
segments, the filter or k.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from zipfian.encode.session import checked_threads
from zipfian.errors import InvalidInput
from zipfian.index.passages import flags_of
from zipfian.index.segment import SegmentReader
from zipfian.retrieve.codes import F64, Codes, DenseQuery, Matrix, Metric, codes_of, scan_kernels
from zipfian.retrieve.passages import PassageMap
from zipfian.retrieve.scan import Candidates, scan
from zipfian.retrieve.together import TOGETHER, Expected
from zipfian.retrieve.validate import check_k, numbers
from zipfian.types import Passages

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

_FIRST_BATCH = 64
"""Documents scored from float32 before the bound is first looked at; later batches double."""


@dataclass(frozen=True, slots=True)
class DenseFound:
    """The k best documents, and what finding them took."""

    docs: Ints
    scores: F64
    scanned: int
    """Documents that the filter and presence allowed."""
    rescored: int
    """Documents scored from float32 until the bound proved the result right."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The vectors of one segment: float32 rows, usually a view on a mapped file, and which of them may be found."""

    values: Matrix | None
    """(documents, dim); None where the segment has no vectors of this name."""
    present: Bools
    """Documents that are live and have a vector."""
    key: Hashable | None = None
    """Names the content: searchers of several snapshots share the codes of a segment they have in common."""

    def __len__(self) -> int:
        return len(self.present)


class DenseSearcher:
    """The pooled vectors of one snapshot. Immutable for its users; any number of threads may search at once.

    Codes are made at the first search (about a second for 100,000 x 384) and shared between snapshots, segment by
    segment. A large scan is split over `threads` (None: over the processors there are).
    """

    def __init__(self, name: str, parts: Sequence[Rows], metric: Metric = "cosine", threads: int | None = None) -> None:
        if metric not in ("cosine", "dot"):
            raise InvalidInput(f"the metric of vectors is 'cosine' or 'dot', not {metric!r}")
        dims = {part.values.shape[1] for part in parts if part.values is not None}
        if len(dims) > 1:
            raise InvalidInput(f"vectors {name!r} have several dimensions: {sorted(dims)}")
        for part in parts:
            if part.values is not None and len(part.values) != len(part.present):
                raise InvalidInput(f"{len(part.values)} vectors {name!r} for {len(part.present)} documents")
        self.name = name
        self.metric = metric
        self.dim = dims.pop() if dims else 0
        self.n_docs = sum(len(part) for part in parts)
        self.threads = checked_threads(threads)
        self._parts = tuple(parts)
        self._bases = np.concatenate([[0], np.cumsum([len(part) for part in parts], dtype=np.int64)]).astype(np.int64)
        self._present = np.concatenate([np.empty(0, np.bool_), *(part.present for part in parts)])
        self._lock = threading.Lock()
        self._codes: tuple[Codes | None, ...] | None = None
        self._expected: tuple[Expected[DenseFound], ...] = ()
        self.passages: PassageMap | None = None
        """Which passages the documents have, where it is those that have vectors; None: it is documents."""

    @classmethod
    def from_segments(
        cls,
        name: str,
        segments: Sequence[SegmentReader],
        vector: str = "default",
        metric: Metric = "cosine",
        threads: int | None = None,
    ) -> DenseSearcher:
        """Over the vectors `vector` of a snapshot's segments; documents are numbered through all segments.

        Where they are vectors of passages, passages are what is numbered and found.
        """
        parts: list[Rows] = []
        passages: list[tuple[Passages | None, int]] = []
        for segment in segments:
            reader = segment.vectors_of(vector)
            passages.append((None, segment.n_docs))
            if reader is None:
                parts.append(Rows(None, np.zeros(segment.n_docs, np.bool_)))
                continue
            passages[-1] = (reader.passages, segment.n_docs)
            live = flags_of(reader.passages, segment.live)
            parts.append(Rows(reader.array(vector), live & reader.present(vector), (reader.file.ref, vector)))
        made = cls(name, parts, metric, threads)
        made.passages = PassageMap.over(passages)
        return made

    @classmethod
    def from_array(
        cls, vectors: npt.ArrayLike, present: Bools | None = None, metric: Metric = "cosine", name: str = "dense"
    ) -> DenseSearcher:
        """Over one matrix in memory; without `present`, rows of NaN are documents without a vector."""
        given = numbers(vectors, "vectors")
        if given.ndim != 2:
            raise InvalidInput(f"vectors are a matrix of documents x dimensions, not of shape {given.shape}")
        with np.errstate(over="ignore"):  # too large for 32 bits becomes infinite, and is refused below
            rows = given.astype(np.float32, copy=False)
        here = np.asarray(~np.isnan(rows).all(axis=1) if present is None else present, np.bool_)
        if not here.all():
            rows = np.where(here[:, None], rows, np.float32(0.0))
        if not np.isfinite(rows).all():
            raise InvalidInput("vectors hold NaN or infinite numbers, or some too large for 32 bits")
        return cls(name, [Rows(rows, here)], metric)

    @property
    def present(self) -> Bools:
        """Documents that are live and have a vector."""
        return self._present

    @property
    def n_vectors(self) -> int:
        """Documents that can be found."""
        return int(np.count_nonzero(self._present))

    @property
    def nbytes(self) -> int:
        """Bytes of the codes held now."""
        return sum(c.nbytes for c in self._codes or () if c is not None)

    def prepare(self, vector: npt.ArrayLike | DenseQuery) -> DenseQuery:
        """Check a query vector and make it ready; a `DenseQuery` passes through."""
        if isinstance(vector, DenseQuery):
            return vector
        q = np.array(numbers(vector, f"the query vector for {self.name!r}"), np.float64)
        if q.ndim != 1 or not len(q) or len(q) != (self.dim or len(q)):
            raise InvalidInput(f"a query for {self.name!r} is a vector of {self.dim} numbers, not of shape {q.shape}")
        if not np.isfinite(q).all():
            raise InvalidInput(f"the query vector for {self.name!r} holds NaN or infinite numbers")
        # Brought near 1 by a power of two, which changes no digit: the squares of very large numbers do not fit.
        power = int(np.frexp(np.abs(q).max())[1])
        q = np.ldexp(q, -power)
        size = float(np.sqrt(np.sum(q * q)))
        if not size:
            raise InvalidInput(f"the query vector for {self.name!r} is all zeros: it has no direction to search")
        if self.metric == "cosine":
            q, size = q / size, 1.0
        else:
            q, size = np.ldexp(q, power), float(np.ldexp(size, power))
            if not 1e-30 < size < 1e30:
                raise InvalidInput(
                    f"the query vector for {self.name!r} has length {size:g}; dot products take 1e-30 to 1e30"
                )
        return DenseQuery.of(q, size)

    def search(self, query: npt.ArrayLike | DenseQuery, k: int, mask: Bools | None = None) -> tuple[Ints, F64]:
        """The k best documents with a vector, best first, equal scores in document order; `mask` as elsewhere."""
        found = self.find(query, k, mask)
        return found.docs, found.scores

    def find(self, query: npt.ArrayLike | DenseQuery, k: int, mask: Bools | None = None) -> DenseFound:
        """As `search`, with counts."""
        ready = self.prepare(query)
        for expected in self._expected if mask is None else ():
            found = expected.find(ready, check_k(k), self.find_many)
            if found is not None:
                return found
        return self.find_many([ready], k, mask)[0]

    @contextmanager
    def expecting(self, queries: Sequence[npt.ArrayLike | DenseQuery]) -> Iterator[None]:
        """While this lasts, some queries will be asked without a mask, by any thread: they share their scans."""
        expected = Expected[DenseFound]([self.prepare(query) for query in queries])
        with self._lock:
            self._expected = (*self._expected, expected)
        try:
            yield
        finally:
            with self._lock:
                self._expected = tuple(one for one in self._expected if one is not expected)

    def find_many(
        self, queries: Sequence[npt.ArrayLike | DenseQuery], k: int, mask: Bools | None = None
    ) -> list[DenseFound]:
        """As `find` for each of several queries, which share the reading of the codes."""
        ready = [self.prepare(query) for query in queries]
        allowed = self.allowed(mask)
        n_allowed = int(np.count_nonzero(allowed))
        limit = min(check_k(k), n_allowed)
        if not limit:
            return [DenseFound(np.empty(0, np.int64), np.empty(0, np.float64), n_allowed, 0) for _ in ready]
        parts = [(c, base) for c, base in zip(self._ready(), self._bases.tolist(), strict=False) if c is not None]
        out: list[DenseFound] = []
        for start in range(0, len(ready), TOGETHER):
            some = ready[start : start + TOGETHER]
            candidates = scan(parts, some, allowed, limit, self.threads)
            out += [self._best(q, found, limit, n_allowed) for q, found in zip(some, candidates, strict=True)]
        return out

    def _best(self, query: DenseQuery, found: Candidates, limit: int, n_allowed: int) -> DenseFound:
        """Candidates scored from float32, highest bound first, until none that is left can be among the k best."""
        kernels = scan_kernels()

        heap, heap_docs, n = np.empty(limit, np.float64), np.empty(limit, np.int64), 0
        at, size = 0, max(_FIRST_BATCH, limit)
        while at < len(found.docs) and (n < limit or found.high[at] >= heap[0]):
            batch = np.sort(found.docs[at : at + size])  # ascending: rows are read forwards
            n = kernels.keep_best(self._exact(query, batch), batch, heap, heap_docs, n, limit)
            at, size = at + len(batch), size * 2
        docs, scores = np.empty(n, np.int64), np.empty(n, np.float64)
        kernels.empty_heap(heap, heap_docs, n, docs, scores)
        return DenseFound(docs, scores, n_allowed, at)

    def score(self, query: npt.ArrayLike | DenseQuery, docs: Ints) -> F64:
        """Exact scores of given documents; NaN where a document is deleted or has no vector."""
        ready = self.prepare(query)
        out = np.full(len(docs), np.nan, np.float64)
        numbers = np.asarray(docs, np.int64)
        if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < self.n_docs:
            raise InvalidInput(f"document numbers run from 0 to {self.n_docs - 1}")
        there = np.flatnonzero(self._present[numbers])
        if len(there):
            out[there] = self._exact(ready, numbers[there])
        return out

    def vectors(self, docs: Ints) -> Matrix:
        """The stored float32 rows of documents; NaN where there is none."""
        out = np.full((len(docs), self.dim), np.nan, np.float32)
        there = np.flatnonzero(self._present[docs])
        out[there] = self._gather(np.asarray(docs, np.int64)[there])[0]
        return out

    def n_allowed(self, mask: Bools | None = None) -> int:
        """Documents with a vector that a filter allows."""
        return int(np.count_nonzero(self.allowed(mask)))

    def allowed(self, mask: Bools | None = None) -> Bools:
        """Documents that can be found under a filter."""
        if mask is None:
            return self._present
        if mask.shape != (self.n_docs,):
            raise InvalidInput(f"a mask has one flag for each of {self.n_docs} documents, not shape {mask.shape}")
        both: Bools = self._present & mask
        return both

    def _exact(self, query: DenseQuery, docs: Ints) -> F64:
        rows, inverse = self._gather(docs)
        out = np.empty(len(docs), np.float64)
        scan_kernels().dots(rows, inverse, query.vector, out)
        return out

    def _gather(self, docs: Ints) -> tuple[Matrix, F64]:
        """Rows of present documents, and the factor of each that makes a product the score."""
        rows, inverse = np.empty((len(docs), self.dim), np.float32), np.ones(len(docs), np.float64)
        place = np.searchsorted(self._bases, docs, side="right") - 1
        for i, codes in enumerate(self._ready()):
            here = np.flatnonzero(place == i) if len(self._parts) > 1 else np.arange(len(docs))
            values = self._parts[i].values
            if len(here) and codes is not None and values is not None:
                local = docs[here] - self._bases[i]
                rows[here], inverse[here] = values[local], codes.inverse[local]
        return rows, inverse

    def _ready(self) -> tuple[Codes | None, ...]:
        with self._lock:
            if self._codes is None:
                self._codes = tuple(codes_of(part.values, part.key, self.metric) for part in self._parts)
            return self._codes
