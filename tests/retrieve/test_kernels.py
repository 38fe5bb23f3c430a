"""The small parts that searches are made of, each against a line of numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.retrieve import corpora
from zipfian import BM25, Dot, SparseIndex
from zipfian.retrieve import kernels
from zipfian.retrieve.kernels import counts, heaps, lookup
from zipfian.retrieve.layout import CHUNK, LOG_STEP, LOG_WINDOW, SPAN, WINDOW


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


@corpora.examples(200)
@given(data=st.data(), n=st.sampled_from([0, 1, 2, SPAN - 1, SPAN, SPAN + 1, 300, 5_000]), lo=st.sampled_from([0, 70]))
def test_places_are_found_wherever_they_crowd(data: st.DataObject, n: int, lo: int) -> None:
    """The same as a binary search, for places spread evenly and for those at one end of the window."""
    size = data.draw(st.sampled_from([n + 1, WINDOW // 4, WINDOW]).filter(lambda size: size >= n))
    room = data.draw(st.sampled_from([n + 1, size]).filter(lambda room: n <= room <= size))
    first = data.draw(st.sampled_from([0, size - room]))
    rng = np.random.default_rng(n)
    places = (first + np.sort(rng.choice(room, n, replace=False))).astype(np.uint16)
    after = rng.integers(0, WINDOW, SPAN).astype(np.uint16)  # of another list, or of none
    loc = np.concatenate([rng.integers(0, WINDOW, lo).astype(np.uint16), places, after])
    known = places.tolist() + [p + 1 for p in places[:50].tolist()]
    for x in [0, size - 1, data.draw(st.integers(0, size - 1)), *data.draw(st.permutations(known))[:20]]:
        place = min(x, size - 1)
        found = lookup.find(loc, lo, lo + n, place, lookup.stretch_of_last(size))
        assert found == lo + np.searchsorted(places, place)


@pytest.mark.parametrize("n", [1, 254, 255, 256, 700])
@pytest.mark.parametrize("shares", [[0.0001, 0.001], [0.01, 0.05, 0.04], [0.3, 0.0002, 0.9, 0.02]])
def test_candidates_score_as_documents_do(n: int, shares: list[float]) -> None:
    """Groups of candidates, windows in any order: the scores of the look-up one by one, to the last bit."""
    rng = np.random.default_rng(n)
    n_docs = 3 * WINDOW + 77
    kinds = ["lognormal" if n % 2 else "counts"] * len(shares)
    layout = SparseIndex.from_csr(*(corpus := corpora.make(rng, n_docs, shares, kinds)).csr(), corpus.n_terms)._layout
    docs = np.sort(rng.choice(n_docs, n, replace=False)).astype(np.int64)
    docs = np.concatenate([docs[docs >> LOG_WINDOW == w] for w in (2, 0, 3, 1)])
    slots, weight = np.arange(len(shares)), rng.uniform(0.5, 3.0, len(shares))
    asked = layout.postings, layout.norm, layout.spec, slots, weight, docs
    assert kernels.score_candidates(*asked).tolist() == kernels.score_docs(*asked).tolist()


@pytest.mark.parametrize("share", [0.001, 0.1, 1.0])
@pytest.mark.parametrize("kind", corpora.KINDS)
@pytest.mark.parametrize("scoring", [BM25(), BM25(k1=0.0), Dot(phi="sqrt")])
def test_a_list_is_laid_out_as_described(share: float, kind: str, scoring: BM25 | Dot) -> None:
    """8-bit impacts bound the impacts from above, and the tables say where windows and chunks begin."""
    rng = np.random.default_rng(1)
    n_docs = 70_001
    n_windows = 3
    docs = np.sort(rng.choice(n_docs, round(share * n_docs), replace=False)).astype(np.int32)
    tf = corpora.weights(rng, kind, len(docs)).astype(np.float32).astype(np.float64)
    norm = rng.uniform(0.5, 2.0, n_docs)
    spec = scoring.kernel().array()
    loc, q = np.empty(len(docs), np.uint16), np.empty(len(docs), np.uint8)
    bounds = np.empty(n_windows + 1, np.int32)
    row = np.zeros(n_windows * WINDOW, np.uint8)
    peak = np.zeros(len(row) // CHUNK, np.uint8)
    rank = np.empty(len(row) // CHUNK, np.int32)
    top = kernels.fill_long(docs, tf, norm, spec, loc, q, bounds, row, peak, rank)

    x = tf
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
    assert np.array_equal(bounds, np.searchsorted(docs, np.arange(n_windows + 1) * WINDOW))
    expected = np.zeros_like(row)
    expected[docs] = q
    assert np.array_equal(row, expected)
    assert np.array_equal(peak, expected.reshape(-1, CHUNK).max(axis=1))
    assert np.array_equal(rank, np.searchsorted(docs, np.arange(len(rank)) * CHUNK))
