"""Hybrid VL's tables over toy encoders and heads: both directions, both galleries, and every row there."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.catalogue import run_table
from experiments.hybridvl import index
from zipfian.evaluate.datasets import CaptionSet


@pytest.fixture
def data(photos: CaptionSet, tmp_path: Path) -> dict[str, Path]:
    return {"captions": tmp_path / "captions.jsonl", "images": tmp_path / "images", "split": Path("test")}


def test_a_method_without_one_direction_has_empty_cells(data: dict[str, Path], tmp_path: Path) -> None:
    made = run_table("hybridvl-table2", {**data, "methods": Path("aligned,fusion")}, tmp_path / "out")
    rows = {row["method"]: row for row in made.rows}
    assert rows["fusion"]["i2t_r@10"] is None and rows["fusion"]["t2i_r@10"] == 1.0
    assert [name for name, _ in made.plots["hybridvl-table2"].series["i2t"]] == ["aligned"]
    assert (tmp_path / "out" / "hybridvl-table2.svg").is_file()


def test_the_reranker_is_shown_with_and_without_the_giveaway(data: dict[str, Path]) -> None:
    made = run_table("hybridvl-figure3", data)
    galleries = {(row["gallery"], row["direction"]) for row in made.rows}
    assert galleries == {
        ("with captions (giveaway)", "t2i"), ("with captions (giveaway)", "i2t"),
        ("other captions", "t2i"), ("other captions", "i2t"), ("without captions", "t2i"),
    }  # fmt: skip
    assert all(row["coarse stage"] == "dense" for row in made.rows if row["gallery"] == "without captions")
    headline = run_table("hybridvl-table3", data)
    assert {row["setting"].partition(",")[0] for row in headline.rows} == {"VAL-only", "FAIR-LOO"}
    assert not any("paper" in column for column in headline.columns), "another dataset: not beside ours"
    assert any("published" in note for note in headline.notes)


def test_sweeps_and_errors_use_the_fair_gallery(data: dict[str, Path]) -> None:
    made = run_table("hybridvl-sweeps", data)
    assert {row["gallery"] for row in made.rows} == {"with captions (giveaway)", "other captions"}
    assert len(made.rows) == 2 * (1 + 4 * (8 + 4)), "and the coarse stage alone"
    assert len(made.plots["hybridvl-k-latency"].series["all"]) == 4
    errors = run_table("hybridvl-figure8", data)
    assert "gallery: other captions" in errors.notes[0]
    assert [row["queries"] for row in errors.rows] == [5, 5, 5]


def test_the_fusion_weight_is_chosen_on_one_half(data: dict[str, Path]) -> None:
    made = run_table("hybridvl-figure5", data)
    assert len(made.rows) == 2 * 21
    assert set(made.settings["chosen"]) == {"with captions (giveaway)", "other captions"}


def test_indexes_are_compared_on_the_space_of_texts_and_pictures(
    data: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("faiss")
    monkeypatch.setattr(index, "FAMILIES", {"flat": "flat", "hnsw": "hnsw32"})  # codebooks need more than five pictures
    made = run_table("hybridvl-figure6", data)
    rows = {row["index"]: row for row in made.rows}
    assert rows["flat"]["overlap@10"] == rows["flat"]["refined overlap@10"] == 1.0
    assert rows["flat"]["R@10"] == 1.0, "there are fewer than ten pictures"
    assert all(row["reranked R@10"] == 1.0 for row in made.rows), "words find what an index passed over"
    assert "in the space shared with texts" in made.notes[0] and "other captions" in made.notes[2]
