from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.evaluate.fakes import FakeCollection
from zipfian.errors import InvalidInput
from zipfian.evaluate import methods
from zipfian.evaluate.datasets import JudgedQuery, Picture
from zipfian.evaluate.methods import METHODS, Method, check_fields, find, names, picture_argument, query_of, register


def test_the_contract_names_are_there() -> None:
    text = "words latent latent-table dense gte-small hybrid high-quality tfidf fusion hnsw ivfpq scalar splade"
    other = "visual two-stage aligned translated"
    assert {*text.split(), *other.split()} <= set(METHODS)
    assert set(text.split()) <= set(names("text"))


def test_unknown_methods_and_wrong_kinds() -> None:
    with pytest.raises(InvalidInput, match="unknown method 'bm26'; for text collections there are: words"):
        find(["words", "bm26"], "text")
    with pytest.raises(InvalidInput, match="'visual' does not rank text collections; these do: words"):
        find(["visual"], "text")
    with pytest.raises(InvalidInput, match="name at least one method"):
        find([], "image")
    assert [m.name for m in find(["dense", "words", "dense"], "text")] == ["dense", "words"]


def test_a_missing_field_says_how_to_add_it() -> None:
    with pytest.raises(InvalidInput, match=r"needs the field 'dense'; .* has: words\. Add it with .*add_field"):
        check_fields(FakeCollection(["words"], {}), METHODS["fusion"], "text")
    check_fields(FakeCollection(["words", "dense"], {}), METHODS["fusion"], "text")


def test_what_a_collection_is_asked() -> None:
    collection = FakeCollection(["latent"], {"latent": {"cats": ["d1"]}})
    question = query_of(JudgedQuery("q", text="cats"))
    methods.search(collection, METHODS["latent-table"], question, 3)
    methods.search(collection, METHODS["latent"], question, 3)
    table, encoder = collection.asked
    assert (table["k"], table["fields"], table["question"].mode) == (3, "latent", "table")
    assert encoder["question"].mode is None
    assert table["question"]._passes is encoder["question"]._passes  # one pass of the encoder for both


def test_registering() -> None:
    with pytest.raises(InvalidInput, match="already"):
        register(METHODS["words"])
    register(Method("mine", "a test", {"text": ("words",)}, {"fields": "words"}))
    try:
        assert "mine" in names("text") and "mine" not in names("image")
    finally:
        del METHODS["mine"]


def test_a_query_picture_is_cropped_to_its_box(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", (40, 30), (255, 0, 0)).save(tmp_path / "a.png")
    assert picture_argument(None) == {}
    assert picture_argument(Picture(tmp_path / "a.png")) == {"image": tmp_path / "a.png"}
    cropped = picture_argument(Picture(tmp_path / "a.png", (5.2, 5.0, 25.0, 15.0)))["image"]
    assert image.open(io.BytesIO(cropped)).size == (20, 10)
