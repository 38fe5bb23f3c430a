"""The stemmers behind `words`."""

from __future__ import annotations

import pytest
import Stemmer

from zipfian.errors import InvalidInput
from zipfian.vocabulary import Words, WordSettings
from zipfian.vocabulary.stemming import LANGUAGES, make_stemmer, stemmer_version


def test_every_installed_stemmer_can_be_named() -> None:
    assert set(Stemmer.algorithms()) <= set(LANGUAGES)


@pytest.mark.parametrize("language", sorted(Stemmer.algorithms()))
def test_every_language_analyses(language: str) -> None:
    words = Words(WordSettings(language=language))
    assert words.terms("Zipf 1949 C++")[1:] == ["1949", "c++"]
    assert words.settings.language == language


def test_stems_are_those_of_snowball() -> None:
    stem = make_stemmer("english")
    for word in ("running", "relational", "generously", "skies", "x"):
        assert stem(word) == Stemmer.Stemmer("english").stemWord(word)


def test_a_stemmer_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stemmer, "algorithms", lambda: ["english"])
    with pytest.raises(InvalidInput, match="PyStemmer"):
        Words(WordSettings(language="german"))


def test_version_is_major_and_minor() -> None:
    assert stemmer_version().count(".") == 1
