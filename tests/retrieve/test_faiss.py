"""FAISS first stages: exact scores whatever the index, filters obeyed."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from zipfian.errors import InvalidInput, MissingExtra
from zipfian.retrieve import faiss_index
from zipfian.retrieve.dense import DenseSearcher
from zipfian.retrieve.faiss_index import FAMILIES, FaissIndex, FaissSettings, fitted, nearest_divisor

N, DIM = 800, 16


@pytest.fixture(scope="module")
def searcher() -> DenseSearcher:
    pytest.importorskip("faiss", reason="the extra 'faiss' is not installed")
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((30, DIM))
    rows = (centres[rng.integers(0, 30, N)] + 0.6 * rng.standard_normal((N, DIM))).astype(np.float32)
    rows[[3, 700]] = np.nan
    return DenseSearcher.from_array(rows)


@pytest.fixture(scope="module")
def indexes(searcher: DenseSearcher) -> dict[str, FaissIndex]:
    return {name: FaissIndex.build(searcher, name) for name in FAMILIES}


def queries(n: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((n, DIM))


@pytest.mark.parametrize("name", FAMILIES)
def test_exact_scores_and_fair_recall(searcher: DenseSearcher, indexes: dict[str, FaissIndex], name: str) -> None:
    index = indexes[name]
    hits = 0
    for query in queries(20):
        found = index.find(query, 10)
        assert found.fallback is None and found.shortlist >= len(found.docs)
        assert found.scores.tolist() == searcher.score(query, found.docs).tolist()
        assert np.all(np.diff(found.scores) <= 0)
        assert not {3, 700} & set(found.docs.tolist())
        hits += len(set(found.docs.tolist()) & set(searcher.search(query, 10)[0].tolist()))
    floor = {"flat": 200, "hnsw": 196, "bm25v-hnsw": 196, "bm25v-ivfpq": 10}.get(name, 100)  # of 200
    assert hits >= floor, f"{name}: {hits} of 200"


def test_flat_is_the_exact_search(searcher: DenseSearcher, indexes: dict[str, FaissIndex]) -> None:
    for query in queries(10):
        docs, scores = indexes["flat"].search(query, 25)
        wanted_docs, wanted = searcher.search(query, 25)
        assert (docs.tolist(), scores.tolist()) == (wanted_docs.tolist(), wanted.tolist())


@pytest.mark.parametrize("name", FAMILIES)
def test_filters_are_obeyed(searcher: DenseSearcher, indexes: dict[str, FaissIndex], name: str) -> None:
    for share in (0.5, 0.01):
        mask = np.random.default_rng(7).random(N) < share
        for query in queries(5):
            found = indexes[name].find(query, 10, mask)
            assert len(found.docs) == min(10, int((mask & searcher.present).sum()))
            assert mask[found.docs].all()
            if found.fallback is not None:
                assert "scanned exactly" in found.fallback
                assert found.docs.tolist() == searcher.search(query, 10, mask)[0].tolist()
    nobody = indexes[name].find(queries(1)[0], 10, np.zeros(N, np.bool_))
    assert len(nobody.docs) == 0


def test_a_filter_the_probed_cells_do_not_hold_falls_back(
    searcher: DenseSearcher, indexes: dict[str, FaissIndex]
) -> None:
    query = queries(1)[0]
    worst = np.argsort(np.nan_to_num(searcher.score(query, np.arange(N)), nan=1.0), kind="stable")[:12]
    mask = np.zeros(N, np.bool_)
    mask[worst] = True
    found = indexes["bm25v-ivfpq"].find(query, 10, mask)
    assert found.fallback is not None and len(found.docs) == 10


def test_building_twice_gives_the_same_index(searcher: DenseSearcher, indexes: dict[str, FaissIndex]) -> None:
    for name in ("ivf-pq", "opq16", "hnsw"):
        assert FaissIndex.build(searcher, name).to_bytes() == indexes[name].to_bytes(), name


def test_cells_probed_are_counted(searcher: DenseSearcher, indexes: dict[str, FaissIndex]) -> None:
    found = indexes["bm25v-ivfpq"].find(queries(1)[0], 10)
    assert found.scanned is not None and 0 < found.scanned < N // 2
    assert indexes["flat"].find(queries(1)[0], 10).scanned == searcher.n_vectors


def test_what_does_not_fit_is_changed_and_said() -> None:
    assert nearest_divisor(384, 48) == 48
    assert nearest_divisor(384, 50) == 48
    assert nearest_divisor(1280, 48) == 40
    assert nearest_divisor(7, 4) == 7
    ready, notes = fitted(FAMILIES["bm25v-ivfpq"], 100_000, 1280)
    assert (ready.m, ready.bits, ready.lists) == (40, 8, 100)
    assert notes == ("m=48 does not divide 1280: m=40",)
    small, notes = fitted(FAMILIES["ivf-pq"], 1_000, 384)
    assert small.lists == 25 and small.bits == 4 and small.probes == 16
    assert any("lists are too many" in n for n in notes) and any("4 bits" in n for n in notes)
    assert fitted(FAMILIES["ivf-flat"], 100_000, 384)[0].lists == round(4 * 100_000**0.5)
    assert fitted(FAMILIES["bm25v-ivfpq"], 1_300, 384)[0].bits == 5


@pytest.mark.parametrize("name", sorted(FAMILIES))
@pytest.mark.parametrize("n", [1, 15, 16, 23, 24])
def test_a_handful_of_vectors_is_indexed_or_refused_in_words(name: str, n: int) -> None:
    pytest.importorskip("faiss", reason="the extra 'faiss' is not installed")
    few = DenseSearcher.from_array(np.eye(24, dtype=np.float32)[:n])
    least = {"ivf-pq": 16, "opq-pq": 24}.get(FAMILIES[name].family, 1)  # FAISS itself dies of OPQ under 24 dimensions
    if n < least:
        with pytest.raises(InvalidInput, match=f"at least {least} vectors, there are {n}: use 'flat'"):
            FaissIndex.build(few, name)
        return
    assert FaissIndex.build(few, name).find(np.eye(24, dtype=np.float32)[0], 1).docs.tolist() == [0]


def test_bad_input(searcher: DenseSearcher, indexes: dict[str, FaissIndex]) -> None:
    with pytest.raises(InvalidInput, match="unknown FAISS index 'annoy'"):
        FaissIndex.build(searcher, "annoy")
    with pytest.raises(InvalidInput, match="unknown FAISS family"):
        fitted(FaissSettings("tree"), 10, 4)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="no vectors"):
        FaissIndex.build(DenseSearcher("d", []), "flat")
    with pytest.raises(InvalidInput, match="k must be at least 1"):
        indexes["flat"].search(np.ones(DIM), 0)
    with pytest.raises(InvalidInput, match="NaN"):
        indexes["flat"].search(np.full(DIM, np.nan), 1)
    with pytest.raises(InvalidInput, match="a mask has one flag"):
        indexes["flat"].search(np.ones(DIM), 1, np.ones(3, np.bool_))


def test_without_faiss_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtra, match=r"pip install 'zipfian\[faiss\]'"):
        FaissIndex.build(DenseSearcher.from_array(np.eye(3)), "flat")


@pytest.mark.parametrize("metric", ["cosine", "dot"])
def test_rows_are_copied_some_at_a_time(metric: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.random.default_rng(4).standard_normal((50, 8)).astype(np.float32)
    vectors[[3, 17]] = np.nan  # documents without a vector
    vectors[5] = 0.0
    searcher = DenseSearcher.from_array(vectors, metric=metric)
    whole = faiss_index._rows(searcher)
    there = vectors[searcher.present].astype(np.float64)
    size = np.linalg.norm(there, axis=1, keepdims=True)
    unit = there if metric == "dot" else there / np.where(size > 0.0, size, 1.0)
    np.testing.assert_allclose(whole, unit, rtol=1e-6)
    monkeypatch.setattr(faiss_index, "_ROWS_AT_ONCE", 7)
    assert np.array_equal(faiss_index._rows(searcher), whole)
