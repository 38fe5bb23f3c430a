"""Spellings that writers of a language treat as one: letters of a neighbour's keyboard, dots that are left out.

Rules that hold whatever the language (case, width, accents, vowel points) are in `_normalise.py`. These change what a
word is in other languages that share the script, so they wait until the language is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable

REVISIONS: dict[str, int] = {
    "arabic": 2, "catalan": 2, "czech": 2, "finnish": 2, "greek": 2, "hindi": 2, "hungarian": 2, "indonesian": 2,
    "nepali": 2, "persian": 2, "polish": 2, "romanian": 2, "turkish": 2,
}  # fmt: skip
"""Languages whose rules or stop list changed since version 1 of the settings: part of the fingerprint."""

CUTS_SYLLABLES = frozenset({"korean"})
"""Particles are written onto words, so terms are pairs of syllables."""

KEEPS_ACCENTS = frozenset({"vietnamese"})
"""Here they are tones: without them six words are one."""

DOTLESS_I = frozenset({"azerbaijani", "turkish"})
"""Two letters i, and two capitals."""

_ARABIC = str.maketrans({"آ": "ا", "أ": "ا", "إ": "ا", "ٱ": "ا", "ى": "ي", "ة": "ه", "ؤ": "و", "ئ": "ي"})
_PERSIAN = str.maketrans(
    {"ي": "ی", "ى": "ی", "ك": "ک", "ة": "ه", "ۀ": "ه", "ە": "ه", "ہ": "ه", "ۃ": "ه", "أ": "ا", "إ": "ا", "ٱ": "ا"}
)
_URDU = str.maketrans({"ي": "ی", "ى": "ی", "ك": "ک", "ه": "ہ", "ة": "ۃ", "أ": "ا", "إ": "ا", "ٱ": "ا"})
_DEVANAGARI = str.maketrans({"\u093c": None, "\u0901": "\u0902", "\u0945": "\u0947"})
"""The dot below of letters from Persian, and the half moon, which is printed as a dot as often."""

_NASALS = re.compile("ङ्(?=[कखगघ])|ञ्(?=[चछजझ])|ण्(?=[टठडढ])|न्(?=[तथदध])|म्(?=[पफबभ])")
"""A nasal before a consonant of its own place: हिन्दी is हिंदी."""


def _devanagari(word: str) -> str:
    return _NASALS.sub("\u0902", word.translate(_DEVANAGARI))


_RULES: dict[str, Callable[[str], str]] = {
    "arabic": lambda word: word.translate(_ARABIC),
    "persian": lambda word: word.translate(_PERSIAN),
    "urdu": lambda word: word.translate(_URDU),
    "hindi": _devanagari,
    "marathi": _devanagari,
    "nepali": _devanagari,
    "sanskrit": _devanagari,
}

_BY_STEMMER = frozenset({"arabic"})
"""The stemmer does the same later and needs the letters as they are: measured, XQuAD loses a point otherwise."""


def speller(language: str, *, stemmed: bool) -> Callable[[str], str]:
    """A function from a normalised word to the one spelling that stands for it."""
    return str if stemmed and language in _BY_STEMMER else _RULES.get(language, str)
