"""The scalar field: pooled vectors as integer terms, scored by dot product."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.toys import DIM, ToyImage, ToyText
from zipfian.cli import main
from zipfian.collection import Collection
from zipfian.encode.cache import EncodingCache
from zipfian.errors import FingerprintMismatch, IndexCorrupt, InvalidInput
from zipfian.fields import Dense, Field, Scalar
from zipfian.fields import model as model_module
from zipfian.retrieve.scoring import BM25, Dot
from zipfian.vocabulary.scalar import ScalarVocabulary

TEXTS = ["a dog in the sun", "the kitten sleeps", "an automobile and a car", "puppy and hound", "light on a river"]


@pytest.fixture
def text() -> ToyText:
    return ToyText("scalar")


@pytest.fixture
def folder(tmp_path: Path, text: ToyText) -> Path:
    vectors = [e.pooled for e in text.encode_documents(TEXTS)]
    ScalarVocabulary.fit(vectors, seed=3, source=text.fingerprint).save(tmp_path / "fitted")
    return tmp_path / "fitted"


def make(path: Path, field: Field, cache: EncodingCache | bool = False) -> Collection:
    collection = Collection.create(path, {"scalar": field}, encodings=cache)
    collection.add({"id": f"d{i}", "text": t} for i, t in enumerate(TEXTS))
    collection.commit()
    return collection


def test_scores_are_integer_dot_products_of_document_and_query_terms(
    tmp_path: Path, folder: Path, text: ToyText
) -> None:
    fitted = ScalarVocabulary.load(folder)
    with make(tmp_path / "x.zf", Scalar(folder, encoder=text)) as collection:
        found = collection.search("a hound", k=5)
        query = fitted.query(text.one("a hound"))
        expected = {}
        for i, t in enumerate(TEXTS):
            terms = fitted.terms(text.one(t))
            weights = dict(zip(terms.ids.tolist(), terms.weights.tolist(), strict=True))
            expected[f"d{i}"] = sum(w * weights.get(term, 0.0) for term, w in query.items())
        assert {hit.id: hit.score for hit in found} == {d: s for d, s in expected.items() if s > 0}
        assert found[0].id == "d3" and float(found[0].score).is_integer()
        tree = found.explain(found[0])
        assert sum(part.value for part in tree.parts) == tree.value == found[0].score
        assert tree.parts and all(part.label.count("+") + part.label.count("-") == 1 for part in tree.parts)
        assert isinstance(collection.searcher().settings.postings("scalar").scoring, Dot)


def test_the_order_follows_the_pooled_vectors(tmp_path: Path, folder: Path, text: ToyText) -> None:
    with make(tmp_path / "x.zf", Scalar(folder, encoder=text)) as collection:
        query = text.one("dog sun").pooled
        cosine = [float(text.one(t).pooled @ query) for t in TEXTS]
        assert collection.search("dog sun", k=1)[0].id == f"d{int(np.argmax(cosine))}"


def test_it_is_found_again_by_fingerprint(
    tmp_path: Path, folder: Path, text: ToyText, monkeypatch: pytest.MonkeyPatch
) -> None:
    field = Scalar(folder, encoder=text)
    make(tmp_path / "x.zf", field).close()
    monkeypatch.setattr(model_module, "_SCALAR", {})  # as in another process
    with Collection.open(tmp_path / "x.zf") as collection:
        assert collection.fields["scalar"] == field
        before = [(h.id, h.score) for h in collection.search("kitten", k=5)]
        assert before
    monkeypatch.setattr(model_module, "_SCALAR", {})
    ScalarVocabulary.load(folder).with_settings(gamma=2.0).save(folder)  # what was fitted later changes nothing here
    with Collection.open(tmp_path / "x.zf") as collection:
        assert [(h.id, h.score) for h in collection.search("kitten", k=5)] == before


def files_of(path: Path) -> tuple[Path, Path]:
    (arrays,), (settings,) = path.glob("scalar-*.safetensors"), path.glob("scalar-*.json")
    return arrays, settings


def test_a_collection_carries_its_transform(
    tmp_path: Path, folder: Path, text: ToyText, monkeypatch: pytest.MonkeyPatch
) -> None:
    field = Scalar(folder, encoder=text)
    with make(tmp_path / "x.zf", field) as made:
        before = [(h.id, h.score) for h in made.search("hound", k=5)]
    shutil.rmtree(folder)
    (tmp_path / "x.zf").rename(tmp_path / "moved.zf")
    assert "fitted" not in "".join(p.read_text() for p in (tmp_path / "moved.zf").glob("manifest-*.json"))
    monkeypatch.setattr(model_module, "_SCALAR", {})
    with Collection.open(tmp_path / "moved.zf", "w", encodings=False) as moved:
        assert [(h.id, h.score) for h in moved.search("hound", k=5)] == before
        moved.add([{"id": "new", "text": "a hound"}])
        moved.commit()
        assert "new" in [h.id for h in moved.search("hound", k=5)]
        assert moved.check().problems == []
        monkeypatch.setattr(model_module, "_SCALAR", {})
        with make(tmp_path / "copy.zf", moved.fields["scalar"]) as copy:
            assert [p.read_bytes() for p in files_of(tmp_path / "copy.zf")] == [
                p.read_bytes() for p in files_of(tmp_path / "moved.zf")
            ]
            assert copy.fields == moved.fields


def test_a_field_added_later_brings_its_transform_along(
    tmp_path: Path, folder: Path, text: ToyText, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Collection.create(tmp_path / "y.zf", encodings=False) as later:
        later.add({"id": f"d{i}", "text": t} for i, t in enumerate(TEXTS))
        later.commit()
        later.add_field("scalar", Scalar(folder, encoder=text))
        later.rollback()
        assert "scalar" not in later.fields
        later.add_field("scalar", Scalar(folder, encoder=text))
        later.commit()
    shutil.rmtree(folder)
    monkeypatch.setattr(model_module, "_SCALAR", {})
    with Collection.open(tmp_path / "y.zf") as again:
        assert again.search("dog", fields="scalar")


@pytest.mark.parametrize("damage", ["gone", "cut", "changed", "other"])
def test_a_damaged_transform_is_refused(
    tmp_path: Path, folder: Path, text: ToyText, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    make(tmp_path / "x.zf", Scalar(folder, encoder=text)).close()
    monkeypatch.setattr(model_module, "_SCALAR", {})
    arrays, settings = files_of(tmp_path / "x.zf")
    if damage == "gone":
        settings.unlink()
    elif damage == "cut":
        arrays.write_bytes(arrays.read_bytes()[:-20])
    elif damage == "changed":
        data = bytearray(arrays.read_bytes())
        data[-3] ^= 1
        arrays.write_bytes(bytes(data))
    else:
        for name, other in zip((arrays, settings), ScalarVocabulary.load(folder).with_settings(gamma=2.0).to_bytes(),
                              strict=True):  # fmt: skip
            name.write_bytes(other)
    expected = FingerprintMismatch if damage == "other" else IndexCorrupt
    with Collection.open(tmp_path / "x.zf") as collection, pytest.raises(expected, match=r"transform|was built with"):
        collection.search("kitten")
    with Collection.open(tmp_path / "x.zf") as collection:
        ((file, _),) = collection.check().problems
        assert file == arrays.name
    assert main(["check", str(tmp_path / "x.zf")]) == 1


def test_a_dense_field_and_a_scalar_field_share_one_pass_and_one_entry(
    tmp_path: Path, folder: Path, text: ToyText
) -> None:
    cache = EncodingCache(tmp_path / "cache")
    make(tmp_path / "x.zf", Dense(encoder=text), cache).close()
    seen = len(text.seen)
    with make(tmp_path / "y.zf", Scalar(folder, encoder=text), cache) as collection:
        assert len(text.seen) == seen
        assert collection.stats()["fields"]["scalar"]["postings"] > 0


def test_it_can_be_added_to_documents_that_are_there(tmp_path: Path, folder: Path, text: ToyText) -> None:
    field = Scalar(folder, encoder=text)
    with make(tmp_path / "x.zf", field) as whole, Collection.create(tmp_path / "y.zf", encodings=False) as later:
        later.add({"id": f"d{i}", "text": t} for i, t in enumerate(TEXTS))
        later.commit()
        later.add_field("scalar", field)
        later.commit()
        for asked in ("dog", "light"):
            left, right = (c.search(asked, k=5, fields="scalar") for c in (whole, later))
            assert [(h.id, h.score) for h in left] == [(h.id, h.score) for h in right] and len(left)


def test_pictures_and_another_formula(tmp_path: Path) -> None:
    image = ToyImage("scalar")
    pictures = []
    for i, colour in enumerate([(255, 0, 0), (0, 255, 0), (0, 0, 255)]):
        pictures.append(tmp_path / f"{i}.png")
        Image.new("RGB", (8, 8), colour).save(pictures[-1])
    ScalarVocabulary.fit([image.one(p).pooled for p in pictures]).save(tmp_path / "fitted")
    for scoring in (None, BM25()):
        field = Scalar(tmp_path / "fitted", encoder=image, source="image", scoring=scoring)
        with Collection.create(tmp_path / f"{scoring is None}.zf", {"s": field}, encodings=False) as collection:
            collection.add({"id": str(i), "image": p} for i, p in enumerate(pictures))
            collection.commit()
            assert [collection.search(image=p, k=1)[0].id for p in pictures] == ["0", "1", "2"]


def test_what_does_not_fit_is_refused(tmp_path: Path, folder: Path, text: ToyText) -> None:
    with pytest.raises(InvalidInput, match="needs source="):
        Scalar(folder)
    with pytest.raises(InvalidInput, match="what its encoder reads"):
        Scalar(folder, encoder=text, source="image")
    with pytest.raises(InvalidInput, match="no scalar vocabulary is saved here"):
        Scalar(tmp_path / "nowhere", encoder=text)
    with pytest.raises(InvalidInput, match="the folder in which"):
        Scalar(ScalarVocabulary.load(folder), encoder=text)
    ScalarVocabulary.fit([np.ones(DIM + 1, np.float32)]).save(tmp_path / "wider")
    with pytest.raises(InvalidInput, match="vectors of 17 numbers"):
        Scalar(tmp_path / "wider", encoder=text)
    other = f"other:{'0' * 20}"
    ScalarVocabulary.fit([np.ones(DIM, np.float32)], source=other).save(tmp_path / "other")
    with pytest.raises(FingerprintMismatch, match=other):
        Scalar(tmp_path / "other", encoder=text)
