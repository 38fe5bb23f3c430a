"""Linear fusion: sum over fields of weight x normalised score."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zipfian.errors import InvalidInput, shown
from zipfian.fuse.candidates import Candidates, check_weights, combine, weights_of
from zipfian.fuse.normalise import POOL, Kind, check_kind, normalise
from zipfian.fuse.ranking import Ranking


@dataclass(frozen=True, slots=True)
class Linear:
    """Weighted sum of scores, raw or on one scale.

    Parameters
    ----------
    weights
        By field name; a field that is not named has 1.
    normalise
        `z`: distance from the mean of the field's best, in deviations. `minmax`: 0 to 1. `none`: scores as they are.

    Raises
    ------
    InvalidInput
        A weight that is negative or not finite, weights that are all 0, or an unknown normalisation.

    Examples
    --------
    >>> Linear({"words": 1.0, "latent": 2.0}).to_json()
    {'method': 'linear', 'weights': {'words': 1.0, 'latent': 2.0}, 'normalise': 'z'}
    """

    weights: Mapping[str, float] = dataclasses.field(default_factory=dict)
    normalise: Kind = "z"

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", check_weights(self.weights))
        check_kind(self.normalise)

    @classmethod
    def blend(cls, first: str, second: str, alpha: float = 0.8, normalise: Kind = "none") -> Linear:
        """`alpha` x `first` + (1 - `alpha`) x `second`, of scores as they are unless `normalise` says otherwise.

        Hybrid vision-language retrieval fuses dense and TF-IDF cosine so.

        >>> Linear.blend("dense", "tfidf").weights
        {'dense': 0.8, 'tfidf': 0.19999999999999996}
        """
        if isinstance(alpha, bool) or not isinstance(alpha, (int, float)) or not 0.0 <= alpha <= 1.0:
            raise InvalidInput(f"alpha must lie between 0 and 1, not {shown(alpha)}")
        return cls({first: float(alpha), second: 1.0 - float(alpha)}, normalise)

    def depth(self, k: int) -> int:
        """How many documents to ask of every field for `k` hits."""
        return max(k, POOL)

    def fuse(self, candidates: Candidates) -> Ranking:
        """Rank the candidates."""
        weights = weights_of(candidates, self.weights)
        normalised, ceiling, used = normalise(candidates, self.normalise)
        return combine(candidates, normalised, weights, ceiling, used, self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Plain settings; `method_from_json` reads them."""
        return {"method": "linear", "weights": dict(self.weights), "normalise": self.normalise}
