"""The tables about languages: what is fused how, which weight is chosen on which queries, and what a row says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import multilingual as m
from experiments.catalogue import run_table
from tests.evaluate.conftest import write_beir
from tests.toys import ToyText
from zipfian.errors import InvalidInput
from zipfian.evaluate.datasets import load_beir

NONE = -np.inf


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    monkeypatch.setattr(m, "MultilingualEncoder", lambda **_: ToyText())
    monkeypatch.setattr(m, "TextEncoder", lambda **_: ToyText())
    monkeypatch.setattr(m, "half_of", lambda query: "even" if query in ("q1", "q2") else "odd")
    return {name: write_beir(tmp_path / name) for name in ("xquad-en", "xquad-th")}


def test_reciprocal_ranks_of_what_each_found() -> None:
    words, dense = np.array([[5.0, NONE, 2.0]]), np.array([[0.1, 0.9, 0.2]])
    expected = [1 / 61 + 1 / 63, 1 / 61, 1 / 62 + 1 / 62]
    assert m.rrf(words, dense)[0].tolist() == pytest.approx(expected, abs=1e-15)
    assert m.rrf(np.full((1, 3), NONE), np.array([[NONE, 1.0, NONE]]))[0].tolist() == [NONE, 1 / 61, NONE]


def test_a_weighted_sum_is_of_deviations_of_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(m, "DEPTH", 2)
    words, dense = np.array([[5.0, NONE, 1.0, 0.5]]), np.array([[0.0, 0.8, 0.4, 0.2]])
    found = m.weighted(words, dense, 0.25)[0].tolist()
    # the best two words are 5 and 1 (mean 3, deviation 2), the best two cosines .8 and .4 (mean .6, deviation .2)
    assert found == pytest.approx([0.75 * 1 - 0.25 * 3, -0.75 * 1.5 + 0.25 * 1, -0.75 * 1 - 0.25 * 1, NONE])
    assert np.isfinite(m.weighted(words, np.full((1, 4), 0.3), 0.25)[0, 0])


def test_a_weight_is_fit_if_it_is_never_below_words() -> None:
    columns = [m.named(weight) for weight in m.WEIGHTS]
    assert columns == ["sum .05", "sum .1", "sum .15", "sum .2", "sum .3", "sum .4", "sum .5"]
    one = {"words": 0.5, **dict(zip(columns, (0.5, 0.52, 0.53, 0.6, 0.7, 0.8, 0.9), strict=True))}
    other = {"words": 0.5, **dict(zip(columns, (0.5, 0.51, 0.5, 0.4999, 0.6, 0.2, 0.1), strict=True))}
    assert [w for w in m.WEIGHTS if m.never_below([one, other], w)] == [0.05, 0.1, 0.15, 0.3]
    assert m.chosen([one, other]) == 0.3
    assert m.chosen([{**one, "words": 1.0}]) == 0.05


def test_words_are_those_of_the_language(toys: dict[str, Path]) -> None:
    english = m.collected("xquad-en", load_beir(toys["xquad-en"]))
    assert (english.language, m.collected("drcd", load_beir(toys["xquad-en"])).language) == ("en", "zh")
    scores = m.word_scores(english)  # "sleeping cats" finds "Cats sleep" by stems; Thai has no stemmer
    assert np.isfinite(scores[1]).tolist() == [False, True, False, False, False]
    plain = m.word_scores(m.collected("xquad-th", load_beir(toys["xquad-th"])))
    assert 0 < plain[1, 1] < scores[1, 1]
    assert english.ndcg(scores)["q4"] == 1 and set(english.ndcg(scores)) == {"q1", "q2", "q3", "q4"}


def test_the_table(toys: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cost = {"paragraphs a second": 90.0, "queries a second": 900.0, "loaded MB": 200.0}
    monkeypatch.setattr(m, "costs", lambda name, one: cost)
    made = run_table("multilingual", toys, tmp_path / "out")
    rows = {(row["collection"], row["half"]): row for row in made.rows}
    assert len(rows) == 6 and {row["queries"] for row in made.rows if "queries" in row} == {2}
    for half in ("even", "odd"):
        assert rows["mean", half]["words"] == (rows["xquad-en", half]["words"] + rows["xquad-th", half]["words"]) / 2
    assert "over words" in rows["xquad-en", "odd"] and "over words" not in rows["xquad-en", "even"]
    said: dict[str, Any] = json.loads((tmp_path / "out" / "multilingual.json").read_text("utf-8"))
    assert said["settings"]["cost"]["MiniLM"] == cost
    assert [row["half"] for row in said["brief"]["rows"]] == ["odd"] * 3
    said_cost = "MiniLM: 90 paragraphs and 900 queries of xquad-en for a second of one processor, at most 200 MB"
    assert said_cost in made.markdown()


def test_queries_of_one_language_find_texts_of_another(toys: dict[str, Path]) -> None:
    made = run_table("cross-language", toys)
    assert [row["queries"] for row in made.rows] == ["en", "th"]
    assert all(row["en"] == row["th"] == row["mean of others"] > 0.5 for row in made.rows)


def test_collections_that_do_not_share_their_ids(toys: dict[str, Path]) -> None:
    file = toys["xquad-th"] / "corpus.jsonl"
    file.write_text("\n".join(reversed(file.read_text().split("\n"))))
    with pytest.raises(InvalidInput, match="xquad-en and xquad-th do not hold the same ids"):
        run_table("cross-language", toys)
