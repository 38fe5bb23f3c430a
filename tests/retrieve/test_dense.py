"""Dense search: the same documents and scores as plain numpy, proved by the bounds and not by luck."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zipfian.errors import InvalidInput
from zipfian.index.segment import SegmentReader, delete_documents, write_segment
from zipfian.retrieve.codes import Codes, scan_kernels
from zipfian.retrieve.dense import DenseSearcher, Rows
from zipfian.retrieve.kernels import dense, nibbles
from zipfian.retrieve.scan import scan
from zipfian.retrieve.together import TOGETHER
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


def hard_rows(kind: str, rng: np.random.Generator) -> np.ndarray:
    """Rows that bounds may fail on, each kind in its own way."""
    rows = rng.standard_normal((400, 48))
    if kind == "skewed":  # most of a row is lost to rounding
        rows = np.abs(rows) ** 5
    elif kind == "one way":  # next to nothing is left when the common direction is taken away
        rows = np.ones(48) + 1e-3 * rows
    elif kind == "copies":
        rows = np.tile(rows[:4], (100, 1))
    elif kind == "lengths":
        rows *= np.exp(rng.uniform(-60, 60, (400, 1)))
    elif kind == "faint":  # below the smallest normal number of 32 bits
        rows *= 1e-41
    elif kind == "whole":
        rows = rng.integers(-3, 4, (400, 48)).astype(float)
    rows[5] = 0.0
    return rows.astype(np.float32)


KINDS = ["plain", "skewed", "one way", "copies", "lengths", "faint", "whole"]


@pytest.mark.parametrize("metric", ["cosine", "dot"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_row_is_ruled_out_that_reaches_the_floor(metric: str, kind: str) -> None:
    """The heart of the proof: a floor that is just the score of a row leaves this row in, whatever the query."""
    rng = np.random.default_rng(3)
    rows = hard_rows(kind, rng)
    searcher = DenseSearcher.from_array(rows, metric=metric)  # type: ignore[arg-type]
    (codes,) = searcher._ready()
    assert codes is not None
    common = codes.direction
    lost = rows[7] * codes.inverse[7] - numbers_of(codes, 7) - float(codes.coded.about[7, 2]) * common
    queries = [rng.standard_normal(48) ** 3, common, -common, common + 1e-4 * rng.standard_normal(48), rows[7] + common]
    if np.abs(lost).max() > 1e-20:
        queries.append(lost)  # nothing that Cauchy-Schwarz allows for goes unused
    allowed = np.ones(len(rows), np.bool_)
    kernels = scan_kernels()
    for query in map(searcher.prepare, queries):
        exact = searcher.score(query, np.arange(len(rows)))
        asked = codes.ask([query])
        for d, score in enumerate(exact.tolist()):
            best = room(1, len(rows), len(rows))
            best.floor[0] = score
            kernels.scan(codes.coded, asked, allowed, d, d + 1, 0, len(rows), best)
            assert best.looked[0] + best.left[0] == 1
            if best.left[0]:
                assert best.far[0, 0] == d and best.far_high[0, 0] >= score
            else:
                assert best.near[0, 0] == d and best.near_high[0, 0] >= score >= best.low[0, 0]
        high = np.empty(len(rows))
        kernels.look_closer(codes.coded, asked, 0, np.arange(len(rows)), high)
        assert np.all(high >= exact)
        for found in scan([(codes, 0)], [query], allowed, 10, 1):
            assert found.floor <= np.sort(exact)[-10]


def test_a_document_that_four_bits_place_too_low_is_looked_at_again() -> None:
    """The better of two comes second, and all that it is better by is what rounding took from it."""
    rng = np.random.default_rng(6)
    rows = 1e-4 * rng.standard_normal((300, 48))
    rows[2:] *= 1e-3

    def lost() -> np.ndarray:
        codes = Codes(rows.astype(np.float32), "dot")
        found: np.ndarray = rows[1] - numbers_of(codes, 1) - float(codes.coded.about[1, 2]) * codes.direction
        return found

    rows[0] = rows[1]
    rows[0] -= 0.3 * lost()
    docs, scores = DenseSearcher.from_array(rows, metric="dot").search(1e4 * lost(), 1)
    assert docs.tolist() == [1]
    assert scores == pytest.approx([float(1e4 * lost() @ rows[1])], rel=1e-5)


def numbers_of(codes: Codes, row: int) -> np.ndarray:
    """What the upper four bits of a row say of it."""
    both = codes.coded.upper[row]
    upper = np.concatenate([both & 15, both >> 4])[: len(codes.direction)].astype(np.float64)
    found: np.ndarray = (16.0 * upper - 120.0) * float(codes.coded.about[row, 0])
    return found


def room(queries: int, rows: int, k: int) -> Any:
    """An empty result of the scan."""
    lists = [
        part
        for _ in range(2)
        for part in (np.zeros(queries, np.int64), np.empty((queries, rows), np.int64), np.empty((queries, rows)))
    ]
    heap = np.empty((queries, k)), np.empty((queries, k), np.int64), np.zeros(queries, np.int64)
    return scan_kernels().Best(*heap, np.full(queries, -np.inf), *lists)


@pytest.mark.parametrize("metric", ["cosine", "dot"])
@pytest.mark.parametrize("kind", KINDS)
def test_codes_say_how_far_they_are_off(metric: str, kind: str) -> None:
    rows = hard_rows(kind, np.random.default_rng(8))
    codes = Codes(rows, metric)  # type: ignore[arg-type]
    coded, u = codes.coded, codes.direction
    both = np.concatenate([coded.upper & 15, coded.upper >> 4], axis=1)[:, :48].astype(np.float64) * 16
    lower = np.concatenate([coded.lower & 15, coded.lower >> 4], axis=1)[:, :48].astype(np.float64)
    true = rows.astype(np.float64) * codes.inverse[:, None]
    for about, numbers in ((coded.about, both - 120.0), (coded.about_both, both + lower - 127.5)):
        step, size, along, error = about.astype(np.float64).T[:, :, None]
        near = numbers * step
        lost = true - near - along * u
        assert np.all(np.linalg.norm(lost, axis=1) <= error[:, 0])
        assert np.all(np.linalg.norm(near, axis=1) <= size[:, 0])
        assert np.all(np.abs(lost @ u) <= 1.2e-7 * np.abs(along[:, 0]) + 1e-13 * size[:, 0] + 1e-44)


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.booleans())
@settings(max_examples=50, deadline=None)
def test_the_fast_product_of_codes_is_the_plain_one(seed: int, steps: int, extreme: bool) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 256, (3, 32 * steps)).astype(np.uint8)
    query = rng.integers(-127, 128, 64 * steps).astype(np.int8)
    if extreme:
        codes[:] = 255
        query[:] = rng.choice([-127, 127], len(query)) if seed % 2 else 127
    for row in range(3):
        parts = np.concatenate([codes[row] & 15, codes[row] >> 4]).astype(np.int64)
        wanted = int(parts @ query.astype(np.int64))
        assert nibbles.dot_plainly(codes, row, query) == fast_product(codes, row, query) == wanted


@numba.njit
def fast_product(codes: np.ndarray, row: int, query: np.ndarray) -> int:
    return nibbles.dot_nibbles(codes, row, query)  # type: ignore[no-any-return]


@pytest.mark.parametrize("metric", ["cosine", "dot"])
def test_numbers_that_32_bits_hardly_hold(metric: str) -> None:
    """Lengths and products that overflow 32 bits rule nothing out."""
    rng = np.random.default_rng(2)
    rows = (rng.uniform(0.5, 1.0, (300, 40)) * 3e38).astype(np.float32)
    rows[::2] *= 1e-20
    searcher = DenseSearcher.from_array(rows, metric=metric)  # type: ignore[arg-type]
    for query in (np.ones(40), rng.standard_normal(40)):
        check(searcher, rows, query, 7, np.ones(300, np.bool_))


def test_vectors_that_point_one_way_are_told_apart() -> None:
    """As those of many encoders: all cosines lie near .8, and what tells them apart is a small rest."""
    rng = np.random.default_rng(12)
    rows = (2.0 * np.ones(64) / 8 + rng.standard_normal((20_000, 64)) / 8).astype(np.float32)
    searcher = DenseSearcher.from_array(rows)
    query = searcher.prepare(rows[77])
    allowed = np.ones(len(rows), np.bool_)
    check(searcher, rows, query.vector, 10, allowed)
    (codes,) = searcher._ready()
    assert codes is not None
    best = room(1, len(rows), 10)
    best.floor[0] = searcher.find(query, 10).scores[-1]
    scan_kernels().scan(codes.coded, codes.ask([query]), allowed, 0, len(rows), 0, 10, best)
    assert best.left[0] + best.looked[0] < 1_000


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_queries_together_find_what_each_finds_alone(data: st.DataObject) -> None:
    seed = data.draw(st.integers(0, 1_000))
    rng = np.random.default_rng(seed)
    n, dim = data.draw(st.integers(1, 600)), data.draw(st.integers(1, 130))
    rows = np.round(rng.standard_normal((n, dim)), data.draw(st.integers(0, 3))).astype(np.float32)
    rows *= data.draw(st.sampled_from([1.0, 1e-4]))
    cut = data.draw(st.integers(0, n))
    parts = [Rows(rows[:cut], rng.random(cut) < 0.9), Rows(rows[cut:], rng.random(n - cut) < 0.9)]
    metric = data.draw(st.sampled_from(["cosine", "dot"]))
    searcher = DenseSearcher("d", parts, metric)
    mask = rng.random(n) < data.draw(st.sampled_from([0.02, 0.5, 1.0]))
    queries = list(rng.standard_normal((data.draw(st.integers(0, 20)), dim)))
    k = data.draw(st.integers(1, 30))
    together = searcher.find_many(queries, k, mask)
    assert len(together) == len(queries)
    for query, found in zip(queries, together, strict=True):
        every = np.where(searcher.allowed(mask), searcher.score(query, np.arange(n)), -np.inf)
        order = np.lexsort((np.arange(n), -every))[: min(k, int(searcher.allowed(mask).sum()))]
        assert found.docs.tolist() == order.tolist()
        assert found.scores.tolist() == every[order].tolist()


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


def test_threads_split_the_scan_without_changing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((1_000, 16)).astype(np.float32)
    parts = [Rows(rows[:10], np.ones(10, np.bool_)), Rows(rows[10:], np.ones(990, np.bool_))]
    monkeypatch.setattr("zipfian.retrieve.scan._THREAD_BYTES", 1)
    monkeypatch.setattr("zipfian.retrieve.scan._BLOCK_BYTES", 1_024)
    one, three = DenseSearcher("d", parts, threads=1), DenseSearcher("d", parts, threads=3)
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


def counted(searcher: DenseSearcher, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many queries each scan of a searcher was for, from now on."""
    sizes: list[int] = []

    def noted(parts: Any, queries: Any, *how: Any) -> Any:
        sizes.append(len(queries))
        return scan(parts, queries, *how)

    monkeypatch.setattr("zipfian.retrieve.dense.scan", noted)
    return sizes


