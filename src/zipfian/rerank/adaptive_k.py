"""How many candidates a query needs reranked, from what the first stage shows.

A query whose best hit stands far above the second is left as it is (K = 0); one whose first ten are nearly level, or
whose words are all common, gets the most.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from zipfian.errors import InvalidInput, shown
from zipfian.fuse.ranking import F64

STEP = 10
"""K is rounded up to a multiple of this."""


@dataclass(frozen=True, slots=True)
class KChoice:
    """What was chosen, and from which numbers; reported with the hits."""

    K: int
    """Candidates to rerank; 0: none."""
    margin: float
    """(first - second) in deviations of the first stage's best scores."""
    flatness: float
    """1: the first ten score alike; 0: they are spread over `spread` deviations or more."""
    rarity: float | None
    """Share of the query's weight that lies in what the best document has; None where unknown."""
    reason: str
    """In words."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class AdaptiveK:
    """Thresholds of the choice. Scores are measured in standard deviations of the first stage's best (at most 100).

    The defaults were judged on the even half of Oxford Pets' queries (visual words, then pooled vectors): at most 100
    candidates give the same mAP as at most 200 with half the work, and skipping at smaller margins loses R@1. The table
    `adaptive-k` has the curve, of visual words as they were used then: the 96 strongest of a picture.

    Raises
    ------
    InvalidInput
        Numbers that are not above 0, or `least` above `most`.

    Examples
    --------
    >>> flat, decided = np.linspace(2.0, 1.9, 50), np.array([9.0, *np.linspace(2.0, 1.9, 50)])
    >>> AdaptiveK().choose(flat, k=10).K, AdaptiveK().choose(decided, k=10).K
    (100, 0)
    >>> AdaptiveK().choose(decided, k=10).reason
    'the first hit stands far above the second: not reranked'
    """

    least: int = 20
    """Candidates to rerank at least, where any are."""
    most: int = 100
    """Candidates to rerank at most."""
    skip_margin: float = 3.0
    """A margin of so many deviations skips reranking."""
    spread: float = 3.0
    """Distance of the first from the tenth at which the top counts as not flat at all."""

    def __post_init__(self) -> None:
        for name in ("least", "most"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidInput(f"{name} must be a whole number of at least 1, not {shown(value)}")
        if self.least > self.most:
            raise InvalidInput(f"least is {self.least}, more than most, {self.most}")
        for name in ("skip_margin", "spread"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 < value < float("inf"):
                raise InvalidInput(f"{name} must be a number above 0, not {shown(value)}")

    def choose(self, scores: F64, k: int, rarity: float | None = None) -> KChoice:
        """K for one query: 0, or a number from `least` to `most`, never below k.

        `scores` are the first stage's, best first, always the same number of them (its pool), so that K does not
        depend on k beyond that. `rarity`: 1 where a document has all the rare words asked for, 0 where none has.
        """
        best = np.asarray(scores[:100], np.float64)
        if not np.isfinite(best).all():
            raise InvalidInput("scores to choose K from must be finite")
        if rarity is not None and not 0.0 <= rarity <= 1.0:
            raise InvalidInput(f"rarity must lie between 0 and 1, not {shown(rarity)}")
        if len(best) < 2:
            return KChoice(0, 0.0, 0.0, rarity, "fewer than two candidates")
        deviation = float(best.std())
        if deviation <= 1e-12 * float(np.abs(best).max()):
            return KChoice(max(self.most, k), 0.0, 1.0, rarity, "all candidates score alike")
        margin = float(best[0] - best[1]) / deviation
        flatness = 1.0 - min(1.0, float(best[0] - best[min(9, len(best) - 1)]) / deviation / self.spread)
        if margin >= self.skip_margin:
            return KChoice(0, margin, flatness, rarity, "the first hit stands far above the second: not reranked")
        doubts = [1.0 - margin / self.skip_margin, flatness] + ([] if rarity is None else [1.0 - rarity])
        doubt = sum(doubts) / len(doubts)
        wanted = self.least + (self.most - self.least) * doubt
        rounded = min(self.most, STEP * int(np.ceil(wanted / STEP)))
        return KChoice(max(rounded, self.least, k), margin, flatness, rarity, f"doubt {doubt:.2f}")

    def to_json(self) -> dict[str, Any]:
        """Plain settings."""
        return asdict(self)
