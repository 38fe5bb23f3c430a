"""Texts and queries that are in no language, in several, or in no form anybody expects: what happens with each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import zipfian as zf
from tests.collection.test_languages import ENGLISH, EnglishText, documents, known, postings
from tests.toys import toy_vocabulary
from zipfian.errors import InvalidInput, UnreadTexts
from zipfian.fields import Field, Latent, Words
from zipfian.fields.rows import PASSAGE

MORE = {
    "bread": "The bread is made of flour, and the children eat it in the morning.",
    "house": "The houses in the city are old and have red roofs.",
}
ODD = {
    "symbols": "!!! ??? *** --- ...",
    "numbers": "17 23.5 2024",
    "mixed": "The weather is fine today and we go out. Das Wetter ist heute schön, und wir gehen hinaus.",
    "marks": "\u200f\u202bteapot\u202c\u200e \u2066kettle\u2069",
    "million": "spam " * 1_000_000,
    "endless": "q" * 100_000,
    "title": "Teapots",
}
QUERIES = ("sleeping puppies in the sun", "the red roofs of the houses", "an automobile with an engine", "children")


@pytest.fixture
def encoder() -> EnglishText:
    return EnglishText("odd")


@pytest.fixture
def fields(tmp_path: Path, encoder: EnglishText) -> dict[str, Field]:
    return {"words": Words(), "latent": Latent(toy_vocabulary(tmp_path / "sae"), encoder=encoder)}


@pytest.fixture
def notes(tmp_path: Path, fields: dict[str, Field]) -> Iterator[zf.Collection]:
    with zf.Collection.create(tmp_path / "notes.zf", fields, encodings=False) as made:
        made.add(documents(ENGLISH, MORE))
        made.commit()
        yield made


def add(collection: zf.Collection, *names: str) -> None:
    collection.add(documents({name: ODD[name] for name in names}))
    collection.commit()


def ids(collection: zf.Collection, query: str, fields: str | None = "words") -> list[str]:
    return [hit.id for hit in collection.search(query, fields=fields)]


@pytest.mark.parametrize("name", ODD)
def test_scores_of_others_change_only_as_statistics_say(tmp_path: Path, name: str) -> None:
    """Beside it they are what they are beside any other document that is as long and shares no word with the query."""
    scores = []
    texts = {"odd": ODD[name], "plain": ""}
    for place in texts:
        with zf.Collection.create(tmp_path / place, {"words": Words(passages=0)}) as made:
            made.add(documents(ENGLISH, MORE, {name: texts[place]}))
            made.commit()
            length = int(sum(found.get(name, 0.0) for found in postings(made).values()))
            texts["plain"] = "other " * length
            scores.append([[(h.id, h.score) for h in made.search(query) if h.id != name] for query in QUERIES])
    assert scores[0] == scores[1]
    assert all(scores[0])


def test_a_text_in_no_language_is_in_that_of_its_collection(notes: zf.Collection) -> None:
    add(notes, "symbols", "numbers")
    assert known(notes).counts == {"en": 6}
    assert ids(notes, "2024") == ["numbers"]
    assert ids(notes, "???") == [], "signs are no words"
    assert "symbols" in notes


def test_a_text_in_two_languages_is_found_by_words_of_both(notes: zf.Collection) -> None:
    add(notes, "mixed")
    for query in ("Wetter", "weather", "heute", "today"):
        assert ids(notes, query) == ["mixed"], query


def test_marks_of_direction_are_no_part_of_words(notes: zf.Collection) -> None:
    add(notes, "marks")
    assert ids(notes, "teapots") == ids(notes, "\u200fkettle\u200e") == ["marks"]
    assert ids(notes, "\u202bpuppies\u202c") == ["dog"]
    assert known(notes).counts == {"en": 5}


@pytest.mark.parametrize("query", ["школа", "Великая китайская стена и туристы", "长城", "学校", "مدرسة", "โรงเรียน"])
def test_a_query_in_another_script_finds_nothing_rather_than_anything(
    notes: zf.Collection, encoder: EnglishText, query: str
) -> None:
    encoder.seen.clear()
    found = notes.search(query)
    assert len(found) == 0
    assert encoder.seen == []
    assert found.settings["unread"] == ["latent"]
    (said,) = found.notes
    assert said.startswith("latent took no part: its encoder does not read ")


def test_a_document_that_is_a_title_is_found_by_it(notes: zf.Collection) -> None:
    add(notes, "title")
    assert ids(notes, "teapot") == ids(notes, "a teapot", None)[:1] == ["title"]


def test_a_document_without_text_has_no_language(notes: zf.Collection, encoder: EnglishText) -> None:
    encoder.seen.clear()
    notes.add([{"id": "none", "metadata": {"title": "Teapot"}}, {"id": "empty", "text": ""}, {"id": "b", "text": " "}])
    notes.commit()
    assert encoder.seen == []
    assert {"none", "empty", "b"} <= set(notes.ids())
    assert ids(notes, "teapot") == [], "metadata is filtered, not searched"
    assert [h.id for h in notes.search("puppies")][:1] == ["dog"]


@pytest.mark.parametrize("size", [0, PASSAGE])
def test_a_word_repeated_a_million_times_is_one_word(tmp_path: Path, size: int) -> None:
    with zf.Collection.create(tmp_path / "c", {"words": Words(passages=size)}) as made:
        made.add(documents(ENGLISH))
        add(made, "million")
        if not size:
            assert postings(made)["spam"] == {"million": 1_000_000.0}
        found = made.search("spam")
        assert [h.id for h in found] == ["million"]
        assert 0 < found[0].score < 10, "BM25 saturates"
        assert found.explain(found[0]).value == found[0].score


def test_a_passage_without_spaces_is_stored_and_harms_nobody(notes: zf.Collection) -> None:
    add(notes, "endless")
    stored = notes.get("endless")
    assert stored is not None and stored.text == ODD["endless"]
    assert ids(notes, "puppies", None)[:1] == ["dog"]
    assert notes.check().ok


@pytest.mark.parametrize("wrong", ["germen", "xx", "", "deutsch!"])
def test_a_language_that_is_none_is_an_error_with_those_there_are(wrong: str) -> None:
    with pytest.raises(InvalidInput, match=r"unknown language .*use 'auto', .*czech, danish, dutch,.* or 'none'") as e:
        Words(language=wrong)
    assert repr(wrong) in str(e.value)


def test_a_wrong_language_costs_stems_and_nothing_else(tmp_path: Path) -> None:
    with zf.Collection.create(tmp_path / "c", {"words": Words(language="finnish")}) as made:
        made.add(documents(ENGLISH, MORE))
        made.commit()
        assert known(made).own is None, "nobody asked"
        assert ids(made, "puppy sleeps") == ["dog"]
        assert made.search("puppy").settings.get("language") is None


def test_texts_of_a_language_come_and_go(notes: zf.Collection) -> None:
    """A German text is left to the words; once it is replaced by an English one, the encoder reads that."""
    with pytest.warns(UnreadTexts, match="German"):
        notes.upsert([{"id": "x", "text": "Das ist der Hund, und er schläft nicht mit der Katze."}])
    notes.commit()
    assert "x" not in ids(notes, "hound", "latent")
    notes.upsert([{"id": "x", "text": "This is the hound and it does not sleep."}])
    notes.commit()
    assert "x" in ids(notes, "puppy", "latent")
