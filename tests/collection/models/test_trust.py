"""What a collection names outside its folder is read only if its reader allows it, or it proves to be what it was."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

import zipfian as zf
from tests.collection.models.conftest import fields, picture
from tests.hostile.sample import sample
from tests.toys import ToyImage, ToyText, toy_alignment, toy_vocabulary
from zipfian.collection.trust import NOTHING, Trust
from zipfian.encode.picture_files import HASH_COLUMN, SIZE_COLUMN
from zipfian.encode.registry import EncoderSpec, find
from zipfian.errors import FingerprintMismatch, ImageUnreadable, InvalidInput, NotAFile, NotTrusted
from zipfian.fields import Aligned, Dense
from zipfian.vocabulary.aligned import AlignedHeads
from zipfian.vocabulary.sae import SaeVocabulary

RED, BLUE = (250, 10, 10), (10, 10, 250)


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has made nothing yet; encoders, which are objects here, stay known."""
    for place in ("model._VOCABULARIES", "alignment._HEADS", "alignment._TABLES"):
        monkeypatch.setattr(f"zipfian.fields.{place}", {})


class TestModels:
    def test_what_this_process_made_is_known(self, notes: zf.Collection, tmp_path: Path) -> None:
        notes.close()
        with zf.Collection.open(tmp_path / "notes.zf") as again:
            assert again.search("hound", fields="latent")

    def test_a_vocabulary_of_others_is_not_opened(
        self, notes: zf.Collection, tmp_path: Path, sae: Path, forgetful: None
    ) -> None:
        notes.close()
        with zf.Collection.open(tmp_path / "notes.zf") as again:
            assert again.search("hound", fields="words") is not None
            (sae / "sae.json").unlink()  # what is not looked at is not missed
            with pytest.raises(NotTrusted, match=r"toy-sae.*trust=\[.*--trust"):
                again.search("hound", fields="latent")

    @pytest.mark.parametrize("how", ["path", "text", "list", "link", "loaded"])
    def test_the_caller_allows_it(
        self, notes: zf.Collection, tmp_path: Path, sae: Path, forgetful: None, how: str
    ) -> None:
        notes.close()
        (tmp_path / "link").symlink_to(sae)
        trust: Any = {
            "path": sae, "text": str(sae), "list": ["other/model", sae], "link": tmp_path / "link",
            "loaded": SaeVocabulary.load(sae),
        }[how]  # fmt: skip
        with zf.Collection.open(tmp_path / "notes.zf", trust=trust) as again:
            assert again.search("hound", fields="latent")[0].id == "a"

    def test_another_vocabulary_in_its_place_is_refused_from_its_settings(
        self, notes: zf.Collection, tmp_path: Path, sae: Path, forgetful: None
    ) -> None:
        notes.close()
        settings = (sae / "sae.json").read_text()
        known = hashlib.sha256((sae / "sae.safetensors").read_bytes()).hexdigest()
        (sae / "sae.json").write_text(settings.replace(known, "0" * 64))
        (sae / "sae.safetensors").unlink()  # the settings are enough to tell
        with (
            zf.Collection.open(tmp_path / "notes.zf", trust=sae) as again,
            pytest.raises(FingerprintMismatch, match="not the one that was used before"),
        ):
            again.search("hound", fields="latent")

    def test_alignments(self, tmp_path: Path, text: ToyText, image: ToyImage, sae: Path, forgetful: None) -> None:
        align = toy_alignment(tmp_path / "toy-align", sae)
        made = {"aligned": Aligned(model=str(align), text=text, image=image)}
        path = tmp_path / "p.zf"
        with zf.Collection.create(path, made, encodings=False) as c:
            c.add([{"id": "a", "image": picture(tmp_path / "a.png", RED)}])
            c.commit()
            assert c.search("red")  # made here: known
        from zipfian.fields import alignment

        alignment._HEADS.clear()
        with zf.Collection.open(path) as c, pytest.raises(NotTrusted, match="alignment"):
            c.search("red")
        with zf.Collection.open(path, trust=align) as c:
            assert c.search("red")
        alignment._HEADS.clear()
        with zf.Collection.open(path, trust=[AlignedHeads.load(align)]) as c:
            assert c.search("red")
        alignment._HEADS.clear()
        toy_alignment(align, toy_vocabulary(tmp_path / "other", k=3))
        about = (align / "align.json").read_text()
        (align / "align.json").write_text(about.replace('"green"', '"grey"'))
        (align / "align.safetensors").unlink()
        with zf.Collection.open(path, trust=align) as c, pytest.raises(FingerprintMismatch):
            c.search("red")

    def test_a_model_of_the_hub_is_not_asked_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[Any] = []

        def load(**how: Any) -> ToyText:
            asked.append(how)
            return ToyText("hub")

        monkeypatch.setattr("zipfian.encode.hub.load", load)
        settings = {"name_or_path": "some/model", "precision": "float32", "library": "transformers", "kind": "text"}
        data = {"name": "hub", "kind": "text", "settings": settings, "fingerprint": "hub-text:1", "pooled_dim": 16}
        with pytest.raises(NotTrusted, match=r"the model 'some/model' .*trust=\['some/model'\]"):
            find(EncoderSpec.from_json(data))
        with pytest.raises(NotTrusted):
            find(EncoderSpec.from_json(data, Trust.of(["some/other", "model"])))
        assert asked == []
        assert find(EncoderSpec.from_json(data, Trust.of("some/model"))).fingerprint == "hub-text:1"
        # what the manifest says of the precision is of its fingerprint; it is no order to compute in it
        recorded = settings.pop("precision")
        assert asked == [{**settings, "recorded": recorded}]

    @pytest.mark.parametrize("wrong", [{"kind": "image"}, {"pooled_dim": 17}])
    def test_a_known_encoder_must_be_what_the_collection_says(self, text: ToyText, wrong: dict[str, Any]) -> None:
        from zipfian.encode.registry import register

        data = register(text).to_json()
        assert find(EncoderSpec.from_json(data)) is text
        with pytest.raises(FingerprintMismatch, match="build it again"):
            find(EncoderSpec.from_json(data | wrong))

    def test_what_trust_may_hold(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="trust names models and folders"):
            Trust.of([object()])
        with pytest.raises(InvalidInput, match="pictures names folders"):
            Trust.of((), tmp_path / "missing")
        assert "x" not in NOTHING and "" not in NOTHING


