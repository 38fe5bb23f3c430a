"""A kind of field that only this file knows, through everything a collection does. `docs/own-field.md` shows it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest

import zipfian as zf
from zipfian.errors import FormatTooNew, InvalidInput
from zipfian.fields import LexicalField, PostingField, register, registry
from zipfian.fields.base import Source, Takes
from zipfian.fields.checks import check_field
from zipfian.fields.query import Query
from zipfian.objects import JsonObject
from zipfian.types import Terms, Token


@register
@dataclass(frozen=True)
class Grams(LexicalField):
    """Every run of `n` letters: finds words that are spelt a little differently."""

    n: int = 3

    kind: ClassVar[str] = "grams"

    def counts(self, text: str) -> Mapping[str, int]:
        return Counter(token.term for token in self._tokens(text))

    def spans(self, text: str, wanted: Collection[str]) -> list[Token]:
        return [token for token in self._tokens(text) if token.term in wanted]

    def _tokens(self, text: str) -> Iterator[Token]:
        for word in re.finditer(r"\w+", text):
            for start in range(word.start(), max(word.start() + 1, word.end() - self.n + 1)):
                end = min(start + self.n, word.end())
                yield Token(text[start:end].lower(), start, end)

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "n": self.n}

    @classmethod
    def from_json(cls, name: str, found: JsonObject, trusted: Container[str] = ()) -> Self:
        return cls(**cls.common(found), n=found.whole("n", 1, 9))


@register
@dataclass(frozen=True)
class Lengths(PostingField):
    """How long the words are: terms that are numbers."""

    n_terms: int = 64

    kind: ClassVar[str] = "lengths"
    labelled: ClassVar[bool] = True

    @property
    def reads(self) -> Source:
        return "text"

    @property
    def takes(self) -> Takes:
        return "text"

    def to_terms(self, text: str) -> Terms:
        found = Counter(min(63, len(word)) for word in text.split())
        return Terms(np.array(sorted(found), np.int32), np.array([found[i] for i in sorted(found)], np.float32))

    def project(self, query: Query) -> Terms:
        return self.to_terms(query.text or "")

    def label(self, term: str | int) -> str:
        return f"{term} letters"


DOCUMENTS = [
    {"id": "a", "text": "Photosynthesis in green plants.", "metadata": {"n": 1}},
    {"id": "b", "text": "A photograph of the Synthesizer.", "metadata": {"n": 2}},
    {"id": "c", "text": "Dogs sleep.", "metadata": {"n": 3}},
    {"id": "d", "metadata": {"n": 4}},
]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[zf.Collection]:
    fields = {"grams": Grams(), "words": zf.Words(), "lengths": Lengths(scoring=zf.Dot())}
    with zf.Collection.create(tmp_path / "c.zf", fields) as collection:
        collection.add(DOCUMENTS[:2])
        collection.commit()
        collection.add(DOCUMENTS[2:])
        collection.commit()
        yield collection


def test_it_keeps_every_promise() -> None:
    texts = [str(d.get("text", "")) for d in DOCUMENTS]
    for n in (1, 3, 9):
        check_field(Grams(n), texts)
    check_field(Lengths(), texts)
    assert Grams(2) != Grams(3) and Grams(3) == Grams() and len({Grams(), Grams(3), Grams(2)}) == 2


def test_it_finds_what_words_do_not(made: zf.Collection) -> None:
    assert not made.search("fotosynthesis", fields="words")
    found = made.search("fotosynthesis", fields="grams")
    assert [hit.id for hit in found] == ["a", "b"]
    tree = found.explain(found[0])
    assert tree.value == found[0].score == pytest.approx(sum(part.value for part in tree.parts))
    assert {part.term for part in tree.parts} == {"oto", "tos", "osy", "syn", "ynt", "nth", "the", "hes", "esi", "sis"}
    (syn,) = [part for part in tree.parts if part.term == "syn"]
    assert [(p["start"], p["end"], p["text"]) for p in syn.evidence] == [(5, 8, "syn")]
    assert made.score("grams", "fotosynthesis", ["a", "c"]).tolist() == [found[0].score, 0.0]
    assert found.highlight(found[0])[0].marks


def test_terms_that_are_numbers(made: zf.Collection) -> None:
    found = made.search("two two", fields="lengths")
    assert [(hit.id, hit.score) for hit in found] == [("b", 2.0)]  # "the", twice asked for
    (part,) = found.explain(found[0]).parts
    assert (part.label, part.term, part.value) == ("3 letters", 3, 2.0)
    assert [hit.id for hit in made.search({3: 1.0}, fields="lengths")] == ["b"]


def test_it_takes_part_in_a_hybrid_and_in_filters(made: zf.Collection) -> None:
    found = made.search("green plants")
    assert found.settings["fields"].keys() == {"grams", "words", "lengths"}
    assert found[0].id == "a" and set(found[0].fields) == {"grams", "words", "lengths"}
    assert sum(seen.share for seen in found[0].fields.values()) == pytest.approx(found[0].score)
    assert found.explain(found[0]).value == found[0].score
    assert [hit.id for hit in made.search("fotosynthesis", fields="grams", where={"n": {">": 1}})] == ["b"]
    assert made.search("plants", method="rrf")[0].id == "a"
    assert made.search("grams of plants", method="tfidf")[0].id == "a"  # the first lexical field


def test_it_lives_on_in_files(made: zf.Collection, tmp_path: Path) -> None:
    before = [(hit.id, hit.score) for hit in made.search("fotosynthesis sleep")]
    made.merge()
    made.delete(["d"])
    made.commit()
    assert made.check().ok
    made.close()
    with zf.Collection.open(tmp_path / "c.zf", "w") as again:
        assert again.fields["grams"] == Grams() and again.fields["lengths"] == Lengths(scoring=zf.Dot())
        again.add([DOCUMENTS[3]])
        again.add_field("pairs", Grams(2))
        again.add_field("sizes", Lengths())
        again.commit()
        assert [(hit.id, hit.score) for hit in again.search("fotosynthesis sleep", method="hybrid")] == before
        assert [hit.id for hit in again.search("zer", fields="pairs")] == ["b"]
        assert [hit.id for hit in again.search("ab abcde", fields="sizes")] == ["a", "b"]
        fields = again.fields
    with zf.Collection.create(tmp_path / "d.zf", fields) as copied:
        copied.copy_from(tmp_path / "c.zf")
        copied.commit()
        assert [hit.id for hit in copied.search("ab abcde", fields="sizes")] == ["a", "b"]
        assert [hit.id for hit in copied.search("fotosynthesis", fields="grams")] == ["a", "b"]


def test_a_kind_that_nobody_registered_is_refused(
    made: zf.Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.close()
    monkeypatch.delitem(vars(registry)["_KNOWN"], "grams")
    with pytest.raises(
        FormatTooNew, match=r"of kind 'grams'.*call zipfian.fields.register\(ITS_CLASS\) before opening"
    ):
        zf.Collection.open(tmp_path / "c.zf")


def test_settings_that_the_kind_refuses() -> None:
    for wrong in ({"n": 0}, {"n": 3, "m": 1}, {}):
        stored = {**Grams().to_json(), **wrong} if wrong else {k: v for k, v in Grams().to_json().items() if k != "n"}
        with pytest.raises(InvalidInput, match="field 'grams'"):
            registry.field_from_json("grams", stored)


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        (int, "derives from zipfian.Field"),
        (7, "derives from zipfian.Field"),
        (type("Nameless", (LexicalField,), {}), "has a name"),
        (type("Mine", (LexicalField,), {"kind": "words"}), "'words' is a kind of the package's own"),
        (type("Mine", (LexicalField,), {"kind": "no name"}), "has a name"),
    ],
)
def test_what_cannot_be_registered(kind: Any, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        register(kind)
