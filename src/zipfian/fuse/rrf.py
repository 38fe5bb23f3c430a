"""Reciprocal rank fusion: sum over fields of weight / (k + rank) (Cormack, Clarke and Buettcher 2009)."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from zipfian.errors import InvalidInput, shown
from zipfian.fuse.candidates import Candidates, check_weights, combine, weights_of
from zipfian.fuse.normalise import POOL, normalise
from zipfian.fuse.ranking import Ranking

RANKS = 1_000
"""Ranks are counted so far; every document beyond shares the next one."""


@dataclass(frozen=True, slots=True)
class RRF:
    """Weighted reciprocal rank fusion.

    Ranks are the fields' own, over all documents the filter allows, counted to `ranks`. A document further down has
    rank
    `ranks` + 1 however far down it is (never nothing at all), so its score does not depend on k. Documents with equal
    sums of reciprocal ranks are ordered by their exact scores in the fields (z-scores, weighted alike).

    Parameters
    ----------
    weights
        By field name; a field that is not named has 1.
    k
        The constant of the formula: the larger, the less the first ranks stand out.
    ranks
        Ranks are counted so far.

    Raises
    ------
    InvalidInput
        A weight that is negative or not finite, weights that are all 0, a negative `k`, or no ranks.

    Examples
    --------
    >>> from zipfian.fuse import gather
    >>> a = Ranking.of("a", np.array([7, 3]), np.array([4.0, 1.0]), n_scored=9)
    >>> b = Ranking.of("b", np.array([7, 5]), np.array([0.9, 0.2]), n_scored=9)
    >>> fused = RRF().fuse(gather([a, b], lambda i, docs: np.zeros(len(docs))))
    >>> fused.docs[0], fused.scores[0] == 1 / 61 + 1 / 61
    (np.int64(7), np.True_)
    """

    weights: Mapping[str, float] = dataclasses.field(default_factory=dict)
    k: float = 60.0
    ranks: int = RANKS

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", check_weights(self.weights))
        if isinstance(self.k, bool) or not isinstance(self.k, (int, float)) or not 0.0 <= self.k <= sys.float_info.max:
            raise InvalidInput(f"the constant k of RRF must be a number of at least 0, not {shown(self.k)}")
        if isinstance(self.ranks, bool) or not isinstance(self.ranks, int) or self.ranks < 1:
            raise InvalidInput(f"ranks must be a whole number of at least 1, not {shown(self.ranks)}")

    def depth(self, k: int) -> int:
        """How many documents to ask of every field for `k` hits."""
        return max(k, self.ranks, POOL)

    def fuse(self, candidates: Candidates) -> Ranking:
        """Rank the candidates."""
        weights = weights_of(candidates, self.weights)
        beyond = self.ranks + 1
        counted = np.where((candidates.ranks == 0) | (candidates.ranks > self.ranks), beyond, candidates.ranks)
        normalised = 1.0 / (self.k + counted)
        ceiling = np.full(len(weights), 1.0 / (self.k + beyond))
        exact, _, used = normalise(candidates, "z")
        tie_break = (exact * weights).sum(axis=1)
        return combine(candidates, normalised, weights, ceiling, tuple({} for _ in used), self.to_json(), tie_break)

    def to_json(self) -> dict[str, Any]:
        """Plain settings; `method_from_json` reads them."""
        return {"method": "rrf", "weights": dict(self.weights), "k": self.k, "ranks": self.ranks}
