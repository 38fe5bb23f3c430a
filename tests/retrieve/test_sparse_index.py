"""`SparseIndex` against an independent brute force: same documents, same order, same bits."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.retrieve import brute, corpora
from tests.retrieve.brute import Corpus, from_columns
from zipfian import BM25, Dot, SparseIndex, TfIdf
from zipfian.errors import InvalidInput
from zipfian.retrieve.formulas import KEPT
from zipfian.retrieve.layout import CODES, SHORT_PER_WINDOW


def build(corpus: Corpus, scoring: Any = None) -> SparseIndex:
    return SparseIndex.from_csr(*corpus.csr(), corpus.n_terms, scoring=scoring)


def check(index: SparseIndex, corpus: Corpus, scoring: Any, terms: Any, weights: Any, k: int, mask: Any = None) -> None:
    ids, found = index.search(terms, weights, k, mask=mask)
    every = brute.scores(corpus, scoring, terms, weights)
    expected_ids, expected = brute.best(every, k, mask)
    assert found.tolist() == expected.tolist()
    assert ids.tolist() == expected_ids.tolist()


@corpora.examples(150)
@given(data=st.data(), corpus=corpora.corpora(), scoring=st.sampled_from(corpora.SCORINGS), k=st.integers(1, 1500))
def test_small(data: st.DataObject, corpus: Corpus, scoring: Any, k: int) -> None:
    index = build(corpus, scoring)
    for _ in range(3):
        terms, weights = data.draw(corpora.queries(corpus.n_terms))
        check(index, corpus, scoring, terms, weights, k, data.draw(corpora.masks(corpus.n_docs)))


@corpora.examples(150)
@given(
    data=st.data(),
    corpus=corpora.corpora(corpora.WINDOWED),
    scoring=st.sampled_from(corpora.SCORINGS),
    k=st.sampled_from([1, 2, 10, 200, 5_000, 32_768, 80_000]),
)
def test_across_window_bounds(data: st.DataObject, corpus: Corpus, scoring: Any, k: int) -> None:
    index = build(corpus, scoring)
    for _ in range(2):
        terms, weights = data.draw(corpora.queries(corpus.n_terms))
        check(index, corpus, scoring, terms, weights, k, data.draw(corpora.masks(corpus.n_docs)))


@corpora.examples(40)
@given(
    data=st.data(),
    corpus=corpora.corpora((*corpora.SMALL, 8_192, 32_769)),
    scoring=st.sampled_from([TfIdf(), TfIdf(phi="sqrt"), BM25(phi=0.7), Dot(phi="power:0.3")]),
    k=st.sampled_from([1, 10, 500]),
)
def test_formulas_with_logarithms_and_powers(data: st.DataObject, corpus: Corpus, scoring: Any, k: int) -> None:
    """log and pow may differ in the last bit between libraries: scores are compared closely, not exactly."""
    index = build(corpus, scoring)
    terms, weights = data.draw(corpora.queries(corpus.n_terms))
    every = brute.scores(corpus, scoring, terms, weights)
    ids, found = index.search(terms, weights, k)
    _, expected = brute.best(every, k)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_allclose(found, every[ids], rtol=1e-9)
    assert np.all(np.diff(found) <= 0)
    assert len(np.unique(ids)) == len(ids)


@corpora.examples(40)
@given(data=st.data(), corpus=corpora.corpora((65, 1000, 32_769)), k=st.sampled_from([1, 7, 100, 40_000]))
def test_another_scoring_per_search(data: st.DataObject, corpus: Corpus, k: int) -> None:
    index = build(corpus, BM25())
    other = data.draw(st.sampled_from([BM25(k1=3.0, b=0.1), BM25(variant="bm25l"), Dot(), BM25()]))
    terms, weights = data.draw(corpora.queries(corpus.n_terms))
    mask = data.draw(corpora.masks(corpus.n_docs))
    ids, found = index.search(terms, weights, k, scoring=other, mask=mask)
    expected_ids, expected = brute.best(brute.scores(corpus, other, terms, weights), k, mask)
    assert (ids.tolist(), found.tolist()) == (expected_ids.tolist(), expected.tolist())


OTHERS = [BM25(k1=0.3), BM25(k1=3.0, b=0.1), BM25(variant="bm25l"), BM25(variant="bm25+"), BM25(b=0.0), Dot()]


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("kept", [1 << 28, 0, 3_000_000], ids=["kept", "nothing kept", "little kept"])
def test_another_scoring_gives_what_an_index_of_its_own_gives(
    precision: Any, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the bit: lists of all kinds, more formulas than are kept, and again when some have made room."""
    monkeypatch.setattr("zipfian.retrieve.sparse_index._OTHER_BYTES", kept)
    rng = np.random.default_rng(4)
    n_docs, n_terms = 70_000, 300
    shares = np.concatenate([[0.5, 0.2, 0.08], 3.0 / np.arange(3, n_terms) ** 2 + 3e-5])
    held = rng.random((n_docs, n_terms)) < shares
    docs, terms = np.nonzero(held)
    weights = rng.uniform(0.1, 9.0, len(docs)).astype(precision)
    csr = np.searchsorted(docs, np.arange(n_docs + 1)), terms, weights, n_terms
    index = SparseIndex.from_csr(*csr)
    assert 0 < np.count_nonzero(terms == 250) < SHORT_PER_WINDOW * 3  # a list without window bounds
    owns = {scoring: SparseIndex.from_csr(*csr, scoring=scoring) for scoring in OTHERS}
    assert len(OTHERS) > KEPT
    mask = rng.random(n_docs) < 0.2
    for _ in range(2):
        for scoring, own in owns.items():
            for query in ([0, 1, 2, 5, 40], [3, 299, 7], [250]):
                for k in (1, 10, 3_000):
                    for allowed in (None, mask):
                        found = index.search(query, k=k, scoring=scoring, mask=allowed)
                        wanted = own.search(query, k=k, mask=allowed)
                        assert (found[0].tolist(), found[1].tolist()) == (wanted[0].tolist(), wanted[1].tolist())


