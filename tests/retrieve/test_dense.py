"""Dense search: the same documents and scores as plain numpy, proved by the bounds and not by luck."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zipfian.errors import InvalidInput
from zipfian.index.segment import SegmentReader, delete_documents, write_segment
from zipfian.retrieve.dense import Codes, DenseSearcher, Rows, _kernels
from zipfian.storage.directory import FSDirectory
from zipfian.types import SegmentBatch


def by_hand(rows: np.ndarray, query: np.ndarray, allowed: np.ndarray, metric: str) -> np.ndarray:
    """Scores in extended precision; -inf where not allowed."""
    x, q = rows.astype(np.longdouble), query.astype(np.longdouble)
    out = x @ q
    if metric == "cosine":
        size = np.sqrt((x * x).sum(1)) * np.sqrt((q * q).sum())
        out = np.where(size > 0, out / np.where(size > 0, size, 1), 0)
    return np.where(allowed, out, -np.inf)


def check(searcher: DenseSearcher, rows: np.ndarray, query: np.ndarray, k: int, allowed: np.ndarray) -> None:
    metric = searcher.metric
    docs, scores = searcher.search(query, k, allowed)
    wanted = by_hand(rows, query, allowed, metric)
    assert len(docs) == min(k, int(allowed.sum())) == len(set(docs.tolist()))
    np.testing.assert_allclose(scores, wanted[docs].astype(np.float64), rtol=1e-9, atol=1e-12 * np.abs(query).max())
    # the search's own numbers decide order and membership: every document outside scores below, or is later
    every = searcher.score(query, np.arange(len(rows)))
    every = np.where(allowed, every, -np.inf)
    order = np.lexsort((np.arange(len(rows)), -every))[: len(docs)]
    assert docs.tolist() == order.tolist()
    assert scores.tolist() == every[order].tolist()


@pytest.mark.parametrize("metric", ["cosine", "dot"])
@pytest.mark.parametrize(("n", "dim"), [(1, 1), (7, 3), (500, 24), (3_000, 65)])
def test_equals_plain_numpy(metric: str, n: int, dim: int) -> None:
    rng = np.random.default_rng(n)
    rows = (rng.standard_normal((n, dim)) * rng.lognormal(0, 2, (n, 1))).astype(np.float32)
    searcher = DenseSearcher.from_array(rows, metric=metric)  # type: ignore[arg-type]
    for seed in range(5):
        allowed = np.random.default_rng(seed).random(n) < (1.0 if seed == 0 else 0.4)
        for k in (1, 10, 4_000):
            check(searcher, rows, rng.standard_normal(dim), k, allowed)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_ties_zeros_and_extremes(data: st.DataObject) -> None:
    """Few distinct values: equal scores are common and must keep document order."""
    dim = data.draw(st.integers(1, 6))
    scale = data.draw(st.sampled_from([1.0, 1e-12, 1e12]))
    values = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 127.0])
    rows = np.array(data.draw(st.lists(st.lists(values, min_size=dim, max_size=dim), min_size=1, max_size=40)))
    rows = (rows * scale).astype(np.float32)
    query = np.array(data.draw(st.lists(values, min_size=dim, max_size=dim).filter(any)))
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    metric = data.draw(st.sampled_from(["cosine", "dot"]))
    searcher = DenseSearcher.from_array(rows, metric=metric)
    docs, scores = searcher.search(query, data.draw(st.integers(1, 50)), allowed)
    every = np.where(allowed, searcher.score(query, np.arange(len(rows))), -np.inf)
    order = np.lexsort((np.arange(len(rows)), -every))[: len(docs)]
    assert docs.tolist() == order.tolist() and scores.tolist() == every[order].tolist()


@pytest.mark.parametrize("metric", ["cosine", "dot"])
def test_no_score_leaves_its_bounds(metric: str) -> None:
    """The heart of the proof: the exact score lies between the bounds that the scan gave."""
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((2_000, 48)).astype(np.float32)
    rows[::3] = np.abs(rows[::3]) ** 3  # skewed rows lose most to rounding
    rows[5] = 0.0
    searcher = DenseSearcher.from_array(rows, metric=metric)  # type: ignore[arg-type]
    query = searcher.prepare(rng.standard_normal(48) ** 3)
    high, floor = searcher._scan(query, np.ones(2_000, np.bool_), 10)
    exact = searcher.score(query, np.arange(2_000))
    assert np.all(high >= exact)
    assert np.sort(exact)[-10] >= floor
    codes = Codes(rows, metric)  # type: ignore[arg-type]
    near = codes.codes.astype(np.float64) * codes.step[:, None]
    true = rows.astype(np.float64) * codes.inverse[:, None]
    assert np.all(np.linalg.norm(true - near, axis=1) <= codes.error)
    assert np.all(np.linalg.norm(near, axis=1) <= codes.size)


def test_the_rounding_of_the_query_is_part_of_the_bounds() -> None:
    """Rows of whole numbers lose nothing in 8 bits: all that lies between bound and score is the query's rounding."""
    rng = np.random.default_rng(4)
    rows = rng.integers(-126, 127, (2_000, 48)).astype(np.float32)
    rows[:, 0] = 127.0
    searcher = DenseSearcher.from_array(rows, metric="dot")
    query = searcher.prepare(rng.standard_normal(48))
    high, floor = searcher._scan(query, np.ones(2_000, np.bool_), 10)
    exact = searcher.score(query, np.arange(2_000))
    assert np.all(high >= exact)
    assert np.sort(exact)[-10] >= floor


