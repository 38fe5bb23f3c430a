"""Snowball stemmers, by language.

PyStemmer (Snowball compiled to C) has wheels for every Python and platform zipfian runs on and needs no further
package. It is the only implementation used: a pure-Python fallback of another Snowball release could give other stems
for queries than for documents without anybody noticing.
"""

from __future__ import annotations

import functools
import importlib
import threading
from collections.abc import Callable

from zipfian.errors import InvalidInput

LANGUAGES: dict[str, str] = {
    "arabic": "ar", "armenian": "hy", "basque": "eu", "catalan": "ca", "czech": "cs", "danish": "da", "dutch": "nl",
    "dutch_porter": "", "english": "en", "esperanto": "eo", "estonian": "et", "finnish": "fi", "french": "fr",
    "german": "de", "greek": "el", "hindi": "hi", "hungarian": "hu", "indonesian": "id", "irish": "ga",
    "italian": "it", "lithuanian": "lt", "nepali": "ne", "norwegian": "no", "persian": "fa", "polish": "pl",
    "porter": "", "portuguese": "pt", "romanian": "ro", "russian": "ru", "serbian": "sr", "sesotho": "st",
    "spanish": "es", "swedish": "sv", "tamil": "ta", "turkish": "tr", "yiddish": "yi",
}  # fmt: skip
"""Snowball's name and the ISO 639-1 code, where there is one. `porter` and `dutch_porter` are older algorithms."""

_BY_CODE = {code: name for name, code in LANGUAGES.items() if code} | {"nb": "norwegian", "nn": "norwegian"}

FOLD_FIRST = frozenset({"english", "porter", "none"})
"""Languages whose stemmer knows no accents, so they are folded before it; the others need them."""


def language_name(language: str) -> str:
    """The Snowball name for a name or an ISO 639-1 code; `none` switches all rules of a language off."""
    if not isinstance(language, str):
        raise InvalidInput(f"language must be a string such as 'english', not {type(language).__name__}")
    name = language.strip().lower()
    name = _BY_CODE.get(name, name)
    if name != "none" and name not in LANGUAGES:
        raise InvalidInput(
            f"unknown language {language!r:.60}: use one of {', '.join(sorted(LANGUAGES))}, or 'none' with stem=False"
        )
    return name


def make_stemmer(language: str) -> Callable[[str], str]:
    """A function from a normalised word to its stem, safe to call from several threads."""
    module = importlib.import_module("Stemmer")
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
