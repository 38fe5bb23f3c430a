"""Texts and queries in several languages: who reads them, who leaves them to others, and what is said about it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import zipfian as zf
from tests.collection.parts import folder
from tests.toys import ToyText, toy_vocabulary
from zipfian.collection.languages import Languages, listed, meaning_fields, named, readable
from zipfian.errors import InvalidInput, UnreadTexts
from zipfian.fields import Dense, Field, Latent, Sparse, Words
from zipfian.fields.item import Item

ENGLISH = {
    "dog": "The puppy sleeps in the light of the sun.",
    "car": "An automobile is a car with an engine, and it stands in the garage.",
}
GERMAN = {
    "hund": "Der Hund schläft in der Sonne, und die Katzen spielen mit dem Ball.",
    "haus": "Die Häuser in der Stadt sind alt und haben rote Dächer.",
    "brot": "Das Brot wird aus Mehl gebacken, und die Kinder essen es am Morgen.",
}
CHINESE = {"mauer": "长城是中国古代的伟大建筑,每年有很多游客参观。"}


class EnglishText(ToyText):
    """A toy that was taught English only, as the real one."""

    languages = frozenset({"en"})


def documents(*texts: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"id": name, "text": text} for some in texts for name, text in some.items()]


def postings(collection: zf.Collection, field: str = "words") -> dict[str, dict[str, float]]:
    """What the field's index holds: term, document, frequency."""
    found: dict[str, dict[str, float]] = {}
    for segment in folder(collection).searcher().snapshot.segments:
        batch = segment.fields[field].to_batch()
        for doc in range(segment.n_docs):
            for i in range(int(batch.indptr[doc]), int(batch.indptr[doc + 1])):
                term = str(batch.terms[batch.indices[i]])
                found.setdefault(term, {})[segment.docs.id(doc)] = float(batch.tf[i])
    return found


def known(collection: zf.Collection) -> Languages:
    return folder(collection).searcher().settings.languages


@pytest.fixture
def encoder() -> EnglishText:
    return EnglishText("english")


@pytest.fixture
def fields(tmp_path: Path, encoder: EnglishText) -> dict[str, Field]:
    return {"words": Words(), "latent": Latent(toy_vocabulary(tmp_path / "sae"), encoder=encoder)}


@pytest.fixture
def mixed(tmp_path: Path, fields: dict[str, Field]) -> Iterator[zf.Collection]:
    """Three languages, most of it German."""
    with zf.Collection.create(tmp_path / "mixed.zf", fields, encodings=False) as made:
        with pytest.warns(UnreadTexts):
            made.add(documents(ENGLISH, GERMAN, CHINESE))
        made.commit()
        yield made


