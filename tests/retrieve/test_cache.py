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


class Counted:
    """A cache of the lists above and many of 3,000 documents, and which lists it decoded."""

    def __init__(self, budget: int, more: int) -> None:
        self.sizes = [*SIZES, *[3_000] * more]
        self.lists = [*LISTS, *make_lists(2, self.sizes[len(SIZES) :])]
        self.cold = range(len(SIZES), len(self.sizes))
        self.cache = PostingCache(N_DOCS, sum(self.sizes), NORM, SPEC, budget)
        self.decoded: list[int] = []

    def ask(self, terms: list[int]) -> tuple[kernels.Postings, npt.NDArray[np.int64]]:
        def load(i: int) -> Any:
            self.decoded.append(terms[i])
            return self.lists[terms[i]]

        found = self.cache.lists(terms, np.array([self.sizes[t] for t in terms]), load)
        assert found is not None
        assert self.cache.nbytes <= self.cache.budget
        return found


def test_lists_are_decoded_once() -> None:
    counted = Counted(1 << 30, 0)
    for terms in ([3, 7, 0], [9, 3, 8, 0], list(range(10))):
        check(*counted.ask(terms), terms)
    assert sorted(counted.decoded) == list(range(10))
    assert counted.cache.overflows == 0
    assert 7 * sum(SIZES) <= counted.cache.nbytes < 20 * sum(SIZES)


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
            assert sum(cache.cost(SIZES[t]) for t in terms) > budget
        else:
            kept.append((found, terms))
            check(*found, terms)
    for found, terms in kept:  # searches under way keep what they hold, whatever happened since
        check(*found, terms)


def test_searches_under_way_keep_their_lists() -> None:
    cache = cache_of(200_000)
    first = ask(cache, [7])
    assert first is not None
    assert ask(cache, [8, 9]) is None  # too much at once; nothing is thrown away for it
    assert cache.overflows == 0
    second = ask(cache, [6, 5, 4])
    third = ask(cache, [8])
    assert cache.overflows == 1
    again = ask(cache, [7])
    assert second is not None and third is not None and again is not None
    check(*first, [7])
    check(*second, [6, 5, 4])
    check(*third, [8])
    check(*again, [7])


@pytest.mark.parametrize("hot", [[4], [5, 3], [6], [7]], ids=str)  # short, two short ones, long, dense
def test_a_full_cache_keeps_what_is_asked_for_most(hot: list[int]) -> None:
    counted = Counted(400_000, 40)
    for cold in counted.cold:
        check(*counted.ask(hot), hot)
        counted.ask([cold])
    assert counted.cache.overflows > 1
    assert [counted.decoded.count(term) for term in hot] == [1] * len(hot)
    counted.ask([counted.cold[0]])
    assert counted.decoded.count(counted.cold[0]) == 2  # asked for once, long ago: it had to go


def test_what_was_asked_for_long_ago_goes() -> None:
    """Counts fade with every overflow, or yesterday's queries would keep today's out for ever."""
    counted = Counted(240_000, 80)
    for _ in range(1_000):
        counted.ask([7])
    for cold in counted.cold:
        for _ in range(3):
            counted.ask([6, 5])
        counted.ask([cold])
    assert counted.cache.overflows > 10
    assert {5, 6} <= set(counted.cache._slots)
    assert 7 not in counted.cache._slots
    assert counted.decoded[-9:].count(6) == 0


def test_no_room_is_given_to_lists_that_stay_while_the_query_needs_it() -> None:
    cache = cache_of(10**9)
    need = cache.cost(SIZES[8])
    cache = cache_of(need + cache.cost(SIZES[4]))
    for _ in range(5):
        assert ask(cache, [6]) is not None
    found = ask(cache, [8])
    assert found is not None
    check(*found, [8])
    assert cache.nbytes <= cache.budget


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