def test_expected_queries_share_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    searcher = DenseSearcher.from_array(rng.standard_normal((800, 12)))
    queries = rng.standard_normal((11, 12))
    wanted = [searcher.search(q, 5) for q in queries]
    deeper = [searcher.search(q, 9)[0].tolist() for q in queries]
    mask = rng.random(800) < 0.5
    masked = searcher.search(queries[0], 5, mask)[0].tolist()
    sizes = counted(searcher, monkeypatch)
    with searcher.expecting(queries):
        assert sizes == []  # nothing is scanned that nobody asks for
        for query, (docs, scores) in zip(queries[::-1], wanted[::-1], strict=True):
            found = searcher.search(query, 5)
            assert (found[0].tolist(), found[1].tolist()) == (docs.tolist(), scores.tolist())
        assert sizes == [TOGETHER, 11 - TOGETHER]
        assert searcher.search(queries[3], 5)[0].tolist() == wanted[3][0].tolist()  # the same query twice in a batch
        assert sizes == [TOGETHER, 11 - TOGETHER]
        assert searcher.search(queries[3], 9)[0].tolist() == deeper[3]
        assert searcher.search(queries[0], 5, mask)[0].tolist() == masked
        assert sizes == [TOGETHER, 11 - TOGETHER, 1, 1]
    assert searcher.search(queries[3], 5)[0].tolist() == wanted[3][0].tolist()
    assert sizes == [TOGETHER, 11 - TOGETHER, 1, 1, 1]


