"""Scripts: which one a text is in, and what of it is left for the model."""

from __future__ import annotations

import pytest

from zipfian.language import NAMES
from zipfian.language.scripts import LANGUAGES, main_script, only


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("", ""),
        ("123 !", ""),
        ("a1", "LATIN"),
        ("é", "LATIN"),
        ("слово и word", "CYRILLIC"),
        ("कि", "DEVANAGARI"),
        ("日本", "HAN"),
        ("日本の", "KANA"),
        ("の", "KANA"),
        ("ー", "KANA"),
        ("ΑΒ ABC ab", "LATIN"),
        ("ᏣᎳᎩ", ""),
    ],
)
def test_the_script_of_a_text(text: str, script: str) -> None:
    assert main_script(text) == script


def test_only_one_script_is_left() -> None:
    assert only("ab жы, é", "LATIN") == "ab   , é"
    assert only("ab", "LATIN") == "ab"


def test_every_language_has_a_script() -> None:
    assert frozenset().union(*LANGUAGES.values()) == frozenset(NAMES)
    assert {"en", "vi", "sr", "sw"} <= LANGUAGES["LATIN"]
    assert not {"ru", "ja", "he"} & LANGUAGES["LATIN"]
