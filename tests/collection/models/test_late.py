"""Late interaction in a search: candidates ordered token by token, and explained token by token."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zipfian as zf
from tests.collection.models.conftest import TEXTS, check_sums, fields, picture
from tests.toys import ToyImage, ToyText
from zipfian.collection import late
from zipfian.errors import InvalidInput
from zipfian.fields import Dense, Latent
from zipfian.types import Encoded

ASKED = "puppy in the sun"


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch) -> late.TokenCache:
    cache = late.TokenCache()
    monkeypatch.setattr(late, "TOKENS", cache)
    return cache


def by_hand(encoder: Any, asked: Any, item: Any) -> float:
    """MaxSim as its definition says it."""
    query, document = (encoder.one(x).vectors.astype(np.float64) for x in (asked, item))
    total = 0.0
    for q in query:
        total += max(float(q @ d) / float(np.linalg.norm(q) * np.linalg.norm(d)) for d in document)
    return total


class TestTexts:
    def test_scores_are_sums_of_best_matches(self, notes: zf.Collection, text: ToyText) -> None:
        found = notes.search(ASKED, k=3, method="late")
        assert found[0].id == "a"
        assert found.settings["rerank"] == "late" and found.settings["tokens_of"] == "latent"
        for hit in found:
            assert hit.score == pytest.approx(by_hand(text, ASKED, TEXTS[hit.id]), rel=1e-5)
            assert hit.fields["late"].share == hit.score
            assert [seen.share for name, seen in hit.fields.items() if name != "late"] == [0.0, 0.0]  # words, latent

    def test_hits_know_their_rank_before(self, tmp_path: Path, text: ToyText, sae: Path) -> None:
        texts = {"often": "puppy puppy puppy puppy", "whole": "a puppy with a red automobile in light"}
        with zf.Collection.create(tmp_path / "n.zf", {"latent": Latent(sae, encoder=text)}, encodings=False) as c:
            c.add({"id": i, "text": t} for i, t in texts.items())
            c.commit()
            first = c.search("puppy light", k=2, method="latent")
            found = c.search("puppy light", k=2, method="late")
            ranks = {hit.id: hit.rank for hit in first}
            assert {hit.id: hit.first_rank for hit in found} == ranks
            assert found[0].id == "whole"

    def test_explained_token_by_token(self, notes: zf.Collection) -> None:
        found = notes.search(ASKED, k=3, method="late")
        tree = found.explain(found[0])
        assert tree.value == found[0].score
        check_sums(tree)
        assert [part.label for part in tree.parts] == ASKED.split()
        spans = {part.label: part.evidence[0] for part in tree.parts}
        assert spans["puppy"] == {"start": 2, "end": 7, "text": "puppy"}
        assert spans["sun"]["text"] == "sun"
        assert "old_rank" in tree.details and "places" not in tree.details

    def test_any_document_can_be_explained(self, notes: zf.Collection) -> None:
        found = {hit.id: hit.score for hit in notes.search(ASKED, k=3, method="late")}
        for doc_id, score in found.items():
            tree = notes.explain(ASKED, doc_id, method="late")
            assert tree.value == score
            check_sums(tree)

    def test_beyond_k_the_first_order_stays(self, notes: zf.Collection) -> None:
        found = notes.search(ASKED, k=1, method="late", rerank_depth=1)
        whole = notes.search(ASKED, k=3, method="late")
        assert found[0].score == {hit.id: hit.score for hit in whole}[found[0].id]
        with pytest.raises(InvalidInput, match="rerank_depth is 1, but k is 2"):
            notes.search(ASKED, k=2, method="late", rerank_depth=1)

    def test_candidates_are_encoded_once(
        self, notes: zf.Collection, text: ToyText, empty_cache: late.TokenCache
    ) -> None:
        notes.search(ASKED, k=3, method="late")
        seen = len(text.seen)
        notes.search("light puppy red", k=3, method="late")
        assert [item for item in text.seen[seen:] if item in TEXTS.values()] == []
        empty_cache.max_bytes = 0
        empty_cache.put(("", ""), text.one("one"))
        seen = len(text.seen)
        notes.search("kitten", k=1, method="late")
        assert [item for item in text.seen[seen:] if item in TEXTS.values()] != []

    def test_a_field_can_be_named(self, notes: zf.Collection) -> None:
        assert notes.search(ASKED, k=1, method="late:dense").settings["tokens_of"] == "dense"
        with pytest.raises(InvalidInput, match="no tokens of field 'words' can be compared; one of latent, dense"):
            notes.search(ASKED, method="late:words")

    def test_only_vectors_are_a_first_stage_too(self, tmp_path: Path, text: ToyText) -> None:
        with zf.Collection.create(tmp_path / "v.zf", {"dense": Dense(encoder=text)}, encodings=False) as c:
            c.add({"id": i, "text": t} for i, t in TEXTS.items())
            c.commit()
            assert c.search(ASKED, k=1, method="late")[0].id == "a"

    def test_without_an_encoder(self, tmp_path: Path) -> None:
        with zf.Collection.create(tmp_path / "w.zf") as plain:
            plain.add([{"id": "a", "text": "words"}])
            plain.commit()
            with pytest.raises(InvalidInput, match=r"fields: words\); add one with add_field\('latent', Latent\(\)\)"):
                plain.search("words", method="late")

    def test_filters_and_bonus_hold(self, notes: zf.Collection) -> None:
        found = notes.search(TEXTS["c"], k=3, method="late", exact_match_bonus=1.0)
        assert found[0].id == "c" and found[0].exact_match
        tree = found.explain(found[0])
        assert tree.value == found[0].score
        check_sums(tree)


class TestPictures:
    @pytest.fixture
    def photos(self, tmp_path: Path, image: ToyImage, sae: Path) -> zf.Collection:
        made = zf.Collection.create(tmp_path / "p.zf", fields(sae, image), encodings=False)
        stripes = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255)}
        for name, colour in stripes.items():
            made.add([{"id": name, "image": picture(tmp_path / f"{name}.png", colour, (9, 9, 9))}])
        made.commit()
        return made

    def test_patches_explain(self, photos: zf.Collection, tmp_path: Path, image: ToyImage) -> None:
        asked = picture(tmp_path / "asked.png", (9, 9, 9), (0, 250, 0))
        found = photos.search(image=asked, k=3, method="late")
        assert found[0].id == "green"
        assert found[0].score == pytest.approx(by_hand(image, asked, tmp_path / "green.png"), rel=1e-5)
        tree = found.explain(found[0])
        assert tree.value == found[0].score
        check_sums(tree)
        assert len(tree.parts) == 16
        right = next(part for part in tree.parts if part.label == "query patch in row 1, column 4")
        (cell,) = right.evidence
        assert cell["column"] < 2 and (cell["rows"], cell["columns"]) == (4, 4)  # green is on the left there

    def test_a_missing_picture_stays_below(self, photos: zf.Collection, tmp_path: Path) -> None:
        (tmp_path / "red.png").unlink()
        found = photos.search(image=tmp_path / "green.png", k=3, method="late")
        assert found[0].id == "green"
        if len(found) == 3:
            assert found[2].id == "red"
        assert found.settings["without_tokens"] == 1
        assert found.settings["problem"].startswith("'red': the picture is not where it was indexed")
        for hit in found:
            check_sums(found.explain(hit))

    def test_nothing_to_encode(self, tmp_path: Path, image: ToyImage, sae: Path) -> None:
        data = picture(tmp_path / "x.png", (255, 0, 0)).read_bytes()
        with zf.Collection.create(tmp_path / "b.zf", fields(sae, image), encodings=False) as photos:
            photos.add([{"id": "a", "image": data}])
            photos.commit()
            with pytest.raises(InvalidInput, match=r"stored pictures .* the picture of 'a' was not given as a file"):
                photos.search(image=data, method="late")


def test_the_cache_keeps_to_its_limit() -> None:
    item = ToyText().one("one two three four")
    cache = late.TokenCache(3 * item.vectors.nbytes)
    for i in range(5):
        cache.put(("e", str(i)), item)
    assert [cache.get(("e", str(i))) is not None for i in range(5)] == [False, False, True, True, True]
    cache.get(("e", "2"))
    cache.put(("e", "5"), item)
    assert cache.get(("e", "2")) is not None and cache.get(("e", "3")) is None
    large = replace(item, vectors=np.zeros((100, 16), np.float32))
    cache.put(("e", "large"), large)
    assert cache.get(("e", "large")) is None
    assert isinstance(item, Encoded)
