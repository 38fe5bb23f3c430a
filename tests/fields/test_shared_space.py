"""Aligned fields of a model that puts texts and pictures into one space by itself: no heads, no words it never saw."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zipfian as zf
from tests.collection.models.conftest import picture
from tests.toys import ToyImage, ToyText
from zipfian.encode.registry import register
from zipfian.errors import FingerprintMismatch, InvalidInput
from zipfian.fields import Aligned
from zipfian.fields.shared import SharedSpace, shared_space

RED, BLUE = (250, 10, 10), (10, 10, 250)
COLOURS = {"red": RED, "blue": BLUE}
"""To the toys a dog is red and a car blue."""


@dataclass(frozen=True)
class Pair:
    """Two toys whose vectors have their colours in common."""

    text: ToyText
    image: ToyImage


@pytest.fixture
def pair() -> Pair:
    return Pair(ToyText("pair"), ToyImage("pair"))


@pytest.fixture
def photos(pair: Pair, tmp_path: Path) -> zf.Collection:
    made = zf.Collection.create(tmp_path / "p.zf", {"aligned": Aligned(encoder=pair)}, encodings=False)
    made.add({"id": name, "image": picture(tmp_path / f"{name}.png", colour)} for name, colour in COLOURS.items())
    made.commit()
    return made


@pytest.mark.parametrize(("word", "colour"), [("dog", "red"), ("car", "blue")])
def test_a_score_is_the_cosine_of_the_two_encoders(
    photos: zf.Collection, pair: Pair, tmp_path: Path, word: str, colour: str
) -> None:
    found = photos.search(word, k=2)
    assert found[0].id == colour
    (asked,), (seen,) = pair.text.encode_queries([word]), pair.image.encode_documents([tmp_path / f"{colour}.png"])
    assert found[0].score == pytest.approx(float(asked.pooled @ seen.pooled), abs=1e-6)
    assert found.settings.get("unseen") is None and found.notes == []
    tree = found.explain(found[0])
    assert tree.value == pytest.approx(found[0].score, abs=1e-9)


def test_texts_are_found_by_a_picture(pair: Pair, tmp_path: Path) -> None:
    with zf.Collection.create(tmp_path / "t.zf", {"aligned": Aligned("text", encoder=pair)}, encodings=False) as texts:
        texts.add([{"id": "r", "text": "dog"}, {"id": "b", "text": "car"}])
        texts.commit()
        assert texts.search(image=picture(tmp_path / "b.png", BLUE), k=1)[0].id == "b"


def test_it_is_found_again(photos: zf.Collection, tmp_path: Path) -> None:
    scores, field = [hit.score for hit in photos.search("dog")], photos.fields["aligned"]
    photos.close()
    with zf.Collection.open(tmp_path / "p.zf") as again:
        assert [hit.score for hit in again.search("dog")] == scores
        assert again.fields["aligned"] == field


def test_confidence_claims_nothing(photos: zf.Collection) -> None:
    """No model was measured: one in four for each hit, whatever its cosine, and not 'nothing good was found'."""
    assert [round(hit.confidence, 3) for hit in photos.search("dog", k=2)] == [0.269, 0.269]


class Other(ToyText):
    """Of another width."""

    pooled_dim = 5


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda pair: Pair(Other("other"), pair.image), "5 numbers and pictures of 16"),
        (lambda pair: Pair(pair.image, pair.image), "an encoder of texts and one of pictures"),
        (lambda pair: pair.image, r"reads images only: name its model .*hub\.dual"),
    ],
)
def test_halves_that_do_not_fit(pair: Pair, given: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        shared_space(given(pair))


def test_heads_and_a_model_that_needs_none(pair: Pair) -> None:
    with pytest.raises(InvalidInput, match="leave model, text out"):
        Aligned(model="align-flickr8k", encoder=pair, text=pair.text)


@pytest.mark.parametrize("key", ["name_or_path", "revision", "precision", "library"])
def test_halves_of_two_models_are_refused(key: str) -> None:
    where = {"name_or_path": "some/clip", "revision": "main", "precision": "float32", "library": "transformers"}

    def half(kind: str, **changes: str) -> dict[str, Any]:
        return {
            "name": "hub", "kind": kind, "settings": {**where, "kind": kind, **changes}, "fingerprint": f"clip:{kind}",
            "pooled_dim": 16,
        }  # fmt: skip

    assert SharedSpace.from_json({"text": half("text"), "image": half("image")}).image.pooled_dim == 16
    with pytest.raises(FingerprintMismatch, match="must come from one model"):
        SharedSpace.from_json({"text": half("text"), "image": half("image", **{key: "other"})})


def test_one_of_the_hub_and_one_of_ones_own_are_refused(pair: Pair) -> None:
    own = register(pair.text).to_json()
    hub = {"name": "hub", "kind": "image", "settings": {"name_or_path": "a/b"}, "fingerprint": "b:1", "pooled_dim": 16}
    with pytest.raises(FingerprintMismatch, match="no space in common"):
        SharedSpace.from_json({"text": own, "image": hub})


def test_slopes_are_the_query_itself(pair: Pair) -> None:
    towards = np.arange(16, dtype=np.float32)
    slopes, rest = shared_space(pair).image_slopes(towards, None, towards)
    assert slopes.tolist() == towards.tolist() and rest == 0.0
