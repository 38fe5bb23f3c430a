"""What the tables of BM25-V say of their rows: which use each is of, and what of the paper comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from experiments.bm25v import cost, tables
from experiments.catalogue import run_table
from experiments.kinds import NOW
from tests.collection.models.conftest import picture
from tests.toys import ToyImage, toy_vocabulary
from zipfian.encode.cache import EncodingCache
from zipfian.evaluate.compare import run_all
from zipfian.evaluate.methods import Method
from zipfian.fields import Dense, Field, Visual
from zipfian.vocabulary.presets import PRESETS, FieldDefaults
from zipfian.vocabulary.sae import SaeVocabulary

COLOURS = {"cat": (255, 0, 0), "dog": (0, 255, 0), "fox": (0, 0, 255)}


@pytest.fixture
def pets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pictures of three classes and one of each that asks, with toys in the place of encoder and vocabulary."""
    for name, colour in COLOURS.items():
        for part in ("gallery", "query"):
            (tmp_path / "pets" / part / name).mkdir(parents=True)
        for shade in range(2, 10):  # 24 in all: fewer teach IVF-PQ nothing
            dark = (colour[0] // shade, colour[1] // shade, colour[2] // shade)
            picture(tmp_path / "pets" / "gallery" / name / f"{shade}.png", dark)
        picture(tmp_path / "pets" / "query" / name / "q.png", colour)
    encoder, vocabulary = ToyImage(), toy_vocabulary(tmp_path / "toy-sae", k=1)

    class OwnCache(EncodingCache):
        def __init__(self) -> None:
            super().__init__(tmp_path / "encodings")

    monkeypatch.setattr("zipfian.collection.opening.EncodingCache", OwnCache)
    monkeypatch.setattr(tables, "Visual", lambda **use: Visual(vocabulary, encoder=encoder, **use))
    for module in (tables, cost):
        monkeypatch.setattr(module, "Dense", lambda _: Dense(encoder=encoder))
    return tmp_path / "pets"


def row(k: int, ours: float, paper: float | None) -> dict[str, Any]:
    return {"k": k, "R@1": ours, "R@1, query weighted": (1.0 + ours) / 3.0, "R@1 paper (CUB)": paper}


def test_how_much_stays_at_the_largest_k() -> None:
    (note,) = tables._collapse([row(16, 0.8, 0.5), row(128, 0.2, 0.04)])
    assert "from k=16 to k=128 the paper keeps 8% of R@1" in note
    assert "here 25% stay, and 67% where a query's terms count what they weigh" in note
    assert not list(tables._collapse([row(16, 0.8, 0.5)])) and not list(
        tables._collapse([row(8, 1, None), row(16, 1, 1)])
    )


def test_bm25_and_dot_are_compared_in_the_use_of_the_paper_first(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Field] = {}

    def rows(_: Any, fields: Mapping[str, Field], scorings: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
        seen.update(fields)
        return {(name, label): {"R@1": 0.7 if label == "BM25" else 0.6} for name in fields for label in scorings}

    pets = SimpleNamespace(name="pets", n_docs=3, queries={"a": None})
    monkeypatch.setattr(tables, "load_class_folders", lambda _: pets)
    monkeypatch.setattr(tables, "_visual_rows", rows)
    made = run_table("bm25v-bm25-dot", {"pets": Path("pets")})
    assert [(r["use"], r["k_post"], r["scoring"]) for r in made.rows] == [
        (use, k_post, scoring)
        for use, k_post in (("bm25-v", "16"), ("default", "16"), ("default", "all"))
        for scoring in ("BM25", "Dot")
    ]
    assert seen["bm25-v-16"] == Visual(preset="bm25-v")
    assert seen["default-all"] == Visual(k_post=None)
    assert "used as in the paper, 10.0 points lie between them" in made.notes[1]


def test_other_vocabularies_are_used_as_in_the_paper_and_as_ours(
    pets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Visual] = []

    def visual(path: Path, **use: Any) -> Visual:
        made.append(Visual(path, encoder=ToyImage(), **use))
        return made[-1]

    monkeypatch.setattr(tables, "Visual", visual)
    monkeypatch.setitem(PRESETS, "photos", FieldDefaults(k=4, k_post=384))  # toys have 16 terms, the real one takes 32
    given = {"pets": pets, "sae-k2": toy_vocabulary(tmp_path / "k2"), "sae-k3": toy_vocabulary(tmp_path / "k3", k=3)}
    found = run_table("bm25v-table3", given)
    assert [row["k"] for row in found.rows] == [2, 3]
    paper = PRESETS["bm25-v"]
    *_, weighted = uses = [field.vocabulary.defaults for field in made]
    assert uses[:2] == [replace(paper, k=k, k_post=None) for k in (2, 3)]
    assert {(u.pooling, u.k_post, u.query) for u in uses[2:]} == {("sum", None, "weighted")} and weighted.k == 3
    assert len({str(field.scoring) for field in made}) == 1  # what differs is how a query's terms count
    assert all(0.0 < row["R@1, query weighted"] <= 1.0 for row in found.rows)
    made.clear()
    found = run_table("bm25v-ablation", {"pets": pets, "sae-one": tmp_path / "k2", "sae-two": tmp_path / "k3"})
    assert [(row["vocabulary"], row["use"]) for row in found.rows] == [
        (name, use) for name in ("one", "two") for use in ("bm25-v", "default")
    ]
    assert [field.vocabulary.defaults for field in made] == [paper, PRESETS["photos"]] * 2


def test_the_sentence_about_uses_says_what_the_fields_do() -> None:
    assert PRESETS["bm25-v"] == FieldDefaults(k=16, k_post=16, k1=1.5, b=0.75, phi="identity", query="binary")
    ours = SaeVocabulary.load("image-11k").defaults
    assert ours == PRESETS["photos"] and ours.query == "weighted"
    assert str(NOW) == "sum, k=32, 384 terms, BM25 8 0.7, sqrt" and str(NOW) in tables.USES
    assert tables.visual_words("bm25-v") == Visual(preset="bm25-v") and tables.visual_words("default") == Visual()


def test_table_2_has_the_papers_use_beside_ours(pets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss")
    asked: dict[str, Method] = {}

    def watched(collection: Any, methods: Sequence[Method], *rest: Any) -> Any:
        asked.update({method.name: method for method in methods})
        return run_all(collection, methods, *rest)

    monkeypatch.setattr(tables, "run_all", watched)
    made = run_table("bm25v-table2", {"pets": pets})
    sparse = ["visual", "two-stage-100", "two-stage", "ensemble"]
    assert [(r["method"], r["use"]) for r in made.rows] == [
        *((m, "") for m in ("dense", "hnsw", "ivfpq")),
        *((m, "default") for m in sparse),
        *((m, "bm25-v") for m in sparse),
    ]
    both = asked["bm25-v two-stage"]  # nothing of the other use takes part
    assert both.options == {"method": "two-stage", "rerank_depth": 200, "fields": ["bm25-v", "dense"]}
    assert both.depth == 200 and asked["default visual"].options == {"fields": ["default"]}
    assert all(0 < r["R@1"] <= 1.0 and r["R@200"] == 1.0 for r in made.rows)
    paper = {(r["method"], r["use"]): r["R@1 paper"] for r in made.rows}
    assert paper["dense", ""] == 0.912 and paper["visual", "bm25-v"] == 0.771
    assert paper["visual", "default"] is None  # the published figure is of another use
    assert {"visual", "visual, bm25-v"} <= set(made.plots["bm25v-table2"].series)


def test_table_4_counts_both_uses(pets: Path) -> None:
    pytest.importorskip("faiss")
    made = run_table("bm25v-table4", {"pets": pets})
    rows = {(r["method"], r["use"]): r for r in made.rows}
    assert list(rows)[3:] == [(m, use) for use in ("bm25-v", "default") for m in ("visual", "two-stage")]
    for use in ("bm25-v", "default"):
        visual, both = rows["visual", use], rows["two-stage", use]
        assert both["bytes measured"] == visual["bytes measured"] + rows["dense", ""]["bytes measured"]
        assert both["operations measured"] > visual["operations measured"] > 0
        assert 0 < visual["documents touched"] <= 1
    assert "bm25-v: L0=" in made.notes[0] and "; default: L0=" in made.notes[0]
    for column in ("bytes formula", "operations measured"):  # toys: 1 term of a patch by default, 16 in the paper's use
        assert rows["visual", "default"][column] < rows["visual", "bm25-v"][column]


def test_figure_1_draws_both_uses(pets: Path) -> None:
    made = run_table("bm25v-figure1", {"pets": pets})
    assert [(r["dataset"], r["use"]) for r in made.rows] == [("pets", "bm25-v"), ("pets", "default")]
    assert set(made.plots["bm25v-figure1"].series) == {"pets, bm25-v", "pets, default"}
