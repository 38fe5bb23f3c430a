from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from zipfian.errors import InvalidInput
from zipfian.evaluate.compare import Options, compare_captions, compare_loo
from zipfian.evaluate.datasets import CaptionSet, load_captions
from zipfian.evaluate.loo_report import as_json, rows, write
from zipfian.evaluate.protocols import fair_loo, karpathy, summarise, val_only
from zipfian.evaluate.significance import paired


@pytest.fixture
def pictures(captions: tuple[Path, Path]) -> CaptionSet:
    return load_captions(*captions)


def test_karpathy_asks_with_every_caption(pictures: CaptionSet) -> None:
    task = karpathy(pictures)
    t2i, i2t = task["t2i"], task["i2t"]
    assert (t2i.n_docs, len(t2i.queries), i2t.n_docs, len(i2t.queries)) == (12, 60, 60, 12)
    assert t2i.qrels["p00.jpg#3"] == {"p00.jpg": 1}
    assert set(i2t.qrels["p00.jpg"]) == {f"p00.jpg#{i}" for i in range(5)}
    assert all("text" not in item for item in t2i.documents())


def test_val_only_with_and_without_the_giveaway(pictures: CaptionSet) -> None:
    with_texts, without = val_only(pictures)["t2i"], val_only(pictures, gallery_texts=False)["t2i"]
    assert len(with_texts.queries) == with_texts.n_docs == 12
    texts = {item["text"] for item in with_texts.documents()}
    assert {q.text for q in with_texts.queries.values()} == texts
    assert "giveaway" in with_texts.notes[0]
    assert all("text" not in item for item in without.documents())
    assert val_only(pictures)["i2t"].n_docs == 12


def test_fair_loo_never_shows_a_query_to_the_gallery(pictures: CaptionSet) -> None:
    asked: list[str] = []
    for run in fair_loo(pictures):
        texts = {item["id"]: item["text"] for item in run.dataset.documents()}
        assert len(texts) == 12
        for key, query in run.dataset.queries.items():
            assert query.text is not None
            assert all(query.text not in text for text in texts.values())
            assert key.endswith(f"#{run.caption}")
        assert {len(text.splitlines()) for text in texts.values()} == {4}  # no picture has more text than another
        asked += [key.partition("#")[0] for key in run.dataset.queries]
    assert sorted(asked) == sorted(p.id for p in pictures.pictures)  # folds share no picture and lose none


def test_fair_loo_repeats_itself_with_its_seed(pictures: CaptionSet) -> None:
    def queries(seed: int) -> list[list[str]]:
        return [list(run.dataset.queries) for run in fair_loo(pictures, seed=seed)]

    assert queries(1) == queries(1) != queries(2)


def test_more_runs_than_captions_start_again(pictures: CaptionSet) -> None:
    assert [run.caption for run in fair_loo(pictures, runs=7)] == [0, 1, 2, 3, 4, 0, 1]


def test_fair_loo_refuses(pictures: CaptionSet) -> None:
    with pytest.raises(InvalidInput, match="at least 5 runs"):
        next(fair_loo(pictures, runs=4))
    with pytest.raises(InvalidInput, match="cannot be dealt into 13 folds"):
        next(fair_loo(pictures, runs=13))
    bare = replace(pictures.pictures[0], captions=("only",))
    with pytest.raises(InvalidInput, match="needs at least two"):
        next(fair_loo(replace(pictures, pictures=(bare, *pictures.pictures[1:]))))


VALUES = {"words": [0.6, 0.62, 0.58, 0.61, 0.59], "hybrid": [0.63, 0.66, 0.60, 0.63, 0.63]}


def test_the_summary_by_hand() -> None:
    found = summarise("r@10", VALUES, "words")
    differences = [0.03, 0.04, 0.02, 0.02, 0.04]
    mean = sum(differences) / 5
    deviation = math.sqrt(sum((d - mean) ** 2 for d in differences) / 4)
    test = found.tests["hybrid"]
    assert test.difference == pytest.approx(mean)
    assert test.cohens_d == pytest.approx(mean / deviation)
    assert test.p == pytest.approx(0.0025, abs=5e-4)
    assert found.mean("words") == pytest.approx(0.6)
    assert summarise("r@10", VALUES).reference == "hybrid"