def test_impacts_of_another_scoring_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    indptr = np.arange(0, 5_001 * 4, 4)
    terms = np.sort(rng.permuted(np.tile(np.arange(40), (5_000, 1)), axis=1)[:, :4]).ravel()
    index = SparseIndex.from_csr(indptr, terms, rng.uniform(1, 5, 20_000), 40)
    read: list[int] = []
    whole = index._list

    def noted(term: int) -> Any:
        read.append(term)
        return whole(term)

    monkeypatch.setattr(index, "_list", noted)
    before = index.nbytes
    for query in ([1, 2], [2, 3], [1, 2, 3]):
        index.search(query, scoring=BM25(k1=2.0))
    assert read == [1, 2, 3]
    assert before < index.nbytes
    for k1 in range(1, 3 * KEPT):
        index.search([1], scoring=BM25(k1=k1 / 10))
    assert index.nbytes < before + KEPT * (before / 2)
    read.clear()
    index.search([1], scoring=BM25(k1=2.0))  # it has made room meanwhile
    assert read == [1]


@pytest.mark.parametrize("terms", [[40], [-1], [3, 3]])
def test_another_scoring_refuses_what_the_usual_one_refuses(terms: list[int]) -> None:
    index = SparseIndex.from_csr([0, 1], [3], [1.0], 40)
    with pytest.raises(InvalidInput) as usual:
        index.search(terms)
    with pytest.raises(InvalidInput) as other:
        index.search(terms, scoring=Dot())
    assert str(usual.value) == str(other.value)


@corpora.examples(40)
@given(data=st.data(), corpus=corpora.corpora((3, 65, 1000, 32_769)), scoring=st.sampled_from(corpora.SCORINGS))
def test_score_of_given_documents(data: st.DataObject, corpus: Corpus, scoring: Any) -> None:
    index = build(corpus, scoring)
    terms, weights = data.draw(corpora.queries(corpus.n_terms))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    docs = rng.integers(0, corpus.n_docs, 50)  # any order, with repeats
    assert index.score(terms, docs, weights).tolist() == brute.scores(corpus, scoring, terms, weights)[docs].tolist()


