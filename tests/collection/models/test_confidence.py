"""Every hit of every kind of search says how likely it is right, whatever k, offset, method or second stage."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zipfian as zf
from tests.collection.models.conftest import fields, picture
from tests.toys import ToyImage
from zipfian.errors import InvalidInput
from zipfian.fields import Dense, Words
from zipfian.fuse import RRF, Candidates, Ranking

METHODS = [
    "hybrid", "rrf", "linear", "fusion", "tfidf", "two-stage", "training-free", "late", "words", "latent",
    "dense",
]  # fmt: skip


def sure(found: zf.Results) -> dict[str, float]:
    return {hit.id: hit.confidence for hit in found}


def probability(odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-odds))


@pytest.fixture
def many(tmp_path: Path) -> zf.Collection:
    """Forty documents about plants and cats; one about a bicycle."""
    made = zf.Collection.create(tmp_path / "many.zf", {"words": Words(), "near": Dense(vector="v")})
    made.add(
        {
            "id": f"d{i}", "text": f"plants number{i} grow and cats{i % 7} sleep", "vector": {"v": [1.0, i / 40.0]},
            "metadata": {"even": i % 2},
        }
        for i in range(40)
    )  # fmt: skip
    made.add([{"id": "bike", "text": "the chain of a bicycle", "vector": {"v": [0.0, 1.0]}, "metadata": {"even": 0}}])
    made.commit()
    return made


class TestEverySearch:
    @pytest.mark.parametrize("method", METHODS)
    def test_methods(self, notes: zf.Collection, method: str) -> None:
        found = notes.search("a puppy in the sun", k=3, method=method)
        assert found[0].id == "a"
        assert all(0.0 <= hit.confidence <= 1.0 for hit in found)
        assert found[0].confidence == max(hit.confidence for hit in found) > 0.1

    @pytest.mark.parametrize("method", METHODS)
    def test_whatever_k_and_offset(self, notes: zf.Collection, method: str) -> None:
        every = notes.search("a puppy in the sun", k=3, method=method)
        one = notes.search("a puppy in the sun", k=1, method=method)
        assert one[0].confidence == every[0].confidence
        later = notes.search("a puppy in the sun", k=2, offset=1, method=method)
        assert [hit.confidence for hit in later] == [hit.confidence for hit in every[1:]]

    def test_whoever_fuses_or_reranks(self, notes: zf.Collection) -> None:
        class Own:
            """A fusion of somebody else, who knows nothing of confidence."""

            def depth(self, k: int) -> int:
                return 100

            def fuse(self, candidates: Candidates) -> Ranking:
                return RRF().fuse(candidates)

            def to_json(self) -> dict[str, Any]:
                return {"method": "own"}

        wanted = sure(notes.search("light and red", k=3))
        for method in ("rrf", "linear", Own()):
            assert sure(notes.search("light and red", k=3, method=method)) == wanted
        first = sure(notes.search("light and red", k=3, fields=["words", "latent"]))
        assert sure(notes.search("light and red", k=3, method="two-stage")) == first

    def test_pictures(self, tmp_path: Path, image: ToyImage, sae: Path) -> None:
        photos = zf.Collection.create(tmp_path / "photos.zf", fields(sae, image), encodings=False)
        red, blue = picture(tmp_path / "red.png", (255, 0, 0)), picture(tmp_path / "blue.png", (0, 0, 255))
        photos.add([{"id": "red", "image": red}, {"id": "blue", "image": blue}])
        photos.commit()
        for method in ("hybrid", "visual", "dense", "two-stage"):
            found = photos.search(image=red, k=2, method=method)
            assert found[0].id == "red" and found[0].confidence > 0.5

    def test_terms_and_vectors_without_a_text(self, notes: zf.Collection, many: zf.Collection) -> None:
        assert 0.0 < notes.search({1: 1.0}, fields="latent")[0].confidence < 1.0
        (hit,) = many.search(np.array([0.0, 1.0]), fields="near", k=1)
        lead = 1.0 - (39 / 40) / math.hypot(1.0, 39 / 40)
        assert hit.id == "bike" and hit.confidence == pytest.approx(probability(-8.0 + 12.5 + 8.0 * lead))

    def test_words_by_hand(self, many: zf.Collection) -> None:
        found = many.search("bicycle chain", fields="words")
        (hit,) = found
        idf = math.log1p((41 - 1 + 0.5) / 1.5)
        share = hit.score / (2 * idf)
        assert hit.confidence == pytest.approx(probability(-4.5 + 4.5 * share + 6.5 * share))

    def test_a_filter_leaves_the_others_without_a_rival(self, many: zf.Collection) -> None:
        every, even = (many.search("cats3 number3 number10", fields="words", where=w) for w in (None, {"even": 0}))
        assert [hit.id for hit in every[:2]] == ["d3", "d10"] and even[0].id == "d10"
        assert even[0].score == every[1].score and even[0].confidence > every[1].confidence

    def test_many_at_once(self, many: zf.Collection) -> None:
        queries = ["bicycle chain", "cats3 number3", "unheard"]
        for found, query in zip(many.search_many(queries, fields="words"), queries, strict=True):
            assert sure(found) == sure(many.search(query, fields="words"))

    def test_asked_again_it_is_the_same(self, notes: zf.Collection) -> None:
        first, again = (notes.search("light", k=3) for _ in range(2))
        assert again.settings["repeated"] and sure(again) == sure(first)


class TestOddCases:
    def test_one_document(self, tmp_path: Path) -> None:
        one = zf.Collection.create(tmp_path / "one.zf")
        one.add([{"id": "a", "text": "Plants make food from light."}])
        one.commit()
        whole, part = one.search("plants make food from light")[0], one.search("food for unheard cats")[0]
        assert 0.0 < part.confidence < whole.confidence < 1.0

    def test_what_every_document_has_says_nothing(self, many: zf.Collection) -> None:
        found = many.search("plants", fields="words", k=3)
        assert len({hit.confidence for hit in found}) == 1 and found[0].confidence < 0.05

    def test_a_query_without_a_word_finds_nothing(self, many: zf.Collection) -> None:
        found = many.search("  ...  ", fields="words", min_confidence=0.5)
        assert len(found) == 0 and found.notes == []

    def test_off_topic_words_are_less_likely_than_the_same_word_alone(self, many: zf.Collection) -> None:
        on, off = many.search("bicycle", fields="words"), many.search("repair my broken bicycle tyre", fields="words")
        assert on[0].id == off[0].id == "bike" and on[0].score == off[0].score
        assert on[0].confidence > 0.9 and off[0].confidence < 0.2


class TestLeast:
    def test_hits_below_are_left_out_and_the_others_keep_their_ranks(self, many: zf.Collection) -> None:
        every = many.search("cats3 number3 number10", fields="words", k=10)
        least = sorted(sure(every).values())[-2]
        found = many.search("cats3 number3 number10", fields="words", k=10, min_confidence=least)
        assert [(hit.id, hit.rank) for hit in found] == [(hit.id, hit.rank) for hit in every if hit.confidence >= least]
        assert len(found) == 2 and found.settings["min_confidence"] == least
        assert found.notes == [f"4 of 6 documents were left out: their confidence is below {least:g}"]

    def test_a_hit_with_a_gap_before_it_belongs_to_its_results(self, notes: zf.Collection) -> None:
        every = notes.search("light and red", k=3)
        least = sorted(sure(every).values())[-1]
        (hit,) = notes.search("light and red", k=3, min_confidence=least)
        found = notes.search("light and red", k=3, min_confidence=least)
        assert found.explain(hit).value == hit.score
        with pytest.raises(InvalidInput, match="not a hit of these results"):
            found.explain(next(other for other in every if other.confidence < least))

    def test_nothing_good_was_found(self, many: zf.Collection) -> None:
        found = many.search("repair my broken bicycle tyre", fields="words", min_confidence=0.3)
        assert len(found) == 0 and list(found) == [] and found.to_dict()["hits"] == []
        best = many.search("repair my broken bicycle tyre", fields="words")[0].confidence
        said = f"nothing good was found: of 1 document none has a confidence of 0.3; the best has {best:.2f}"
        assert found.notes == found.to_dict()["notes"] == [said]

    def test_it_is_said_without_being_asked_where_all_is_hopeless(self, many: zf.Collection) -> None:
        hopeless, good = (many.search(query, fields="words", k=3) for query in ("plants", "bicycle chain"))
        said = f"nothing good was found: of 3 documents the best has a confidence of {hopeless[0].confidence:.2f}"
        assert hopeless.notes == [said] and good.notes == []
        assert many.search("plants", fields="words", k=3, offset=3).notes == [], "it is about the best of all"

    @pytest.mark.parametrize("least", [-0.1, 1.1, math.nan, True, "0.3", None])
    def test_what_is_no_probability(self, many: zf.Collection, least: Any) -> None:
        with pytest.raises(InvalidInput, match=r"min_confidence is a probability from 0 \(every hit\) to 1, not"):
            many.search("plants", min_confidence=least)
        with pytest.raises(InvalidInput, match="min_confidence"):
            many.search_many(["plants"], min_confidence=least)

    @pytest.mark.parametrize("least", [0, 1, np.float64(0.5)])
    def test_what_is_one(self, many: zf.Collection, least: Any) -> None:
        assert len(many.search("bicycle chain", fields="words", min_confidence=least)) == (least < 1)
