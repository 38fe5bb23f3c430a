from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluate.conftest import write_beir
from zipfian.errors import InvalidInput
from zipfian.evaluate.build import built, fingerprint, grouped
from zipfian.evaluate.compare import Options, compare, default_measures
from zipfian.evaluate.cost import Touched, cost_of, summed
from zipfian.evaluate.datasets import load_beir
from zipfian.evaluate.methods import METHODS, find, query_of
from zipfian.evaluate.runner import run_methods


def test_a_kept_collection_is_used_again(beir: Path, tmp_path: Path) -> None:
    data = load_beir(beir)
    seen: list[tuple[int, list[int]]] = []
    for _ in range(2):
        taken: list[int] = []
        with built(data, ["words"], tmp_path / "work", taken.append) as collection:
            assert len(collection) == 5
            seen.append((collection.generation, taken))
    assert seen == [(2, [5]), (2, [])], "the second time nothing was added"
    assert (tmp_path / "work" / "tiny+words.zf").is_dir()


def test_another_dataset_in_the_same_place_is_refused(beir: Path, tmp_path: Path) -> None:
    with built(load_beir(beir), ["words"], tmp_path / "work"):
        pass
    other = write_beir(tmp_path / "else" / "tiny")
    (other / "corpus.jsonl").write_text((beir / "corpus.jsonl").read_text().replace("Cats", "Dogs"))
    with pytest.raises(InvalidInput, match="other documents than tiny"), built(
        load_beir(other), ["words"], tmp_path / "work"
    ):  # fmt: skip
        pass


def test_a_fingerprint_is_of_ids_and_texts(beir: Path, tmp_path: Path) -> None:
    data = load_beir(beir)
    assert fingerprint(data) == fingerprint(load_beir(write_beir(tmp_path / "copy")))
    (beir / "corpus.jsonl").write_text((beir / "corpus.jsonl").read_text().replace("pond", "lake"))
    assert fingerprint(data) != fingerprint(load_beir(beir))


def test_a_fusion_gets_a_collection_of_its_own_fields() -> None:
    names = ["words", "hybrid", "two-stage", "scalar", "dense", "tfidf", "splade"]
    found = grouped(find(names, "text"), "text")
    shown = [(set(fields), [m.name for m in methods]) for fields, methods in found]
    assert shown == [
        ({"words", "latent", "dense"}, ["hybrid", "words", "scalar", "dense", "tfidf"]),
        ({"latent", "dense"}, ["two-stage"]),
        ({"splade"}, ["splade"]),
    ]
    assert [fields for fields, _ in grouped(find(["words", "tfidf"], "text"), "text")] == [("words",)]


def test_what_a_search_touches(beir: Path) -> None:
    data = load_beir(beir)
    with built(data, ["words"]) as collection:
        found = run_methods(collection, [METHODS["words"]], data, ["r@1"], timed=False)["words"].values
        assert cost_of(collection, METHODS["hybrid"], "text", query_of(data.queries["q1"]), []) == []
    # plants+light: d1 d3 d5 + d1 = 4 of 3 documents; cats, sleep: d2 twice; garden d3 d4 + pond d4 d5; fish d4 d5
    # ("and" and "sleeping" are in no document or stem to one that is)
    assert found["postings"] == pytest.approx((4 + 2 + 4 + 2) / 4)
    assert found["documents_touched"] == pytest.approx((3 + 1 + 3 + 2) / 4 / 5)
    assert summed([]) == {}
    assert summed([Touched(0.0, 1.0)]) == {"documents_touched": 1.0}


def test_comparing_on_real_collections(beir: Path) -> None:
    report = compare(load_beir(beir), ["words", "tfidf"], Options(timed=False))
    assert report.methods["words"]["recall@10"] == 1.0
    assert report.settings["depth"] == 1_000
    assert set(report.methods["words"]) == {
        *default_measures(load_beir(beir)),
        "index_bytes",
        "postings",
        "documents_touched",
    }


def test_limit_sets_have_more_cutoffs(tmp_path: Path) -> None:
    keys = default_measures(load_beir(write_beir(tmp_path / "limit-small")))
    assert {"recall@10", "recall@20", "recall@100", "recall@1000", "ndcg@10"} <= set(keys)
