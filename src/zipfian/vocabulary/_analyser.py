"""The analysis of texts in one language: chunks, terms, places, counts."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from zipfian import limits
from zipfian.errors import InvalidInput, LimitExceeded
from zipfian.types import Token
from zipfian.vocabulary._cache import WordCache
from zipfian.vocabulary._long import LONG_TEXT, Finder, Tally
from zipfian.vocabulary._normalise import drop_apostrophes, fold_accents, normalise
from zipfian.vocabulary._spelling import CUTS_SYLLABLES, DOTLESS_I, KEEPS_ACCENTS, speller
from zipfian.vocabulary._word_settings import WordSettings
from zipfian.vocabulary.stemming import FOLD_FIRST, has_stemmer, make_stemmer
from zipfian.vocabulary.stopwords import stop_words
from zipfian.vocabulary.tokenizer import LONG_CHUNK, chunk_pattern, pieces

_NOT_STEMMED = re.compile(r"[0-9+#.@&_\u2044]")
_Span = tuple[str, int, int]

_GRAM = "~"
"""Before a run of letters that is a term beside its word; no word has it."""

_GRAM_WEIGHT = 0.2
"""Of a run of letters in a query, where a word has 1: chosen on the even half of XQuAD's German queries."""


class Analyser:
    """One regular expression cuts a text into chunks, and each distinct chunk is analysed once and remembered: most of
    the time goes into that expression and into dict look-ups."""

    def __init__(self, settings: WordSettings, language: str) -> None:
        """`language` as `language_name` spells it, whatever the one of the `settings` is."""
        self.settings = settings
        self._language = language
        self._join, self._syllables = settings.join_compounds, language in CUTS_SYLLABLES
        self._turkish = language in DOTLESS_I
        self._fold = fold_accents if settings.fold_accents and language not in KEEPS_ACCENTS else str
        self._fold_first = language in FOLD_FIRST
        self._stem = make_stemmer(language) if settings.stem and has_stemmer(language) else None
        self._respell = speller(language, stemmed=self._stem is not None)
        chosen = stop_words(settings.stop_words, language)
        self._query_stop = frozenset(self._fold(self._plain(word)) for word in chosen)
        self._stop = self._query_stop if settings.drop_stop_words else frozenset()
        self._pieces: WordCache[tuple[str, ...]] = WordCache(self._piece_terms)
        self._terms: WordCache[Iterable[str]] = WordCache(self._chunk_terms)
        self._spans: WordCache[Iterable[_Span]] = WordCache(self._chunk_spans)
        self._query_terms: WordCache[Iterable[tuple[str, float, bool]]] = WordCache(self._chunk_query_terms)
        self.terms_of = self._terms.__getitem__
        """The terms of a chunk."""

    def terms(self, text: str) -> Iterable[str]:
        """The terms in order, repeats included."""
        return itertools.chain.from_iterable(map(self.terms_of, self._chunks(text)))

    def counts(self, text: str) -> dict[str, int]:
        """How often each term occurs, in order of first occurrence."""
        prepared = self._prepare(text)
        if len(prepared) > LONG_TEXT:
            tally = Tally(self.terms_of, self._pieces.__getitem__, join=self._join, syllables=self._syllables)
            return tally.count(prepared)
        counts = Counter(self.terms(text))
        if len(counts) > limits.MAX_DOCUMENT_TERMS:
            raise LimitExceeded(
                f"a text has {len(counts):,} distinct terms, more than {limits.MAX_DOCUMENT_TERMS:,}: split it"
            )
        return counts

    def chunks_or_counts(self, text: str | Mapping[str, int]) -> list[str] | Mapping[str, int]:
        """The chunks of a text, or of a long one its counted terms; what is counted already stays."""
        if isinstance(text, Mapping):
            return text
        return self._chunks(text) if len(text) <= LONG_TEXT else self.counts(text)

    def locate(self, text: str) -> Iterator[_Span]:
        """Every term with its place."""
        text = self._prepare(text)
        for chunk in chunk_pattern(text, syllables=self._syllables).finditer(text):
            offset = chunk.start()
            for term, start, end in self._spans[chunk.group()]:
                yield term, offset + start, offset + end

    def find(self, text: str, wanted: Collection[str]) -> Iterator[Token]:
        """The places of the `wanted` terms."""
        prepared = self._prepare(text)
        if len(prepared) > LONG_TEXT:
            finder = Finder(
                self._spans.__getitem__, self._pieces.__getitem__, wanted, join=self._join, syllables=self._syllables
            )
            return finder.find(prepared)
        return (Token(term, start, end) for term, start, end in self.locate(text) if term in wanted)

    def query_terms(self, text: str) -> Iterable[tuple[str, float, bool]]:
        """Terms in order, their weights, and whether each is more than a function word."""
        return itertools.chain.from_iterable(map(self._query_terms.__getitem__, self._chunks(text)))

    # ------------------------------------------------------------------ chunks

    def _chunks(self, text: str) -> list[str]:
        text = self._prepare(text)
        return chunk_pattern(text, syllables=self._syllables).findall(text)

    def _prepare(self, text: str) -> str:
        """Lower case where that keeps offsets and loses nothing: fewer distinct chunks to remember."""
        if not isinstance(text, str):
            raise InvalidInput(f"a text must be a string, not {type(text).__name__}")
        if len(text) > limits.MAX_TEXT_CHARS:
            raise LimitExceeded(
                f"a text of {len(text):,} characters is over the limit of {limits.MAX_TEXT_CHARS:,}: split it"
            )
        return text.lower() if text.isascii() and not self._turkish else text

    def _chunk_terms(self, chunk: str) -> Iterable[str]:
        if chunk.isascii() and chunk.isalnum():
            return self._piece_terms(chunk)
        found = pieces(chunk, join=self._join, syllables=self._syllables)
        terms = (term for spelling, _, _ in found for term in self._pieces[spelling])
        return terms if len(chunk) > LONG_CHUNK else tuple(terms)  # too long to be remembered: one by one

    def _chunk_spans(self, chunk: str) -> Iterable[_Span]:
        found = pieces(chunk, join=self._join, syllables=self._syllables)
        spans = ((term, start, end) for spelling, start, end in found for term in self._pieces[spelling])
        return spans if len(chunk) > LONG_CHUNK else tuple(spans)

    def _chunk_query_terms(self, chunk: str) -> Iterable[tuple[str, float, bool]]:
        """Function words are told before stemming, or `doe` would be `does`.

        A syllable of a longer Korean word says little: it is there to be found when somebody asks for it alone.
        """
        found = pieces(chunk, join=self._join, syllables=self._syllables)
        terms = (
            (term, _GRAM_WEIGHT if term.startswith(_GRAM) else 1.0, is_telling)
            for spelling, start, end in found
            if not (self._syllables and end - start < len(chunk) and _is_syllable(spelling))
            for is_telling in (self._fold(self._plain(spelling[: limits.MAX_TERM_BYTES])) not in self._query_stop,)
            for term in self._pieces[spelling]
        )
        return terms if len(chunk) > LONG_CHUNK else tuple(terms)

    # ------------------------------------------------------------------ words

    def _plain(self, spelling: str) -> str:
        """The normalised word before stemming."""
        word = normalise(spelling, turkish=self._turkish)
        return self._respell(drop_apostrophes(word, self._language))

    def _piece_terms(self, spelling: str) -> tuple[str, ...]:
        """The term of one piece, and the runs of letters inside it where they are wanted."""
        term, n = self._analyse(spelling), self.settings.grams
        if not term:
            return ()
        if not n or _NOT_STEMMED.search(term):
            return (term,)
        return (term, *(_GRAM + term[i : i + n] for i in range(len(term) - n + 1)))

    def _analyse(self, spelling: str) -> str:
        """The term of one piece, or nothing where it is none."""
        word = self._plain(spelling[: limits.MAX_TERM_BYTES])
        folded = self._fold(word)
        if not folded or folded in self._stop:
            return ""
        if not self.settings.keep_numbers and not any(map(str.isalpha, folded)):
            return ""
        if self._stem and len(word) <= limits.MAX_STEMMED_CHARS and not _NOT_STEMMED.search(word):
            folded = self._stem(folded) if self._fold_first else self._fold(self._stem(word))
        return _cut(folded)


def _is_syllable(spelling: str) -> bool:
    word = normalise(spelling)
    return len(word) == 1 and "가" <= word <= "힣"


def _cut(term: str) -> str:
    """At most MAX_TERM_BYTES of UTF-8, whole characters only."""
    if len(term) * 4 <= limits.MAX_TERM_BYTES:
        return term
    return term.encode()[: limits.MAX_TERM_BYTES].decode(errors="ignore")
