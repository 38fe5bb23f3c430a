"""The fast path on inputs made to break it; each test also asserts that the path it is about is really taken."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.retrieve import brute, corpora
from tests.retrieve.brute import Corpus, from_columns
from zipfian import BM25, Dot, SparseIndex
from zipfian.retrieve import kernels
from zipfian.retrieve.arena import NO_MASK, Layout
from zipfian.retrieve.layout import MIN_SAMPLED, SAMPLE, WINDOW

SAMPLED = 2 * SAMPLE * WINDOW - 100
"""Documents of an index where two windows are the sample that the floor is guessed from."""

BARELY = (MIN_SAMPLED - 1) * WINDOW + 1
"""Documents of an index just large enough for a sample: one full window of four, the last with one document."""


@dataclass
class Query:
    """One query against one layout, ready for the kernels."""

    layout: Layout
    slots: Any
    weight: Any
    k: int
    mask: Any = None

    @classmethod
    def make(cls, index: SparseIndex, terms: Any, k: int, weights: Any = None, mask: Any = None) -> Query:
        order = np.argsort(terms)
        given = np.ones(len(terms)) if weights is None else np.asarray(weights, np.float64)[order]
        slots = np.asarray(terms, np.int64)[order]
        weight = given * index._idf[slots]
        kept = weight > 0
        return cls(index._layout, slots[kept], weight[kept], min(k, index.n_docs), mask)

    @property
    def allowed(self) -> npt.NDArray[np.bool_]:
        return NO_MASK if self.mask is None else self.layout.pad_mask(self.mask)

    def _run(self, kernel: Any, after: tuple[Any, ...] = ()) -> tuple[list[int], list[float]]:
        ids, scores = np.empty(self.k, np.int64), np.empty(self.k)
        lay = self.layout
        n = kernel(
            lay.postings, lay.n_windows, lay.norm, lay.spec, self.slots, self.weight, self.k, self.allowed,
            *after, ids, scores,
        )  # fmt: skip
        return ids[:n].tolist(), scores[:n].tolist()

    def exact(self) -> tuple[list[int], list[float]]:
        return self._run(kernels.exact_topk)

    def fast(self) -> tuple[list[int], list[float]]:
        acc = np.zeros(WINDOW, np.uint16)
        out = self._run(kernels.topk, after=(acc,))
        assert not acc.any(), "accumulators must be left zeroed"
        return out

    def sweep(self) -> Sweep:
        """The first sweep of `topk`, by hand."""
        mult = np.empty(len(self.slots), np.uint16)
        slack, faint, _ = kernels.scale_query(self.layout.postings, self.slots, self.weight, mult)
        room = min(4096 + 4 * self.k, self.layout.n_windows * WINDOW)
        docs, sums = np.empty(room, np.int64), np.empty(room, np.int64)
        acc = np.zeros(WINDOW, np.uint16)
        n, floor, kth = kernels.collect(
            self.layout.postings, self.layout.n_docs, self.slots, mult, self.k, slack, 0, True, self.allowed,
            acc, docs, sums,
        )  # fmt: skip
        assert not acc.any()
        return Sweep(slack, bool(faint), n, floor, kth, docs[: max(n, 0)], sums[: max(n, 0)])


@dataclass
class Sweep:
    slack: int
    faint: bool
    n: int
    floor: int
    kth: int
    docs: Any
    sums: Any

    @property
    def failed_guess(self) -> bool:
        return self.floor > max(0, self.kth - self.slack)


def index_of(corpus: Corpus, scoring: Any = None) -> SparseIndex:
    return SparseIndex.from_csr(*corpus.csr(), corpus.n_terms, scoring=scoring)


def agree(corpus: Corpus, scoring: Any, terms: Any, k: int, weights: Any = None, mask: Any = None) -> Query:
    """Fast = plain = brute force, to the last bit."""
    query = Query.make(index_of(corpus, scoring), terms, k, weights, mask)
    ids, scores = brute.best(brute.scores(corpus, scoring, terms, weights), k, mask)
    expected = ids.tolist(), scores.tolist()
    assert query.exact() == expected
    assert query.fast() == expected
    return query


@corpora.examples(100)
@given(
    data=st.data(),
    corpus=corpora.corpora((1, 65, 1000, 8_192, 32_769, 70_001)),
    scoring=st.sampled_from(corpora.SCORINGS),
    k=st.sampled_from([1, 3, 50, 1000, 10**6]),
)
def test_all_paths_agree_to_the_last_bit(data: st.DataObject, corpus: Corpus, scoring: Any, k: int) -> None:
    terms, weights = data.draw(corpora.queries(corpus.n_terms))
    if scoring.phi == "sqrt" and weights is not None:
        weights = None
    agree(corpus, scoring, terms, k, weights, data.draw(corpora.masks(corpus.n_docs)))


@corpora.examples(60)
@given(data=st.data(), corpus=corpora.corpora((1000, 32_769)), k=st.sampled_from([1, 50]))
def test_sums_bound_the_scores(data: st.DataObject, corpus: Corpus, k: int) -> None:
    """The inequality of `scale_query`, on every document that a sweep from floor 0 keeps."""
    index = index_of(corpus, BM25())
    terms, weights = data.draw(corpora.queries(corpus.n_terms))
    query = Query.make(index, terms, k, weights)
    p = index._layout.postings
    mult = np.empty(len(query.slots), np.uint16)
    slack, faint, _ = kernels.scale_query(p, query.slots, query.weight, mult)
    if slack < 0:
        return
    m = len(query.slots)
    total = float(np.sum(query.weight * p.top[query.slots]))
    unit = (65535.0 - 260.0 - 2.0 * m) / total
    sums = np.zeros(corpus.n_docs, np.int64)
    for slot, x in zip(query.slots, mult.astype(np.int64), strict=True):
        docs = corpus.columns[slot][0]
        sums[docs] += (p.q[p.start[slot] : p.stop[slot]].astype(np.int64) * x) >> 8
    scores = brute.scores(corpus, BM25(), terms, weights) * unit
    assert sums.max() < 2**16
    assert np.all(scores < sums + m + 1e-3)
    assert np.all(scores > sums - (slack - m - 1) - 1e-3)
    if not faint:
        assert np.all((sums > 0) == (scores > 0))


def test_faint_terms_are_not_lost() -> None:
    """A document whose every posting rounds to a sum of 0 can still beat one whose postings rounded up to 1."""
    docs = 50
    strong = ([0, 1], [1e6, 1e-6])  # document 1: almost nothing of a strong term, rounded up
    weak = (range(2, docs), 1.0)
    corpus = from_columns(docs, [strong, weak], np.float64)
    query = agree(corpus, Dot(), [0, 1], 2, weights=[1.0, 1.0])
    sweep = query.sweep()
    assert sweep.faint
    assert sweep.kth < sweep.slack
    assert query.fast()[0] == [0, 2]
    mask = np.arange(docs) > 0
    assert agree(corpus, Dot(), [0, 1], 1, weights=[1.0, 1.0], mask=mask).fast()[0] == [2]


@pytest.mark.parametrize("k", [1, 5, 7, 8, 9, 40_000])
def test_fewer_matches_than_k(k: int) -> None:
    corpus = from_columns(40_000, [([5, 70, 32_768], [3.0, 1.0, 2.0]), ([7, 70, 100, 39_999, 39_998], 1.0)])
    query = agree(corpus, BM25(), [0, 1], k)
    assert len(query.fast()[0]) == min(k, 7)
    if k >= 8:
        assert query.sweep().kth == 0


@pytest.mark.parametrize("share", [1.0, 0.3, 0.01])
@pytest.mark.parametrize("k", [1, 10, 3_000])
def test_all_documents_equal(share: float, k: int) -> None:
    """Ties by the ten thousand: too many candidates for any bound, settled by the plain path in document order."""
    n = 70_001
    docs = np.arange(0, n, round(1 / share))
    corpus = from_columns(n, [(docs, 1.0), (docs, 2.0)])
    query = agree(corpus, BM25(), [0, 1], k)
    assert query.fast()[0] == docs[:k].tolist()
    if len(docs) > 4096 + 4 * k:
        assert query.sweep().n == -1


def test_near_ties_stay_within_the_room() -> None:
    """Just fewer equal documents than there is room for: the sweep keeps them all."""
    corpus = from_columns(70_001, [(np.arange(3_000) * 20, 1.0)])
    query = agree(corpus, BM25(), [0], 10)
    assert query.sweep().n == 3_000


@pytest.mark.parametrize("k", [1, 10, 200])
@pytest.mark.parametrize("way", ["ascending", "descending"])
def test_documents_sorted_by_score(way: str, k: int) -> None:
    n = SAMPLED
    values = np.linspace(1.0, 1000.0, n)
    corpus = from_columns(n, [(np.arange(n), values if way == "ascending" else values[::-1])])
    agree(corpus, Dot(), [0], k)


@pytest.mark.parametrize("n", [BARELY, SAMPLED])
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("k", [100, 250])
def test_a_guess_that_fails_is_swept_again(k: int, dense: bool, n: int) -> None:
    """The best documents all lie in the sampled windows: what the sample promises, the others do not keep."""
    stride = min(SAMPLE, (n + WINDOW - 1) // WINDOW)
    rng = np.random.default_rng(k)
    docs = np.arange(n) if dense else np.arange(0, n, 50)
    values = np.minimum(rng.exponential(1.0, len(docs)), 12.0)
    sampled = (docs // WINDOW) % stride == stride // 2
    values[rng.choice(np.flatnonzero(sampled), k * 9 // 10, replace=False)] = 20.0
    corpus = from_columns(n, [(docs, values), (docs[::7], 0.5)])
    query = agree(corpus, Dot(), [0, 1], k)
    sweep = query.sweep()
    assert sweep.failed_guess
    assert len(sweep.docs) < k, "the first sweep alone would have lost hits"


@pytest.mark.parametrize("n", [BARELY, SAMPLED])
@pytest.mark.parametrize("k", [60, 200])
def test_a_guess_that_holds(k: int, n: int) -> None:
    rng = np.random.default_rng(k)
    columns = []
    for share in (0.3, 0.02):
        docs = np.flatnonzero(rng.random(n) < share)
        columns.append((docs, np.exp(rng.standard_normal(len(docs)))))
    query = agree(from_columns(n, columns), BM25(), [0, 1], k)
    sweep = query.sweep()
    assert not sweep.failed_guess
    assert k <= sweep.n < 4096
    assert np.count_nonzero(sweep.sums >= sweep.kth) >= k
    assert np.count_nonzero(sweep.sums >= sweep.kth + 16) < k


def test_rows_that_add_nothing_at_first() -> None:
    """The row read first rounds to 0 in a whole chunk; the others make one of its documents the best of all."""
    n, m = 33_000, 300
    rng = np.random.default_rng(0)
    docs = np.sort(np.r_[rng.choice(WINDOW, 8_936, replace=False), WINDOW + 64 + np.arange(64)])
    best = WINDOW + 70
    columns = []
    for term in range(m):
        values = np.full(len(docs), 1e-3)
        values[100 if term == 0 else np.searchsorted(docs, best)] = 1.0
        columns.append((docs, values))
    columns.append(([7], 1.0))  # alone in the first window, it sets the floor
    query = agree(from_columns(n, columns), Dot(), np.arange(m + 1), 1, weights=np.r_[np.ones(m), 290.0])
    assert query.fast()[0] == [best]
    assert np.all(query.layout.postings.dense[:m] >= 0)


@pytest.mark.parametrize("k", [1, 40])
def test_one_huge_weight_among_tiny_ones(k: int) -> None:
    rng = np.random.default_rng(3)
    n = 40_000
    columns = [([17, 30_000], [1e6, 1e-6])]
    for _ in range(30):
        docs = np.flatnonzero(rng.random(n) < 0.02)
        columns.append((docs, rng.uniform(1e-6, 2e-6, len(docs))))
    corpus = from_columns(n, columns, np.float64)
    agree(corpus, Dot(), np.arange(31), k)
    agree(corpus, Dot(), np.arange(31), k, weights=np.r_[1e6, np.full(30, 1e-6)])
    agree(corpus, BM25(), np.arange(31), k, weights=np.r_[1e6, np.full(30, 1e-6)])
    agree(corpus, Dot(), np.arange(31), k, weights=np.r_[1e6, np.full(30, 1e-6)], mask=np.arange(n) != 17)


def test_weights_at_the_edge_of_float64() -> None:
    """Denormal weights leave no room for a scale: the plain path takes over, and nothing is divided by 0."""
    corpus = from_columns(9_000, [(range(9_000), 5e-324), ([1, 5], 1e-310), ([2, 8_999], [1e-300, 1.0])], np.float64)
    for terms in ([0], [1], [0, 1], [0, 1, 2], [2]):
        agree(corpus, Dot(), terms, 7)


@pytest.mark.parametrize("allowed", [0, 1, 3, 20])
def test_filters_that_leave_few(allowed: int) -> None:
    rng = np.random.default_rng(allowed)
    corpus = corpora.make(rng, SAMPLED, [0.4, 0.001, 0.05], ["uniform", "counts", "lognormal"])
    mask = np.zeros(SAMPLED, np.bool_)
    mask[rng.choice(SAMPLED, allowed, replace=False)] = True
    for k in (1, 2, 100):
        query = agree(corpus, BM25(), [0, 1, 2], k, mask=mask)
        assert len(query.fast()[0]) <= min(k, allowed)


@pytest.mark.parametrize(("n_docs", "sampled"), [(BARELY - 1, False), (BARELY, True)])
def test_the_size_where_sampling_begins(n_docs: int, sampled: bool) -> None:
    """The best documents all lie in the window that would be the sample: only a guess can fail."""
    values = np.minimum(np.random.default_rng(0).exponential(1.0, n_docs), 8.0)
    values[2 * WINDOW : 2 * WINDOW + 90] = 20.0
    query = agree(from_columns(n_docs, [(np.arange(n_docs), values)]), Dot(), [0], 100)
    assert query.sweep().failed_guess == sampled


def test_k_of_a_million() -> None:
    corpus = corpora.make(np.random.default_rng(4), 70_001, [0.9, 0.3, 0.001], ["uniform", "counts", "ones"])
    query = agree(corpus, BM25(), [0, 1, 2], 10**6)
    assert query.k == 70_001
    ids, scores = index_of(corpus).search([0, 1, 2], k=10**6)
    assert len(ids) == len(scores) == np.count_nonzero(brute.scores(corpus, BM25(), [0, 1, 2]) > 0)


def test_slots_in_any_order() -> None:
    """A caller with its own slots may give the terms in any order: that is the order of sums."""
    corpus = corpora.make(np.random.default_rng(8), 33_000, [0.5, 0.2, 0.01, 0.0005], ["lognormal"] * 4)
    query = Query.make(index_of(corpus), [0, 1, 2, 3], 100)
    for order in ([3, 1, 0, 2], [2, 3, 1, 0]):
        mixed = replace(query, slots=query.slots[order], weight=query.weight[order])
        assert mixed.fast() == mixed.exact()