def test_expected_queries_of_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is scanned once, whoever asks, and two batches at a time do not disturb each other."""
    rng = np.random.default_rng(7)
    searcher = DenseSearcher.from_array(rng.standard_normal((3_000, 24)))
    batches = rng.standard_normal((2, 24, 24))
    wanted = {q.tobytes(): searcher.search(q, 5)[0].tolist() for batch in batches for q in batch}
    sizes = counted(searcher, monkeypatch)

    def ask(query: np.ndarray) -> bool:
        return searcher.search(query, 5)[0].tolist() == wanted[query.tobytes()]

    def run(batch: np.ndarray) -> bool:
        with searcher.expecting(batch), ThreadPoolExecutor(4) as pool:
            return all(pool.map(ask, batch))

    with ThreadPoolExecutor(2) as pool:
        assert all(pool.map(run, batches))
    assert sum(sizes) == 48 and len(sizes) < 48


def test_a_shared_scan_that_fails_fails_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    searcher = DenseSearcher.from_array(np.eye(4))
    queries = np.eye(4)[:2]

    def broken(*_: Any) -> Any:
        raise MemoryError("no room")

    with searcher.expecting(queries):
        with monkeypatch.context() as patched:
            patched.setattr("zipfian.retrieve.dense.scan", broken)
            with pytest.raises(MemoryError, match="no room"):
                searcher.search(queries[0], 1)
        with pytest.raises(MemoryError, match="no room"):
            searcher.search(queries[1], 1)
    assert searcher.search(queries[1], 1)[0].tolist() == [1]


def test_nothing_to_find() -> None:
    empty = DenseSearcher("d", [])
    assert empty.search(np.ones(3), 5)[0].tolist() == []
    searcher = DenseSearcher.from_array(np.eye(3))
    assert searcher.search(np.ones(3), 5, np.zeros(3, np.bool_))[0].tolist() == []
    assert searcher.score(np.ones(3), np.empty(0, np.int64)).tolist() == []


def test_the_exact_product_is_a_plain_sum() -> None:
    a, b = np.arange(11, dtype=np.float32), np.linspace(0, 1, 11)
    assert dense.dot(a, b) == pytest.approx(float(a.astype(float) @ b), rel=1e-15)


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