class TestPictures:
    @pytest.fixture
    def photos(self, tmp_path: Path, image: ToyImage, sae: Path) -> Path:
        folder = tmp_path / "photos"
        folder.mkdir()
        picture(folder / "red.png", RED)
        with zf.Collection.create(tmp_path / "p.zf", fields(sae, image), encodings=False) as c:
            c.add([{"id": "red", "image": folder / "red.png"}])
            c.commit()
        return folder

    def patches(self, path: Path, asked: Path, **options: Any) -> tuple[bool, str]:
        with zf.Collection.open(path, encodings=False, **options) as c:
            tree = c.explain(None, "red", image=asked, fields="visual")
            return any("row" in e for part in tree.parts for e in part.evidence), str(tree)

    def test_a_picture_that_is_what_was_indexed_is_shown(self, tmp_path: Path, photos: Path) -> None:
        asked = picture(tmp_path / "asked.png", RED)
        assert self.patches(tmp_path / "p.zf", asked)[0]
        with zf.Collection.open(tmp_path / "p.zf") as c:
            document = c.get("red")
            assert document is not None
            data = (photos / "red.png").read_bytes()
            assert document.metadata[SIZE_COLUMN] == len(data)
            assert document.metadata[HASH_COLUMN] == hashlib.sha256(data).hexdigest()
            assert c.picture("red") == data
            assert c.picture("nobody") is None

    def test_one_that_has_changed_is_shown_only_in_a_folder_that_was_named(self, tmp_path: Path, photos: Path) -> None:
        asked = picture(tmp_path / "asked.png", RED)
        picture(photos / "red.png", RED, BLUE)
        found, text = self.patches(tmp_path / "p.zf", asked)
        assert not found and "no longer what was indexed" in text
        with zf.Collection.open(tmp_path / "p.zf", pictures=photos) as c:
            assert c.picture("red") == (photos / "red.png").read_bytes()
        with zf.Collection.open(tmp_path / "p.zf") as c, pytest.raises(ImageUnreadable, match="no longer"):
            c.picture("red")

    def test_one_without_a_hash_needs_a_folder(self, tmp_path: Path, photos: Path, image: ToyImage, sae: Path) -> None:
        path, file = tmp_path / "q.zf", photos / "red.png"
        with zf.Collection.create(path, fields(sae, image), encodings=False) as c:
            c.add([{"id": "red", "image": file.read_bytes(), "metadata": {"image": str(file)}}])
            c.commit()
            with pytest.raises(NotTrusted, match="--pictures FOLDER"):
                c.picture("red")
            with pytest.raises(InvalidInput, match=r"cannot be added: document 'red'.*--pictures"):
                c.add_field("more", Dense(encoder=image))
            with pytest.raises(InvalidInput, match="--pictures"):
                c.search(image=file, method="late")
        found, text = self.patches(path, file)
        assert not found and "--pictures FOLDER" in text
        assert self.patches(path, file, pictures=[tmp_path / "photos"])[0]
        with zf.Collection.open(path, "w", encodings=False, pictures=photos) as c:
            c.add_field("more", Dense(encoder=image))
            c.commit()
            assert c.search(image=file, fields="more")[0].score == pytest.approx(1.0)
            assert c.search(image=file, method="late")

    def test_links_lead_no_further_than_the_folder(self, tmp_path: Path, photos: Path) -> None:
        outside = picture(tmp_path / "outside.png", BLUE)
        (photos / "in.png").symlink_to(photos / "red.png")
        (photos / "out.png").symlink_to(outside)
        (tmp_path / "photos-too").mkdir()
        beside = picture(tmp_path / "photos-too" / "x.png", BLUE)
        trust = Trust.of((), photos)
        assert trust.picture({"image": str(photos / "in.png")}) == (photos / "red.png").read_bytes()
        for path in (photos / "out.png", beside, photos / ".." / "outside.png", photos):
            with pytest.raises(NotTrusted):
                trust.picture({"image": str(path)})

    def test_a_pipe_with_a_stamp_is_no_picture(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        metadata = {"image": str(tmp_path / "pipe"), SIZE_COLUMN: 5, HASH_COLUMN: "0" * 64}
        with pytest.raises(NotAFile, match="not a regular file"):
            NOTHING.picture(metadata)
        with pytest.raises(NotAFile, match="not a regular file"):
            Trust.of((), tmp_path).picture(metadata)

    def test_adding_stamps_also_what_only_the_metadata_name(
        self, tmp_path: Path, photos: Path, image: ToyImage, sae: Path
    ) -> None:
        stale = {"image": str(photos / "red.png"), SIZE_COLUMN: 1, HASH_COLUMN: "0" * 64}
        with zf.Collection.create(tmp_path / "m.zf", fields(sae, image), encodings=False) as c:
            c.add([{"id": "a", "metadata": stale}, {"id": "b", "image": photos / "red.png", "metadata": stale}])
            c.commit()
            assert c.picture("a") == c.picture("b") == (photos / "red.png").read_bytes()


def test_the_sample_of_the_hostile_cases_is_itself_answered(tmp_path: Path) -> None:
    """Else every forgery of it would be refused for a reason of its own."""
    import random
    import shutil

    from tests.hostile import manifests

    shutil.copytree(sample().collection, tmp_path / "c.zf")
    assert manifests.use(tmp_path / "c.zf", random.Random(0), write=True) == "17 steps"


def test_a_splade_vocabulary_is_not_kept_under_a_name_that_it_does_not_have(text: ToyText) -> None:
    """Else an honest collection of the same process would be read with the settings of a hostile one."""
    from zipfian.encode.registry import register
    from zipfian.fields.model import Model
    from zipfian.vocabulary.splade import SpladeVocabulary

    made = SpladeVocabulary(100, text.fingerprint, min_weight=0.5)
    data = {"encoder": register(text).to_json(), "vocabulary": made.to_json(), "fingerprint": made.fingerprint}
    forged = {**data, "vocabulary": {**made.to_json(), "min_weight": 0.0}}
    with pytest.raises(FingerprintMismatch, match="its settings make"):
        Model.from_json(forged).load_splade()
    found = Model.from_json(data).load_splade()
    assert isinstance(found, SpladeVocabulary) and found.min_weight == 0.5


@pytest.mark.parametrize(
    "name", ["align-flickr8k/../align-flickr8k", "../models/align-flickr8k", "./align-flickr8k", ""]
)
def test_only_the_plain_name_of_a_shipped_alignment_is_one(name: str) -> None:
    from zipfian.vocabulary.aligned import is_shipped

    assert is_shipped("align-flickr8k") and not is_shipped(name)
