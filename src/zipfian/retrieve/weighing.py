"""Queries as they are scored: terms ascending, each with what its impacts are multiplied by."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from zipfian.retrieve.scoring import Scoring, TfIdf
from zipfian.retrieve.validate import check_batch, explain_code

Ids = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]


def cosine(scoring: Scoring, idf: Scores, query: Ids, given: Scores) -> tuple[Ids, Scores]:
    """TF-IDF only: the query vector is scaled to length 1 (the kernel multiplies by the documents' idf)."""
    if not isinstance(scoring, TfIdf) or not len(query):
        return query, given
    if int(query.min()) < 0 or int(query.max()) >= len(idf) or len(np.unique(query)) < len(query):
        return query, given  # the kernel reports it
    vector = scoring.query_vector(given if len(given) else np.ones(len(query)), idf[query])
    return query[vector > 0.0], vector[vector > 0.0]


def batch(
    scoring: Scoring, idf: Scores, indptr: npt.ArrayLike, terms: npt.ArrayLike, weights: npt.ArrayLike | None
) -> tuple[Ids, Ids, Scores]:
    """Many queries, checked: row starts, terms, and their weights after phi (none: all 1)."""
    rows, flat, given = check_batch(indptr, terms, weights, scoring)
    if isinstance(scoring, TfIdf) and len(rows) > 1:
        parts = [cosine(scoring, idf, flat[a:b], given[a:b]) for a, b in pairwise(rows.tolist())]
        rows = np.concatenate([[0], np.cumsum([len(part) for part, _ in parts])])
        flat, given = (np.concatenate(column) for column in zip(*parts, strict=True))
    return rows, flat, given


def weighed(rows: Ids, flat: Ids, given: Scores, idf: Scores) -> tuple[Ids, Ids, Scores]:
    """Row starts, ascending terms and idf x weight of what `batch` gave; terms that are worth nothing are left out."""
    from zipfian.retrieve import kernels

    slots, weight = np.empty(len(flat), np.int64), np.empty(len(flat), np.float64)
    ends = np.zeros(len(rows), np.int64)
    wrong = kernels.weigh_many(rows, flat, given, len(given), idf, len(idf), slots, weight, ends)
    if wrong >= 0:
        raise explain_code(int(ends[wrong + 1]), len(idf), f"query {wrong}: ")
    return ends, slots[: ends[-1]], weight[: ends[-1]]