@corpora.examples(30)
@given(
    data=st.data(),
    corpus=corpora.corpora((1, 65, 1000, 40_000)),
    scoring=st.sampled_from([*corpora.SCORINGS, TfIdf()]),
    k=st.sampled_from([1, 10, 300]),
    threads=st.sampled_from([1, 2, 5]),
)
def test_batch_equals_single(data: st.DataObject, corpus: Corpus, scoring: Any, k: int, threads: int) -> None:
    index = build(corpus, scoring)
    weighted = data.draw(st.booleans())
    asked = [data.draw(corpora.queries(corpus.n_terms)) for _ in range(data.draw(st.integers(0, 12)))]
    asked = [(t, np.ones(len(t)) if w is None else w) for t, w in asked]
    indptr = np.concatenate([[0], np.cumsum([len(t) for t, _ in asked])]).astype(np.int64)
    terms = np.concatenate([np.empty(0, np.int64), *(t for t, _ in asked)])
    weights = np.concatenate([np.empty(0), *(w for _, w in asked)]) if weighted else None
    ids, found = index.search_batch(indptr, terms, weights, k, threads=threads)
    assert ids.shape == found.shape == (len(asked), k)
    for row, (t, w) in enumerate(asked):
        one_ids, one = index.search(t, w if weighted else None, k)
        n = len(one_ids)
        assert ids[row].tolist() == one_ids.tolist() + [-1] * (k - n)
        assert found[row].tolist() == one.tolist() + [0.0] * (k - n)


def test_threads_give_equal_results() -> None:
    rng = np.random.default_rng(5)
    corpus = corpora.make(rng, 70_001, [0.001, 0.02, 0.2, 0.5, 0.9] * 4, corpora.KINDS[:5] * 4)
    index = build(corpus)
    asked = [rng.choice(20, 6, replace=False) for _ in range(40)]
    alone = [index.search(q, k=50) for q in asked]
    wrong: list[int] = []
    start = threading.Barrier(8)

    def work(shift: int) -> None:
        start.wait()
        for i in range(len(asked)):
            at = (i + shift * 5) % len(asked)
            ids, found = index.search(asked[at], k=50)
            if ids.tolist() != alone[at][0].tolist() or found.tolist() != alone[at][1].tolist():
                wrong.append(at)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


def test_many_query_terms() -> None:
    """More terms than 16-bit sums serve (1,024), and just as many."""
    rng = np.random.default_rng(7)
    corpus = corpora.make(rng, 2_000, [0.002, 0.01, 0.3] * 500, ("counts", "uniform", "lognormal") * 500)
    index = build(corpus)
    for n in (1023, 1024, 1025, 1500):
        terms = rng.permutation(1500)[:n]
        for k in (1, 30, 2_000):
            check(index, corpus, BM25(), terms, None, k)


def test_terms_may_come_in_any_integer_type_layout_and_order() -> None:
    corpus = corpora.make(np.random.default_rng(1), 1000, [0.5] * 6, ["uniform"] * 6)
    index = build(corpus)
    expected = index.search([1, 2, 4], [0.5, 1.0, 2.0])[0].tolist()
    for dtype in (np.int8, np.uint8, np.int32, np.uint32, np.uint64, ">i4"):
        assert index.search(np.array([4, 1, 2], dtype), np.array([2, 0.5, 1], np.float32))[0].tolist() == expected
    spread = np.array([1, 0, 2, 0, 4, 0])[::2]
    spread.flags.writeable = False
    assert index.search(spread, [0.5, 1.0, 2.0])[0].tolist() == expected


def test_the_callers_arrays_are_copied() -> None:
    indptr, indices, weights = from_columns(3, [([0, 1, 2], [1.0, 2.0, 3.0])]).csr()
    for array in (indptr, indices, weights):
        array.flags.writeable = False
    index = SparseIndex.from_csr(indptr, indices, weights, 1, scoring=Dot())
    weights.flags.writeable = True
    weights[:] = 9.0
    assert index.search([0])[1].tolist() == [3.0, 2.0, 1.0]


@pytest.mark.parametrize("n_docs", [0, 1, 5])
def test_documents_without_terms(n_docs: int) -> None:
    index = SparseIndex.from_csr(np.zeros(n_docs + 1, np.int64), [], [], 4)
    assert len(index) == n_docs
    for terms in ([], [0], [0, 3]):
        ids, found = index.search(terms, k=3)
        assert ids.tolist() == found.tolist() == []
        assert index.search(terms, k=3, scoring=Dot())[0].tolist() == []
    ids, found = index.search_batch([0, 1, 2], [0, 1], k=2)
    assert ids.tolist() == [[-1, -1]] * 2
    assert found.tolist() == [[0.0, 0.0]] * 2
    assert index.score([0], list(range(n_docs))).tolist() == [0.0] * n_docs


def test_no_terms_at_all() -> None:
    index = SparseIndex.from_csr([0, 0, 0], [], [], 0)
    assert index.n_terms == 0
    assert index.search([])[0].tolist() == []


