"""Fields that name an encoder, and sets of fields: what they become, what a manifest keeps, and how they are read."""

from __future__ import annotations

import pytest

from zipfian.cli import _fields
from zipfian.encode import ImageEncoder, MultilingualEncoder, TextEncoder, models, registry
from zipfian.encode.registry import EncoderSpec
from zipfian.errors import FormatTooNew, InvalidInput
from zipfian.fields import Dense, Latent, Visual, Words
from zipfian.fields.named import SETS, default_field, make_fields
from zipfian.fields.registry import field_from_json


def test_a_name_is_an_encoder_of_the_package() -> None:
    field = Dense("text", encoder="gte-small")
    assert field == Dense(encoder=TextEncoder(model="gte-small")) == default_field("gte-small")
    assert field != Dense("text") == Dense(encoder="all-minilm-l6-v2")
    assert Dense(encoder="use-multilingual-v3") == Dense(encoder=MultilingualEncoder())
    assert Dense("image", encoder="efficientnet-lite2") == Dense(encoder=ImageEncoder())
    with pytest.raises(InvalidInput, match=r"no encoder of the package is called 'gte'; .*gte-small.*hf:NAME"):
        Dense("text", encoder="gte")
    with pytest.raises(InvalidInput, match="the encoder is of texts, the field of images"):
        Dense("image", encoder="gte-small")


def test_what_a_manifest_keeps_of_it() -> None:
    field = default_field("gte-small")
    kept = field.to_json()
    assert kept["model"]["encoder"]["name"] == "gte-small"
    assert field_from_json("gte-small", kept) == field
    spec = EncoderSpec.from_json(kept["model"]["encoder"])
    assert registry.languages_read(spec) == frozenset({"en"})
    assert registry.weights_of(spec) is models.GTE_SMALL
    assert registry.find(spec).fingerprint == TextEncoder(model="gte-small").fingerprint
    kept["model"]["encoder"]["name"] = "gte-huge"
    with pytest.raises(FormatTooNew, match="gte-huge"):
        field_from_json("gte-small", kept)


def test_it_is_made_again_from_what_was_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process that has never heard of it, with settings of its own."""
    spec = registry.register(TextEncoder("gte-small", layers=(3,), max_tokens=100))
    monkeypatch.setattr(registry, "_KNOWN", {})
    assert registry.languages_read(spec) == frozenset({"en"})
    made = registry.find(spec)
    assert isinstance(made, TextEncoder)
    assert (made.model, made.layers, made.max_tokens) == (models.GTE_SMALL, ((3, 1.0),), 100)
    default = registry.register(TextEncoder())
    assert default.name == "text"  # as manifests had it before there were two
    assert registry.weights_of(default) is models.MINILM


def test_sets_of_fields() -> None:
    fields = make_fields("high-quality")
    assert fields == {"words": Words(), "latent": Latent(), "gte-small": Dense("text", encoder="gte-small")}
    assert _fields.SETS == SETS
    assert _fields.parse("high-quality") == ("words", "latent", "gte-small")
    assert _fields.parse("visual, high-quality,words") == ("visual", "words", "latent", "gte-small")
    with pytest.raises(InvalidInput, match=r"no field is called 'best'; .*high-quality for several at once"):
        _fields.parse("best")


def test_cosines_of_each_encoder_are_read_as_its_own() -> None:
    """gte-small gives any two texts .75 or more: that says nothing of it, and much of the default encoder."""
    high, usual = default_field("gte-small").evidence, Dense("text").evidence
    assert usual.base + usual.share * 0.8 > 1 > -4 > high.base + high.share * 0.8
    assert high.base + high.share * 0.95 > 2


def test_vectors_of_another_pass_weigh_more() -> None:
    assert (Dense("text").weight, default_field("gte-small").weight, default_field("multilingual").weight) == (
        0.5,
        0.75,
        0.3,
    )


def test_weights_are_those_that_were_measured() -> None:
    """Of each encoder of the package; visual words stand at twice the default picture vector."""
    weights = {name: Dense(encoder=name).weight for name in ("text", "gte-small", "use-multilingual-v3", "image")}
    assert weights == {"text": 0.5, "gte-small": 0.75, "use-multilingual-v3": 0.3, "image": Visual().weight / 2}
