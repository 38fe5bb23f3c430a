"""Latent, visual and dense fields: what encoders and vocabularies make of texts and pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import zipfian as zf
from tests.collection.models.conftest import TEXTS, fields, picture
from tests.toys import ToyImage, ToyText, toy_vocabulary
from tests.vocabulary.sae_folders import weights_of, write
from zipfian.encode import ImageEncoder
from zipfian.encode.cache import EncodingCache
from zipfian.errors import FingerprintMismatch, ImageUnreadable, InvalidInput
from zipfian.fields import Dense, Latent, Visual


class TestTexts:
    def test_latent_terms_find_what_words_do_not(self, notes: zf.Collection) -> None:
        assert not notes.search("hound", fields="words")
        assert next(h.id for h in notes.search("hound", fields="latent")) == "a"
        assert next(h.id for h in notes.search("car", fields="latent")) == "b"
        assert [h.id for h in notes.search("hound", k=1, fields="dense")] == ["a"]

    def test_one_pass_serves_all_fields(self, notes: zf.Collection, text: ToyText) -> None:
        assert text.seen == list(TEXTS.values())

    def test_explanation_points_at_words_of_document_and_query(self, notes: zf.Collection) -> None:
        found = notes.search("my hound", fields="latent")
        tree = found.explain(found[0])
        assert tree.value == found[0].score == pytest.approx(sum(p.value for p in tree.parts), abs=0)
        (dog,) = [p for p in tree.parts if p.term == 1]
        assert dog.label == "latent 1"
        assert dog.details["from"] == "hound"
        assert [(e["text"], e["strength"]) for e in dog.evidence] == [("puppy", 3.0)]
        assert TEXTS["a"][dog.evidence[0]["start"] : dog.evidence[0]["end"]] == "puppy"
        assert "puppy" in found.highlight(found[0])[0].text

    def test_dense_scores_are_cosines(self, notes: zf.Collection, text: ToyText) -> None:
        found = notes.search("puppy", k=3, fields="dense")
        asked = text.one("puppy").pooled.astype(np.float64)
        for hit in found:
            expected = float(asked @ text.one(TEXTS[hit.id]).pooled.astype(np.float64))
            assert hit.score == pytest.approx(expected, abs=1e-6)
            assert found.explain(hit).value == hit.score

    def test_own_term_ids_and_vectors_can_be_asked_for(self, notes: zf.Collection, text: ToyText) -> None:
        assert [h.id for h in notes.search({1: 1.0}, fields="latent")] == ["a"]
        assert [h.id for h in notes.search(text.one("puppy").pooled, k=1, fields="dense")] == ["a"]
        with pytest.raises(InvalidInput, match="have 16 numbers"):
            notes.search(np.ones(3), fields="dense")

    def test_a_reopened_collection_finds_its_models(self, notes: zf.Collection, tmp_path: Path) -> None:
        notes.close()
        with zf.Collection.open(tmp_path / "notes.zf") as again:
            assert next(h.id for h in again.search("hound", fields="latent")) == "a"
            assert again.fields["latent"].kind == "latent"

    def test_a_foreign_encoder_has_to_be_known(
        self, notes: zf.Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        notes.close()
        monkeypatch.setattr("zipfian.encode.registry._KNOWN", {})
        with zf.Collection.open(tmp_path / "notes.zf") as again:
            assert again.search("puppy", fields="words")  # what needs no encoder works
            with pytest.raises(FingerprintMismatch, match=r"register\(encoder\)"):
                again.search("hound", fields="latent")

    def test_a_changed_vocabulary_is_refused(
        self, notes: zf.Collection, tmp_path: Path, sae: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        notes.close()
        toy_vocabulary(sae, k=3)
        monkeypatch.setattr("zipfian.fields.model._VOCABULARIES", {})
        settings = sae / "sae.json"
        settings.write_text(settings.read_text())
        with zf.Collection.open(tmp_path / "notes.zf", trust=[sae]) as again:
            assert again.search("hound", fields="latent")  # the same weights: k at use is the collection's own
        weights = sae / "sae.safetensors"
        weights.write_bytes(weights.read_bytes()[:-4] + b"\0\0\0\x3f")
        monkeypatch.setattr("zipfian.fields.model._VOCABULARIES", {})
        with (
            zf.Collection.open(tmp_path / "notes.zf", trust=sae) as again,
            pytest.raises((FingerprintMismatch, InvalidInput), match="sha256"),
        ):
            again.search("hound", fields="latent")

    def test_blank_texts_have_no_terms_and_no_vector(self, notes: zf.Collection) -> None:
        notes.add([{"id": "blank", "text": " \n"}, {"id": "none"}])
        notes.commit()
        assert "blank" not in [h.id for h in notes.search("hound", k=10, fields="dense")]
        assert notes.vector("blank", "dense") is None

    def test_the_table_needs_a_table(self, notes: zf.Collection) -> None:
        with pytest.raises(InvalidInput, match="use 'encoder'"):
            notes.search("hound", fields="latent", query_encoder="table")

    def test_terms_and_vectors_of_a_model_field_are_its_own(self, notes: zf.Collection) -> None:
        with pytest.raises(InvalidInput, match="takes its terms from the text"):
            notes.add([{"id": "x", "terms": {"latent": {1: 1.0}}}])
        with pytest.raises(InvalidInput, match="made by the field 'dense'"):
            notes.add([{"id": "x", "vector": {"dense": [1.0] * 16}}])
        with pytest.raises(InvalidInput, match="no field of this collection looks at pictures"):
            notes.add([{"id": "x", "image": "x.png"}])


class TestAddingFields:
    def test_later_is_the_same_as_at_once(self, notes: zf.Collection, tmp_path: Path, text: ToyText, sae: Path) -> None:
        with zf.Collection.create(tmp_path / "late.zf", encodings=False) as late:
            late.add({"id": i, "text": t} for i, t in TEXTS.items())
            late.commit()
            late.add([{"id": "d", "text": "gone"}, {"id": "e", "vector": [1.0, 2.0]}])
            late.commit()
            late.delete(["d", "e"])
            late.add_field("latent", Latent(sae, encoder=text))
            late.add_field("dense", Dense(encoder=text))
            late.commit()
            for field in ("latent", "dense"):
                for asked in ("hound", "a red car", "kitten light"):
                    assert [(h.id, h.score) for h in late.search(asked, fields=field)] == [
                        (h.id, h.score) for h in notes.search(asked, fields=field)
                    ]
            late.merge()
            late.commit()
            assert late.check().ok
            assert [h.id for h in late.search("hound", k=1, fields="dense")] == ["a"]

    def test_the_cache_saves_the_second_pass(self, tmp_path: Path, text: ToyText, sae: Path) -> None:
        cache = EncodingCache(tmp_path / "encodings")
        made = {"latent": Latent(sae, encoder=text), "dense": Dense(encoder=text)}
        documents = [{"id": i, "text": t} for i, t in TEXTS.items()]
        with zf.Collection.create(tmp_path / "one.zf", made, encodings=cache) as one:
            one.add(documents)
            one.commit()
            assert len(text.seen) == 3
            expected = [(h.id, h.score) for h in one.search("hound", fields="latent")]
        with zf.Collection.create(tmp_path / "two.zf", encodings=cache) as two:
            two.add(documents)
            two.commit()
            del text.seen[:]
            two.add_field("latent", made["latent"])
            two.add_field("dense", made["dense"])
            two.commit()
            assert text.seen == []
            assert [(h.id, h.score) for h in two.search("hound", fields="latent")] == expected


class TestPictures:
    RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)

    @pytest.fixture
    def photos(self, tmp_path: Path, image: ToyImage, sae: Path) -> zf.Collection:
        made = zf.Collection.create(tmp_path / "photos.zf", fields(sae, image), encodings=False)
        for name, colours in (("red", [self.RED]), ("half", [self.GREEN, self.RED]), ("blue", [self.BLUE])):
            made.add([{"id": name, "image": picture(tmp_path / f"{name}.png", *colours)}])
        made.commit()
        return made

    def test_search_by_picture(self, photos: zf.Collection, tmp_path: Path) -> None:
        asked = picture(tmp_path / "asked.png", self.RED)
        for field in ("visual", "dense"):
            assert [h.id for h in photos.search(image=asked, k=2, fields=field)] == ["red", "half"]
        assert [h.id for h in photos.search(image=asked.read_bytes(), k=1, fields="visual")] == ["red"]
        assert photos.search(image=asked, fields="visual")[0].metadata["image"] == str(tmp_path / "red.png")

    def test_explanation_points_at_patches(self, photos: zf.Collection, tmp_path: Path) -> None:
        found = photos.search(image=picture(tmp_path / "asked.png", self.RED), fields="visual")
        (half,) = [h for h in found if h.id == "half"]
        (red,) = [p for p in found.explain(half).parts if p.term == 1]
        assert {(e["row"], e["column"]) for e in red.evidence} == {(r, c) for r in range(4) for c in (2, 3)}
        assert red.evidence[0]["rows"] == red.evidence[0]["columns"] == 4

    def test_a_changed_picture_is_not_pointed_at(self, photos: zf.Collection, tmp_path: Path) -> None:
        found = photos.search(image=picture(tmp_path / "asked.png", self.RED), fields="visual")
        picture(tmp_path / "half.png", self.BLUE)
        (half,) = [h for h in found if h.id == "half"]
        tree = found.explain(half)
        assert tree.value == half.score
        assert not any(p.evidence for p in tree.parts)
        assert "no longer what was indexed" in tree.details["note"]
        (tmp_path / "half.png").unlink()
        assert "cannot be shown" in found.explain(half).details["note"]

    def test_a_text_is_no_picture(self, photos: zf.Collection) -> None:
        with pytest.raises(InvalidInput, match="no field of this collection takes a text"):
            photos.search("a red square")
        with pytest.raises(InvalidInput, match=r"takes a picture \(image=\), not a text"):
            photos.search("a red square", fields="visual")

    def test_a_damaged_picture_is_an_error_or_skipped(self, photos: zf.Collection, tmp_path: Path) -> None:
        good = picture(tmp_path / "good.png", self.GREEN)
        bad = tmp_path / "bad.png"
        bad.write_bytes(good.read_bytes()[:-30])
        items = [{"id": "good", "image": good}, {"id": "bad", "image": bad}, {"id": "last", "image": good}]
        with pytest.raises(ImageUnreadable, match=r"bad\.png") as caught:
            photos.add(items)
        assert caught.value.__notes__ == ["document 'bad'"]
        photos.commit()
        assert "good" in photos and "bad" not in photos and "last" not in photos
        told: list[str] = []
        assert photos.add(items, existing="skip", skipped=lambda i, e: told.append(f"{i}: {e}")) == 1
        photos.commit()
        assert "last" in photos and "bad" not in photos
        assert len(told) == 1 and told[0].startswith("bad: ") and "bad.png" in told[0]

    def test_a_missing_file_is_an_error_that_names_it(self, photos: zf.Collection, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match=r"nowhere\.png"):
            photos.add([{"id": "x", "image": tmp_path / "nowhere.png"}])

    def test_both_kinds_in_one_collection(self, tmp_path: Path, text: ToyText, image: ToyImage, sae: Path) -> None:
        made = {**fields(sae, text), "visual": Visual(sae, encoder=image)}
        with zf.Collection.create(tmp_path / "both.zf", made, encodings=False) as both:
            both.add([{"id": "a", "text": "a puppy", "image": picture(tmp_path / "a.png", self.RED)}])
            both.add([{"id": "b", "text": "a car"}, {"id": "c", "image": picture(tmp_path / "c.png", self.BLUE)}])
            both.commit()
            assert [h.id for h in both.search("hound", k=1, fields="latent")] == ["a"]
            assert [h.id for h in both.search(image=tmp_path / "c.png", k=1, fields="visual")] == ["c"]
            assert len(both.search("hound", k=9, fields="dense")) == 2


def test_a_field_of_the_wrong_kind_is_refused(text: ToyText, image: ToyImage, sae: Path) -> None:
    with pytest.raises(InvalidInput, match="needs an encoder of texts, not of images"):
        Latent(sae, encoder=image)
    with pytest.raises(InvalidInput, match="a dense field needs source="):
        Dense()
    with pytest.raises(InvalidInput, match="unknown setting of a vocabulary"):
        Latent(sae, encoder=text, colour="red")
    with pytest.raises(InvalidInput, match="a vocabulary is a name, a folder or a SaeVocabulary"):
        Latent(7, encoder=text)


def test_a_vocabulary_of_another_layer_brings_its_encoder(tmp_path: Path) -> None:
    encoder = ImageEncoder(block=20)
    settings = {"size": 384, "fit": "whole", "block": 20}
    known = {"name": "efficientnet-lite2", "fingerprint": encoder.fingerprint, "settings": settings}
    write(tmp_path / "early", weights_of(64, 352, encoder=known))
    field = Visual(tmp_path / "early")
    assert field.model is not None and field.model.encoder.fingerprint == encoder.fingerprint
    with pytest.raises(FingerprintMismatch, match="352"):
        Visual(tmp_path / "early", encoder=ImageEncoder())
