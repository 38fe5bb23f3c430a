"""Bad input to `SparseIndex` gets a clear error that names what was wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from zipfian import BM25, Dot, SparseIndex, TfIdf, limits
from zipfian.errors import InvalidInput, LimitExceeded


@pytest.fixture(scope="module")
def index() -> SparseIndex:
    return SparseIndex.from_csr([0, 2, 3], [0, 3, 3], [1.0, 2.0, 1.0], 4)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (([], [], [], 4), "indptr must ascend"),
        (([1, 2], [0, 1], [1.0, 1.0], 4), "indptr must ascend"),
        (([0, 3], [0, 1], [1.0, 1.0], 4), "indptr must ascend"),
        (([0, 2, 1, 2], [0, 1], [1.0, 1.0], 4), "indptr must ascend"),
        (([[0, 2]], [0, 1], [1.0, 1.0], 4), "one-dimensional"),
        (([0.0, 2.0], [0, 1], [1.0, 1.0], 4), "whole numbers"),
        (([0, 2], [0.0, 1.0], [1.0, 1.0], 4), "indices must be whole numbers"),
        (([0, 2], ["a", "b"], [1.0, 1.0], 4), "indices must be whole numbers"),
        (([0, 2], [0, 1], [1.0], 4), "2 indices but weights of shape"),
        (([0, 2], [0, 1], ["x", "y"], 4), "weights must be numbers"),
        (([0, 2], [0, 1], [[1.0], [1.0, 2.0]], 4), "sequence of numbers"),
        (([0, 2], [0, 4], [1.0, 1.0], 4), "term ids must lie in 0 .. 3; found 0 .. 4"),
        (([0, 2], [-1, 1], [1.0, 1.0], 4), "term ids must lie in 0 .. 3"),
        (([0, 2], np.array([0, 2**63], np.uint64), [1.0, 1.0], 4), "term ids must lie in 0 .. 3"),
        (([0, 2], [0, 2**32], [1.0, 1.0], 4), "term ids must lie in 0 .. 3"),
        (([0, 1, 3], [2, 1, 1], [1.0] * 3, 4), "row 1: term ids must ascend without duplicates (found 1, 1)"),
        (([0, 0, 1, 3], [2, 3, 1], [1.0] * 3, 4), "row 2: term ids must ascend without duplicates (found 3, 1)"),
        (([0, 2], [0, 1], [1.0, np.nan], 4), "number 1 is nan"),
        (([0, 2], [0, 1], [np.inf, 1.0], 4), "number 0 is inf"),
        (([0, 2], [0, 1], [1.0, -np.inf], 4), "number 1 is -inf"),
        (([0, 2], [0, 1], [1.0, -2.0], 4), "number 1 is -2.0"),
        (([0, 2], [0, 1], [0.0, 1.0], 4), "number 0 is 0.0"),
        (([0, 2], [0, 1], [1.0, 1e7], 4), "at most 1e+06"),
        (([0], [], [], -1), "n_terms must be a whole number >= 0"),
        (([0], [], [], 2.0), "n_terms must be a whole number >= 0"),
        (([0], [], [], True), "n_terms must be a whole number >= 0"),
    ],
)
def test_bad_matrix(arrays: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        SparseIndex.from_csr(*arrays)
    assert message in str(caught.value)


def test_a_term_space_above_the_limit() -> None:
    with pytest.raises(LimitExceeded, match="n_terms"):
        SparseIndex.from_csr([0], [], [], limits.MAX_TERMS + 1)


@pytest.mark.parametrize("scoring", ["bm25", 1, BM25])
def test_bad_scoring(index: SparseIndex, scoring: Any) -> None:
    with pytest.raises(InvalidInput, match="scoring must be"):
        SparseIndex.from_csr([0], [], [], 4, scoring=scoring)
    with pytest.raises(InvalidInput, match="scoring must be"):
        index.search([0], scoring=scoring)


@pytest.mark.parametrize("k", [0, -1, 1.5, "10", None, np.float64(3)])
def test_bad_k(index: SparseIndex, k: Any) -> None:
    with pytest.raises(InvalidInput, match="k must be"):
        index.search([0], k=k)
    with pytest.raises(InvalidInput, match="k must be"):
        index.search_batch([0, 1], [0], k=k)


def test_huge_k(index: SparseIndex) -> None:
    with pytest.raises(LimitExceeded, match="the limit is 1000000"):
        index.search([0], k=limits.MAX_K + 1)
    assert len(index.search([0, 3], k=limits.MAX_K)[0]) == 2
    assert len(index.search([0], k=np.int32(5))[0]) == 1
    with pytest.raises(LimitExceeded, match="300 queries x 1000000 hits"):
        index.search_batch(np.zeros(301, np.int64), [], k=limits.MAX_K)


@pytest.mark.parametrize(
    ("terms", "weights", "message"),
    [
        ([4], None, "query terms must lie in 0 .. 3"),
        ([-1], None, "query terms must lie in 0 .. 3"),
        (np.array([2**64 - 1], np.uint64), None, "query terms must lie in 0 .. 3"),
        ([0.0], None, "query terms must be whole numbers"),
        (["a"], None, "query terms must be whole numbers"),
        ([[0, 1]], None, "one-dimensional"),
        ([[0], [1, 2]], None, "flat list"),
        ([1, 1], None, "a term twice"),
        ([2, 0, 2], None, "a term twice"),  # term 2 is in no document
        ([3, 0, 3], None, "a term twice"),
        ([0, 3], [1.0], "2 query terms but weights of shape (1,)"),
        ([0, 3], [1.0, np.nan], "query weights must be finite"),
        ([0, 3], [1.0, np.inf], "query weights must be finite"),
        ([0, 3], [1.0, 0.0], "query weights must be finite, above 0"),
        ([0, 3], [1.0, -1.0], "query weights must be finite, above 0"),
        ([0, 3], [1.0, 1e7], "at most 1e+06"),
        ([0, 3], ["a", "b"], "query weights must be numbers"),
        ([0, 3], [True, False], "query weights must be numbers"),
    ],
)
@pytest.mark.parametrize("scoring", [BM25(), BM25(phi="sqrt"), TfIdf(), Dot()])
def test_bad_query(terms: Any, weights: Any, message: str, scoring: Any) -> None:
    index = SparseIndex.from_csr([0, 2, 3], [0, 3, 3], [1.0, 2.0, 1.0], 4, scoring=scoring)
    for call in (
        lambda: index.search(terms, weights),
        lambda: index.score(terms, [0], weights),
        lambda: index.search_batch([0, len(terms)], terms, weights),
    ):
        with pytest.raises(InvalidInput) as caught:
            call()
        assert message in str(caught.value)


def test_a_query_of_too_many_terms() -> None:
    n = limits.MAX_QUERY_TERMS + 1
    index = SparseIndex.from_csr([0, 1], [0], [1.0], n)
    with pytest.raises(LimitExceeded, match="a query of 4097 terms"):
        index.search(np.arange(n))
    with pytest.raises(LimitExceeded, match="a query of 4097 terms"):
        index.search_batch([0, n], np.arange(n))
    assert index.search(np.arange(n - 1))[0].tolist() == [0]


def test_an_empty_query_finds_nothing(index: SparseIndex) -> None:
    assert index.search([])[0].tolist() == []
    assert index.search([], [])[0].tolist() == []
    assert index.search_batch([0], [])[0].shape == (0, 10)


@pytest.mark.parametrize(
    ("indptr", "message"),
    [([], "indptr must ascend"), ([0, 5], "indptr must ascend"), ([2, 1], "indptr must ascend"), ([-1, 1], "ascend")],
)
def test_bad_batch_rows(index: SparseIndex, indptr: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        index.search_batch(indptr, [0, 1, 2])


def test_the_bad_query_of_a_batch_is_named(index: SparseIndex) -> None:
    with pytest.raises(InvalidInput, match="query 1: query terms must lie"):
        index.search_batch([0, 1, 2, 3], [0, 9, 1])


@pytest.mark.parametrize("threads", [0, -1, 1.0, None, True])
def test_bad_threads(index: SparseIndex, threads: Any) -> None:
    with pytest.raises(InvalidInput, match="threads"):
        index.search_batch([0, 1], [0], threads=threads)


@pytest.mark.parametrize(
    "mask", [[True], [True, False, True], [1, 0], np.ones((2, 1), bool), [0.0, 1.0], "ab", [None, True]]
)
def test_bad_mask(index: SparseIndex, mask: Any) -> None:
    with pytest.raises(InvalidInput, match="mask must hold one bool per document"):
        index.search([3], mask=mask)


def test_a_mask_may_be_a_list(index: SparseIndex) -> None:
    assert index.search([3], mask=[False, True])[0].tolist() == [1]  # type: ignore[arg-type]


@pytest.mark.parametrize("ids", [[2], [-1], [0.5], [[0]], ["0"]])
def test_bad_document_numbers(index: SparseIndex, ids: Any) -> None:
    with pytest.raises(InvalidInput, match="document numbers"):
        index.score([0], ids)


def test_settings_that_need_another_index(index: SparseIndex) -> None:
    with pytest.raises(InvalidInput, match="TfIdf cannot be chosen per search"):
        index.search([0], scoring=TfIdf())
    with pytest.raises(InvalidInput, match="phi changes the document lengths"):
        index.search([0], scoring=BM25(phi="sqrt"))
