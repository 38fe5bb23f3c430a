"""Two-stage retrieval: sparse candidates, ordered by the cosine of their pooled vectors."""

from __future__ import annotations

import numpy as np

from zipfian.rerank.result import F64, Ints, Reranked, assemble, check_candidates


def rerank_dense(docs: Ints, coarse: F64, cosines: F64) -> Reranked:
    """Order the first K = len(cosines) candidates by cosine; one without a vector (NaN) stays below, in its old order.

    This replaces the first stage's opinion: right for pictures, where the pooled vector is the better judge, wrong for
    text with the default encoder, where it is the weakest field; there, fuse.

    Parameters
    ----------
    docs, coarse
        The first stage's hits, best first, and their scores.
    cosines
        Of the query and each of the first K candidates.

    Returns
    -------
    Reranked
        All candidates, the refined ones first.

    Raises
    ------
    InvalidInput
        Candidates out of order or named twice, or more cosines than candidates.

    Examples
    --------
    >>> found = rerank_dense(np.array([4, 9, 2]), np.array([3.0, 2.0, 1.0]), np.array([0.1, 0.8]))
    >>> found.docs.tolist(), found.old_ranks.tolist()
    ([9, 4, 2], [2, 1, 3])
    """
    check_candidates(docs, coarse, len(cosines), "cosines")
    signals = np.asarray(cosines, np.float64).reshape(-1, 1)
    return assemble(docs, coarse, signals, np.ones_like(signals), ("cosine",), {"rerank": "dense", "K": len(cosines)})
