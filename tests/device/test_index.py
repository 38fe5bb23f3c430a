"""`SparseIndex.to` against the engine on the processor: the same documents, order and bits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.device.faults import TORCH_CPU, devices, needs_torch, out_of_memory
from tests.retrieve import corpora
from tests.retrieve.brute import Corpus, from_columns
from zipfian import BM25, Dot, SparseIndex, TfIdf
from zipfian.errors import DeviceFailed, DeviceMemory, InvalidInput, LimitExceeded
from zipfian.retrieve import device_index, device_parts, device_sums

pytestmark = needs_torch

SCORINGS = (*corpora.SCORINGS, TfIdf(), BM25(phi=0.7))
SIZES = (*corpora.SMALL, 32_768, 32_769, 70_001)


def build(corpus: Corpus, scoring: Any = None) -> SparseIndex:
    return SparseIndex.from_csr(*corpus.csr(), corpus.n_terms, scoring=scoring)


def rows_of(queries: list[tuple[Any, Any]]) -> tuple[Any, Any, Any]:
    """Queries as CSR rows; a weight of 1 where a query has none."""
    indptr = np.cumsum([0, *(len(terms) for terms, _ in queries)])
    terms = np.concatenate([np.asarray(terms, np.int64) for terms, _ in queries])
    weights = [np.ones(len(t)) if w is None else np.asarray(w, np.float64) for t, w in queries]
    return indptr, terms, np.concatenate(weights)


def same(index: SparseIndex, moved: Any, queries: list[tuple[Any, Any]], k: int, mask: Any = None) -> None:
    ids, scores = moved.search_batch(*rows_of(queries), k=k, mask=mask)
    assert ids.shape == scores.shape == (len(queries), k)
    for number, (terms, weights) in enumerate(queries):
        expected_ids, expected = index.search(terms, weights, k, mask=mask)
        n = len(expected)
        assert scores[number, :n].tolist() == expected.tolist() and not scores[number, n:].any()
        assert ids[number, :n].tolist() == expected_ids.tolist() and (ids[number, n:] == -1).all()


@contextmanager
def small_steps(part_windows: int, sums: int, step: int) -> Iterator[None]:
    """Parts, batches and steps so small that a test has several of each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_parts, "PART_WINDOWS", part_windows)
        patch.setattr(device_index, "SUMS", sums)
        patch.setattr(device_sums, "STEP_POSTINGS", step)
        yield


@corpora.examples(60)
@given(
    data=st.data(), corpus=corpora.corpora(SIZES), scoring=st.sampled_from(SCORINGS),
    k=st.sampled_from([1, 2, 10, 200, 1_000]), step=st.sampled_from([1, 1_000, 1 << 25]), windows=st.integers(1, 3),
)  # fmt: skip
def test_any_index_any_queries(
    data: st.DataObject, corpus: Corpus, scoring: Any, k: int, step: int, windows: int
) -> None:
    index = build(corpus, scoring)
    queries = [data.draw(corpora.queries(corpus.n_terms)) for _ in range(3)]
    with small_steps(windows, 2 * min(corpus.n_docs, windows * 32_768), step):
        same(index, index.to(TORCH_CPU), queries, k, data.draw(corpora.masks(corpus.n_docs)))


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("scoring", [BM25(), Dot()])
@pytest.mark.parametrize("k", [1, 10, 1_000])
def test_ties_keep_document_order_across_parts(device: str, scoring: Any, k: int) -> None:
    """70,000 documents of three kinds only: every place of every query is shared."""
    rng = np.random.default_rng(1)
    kinds = rng.integers(0, 3, 70_000)
    indices = np.concatenate([[[0, 1], [1, 2], [0, 2]][kind] for kind in kinds])
    index = SparseIndex.from_csr(np.arange(70_001) * 2, indices, np.ones(140_000), 3, scoring)
    with small_steps(1, 1 << 16, 1 << 15):
        moved = index.to(device)
        assert len(moved._parts) == 3 and moved.nbytes == 12 * 140_000 and len(moved) == 70_000
        same(index, moved, [([0], None), ([0, 1, 2], [1.0, 2.0, 0.5]), ([], []), ([2, 0], None)], k)
        same(index, moved, [([0], None), ([1, 2], None)], k, kinds == 2)
        same(index, moved, [([0], None)], k, np.zeros(70_000, bool))


def test_a_part_of_several_windows_has_every_posting_in_its_place() -> None:
    """A frequent term, whose list knows where windows begin, and a rare one, whose postings know their windows."""
    rng = np.random.default_rng(5)
    frequent, rare = np.sort(rng.choice(90_000, 40_000, replace=False)), np.array([5, 32_767, 32_768, 65_536, 89_999])
    corpus = from_columns(90_000, [(frequent, rng.random(40_000) + 0.1), (rare, rng.random(5) + 0.1)])
    index = build(corpus, Dot())
    moved = index.to(TORCH_CPU)
    (part,) = moved._parts
    assert part.docs.tolist() == [*frequent, *rare] and part.start.tolist() == [0, 40_000, 40_005]
    same(index, moved, [([0, 1], None), ([1], None)], 1_000)


