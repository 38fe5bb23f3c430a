"""Figures of pictures like a stored one, worked out by hand, and what chose the weight of visual words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from experiments.kinds import Kind
from experiments.more_like_this import FIELDS, MEASURES, WEIGHTS, WORST, chosen, measured, way, ways, worst

STORED = Path(__file__).parents[2] / "results" / "more-like-this" / "more-like-this.json"


def kind_of(classes: list[int]) -> Kind:
    n = len(classes)
    empty = np.zeros((n, 1, 1))
    own = np.eye(n, dtype=np.bool_)
    even = np.array([i % 2 == 0 for i in range(n)])
    return Kind("toy", np.array(classes), even, own, empty[:, 0], empty.astype(np.uint16), empty)  # type: ignore[arg-type]


def test_figures_are_of_the_others() -> None:
    """Picture 0 finds itself, then right, wrong, right; 3, alone in its class, can find nothing."""
    kind = kind_of([0, 0, 0, 1])
    scores = np.zeros((4, 4), np.float32)
    scores[0] = [9.0, 3.0, 1.0, 2.0]
    found = measured(kind, scores)
    assert found[:, 0].tolist() == [1.0, 2 / 10, (1 / 1 + 2 / 3) / 2]
    assert found[:, 3].tolist() == [0.0, 0.0, 0.0]


def test_a_copy_is_no_answer() -> None:
    kind = kind_of([0, 0, 0])
    kind.own[0, 1] = True
    scores = np.array([[9.0, 9.0, 1.0]] * 3, np.float32)
    assert measured(kind, scores)[:, 0].tolist() == [1.0, 1 / 10, 1.0]


def test_ways_put_both_fields_together() -> None:
    """Visual words say 1 before 2 before 3, vectors the other way round and twice as clearly."""
    kind = kind_of([0, 0, 1, 1])
    seen = np.array([[9.0, 3.0, 2.0, 1.0]] * 4, np.float32)
    cosines = np.array([[1.0, 0.1, 0.2, 0.3]] * 4, np.float32)
    first = {
        name: int(np.where(kind.own[0], -np.inf, scores[0]).argmax()) for name, scores in ways(kind, seen, cosines)
    }
    assert (first["visual"], first["dense"], first["two-stage"]) == (1, 3, 3)
    assert (first[way(0.5)], first[way(2.0)]) == (3, 1)
    assert list(first) == [*FIELDS, "two-stage", *map(way, WEIGHTS)]


def test_two_stage_keeps_what_the_first_stage_left_behind_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.more_like_this.RERANKED", 2)
    kind = kind_of([0, 0, 0, 0])
    seen = np.array([[9.0, 3.0, 2.0, 1.0]] * 4, np.float32)
    cosines = np.array([[1.0, 0.1, 0.2, 0.9]] * 4, np.float32)
    staged = dict(ways(kind, seen, cosines))["two-stage"]
    assert np.argsort(-np.where(kind.own[0], -np.inf, staged[0])).tolist()[:3] == [2, 1, 3]


def test_the_worst_kind_is_a_share_of_the_better_field() -> None:
    figures = [f"{measure} {half}" for measure in MEASURES for half in ("even", "odd")]
    rows = [
        {"kind": kind, "way": name, **dict.fromkeys(figures, value)}
        for kind, values in {"a": (0.5, 0.8, 0.4), "b": (0.9, 0.6, 0.9)}.items()
        for name, value in zip((*FIELDS, "both"), values, strict=True)
    ]
    shares = {row["way"]: row["mAP odd"] for row in worst(rows)}
    assert shares == {"visual": 0.5 / 0.8, "dense": 0.6 / 0.9, "both": 0.4 / 0.8}


def test_the_stored_even_halves_chose_the_weight() -> None:
    """The least weight at which no figure of any kind is below the better field's."""
    rows = {row["way"]: row for row in json.loads(STORED.read_text("utf-8"))["rows"] if row["kind"] == WORST}
    enough = [w for w in WEIGHTS if all(rows[way(w)][f"{measure} even"] >= 1.0 for measure in MEASURES)]
    assert min(enough) == pytest.approx(chosen())


def test_the_page_about_photos_has_the_stored_figures() -> None:
    rows = {(row["kind"], row["way"]): row for row in json.loads(STORED.read_text("utf-8"))["rows"]}
    page = (STORED.parents[2] / "docs" / "photos.md").read_text("utf-8")
    shown = {
        "`visual` alone": "visual", "`dense` alone": "dense",
        "two-stage: the first 200 of `visual` by cosine": "two-stage", "both added: what `search` does": way(chosen()),
    }  # fmt: skip
    for label, name in shown.items():
        cells = [
            " / ".join(f"{rows[kind, name][f'{measure} odd']:.3f}".removeprefix("0") for measure in MEASURES)
            for kind in ("textures", "caltech101", "pets")
        ]
        assert f"| {label} | {' | '.join(cells)} |" in page
