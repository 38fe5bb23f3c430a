"""The caption protocols over toy encoders and heads: texts find pictures, pictures find texts, tables are whole."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.collection.models.conftest import picture
from tests.toys import ToyImage, ToyText, toy_alignment, toy_vocabulary
from zipfian import Leg
from zipfian.encode.cache import EncodingCache
from zipfian.errors import InvalidInput
from zipfian.evaluate import build
from zipfian.evaluate.datasets import CaptionSet, Dataset, load_captions
from zipfian.evaluate.lab import Options, compare_captions, compare_loo
from zipfian.evaluate.protocols import karpathy, val_only
from zipfian.evaluate.tables import run_table

COLOURS = {"dog": (255, 0, 0), "cat": (0, 255, 0), "car": (0, 0, 255), "sun": (0, 0, 0), "puppy": (200, 0, 0)}
"""What the toys understand: the direction of each word is that of its colour."""
QUIET = Options(timed=False, measures=("r@1", "r@5"))


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CaptionSet:
    """Five pictures of one colour each, five captions that name what the toys see in it."""
    rows = []
    for name, colour in COLOURS.items():
        (tmp_path / "images").mkdir(exist_ok=True)
        picture(tmp_path / "images" / f"{name}.png", colour)
        captions = [f"a {name} {word}" for word in ("here", "there", "again", "outside", "alone")]
        rows.append(json.dumps({"image": f"{name}.png", "split": "test", "captions": captions}))
    (tmp_path / "captions.jsonl").write_text("\n".join(rows))
    sae = toy_vocabulary(tmp_path / "toy-sae")
    align = str(toy_alignment(tmp_path / "toy-align", sae))
    text, image = ToyText(), ToyImage()

    def make_legs(names: Sequence[str], dataset: Dataset, encoder: Any = None) -> dict[str, Leg]:
        source: Any = "image" if "image" in next(dataset.documents()) else "text"
        across = {"model": align, "text": text, "image": image}
        made = {
            "words": Leg.words, "latent": lambda: Leg.latent(sae, encoder=text),
            "dense": lambda: Leg.dense(encoder=text),
            "aligned": lambda: Leg.aligned(source, **across), "translated": lambda: Leg.translated(source, **across),
        }  # fmt: skip
        visual = {"visual": Leg.visual(sae, encoder=image)} if source == "image" and "translated" in names else {}
        return {**visual, **{name: made[name]() for name in names}}

    class OwnCache(EncodingCache):
        def __init__(self) -> None:
            super().__init__(tmp_path / "encodings")

    monkeypatch.setattr("zipfian.collection.opening.EncodingCache", OwnCache)
    monkeypatch.setattr(build, "make_legs", make_legs)
    return load_captions(tmp_path / "captions.jsonl", tmp_path / "images")


def test_both_directions_of_every_method(photos: CaptionSet) -> None:
    names = ["aligned", "translated", "hybrid", "rrf", "fusion", "training-free"]
    found = compare_captions(karpathy(photos), names, QUIET).methods
    for way in ("t2i", "i2t"):
        assert found["aligned"][f"{way}_r@1"] >= 0.6  # "dog" and "puppy" are one direction to the toys
        assert found["hybrid"][f"{way}_r@5"] >= 0.8  # of 25 captions, five of which the toys cannot tell apart
        assert found["training-free"][f"{way}_r@1"] == found["aligned"][f"{way}_r@1"]  # no texts: cross-modal alone
    assert not any(key.startswith("i2t") for key in found["fusion"])
    assert found["translated"]["t2i_postings"] > 0
    assert found["hybrid"]["index_bytes"] > found["translated"]["index_bytes"] > 0


def test_text_methods_are_refused_where_pictures_have_no_texts(photos: CaptionSet) -> None:
    for name in ("words", "latent", "dense", "tfidf"):
        with pytest.raises(InvalidInput, match=f"'{name}' reads texts, .*karpathy-t2i are searched without any"):
            compare_captions(karpathy(photos), ["aligned", name], QUIET)
    with pytest.raises(InvalidInput, match="take a protocol with captions"):
        compare_captions(val_only(photos, gallery_texts=False), ["words"], QUIET)
    assert compare_captions(val_only(photos), ["words"], QUIET).methods["words"]["t2i_r@1"] == 1.0


def test_leave_one_out_compares_with_the_best_leg_there_is(photos: CaptionSet) -> None:
    names = ["words", "latent", "dense", "aligned", "translated", "hybrid"]
    found = compare_loo(photos, names, options=Options(timed=False))["mrr"]
    assert found.reference in names[:5]
    assert set(found.tests) == set(names) - {found.reference}
    assert found.mean("hybrid") == 1.0  # the other captions name the thing


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
