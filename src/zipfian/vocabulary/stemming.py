"""Snowball stemmers, by language.

PyStemmer (Snowball compiled to C) has wheels for every Python and platform zipfian runs on and needs no further
package. It is the only implementation used: a pure-Python fallback of another Snowball release could give other stems
for queries than for documents without anybody noticing.
"""

from __future__ import annotations

import functools
import importlib
import re
import threading
from collections.abc import Callable

from zipfian.errors import InvalidInput
from zipfian.language import NAMES

AUTO, NONE = "auto", "none"
"""In place of a language: each text's own, and none at all."""

LANGUAGES: dict[str, str] = {
    "arabic": "ar", "armenian": "hy", "basque": "eu", "catalan": "ca", "czech": "cs", "danish": "da", "dutch": "nl",
    "dutch_porter": "", "english": "en", "esperanto": "eo", "estonian": "et", "finnish": "fi", "french": "fr",
    "german": "de", "greek": "el", "hindi": "hi", "hungarian": "hu", "indonesian": "id", "irish": "ga",
    "italian": "it", "lithuanian": "lt", "nepali": "ne", "norwegian": "no", "persian": "fa", "polish": "pl",
    "porter": "", "portuguese": "pt", "romanian": "ro", "russian": "ru", "serbian": "sr", "sesotho": "st",
    "spanish": "es", "swedish": "sv", "tamil": "ta", "turkish": "tr", "yiddish": "yi",
}  # fmt: skip
"""Snowball's name and the ISO 639-1 code, where there is one. `porter` and `dutch_porter` are older algorithms."""

_RELATED = {"bosnian": "serbian", "croatian": "serbian", "malay": "indonesian"}
"""Languages whose neighbour's stemmer was made for both, and which no detector tells apart in a short text."""

_BY_CODE = NAMES | {code: name for name, code in LANGUAGES.items() if code} | {"nb": "norwegian", "nn": "norwegian"}
_REGION = re.compile("(?<=^..)[-_].*")
_NAMES = frozenset({*_BY_CODE.values(), *LANGUAGES, AUTO, NONE})

FOLD_FIRST = frozenset({"english", "porter", NONE})
"""Languages whose stemmer knows no accents, so they are folded before it; the others need them."""


def language_name(language: str) -> str:
    """The name for a name or an ISO 639-1 code (`pt`, `pt-BR`); `none` switches all rules of a language off."""
    if not isinstance(language, str):
        raise InvalidInput(f"language must be a string such as 'english', not {type(language).__name__}")
    name = language.strip().lower()
    name = _BY_CODE.get(name, name)
    if name not in _NAMES:
        name = _BY_CODE.get(_REGION.sub("", name), name)
    if name not in _NAMES:
        raise InvalidInput(
            f"unknown language {language!r:.60}: use 'auto', the name or ISO 639-1 code of one with a stemmer "
            f"({', '.join(sorted(LANGUAGES))}) or without ('japanese', 'korean', 'thai' ...), or 'none' with stem=False"
        )
    return name


def has_stemmer(language: str) -> bool:
    """Whether words of a language, as `language_name` spells it, can be stemmed."""
    return language in LANGUAGES or language in _RELATED


def make_stemmer(language: str) -> Callable[[str], str]:
    """A function from a normalised word to its stem, safe to call from several threads."""
    module = importlib.import_module("Stemmer")
    language = _RELATED.get(language, language)
    if language not in module.algorithms():
        raise InvalidInput(
            f"the installed PyStemmer {module.version()} has no stemmer for {language!r}: "
            "pip install -U PyStemmer, or set stem=False"
        )
    # Caching is the caller's; the object itself must not be used by two threads at once.
    stem: Callable[[str], str] = module.Stemmer(language, 0).stemWord
    lock = threading.Lock()

    def stemmed(word: str) -> str:
        with lock:
            return stem(word)

    return stemmed


@functools.cache
def stemmer_version() -> str:
    """Major and minor version of the stemmers: their rules change between minor releases."""
    version: str = importlib.import_module("Stemmer").version()
    return ".".join(version.split(".")[:2])
