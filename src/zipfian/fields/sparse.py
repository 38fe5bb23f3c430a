"""Ready-made sparse vectors that come with the documents."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import ClassVar, Self, get_args

from zipfian import limits
from zipfian.errors import InvalidInput, shown
from zipfian.fields.base import PostingField, Takes
from zipfian.objects import JsonObject
from zipfian.retrieve.scoring import BM25, Scoring
from zipfian.types import TfKind
from zipfian.vocabulary import Pruning


@dataclass(frozen=True, init=False)
class Sparse(PostingField):
    """Ready-made `Terms`: documents bring them as `{"terms": {FIELD: Terms}}`, and queries are terms too.

    Parameters
    ----------
    n_terms
        Size of the term space: ids lie below it.
    scoring
        The formula of its scores, BM25 by default.
    pruning
        Which of a document's terms are kept; all by default.
    tf
        How weights are stored: `fixed` as 16-bit multiples of 1/scale, `float32` as given, `count` as whole numbers.
    scale
        Steps of a weight of 1 where `tf` is `fixed`, hundredths by default.

    Raises
    ------
    InvalidInput
        A size that is no whole number within `limits.MAX_TERMS`, or another `tf`.

    Examples
    --------
    >>> Sparse(18_432).tf
    'fixed'
    """

    kind: ClassVar[str] = "sparse"

    @property
    def weight(self) -> float:
        return 1.0

    def __init__(
        self, n_terms: int, *, scoring: Scoring | None = None, pruning: Pruning | None = None, tf: TfKind = "fixed",
        scale: float = 100.0,
    ) -> None:  # fmt: skip
        self.settle(
            scoring=scoring or BM25(), pruning=pruning or Pruning(), tf=tf, scale=scale if tf == "fixed" else 1.0,
            n_terms=n_terms,
        )  # fmt: skip

    def check(self) -> None:
        super().check()
        n_terms = self.n_terms
        if isinstance(n_terms, bool) or not isinstance(n_terms, int) or not 1 <= n_terms <= limits.MAX_TERMS:
            raise InvalidInput(f"n_terms must be a whole number from 1 to {limits.MAX_TERMS}, not {shown(n_terms)}")
        if self.tf not in get_args(TfKind):
            raise InvalidInput(f"tf must be 'fixed', 'float32' or 'count', not {shown(self.tf)}")

    @property
    def reads(self) -> None:
        return None

    @property
    def takes(self) -> Takes:
        return "terms"

    @classmethod
    def from_json(cls, name: str, found: JsonObject, trusted: Container[str] = ()) -> Self:
        return cls(**cls.common(found))
