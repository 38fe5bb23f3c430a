"""One suite for all kinds of fields, encoders and vocabularies; and proof that each of its checks can fail."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from PIL import Image

from tests.toys import DIM, ToyImage, ToyText, toy_alignment, toy_vocabulary
from zipfian.encode import ImageEncoder, TextEncoder
from zipfian.encode.base import Progress
from zipfian.encode.checks import check_encoder
from zipfian.errors import InvalidInput
from zipfian.fields import (
    Aligned,
    Dense,
    Field,
    Latent,
    LexicalField,
    Scalar,
    Sparse,
    Splade,
    Translated,
    Visual,
    Words,
    registry,
)
from zipfian.fields.base import Weights
from zipfian.fields.checks import check_field
from zipfian.fields.item import Item
from zipfian.fields.query import Query
from zipfian.types import Encoded, FieldBatch, Terms, Token
from zipfian.vocabulary.checks import check_vocabulary
from zipfian.vocabulary.sae import SaeVocabulary
from zipfian.vocabulary.scalar import ScalarVocabulary
from zipfian.vocabulary.splade import SpladeVocabulary

TEXTS = ("A red dog in the sun.", "The puppy likes a green car, a green one.", "Grüße: 你好 world")


def picture(*colour: int) -> bytes:
    data = io.BytesIO()
    Image.new("RGB", (64, 64), (colour[0], colour[1], colour[2])).save(data, "PNG")
    return data.getvalue()


PICTURES = (picture(250, 10, 10), picture(10, 250, 10), picture(90, 90, 200))
GIVEN = tuple(Terms(np.array([i, 9], np.int32), np.array([1.5, 2.0], np.float32)) for i in (0, 3))
VECTORS = (np.array([1.0, 0.0], np.float32), np.array([3.0, 4.0]))


class ToySplade(ToyText):
    """Word pieces with weights, as a SPLADE model gives them: one token for each."""

    n_terms = DIM

    def labels(self) -> list[str]:
        return [f"piece{i}" for i in range(DIM)]

    def one(self, item: str) -> Encoded:
        seen = super().one(item)
        weights = seen.vectors.max(axis=0, initial=0.0)
        pieces = np.flatnonzero(weights).astype(np.int32)
        places = np.zeros((len(pieces), 2), np.int32)
        return Encoded(weights[pieces].reshape(-1, 1), places, pieces, seen.pooled)

    @property
    def dim(self) -> int:
        return 1


@pytest.fixture
def fields(tmp_path: Path) -> dict[str, tuple[Field, Sequence[Any], Sequence[Any]]]:
    """Every kind, some documents of it and some queries."""
    text, image, sae = ToyText("contract"), ToyImage("contract"), toy_vocabulary(tmp_path / "sae")
    align = {"model": str(toy_alignment(tmp_path / "align", sae)), "text": text, "image": image}
    fitted = ScalarVocabulary.fit([e.pooled for e in text.encode_documents(TEXTS)], source=text.fingerprint)
    fitted.save(tmp_path / "fitted")
    return {
        "words": (Words(), ("", *TEXTS), TEXTS),
        "german": (Words(language="german", stem=False), TEXTS, TEXTS),
        "sparse": (Sparse(32), GIVEN, GIVEN),
        "counts": (Sparse(32, tf="float32", scale=7.0), GIVEN, ({0: 1.0},)),
        "latent": (Latent(sae, encoder=text), TEXTS, TEXTS),
        "visual": (Visual(sae, encoder=image), PICTURES, PICTURES),
        "scalar": (Scalar(tmp_path / "fitted", encoder=text), TEXTS, TEXTS),
        "splade": (Splade(ToySplade("contract-splade"), min_weight=0.0), TEXTS, TEXTS),
        "dense": (Dense(encoder=text), TEXTS, TEXTS),
        "dense-image": (Dense(encoder=image, vector="whole"), PICTURES, PICTURES),
        "given": (Dense(vector="default"), VECTORS, VECTORS),
        "aligned": (Aligned(**align), PICTURES, TEXTS),
        "aligned-text": (Aligned("text", **align), TEXTS, PICTURES),
        "translated": (Translated(**align), PICTURES, TEXTS),
        "translated-text": (Translated("text", **align), TEXTS, PICTURES),
    }


KINDS = (
    "words german sparse counts latent visual scalar splade dense dense-image given aligned aligned-text translated "
    "translated-text"
).split()


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_keeps_the_promises(name: str, fields: dict[str, Any]) -> None:
    check_field(*fields[name])


def test_the_suite_leaves_no_kind_out(fields: dict[str, Any]) -> None:
    assert list(fields) == KINDS
    assert {type(field) for field, _, _ in fields.values()} == set(registry.OURS)


def test_what_kinds_say_of_themselves(fields: dict[str, Any]) -> None:
    """What plans, fusion and engines go by: a wrong line here searches something else."""
    said = {
        name: (f.reads, f.takes, f.weight, f.lexical, f.tokens, f.has_postings, f.has_vectors, f.across, f.in_presets)
        for name, (f, _, _) in fields.items()
    }
    words, terms = ("text", "text"), (None, "terms")
    assert said == {
        "words": (*words, 1.0, True, False, True, False, False, True),
        "german": (*words, 1.0, True, False, True, False, False, True),
        "sparse": (*terms, 1.0, False, False, True, False, False, True),
        "counts": (*terms, 1.0, False, False, True, False, False, True),
        "latent": (*words, 1.0, False, True, True, False, False, True),
        "visual": ("image", "image", 2 / 3, False, True, True, False, False, True),
        "scalar": (*words, 0.5, False, True, True, False, False, False),
        "splade": (*words, 1.0, False, False, True, False, False, True),
        "dense": (*words, 0.5, False, True, False, True, False, True),
        "dense-image": ("image", "image", 0.5, False, True, False, True, False, True),
        "given": (None, "vector", 0.5, False, False, False, True, False, True),
        "aligned": ("image", "text", 1.0, False, False, False, True, True, True),
        "aligned-text": ("text", "image", 1.0, False, False, False, True, True, True),
        "translated": ("image", "text", 0.05, False, False, False, False, True, True),
        "translated-text": ("text", "image", 0.05, False, False, True, False, True, True),
    }
    through = {name: None if f.asked_through is None else f.asked_through.kind for name, (f, _, _) in fields.items()}
    assert through["aligned"] == "text" and through["aligned-text"] == "image" and through["translated"] is None
    assert through["translated-text"] == "image" and through["words"] is None and through["latent"] == "text"
    assert [name for name, (f, _, _) in fields.items() if f.shows_patches] == ["visual"]
    table = Query("dog", mode="table")
    assert fields["latent"][0].needs(table) is None and fields["dense"][0].needs(table) is not None


# ---------------------------------------------------------------------- the checks can fail


@dataclass(frozen=True)
class Good(LexicalField):
    """Words between blanks."""

    kind: ClassVar[str] = "good"

    def counts(self, text: str) -> Mapping[str, int]:
        return Counter(text.lower().split())


class Changeable(Good):
    kind = "changeable"

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)


class Forgetful(Good):
    kind = "forgetful"

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "scale": 2.0}


class Unnamed(Good):
    kind = "unnamed"

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "kind": "good"}


class Negative(Good):
    kind = "negative"

    def asked(self, text: str) -> Mapping[str, float]:
        return dict.fromkeys(text.split(), -1.0)


class Empty(Good):
    kind = "empty"

    def asked(self, text: str) -> Mapping[str, float]:
        return {"": 1.0}


class Fickle(Good):
    kind = "fickle"
    times: ClassVar[list[int]] = [0]

    def terms_of(self, query: Query) -> Weights:
        self.times[0] += 1
        return {f"word{self.times[0]}": 1.0}


class Mixed(Good):
    """What a document has depends on its neighbours."""

    kind = "mixed"

    def batch(self, name: str, items: Iterable[Item]) -> FieldBatch:
        some = list(items)
        made = super().batch(name, some)
        return replace(made, tf=made.tf * np.uint32(len(some)))


class Outside(Good):
    kind = "outside"

    def spans(self, text: str, wanted: Any) -> list[Token]:
        return [Token(term, 0, len(text) + 1) for term in wanted]


class Greedy(Good):
    kind = "greedy"

    def spans(self, text: str, wanted: Any) -> list[Token]:
        return [Token("nobody", 0, 1)] if text else []


class Numbered(Good):
    kind = "numbered"

    def label(self, term: Any) -> Any:
        return 7


class Deaf(Good):
    kind = "deaf"
    takes = "sound"  # type: ignore[assignment]


BROKEN = {
    Changeable: "its scoring can be changed", Forgetful: "makes of to_json is another field",
    Unnamed: "does not name its kind",
    Negative: "weights must be finite and above 0", Empty: "are words of 1 to", Fickle: "other terms the second time",
    Mixed: "other terms alone than among others", Outside: "stands outside of the text",
    Greedy: "terms that were not wanted", Numbered: "is no text", Deaf: "it takes 'sound'",
}  # fmt: skip


@pytest.mark.parametrize("kind", [Good, *BROKEN], ids=lambda kind: kind.__name__)
def test_each_check_of_a_field_can_fail(kind: type[Field], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(registry)["_KNOWN"], kind.kind, kind)
    if kind is Good:
        check_field(kind(), ["red apple", "", "red red pear"])
        return
    with pytest.raises(InvalidInput, match=BROKEN[kind]):
        check_field(kind(), ["red apple", "", "red red pear"])


def test_encoders() -> None:
    check_encoder(ToyText(), TEXTS)
    check_encoder(ToyImage(), PICTURES)
    check_encoder(ToySplade(), TEXTS)
    check_encoder(TextEncoder(), TEXTS)
    check_encoder(ImageEncoder(), PICTURES)


class Neighbourly(ToyText):
    def encode_documents(self, items: Sequence[Any], *, progress: Progress | None = None) -> list[Encoded]:
        return [replace(e, pooled=e.pooled * len(items)) for e in super().encode_documents(items, progress=progress)]


class Misplaced(ToyText):
    def one(self, item: str) -> Encoded:
        seen = super().one(item)
        return replace(seen, places=seen.places + 100)


class Narrow(ToyText):
    @property
    def dim(self) -> int:
        return DIM - 1


class Greyed(ToyImage):
    def one(self, item: Any) -> Encoded:
        return replace(super().one(item), grid=(2, 2))


@pytest.mark.parametrize(
    ("encoder", "items", "problem"),
    [
        (Neighbourly(), TEXTS, "other vectors alone than among others"),
        (Misplaced(), TEXTS, "places outside of the text"),
        (Narrow(), TEXTS, "vectors of shape"),
        (Greyed(), PICTURES, "places outside the grid"),
        (ToyText(), TEXTS[:1], "at least two items"),
        (object(), TEXTS, "lacks a method"),
    ],
)
def test_each_check_of_an_encoder_can_fail(encoder: Any, items: Sequence[Any], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        check_encoder(encoder, items)


def test_vocabularies(tmp_path: Path) -> None:
    passes = ToyText().encode_documents(TEXTS)
    check_vocabulary(SaeVocabulary.load(toy_vocabulary(tmp_path / "sae")), passes)
    check_vocabulary(SaeVocabulary.load(toy_vocabulary(tmp_path / "sae")), ToyImage().encode_documents(PICTURES))
    check_vocabulary(ScalarVocabulary.fit([e.pooled for e in passes]), passes)
    splade = ToySplade()
    check_vocabulary(SpladeVocabulary.of(splade, min_weight=0.0), splade.encode_documents(TEXTS))
    check_vocabulary(SaeVocabulary.load("text-16k"), TextEncoder().encode_documents(TEXTS))
    check_vocabulary(SaeVocabulary.load("image-11k"), ImageEncoder().encode_documents(PICTURES))


@pytest.mark.parametrize(
    ("name", "answer", "problem"),
    [
        ("terms", lambda _: Terms(np.array([2, 1], np.int32), np.ones(2, np.float32)), "must ascend"),
        ("terms", lambda _: Terms(np.array([DIM], np.int32), np.ones(1, np.float32)), "must lie in"),
        ("terms", lambda _: Terms(np.array([1], np.int32), np.zeros(1, np.float32)), "above 0"),
        ("terms", lambda _: Terms(np.array([1]), np.ones(1, np.float32)), "int32 ids"),
        ("from_compact", lambda _: Terms(np.array([1], np.int32), np.ones(1, np.float32)), "differs from terms"),
        ("label", lambda _: 3, "is no text"),
        ("evidence", lambda *_: {1: [(99, 1.0)]}, "not wanted|at no token"),
        ("terms", lambda _: Terms(np.empty(0, np.int32), np.empty(0, np.float32)), "differs from terms"),
    ],
)
def test_each_check_of_a_vocabulary_can_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, answer: Callable[..., Any], problem: str
) -> None:
    vocabulary = SaeVocabulary.load(toy_vocabulary(tmp_path / "sae"))
    monkeypatch.setattr(vocabulary, name, answer)
    with pytest.raises(InvalidInput, match=problem):
        check_vocabulary(vocabulary, ToyText().encode_documents(TEXTS))
