"""The distributions of a collection's fields and of the vocabularies that ship with the package."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from zipfian.collection import Collection
from zipfian.errors import InvalidInput
from zipfian.evaluate.zipf import Ints, ZipfReport, zipf_report
from zipfian.fields.query import Query
from zipfian.vocabulary.sae import SaeVocabulary


def field_frequencies(collection: Collection, field: str) -> tuple[list[Any], Ints, int]:
    """Terms, their document frequencies and the number of documents that have any, of one inverted field.

    A document without a text has no words and one without a picture no visual words: they are not part of the field.
    """
    searcher = collection.searcher()
    if not searcher.settings.field(field).has_postings:
        raise InvalidInput(f"field {field!r} compares vectors: it has no terms to count")
    statistics = searcher.field_searcher(field).statistics()
    terms, df = statistics.vocabulary
    documents = 0
    for _, segment, reader in statistics.parts:
        lengths = np.asarray(reader.lengths)
        documents += int(np.count_nonzero(lengths[segment.live]))
    return terms, df, documents


def field_report(collection: Collection, field: str, queries: Iterable[str] | None = None) -> tuple[ZipfReport, Ints]:
    """The report of one field and its frequencies; `queries` are texts whose postings are counted."""
    terms, df, documents = field_frequencies(collection, field)
    settings = collection.searcher().settings.postings(field)
    wanted = None
    if queries is not None and settings.reads == "text":
        wanted = [settings.terms_of(Query(text)) for text in queries]
    report = zipf_report(
        df,
        documents,
        name=field,
        vocabulary=settings.n_terms or None,
        queries=wanted,
        frequency=dict(zip(terms, df.tolist(), strict=True)) if wanted is not None else None,
    )
    return report, df


def collection_reports(collection: Collection, queries: Iterable[str] | None = None) -> list[tuple[ZipfReport, Ints]]:
    """The reports of all inverted fields, side by side."""
    wanted = None if queries is None else list(queries)
    return [field_report(collection, name, wanted) for name, field in collection.fields.items() if field.has_postings]


def training_counts(vocabulary: SaeVocabulary) -> tuple[Ints, int] | None:
    """In how many items of its training data each term fired, and how many there were; None where nothing shipped."""
    df = vocabulary.statistics.get("term_df")
    documents = vocabulary.counted_items
    return None if df is None or not documents else (np.asarray(df, np.int64), documents)


def vocabulary_report(vocabulary: SaeVocabulary) -> tuple[ZipfReport, Ints] | None:
    """The distribution over the data a vocabulary was trained on; None where its counts did not ship with it."""
    counts = training_counts(vocabulary)
    if counts is None:
        return None
    df, documents = counts
    return zipf_report(df, documents, name=vocabulary.name, vocabulary=vocabulary.n_terms), df
