"""Hybrid VL's tables over made-up score matrices: what they say, not what encoders find."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.base import Made
from experiments.catalogue import run_table
from experiments.hybridvl import sweeps, tables
from experiments.hybridvl.failures import CLASSES
from experiments.hybridvl.matrix import Scores
from experiments.hybridvl.refine import VARIANTS, Pool
from zipfian.evaluate.datasets.base import Dataset
from zipfian.evaluate.protocols import LooSummary, summarise


def made_up(dataset: Dataset, context: Any, captions: Any, own: int = 0) -> tuple[Pool, str]:
    """Cross scores are noise; texts agree with the right document."""
    rng = np.random.default_rng(own)
    docs = tuple(sorted(dataset.document_ids))
    queries = tuple(dataset.queries)
    cross = Scores(queries, docs, rng.random((len(queries), len(docs))))
    right = np.array([[float(d in dataset.qrels[q]) for d in docs] for q in queries])
    vectors = rng.standard_normal((len(docs), 4)).astype(np.float32)
    return Pool(cross, cross, cross.with_values(right), vectors), "fusion"


@pytest.fixture
def run(captions: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> Any:
    for module in (tables, sweeps):
        monkeypatch.setattr(module, "coarse_stage", made_up)

    def table(name: str) -> Made:
        return run_table(name, {"captions": captions[0], "images": captions[1], "split": Path("test")})

    return table


def test_reranking_variants(run: Any) -> None:
    found = run("hybridvl-figure3")
    rows = {(r["gallery"], r["direction"], r["method"]): r for r in found.rows}
    assert {g for g, _, _ in rows} == {"with captions (giveaway)", "other captions", "without captions"}
    assert rows["other captions", "t2i", "rerank cross+text"]["r@1"] == 1.0
    assert rows["other captions", "t2i", "rerank cross"]["r@1"] == rows["other captions", "t2i", "dense alone"]["r@1"]
    assert not any("paper" in column for column in found.columns)  # another dataset: in the notes only
    assert any("0.864" in note for note in found.notes)


def test_sweeps_keep_all_rows_and_show_a_few(run: Any) -> None:
    found = run("hybridvl-sweeps")
    assert len(found.rows) == 2 * (1 + len(VARIANTS) * (8 + 4))
    assert found.brief is not None and len(found.brief.rows) == 8 + 4
    at_ten = next(row for row in found.brief.rows if row["swept"] == "K = 10")
    coarse = next(r["r@10"] for r in found.rows if r["variant"] == "coarse" and r["gallery"] == "other captions")
    assert {at_ten[f"R@10 {v}"] for v in VARIANTS} == {coarse}
    assert f"R@10 {coarse:.4f}" in found.notes[0]


def test_every_class_of_errors_has_examples_or_says_so(run: Any) -> None:
    found = run("hybridvl-figure8")
    for kind in CLASSES:
        notes = [note for note in found.notes if note.startswith(kind)]
        assert notes
        failed = sum(row[kind] for row in found.rows)
        assert (notes == [f"{kind}: no method fails so"]) == (failed == 0)
    dense = next(row for row in found.rows if row["method"] == "dense")
    assert dense["failures"] == sum(dense[kind] for kind in CLASSES)


def test_a_fusion_is_also_compared_with_its_own_fields() -> None:
    values = {"words": (0.5, 0.5, 0.6), "aligned": (0.7, 0.7, 0.8), "dense": (0.9, 0.9, 0.9), "fusion": (0.8, 0.8, 1.0)}
    summary: LooSummary = summarise("r@10", values, "dense")
    (note,) = tables._against_own(summary, "fusion")
    assert note.startswith("fusion against aligned, the best of its own fields: +0.1333 in r@10, p ")
    assert not list(tables._against_own(summary, "rrf"))
    assert not list(tables._against_own(summarise("r@10", values, "aligned"), "fusion"))  # the table has it


def test_the_published_test_is_of_fusion_against_the_common_space() -> None:
    values = {"aligned": (0.7, 0.7, 0.8), "dense": (0.9, 0.9, 0.9), "fusion": (0.8, 0.8, 1.0)}
    queries = {name: {"a": runs[0], "b": runs[1], "c": runs[2], "d": 0.5} for name, runs in values.items()}
    bare = {"r@10": summarise("r@10", values, "dense")}
    (note,) = tables._published_test(bare)
    assert "fusion against the cross-modal vectors (aligned): +0.1333 in r@10, p .0572, d 2.31 over the runs" in note
    (note,) = tables._published_test({"r@10": summarise("r@10", values, "dense", queries)})
    assert note.endswith("over the runs; p .0917 over the 4 queries")
    assert not list(tables._published_test({"r@10": summarise("r@10", {"fusion": (0.1, 0.2)})}))
