"""Decoded lists under a byte budget: never over it, and never a wrong list."""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zipfian as zf
from zipfian.retrieve import kernels
from zipfian.retrieve.cache import PostingCache
from zipfian.retrieve.layout import WINDOW

N_DOCS = 40_000
SPEC = zf.Dot().kernel().array()
NORM = np.ones(N_DOCS)


def make_lists(seed: int, sizes: list[int]) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(seed)
    out = []
    for size in sizes:
        docs = np.sort(rng.choice(N_DOCS, size, replace=False)).astype(np.int32)
        out.append((docs, rng.uniform(0.1, 9.0, size).astype(np.float32)))
    return out


SIZES = [1, 2, 3, 9, 40, 300, 2_000, 6_000, 12_000, 30_000]
LISTS = make_lists(1, SIZES)
DF = np.array(SIZES, np.int64)


def cache_of(budget: int) -> PostingCache:
    return PostingCache(N_DOCS, sum(SIZES), NORM, SPEC, budget)


def ask(cache: PostingCache, terms: list[int]) -> tuple[kernels.Postings, npt.NDArray[np.int64]] | None:
    return cache.lists(terms, DF[terms], lambda i: LISTS[terms[i]])


def check(postings: kernels.Postings, slots: np.ndarray, terms: list[int]) -> None:
    """What a search would read of each list."""
    for slot, term in zip(slots, terms, strict=True):
        docs, tf = LISTS[term]
        found = kernels.score_docs(postings, NORM, SPEC, np.array([slot]), np.ones(1), docs.astype(np.int64))
        assert found.astype(np.float32).tolist() == tf.tolist()
        others = np.setdiff1d(np.arange(0, N_DOCS, 97), docs)
        assert not kernels.score_docs(postings, NORM, SPEC, np.array([slot]), np.ones(1), others).any()


def test_lists_are_decoded_once() -> None:
    cache = cache_of(1 << 30)
    loaded: list[int] = []

    def load(terms: list[int]) -> tuple[kernels.Postings, npt.NDArray[np.int64]]:
        def one(i: int) -> Any:
            loaded.append(terms[i])
            return LISTS[terms[i]]

        found = cache.lists(terms, DF[terms], one)
        assert found is not None
        return found

    check(*load([3, 7, 0]), [3, 7, 0])
    check(*load([9, 3, 8, 0]), [9, 3, 8, 0])
    check(*load(list(range(10))), list(range(10)))
    assert sorted(loaded) == list(range(10))
    assert cache.resets == 0
    assert 7 * sum(SIZES) <= cache.nbytes < 20 * sum(SIZES)


@settings(max_examples=30)
@given(
    budget=st.sampled_from([0, 100, 5_000, 60_000, 250_000, 400_000, 10**9]),
    asked=st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True), min_size=1, max_size=8),
)
def test_any_budget_any_order(budget: int, asked: list[list[int]]) -> None:
    cache = cache_of(budget)
    kept = []
    for terms in asked:
        found = ask(cache, terms)
        assert cache.nbytes <= budget
        if found is None:  # then these lists alone are over the budget
            assert sum(cache._cost(SIZES[t]) for t in terms) > budget
        else:
            kept.append((found, terms))
            check(*found, terms)
    for found, terms in kept:  # searches under way keep what they hold, whatever happened since
        check(*found, terms)


def test_a_full_cache_starts_afresh() -> None:
    cache = cache_of(200_000)
    first = ask(cache, [7])
    assert first is not None
    assert ask(cache, [8, 9]) is None  # too much at once; nothing is thrown away for it
    assert cache.resets == 0
    second = ask(cache, [6, 5, 4])
    third = ask(cache, [8])
    assert cache.resets == 1
    again = ask(cache, [7])
    assert second is not None and third is not None and again is not None
    check(*first, [7])
    check(*second, [6, 5, 4])
    check(*third, [8])
    check(*again, [7])


def test_memory_is_reserved_for_the_budget_not_for_the_collection() -> None:
    cache = PostingCache(N_DOCS, 10**12, NORM, SPEC, 100_000)  # a trillion postings
    found = cache.lists(["a"], np.array([300]), lambda i: LISTS[5])
    assert found is not None
    reserved = sum(a.nbytes for a in found[0])
    assert reserved < 1_500_000


def test_many_slots() -> None:
    n = 1_000
    lists = make_lists(3, [2] * n)
    cache = PostingCache(N_DOCS, 2 * n, NORM, SPEC, 1 << 30)
    early = cache.lists([0, 1], np.array([2, 2]), lambda i: lists[i])
    for start in range(0, n, 50):
        terms = list(range(start, start + 50))
        cache.lists(terms, np.full(50, 2), partial(operator.getitem, lists[start:]))
    late = cache.lists([0, n - 1], np.array([2, 2]), lambda i: pytest.fail("it is there already"))
    for answer, terms in ((early, [0, 1]), (late, [0, n - 1])):
        assert answer is not None
        postings, slots = answer
        for slot, term in zip(slots, terms, strict=True):
            docs = lists[term][0].astype(np.int64)
            found = kernels.score_docs(postings, NORM, SPEC, np.array([slot]), np.ones(1), docs)
            assert found.astype(np.float32).tolist() == lists[term][1].tolist()


def test_small_collections_have_no_dense_rows() -> None:
    n = WINDOW // 4 - 1
    docs = np.arange(n, dtype=np.int32)
    cache = PostingCache(n, n, np.ones(n), SPEC, 1 << 30)
    found = cache.lists(["every"], np.array([n]), lambda i: (docs, np.ones(n, np.float32)))
    assert found is not None
    postings, slots = found
    assert postings.dense[slots[0]] == -1
    assert len(postings.rows) == 0
