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
        assert part.label == "red, dogs"
        assert {(e["row"], e["column"]) for e in part.evidence} == {(r, c) for r in range(4) for c in (2, 3)}

    def test_terms_that_hits_share_are_named_once(
        self, photos: zf.Collection, monkeypatch: pytest.MonkeyPatch
    ) -> None:  # fmt: skip
        named: list[object] = []
        label = zf.Translated.label

        def counted(field: zf.Translated, term: int) -> str:
            named.append(term)
            return label(field, term)

        monkeypatch.setattr(zf.Translated, "label", counted)
        found = photos.search("a dog", fields="translated")
        labels = {part.label for hit in found for part in found.explain(hit).parts}
        assert len(found) > 1 and len(labels) == len(named) == len(set(named)) == 1

    def test_the_likeness_of_words_and_a_picture_comes_apart_over_its_patches(self, photos: zf.Collection) -> None:
        """The toys see a dog in red: of a picture half green, the right half speaks for it."""
        found = photos.search("a dog", fields="aligned")
        (half,) = [hit for hit in found if hit.id == "half"]
        tree = found.explain(half)
        assert (tree.kind, tree.value) == ("cosine", half.score)
        check_sums(tree)
        (patches,) = [part for part in tree.reasons if part.kind == "patches"]
        assert {(e["row"], e["column"]) for e in patches.evidence} == {(r, c) for r in range(4) for c in (2, 3)}
        assert sum(e["strength"] for e in patches.evidence) == pytest.approx(half.score, abs=1e-6), "all of it"
        fused = photos.search("a dog")
        for hit in fused:
            tree = fused.explain(hit)
            assert tree.value == hit.score
            check_sums(tree)
            aligned = next(part for part in tree.parts if part.field == "aligned")
            (likeness,) = [part for part in aligned.parts if part.kind == "cosine"]
            assert sum(part.value for part in likeness.parts) == pytest.approx(likeness.value)
            raw = sum(e["strength"] for part in likeness.parts for e in part.evidence)
            assert raw == pytest.approx(hit.fields["aligned"].score, abs=1e-6), "places are in the field's own unit"

    def test_a_picture_that_has_changed_is_not_shown_as_if_it_were_the_same(
        self, photos: zf.Collection, tmp_path: Path
    ) -> None:
        picture(tmp_path / "red.png", self.BLUE)
        with zf.Collection.open(tmp_path / "across.zf", pictures=[tmp_path]) as again:
            found = again.search("a dog", fields="aligned", k=1)
            tree = found.explain(found[0])
        assert (tree.parts, tree.value) == ((), found[0].score)
        assert "no longer what was indexed" in tree.details["note"]

    def test_without_places_no_picture_is_read_again(self, photos: zf.Collection, tmp_path: Path) -> None:
        found = photos.search("a dog")
        whole = found.explain(found[0])
        for path in tmp_path.glob("*.png"):
            path.unlink()
        tree = found.explain(found[0], places=False)
        assert (tree.value, [part.value for part in tree.parts]) == (whole.value, [part.value for part in whole.parts])
        assert "note" not in str(tree.to_dict()) and "evidence" not in str(tree.to_dict())
        assert "places cannot be shown" in str(found.explain(found[0]))

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
