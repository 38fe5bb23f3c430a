"""Two-stage retrieval: sparse candidates, ordered by the cosine of their pooled vectors."""

from __future__ import annotations

import numpy as np

from zipfian.fuse.ranking import F64, Ranking
from zipfian.rerank.result import assemble, check_candidates


def rerank_dense(first: Ranking, cosines: F64, field: str = "dense") -> Ranking:
    """Order the first K = len(cosines) candidates by cosine; one without a vector (NaN) stays below, in its old order.

    This replaces the first stage's opinion: right for pictures, where the pooled vector is the better judge, wrong for
    text with the default encoder, where it is the weakest field; there, fuse.

    Parameters
    ----------
    first
        The first stage's hits, best first.
    cosines
        Of the query and each of the first K candidates.
    field
        The field whose vectors were compared.

    Returns
    -------
    Ranking
        All candidates, the refined ones first.

    Raises
    ------
    InvalidInput
        Candidates out of order or named twice, or more cosines than candidates.

    Examples
    --------
    >>> first = Ranking.of("words", np.array([4, 9, 2]), np.array([3.0, 2.0, 1.0]))
    >>> found = rerank_dense(first, np.array([0.1, 0.8]))
    >>> found.docs.tolist(), found.scores.tolist(), found.reranking.old_ranks.tolist()
    ([9, 4, 2], [0.8, 0.1, 1.0], [2, 1, 3])
    """
    check_candidates(first, len(cosines), "cosines")
    signals = np.asarray(cosines, np.float64).reshape(-1, 1)
    about = {"rerank": "dense", "K": len(cosines)}
    return assemble(first, signals, np.ones_like(signals), ("cosine",), (field,), about)
