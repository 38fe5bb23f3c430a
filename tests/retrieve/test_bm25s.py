"""The BM25 variants against bm25s on random corpora.

Where the definitions differ, the test says how:
- `robertson`: bm25s leaves out the factor (k1 + 1) that the original formula has.
- `bm25l`, `bm25+`: bm25s also adds the lower bound of every query term that a document does *not* contain. The bound
  then no longer tells documents apart; here, as in the papers, only shared terms count.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from zipfian import BM25, SparseIndex

bm25s = pytest.importorskip("bm25s")

N_TERMS = 60


def corpus(seed: int, n_docs: int) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, N_TERMS + 1)
    return [rng.choice(N_TERMS, rng.integers(1, 40), p=share / share.sum()).tolist() for _ in range(n_docs)]


def index(docs: list[list[int]], scoring: BM25) -> SparseIndex:
    rows = [np.unique(doc, return_counts=True) for doc in docs]
    indptr = np.cumsum([0, *(len(terms) for terms, _ in rows)])
    return SparseIndex.from_csr(
        indptr, np.concatenate([t for t, _ in rows]), np.concatenate([c for _, c in rows]), N_TERMS, scoring=scoring
    )


def theirs(docs: list[list[int]], method: str, query: list[int], **settings: float) -> Any:
    model = bm25s.BM25(method=method, dtype="float64", **settings)
    model.index([[f"t{t}" for t in doc] for doc in docs], show_progress=False)
    known = [t for t in query if any(t in doc for doc in docs)]
    return model.get_scores([f"t{t}" for t in known])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (0.9, 0.4), (8.0, 0.0)])
@pytest.mark.parametrize(
    ("variant", "method", "factor"),
    [
        ("zipfian", "lucene", lambda k1: k1 + 1),
        ("lucene", "lucene", lambda k1: 1.0),
        ("robertson", "robertson", lambda k1: k1 + 1),
        ("atire", "atire", lambda k1: 1.0),
    ],
)
def test_equal_up_to_a_constant_factor(seed: int, k1: float, b: float, variant: Any, method: str, factor: Any) -> None:
    docs = corpus(seed, 80)
    rng = np.random.default_rng(seed + 100)
    ours = index(docs, BM25(k1=k1, b=b, variant=variant))
    for _ in range(4):
        query = rng.choice(N_TERMS, 6, replace=False).tolist()
        expected = theirs(docs, method, query, k1=k1, b=b) * factor(k1)
        np.testing.assert_allclose(ours.score(query, np.arange(80)), expected, rtol=1e-12, atol=1e-14)
        ids, scores = ours.search(query, k=80)
        np.testing.assert_allclose(scores, np.sort(expected)[::-1][: len(ids)], rtol=1e-12)
        assert np.count_nonzero(expected > 1e-14) == len(ids)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("variant", "delta"), [("bm25l", 0.5), ("bm25+", 1.0), ("bm25+", 0.3)])
def test_lower_bounds_count_for_shared_terms_only(seed: int, variant: Any, delta: float) -> None:
    docs = corpus(seed, 80)
    k1, b = 1.5, 0.75
    ours = index(docs, BM25(k1=k1, b=b, variant=variant, delta=delta))
    query = np.random.default_rng(seed).choice(N_TERMS, 6, replace=False).tolist()
    df = np.array([sum(t in doc for doc in docs) for t in query])
    absent = np.array([[t not in doc for t in query] for doc in docs])
    if variant == "bm25l":
        bound = np.log(81 / (df + 0.5)) * (k1 + 1) * delta / (k1 + delta)
    else:
        bound = np.log(81 / np.maximum(df, 1)) * delta
    expected = theirs(docs, variant, query, k1=k1, b=b, delta=delta) - absent @ np.where(df > 0, bound, 0.0)
    np.testing.assert_allclose(ours.score(query, np.arange(80)), expected, rtol=1e-10, atol=1e-12)
