"""The vocabulary of plain words: a text becomes counted terms, with offsets on request."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Literal

from zipfian import limits
from zipfian.errors import InvalidInput, LimitExceeded
from zipfian.types import FieldBatch, TfKind, Token
from zipfian.vocabulary._batch import count_batch
from zipfian.vocabulary._cache import WordCache
from zipfian.vocabulary._long import LONG_TEXT, Finder, Tally
from zipfian.vocabulary._normalise import drop_apostrophes, fold_accents, normalise
from zipfian.vocabulary._word_settings import WordSettings
from zipfian.vocabulary.stemming import FOLD_FIRST, make_stemmer, stemmer_version
from zipfian.vocabulary.stopwords import stop_words
from zipfian.vocabulary.tokenizer import LONG_CHUNK, chunk_pattern, pieces

_NOT_STEMMED = re.compile(r"[0-9+#.@&_\u2044]")
_Span = tuple[str, int, int]


class Words:
    """Analyses texts and queries alike.

    One regular expression cuts a text into chunks, and each distinct chunk is analysed once and remembered: most of
    the time goes into that expression and into dict look-ups.

    Parameters
    ----------
    settings
        Language, stemming, stop words and so on; English by default.

    Examples
    --------
    >>> Words().terms("The C++ programmer's e-mails, 3.14 BM25s")
    ['the', 'c++', 'programm', 'e', 'mail', 'email', '3.14', 'bm25s']
    """

    kind = "words"
    term_kind: Literal["str"] = "str"
    tf_kind: TfKind = "count"

    def __init__(self, settings: WordSettings | None = None) -> None:
        self.settings = settings or WordSettings()
        language = self.settings.language
        self._language = language
        self._turkish = language == "turkish"
        self._fold = fold_accents if self.settings.fold_accents else str
        self._fold_first = language in FOLD_FIRST
        self._stem = make_stemmer(language) if self.settings.stem else None
        chosen = stop_words(self.settings.stop_words, language)
        self._query_stop = frozenset(self._fold(self._plain(word)) for word in chosen)
        self._stop = self._query_stop if self.settings.drop_stop_words else frozenset()
        self._term: WordCache[str] = WordCache(self._analyse)
        self._terms: WordCache[Iterable[str]] = WordCache(self._chunk_terms)
        self._spans: WordCache[Iterable[_Span]] = WordCache(self._chunk_spans)
        self._query_terms: WordCache[Iterable[tuple[str, bool]]] = WordCache(self._chunk_query_terms)

    # ------------------------------------------------------------------ documents

    def terms(self, text: str) -> list[str]:
        """The terms of `text` in order, repeats included."""
        return list(self._iter_terms(text))

    def counts(self, text: str) -> dict[str, int]:
        """How often each term occurs in `text`, in order of first occurrence."""
        prepared = self._prepare(text)
        if len(prepared) > LONG_TEXT:
            join = self.settings.join_compounds
            return Tally(self._terms.__getitem__, self._term.__getitem__, join=join).count(prepared)
        counts = Counter(self._iter_terms(text))
        if len(counts) > limits.MAX_DOCUMENT_TERMS:
            raise LimitExceeded(
                f"a text has {len(counts):,} distinct terms, more than {limits.MAX_DOCUMENT_TERMS:,}: split it"
            )
        return counts

    def batch(self, items: Iterable[str | Mapping[str, int]]) -> FieldBatch:
        """Counts of many texts (`items`), or what `counts` made of them, as a sparse matrix over their sorted terms."""
        return count_batch(items, self._chunks_or_counts, self._terms.__getitem__)

    def tokenize(self, text: str) -> list[Token]:
        """Every occurrence of a term and the characters of the original text it came from."""
        return [Token(term, start, end) for term, start, end in self._locate(text)]

    def spans(self, text: str, wanted: Collection[str]) -> list[Token]:
        """The first MAX_PLACES occurrences in `text` of the `wanted` terms only, for highlighting and evidence."""
        prepared = self._prepare(text)
        if len(prepared) > LONG_TEXT:
            join = self.settings.join_compounds
            found = Finder(self._spans.__getitem__, self._term.__getitem__, wanted, join=join).find(prepared)
        else:
            found = (Token(term, start, end) for term, start, end in self._locate(text) if term in wanted)
        return list(itertools.islice(found, limits.MAX_PLACES))

    # ------------------------------------------------------------------ queries

    def query(self, item: str) -> dict[str, float]:
        """The terms of a query, `item`, and how often it names each.

        Function words are left out wherever something else remains to search for.
        """
        if isinstance(item, str) and len(item) > limits.MAX_QUERY_CHARS:
            raise LimitExceeded(f"a query of {len(item):,} characters is over the limit of {limits.MAX_QUERY_CHARS:,}")
        counts: dict[str, float] = {}
        telling: dict[str, float] = {}
        for chunk in self._chunks(item):
            for term, is_telling in self._query_terms[chunk]:
                counts[term] = counts.get(term, 0.0) + 1.0
                if is_telling:
                    telling[term] = telling.get(term, 0.0) + 1.0
        chosen = telling or counts
        if len(chosen) > limits.MAX_QUERY_TERMS:
            raise LimitExceeded(f"a query of {len(chosen):,} terms is over the limit of {limits.MAX_QUERY_TERMS:,}")
        return chosen

    # ------------------------------------------------------------------ identity

    @property
    def fingerprint(self) -> str:
        """Readable, because it appears in error messages: kind, version, language, stemmer, hash of the settings."""
        settings = json.dumps(self.to_json(), sort_keys=True, ensure_ascii=True)
        digest = hashlib.blake2b(settings.encode(), digest_size=6).hexdigest()
        stemmer = f"snowball-{stemmer_version()}" if self._stem else "unstemmed"
        return f"words-{self.settings.version}:{self._language}:{stemmer}:{digest}"

    def to_json(self) -> dict[str, Any]:
        """The settings as plain JSON values; `WordSettings.from_json` reads them."""
        return self.settings.to_json()

    # ------------------------------------------------------------------ analysis

    def _chunks(self, text: str) -> list[str]:
        text = self._prepare(text)
        return chunk_pattern(text).findall(text)

    def _chunks_or_counts(self, text: str | Mapping[str, int]) -> list[str] | Mapping[str, int]:
        if isinstance(text, Mapping):
            return text
        return self._chunks(text) if len(text) <= LONG_TEXT else self.counts(text)

    def _iter_terms(self, text: str) -> Iterable[str]:
        return itertools.chain.from_iterable(map(self._terms.__getitem__, self._chunks(text)))

    def _locate(self, text: str) -> Iterator[_Span]:
        text = self._prepare(text)
        for chunk in chunk_pattern(text).finditer(text):
            offset = chunk.start()
            for term, start, end in self._spans[chunk.group()]:
                yield term, offset + start, offset + end

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
            term = self._analyse(chunk)
            return (term,) if term else ()
        found = pieces(chunk, join=self.settings.join_compounds)
        terms = (term for spelling, _, _ in found if (term := self._term[spelling]))
        return terms if len(chunk) > LONG_CHUNK else tuple(terms)  # too long to be remembered: one by one

    def _chunk_spans(self, chunk: str) -> Iterable[_Span]:
        found = pieces(chunk, join=self.settings.join_compounds)
        spans = ((term, start, end) for spelling, start, end in found if (term := self._term[spelling]))
        return spans if len(chunk) > LONG_CHUNK else tuple(spans)

    def _chunk_query_terms(self, chunk: str) -> Iterable[tuple[str, bool]]:
        """Terms, and whether each is more than a function word: told before stemming, or `doe` would be `does`."""
        found = pieces(chunk, join=self.settings.join_compounds)
        terms = (
            (term, self._fold(self._plain(spelling[: limits.MAX_TERM_BYTES])) not in self._query_stop)
            for spelling, _, _ in found
            if (term := self._term[spelling])
        )
        return terms if len(chunk) > LONG_CHUNK else tuple(terms)

    def _plain(self, spelling: str) -> str:
        """The normalised word before stemming."""
        word = normalise(spelling, turkish=self._turkish)
        return drop_apostrophes(word, self._language)

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


def _cut(term: str) -> str:
    """At most MAX_TERM_BYTES of UTF-8, whole characters only."""
    if len(term) * 4 <= limits.MAX_TERM_BYTES:
        return term
    return term.encode()[: limits.MAX_TERM_BYTES].decode(errors="ignore")
