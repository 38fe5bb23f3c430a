"""Surrogate text as a method: the scalar terms of a collection's pooled vectors in an index of their own."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.evaluate.ann import Found, FoundHit, once
from zipfian.fields.query import Query
from zipfian.retrieve.scoring import Dot
from zipfian.retrieve.sparse_index import SparseIndex
from zipfian.vocabulary.scalar import ScalarVocabulary


@dataclass(frozen=True, eq=False)
class Surrogate:
    """The index and what it was made with."""

    vocabulary: ScalarVocabulary
    index: SparseIndex
    docs: npt.NDArray[np.int64]
    """Numbers of the documents in the index: those that have a vector."""
    term_docs: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
    """Postings by term (starts, documents), to count what a query touches."""
    nbytes: int


@dataclass(frozen=True)
class ScalarSearch:
    """A method's `run`: dot product over surrogate terms of one dense field, fitted on the collection itself."""

    field: str = "dense"

    def __call__(self, collection: Any, query: Query, k: int) -> Found:
        """The k best documents."""
        searcher = collection.searcher()
        made: Surrogate = once(collection, ("scalar", self.field), self._make)[0]
        start = time.perf_counter()
        vector = searcher.settings.vectors(self.field).vector_of(query)
        encoded = time.perf_counter()
        terms = made.vocabulary.query_terms(vector)

        def search(n: int, _: Any) -> tuple[Any, Any]:
            rows, scores = made.index.search(terms.ids, terms.weights, n)
            return made.docs[rows], scores

        passages = searcher.passages(self.field)
        docs, scores = search(k, None) if passages is None else passages.search(search, k, None)
        hits = tuple(FoundHit(*pair) for pair in zip(searcher.ids_of(docs), scores.tolist(), strict=True))
        timings = {"encode": encoded - start, "total": time.perf_counter() - start}
        return Found(hits, timings, _touched(made, terms.ids))

    def nbytes(self, collection: Any) -> int:
        """Two bytes of frequency and four of document number a posting: a plain inverted file."""
        return int(once(collection, ("scalar", self.field), self._make)[0].nbytes)

    def _make(self, searcher: Any) -> Surrogate:
        searcher = searcher.dense(self.field)
        docs = np.flatnonzero(searcher.present)
        vectors = searcher.vectors(docs)
        vocabulary = ScalarVocabulary.fit([vectors], source=self.field)
        rows = vocabulary.terms_many(vectors)
        indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        ids = np.concatenate([np.empty(0, np.int32), *(row.ids for row in rows)])
        weights = np.concatenate([np.empty(0, np.float32), *(row.weights for row in rows)])
        index = SparseIndex.from_csr(indptr, ids, weights, vocabulary.n_terms, Dot())
        owner = np.repeat(np.arange(len(rows)), np.diff(indptr))[np.argsort(ids, kind="stable")]
        starts = np.concatenate([[0], np.cumsum(np.bincount(ids, minlength=vocabulary.n_terms))])
        return Surrogate(vocabulary, index, docs, (starts, owner), 6 * len(ids))


def _touched(made: Surrogate, terms: npt.NDArray[np.int32]) -> tuple[float, float]:
    starts, owner = made.term_docs
    seen = np.zeros(len(made.docs), np.bool_)
    postings = 0
    for term in terms.tolist():
        part = owner[starts[term] : starts[term + 1]]
        seen[part] = True
        postings += len(part)
    return float(postings), float(seen.mean()) if len(seen) else 0.0
