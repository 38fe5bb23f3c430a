"""Texts that find pictures, and pictures that find texts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import zipfian as zf
from tests.collection.models.conftest import check_sums, picture
from tests.toys import DIM, ToyImage, ToyText, toy_alignment
from zipfian.errors import FingerprintMismatch, InvalidInput
from zipfian.fields import Aligned, Translated, Visual
from zipfian.vocabulary._sae_weights import SaeWeights, save_weights
from zipfian.vocabulary.aligned import find


class TestAcross:
    """Texts that find pictures, and pictures that find texts."""

    RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)

    @pytest.fixture
    def align(self, tmp_path: Path, sae: Path) -> str:
        return str(toy_alignment(tmp_path / "toy-align", sae))

    @pytest.fixture
    def photos(self, tmp_path: Path, text: ToyText, image: ToyImage, sae: Path, align: str) -> zf.Collection:
        made = {
            "visual": Visual(sae, encoder=image),
            "aligned": Aligned(model=align, text=text, image=image),
            "translated": Translated(model=align, text=text, image=image),
        }
        photos = zf.Collection.create(tmp_path / "across.zf", made, encodings=False)
        for name, colours in (("red", [self.RED]), ("half", [self.GREEN, self.RED]), ("blue", [self.BLUE])):
            photos.add([{"id": name, "image": picture(tmp_path / f"{name}.png", *colours)}])
        photos.commit()
        return photos

    def test_a_text_finds_pictures(self, photos: zf.Collection) -> None:
        for field in ("aligned", "translated"):  # the toys see a dog in red and a cat in green
            assert photos.search("a dog", k=1, fields=field)[0].id == "red"
        found = photos.search("a dog")
        assert found.settings["method"] == "hybrid"
        assert set(found[0].fields) == {"aligned", "translated"}
        assert found[0].id == "red"
        tree = found.explain(found[0])
        assert tree.value == found[0].score
        check_sums(tree)

    def test_a_picture_and_words_mean_both(self, photos: zf.Collection, tmp_path: Path) -> None:
        asked = picture(tmp_path / "asked.png", self.GREEN)
        found = photos.search("red", image=asked, k=3)
        assert found[0].id == "half", "green as the picture, and red"
        assert found.settings["fusion"]["together"] is True and found[0].score < 0.0
        assert set(found[0].fields) == {"visual", "aligned", "translated"}
        tree = found.explain(found[0])
        assert tree.value == found[0].score
        check_sums(tree)
        assert "together" not in photos.search("red").settings["fusion"]

    def test_translation_is_explained_from_word_to_patch(self, photos: zf.Collection) -> None:
        found = photos.search("red dogs", fields="translated")
        assert found.settings["field"] == "translated"
        (half,) = [h for h in found if h.id == "half"]
        tree = found.explain(half)
        assert tree.label.startswith("translated: BM25") and tree.label.endswith("postings of visual")
        (part,) = tree.parts
        assert (part.kind, part.field, part.term) == ("term", "translated", 1) and tree.field == "translated"
        assert part.details["from"] == "red, dogs"
        assert part.label == "red, dogs -> latent 1"
        assert {(e["row"], e["column"]) for e in part.evidence} == {(r, c) for r in range(4) for c in (2, 3)}

    def test_pictures_find_texts(self, tmp_path: Path, text: ToyText, image: ToyImage, align: str) -> None:
        made = {
            "aligned": Aligned("text", model=align, text=text, image=image),
            "translated": Translated("text", model=align, text=text, image=image),
        }
        with zf.Collection.create(tmp_path / "captions.zf", made, encodings=False) as captions:
            captions.add([{"id": "a", "text": "a red dog"}, {"id": "b", "text": "a green cat"}])
            captions.commit()
            asked = picture(tmp_path / "asked.png", self.RED)
            assert captions.search(image=asked, k=1, fields="aligned")[0].id == "a"
            found = captions.search(image=asked, fields="translated")
            assert [h.id for h in found] == ["a"]
            (part,) = found.explain(found[0]).parts
            assert {e["text"] for e in part.evidence} == {"red", "dog"}
            with pytest.raises(InvalidInput, match="no field of this collection takes a text"):
                captions.search("a dog")
        with zf.Collection.open(tmp_path / "captions.zf") as again:
            assert again.search(image=asked, k=1, fields="aligned")[0].id == "a"

    def test_fields_can_be_added_later(
        self, photos: zf.Collection, tmp_path: Path, text: ToyText, image: ToyImage, sae: Path, align: str
    ) -> None:
        with zf.Collection.create(
            tmp_path / "late.zf", {"visual": Visual(sae, encoder=image)}, encodings=False
        ) as late:
            late.add([{"id": i, "image": tmp_path / f"{i}.png"} for i in ("red", "half", "blue")])
            late.commit()
            late.add_field("translated", Translated(model=align, text=text, image=image))
            late.add_field("aligned", Aligned(model=align, text=text, image=image))
            late.commit()
            for field in ("aligned", "translated"):
                assert [(h.id, h.score) for h in late.search("dog", fields=field)] == [
                    (h.id, h.score) for h in photos.search("dog", fields=field)
                ]

    def test_a_translation_needs_its_visual_field(
        self, tmp_path: Path, text: ToyText, image: ToyImage, sae: Path, align: str
    ) -> None:
        translated = Translated(model=align, text=text, image=image)
        with pytest.raises(
            InvalidInput, match="searches the postings of the visual field 'visual', which is not there"
        ):
            zf.Collection.create(tmp_path / "x.zf", {"translated": translated})
        zeros = np.zeros(DIM, np.float32)
        weights = SaeWeights(2 * np.eye(DIM, dtype=np.float32), zeros, zeros, 1.0, 2)
        save_weights(weights, tmp_path / "other-sae", "float32")
        other = Visual(tmp_path / "other-sae", encoder=image)
        with pytest.raises(FingerprintMismatch, match="make both with the same vocabulary"):
            zf.Collection.create(tmp_path / "x.zf", {"visual": other, "translated": translated})
        with pytest.raises(InvalidInput, match="'text' or 'image', not 'sound'"):
            Aligned("sound", model=align)  # type: ignore[arg-type]

    def test_a_translation_borrows_postings_of_another_use(
        self, tmp_path: Path, text: ToyText, image: ToyImage, sae: Path, align: str
    ) -> None:
        translated = Translated(model=align, text=text, image=image)
        visual = Visual(sae, encoder=image, k=1, k_post=1)
        assert visual.model.fingerprint != translated.align.picture.fingerprint
        with zf.Collection.create(
            tmp_path / "x.zf", {"visual": visual, "translated": translated}, encodings=False
        ) as made:
            made.add([{"id": "red", "image": picture(tmp_path / "r.png", self.RED)}])
            made.commit()
            assert [hit.id for hit in made.search("red", fields="translated")] == ["red"]


def test_an_alignment_uses_visual_words_as_it_was_trained() -> None:
    """However visual fields use them by default."""
    of = json.loads(str(Translated().align.picture.vocabulary))
    trained = json.loads((find("align-flickr8k") / "align.json").read_text())["terms"]
    assert {name: of[name] for name in ("k", "k_post", "pooling")} == {"k": 16, "k_post": 96, "pooling": "max"}
    assert {name: trained[name] for name in ("k", "k_post", "pooling")} == {"k": 16, "k_post": 96, "pooling": "max"}
    own = json.loads(str(Visual().model.vocabulary))
    assert {name: own[name] for name in ("k", "k_post", "pooling")} == {"k": 32, "k_post": 384, "pooling": "sum"}
    assert own["sha256"] == of["sha256"] == trained["sha256"]
