"""Late interaction: for every token of the query the best token of the document, summed (MaxSim)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from zipfian.errors import InvalidInput
from zipfian.rerank.result import F64, Ints, Reranked, assemble, check_candidates

Vectors = npt.NDArray[np.floating]


def maxsim(query: Vectors, documents: Sequence[Vectors], *, normalise: bool = True) -> tuple[F64, Ints]:
    """For each document and query token the largest similarity, and the document's token that has it.

    A document without tokens gets NaN and -1. `normalise`: tokens are scaled to length 1 first (cosines).
    """
    q = _rows(query, normalise)
    if not len(q):
        raise InvalidInput("the query has no tokens to compare")
    best = np.full((len(documents), len(q)), np.nan)
    where = np.full((len(documents), len(q)), -1, np.int64)
    for i, document in enumerate(documents):
        if not len(document):
            continue
        d = _rows(document, normalise)
        if d.shape[1] != q.shape[1]:
            raise InvalidInput(f"query tokens have {q.shape[1]} dimensions, a document's {d.shape[1]}")
        similarity = q @ d.T
        where[i] = similarity.argmax(axis=1)
        best[i] = similarity[np.arange(len(q)), where[i]]
    return best, where


def rerank_late(
    docs: Ints, coarse: F64, query: Vectors, documents: Sequence[Vectors], *, normalise: bool = True
) -> Reranked:
    """Order the first K = len(documents) candidates by MaxSim over token vectors.

    One part per query token; `about["places"]` holds, by document number, the document's token that matched each.
    """
    check_candidates(docs, coarse, len(documents), "documents with tokens")
    best, where = maxsim(query, documents, normalise=normalise)
    names = tuple(f"token {i}" for i in range(best.shape[1]))
    places = {int(doc): where[i].tolist() for i, doc in enumerate(docs[: len(documents)])}
    about = {"rerank": "late", "K": len(documents), "places": places}
    return assemble(docs, coarse, best, np.ones_like(best), names, about)


def _rows(vectors: Vectors, normalise: bool) -> F64:
    rows = np.asarray(vectors, np.float64)
    if rows.ndim != 2:
        raise InvalidInput(f"token vectors are a matrix of tokens x dimensions, not of shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise InvalidInput("token vectors hold NaN or infinite numbers")
    if not normalise:
        return rows
    size = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return rows / np.where(size > 0.0, size, 1.0)
