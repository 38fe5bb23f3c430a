"""Which places in a text a reader is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

import zipfian as zf
from zipfian.fields.places import shows, span, tokens
from zipfian.types import Token


@pytest.mark.parametrize(
    ("word", "language", "shown"),
    [
        ("plants", None, True),
        (".", None, False),
        ("--", "de", False),
        ("The", None, False),
        ("THE", "en", False),
        ("the", "de", True),
        ("die", "de", False),
        ("die", "en", True),
        ("42", None, True),
        ("the", "xx", True),
    ],
)
def test_punctuation_and_function_words_show_nothing(word: str, language: str | None, shown: bool) -> None:
    assert shows(word, language) is shown
    place = span(f" {word} ", 1, 1 + len(word), language)
    assert (place["start"], place["end"], place["text"], place.get("mark", True)) == (1, 1 + len(word), word, shown)
    assert tokens({"t": [place]}) == ([Token("t", 1, 1 + len(word))] if shown else [])


def test_faint_places_are_no_tokens() -> None:
    rows = [{"start": 0, "end": 3, "strength": 1.0}, {"start": 4, "end": 7, "strength": 0.59}]
    assert tokens({7: rows}) == [Token("7", 0, 3)]


def test_a_query_of_function_words_marks_none_of_them(tmp_path: Path) -> None:
    with zf.Collection.create(tmp_path / "t.zf", fields=["words"]) as texts:
        texts.add([{"id": "a", "text": "To be, or not to be: that is the question."}])
        texts.commit()
        found = texts.search("to be or not to be")
        assert found.highlight(found[0])[0].marks == ()
        found = texts.search("that question")
        assert found.highlight(found[0])[0].render() == "To be, or not to be: that is the **question**."
