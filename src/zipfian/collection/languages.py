"""Which language the texts and queries of a collection are in.

The language decides how a text becomes words, and which encoders are given it: one that was never taught a language
makes noise of it. Most texts are told by their script and their function words, in microseconds; the others go through
the detector (`zipfian.language`), with what the collection holds as prior.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from zipfian import limits
from zipfian.encode.multilingual import LANGUAGES as MULTILINGUAL
from zipfian.fields.item import Item
from zipfian.language import NAMES, detect, possible
from zipfian.language.names import SHARES
from zipfian.language.scripts import LANGUAGES as WRITTEN
from zipfian.objects import JsonObject
from zipfian.vocabulary.stemming import LANGUAGES
from zipfian.vocabulary.stopwords import STOP_WORDS

LATIN = WRITTEN["LATIN"]

UNDECIDED = "en"
"""A text in which nothing is told, in a collection of which nothing is known: a name, a number, a single word."""

FIRST = 200
"""Texts at the beginning that settle the language of a collection."""

_READ = 300
"""Characters in which function words are looked for."""

_FEW = 3
_SHARE = 0.08
_CLEAR = 3
"""Function words that only one language has: so many, such a share of the words, and so many times those of another
language make further questions unnecessary."""

_PRESENT = 0.01
"""Share of the documents from which on a language counts as one of the collection's."""

_LISTED = 6

_NEARLY_ALL = 0.95
"""Share of the texts in English from which on others are left to the words."""

_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class Languages:
    """The languages of a collection's texts: its own, and how many documents there are in each.

    Its own is the language of its first texts, and stays: what a short text in no telling language is taken for.
    """

    own: str | None = None
    """None: no text has been seen yet."""
    counts: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Documents by language; those replaced or removed since are counted too."""

    def learned(self, texts: Iterable[str]) -> Languages:
        """With the language of most of these first `texts` as the collection's own."""
        found = Counter(language for text in texts if (language := _plain(text, UNDECIDED) or detect(text).language))
        return replace(self, own=max(found, key=lambda code: (found[code], code)) if found else UNDECIDED)

    def tell(self, items: Sequence[Item]) -> Languages:
        """Give every text its language; returns what is known with them, the documents not yet counted."""
        texts = [item.text for item in items[:FIRST] if item.text]
        known = self.learned(texts) if self.own is None and texts else self
        for item in items:
            if item.language is None and item.text:
                item.language = known.of_text(item.text)
        return known

    def counted(self, items: Iterable[Item]) -> Languages:
        """With these documents in the counts."""
        found = Counter(self.counts)
        found.update(item.language for item in items if item.language is not None)
        return replace(self, counts=dict(found)) if found != self.counts else self

    def of_text(self, text: str) -> str:
        """The language of a document. It follows from the text and the collection's own language alone."""
        if self.own is None:
            return _plain(text, UNDECIDED) or self._likeliest(text, None)
        return _plain(text, self.own, known=True) or self._likeliest(text, {self.own: 1.0})

    def of_query(self, text: str) -> str:
        """The language of a query: few words, so what the documents are in says more than they do."""
        present = self._present
        if len(present) <= 1:
            own = next(iter(present), self.own) or UNDECIDED
            if own in LATIN and text.isascii():
                return own
            fitting = possible(text)
            if not fitting or own in fitting:
                return own
            present = {}  # it is in another script than the documents, whatever its language
        return self._likeliest(text, present or None)

    @functools.cached_property
    def _present(self) -> Mapping[str, int]:
        """The languages that more than a few documents are in."""
        total = sum(self.counts.values())
        return {code: n for code, n in self.counts.items() if n >= _PRESENT * total}

    def _likeliest(self, text: str, prior: Mapping[str, float] | None) -> str:
        """What the detector says; where it cannot tell, the collection's own language if that has the text's script."""
        if found := detect(text, prior).language:
            return found
        own, fitting = self.own or UNDECIDED, possible(text)
        return own if not fitting or own in fitting else max(sorted(fitting), key=SHARES.__getitem__)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"own": self.own, "counts": dict(self.counts)}

    @classmethod
    def from_json(cls, data: Any) -> Languages:
        """What `to_json` gave, in a manifest that anybody may have written."""
        found = JsonObject(data, "languages")
        own = found.choice("own", NAMES) if found.has("own") else None
        listed = JsonObject(found.mapping("counts", len(NAMES)), "documents by language")
        counts = {code: listed.whole(code, 0, limits.MAX_COUNTED) for code in NAMES if listed.has(code)}
        listed.end()
        found.end()
        return cls(own, counts)


def meaning_fields(texts: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Which fields find texts such as these by what they mean, and the language most of them are in.

    An English collection gets the English encoder's; one in another language, or several, the multilingual encoder's
    where that reads it; none where no encoder does.
    """
    known = Languages().learned(texts)
    own = known.own or UNDECIDED
    shares = Counter(known.of_text(text) for text in texts)
    if own != UNDECIDED:
        return (("multilingual",) if own in MULTILINGUAL else ()), own
    return ("latent", "dense" if shares[own] >= _NEARLY_ALL * len(texts) else "multilingual"), own


def named(language: str) -> str:
    """What people call a language: `German`."""
    return NAMES.get(language, language).capitalize()


def listed(languages: Iterable[str]) -> str:
    """Several of them, a long list cut short."""
    names = sorted(map(named, languages))
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def readable(languages: frozenset[str] | None, language: str | None) -> bool:
    """Whether what reads these `languages` (None: it does not say) reads a text in this one."""
    return languages is None or language is None or language in languages


def _plain(text: str, expected: str, known: bool = False) -> str | None:
    """The `expected` language, or English, where function words make it plain; other languages have neighbours.

    In a collection whose language is `known`, one such word is enough where there is none of another language.
    """
    words = _WORD.findall(text[:_READ].lower())
    hits = Counter(code for word in words if (code := _telling().get(word)))
    if known and hits.keys() == {expected}:
        return expected
    for code in dict.fromkeys((expected, UNDECIDED)):
        n = hits.pop(code, 0)
        if n >= _FEW and n >= _SHARE * len(words) and n >= _CLEAR * max(hits.values(), default=0):
            return code
    return None


@functools.cache
def _telling() -> Mapping[str, str]:
    """Function words that only one language has, and its code."""
    known = {name: code for code, name in NAMES.items()} | {name: code for name, code in LANGUAGES.items() if code}
    found: dict[str, set[str]] = {}
    for name, words in STOP_WORDS.items():
        for word in words.split():
            found.setdefault(word, set()).add(known[name])
    return {word: next(iter(codes)) for word, codes in found.items() if len(codes) == 1}
