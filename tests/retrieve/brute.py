"""The scoring formulas once more, in plain numpy over a whole column at a time: what every search is compared with.

Nothing here comes from the package but the settings' values. Products are formed and added in the documented order, so
the comparison may ask for equal bits wherever only + - * / sqrt are involved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian import BM25, Dot, TfIdf

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Corpus:
    """Columns of a random sparse matrix, and the same as CSR rows."""

    n_docs: int
    n_terms: int
    columns: tuple[tuple[npt.NDArray[np.int64], npt.NDArray[Any]], ...]

    def csr(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[Any]]:
        docs = np.concatenate([d for d, _ in self.columns])
        terms = np.concatenate([np.full(len(d), t, np.int32) for t, (d, _) in enumerate(self.columns)])
        weights = np.concatenate([w for _, w in self.columns])
        order = np.lexsort((terms, docs))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(docs, minlength=self.n_docs))]).astype(np.int64)
        return indptr, terms[order], weights[order]


def from_columns(n_docs: int, columns: list[tuple[Any, Any]], dtype: Any = np.float32) -> Corpus:
    """Each column: ascending documents, and their weights (a number stands for all)."""
    made = []
    for docs, weights in columns:
        d = np.asarray(docs, np.int64)
        made.append((d, np.broadcast_to(np.asarray(weights, dtype), d.shape).copy()))
    return Corpus(n_docs, len(made), tuple(made))


def _phi(x: F64, phi: str | float) -> F64:
    if phi == "identity":
        return x
    if phi == "sqrt":
        return np.sqrt(x)
    return np.power(x, float(str(phi).removeprefix("power:")))


def _lengths(corpus: Corpus, phi: str | float) -> F64:
    """L1 norms, each summed over ascending terms."""
    total = np.zeros(corpus.n_docs)
    for docs, weights in corpus.columns:
        total[docs] += _phi(weights.astype(np.float64), phi)
    return total


def _idf(scoring: BM25, df: int, n: int) -> float:
    if scoring.variant in ("zipfian", "lucene"):
        value = np.log1p((n - df + 0.5) / (df + 0.5))
    elif scoring.variant == "robertson":
        value = np.log((n - df + 0.5) / (df + 0.5))
    elif scoring.variant == "atire":
        value = np.log(n / df)
    elif scoring.variant == "bm25l":
        value = np.log((n + 1.0) / (df + 0.5))
    else:
        value = np.log((n + 1.0) / df)
    return max(float(value), 0.0)


def _bm25(scoring: BM25, x: F64, ratio: F64) -> F64:
    """The tf part; `ratio` is the document's length over the mean."""
    k1, b = scoring.k1, scoring.b
    k = 1.0 - b + b * ratio
    if scoring.variant == "lucene":
        return 1.0 * x / (x + k1 * k) + 0.0
    if scoring.variant == "bm25l":
        c = x / k + (0.5 if scoring.delta is None else scoring.delta)
        return (k1 + 1.0) * c / (k1 + c)
    extra = 0.0
    if scoring.variant == "bm25+":
        extra = 1.0 if scoring.delta is None else scoring.delta
    return (k1 + 1.0) * x / (x + k1 * k) + extra


def scores(corpus: Corpus, scoring: BM25 | Dot | TfIdf, terms: Any, weights: Any = None) -> F64:
    """The score of every document, terms added in ascending order."""
    terms = np.asarray(terms, np.int64)
    given = np.ones(len(terms)) if weights is None else _phi(np.asarray(weights, np.float64), scoring.phi)
    order = np.argsort(terms)
    n = corpus.n_docs
    total = np.zeros(n)
    if isinstance(scoring, TfIdf):
        return _cosine(corpus, scoring, terms, given)
    lengths = _lengths(corpus, scoring.phi)
    mean = float(lengths.mean()) if n else 0.0
    for j in order:
        docs, values = corpus.columns[terms[j]]
        if not len(docs):
            continue
        x = _phi(values.astype(np.float64), scoring.phi)
        if isinstance(scoring, Dot):
            total[docs] += given[j] * x
        else:
            total[docs] += given[j] * _idf(scoring, len(docs), n) * _bm25(scoring, x, lengths[docs] / mean)
    return total


def _cosine(corpus: Corpus, scoring: TfIdf, terms: npt.NDArray[np.int64], given: F64) -> F64:
    n = corpus.n_docs
    vectors = np.zeros((n, corpus.n_terms))
    query = np.zeros(corpus.n_terms)
    for t, (docs, values) in enumerate(corpus.columns):
        idf = max(np.log(n / (1.0 + len(docs))), 0.0)
        vectors[docs, t] = np.maximum(1.0 + np.log(_phi(values.astype(np.float64), scoring.phi)), 0.0) * idf
        where = np.flatnonzero(terms == t)
        if len(docs) and len(where):
            query[t] = max(1.0 + np.log(given[where[0]]), 0.0) * idf
    norms = np.linalg.norm(vectors, axis=1) * max(np.linalg.norm(query), 1e-300)
    return vectors @ query / np.where(norms > 0, norms, 1.0)


def best(every: F64, k: int, mask: Any = None) -> tuple[npt.NDArray[np.int64], F64]:
    """The k highest scores above 0, ties in document order."""
    allowed = every > 0.0
    if mask is not None:
        allowed &= mask
    docs = np.flatnonzero(allowed)
    docs = docs[np.lexsort((docs, -every[docs]))][:k]
    return docs, every[docs]
