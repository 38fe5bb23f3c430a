"""Late interaction: for every token of the query the best token of the document, summed (MaxSim)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import InvalidInput
from zipfian.fuse.ranking import F64, Ints, Ranking
from zipfian.rerank.result import assemble, check_candidates

Vectors = npt.NDArray[np.floating]
F32 = npt.NDArray[np.float32]


def maxsim(query: Vectors, documents: Sequence[Vectors], *, normalise: bool = True) -> tuple[F64, Ints]:
    """For each document and query token the largest similarity, and the document's token that has it.

    A document without tokens gets NaN and -1. `normalise`: tokens are scaled to length 1 first (cosines). Which token
    is best is decided in float32, how similar it is counted in float64; a document's numbers do not depend on the
    other documents.
    """
    q = rows(query, normalise)
    if not len(q):
        raise InvalidInput("the query has no tokens to compare")
    best = np.full((len(documents), len(q)), np.nan)
    where = np.full((len(documents), len(q)), -1, np.int64)
    for i, document in enumerate(documents):
        if not len(document):
            continue
        d = rows(document, normalise)
        if d.shape[1] != q.shape[1]:
            raise InvalidInput(f"query tokens have {q.shape[1]} dimensions, a document's {d.shape[1]}")
        where[i] = (q @ d.T).argmax(axis=1)
        best[i] = np.einsum("ij,ij->i", q, d[where[i]], dtype=np.float64)
    return best, where


def rerank_late(
    first: Ranking,
    query: Vectors,
    documents: Sequence[Vectors],
    *,
    normalise: bool = True,
    about: dict[str, Any] | None = None,
    field: str = "late",
) -> Ranking:
    """Order the first K = len(documents) candidates by MaxSim over token vectors.

    A candidate without tokens stays below, in its old order.

    Parameters
    ----------
    first
        The first stage's hits, best first.
    query
        Token vectors of the query, one in each row.
    documents
        Token vectors of each of the first K candidates.
    normalise
        Scale tokens to length 1 first, so that similarities are cosines.
    about
        What else to report with the ranking.
    field
        Whose share of the score is what the tokens gave.

    Returns
    -------
    Ranking
        One part per query token; `reranking.about["places"]` holds, by document number, the document's token that
        matched each.

    Raises
    ------
    InvalidInput
        Candidates out of order or named twice, a query without tokens, or vectors that do not fit each other.

    Examples
    --------
    >>> query = np.array([[1.0, 0.0]])
    >>> tokens = [np.array([[0.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])]
    >>> found = rerank_late(Ranking.of("words", np.array([4, 9]), np.array([3.0, 2.0])), query, tokens)
    >>> found.docs.tolist(), found.scores.tolist(), found.reranking.about["places"]
    ([9, 4], [1.0, 0.0], {4: [0], 9: [1]})
    """
    check_candidates(first, len(documents), "documents with tokens")
    best, where = maxsim(query, documents, normalise=normalise)
    names = tuple(f"token {i}" for i in range(best.shape[1]))
    places = {int(doc): where[i].tolist() for i, doc in enumerate(first.docs[: len(documents)])}
    known = {"rerank": "late", "K": len(documents), **(about or {}), "places": places}
    return assemble(first, best, np.ones_like(best), names, (field,) * len(names), known)


def rows(vectors: Vectors, normalise: bool = True) -> F32:
    """Token vectors ready to be compared: checked, in float32, of length 1 if wanted; a zero vector stays one."""
    found = np.asarray(vectors, np.float32)
    if found.ndim != 2:
        raise InvalidInput(f"token vectors are a matrix of tokens x dimensions, not of shape {found.shape}")
    # the sum of squares is not finite where any number is not: one pass tells both
    squares = np.einsum("ij,ij->i", found, found, dtype=np.float64)
    if not np.isfinite(squares).all():
        raise InvalidInput("token vectors hold NaN or infinite numbers")
    if not normalise or bool((np.abs(squares - 1.0) < 1e-6).all()):
        return found
    size = np.sqrt(squares, out=squares)
    return (found / np.where(size > 0.0, size, 1.0)[:, None]).astype(np.float32)
