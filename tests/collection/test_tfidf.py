"""The cosine of TF-IDF is of two whole texts: what a document's length counts, the query is asked with."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest

import zipfian as zf
from zipfian.evaluate.cost import cost_of
from zipfian.evaluate.methods import METHODS
from zipfian.fields import Words
from zipfian.fields.query import Query

TEXTS = {
    "a": "a dog is on the beach and the dog is wet",
    "b": "the cat is in a house",
    "c": "two men play football",
    "d": "a red car on the road",
    "e": "children run through water",
}


def made(folder: Path, field: Words) -> zf.Collection:
    collection = zf.Collection.create(folder / "c.zf", {"words": field})
    collection.add([{"id": key, "text": text} for key, text in TEXTS.items()])
    collection.commit()
    return collection


def cosine(query: str, document: str) -> float:
    """Hybrid VL's eq. 8 with dictionaries: every word counts, on both sides alike."""
    df = Counter(word for text in TEXTS.values() for word in set(text.split()))

    def vector(text: str) -> dict[str, float]:
        tf = Counter(word for word in text.split() if word in df)
        return {w: (1 + math.log(n)) * max(0.0, math.log(len(TEXTS) / (1 + df[w]))) for w, n in tf.items()}

    x, y = vector(query), vector(document)
    return sum(x[w] * y.get(w, 0.0) for w in x) / (math.hypot(*x.values()) * math.hypot(*y.values()))


@pytest.mark.parametrize("field", [Words(language="english"), Words(language="english", drop_stop_words=True), Words()])
def test_a_text_is_all_of_itself(tmp_path: Path, field: Words) -> None:
    with made(tmp_path, field) as collection:
        for key, text in TEXTS.items():
            first = collection.search(text, k=1, method="tfidf")[0]
            assert first.id == key and first.score == pytest.approx(1.0)
            assert first.confidence is not None


def test_function_words_count_on_both_sides(tmp_path: Path) -> None:
    with made(tmp_path, Words(language="none", stem=False, stop_words=("a", "is", "on", "the", "and"))) as collection:
        for query in ("the dog is on a road", "the beach", "is the car on the road"):
            found = collection.score("words", query, list(TEXTS), scoring=zf.TfIdf())
            assert found == pytest.approx([cosine(query, text) for text in TEXTS.values()])


def test_other_formulas_still_ask_for_what_tells(tmp_path: Path) -> None:
    with made(tmp_path, Words(language="english")) as collection:
        tree = collection.explain("the dog is on a road", "a", fields="words")
        assert {part.term for part in tree.parts} == {"dog"}
        tree = collection.explain("the dog is on a road", "a", method="tfidf")
        assert {part.term for part in tree.parts} == {"dog", "the", "is", "on", "a"}


def test_a_muted_word_is_not_compared(tmp_path: Path) -> None:
    with made(tmp_path, Words(language="english")) as collection:
        plain = collection.search("the dog is wet", k=1, method="tfidf")
        muted = collection.search("the dog is wet", k=1, method="tfidf", adjust={"words": {"dog": 0.0}})
        assert plain[0].score != muted[0].score
        assert "dog" not in {part.term for part in muted.explain(muted[0]).parts}


def test_what_it_reads_has_the_function_words(tmp_path: Path) -> None:
    with made(tmp_path, Words(language="english")) as collection:
        query = Query("on water")
        (words,) = cost_of(collection, METHODS["words"], "text", query, None)
        (tfidf,) = cost_of(collection, METHODS["tfidf"], "text", query, None)
        assert (words.postings, tfidf.postings) == (1, 3)  # `water` once, `on` twice