def test_order_of_sums_is_the_query_s() -> None:
    """1 + 1e16 - like sums tell the order in which products were added; ascending terms, whatever the query says."""
    weights = np.tile([1e-3, 1e6, 3.3e-4, 7e5], 500) * np.random.default_rng(0).random(2_000).clip(0.1)
    index = SparseIndex.from_csr(np.arange(501) * 4, np.tile([0, 1, 2, 3], 500), weights, 4, Dot())
    queries = [(np.random.default_rng(i).permutation(4), np.random.default_rng(i).random(4) + 0.1) for i in range(40)]
    same(index, index.to(TORCH_CPU), queries, 500)


def test_empty_things() -> None:
    empty = SparseIndex.from_csr([0], [], [], 5).to(TORCH_CPU)
    ids, scores = empty.search_batch([0, 1], [2], k=3)
    assert ids.tolist() == [[-1] * 3] and scores.tolist() == [[0.0] * 3] and len(empty) == 0 and empty.nbytes == 0
    index = SparseIndex.from_csr([0, 0, 1], [1], [2.0], 5)
    same(index, index.to(TORCH_CPU), [([], []), ([1], None), ([4], None)], 4)
    assert index.to(TORCH_CPU).search_batch([0], [], k=2)[0].shape == (0, 2)


def test_bad_queries_are_named() -> None:
    moved = SparseIndex.from_csr([0, 1], [0], [1.0], 2).to(TORCH_CPU)
    for terms, weights, said in [
        ([0, 2], None, r"query 1: query terms must lie in 0 \.\. 1"),
        ([0, 1], [1.0, -1.0], "query 1: query weights must be finite"),
    ]:
        with pytest.raises(InvalidInput, match=said):
            moved.search_batch([0, 1, 2], terms, weights)
    with pytest.raises(InvalidInput, match="names a term twice"):
        moved.search_batch([0, 2], [1, 1])
    with pytest.raises(InvalidInput, match=r"one bool per document \(1\)"):
        moved.search_batch([0, 1], [0], mask=np.ones(2, bool))
    with pytest.raises(InvalidInput, match="k must be at least 1"):
        moved.search_batch([0, 1], [0], k=0)
    with pytest.raises(LimitExceeded, match="hits, the limit is"):
        moved.search_batch(np.zeros(100_001, np.int64), [], k=100_000)
    with pytest.raises(InvalidInput, match="on the processor already"):
        SparseIndex.from_csr([0, 1], [0], [1.0], 2).to("cpu")


# ---------------------------------------------------------------------- faults


@pytest.fixture
def index() -> SparseIndex:
    rng = np.random.default_rng(3)
    indices = np.concatenate([np.sort(rng.choice(50, 6, replace=False)) for _ in range(800)])
    return SparseIndex.from_csr(np.arange(801) * 6, indices, rng.random(4_800) + 0.1, 50)


def test_too_many_queries_at_once_are_halved(index: SparseIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    moved, plain = index.to(TORCH_CPU), device_sums._summed
    sizes: list[int] = []

    def summed(torch: Any, part: Any, queries: Any, device: Any) -> Any:
        sizes.append(queries.n)
        return out_of_memory() if queries.n > 3 else plain(torch, part, queries, device)

    monkeypatch.setattr(device_sums, "_summed", summed)
    queries = [([i, i + 1], None) for i in range(8)]
    with (
        pytest.warns(RuntimeWarning, match="no room for 8 queries at a time; going on with 4"),
        pytest.warns(RuntimeWarning, match="no room for 4 queries at a time; going on with 2"),
    ):
        same(index, moved, queries, 5)
    assert sizes == [8, 4, 2, 2, 2, 2]
    same(index, moved, queries, 5)
    assert sizes[6:] == [2, 2, 2, 2], "what did not fit is not tried again"


def test_no_room_for_one_query_or_for_the_index_says_so(index: SparseIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = index.to(TORCH_CPU)
    monkeypatch.setattr(device_sums, "_summed", out_of_memory)
    with pytest.raises(DeviceMemory, match="too little free memory for the sums of one query"):
        moved.search_batch([0, 1], [0])
    monkeypatch.setattr(device_parts, "from_host", out_of_memory)
    with pytest.raises(DeviceMemory, match="too little free memory for an index of 57,600 bytes"):
        index.to(TORCH_CPU)


def test_a_driver_error_is_told(index: SparseIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Any:
        raise RuntimeError("CUDA error: unspecified launch failure")

    moved = index.to(TORCH_CPU)
    monkeypatch.setattr(device_sums, "_best", broken)
    with pytest.raises(DeviceFailed, match=r"'torch:cpu' failed: CUDA error: unspecified launch failure\."):
        moved.search_batch([0, 1], [0])


@given(
    counts=st.lists(st.integers(1, 6), min_size=1, max_size=5), step=st.integers(1, 40), seed=st.integers(0, 99)
)  # fmt: skip
def test_a_step_adds_to_no_sum_twice(counts: list[int], step: int, seed: int) -> None:
    """Where it did, a GPU would add in any order: so it stays within one place of the queries."""
    places = np.cumsum(counts)
    lengths = np.random.default_rng(seed).integers(0, 30, int(places[-1]))
    with small_steps(1, 1, step):
        steps = list(device_sums._steps(lengths, places))
    assert [lo for lo, _ in steps] == [0, *(hi for _, hi in steps[:-1])] and steps[-1][1] == places[-1]
    for lo, hi in steps:
        assert np.searchsorted(places, lo, side="right") == np.searchsorted(places, hi - 1, side="right")
        assert hi - lo == 1 or lengths[lo:hi].sum() <= step