class TestLanguages:
    def test_most_of_the_first_texts_say_what_it_is_in(self) -> None:
        assert Languages().learned([*GERMAN.values(), ENGLISH["dog"]]).own == "de"
        assert Languages().learned([*ENGLISH.values(), GERMAN["hund"]]).own == "en"
        assert Languages().learned(CHINESE.values()).own == "zh"
        assert Languages().learned(["42", "?"]).own == "en", "nothing can be told"

    def test_a_text_that_does_not_say_is_in_the_collections_own(self) -> None:
        for own in ("en", "de", "fr"):
            assert Languages(own).of_text("Berlin") == own
            assert Languages(own).of_text("2024, 17 %") == own
        assert Languages().of_text("42") == "en"
        assert Languages("de").of_text(ENGLISH["dog"]) == "en"
        assert Languages("en").of_text(GERMAN["hund"]) == "de"

    def test_quoted_function_words_do_not_make_a_text_english(self) -> None:
        text = (
            "Der Film »Where are they from« ist nicht sehr alt, und er wird von den meisten Leuten auch heute noch "
            "gern gesehen, weil er sich mit dem Leben in der Stadt beschäftigt."
        )
        assert Languages("en").of_text(text) == "de"

    def test_a_word_in_another_script_is_never_in_the_collections_own(self) -> None:
        """The detector cannot tell one Cyrillic word, but English it is not."""
        assert Languages("en").of_text("школа") == "ru"
        assert Languages("en", {"en": 5}).of_query("школа") == "ru"
        assert Languages("en", {"en": 5, "de": 5}).of_query("школа") == "ru"
        assert Languages("bg", {"bg": 5}).of_query("школа") == "bg"

    def test_a_query_in_a_collection_of_one_language_is_in_that(self) -> None:
        one = Languages("de", {"de": 500})
        assert one.of_query("vitamin D") == one.of_query("where is the house") == one.of_query("42") == "de"
        assert one.of_query("长城 游客") == "zh"
        assert Languages("de", {"de": 1000, "en": 9}).of_query("where is the house") == "de", "less than one percent"

    def test_the_documents_are_the_prior_of_a_query_where_there_are_several(self) -> None:
        two = Languages("en", {"en": 500, "de": 500})
        assert two.of_query("where is the house of my brother") == "en"
        assert two.of_query("wo steht das Haus meines Bruders") == "de"
        assert Languages("en", {"en": 12, "de": 900}).of_query("vitamin D") == "de"

    def test_each_item_is_told_once_and_counted_when_written(self) -> None:
        items = [Item(name, text, {}, {}, {}, 0) for name, text in {**GERMAN, **CHINESE}.items()]
        items[0].language = "nl"  # somebody knew
        items.append(Item("picture", None, {}, {}, {}, 0))
        told = Languages().tell(items)
        assert [i.language for i in items] == ["nl", "de", "de", "zh", None]
        assert told == Languages("de", {})
        assert told.counted(items).counted(items[:1]) == Languages("de", {"nl": 2, "de": 2, "zh": 1})
        assert told.counted([]) is told

    def test_stored_and_read_again(self) -> None:
        for one in (Languages(), Languages("de", {"de": 3, "zh": 0}), Languages("en")):
            assert Languages.from_json(one.to_json()) == one

    @pytest.mark.parametrize(
        ("forged", "problem"),
        [
            ([], "an object was expected"),
            ({"own": "xx", "counts": {}}, "'own'.*one of"),
            ({"own": 5, "counts": {}}, "'own'"),
            ({"own": "en"}, "'counts'"),
            ({"own": "en", "counts": []}, "'counts'"),
            ({"own": "en", "counts": {"en": -1}}, "'en'"),
            ({"own": "en", "counts": {"en": 10**30}}, "'en'"),
            ({"own": "en", "counts": {"en": True}}, "'en'"),
            ({"own": "en", "counts": {"klingon": 1}}, "klingon"),
            ({"own": "en", "counts": {}, "more": 1}, "more"),
        ],
    )
    def test_what_anybody_may_have_written_is_checked(self, forged: Any, problem: str) -> None:
        with pytest.raises(InvalidInput, match=problem):
            Languages.from_json(forged)

    def test_fields_of_meaning_are_those_that_read_the_texts(self) -> None:
        english, german = [*ENGLISH.values()] * 10, [*GERMAN.values()]
        assert meaning_fields(english) == (("latent", "dense"), "en")
        assert meaning_fields([*english, GERMAN["hund"]]) == (("latent", "dense"), "en"), "one of 21 is left to words"
        assert meaning_fields([*english, *german]) == (("latent", "multilingual"), "en")
        assert meaning_fields(german) == (("multilingual",), "de")
        hindi = "यह एक छोटा सा गाँव है और यहाँ के लोग खेती करते हैं।"
        assert meaning_fields([hindi]) == ((), "hi"), "no encoder reads it"

    def test_what_people_call_them(self) -> None:
        assert named("de") == "German"
        assert listed({"en"}) == "English"
        assert listed("ar de en es fr it ja".split()) == "Arabic, English, French, German, Italian, Japanese and 1 more"
        assert readable(None, "de") and readable(frozenset({"en"}), None) and readable(frozenset({"en"}), "en")
        assert not readable(frozenset({"en"}), "de")


