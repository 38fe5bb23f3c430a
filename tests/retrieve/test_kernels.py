"""The small parts that searches are made of, each against a line of numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.retrieve import corpora
from zipfian import BM25, Dot
from zipfian.retrieve import kernels
from zipfian.retrieve.kernels import counts, heaps
from zipfian.retrieve.layout import CHUNK, LOG_STEP, WINDOW


@corpora.examples(50)
@given(sums=st.lists(st.integers(1, 65_535), max_size=300), k=st.integers(1, 40), other=st.integers(1, 40))
def test_counts_find_the_kth_best_to_within_a_step(sums: list[int], k: int, other: int) -> None:
    seen = counts.new_counts()
    for total in sums:
        step = total >> LOG_STEP
        seen[step] += 1
        if step >= seen[counts.AT]:
            seen[counts.ABOVE] += 1
            counts.raise_step(seen, k)

    def expected(n: int) -> int:
        return (sorted(sums)[-n] >> LOG_STEP) << LOG_STEP if len(sums) >= n else 0

    assert counts.raise_step(seen, k) == expected(k)
    assert counts.ask_for(seen, other) == expected(other)


@corpora.examples(50)
@given(scores=st.lists(st.sampled_from([0.5, 1.0, 1.5, 2.0, 7.25]), max_size=60), k=st.integers(1, 70))
def test_the_heap_keeps_the_best_and_breaks_ties_by_document(scores: list[float], k: int) -> None:
    kept, docs = np.empty(k), np.empty(k, np.int64)
    n = 0
    order = np.random.default_rng(len(scores)).permutation(len(scores))
    for d in order:
        n = heaps.offer(kept, docs, n, k, scores[d], int(d))
    out_docs, out_scores = np.empty(k, np.int64), np.empty(k)
    heaps.drain(kept, docs, n, out_docs, out_scores)
    expected = sorted((-s, d) for d, s in enumerate(scores))[:k]
    assert n == len(expected)
    assert [(-s, d) for s, d in zip(out_scores[:n], out_docs[:n], strict=True)] == expected


@pytest.mark.parametrize("share", [0.001, 0.1, 1.0])
@pytest.mark.parametrize("kind", corpora.KINDS)
@pytest.mark.parametrize("scoring", [BM25(), BM25(k1=0.0), Dot(phi="sqrt")])
def test_a_list_is_laid_out_as_described(share: float, kind: str, scoring: BM25 | Dot) -> None:
    """8-bit impacts bound the impacts from above, and the tables say where windows and chunks begin."""
    rng = np.random.default_rng(1)
    n_docs = 70_001
    n_windows = 3
    docs = np.sort(rng.choice(n_docs, round(share * n_docs), replace=False)).astype(np.int32)
    tf = corpora.weights(rng, kind, len(docs)).astype(np.float32)
    norm = rng.uniform(0.5, 2.0, n_docs)
    spec = scoring.kernel().array()
    loc, q = np.empty(len(docs), np.uint16), np.empty(len(docs), np.uint8)
    bounds = np.empty(n_windows + 1, np.int64)
    row = np.zeros(n_windows * WINDOW, np.uint8)
    peak = np.zeros(len(row) // CHUNK, np.uint8)
    rank = np.empty(len(row) // CHUNK, np.int32)
    top = kernels.fill_long(docs, tf, norm, spec, loc, q, bounds, 1000, row, peak, rank)

    x = tf.astype(np.float64)
    if isinstance(scoring, BM25):
        impact = (scoring.k1 + 1) * x / (x + norm[docs])
    else:
        impact = np.sqrt(x)
    assert top == impact.max()
    assert q.min() >= 1
    exact = impact / top * 255
    assert np.all(q >= exact - 1e-6)
    assert np.all(q <= exact + 1)
    assert np.array_equal(loc, docs % WINDOW)
    assert np.array_equal(bounds - 1000, np.searchsorted(docs, np.arange(n_windows + 1) * WINDOW))
    expected = np.zeros_like(row)
    expected[docs] = q
    assert np.array_equal(row, expected)
    assert np.array_equal(peak, expected.reshape(-1, CHUNK).max(axis=1))
    assert np.array_equal(rank, np.searchsorted(docs, np.arange(len(rank)) * CHUNK))
