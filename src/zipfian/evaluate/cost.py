"""What a search touches: postings read, and the share of distinct documents it has to look at.

That share is not the S_DB of surrogate text (`experiments/surrogate`): postings read / (documents x components).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zipfian.evaluate.methods import Kind, Method
from zipfian.fields.query import Query
from zipfian.retrieve.searcher import FieldSearcher, TermQuery

COST_QUERIES = 200
"""Queries whose posting lists are counted: a mean over so many is stable, and pictures need an encoder each."""


@dataclass(frozen=True, slots=True)
class Touched:
    """Of one query, or the mean over many."""

    postings: float
    """Entries of the posting lists of the query's terms."""
    share: float
    """Distinct documents among them / documents of the collection; a full scan has 1."""


def touched(searcher: FieldSearcher, query: TermQuery) -> Touched:
    """What exact scoring of a prepared query reads."""
    statistics = searcher.statistics()
    seen = np.zeros(statistics.n_docs, np.bool_)
    postings = 0
    for term in query.terms:
        docs, _ = statistics.postings(term)
        seen[docs] = True
        postings += len(docs)
    return Touched(postings, float(np.count_nonzero(seen)) / statistics.n_live if statistics.n_live else 0.0)


def mean_touched(parts: Iterable[Touched]) -> Touched:
    """The mean over queries; nothing touched where there are none."""
    rows = list(parts)
    if not rows:
        return Touched(0.0, 0.0)
    return Touched(float(np.mean([r.postings for r in rows])), float(np.mean([r.share for r in rows])))


def cost_of(collection: Any, method: Method, kind: Kind, query: Query, hits: Any) -> list[Touched]:
    """What one search touched: counted for a single inverted field, told by FAISS, everything for a dense scan.

    Empty where it is not known: a fusion reads several fields, HNSW does not say what it compares.
    """
    if method.run is not None:
        return [] if hits.touched is None else [Touched(*hits.touched)]
    if not method.single:
        return []
    name = method.fields_for(kind)[0]
    field = collection.fields[name]
    if field.has_vectors:
        return [Touched(0.0, 1.0)]
    searcher = collection.searcher().field_searcher(field.of or name)
    asked, scoring = query.asked_by(method.options.get("query_encoder")), method.options.get("scoring")
    weights = field.terms_under(asked, scoring or searcher.scoring)
    return [touched(searcher, searcher.prepare(field.terms_of(asked) if weights is None else weights, scoring))]


def summed(parts: Sequence[Touched]) -> dict[str, float]:
    """`postings` and `documents_touched` (a share) of a method, where known."""
    if not parts:
        return {}
    found = mean_touched(parts)
    share = {"documents_touched": found.share}
    return share if found.postings == 0.0 else {"postings": found.postings, **share}