class TestTextsThatAnEncoderDoesNotRead:
    def test_are_left_to_the_words(self, mixed: zf.Collection, encoder: EnglishText) -> None:
        assert encoder.seen == list(ENGLISH.values())
        assert set().union(*postings(mixed, "latent").values()) == set(ENGLISH)
        assert [h.id for h in mixed.search("Katze")] == ["hund"]
        assert [h.id for h in mixed.search("hound", fields="latent")] == ["dog"]

    def test_one_warning_for_each_language_and_encoder(
        self, tmp_path: Path, fields: dict[str, Field], encoder: EnglishText
    ) -> None:
        other = EnglishText("other")
        both = {**fields, "dense": Dense(encoder=encoder), "dense-too": Dense(encoder=other)}
        with (
            zf.Collection.create(tmp_path / "c", both, encodings=False) as made,
            warnings.catch_warnings(record=True) as said,
        ):
            warnings.simplefilter("always")
            made.add(documents(ENGLISH, GERMAN, CHINESE))
            made.add([{"id": "again", "text": GERMAN["hund"]}])
        expected = (
            "texts in {} are left out of the field{}, whose encoder reads English only; the words find them, and so "
            "does a field 'multilingual' if it reads the language"
        )
        assert sorted(str(w.message) for w in said) == sorted(
            expected.format(language, names)
            for language in ("German", "Chinese")
            for names in ("s latent and dense", " dense-too")
        )
        assert all(w.category is UnreadTexts and w.filename == __file__ for w in said), "it points at the caller"

    def test_an_encoder_that_does_not_say_is_given_everything(self, tmp_path: Path) -> None:
        text = ToyText("silent")
        latent = Latent(toy_vocabulary(tmp_path / "sae"), encoder=text)
        with zf.Collection.create(tmp_path / "c", {"words": Words(), "latent": latent}, encodings=False) as made:
            made.add(documents(ENGLISH, GERMAN))
            made.commit()
            assert text.seen == [*ENGLISH.values(), *GERMAN.values()]
            assert made.search("Katze").settings["fields"].keys() == {"words", "latent"}
            assert made.search("Katze").notes == []


class TestQueriesThatAnEncoderDoesNotRead:
    def test_are_answered_by_the_others_and_that_is_said(self, mixed: zf.Collection, encoder: EnglishText) -> None:
        encoder.seen.clear()
        found = mixed.search("Katzen spielen in der Sonne")
        assert [h.id for h in found] == ["hund"]
        assert found.settings["language"] == "de"
        assert found.settings["unread"] == ["latent"]
        assert found.settings["fields"] == ["words"]
        assert found.notes == ["latent took no part: its encoder does not read German"]
        assert encoder.seen == []

    def test_several_fields_are_named_together(
        self, tmp_path: Path, fields: dict[str, Field], encoder: EnglishText
    ) -> None:
        both = {**fields, "dense": Dense(encoder=encoder)}
        with zf.Collection.create(tmp_path / "c", both, encodings=False) as made:
            with pytest.warns(UnreadTexts):
                made.add(documents(GERMAN))
            made.commit()
            said = made.search("Häuser").notes
        assert said == ["latent and dense took no part: their encoders do not read German"]

    def test_a_query_that_all_fields_read_has_no_note(self, mixed: zf.Collection) -> None:
        found = mixed.search("where does the hound sleep")
        assert found.notes == [] and "unread" not in found.settings
        assert found.settings["fields"].keys() == {"words", "latent"}
        assert found[0].id == "dog"

    def test_a_field_that_is_named_is_asked_all_the_same(self, mixed: zf.Collection, encoder: EnglishText) -> None:
        encoder.seen.clear()
        asked = "wo ist mein hound in der Sonne"
        for how in ({"fields": "latent"}, {"method": "latent"}):
            found = mixed.search(asked, **how)  # type: ignore[arg-type]
            assert [h.id for h in found][:1] == ["dog"]
            assert found.notes == [] and found.settings["language"] == "de"
        assert encoder.seen[0] == asked

    def test_where_no_field_reads_it_all_are_asked(self, tmp_path: Path, fields: dict[str, Field]) -> None:
        with zf.Collection.create(tmp_path / "c", {"latent": fields["latent"]}, encodings=False) as made:
            made.add(documents(ENGLISH))
            made.commit()
            found = made.search("собака hound собака")
            assert found.settings["language"] == "ru" and found.notes == []
            assert found.settings["fields"] == ["latent"]

    def test_a_german_collection_is_searched_exactly_as_by_words(
        self, tmp_path: Path, fields: dict[str, Field]
    ) -> None:
        with zf.Collection.create(tmp_path / "c", fields, encodings=False) as made:
            with pytest.warns(UnreadTexts):
                made.add(documents(GERMAN))
            made.commit()
            for query in ("Haus", "die Katze in der Stadt", "rotes Dach", "Kinder Brot Sonne", "dog"):
                for how in ({}, {"method": "hybrid"}, {"preset": "balanced"}, {"method": "rrf"}):
                    words, hybrid = made.search(query, fields="words"), made.search(query, **how)  # type: ignore[arg-type]
                    assert [h.id for h in hybrid] == [h.id for h in words]
                    if how != {"method": "rrf"}:
                        assert [h.score for h in hybrid] == [h.score for h in words]


