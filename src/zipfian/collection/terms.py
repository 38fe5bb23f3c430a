"""The terms of a field as the collection has them: how many documents, which most, what they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from zipfian.collection.searcher import Searcher
from zipfian.encode.passages import Reading
from zipfian.errors import InvalidInput, shown
from zipfian.fields.base import PostingField
from zipfian.fields.item import Item
from zipfian.fields.lexical import LexicalField
from zipfian.fields.places import in_document
from zipfian.retrieve.scoring import BM25
from zipfian.retrieve.statistics import FieldStatistics, Term

CURVE = 200
"""Points of a curve of document frequencies."""


@dataclass(frozen=True, slots=True)
class TermInfo:
    """A term of a field.

    Examples
    --------
    >>> TermInfo("plant", "plant", None, 3, 1.2).df
    3
    """

    term: Term
    label: str
    kind: str | None
    """lexical, narrow or broad, where the vocabulary says."""
    df: int
    """Documents that have it; passages, in a field that reads long texts passage by passage."""
    idf: float
    """ln(1 + (N - df + 0.5) / (df + 0.5))."""


@dataclass(frozen=True, slots=True)
class TermDocument:
    """A document that has a term."""

    id: str
    weight: float
    """What the term weighs in it: how often a word stands there, how strongly a latent term fires."""
    text: str | None
    places: Sequence[Mapping[str, Any]]
    """Where it stands, strongest first."""
    metadata: Mapping[str, Any]
    note: str = ""
    """Where places cannot be told, why."""


@dataclass(frozen=True, slots=True)
class TermPage:
    """Everything about one term; `Collection.term` looks it up."""

    field: str
    info: TermInfo
    documents: Sequence[TermDocument]
    """Those in which it weighs most, first the heaviest."""
    neighbours: Sequence[tuple[int, str, float]]
    """Terms of nearly the same direction: number, label and cosine."""
    n: int
    """Documents of the collection, or passages, as for `df`."""


@dataclass(frozen=True, slots=True)
class TermList:
    """Terms of a field, most frequent or best matching first; `Collection.terms` lists them."""

    field: str
    terms: Sequence[TermInfo]
    found: int
    """How many there are, listed or not."""


@dataclass(frozen=True, slots=True)
class VocabularyInfo:
    """How the terms of a field are spread over the documents; `Collection.vocabulary` counts them."""

    field: str
    n: int
    """Documents of the collection, or passages, as for `df`."""
    terms: int
    """Distinct terms that documents have."""
    postings: int
    curve: Sequence[tuple[int, int]]
    """Rank and document frequency, evenly spaced on a logarithmic scale."""
    kinds: Mapping[str, int]
    """Terms of each kind, where the vocabulary says."""


def _field(searcher: Searcher, name: str) -> tuple[PostingField, FieldStatistics]:
    if name not in searcher.settings.fields:
        raise InvalidInput(f"there is no field {shown(name)}; fields are {', '.join(searcher.settings.fields)}")
    field = searcher.settings.fields[name]
    if not isinstance(field, PostingField) or not field.has_postings:
        raise InvalidInput(f"field {name!r} has no terms of its own")
    return field, searcher.field_searcher(name).statistics()


def term_info(field: PostingField, term: Term, df: int, n: int) -> TermInfo:
    """What is known of a term that `df` of `n` documents have."""
    known = field.dictionary()
    labels = None if known is None else known.label_table
    kind = None if labels is None or not isinstance(term, int) else labels.kind(term)
    idf = float(BM25().idf(np.array([float(df)]), n)[0]) if n else 0.0
    return TermInfo(term, field.label(term), kind, df, idf)


def term_page(searcher: Searcher, name: str, given: str | int, k: int) -> TermPage:
    """A term by its number, or by a word as it is indexed or written."""
    field, statistics = _field(searcher, name)
    term = _chosen(searcher, field, statistics, given)
    rows, weights = statistics.postings(term)
    documents: dict[int, TermDocument] = {}
    passages = searcher.passages(name)
    for at in np.lexsort((rows, -weights)):
        row, weight = int(rows[at]), float(weights[at])
        number = row if passages is None else passages.document(row)
        if number not in documents:  # a document shows the passage in which the term is strongest
            span = None if passages is None else passages.span(row)
            documents[number] = _document(searcher, field, term, number, weight, span)
            if len(documents) == k:
                break
    info = term_info(field, term, statistics.df(term), statistics.n_live)
    return TermPage(name, info, list(documents.values()), neighbours_of(field, term), statistics.n_live)


def neighbours_of(field: PostingField, term: Term) -> list[tuple[int, str, float]]:
    """Terms of nearly the same direction, nearest first: number, label and cosine."""
    known = field.dictionary()
    near = known.neighbours(term) if known is not None and isinstance(term, int) else []
    return [(other, field.label(other), cosine) for other, cosine in near]


def term_number(field: PostingField, given: str | int) -> int:
    """A numbered term, as a caller wrote it."""
    text = str(given)
    if not text.isascii() or not text.isdigit() or len(text) > 10 or int(text) >= field.n_terms:
        raise InvalidInput(f"a term of this field is a number from 0 to {field.n_terms - 1}, not {shown(given)}")
    return int(text)


def _chosen(searcher: Searcher, field: PostingField, statistics: FieldStatistics, given: str | int) -> Term:
    if not isinstance(field, LexicalField):
        return term_number(field, given)
    word = str(given)
    if statistics.df(word):
        return word
    terms = words_in(searcher, field, word)
    if len(terms) != 1:
        raise InvalidInput(f"a term of a field of words is one word, not {shown(given)}")
    return terms[0]


def words_in(searcher: Searcher, field: LexicalField, text: str) -> list[str]:
    """The terms of some words, read in the language that a query of them would be in."""
    language = searcher.settings.languages.of_query(text)
    return list(field.counts_of(Item("", text, {}, {}, {}, 0, language=language)))


def _document(
    searcher: Searcher, field: PostingField, term: Term, number: int, weight: float, span: tuple[int, int] | None
) -> TermDocument:  # fmt: skip
    document = searcher.document(number)
    stored = searcher.settings.stored(document)
    if span is None:
        found, note = field.places(stored, [term], {term: weight})
    else:
        reading = Reading.of(stored.text or "", span)
        found, note = field.places(replace(stored, text=reading.text), [term], {term: weight})
        found = in_document(found, reading)
    return TermDocument(document.id, weight, document.text, found.get(term, ()), document.metadata, note)


def term_list(searcher: Searcher, name: str, find: str | None, limit: int, offset: int) -> TermList:
    """Terms that documents have: the most frequent, or those whose label (or beginning, of words) matches `find`."""
    field, statistics = _field(searcher, name)
    terms, df = statistics.vocabulary
    if find is None:
        order = np.lexsort((np.arange(len(df)), -df)).tolist()
    else:
        order = _matching(searcher, field, terms, df.tolist(), find)
    chosen = order[offset : offset + limit]
    return TermList(name, [term_info(field, terms[i], int(df[i]), statistics.n_live) for i in chosen], len(order))


def _matching(
    searcher: Searcher, field: PostingField, terms: Sequence[Term], df: Sequence[int], find: str
) -> list[int]:  # fmt: skip
    if isinstance(field, LexicalField):
        beginnings = tuple({*words_in(searcher, field, find), find.casefold().strip()} - {""})
        found = (i for i, term in enumerate(terms) if beginnings and str(term).startswith(beginnings))
        return sorted(found, key=lambda i: (-df[i], i))
    known = field.dictionary()
    labels = None if known is None else known.label_table
    if labels is None:
        raise InvalidInput(f"the terms of this field have no labels to search for {shown(find)}")
    place = {term: i for i, term in enumerate(terms)}
    return [place[term] for term in labels.find(find) if term in place]


def vocabulary_info(searcher: Searcher, name: str) -> VocabularyInfo:
    """How the terms of a field are spread."""
    field, statistics = _field(searcher, name)
    _, df = statistics.vocabulary
    ordered = np.sort(df)[::-1]
    at = np.unique(np.geomspace(1, len(ordered), CURVE).astype(np.int64)) if len(ordered) else np.empty(0, np.int64)
    known = field.dictionary()
    labels = None if known is None else known.label_table
    return VocabularyInfo(
        name, statistics.n_live, len(ordered), int(ordered.sum()),
        [(int(rank), int(ordered[rank - 1])) for rank in at], {} if labels is None else labels.counts(),
    )  # fmt: skip
