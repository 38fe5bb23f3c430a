"""Which characters make up words, and which scripts are written without spaces.

`re` knows letters and digits (`\\w`) but not combining marks, without which Hindi words and decomposed
accents fall apart, and it cannot subtract one class from another. So the classes are built here from
`unicodedata`, once, and only when the first text beyond ASCII arrives (about 50 ms).
"""

from __future__ import annotations

import functools
import itertools
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

IGNORABLE = "\u00ad\u200c\u200d\u2060\ufeff"
"""Invisible characters inside words (soft hyphen, joiners, byte order mark): part of a word, dropped from the term."""

APOSTROPHES = "'\u2019\u02bc\uff07\u05f3\u05f4"
"""Typewriter, typographic, modifier letter and full-width apostrophe; Hebrew geresh and gershayim."""

HYPHENS = "-\u2010\u2011"
"""Hyphens that join words; dashes separate them."""

HAN = ((0x3005, 0x3007), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x323AF))

_KANA = ((0x3041, 0x3096), (0x309D, 0x309F), (0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9D),
         (0x1B000, 0x1B16F))  # fmt: skip
_SOUTH_EAST_ASIA = ((0x0E01, 0x0E4E), (0x0E81, 0x0ECF), (0x0EDC, 0x0EDF), (0x1000, 0x103F), (0x104E, 0x109F),
                    (0x1780, 0x17D3), (0xA9E0, 0xA9EF), (0xAA60, 0xAA7F))  # fmt: skip
_HANGUL = ((0x1100, 0x115F), (0x3131, 0x318E), (0xA960, 0xA97C), (0xAC00, 0xD7A3))
_HANGUL_INSIDE = ((0x1160, 0x11FF), (0xD7B0, 0xD7FB))
"""Vowels and finals of syllables that are spelled in letters: each belongs to the letter before it."""

_HALF_WIDTH_SOUND_MARKS = "\uff9e\uff9f"
_VARIATION_SELECTORS = range(0xE0100, 0xE01F0)
_BASIC_PLANE = 0x10000
_SCANNED = 0x20000
"""Above are Han, known as a block, and variation selectors."""


class Classes(NamedTuple):
    """Bodies of regular expression classes (without the brackets)."""

    start: str
    """Letters, digits and `_` that can begin a word, less the scripts written without spaces."""
    inside: str
    """The same and what may follow: marks and invisible characters."""
    unspaced: str
    """Characters of Han, kana, Thai, Lao, Khmer and Burmese that can begin a cluster."""
    marks: str
    """What extends the character before it."""
    alone: str
    """Characters of scripts without spaces that are words by themselves as well: Han, and Hangul where it is one."""


def _class_body(code_points: Iterable[int]) -> str:
    """Ascending code points as ranges."""
    points = np.fromiter(code_points, dtype=np.int64)
    breaks = np.flatnonzero(np.diff(points) > 1)
    firsts = points[np.concatenate(([0], breaks + 1))]
    lasts = points[np.concatenate((breaks, [-1]))]
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in zip(firsts, lasts, strict=True))


@functools.cache
def _kinds() -> str:
    """One letter for each scanned code point: w(ord), u(nspaced), m(ark), or - for what separates words.

    A code point that this Python does not know goes with its neighbour below: it is most likely of the same script,
    and a Python that knows it will then agree with one that does not.
    """
    extending = frozenset(IGNORABLE + _HALF_WIDTH_SOUND_MARKS)
    spaceless = {point for first, last in (*HAN, *_KANA, *_SOUTH_EAST_ASIA) for point in range(first, last + 1)}
    kinds: list[str] = []
    for char in map(chr, range(_SCANNED)):
        category = unicodedata.category(char)
        if category == "Cn":
            kinds.append(kinds[-1])
        elif category[0] == "M" or char in extending:
            kinds.append("m")
        elif char.isalnum() or char == "_":
            kinds.append("u" if ord(char) in spaceless else "w")
        else:
            kinds.append("-")
    return "".join(kinds)


def _marked(kinds: str, ranges: Iterable[tuple[int, int]], kind: str) -> str:
    for first, last in ranges:
        kinds = kinds[:first] + kind * (last + 1 - first) + kinds[last + 1 :]
    return kinds


@functools.cache
def unicode_classes(*, astral: bool, syllables: bool = False) -> Classes:
    """The classes for the Unicode version of the running Python.

    Without the code points above the basic plane (`astral`) `re` tests a character five times as fast. With `syllables`
    Hangul counts as a script without spaces.
    """
    kinds = _kinds()[: _SCANNED if astral else _BASIC_PLANE]
    if syllables:
        kinds = _marked(_marked(kinds, _HANGUL, "u"), _HANGUL_INSIDE, "m")

    def body(chosen: str, *more: range) -> str:
        scanned = (point for point, kind in enumerate(kinds) if kind in chosen)
        return _class_body(itertools.chain(scanned, *(more if astral else ())))

    astral_han = range(_SCANNED, HAN[-1][1] + 1)
    return Classes(
        start=body("w"),
        inside=body("wm", _VARIATION_SELECTORS),
        unspaced=body("u", astral_han),
        marks=body("m", _VARIATION_SELECTORS),
        alone="".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in (*HAN, *(_HANGUL if syllables else ()))),
    )
