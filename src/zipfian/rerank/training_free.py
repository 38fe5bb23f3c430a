"""Hybrid vision-language retrieval's training-free, query-conditioned reranker (its eq. 10, 11 and Algorithm 1).

For each of the K candidates three signals: cross-modal similarity of query and candidate, agreement of their texts,
and coherence with the other candidates (mean similarity to the K - 1 others). Their weights are a softmax of the
signals themselves at temperature tau, candidate by candidate; the score is the weighted sum. A signal that a candidate
does not have (no caption, no others) leaves its softmax. Candidates beyond K keep their coarse order below (eq. 1).
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from zipfian.errors import InvalidInput
from zipfian.fuse.ranking import F64, Ranking
from zipfian.rerank.result import assemble, check_candidates

Variant = Literal["cross", "cross+text", "cross+context", "all"]
VARIANTS: tuple[str, ...] = get_args(Variant)
"""Which signals take part."""

K = 100
TAU = 0.07

NAMES = ("cross", "text", "context")


def context_coherence(vectors: npt.NDArray[np.floating]) -> F64:
    """Mean cosine of each candidate to the others, in O(K d): the sum of all, less the candidate itself.

    Parameters
    ----------
    vectors
        One row for each candidate; a row of NaN for one without a vector.

    Returns
    -------
    array of float64
        NaN for a candidate without a vector, and where there is no other.

    Raises
    ------
    InvalidInput
        The vectors are not a matrix.

    Examples
    --------
    >>> context_coherence(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])).tolist()
    [0.5, 0.5, 0.0]
    """
    rows = np.asarray(vectors, np.float64)
    if rows.ndim != 2:
        raise InvalidInput(f"candidates' vectors are a matrix, not of shape {rows.shape}")
    there = np.asarray(~np.isnan(rows).any(axis=1), np.bool_)
    size = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    unit = np.where(there[:, None], rows / np.where(size > 0.0, size, 1.0), 0.0)
    others = int(there.sum()) - 1
    if others < 1:
        return np.full(len(rows), np.nan)
    mean = (unit @ unit.sum(axis=0) - (unit * unit).sum(axis=1)) / others
    out: F64 = np.where(there, mean, np.nan)
    return out


def softmax_weights(signals: F64, tau: float) -> F64:
    """Eq. 10, row by row, over the signals that are there (not NaN); 0 for the others."""
    scaled = signals / tau
    top = np.max(np.where(np.isnan(scaled), -np.inf, scaled), axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):  # a row without any signal: -inf - -inf
        grown = np.where(np.isnan(scaled), 0.0, np.exp(scaled - top))
    total = grown.sum(axis=1, keepdims=True)
    out: F64 = grown / np.where(total > 0.0, total, 1.0)
    return out


def rerank_training_free(
    first: Ranking,
    cross: F64,
    text: F64 | None = None,
    context: F64 | None = None,
    *,
    variant: Variant = "all",
    tau: float = TAU,
    fields: tuple[str | None, ...] = NAMES,
) -> Ranking:
    """Refine the first K = len(cross) candidates.

    Parameters
    ----------
    first
        The fused ranking, best first; its scores break ties, document order the rest.
    cross
        Similarity of the query and each candidate across modalities; NaN where a candidate has no vector.
    text
        Similarity of the query's text (the query itself, or the query picture's caption) and each candidate's caption;
        NaN where there is none, None where nobody has captions.
    context
        `context_coherence` of the candidates' vectors.
    variant
        Which signals take part.
    tau
        Temperature: small, and the largest signal decides alone; large, and it is the mean of all.
    fields
        The fields that the three signals come from, whose shares of the score they are.

    Returns
    -------
    Ranking
        All candidates, the refined ones first; parts are `cross`, `text` and `context`.

    Raises
    ------
    InvalidInput
        An unknown variant, a temperature that is not above 0, or signals that do not fit the candidates.

    Examples
    --------
    >>> found = rerank_training_free(Ranking.of("words", np.array([4, 9]), np.array([3.0, 2.0])), np.array([0.2, 0.4]))
    >>> found.docs.tolist(), found.scores.tolist()
    ([9, 4], [0.4, 0.2])
    """
    if variant not in VARIANTS:
        raise InvalidInput(f"unknown variant {variant!r} of the reranker; one of {', '.join(VARIANTS)}")
    if isinstance(tau, bool) or not isinstance(tau, (int, float)) or not 0.0 < tau < float("inf"):
        raise InvalidInput(f"tau must be a number above 0, not {tau!r}")
    check_candidates(first, len(cross), "similarities")
    wanted = {"cross": {"cross"}, "all": set(NAMES)}.get(variant) or set(variant.split("+"))
    columns = [
        _column(name, values, len(cross), wanted) for name, values in zip(NAMES, (cross, text, context), strict=True)
    ]
    signals = np.stack(columns, axis=1)
    about: dict[str, Any] = {"rerank": "training-free", "K": len(cross), "tau": tau, "variant": variant}
    return assemble(first, signals, softmax_weights(signals, tau), NAMES, fields, about)


def _column(name: str, values: F64 | None, n: int, wanted: set[str]) -> F64:
    """A signal, or NaN for all candidates where it is not wanted or not there."""
    if values is None or name not in wanted:
        return np.full(n, np.nan)
    out = np.asarray(values, np.float64)
    if out.shape != (n,):
        raise InvalidInput(f"{n} candidates but {out.shape} numbers of the signal {name!r}")
    if np.isinf(out).any():
        raise InvalidInput(f"the signal {name!r} holds infinite numbers")
    return out
