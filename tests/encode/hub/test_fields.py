"""Hub models as fields of a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from PIL import Image

import zipfian as zf
from tests.encode.hub import tiny
from tests.encode.hub.tiny import needs_hub, needs_open_clip
from zipfian.encode import hub, registry
from zipfian.errors import FingerprintMismatch, InvalidInput, NotTrusted
from zipfian.fields import Aligned, Dense, Splade, Visual

pytestmark = needs_hub

TEXTS = {"a": "a dog sleeps", "b": "the cat eats fish", "c": "red cars on the road"}


def test_a_splade_field(tmp_path: Path) -> None:
    tiny.masked_bert(tmp_path / "model")
    encoder = hub.load(tmp_path / "model", kind="splade")
    with zf.Collection.create(tmp_path / "c.zf", {"splade": Splade(encoder, min_weight=0.0)}, encodings=False) as c:
        c.add({"id": i, "text": t} for i, t in TEXTS.items())
        c.commit()
        found = c.search("cat fish", k=3)
        assert len(found) == 3
        tree = found.explain(found[0])
        assert tree.value == found[0].score == pytest.approx(sum(p.value for p in tree.parts))
        assert c.searcher().settings.postings("splade").scoring == zf.Dot()
    with zf.Collection.open(tmp_path / "c.zf") as again:
        assert [h.score for h in again.search("cat fish", k=3)] == [h.score for h in found]


def save_pictures(folder: Path, count: int) -> list[dict[str, str]]:
    folder.mkdir()
    for i, pixels in enumerate(tiny.pictures(count)):
        Image.fromarray(pixels).save(folder / f"{i}.png")
    return [{"id": str(i), "image": str(folder / f"{i}.png")} for i in range(count)]


@needs_open_clip
@pytest.mark.parametrize("library", ["hf", "open_clip", "open_clip, a convolutional network"])
def test_a_model_by_name_for_pictures_and_words(tmp_path: Path, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One pass over the pictures for both fields, one copy of the weights, and the collection is found again."""
    make = {"hf": tiny.clip, "open_clip": tiny.open_clip_model}.get(library, tiny.mobile_clip)
    make(tmp_path / "model")
    name = f"{library.partition(',')[0]}:{tmp_path / 'model'}"
    fields: dict[str, Any] = {"dense": Dense("image", encoder=name), "aligned": Aligned(encoder=name)}
    specs = (fields["dense"].encoder, fields["aligned"].align.text)
    image, text = (cast(Any, registry.find(spec)) for spec in specs)
    assert image.model is text.model and fields["aligned"].encoder == fields["dense"].encoder
    documents = save_pictures(tmp_path / "p", 5)
    pair = hub.dual(name)
    with zf.Collection.create(tmp_path / "c.zf", fields, encodings=False) as c:
        c.add(documents)
        c.commit()
        found = c.search("the mill", k=5)
        expected = {d["id"]: float(pair.image_vector(d["image"]) @ pair.text_vector("the mill")) for d in documents}
        assert {h.id: h.score for h in found} == pytest.approx(expected, abs=1e-5)
        assert c.search(image=documents[3]["image"], k=1)[0].id == "3"
    monkeypatch.setattr(registry, "_KNOWN", {})  # as a process that has made none of it
    with zf.Collection.open(tmp_path / "c.zf") as again, pytest.raises(NotTrusted, match=str(tmp_path / "model")):
        again.search("the mill")
    with zf.Collection.open(tmp_path / "c.zf", trust=tmp_path / "model") as again:
        assert [h.score for h in again.search("the mill", k=5)] == [h.score for h in found]
    weights = next((tmp_path / "model").glob("*.safetensors"))
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    monkeypatch.setattr(registry, "_KNOWN", {})
    with (
        zf.Collection.open(tmp_path / "c.zf", trust=tmp_path / "model") as again,
        pytest.raises(FingerprintMismatch, match="the collection was built with the encoder"),
    ):
        again.search("the mill")


def test_a_model_without_a_shared_space_and_a_foreign_vocabulary(tmp_path: Path) -> None:
    tiny.bert(tmp_path / "bert")
    tiny.clip(tmp_path / "clip")
    with pytest.raises(InvalidInput, match="no shared space for pictures and texts"):
        Aligned(encoder=f"hf:{tmp_path / 'bert'}")
    with pytest.raises(InvalidInput, match="encodes texts only"):
        Dense("image", encoder=f"hf:{tmp_path / 'bert'}")
    with pytest.raises(FingerprintMismatch, match="image-11k reads vectors of 1280 numbers"):
        Visual(encoder=f"hf:{tmp_path / 'clip'}")
