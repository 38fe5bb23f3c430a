"""The distributions of a collection's legs and of the vocabularies that ship with the package."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from zipfian.collection import Collection
from zipfian.collection.question import Question
from zipfian.errors import InvalidInput
from zipfian.evaluate.zipf import Ints, ZipfReport, zipf_report
from zipfian.vocabulary.sae import SaeVocabulary


def leg_frequencies(collection: Collection, leg: str) -> tuple[list[Any], Ints, int]:
    """Terms, their document frequencies and the number of documents that have any, of one inverted leg.

    A document without a text has no words and one without a picture no visual words: they are not part of the leg.
    """
    view = collection.view()
    if not view.settings.leg(leg).has_postings:
        raise InvalidInput(f"leg {leg!r} compares vectors: it has no terms to count")
    statistics = view.searcher(leg).statistics()
    terms, df = statistics.vocabulary
    documents = 0
    for _, segment, reader in statistics.parts:
        lengths = np.asarray(reader.lengths)
        documents += int(np.count_nonzero(lengths[segment.live]))
    return terms, df, documents


def leg_report(collection: Collection, leg: str, queries: Iterable[str] | None = None) -> tuple[ZipfReport, Ints]:
    """The report of one leg and its frequencies; `queries` are texts whose postings are counted."""
    terms, df, documents = leg_frequencies(collection, leg)
    settings = collection.legs[leg]
    asked = None
    if queries is not None and settings.source == "text":
        asked = [Question(text).weights(settings) for text in queries]
    report = zipf_report(
        df,
        documents,
        name=leg,
        vocabulary=settings.n_terms or None,
        queries=asked,
        frequency=dict(zip(terms, df.tolist(), strict=True)) if asked is not None else None,
    )
    return report, df


def collection_reports(collection: Collection, queries: Iterable[str] | None = None) -> list[tuple[ZipfReport, Ints]]:
    """The reports of all inverted legs, side by side."""
    asked = None if queries is None else list(queries)
    return [leg_report(collection, name, asked) for name, leg in collection.legs.items() if leg.has_postings]


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