def test_a_query_that_shares_no_term_finds_nothing() -> None:
    index = build(from_columns(4, [([0, 1], 1.0), ([], 1.0), ([2], 1.0)]))
    assert index.search([1])[0].tolist() == []
    assert index.search([1, 2])[0].tolist() == [2]


def test_a_term_worth_nothing_is_no_hit() -> None:
    """robertson: a term in most documents has idf 0; TF-IDF: so has one in all but one of them."""
    corpus = from_columns(10, [(range(8), 1.0), ([9], 1.0), (range(9), 1.0)])
    assert build(corpus, BM25(variant="robertson")).search([0, 1])[0].tolist() == [9]
    assert build(corpus, TfIdf()).search([1, 2])[0].tolist() == [9]
    assert build(corpus, TfIdf()).search([2])[0].tolist() == []


def test_weights_are_kept_at_the_precision_given() -> None:
    fine = 1.0 + 2.0**-40
    assert build(from_columns(1, [([0], fine)], np.float64), Dot()).search([0])[1].tolist() == [fine]
    assert build(from_columns(1, [([0], fine)], np.float32), Dot()).search([0])[1].tolist() == [1.0]


@pytest.mark.parametrize(("kind", "each"), [("counts", 2 + 1 + 2), ("lognormal", 2 + 1 + 4)])
def test_nbytes_counts_the_arrays(kind: str, each: int) -> None:
    """Of a posting its place, its impact and its weight: a number of a table where weights take few values."""
    corpus = corpora.make(np.random.default_rng(2), 200_000, [0.03] * 20, [kind] * 20)
    index = build(corpus)
    postings = sum(len(docs) for docs, _ in corpus.columns)
    per_document = 8 + 8  # norm and length
    assert each * postings + per_document * 200_000 < index.nbytes
    assert index.nbytes < each * postings + per_document * 200_000 + 20_000
    assert sys.getsizeof(index) < 1000


@pytest.mark.parametrize(("different", "coded"), [(CODES, True), (CODES + 1, False)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_number_of_weights_where_codes_end(different: int, coded: bool, dtype: Any) -> None:
    values = np.random.default_rng(5).permutation(different) + 1.0
    docs = np.arange(different)
    corpus = from_columns(different, [(docs, values), (docs[::3], values[::3]), (docs[5:9], 7.0)], dtype)
    index = build(corpus)
    assert (len(index._layout.postings.code) > 0) == coded
    assert (len(index._layout.postings.tf) > 0) != coded
    assert len(index._layout.postings.table) == (different if coded else 0)
    for terms in ([0], [0, 1], [0, 1, 2], [2]):
        check(index, corpus, BM25(), terms, None, 50)


def test_arrays_stay_the_callers() -> None:
    """An index keeps nothing of them: they may be changed, read-only, or of other types."""
    corpus = corpora.make(np.random.default_rng(6), 3_000, [0.3, 0.1], ["counts", "lognormal"])
    indptr, indices, weights = corpus.csr()
    index = build(corpus)
    taken = SparseIndex.from_csr(indptr, indices, weights, 2)
    indices[:], weights[:] = 0, 1.0
    indptr, indices, weights = corpus.csr()
    for array in (indptr, indices, weights):
        array.flags.writeable = False
    fixed = SparseIndex.from_csr(indptr, indices.astype(np.uint16), weights, 2)
    expected = [part.tolist() for part in index.search([0, 1], k=100)]
    for other in (taken, fixed):
        assert [part.tolist() for part in other.search([0, 1], k=100)] == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("different", [7, CODES + 1])
def test_another_formula_reads_weights_as_they_were_given(different: int, dtype: Any) -> None:
    """Coded or not, and of either type: impacts of another formula are made from lists that are unfolded again."""
    n = CODES + 1
    weights = (0.1 + np.arange(n) % different / 7).astype(dtype)
    rows = np.arange(n + 1), np.zeros(n, np.int64), weights
    other = BM25(k1=3.0, b=0.2)
    ids, scores = SparseIndex.from_csr(*rows, 1).search([0], k=50, scoring=other)
    wanted = SparseIndex.from_csr(*rows, 1, scoring=other).search([0], k=50)
    assert ids.tolist() == wanted[0].tolist()
    assert scores.tolist() == wanted[1].tolist()
