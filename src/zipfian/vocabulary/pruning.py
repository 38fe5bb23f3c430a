"""Which terms are worth their postings: controls per document and over the whole vocabulary.

All off by default. `min_weight` keeps learned expansions short (0.15 is a usual value), `drop_top_share` removes the
saturated head of a latent vocabulary by rank, `max_df_share` by document frequency.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from zipfian import limits
from zipfian.errors import InvalidInput, shown
from zipfian.objects import JsonObject, finite_number
from zipfian.types import IntArray, Terms

_Weight = TypeVar("_Weight", np.float32, np.float64, np.uint32)
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Pruning:
    """Pruning settings, stored in the manifest.

    Parameters
    ----------
    min_weight
        Weights under this are dropped from a document.
    top_k
        At most this many terms of a document are kept: the heaviest, equal ones by lower term id.
    max_df_share
        Terms that occur in more than this share of the documents are dropped.
    drop_top_share
        This share of the vocabulary is dropped, most frequent terms first (equal ones by lower term id), rounded down.

    Raises
    ------
    InvalidInput
        A number out of its range.

    Examples
    --------
    >>> Pruning(top_k=100).prunes_documents, Pruning(top_k=100).prunes_vocabulary
    (True, False)
    """

    min_weight: float = 0.0
    top_k: int | None = None
    max_df_share: float | None = None
    drop_top_share: float | None = None

    kind: ClassVar[str] = "pruning"
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _check_number("min_weight", self.min_weight)
        if not 0.0 <= self.min_weight <= limits.MAX_WEIGHT:
            raise InvalidInput(f"min_weight must be between 0 and {limits.MAX_WEIGHT:g}, not {self.min_weight!r}")
        if self.top_k is not None:
            if isinstance(self.top_k, bool) or not isinstance(self.top_k, int):
                raise InvalidInput(f"top_k must be a whole number or None, not {self.top_k!r}")
            if not 1 <= self.top_k <= limits.MAX_DOCUMENT_TERMS:
                raise InvalidInput(f"top_k must be between 1 and {limits.MAX_DOCUMENT_TERMS:,}, not {self.top_k}")
        if self.max_df_share is not None:
            _check_number("max_df_share", self.max_df_share)
            if not 0.0 < self.max_df_share <= 1.0:
                raise InvalidInput(f"max_df_share must be above 0 and at most 1, not {self.max_df_share!r}")
        if self.drop_top_share is not None:
            _check_number("drop_top_share", self.drop_top_share)
            if not 0.0 <= self.drop_top_share < 1.0:
                raise InvalidInput(f"drop_top_share must be at least 0 and below 1, not {self.drop_top_share!r}")

    @property
    def prunes_documents(self) -> bool:
        """Whether `prune_rows` can change anything."""
        return self.min_weight > 0.0 or self.top_k is not None

    @property
    def prunes_vocabulary(self) -> bool:
        """Whether `dropped_terms` can name any term."""
        return self.max_df_share is not None or self.drop_top_share is not None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"kind": self.kind, "version": self.version, **asdict(self)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Pruning:
        """Settings from `values` that `to_json` wrote; anything else is refused rather than guessed."""
        found = JsonObject(values, "pruning settings")
        found.choice("kind", [cls.kind])
        found.version(cls.version)
        return cls(**found.rest([field.name for field in fields(cls)]))


def _check_number(name: str, value: object) -> None:
    if not finite_number(value):
        raise InvalidInput(f"{name} must be a finite number, not {shown(value)}")


def prune_terms(terms: Terms, pruning: Pruning) -> Terms:
    """One document after `min_weight` and `top_k`.

    Parameters
    ----------
    terms
        The document's terms.
    pruning
        The settings.

    Returns
    -------
    Terms
        Those that are kept, in their order.

    Examples
    --------
    >>> terms = Terms(np.array([2, 5, 7], np.int32), np.array([1.0, 0.1, 3.0], np.float32))
    >>> prune_terms(terms, Pruning(min_weight=0.5)).ids.tolist()
    [2, 7]
    """
    if not pruning.prunes_documents:
        return terms
    _, ids, weights = prune_rows(np.array([0, len(terms)], dtype=np.int64), terms.ids, terms.weights, pruning)
    return Terms(ids, weights)


def prune_rows(
    indptr: npt.NDArray[np.int64], indices: IntArray, weights: npt.NDArray[_Weight], pruning: Pruning
) -> tuple[npt.NDArray[np.int64], IntArray, npt.NDArray[_Weight]]:
    """Documents in compressed sparse rows after `min_weight` and `top_k`.

    Parameters
    ----------
    indptr, indices, weights
        Row starts, term ids and weights.
    pruning
        The settings.

    Returns
    -------
    indptr, indices, weights
        The rows with what is kept; the order within a row stays.

    Examples
    --------
    >>> rows = np.array([0, 2, 3]), np.array([1, 4, 4], np.int32), np.array([0.2, 0.9, 0.3])
    >>> indptr, indices, _ = prune_rows(*rows, Pruning(top_k=1))
    >>> indptr.tolist(), indices.tolist()
    ([0, 1, 2], [4, 4])
    """
    if not pruning.prunes_documents:
        return indptr, indices, weights
    if pruning.min_weight > 0.0:
        indptr, indices, weights = keep_entries(indptr, indices, weights, weights >= pruning.min_weight)
    if pruning.top_k is not None:
        indptr, indices, weights = keep_entries(
            indptr, indices, weights, _heaviest(indptr, indices, weights, pruning.top_k)
        )
    return indptr, indices, weights


def keep_entries(
    indptr: npt.NDArray[np.int64], indices: IntArray, weights: npt.NDArray[_Weight], keep: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.int64], IntArray, npt.NDArray[_Weight]]:
    """The rows without the entries that are not to be kept."""
    kept_before = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(keep, dtype=np.int64)))
    return kept_before[indptr], indices[keep], weights[keep]


def _heaviest(
    indptr: npt.NDArray[np.int64], indices: IntArray, weights: npt.NDArray[_Weight], k: int
) -> npt.NDArray[np.bool_]:
    """Marks the k heaviest entries of every row. Only rows that are too long are sorted."""
    lengths = np.diff(indptr)
    too_long = lengths > k
    keep = np.repeat(~too_long, lengths)
    candidates = np.flatnonzero(~keep)
    rows = np.repeat(np.flatnonzero(too_long), lengths[too_long])
    order = np.lexsort((indices[candidates], -weights[candidates].astype(np.float64), rows))
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths[too_long])))[:-1]
    rank = np.arange(len(candidates)) - np.repeat(starts, lengths[too_long])
    keep[candidates[order[rank < k]]] = True
    return keep


def dropped_terms(df: npt.NDArray[Any], n_docs: int, pruning: Pruning) -> npt.NDArray[np.int64]:
    """The terms that `max_df_share` or `drop_top_share` drop.

    Parameters
    ----------
    df
        Documents that have each term, by term id.
    n_docs
        Documents in all.
    pruning
        The settings.

    Returns
    -------
    array of int64
        Ids of the dropped terms, ascending.

    Examples
    --------
    >>> dropped_terms(np.array([9, 1, 5]), 10, Pruning(max_df_share=0.5)).tolist()
    [0]
    """
    dropped = np.zeros(len(df), dtype=np.bool_)
    if pruning.max_df_share is not None:
        dropped |= df > pruning.max_df_share * n_docs * (1.0 + _ROUNDING)
    if pruning.drop_top_share is not None:
        count = int(pruning.drop_top_share * len(df) * (1.0 + _ROUNDING))
        dropped[np.argsort(-df.astype(np.int64), kind="stable")[:count]] = True
    return np.flatnonzero(dropped).astype(np.int64)
