"""One spelling for every way to write the same word: compatibility forms, case, digits, accents.

Only single words come here, after they were cut out of the text; offsets therefore always point into the original.
"""

from __future__ import annotations

import re
import unicodedata

from zipfian.vocabulary._characters import APOSTROPHES, IGNORABLE

_LETTERS_WITHOUT_DECOMPOSITION = {
    "ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ħ": "h", "ı": "i", "ŧ": "t",
    "ŋ": "n", "ĸ": "k", "ƀ": "b", "ɖ": "d", "ɗ": "d", "ƒ": "f", "ɠ": "g", "ɨ": "i", "ƙ": "k", "ɫ": "l", "ɲ": "n",
    "ɵ": "o", "ƥ": "p", "ʈ": "t", "ƭ": "t", "ʉ": "u", "ƶ": "z", "ё": "е",
}  # fmt: skip
_KEPT_SYMBOLS = frozenset("+#.@&_'\u2044")
_OPTIONAL_MARKS = (
    (0x0300, 0x036F),  # accents left over after composition
    (0x0591, 0x05C7),  # Hebrew points
    (0x0610, 0x061A), (0x0640, 0x0640), (0x064B, 0x065F), (0x0670, 0x0670),  # Arabic vowels and the stretcher
)  # fmt: skip


class _Accents(dict[int, str | None]):
    """A table for `str.translate`, filled as characters are met.

    Accents go from Latin and Greek letters only: in Russian й and и are two letters, and an Indic vowel sign is
    not an ornament. Hebrew and Arabic vowel points, which writers leave out at will, go as well.
    """

    def __missing__(self, point: int) -> str | None:
        self[point] = folded = self._fold(point)
        return folded

    @staticmethod
    def _fold(point: int) -> str | None:
        char = chr(point)
        if any(first <= point <= last for first, last in _OPTIONAL_MARKS):
            return None
        if char in _LETTERS_WITHOUT_DECOMPOSITION:
            return _LETTERS_WITHOUT_DECOMPOSITION[char]
        base = unicodedata.normalize("NFD", char)[0]
        if base == char or not unicodedata.name(base, "").startswith(("LATIN", "GREEK")):
            return char
        return _LETTERS_WITHOUT_DECOMPOSITION.get(base, base)


class _Characters(dict[int, str | None]):
    """A table for `str.translate`: ASCII digits for all digits, no invisible characters, one apostrophe."""

    def __missing__(self, point: int) -> str | None:
        self[point] = kept = self._keep(point)
        return kept

    @staticmethod
    def _keep(point: int) -> str | None:
        char = chr(point)
        if char in APOSTROPHES:
            return "'"
        if char in IGNORABLE:
            return None
        decimal = unicodedata.decimal(char, None)
        if decimal is not None:
            return str(decimal)
        if char.isalnum() or char in _KEPT_SYMBOLS:
            return char
        is_variation_selector = 0xFE00 <= point <= 0xFE0F or 0xE0100 <= point <= 0xE01EF
        return char if unicodedata.category(char)[0] == "M" and not is_variation_selector else None


_ACCENTS = _Accents()
_CHARACTERS = _Characters()
_TURKISH_I = str.maketrans({"I": "ı", "İ": "i"})


_MOST_MARKS = 30
"""Marks on one letter, as in Unicode's stream-safe format: no language has more, and putting n of them in order takes
n * n steps."""


def normalise(word: str, *, turkish: bool = False) -> str:
    """Case-folded NFKC form of a word, less what NFKC brings in that is no part of a word (spaces, brackets)."""
    if word.isascii() and not turkish:
        return word.lower()
    if len(word) > 2 * _MOST_MARKS:
        word = _stream_safe(word)
    if turkish:
        word = unicodedata.normalize("NFC", word).translate(_TURKISH_I)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())
    return unicodedata.normalize("NFC", folded.translate(_CHARACTERS))


def _stream_safe(word: str) -> str:
    """The word without the marks beyond the thirtieth on a letter."""
    kept, marks = [], 0
    for char in word:
        marks = marks + 1 if unicodedata.combining(char) else 0
        if marks <= _MOST_MARKS:
            kept.append(char)
    return "".join(kept)


def fold_accents(word: str) -> str:
    """The word without accents: `café` and `cafe`, `Łódź` and `lodz` become one term."""
    return word if word.isascii() else word.translate(_ACCENTS)


_ENGLISH_CONTRACTION = re.compile(r"(?:'(?:ll|re|ve|d|m)|n't)$")
_ELISION = {
    "french": re.compile(r"^(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)'(?=.)"),
    "italian": re.compile(r"^(?:[cdlmstv]|un|gl|(?:all|dall|dell|nell|sull|coll|agl|dagl|degl|negl|sugl))'(?=.)"),
    "catalan": re.compile(r"^[dlmnst]'(?=.)"),
}


def drop_apostrophes(word: str, language: str) -> str:
    """What an apostrophe means depends on the language; where it means nothing the word is closed up.

    `O'Brien` and `OBrien`, `Hawai'i` and `Hawaii` become one term. English contractions keep theirs, or `she'll`
    would be found under `shell`.
    """
    if "'" not in word:
        return word
    if language in ("english", "porter"):
        if word.endswith("'s"):
            word = word[:-2]
        elif _ENGLISH_CONTRACTION.search(word):
            return word
    elif language == "turkish":
        word = word.partition("'")[0] or word
    elif language in _ELISION:
        word = _ELISION[language].sub("", word)
    return word.replace("'", "")