def test_a_query_between_two_steps_finds_the_better_document() -> None:
    """Both components round to the same step; the better one stands behind more rows than are scored at first."""
    rows = np.array([[0.0, 0.0, 127.0]] * 70 + [[0.0, 127.0, 0.0]], np.float32)
    step = 1.0 / 32_767.0
    query = np.array([1.0, 10_000.4 * step, 10_000.2 * step])
    docs, scores = DenseSearcher.from_array(rows, metric="dot").search(query, 1)
    assert docs.tolist() == [70]
    assert scores.tolist() == [127.0 * query[1]]


def test_identical_documents_all_get_rescored_and_stay_in_order() -> None:
    rows = np.tile(np.array([[0.3, -0.2, 0.9]], np.float32), (300, 1))
    found = DenseSearcher.from_array(rows).find(np.array([1.0, 2.0, 3.0]), 5)
    assert found.docs.tolist() == [0, 1, 2, 3, 4]
    assert found.rescored == 300  # no bound can tell them apart


def test_few_rows_are_rescored_where_scores_differ() -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((20_000, 64)).astype(np.float32)
    query = rows[77] + 0.1 * rng.standard_normal(64)
    found = DenseSearcher.from_array(rows).find(query, 3)
    assert found.docs[0] == 77
    assert found.scanned == 20_000 and found.rescored < 400


def test_codes_of_wide_vectors_never_overflow() -> None:
    dim = 65_536
    rows = np.vstack([np.ones(dim), -np.ones(dim)]).astype(np.float32)
    docs, scores = DenseSearcher.from_array(rows, metric="dot").search(np.ones(dim), 2)
    assert docs.tolist() == [0, 1] and scores.tolist() == [float(dim), -float(dim)]
    query = DenseSearcher.from_array(rows).prepare(np.ones(dim))
    assert int(np.abs(query.codes.astype(np.int64)).sum()) * 127 < 2**31


def segments(folder: Path, rows: np.ndarray, cuts: list[int], deleted: list[int]) -> list[SegmentReader]:
    directory = FSDirectory(folder)
    directory.prepare()
    readers = []
    bounds = [0, *cuts, len(rows)]
    for i, (a, b) in enumerate(itertools.pairwise(bounds)):
        vectors = {} if i == 1 else {"text": rows[a:b]}
        n = b - a
        batch = SegmentBatch([f"{d}" for d in range(a, b)], [None] * n, [{}] * n, {}, vectors)
        reader = SegmentReader(directory, write_segment(directory, f"s{i:08d}-{i:08x}", batch, {}, {}))
        gone = np.array([d - a for d in deleted if a <= d < b])
        if len(gone):
            reader = SegmentReader(directory, delete_documents(directory, reader, gone))
        readers.append(reader)
    return readers