def test_every_method_against_one_with_p_by_holm() -> None:
    values = {**VALUES, "dense": [0.6, 0.63, 0.58, 0.62, 0.60]}
    queries = {
        "words": {"a": 0.0, "b": 0.5, "c": 0.2},
        "hybrid": {"a": 0.5, "b": 1.0, "c": 0.8},
        "dense": dict.fromkeys("abc", 0.4),
    }
    found = summarise("r@10", values, "words", queries).against("words")
    alone = {name: paired(values["words"], values[name]) for name in ("hybrid", "dense")}
    assert {name: test.runs for name, test in found.items()} == alone
    assert alone["hybrid"].p < alone["dense"].p
    assert found["hybrid"].p_runs == pytest.approx(2 * alone["hybrid"].p)
    assert found["dense"].p_runs == pytest.approx(alone["dense"].p)
    over = {name: paired(queries["words"], queries[name]) for name in ("hybrid", "dense")}
    assert found["hybrid"].queries == over["hybrid"] and found["hybrid"].p_queries == pytest.approx(
        2 * over["hybrid"].p
    )
    other = summarise("r@10", values, "words").against("dense")
    assert set(other) == {"words", "hybrid"} and other["words"].queries is None and math.isnan(other["words"].p_queries)
    with pytest.raises(InvalidInput, match="no figures of 'rrf'; there are: words, hybrid, dense"):
        summarise("r@10", values).against("rrf")
    data = summarise("r@10", values, "words", queries).to_json()["tests"]["hybrid"]
    assert data["p_holm"] == found["hybrid"].p_runs and data["over_queries"]["queries"] == 3


def test_the_summary_refuses() -> None:
    with pytest.raises(InvalidInput, match="one value per run"):
        summarise("r@10", {"a": [1.0], "b": [1.0, 2.0]})
    with pytest.raises(InvalidInput, match="'c' is not among: a"):
        summarise("r@10", {"a": [1.0]}, "c")


def test_the_summary_as_files(tmp_path: Path) -> None:
    summaries = {key: summarise(key, VALUES, "words") for key in ("r@10", "mrr")}
    data = as_json("flickr", summaries, 5, 42)
    assert data["methods"]["hybrid"]["t2i_r@10"] == pytest.approx(0.63)
    assert data["runs"]["mrr"]["tests"]["hybrid"]["runs"] == 5
    header, body = rows(summaries)
    assert header == ["method", "r@10", "p", "d", "mrr", "p", "d"]
    assert body[0][1:4] == ["0.6000 ± 0.0158", "", ""]
    write(tmp_path, "flickr", summaries, 5, 42)
    assert "| hybrid | 0.6300 ±" in (tmp_path / "report.md").read_text()


def test_a_giveaway_is_found_and_its_absence_is_not_hidden(pictures: CaptionSet) -> None:
    """Word matching finds every query that stands in the gallery; left out, it has to live on the other captions."""
    options = Options(timed=False)
    report = compare_captions(val_only(pictures), ["words", "tfidf"], options)
    assert report.methods["words"]["t2i_r@1"] == 1.0
    assert not any(key.startswith("i2t_") for key in report.methods["words"])  # no picture can be asked in words
    assert report.comparisons()["tfidf"]["t2i_r@1"]["difference"] == 0.0
    summaries = compare_loo(pictures, ["words", "tfidf"], options=options)
    assert set(summaries) == {"r@10", "mrr"}
    assert summaries["r@10"].reference == "words", "equally good, and named first"
    assert len(summaries["mrr"].values["words"]) == 5
    asked = summaries["mrr"].per_query["words"]
    assert len(asked) == len(pictures.pictures), "every picture is asked for once, over all runs"
    assert summaries["mrr"].mean("words") == 1.0  # each picture's other captions name the same thing


def test_directions_of_methods_are_kept_apart(pictures: CaptionSet) -> None:
    with pytest.raises(InvalidInput, match="'visual' does not rank caption collections"):
        compare_captions(val_only(pictures), ["visual"])
    with pytest.raises(InvalidInput, match="'dense' is not among the methods: words"):
        compare_loo(pictures, ["words"], reference="dense")
