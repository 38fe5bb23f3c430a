"""The same queries on two collections: how far rankings and scores agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np

from zipfian.errors import InvalidInput

SAME = 1e-6
"""Relative difference of scores that 32-bit numbers cannot tell apart."""


class Searchable(Protocol):
    """Either engine."""

    def search(self, query: Any = None, /, k: int = 10, where: Any = None, *, fields: Any = None) -> Any: ...


@dataclass(frozen=True, slots=True)
class Report:
    """Means over queries; a query that finds nothing on either side agrees."""

    queries: int
    k: int
    overlap: float
    """Share of the first side's top k that the second has in its own."""
    same_order: float
    """Share of queries with the same list, equal scores (to 32 bits) in any order."""
    rank_agreement: float
    """Average overlap: the share of documents that the first 1, 2, ... k of both lists have in common, averaged over
    these depths. 1 for the same order; a document that one list lacks counts against it, most at the top."""
    shared: float
    """Documents that both lists have, a query on average: what the next figures are over."""
    rank_correlation: float | None
    """Spearman's, over the documents both lists have and no others, where they have at least two; None: nowhere."""
    score_error_mean: float
    """Relative difference of the scores of documents that both lists have."""
    score_error_max: float
    worst: tuple[tuple[int, float], ...] = ()
    """Queries (by place) with the lowest overlap, and that overlap."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def verify(
    first: Searchable, second: Searchable, queries: Iterable[Any], *, k: int = 10, fields: Any = None,
    where: Any = None,
) -> Report:  # fmt: skip
    """Ask both the same and compare."""
    sides = (first, second)
    return agreement(([side.search(query, k=k, where=where, fields=fields) for side in sides] for query in queries), k)


def agreement(answers: Iterable[Sequence[Iterable[Any]]], k: int) -> Report:
    """How far two lists of hits agree, for each of some queries."""
    overlaps: list[float] = []
    agreements: list[float] = []
    counts: list[int] = []
    same = 0
    correlations: list[float] = []
    errors: list[float] = []
    for a, b in answers:
        left, right = {h.id: h for h in a}, {h.id: h for h in b}
        shared = [i for i in left if i in right]
        overlaps.append(len(shared) / max(len(left), len(right)) if left or right else 1.0)
        agreements.append(_average_overlap(list(left), list(right)))
        counts.append(len(shared))
        same += _same_order(list(left.values()), list(right.values()))
        errors += [_error(left[i].score, right[i].score) for i in shared]
        if len(shared) > 1:
            correlations.append(_spearman([left[i].rank for i in shared], [right[i].rank for i in shared]))
    if not overlaps:
        raise InvalidInput("no queries to compare with")
    order = sorted(range(len(overlaps)), key=overlaps.__getitem__)[:5]
    return Report(
        len(overlaps), k, float(np.mean(overlaps)), same / len(overlaps),
        float(np.mean(agreements)), float(np.mean(counts)), float(np.mean(correlations)) if correlations else None,
        float(np.mean(errors)) if errors else 0.0, max(errors, default=0.0),
        tuple((i, overlaps[i]) for i in order if overlaps[i] < 1.0),
    )  # fmt: skip


def _average_overlap(left: Sequence[str], right: Sequence[str]) -> float:
    """Fagin, Kumar and Sivakumar 2003: the overlap at every depth of the longer list, averaged."""
    depths = range(1, max(len(left), len(right)) + 1)
    return float(np.mean([len({*left[:d]} & {*right[:d]}) / d for d in depths])) if depths else 1.0


def _same_order(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """At each place a document of the same score, by both sides' accounts."""
    if len(left) != len(right):
        return False
    known = {hit.id: hit.score for hit in left}
    return all(
        _error(a.score, b.score) < SAME and _error(a.score, known.get(b.id, a.score)) < SAME
        for a, b in zip(left, right, strict=True)
    )


def _error(a: float, b: float) -> float:
    return abs(a - b) / max(abs(a), 1e-30)


def _spearman(a: Sequence[int], b: Sequence[int]) -> float:
    """Correlation of the order of two lists of distinct ranks."""
    x, y = (np.argsort(np.argsort(v)).astype(np.float64) for v in (a, b))
    return float(np.corrcoef(x, y)[0, 1])