def test_segments_deletes_and_missing_vectors(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((300, 20)).astype(np.float32)
    rows[[4, 250]] = np.nan  # documents without a vector
    readers = segments(tmp_path / "c", rows, [100, 130, 131], [0, 99, 260])
    searcher = DenseSearcher.from_segments("dense", readers, "text")
    able = np.ones(300, np.bool_)
    able[[4, 250, 0, 99, 260]] = False
    able[100:130] = False  # a segment that has no such vectors
    assert searcher.n_vectors == able.sum()
    clean = np.nan_to_num(rows)
    whole = DenseSearcher.from_array(clean, able)
    for seed in range(4):
        query = np.random.default_rng(seed).standard_normal(20)
        for k in (1, 10, 1_000):
            docs, scores = searcher.search(query, k)
            other_docs, other_scores = whole.search(query, k)
            assert (docs.tolist(), scores.tolist()) == (other_docs.tolist(), other_scores.tolist())
    np.testing.assert_array_equal(np.isnan(searcher.score(query, np.arange(300))), ~able)
    np.testing.assert_array_equal(np.isnan(searcher.vectors(np.arange(300))).all(axis=1), ~able)
    again = DenseSearcher.from_segments("dense", readers, "text")
    again.search(query, 1)
    assert again._codes is not None and searcher._codes is not None
    assert again._codes[0] is searcher._codes[0]  # snapshots share the codes of a common segment


def test_threads_split_the_scan_without_changing_it() -> None:
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((1_000, 16)).astype(np.float32)
    parts = [Rows(rows[:10], np.ones(10, np.bool_)), Rows(rows[10:], np.ones(990, np.bool_))]
    one, three = DenseSearcher("d", parts), DenseSearcher("d", parts, threads=3)
    for k in (1, 50, 1_000):
        query = rng.standard_normal(16)
        a, b = one.search(query, k), three.search(query, k)
        assert (a[0].tolist(), a[1].tolist()) == (b[0].tolist(), b[1].tolist())


def test_many_threads_may_search_at_once() -> None:
    rng = np.random.default_rng(6)
    searcher = DenseSearcher.from_array(rng.standard_normal((800, 12)))
    queries = rng.standard_normal((16, 12))
    wanted = [searcher.search(q, 5)[0].tolist() for q in queries]
    found: list[list[int]] = [[]] * 16
    fresh = DenseSearcher.from_array(np.random.default_rng(6).standard_normal((800, 12)))

    def work(i: int) -> None:
        found[i] = fresh.search(queries[i], 5)[0].tolist()

    workers = [threading.Thread(target=work, args=(i,)) for i in range(16)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert found == wanted


def test_nothing_to_find() -> None:
    empty = DenseSearcher("d", [])
    assert empty.search(np.ones(3), 5)[0].tolist() == []
    searcher = DenseSearcher.from_array(np.eye(3))
    assert searcher.search(np.ones(3), 5, np.zeros(3, np.bool_))[0].tolist() == []
    assert searcher.score(np.ones(3), np.empty(0, np.int64)).tolist() == []


def test_the_exact_product_is_a_plain_sum() -> None:
    a, b = np.arange(11, dtype=np.float32), np.linspace(0, 1, 11)
    assert _kernels().dot(a, b) == pytest.approx(float(a.astype(float) @ b), rel=1e-15)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (np.ones(4), "a vector of 3 numbers"),
        (np.array([1.0, np.nan, 0.0]), "NaN"),
        (np.array([1.0, np.inf, 0.0]), "NaN or infinite"),
        (np.zeros(3), "no direction"),
    ],
)
def test_bad_queries(query: np.ndarray, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        DenseSearcher.from_array(np.eye(3)).search(query, 1)


def test_bad_arguments() -> None:
    searcher = DenseSearcher.from_array(np.eye(3))
    with pytest.raises(InvalidInput, match="k must be at least 1"):
        searcher.search(np.ones(3), 0)
    with pytest.raises(InvalidInput, match="a mask has one flag"):
        searcher.search(np.ones(3), 1, np.ones(2, np.bool_))
    with pytest.raises(InvalidInput, match="document numbers run"):
        searcher.score(np.ones(3), np.array([3]))
    with pytest.raises(InvalidInput, match="'cosine' or 'dot', not 'l2'"):
        DenseSearcher.from_array(np.eye(3), metric="l2")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="NaN or infinite"):
        DenseSearcher.from_array([[1.0, np.nan]])
    with pytest.raises(InvalidInput, match="several dimensions"):
        present = np.ones(2, np.bool_)
        DenseSearcher("d", [Rows(np.ones((2, 2), np.float32), present), Rows(np.ones((2, 3), np.float32), present)])
    with pytest.raises(InvalidInput, match="documents x dimensions"):
        DenseSearcher.from_array([1.0, 2.0])


@pytest.mark.parametrize("size", [1e-300, 1e-40, 1.0, 3e38, 1e308])
def test_a_direction_is_the_same_however_long_the_query(size: float) -> None:
    searcher = DenseSearcher.from_array([[3.0, 4.0], [4.0, 3.0], [-1.0, 0.0]])
    docs, scores = searcher.search([0.5 * size, 1.0 * size], 3)
    assert docs.tolist() == [0, 1, 2]
    assert scores == pytest.approx([11 / (5 * 5**0.5), 2 / 5**0.5, -1 / 5**0.5])


def test_a_dot_product_with_an_absurd_query_is_refused() -> None:
    searcher = DenseSearcher.from_array([[3.0, 4.0]], metric="dot")
    for query in ([3e38, 0.0], [1e-31, 0.0], [1e308, 1e308]):
        with pytest.raises(InvalidInput, match="dot products take 1e-30 to 1e30"):
            searcher.search(query, 1)
