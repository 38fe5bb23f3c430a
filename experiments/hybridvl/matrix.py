"""Whole score matrices, queries x documents: what sweeps over weights, temperatures and K are made from.

Galleries of tables are small (some thousands), so every query is scored against every document once, and each setting
of a sweep only reorders numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments import limits
from experiments.hybridvl.questions import ready
from zipfian.collection.retrievers import make_retriever
from zipfian.errors import InvalidInput, LimitExceeded
from zipfian.evaluate.datasets.base import Dataset
from zipfian.fields.query import Query

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scores:
    """`values[q, d]`: score of a document for a query; documents a field cannot score have its lowest score."""

    queries: tuple[str, ...]
    docs: tuple[str, ...]
    values: F64

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.queries), len(self.docs)):
            raise InvalidInput(
                f"{self.values.shape} scores for {len(self.queries)} queries x {len(self.docs)} documents"
            )

    def run(self, depth: int = 200) -> dict[str, list[tuple[str, float]]]:
        """Rankings; equal scores in document order."""
        order = np.argsort(-self.values, axis=1, kind="stable")[:, :depth]
        return {
            q: [(self.docs[d], float(self.values[i, d])) for d in order[i].tolist()] for i, q in enumerate(self.queries)
        }

    def order(self) -> npt.NDArray[np.int64]:
        """Document numbers by query, best first."""
        return np.argsort(-self.values, axis=1, kind="stable")

    def with_values(self, values: F64) -> Scores:
        return Scores(self.queries, self.docs, values)


def score_matrix(collection: Any, field: str, dataset: Dataset, scoring: Any = None) -> Scores:
    """Every query of a dataset against every document, in one field."""
    docs = tuple(collection.ids())
    queries = tuple(dataset.queries)
    if len(docs) * len(queries) > limits.MAX_SCORE_CELLS:
        raise LimitExceeded(
            f"{len(queries):,} queries x {len(docs):,} documents are too many for one matrix of at most "
            f"{limits.MAX_SCORE_CELLS:,} scores: take fewer queries or a smaller gallery"
        )
    values = score_all(collection, field, ready(dataset, collection.fields[field]).values(), docs, scoring)
    lowest = np.nanmin(values, axis=1, keepdims=True) if values.size and not np.isnan(values).all() else 0.0
    return Scores(queries, docs, np.where(np.isnan(values), lowest, values))


def score_all(
    collection: Any, field: str, questions: Collection[Query], docs: Sequence[str], scoring: Any = None
) -> F64:
    """(questions, documents): exact scores. Ids are looked up once, not for every question as by `Collection.score`."""
    searcher = collection.searcher()
    numbers = searcher.numbers(docs)
    values = np.empty((len(questions), len(docs)), np.float64)
    for i, question in enumerate(questions):
        values[i] = make_retriever(searcher, field, question, scoring).score(numbers)
    return values


def blend(parts: Sequence[tuple[float, Scores]]) -> Scores:
    """A weighted sum of matrices over the same queries and documents."""
    if not parts:
        raise InvalidInput("nothing to add")
    first = parts[0][1]
    total = np.zeros_like(first.values)
    for weight, part in parts:
        if (part.queries, part.docs) != (first.queries, first.docs):
            raise InvalidInput("matrices over other queries or documents cannot be added")
        total += weight * part.values
    return first.with_values(total)