class TestSeveralLanguages:
    def test_each_text_is_stemmed_in_its_own(self, mixed: zf.Collection) -> None:
        found = postings(mixed)
        assert found["haus"] == {"haus": 1.0} and found["katz"] == {"hund": 1.0}
        assert found["sleep"] == {"dog": 1.0} and found["engin"] == {"car": 1.0}
        assert found["长城"] == {"mauer": 1.0}

    @pytest.mark.parametrize(
        ("query", "language", "document"),
        [
            ("Haus mit rotem Dach", "de", "haus"),
            ("die Katze spielt", "de", "hund"),
            ("where are the sleeping puppies", "en", "dog"),
            ("the engines of the automobiles", "en", "car"),
            ("长城 游客", "zh", "mauer"),
        ],
    )
    def test_queries_find_other_forms(self, mixed: zf.Collection, query: str, language: str, document: str) -> None:
        found = mixed.search(query, fields="words")
        assert found.settings["language"] == language
        assert found[0].id == document

    def test_reopened_it_reads_as_before(self, mixed: zf.Collection, tmp_path: Path) -> None:
        before = {q: [(h.id, h.score) for h in mixed.search(q)] for q in ("Haus mit Dach", "sleeping hounds", "长城")}
        mixed.close()
        with zf.Collection.open(tmp_path / "mixed.zf") as again:
            assert known(again) == Languages("de", {"en": 2, "de": 3, "zh": 1})
            assert {q: [(h.id, h.score) for h in again.search(q)] for q in before} == before

    def test_its_own_language_stays_whatever_is_added_later(self, tmp_path: Path) -> None:
        with zf.Collection.create(tmp_path / "c", {"words": Words()}) as made:
            made.add(documents({"haus": GERMAN["haus"]}))
            made.commit()
            many = {f"{name}{i}": text for i in range(20) for name, text in ENGLISH.items()}
            made.add(documents(many))
            made.commit()
            assert known(made) == Languages("de", {"de": 1, "en": 40})
            made.upsert(documents({"title": "Berlin"}))
            made.commit()
            assert known(made).counts["de"] == 2
        with zf.Collection.open(tmp_path / "c", "w") as again:
            again.upsert(documents({"other": "Hamburg"}))
            again.commit()
            assert known(again) == Languages("de", {"de": 3, "en": 40})

    def test_a_rollback_forgets_what_was_learned(self, tmp_path: Path) -> None:
        with zf.Collection.create(tmp_path / "c", {"words": Words()}) as made:
            made.add(documents(GERMAN))
            made.rollback()
            made.add(documents(ENGLISH))
            made.commit()
            assert known(made) == Languages("en", {"en": 2})

    @pytest.mark.parametrize("first", [{"latent": Sparse(5)}, {"plain": Words(language="none", stem=False)}])
    def test_a_field_of_words_added_later_is_that_of_a_rebuild(self, tmp_path: Path, first: dict[str, Field]) -> None:
        """Where no field asked for languages before, they are learned from what is stored."""
        texts = documents(GERMAN, ENGLISH, CHINESE)
        with (
            zf.Collection.create(tmp_path / "later", first) as later,
            zf.Collection.create(tmp_path / "now", {**first, "words": Words()}) as now,
        ):
            for made in (later, now):
                made.add([*texts, {"id": "gone", "text": ENGLISH["dog"]}])
                made.commit()
                made.delete(["gone"])
                made.commit()
            assert known(later) == Languages()
            later.add_field("words", Words())
            for made in (later, now):
                made.commit()
                made.merge()
                made.commit()
            assert postings(later) == postings(now)
            assert known(later) == Languages("de", {"de": 3, "en": 2, "zh": 1})
            for query in ("Haus mit Dach", "sleeping puppies", "长城"):
                one, two = later.search(query, fields="words"), now.search(query, fields="words")
                assert [(h.id, h.score) for h in one] == [(h.id, h.score) for h in two] != []

    def test_a_field_of_meaning_added_later_leaves_out_the_same_texts(
        self, mixed: zf.Collection, fields: dict[str, Field], tmp_path: Path
    ) -> None:
        with zf.Collection.create(tmp_path / "later", {"words": Words()}, encodings=False) as later:
            later.add(documents(ENGLISH, GERMAN, CHINESE))
            later.commit()
            with pytest.warns(UnreadTexts, match="texts in German"), pytest.warns(UnreadTexts, match="Chinese"):
                later.add_field("latent", fields["latent"])
            later.commit()
            assert postings(later, "latent") == postings(mixed, "latent")
            assert known(later) == known(mixed)

    def test_a_copy_has_the_same_postings(self, mixed: zf.Collection, fields: dict[str, Field], tmp_path: Path) -> None:
        with zf.Collection.create(tmp_path / "copy", fields, encodings=False) as copy:
            copy.copy_from(tmp_path / "mixed.zf")
            copy.commit()
            for name in fields:
                assert postings(copy, name) == postings(mixed, name)
            assert known(copy) == known(mixed)
            assert copy.search("Häuser").notes == mixed.search("Häuser").notes != []


