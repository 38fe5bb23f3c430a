"""The order that every reranker keeps, and what it makes of a ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from zipfian.errors import InvalidInput, shown
from zipfian.fuse.ranking import F64, Ints, Ranking, Reranking

COARSE = "coarse"
"""The part that the score of a document beyond K consists of."""


def check_depth(depth: Any, k: int, what: str = "rerank_depth") -> int:
    """A usable number of candidates to refine: whole, and not fewer than the hits asked for.

    Parameters
    ----------
    depth
        The number to check.
    k
        Hits asked for.
    what
        What an error calls the number.

    Returns
    -------
    int
        The number.

    Raises
    ------
    InvalidInput
        It is not a whole number of at least 1, or less than `k`.

    Examples
    --------
    >>> check_depth(100, k=10)
    100
    """
    if isinstance(depth, bool) or not isinstance(depth, (int, np.integer)) or depth < 1:
        raise InvalidInput(f"{what} must be a whole number of at least 1, not {shown(depth)}")
    if depth < k:
        raise InvalidInput(
            f"{what} is {depth}, but k is {k}: at least as many candidates are reranked as hits asked for"
        )
    return int(depth)


def check_candidates(first: Ranking, n: int, what: str) -> None:
    """Candidates best first, finite scores, and as many numbers as are to be refined."""
    docs, coarse = first.docs, first.scores
    if docs.shape != coarse.shape or docs.ndim != 1:
        raise InvalidInput(f"{docs.shape} documents but {coarse.shape} scores to rerank")
    if len(np.unique(docs)) != len(docs):
        raise InvalidInput("a document stands twice among the candidates")
    if not np.isfinite(coarse).all() or (len(coarse) > 1 and np.any(np.diff(coarse) > 0)):
        raise InvalidInput("candidates must come in descending order of finite scores")
    if n > len(docs):
        raise InvalidInput(f"{n} {what} for {len(docs)} candidates")


def assemble(
    first: Ranking, signals: F64, weights: F64, names: tuple[str, ...], fields: Sequence[str | None],
    about: Mapping[str, Any],
) -> Ranking:  # fmt: skip
    """Sort the first K = len(signals) by their refined score; ties by coarse score, then in document order.

    A signal of NaN is not there and adds nothing; a candidate without any signal keeps its place among the unrefined.
    `fields` names, for each signal, the field that it comes from.
    """
    docs, coarse = first.docs, first.scores
    n, k = len(docs), len(signals)
    products = np.where(np.isnan(signals), 0.0, weights * np.nan_to_num(signals))
    refined_scores = np.zeros(k, np.float64)
    for i in range(signals.shape[1]):
        refined_scores += products[:, i]
    has = np.asarray(~np.isnan(signals).all(axis=1), np.bool_)
    best = np.flatnonzero(has)
    best = best[np.lexsort((docs[best], -coarse[best], -refined_scores[best]))]
    rest = np.concatenate([np.flatnonzero(~has), np.arange(k, n)])
    order = np.concatenate([best, rest]).astype(np.int64)
    parts = np.zeros((n, signals.shape[1] + 1), np.float64)
    parts[:k, :-1] = np.where(has[:, None], products, 0.0)
    parts[rest, -1] = coarse[rest]
    scores = coarse.astype(np.float64).copy()
    scores[best] = refined_scores[best]
    wide_signals, wide_weights = np.full(parts.shape, np.nan), np.full(parts.shape, np.nan)
    wide_signals[:k, :-1] = signals
    wide_weights[:k, :-1] = np.where(np.isnan(signals), np.nan, weights)
    wide_signals[rest, -1], wide_weights[rest, -1] = coarse[rest], 1.0
    found = Reranking(
        len(best), order + 1, parts[order], (*names, COARSE), tuple(fields), wide_weights[order], wide_signals[order],
        about,
    )  # fmt: skip
    return first.reordered(order, scores[order], _shares(first, found, order), reranking=found)


def _shares(first: Ranking, found: Reranking, order: Ints) -> dict[str, F64]:
    """What each field gave: to a refined score its signals, added up; to any other what it gave before."""
    given: dict[str, F64] = {}
    for i, name in enumerate(found.fields):
        if name is not None:
            given[name] = given.get(name, 0.0) + found.parts[: found.refined, i]
    out: dict[str, F64] = {}
    for name in (*first.fields, *(name for name in given if name not in first.fields)):
        there = name in first.fields
        out[name] = first.shares[order, first.fields.index(name)] if there else np.full(len(order), np.nan)
        out[name][: found.refined] = given.get(name, 0.0)
    return out
