"""The benchmarks' generators, their brute force and their tables; nothing here is timed."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import curves, report, workloads
from benchmarks.truth import CHECKED, Truth
from zipfian import BM25, SparseIndex

SHAPES = {
    "visual": workloads.Shape("visual", 300, 2_000, 1.5, 0.75, 1),
    "latent": workloads.Shape("latent", 200, 4_000, 8.0, 0.7, 2),
    "lexical": workloads.Shape("lexical", 400, 5_000, 1.2, 0.75, 3),
}


@pytest.mark.parametrize("kind", SHAPES)
def test_workloads_are_sound_and_repeatable(kind: str) -> None:
    shape = SHAPES[kind]
    made, again = workloads.generate(shape), workloads.generate(shape)
    assert np.array_equal(made.indices, again.indices) and np.array_equal(made.values, again.values)
    assert made.n_docs == shape.n_docs
    for indptr, terms, weights in (
        (made.indptr, made.indices, made.values),
        (made.q_indptr, made.q_terms, made.q_weights),
    ):
        assert indptr[-1] == len(terms) == len(weights)
        assert terms.min() >= 0 and terms.max() < shape.n_terms
        assert np.all(np.isfinite(weights)) and np.all(weights > 0)
        for a, b in pairwise(indptr):
            assert np.all(np.diff(terms[a:b]) > 0)
    if kind == "visual":
        assert np.all(np.diff(made.indptr) == 16)


@pytest.mark.parametrize("kind", SHAPES)
def test_brute_force_agrees_with_the_engine(kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shape = SHAPES[kind]
    monkeypatch.setenv("ZIPFIAN_BENCH_DATA", str(tmp_path))
    monkeypatch.setitem(workloads.SHAPES, "tiny", shape)
    made = workloads.load("tiny")
    truth = Truth("tiny", made)
    scoring = BM25(k1=shape.k1, b=shape.b, variant="lucene")
    index = SparseIndex.from_csr(made.indptr, made.indices, made.values, shape.n_terms, scoring=scoring)
    for i in range(0, CHECKED, 7):
        ids, scores = index.search(*made.query(i), k=10)
        np.testing.assert_allclose(scores, truth.best[i][: len(ids)], rtol=1e-12)
        np.testing.assert_allclose(scores, truth.scores(i, ids), rtol=1e-12)
        assert truth.recall(i, ids, 10) == 1.0
        assert truth.recall(i, ids[: len(ids) // 2], 10) < 1.0
    assert np.array_equal(Truth("tiny", workloads.load("tiny")).best, truth.best)


def test_the_table_puts_ratios_first() -> None:
    def engine(p50: float) -> dict[str, Any]:
        one = {"p50": p50, "p95": 2 * p50, "recall": 1.0, "unit_ms": 5.0}
        return {"k10": one, "k200": one, "build_s": 1.0, "index_bytes": 10**6, "version": "1", "scores": "bm25"}

    engines = {"zipfian": engine(0.5), "bm25s": engine(2.0), "scipy": engine(4.0)}
    record = {"workload": "w", "engines": engines, "left_out": {"pisa": "not installed"}, "passes": 3, "queries": 9}
    text = report.speed_table([record])
    assert "| w | **0.25** of bm25s | **0.25** of bm25s |" in text
    assert text.index("**0.25**") < text.index("0.500 / 1.000")
    assert "Left out: pisa (not installed)." in text


def test_a_workload_of_real_texts_is_made_by_its_own_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ZIPFIAN_BENCH_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"benchmarks\.real"):
        workloads.load("real")
    made = workloads.generate(SHAPES["latent"])
    workloads.save("real", made)
    kept = workloads.load("real")
    assert np.array_equal(kept.indices, made.indices)
    assert np.array_equal(kept.q_weights, made.q_weights)


def test_curves_measure_zipfian_in_turn_with_what_is_not_installed_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ZIPFIAN_BENCH_DATA", str(tmp_path))
    workloads.save("real", workloads.generate(SHAPES["latent"]))
    record = curves.run("real", ["zipfian", "kannolo"], k=5, passes=2, queries=3, processor=0)
    (point,) = record["engines"]["zipfian"]["points"]
    assert point["recall"] == 1.0
    assert len(point["passes"]) == 2
    assert "not installed" in record["left_out"].get("kannolo", "not installed")
    assert len(curves.settings_of("seismic")) > 3


def test_the_table_of_curves_sets_each_point_beside_zipfian() -> None:
    def engine(points: list[tuple[dict[str, Any], float, float]]) -> dict[str, Any]:
        made = [{"settings": s, "recall": recall, "p50": p50, "p95": 2 * p50} for s, recall, p50 in points]
        return {"points": made, "build_s": 1.0, "index_bytes": 2 * 10**6, "version": "1"}

    engines = {"zipfian": engine([({}, 1.0, 0.5)]), "seismic": engine([({"cut": 3}, 0.7, 0.1), ({"cut": 9}, 0.9, 1.0)])}
    text = curves.table([{"workload": "w", "documents": 1000, "k": 10, "engines": engines, "left_out": {"x": "why"}}])
    assert "| zipfian 1 | exact | 1.000 | 0.500 / 1.000 | 1.00 | 1.0 | 2 |" in text
    assert "| seismic 1 | cut 9 | 0.900 | 1.000 / 2.000 | 2.00 |  |  |" in text
    assert "Left out: x (why)." in text
