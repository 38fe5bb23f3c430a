"""What every reranker gives back, and the order it keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import InvalidInput, shown

Ints = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]

COARSE = "coarse"
"""The part that the score of a document beyond K consists of."""


@dataclass(frozen=True, slots=True, eq=False)
class Reranked:
    """A ranking after refinement: refined candidates first, the rest below them in their old order.

    The scores of the two groups are of different kinds (refined and coarse) and are not to be compared.

    Examples
    --------
    >>> from zipfian.rerank import rerank_dense
    >>> found = rerank_dense(np.array([4, 9, 2]), np.array([3.0, 2.0, 1.0]), np.array([0.1, 0.8]))
    >>> found.refined, found.scores.tolist(), found.names
    (2, [0.8, 0.1, 1.0], ('cosine', 'coarse'))
    """

    docs: Ints
    """Document numbers, best first."""
    scores: F64
    """The refined score, or the coarse one beyond K."""
    old_ranks: Ints
    """Rank before, from 1."""
    coarse: F64
    """Score before."""
    refined: int
    """So many of the first hits have a refined score."""
    parts: F64
    """(documents, parts): added from left to right they give the score to the last bit; the last one is `coarse`."""
    names: tuple[str, ...]
    """Of the parts."""
    weights: F64
    """(documents, parts): what each signal was multiplied by; NaN where the signal was not there."""
    signals: F64
    """(documents, parts): the numbers behind the parts; NaN where there was none."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """Which reranker, and its settings."""

    def __len__(self) -> int:
        return len(self.docs)

    def top(self, k: int) -> Reranked:
        """The first k."""
        r = slice(0, k)
        return Reranked(
            self.docs[r], self.scores[r], self.old_ranks[r], self.coarse[r], min(self.refined, k), self.parts[r],
            self.names, self.weights[r], self.signals[r], self.about,
        )  # fmt: skip


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


def check_candidates(docs: Ints, coarse: F64, n: int, what: str) -> None:
    """Candidates best first, finite scores, and as many numbers as are to be refined."""
    if docs.shape != coarse.shape or docs.ndim != 1:
        raise InvalidInput(f"{docs.shape} documents but {coarse.shape} scores to rerank")
    if len(np.unique(docs)) != len(docs):
        raise InvalidInput("a document stands twice among the candidates")
    if not np.isfinite(coarse).all() or (len(coarse) > 1 and np.any(np.diff(coarse) > 0)):
        raise InvalidInput("candidates must come in descending order of finite scores")
    if n > len(docs):
        raise InvalidInput(f"{n} {what} for {len(docs)} candidates")


def assemble(
    docs: Ints, coarse: F64, signals: F64, weights: F64, names: tuple[str, ...], about: Mapping[str, Any]
) -> Reranked:
    """Sort the first K = len(signals) by their refined score; ties by coarse score, then in document order.

    A signal of NaN is not there and adds nothing; a candidate without any signal keeps its place among the unrefined.
    """
    n, k = len(docs), len(signals)
    products = np.where(np.isnan(signals), 0.0, weights * np.nan_to_num(signals))
    refined_scores = np.zeros(k, np.float64)
    for i in range(signals.shape[1]):
        refined_scores += products[:, i]
    has = np.asarray(~np.isnan(signals).all(axis=1), np.bool_)
    first = np.flatnonzero(has)
    first = first[np.lexsort((docs[first], -coarse[first], -refined_scores[first]))]
    rest = np.concatenate([np.flatnonzero(~has), np.arange(k, n)])
    order = np.concatenate([first, rest]).astype(np.int64)
    parts = np.zeros((n, signals.shape[1] + 1), np.float64)
    parts[:k, :-1] = np.where(has[:, None], products, 0.0)
    parts[rest, -1] = coarse[rest]
    scores = coarse.astype(np.float64).copy()
    scores[first] = refined_scores[first]
    wide_signals, wide_weights = np.full(parts.shape, np.nan), np.full(parts.shape, np.nan)
    wide_signals[:k, :-1] = signals
    wide_weights[:k, :-1] = np.where(np.isnan(signals), np.nan, weights)
    wide_signals[rest, -1], wide_weights[rest, -1] = coarse[rest], 1.0
    return Reranked(
        docs[order], scores[order], order + 1, coarse[order], len(first), parts[order], (*names, COARSE),
        wide_weights[order], wide_signals[order], about,
    )  # fmt: skip
