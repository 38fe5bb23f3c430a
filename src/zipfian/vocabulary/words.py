"""The vocabulary of plain words: a text becomes counted terms, with offsets on request."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Literal

from zipfian import limits
from zipfian.errors import InvalidInput, LimitExceeded
from zipfian.language import NAMES, detect, detector_version
from zipfian.types import FieldBatch, TfKind, Token
from zipfian.vocabulary._analyser import Analyser
from zipfian.vocabulary._batch import count_batch
from zipfian.vocabulary._spelling import REVISIONS
from zipfian.vocabulary._word_settings import WordSettings
from zipfian.vocabulary.stemming import AUTO, NONE, has_stemmer, language_name, stemmer_version

_Known = tuple[str | Mapping[str, int], str | None]
"""A text or its counts, and its language where that is known."""


class Words:
    """Analyses texts and queries alike.

    Parameters
    ----------
    settings
        Language, stemming, stop words and so on; English by default. With `language="auto"` each text is analysed in
        its own language: the one a method is told (`language=`: a name, a code, or `none`), or else the one `detect`
        finds. Otherwise all texts are analysed in the one language, whatever a method is told.

    Examples
    --------
    >>> Words().terms("The C++ programmer's e-mails, 3.14 BM25s")
    ['the', 'c++', 'programm', 'e', 'mail', 'email', '3.14', 'bm25s']
    >>> Words(WordSettings(language="auto")).terms("Die Häuser der Stadt")
    ['die', 'haus', 'der', 'stadt']
    """

    kind = "words"
    term_kind: Literal["str"] = "str"
    tf_kind: TfKind = "count"

    def __init__(self, settings: WordSettings | None = None) -> None:
        self.settings = settings or WordSettings()
        language = self.settings.language
        self._only = None if language == AUTO else Analyser(self.settings, language)
        self._analysers: dict[str, Analyser] = {}

    # ------------------------------------------------------------------ documents

    def terms(self, text: str, language: str | None = None) -> list[str]:
        """The terms of `text`, in `language`, in order, repeats included."""
        return list(self._analyser(text, language).terms(text))

    def counts(self, text: str, language: str | None = None) -> dict[str, int]:
        """How often each term occurs in `text`, in `language`, in order of first occurrence."""
        return self._analyser(text, language).counts(text)

    def batch(
        self, items: Iterable[str | Mapping[str, int]], languages: Iterable[str | None] | None = None
    ) -> FieldBatch:
        """Counts of many texts (`items`), or what `counts` made of them, as a sparse matrix over their sorted terms.

        `languages` has the language of each; None for one that is yet to be found.
        """
        if (analyser := self._only) is not None:
            return count_batch(items, analyser.chunks_or_counts, analyser.terms_of)
        return count_batch(_paired(items, languages), self._chunks_or_counts, _terms_of)

    def tokenize(self, text: str, language: str | None = None) -> list[Token]:
        """Every occurrence of a term and the characters of the original `text`, in `language`, it came from."""
        found = self._analyser(text, language).locate(text)
        return [Token(term, start, end) for term, start, end in found]

    def spans(self, text: str, wanted: Collection[str], language: str | None = None) -> list[Token]:
        """The first MAX_PLACES occurrences in `text`, in `language`, of the `wanted` terms only, to highlight them."""
        return list(itertools.islice(self._analyser(text, language).find(text, wanted), limits.MAX_PLACES))

    # ------------------------------------------------------------------ queries

    def query(self, item: str, language: str | None = None, *, whole: bool = False) -> dict[str, float]:
        """The terms of a query, `item`, in `language`, and how often it names each.

        Function words are left out wherever something else remains to search for; with `whole` every term counts as it
        would in a document, for formulas that compare two texts as a whole. A query is short: whoever knows which
        languages the documents are in finds its own with that as prior (`detect`), and says so here.
        """
        if isinstance(item, str) and len(item) > limits.MAX_QUERY_CHARS:
            raise LimitExceeded(f"a query of {len(item):,} characters is over the limit of {limits.MAX_QUERY_CHARS:,}")
        analyser = self._analyser(item, language)
        counts: dict[str, float] = {}
        telling: dict[str, float] = {}
        if whole:
            counts = {term: float(count) for term, count in analyser.counts(item).items()}
        else:
            for term, weight, is_telling in analyser.query_terms(item):
                counts[term] = counts.get(term, 0.0) + weight
                if is_telling:
                    telling[term] = telling.get(term, 0.0) + weight
        chosen = telling or counts
        if len(chosen) > limits.MAX_QUERY_TERMS:
            raise LimitExceeded(f"a query of {len(chosen):,} terms is over the limit of {limits.MAX_QUERY_TERMS:,}")
        return chosen

    # ------------------------------------------------------------------ identity

    @property
    def fingerprint(self) -> str:
        """Readable, because it appears in error messages: kind, version, language, stemmer, hash of the settings.

        With `auto` the detector has its part in the terms, and so have the rules of every language.
        """
        settings = json.dumps(self.to_json(), sort_keys=True, ensure_ascii=True)
        digest = hashlib.blake2b(settings.encode(), digest_size=6).hexdigest()
        language = self.settings.language
        stemmed = self.settings.stem and (language == AUTO or has_stemmer(language))
        stemmer = f"snowball-{stemmer_version()}" if stemmed else "unstemmed"
        if language == AUTO:
            language = f"{AUTO}-{detector_version()}.{sum(REVISIONS.values())}"
        elif language in REVISIONS:
            language = f"{language}.{REVISIONS[language]}"
        return f"words-{self.settings.version}:{language}:{stemmer}:{digest}"

    def to_json(self) -> dict[str, Any]:
        """The settings as plain JSON values; `WordSettings.from_json` reads them."""
        return self.settings.to_json()

    # ------------------------------------------------------------------ languages

    def _analyser(self, text: str, language: str | None) -> Analyser:
        if self._only is not None:
            return self._only
        if language is None or language == AUTO:
            language = detect(text).language or NONE
        found = self._analysers.get(language)
        if found is None:  # two threads may make one each: they are equal, and the later one stays
            name = language_name(language)
            self._analysers[name] = found = self._analysers.get(name) or Analyser(self.settings, name)
            if language in NAMES:  # not every way of writing it
                self._analysers[language] = found
        return found

    def _chunks_or_counts(self, item: _Known) -> Iterable[tuple[Analyser, str]] | Mapping[str, int]:
        text, language = item
        if isinstance(text, Mapping):
            return text
        analyser = self._analyser(text, language)
        found = analyser.chunks_or_counts(text)
        return found if isinstance(found, Mapping) else zip(itertools.repeat(analyser), found)


def _paired(items: Iterable[str | Mapping[str, int]], languages: Iterable[str | None] | None) -> Iterator[_Known]:
    """Each item with its language."""
    known = itertools.repeat(None) if languages is None else iter(languages)
    for number, item in enumerate(items):
        try:
            yield item, next(known)
        except StopIteration:
            raise InvalidInput(f"{number:,} languages for more texts: give one, or None, for each") from None


def _terms_of(chunk: tuple[Analyser, str]) -> Iterable[str]:
    """The same chunk is another one in another language."""
    return chunk[0].terms_of(chunk[1])