class TestReasons:
    @pytest.mark.parametrize(
        ("query", "document", "marked"),
        [
            ("das Haus mit dem roten Dach", "haus", ["Häuser", "rote", "Dächer"]),
            ("die Katze und der Ball", "hund", ["Katzen", "Ball"]),
            ("长城 游客", "mauer", ["长城", "游客"]),
        ],
    )
    def test_the_words_that_were_found_are_marked(
        self, mixed: zf.Collection, query: str, document: str, marked: list[str]
    ) -> None:
        found = mixed.search(query)
        assert found[0].id == document
        (snippet,) = found.highlight(found[0])
        assert [part for i, part in enumerate(snippet.render().split("**")) if i % 2] == marked
        tree = found.explain(found[0])
        assert tree.value == found[0].score
        text = found[0].text or ""
        for part in tree.parts:
            for e in part.evidence:
                assert text[e["start"] : e["end"]] == e["text"] and any(e["text"] in word for word in marked)

    def test_a_title_is_marked_as_it_was_read_when_added(self, tmp_path: Path) -> None:
        """One word does not say what it is in; the collection it is in does."""
        with zf.Collection.create(tmp_path / "c", {"words": Words()}) as made:
            made.add(documents(GERMAN, {"title": "Gärten"}))
            made.commit()
            found = made.search("Garten")
            assert [h.id for h in found] == ["title"]
            assert found.highlight(found[0])[0].render() == "**Gärten**"
