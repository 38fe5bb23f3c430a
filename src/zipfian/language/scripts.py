"""In which script is a text written, and which languages use it?

Where a script belongs to one language it decides, and where it belongs to a few only those are asked about: what a
classifier thinks of Han characters in an English sentence means nothing.
"""

from __future__ import annotations

import unicodedata
from collections import Counter

from zipfian import limits
from zipfian.language.names import NAMES

_LANGUAGES = {
    "CYRILLIC": "ba be bg kk ky mk mn ru sr tg tt uk uz",
    "ARABIC": "ar fa ku ps ug ur",
    "DEVANAGARI": "hi mr ne sa",
    "BENGALI": "as bn",
    "HAN": "ja zh",
    "KANA": "ja",
    "HANGUL": "ko",
    "THAI": "th", "LAO": "lo", "KHMER": "km", "MYANMAR": "my", "TIBETAN": "bo",
    "GREEK": "el", "ARMENIAN": "hy", "GEORGIAN": "ka", "HEBREW": "he", "ETHIOPIC": "am",
    "TAMIL": "ta", "TELUGU": "te", "KANNADA": "kn", "MALAYALAM": "ml", "SINHALA": "si",
    "GUJARATI": "gu", "GURMUKHI": "pa", "ORIYA": "or",
}  # fmt: skip
_ALSO_LATIN = frozenset("ku kk sr tk uz".split())

LANGUAGES: dict[str, frozenset[str]] = {script: frozenset(codes.split()) for script, codes in _LANGUAGES.items()}
LANGUAGES["LATIN"] = frozenset(NAMES) - frozenset().union(*LANGUAGES.values()) | _ALSO_LATIN
"""Which languages are written in a script, by the first word of its letters' Unicode names (`HAN` and `KANA` ours)."""

_OUR_NAMES = {"CJK": "HAN", "HIRAGANA": "KANA", "KATAKANA": "KANA", "KATAKANA-HIRAGANA": "KANA"}
_WORTH = dict.fromkeys(LANGUAGES, 2) | {"LATIN": 1, "HAN": 3, "HANGUL": 3}
"""How much a letter says. Every script quotes names in Latin letters, and that does not make a text English; and one
character of Han or Hangul is as much as several letters."""

_LEAST_KANA = 0.1
"""Of Han and kana together; a Chinese text may quote some, a Japanese one of any length has more."""


class _Scripts(dict[str, str]):
    """Script of a character, or nothing where it is no letter; filled as characters are met."""

    def __missing__(self, char: str) -> str:
        name = ""
        if char.isalpha() or unicodedata.category(char)[0] == "M":
            first = unicodedata.name(char, "").partition(" ")[0]
            name = _OUR_NAMES.get(first, first)
        self[char] = name = name if name in LANGUAGES else ""
        return name


_SCRIPTS = _Scripts()


def main_script(text: str) -> str:
    """The script most of `text` is written in, `""` where it has no letters of a script that is known."""
    if text.isascii():
        return "LATIN" if any(map(str.isalpha, text)) else ""
    counts = Counter(map(_SCRIPTS.__getitem__, text))
    del counts[""]
    worth = {script: n * _WORTH[script] for script, n in counts.items()}
    if "KANA" in worth and "HAN" in worth:  # two scripts of one language, or Han with a quotation
        together = worth.pop("KANA") + worth.pop("HAN")
        japanese = counts["KANA"] >= _LEAST_KANA * (counts["KANA"] + counts["HAN"])
        worth["KANA" if japanese else "HAN"] = together
    return max(sorted(worth), key=worth.__getitem__, default="")


def only(text: str, script: str) -> str:
    """`text` with everything but the letters of `script` blank."""
    if text.isascii():
        return text
    return "".join(char if char.isascii() or _SCRIPTS[char] == script else " " for char in text)


def possible(text: str) -> frozenset[str]:
    """ISO 639-1 codes of the languages written in the script of `text`; none where it has no letters.

    Parameters
    ----------
    text
        Any string; at most MAX_DETECTED_CHARS of it are read.

    Returns
    -------
    frozenset of str
        All languages of the script, however unlikely the words make them.

    Examples
    --------
    >>> possible("Привет") & {"ru", "uk", "en"} == {"ru", "uk"}, possible("2024")
    (True, frozenset())
    """
    return LANGUAGES.get(main_script(text[: limits.MAX_DETECTED_CHARS]), frozenset())
