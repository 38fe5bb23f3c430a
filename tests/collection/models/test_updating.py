"""Partial updates in a folder: what is stored is taken over as it is, however it was made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import zipfian as zf
from tests.toys import ToyImage, ToyText, toy_vocabulary
from zipfian.fields import Dense, Latent, Sparse, Visual, Words


class Windowed(ToyText):
    """Reads 12 words at once."""

    max_tokens = 14
    long_texts = "windows"


LONG = " ".join(["The dog ran home.", "A car stood there.", "The sun was red."] * 8)


@pytest.fixture
def text(tmp_path: Path) -> ToyText:
    return Windowed(str(tmp_path))


@pytest.fixture
def notes(tmp_path: Path, text: ToyText) -> zf.Collection:
    latent = Latent(toy_vocabulary(tmp_path / "sae"), encoder=text)
    fields = {
        "words": Words(),
        "latent": latent,
        "dense": Dense(encoder=text),
        "codes": Sparse(100),
        "n": Sparse(9, tf="count"),
    }
    made = zf.Collection.create(tmp_path / "c.zf", fields, encodings=False)
    terms = {"codes": {3: 0.5, 70: 2.25}, "n": {1: 3, 8: 1}}
    made.add([{"id": "long", "text": LONG, "terms": terms, "vector": {"own": [1.0, 2.0]}, "metadata": {"n": 1}}])
    made.add([{"id": "short", "text": "A kitten."}])
    return made


def scores(notes: zf.Collection) -> list[float]:
    found = [notes.score(field, "red dog", ["long"])[0] for field in ("words", "latent", "dense")]
    asked = [notes.score(field, {1: 1.0, 3: 1.0, 70: 1.0}, ["long"])[0] for field in ("codes",)]
    return [*found, *asked, notes.score("n", {1: 1.0, 8: 1.0}, ["long"])[0]]


@pytest.mark.parametrize("committed", [True, False])
def test_other_metadata_leave_every_score_and_encode_nothing(
    committed: bool, notes: zf.Collection, text: ToyText, tmp_path: Path
) -> None:
    notes.commit()
    before, seen = scores(notes), len(text.seen)
    if not committed:  # it waits in memory
        notes.update([{"id": "long", "metadata": {"first": True}}])
    assert notes.update([{"id": "long", "metadata": {"n": 2}}]) == 1
    notes.commit()
    assert notes.get("long").metadata == ({"n": 2} if committed else {"n": 2, "first": True})
    assert len(text.seen) == seen
    assert scores(notes) == before
    assert notes.vector("long", "own").tolist() == [1.0, 2.0]
    assert notes.search("red sun", fields="latent")[0].id == "long"
    assert notes.check().ok


def test_another_text_is_what_a_rebuild_has(notes: zf.Collection, text: ToyText, tmp_path: Path) -> None:
    notes.commit()
    notes.update([{"id": "long", "text": "The kitten slept."}, {"id": "short", "text": LONG}])
    notes.commit()
    with zf.Collection.create(tmp_path / "again.zf", notes.fields, encodings=False) as again:
        terms = {"codes": {3: 0.5, 70: 2.25}, "n": {1: 3, 8: 1}}
        again.add([{"id": "long", "text": "The kitten slept.", "terms": terms, "vector": {"own": [1.0, 2.0]}}])
        again.add([{"id": "short", "text": LONG}])
        again.commit()
        assert scores(again) == scores(notes)
        for query in ("kitten", "red dog"):
            found = [(hit.id, hit.score) for hit in notes.search(query)]
            assert found == [(hit.id, hit.score) for hit in again.search(query)]


def test_the_same_document_twice_in_one_call(notes: zf.Collection) -> None:
    assert notes.update([{"id": "short", "metadata": {"a": 1}}, {"id": "short", "text": "A dog."}]) == 2
    notes.commit()
    assert (notes.get("short").text, notes.get("short").metadata) == ("A dog.", {"a": 1})


def test_a_picture_that_is_gone_does_not_matter_for_its_caption(tmp_path: Path) -> None:
    image = ToyImage(str(tmp_path))
    visual = Visual(toy_vocabulary(tmp_path / "sae"), encoder=image)
    path = tmp_path / "red.png"
    Image.new("RGB", (32, 32), (255, 0, 0)).save(path)
    with zf.Collection.create(tmp_path / "p.zf", {"words": Words(), "visual": visual}, encodings=False) as photos:
        photos.add([{"id": "p", "text": "A dog.", "image": path}])
        photos.commit()
        seen, data = len(image.seen), path.read_bytes()
        path.unlink()
        photos.update([{"id": "p", "text": "A cat."}])
        photos.commit()
        assert len(image.seen) == seen
        assert (
            photos.search(image=data, fields="visual")[0].id == "p"
            and photos.search("cat", fields="words")[0].id == "p"
        )
        photos.update([{"id": "p", "image": np.zeros((32, 32, 3), np.uint8)}])
        photos.commit()
        assert len(image.seen) > seen + 1
        assert not [name for name in photos.get("p").metadata if "image" in name], "of the picture that was"
