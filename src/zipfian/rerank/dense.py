"""Two-stage retrieval: sparse candidates, ordered by the cosine of their pooled vectors."""

from __future__ import annotations

import numpy as np

from zipfian.rerank.result import F64, Ints, Reranked, assemble, check_candidates


def rerank_dense(docs: Ints, coarse: F64, cosines: F64) -> Reranked:
    """Order the first K = len(cosines) candidates by cosine; one without a vector (NaN) stays below, in its old order.

    `docs` and `coarse` are the first stage's hits, best first. This replaces the first stage's opinion: right for
    pictures, where the pooled vector is the better judge, wrong for text with the default encoder, where it is the
    weakest leg; there, fuse.
    """
    check_candidates(docs, coarse, len(cosines), "cosines")
    signals = np.asarray(cosines, np.float64).reshape(-1, 1)
    return assemble(docs, coarse, signals, np.ones_like(signals), ("cosine",), {"rerank": "dense", "K": len(cosines)})
