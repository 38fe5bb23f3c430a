"""The default hybrid: z-scores added with weights that follow from the query; the constants are the same everywhere.

Four things are looked at, all of them known before anybody judges a result:

- *How rare the query's words are and whether a document has them* (`signals.coverage`): the share of the query's idf
  that the best document of the words field covers. A short question should be covered whole; of a long one, ENOUGH
  words'
  worth will do. Where that is so, words are trusted fully (1). Where it is not, the documents say it in other words:
  trust falls steeply, the words field loses its weight with it, and that of vectors of texts more than doubles.
- *How decided each field is*: z-scores over a field's best POOL documents. A field in which two documents stand far
  above the
  rest speaks with z of 5 to 10, one in which the best hardly differ with 2; no further weight is needed.
- *Whether a field found anything*: a field without a match, or whose best documents all score alike, has weight 0.
- *How short the documents are*: one pooled vector blurs a long text and holds a short one whole, while a short text has
  few terms to share. Below SHORT words on average the weight of vectors of texts grows in proportion, up to MOST times.

A document that has nothing a field could read (a picture without a caption) is judged by the fields that can read it:
their
weights are raised until they make up for the others. Otherwise nobody would find it beside documents that have all.

Where the constants come from: eight collections (SciFact, CISI, CACM, LIMIT-small, captions that look for captions of
the same picture, and three made from Wikipedia paragraphs: a sentence or a half that looks for the rest, and questions
written in other words than their answer), a grid on the queries with an even sha1, the worst collection first. It was
flat around its best; ENOUGH was then taken at 5 instead of 7 because CISI lost least there, over all its queries, so
CISI does not test it. POOL, SHORT and MOST are older and were settled looking at all queries of CISI, CACM, LIMIT-small
and captions of Flickr8k. So none of the eight is a test of it, and three were cut from the very paragraphs that the
text vocabulary was trained on. On collections without a part in any choice it was above the best single field and level
with reciprocal rank fusion or a little below it (`docs/results.md`, table `fusion`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from zipfian.errors import InvalidInput, shown
from zipfian.fuse.candidates import Candidates, FieldList, Fused, check_weights, combine
from zipfian.fuse.normalise import F64, POOL, normalise

ENOUGH = 5.0
"""Words' worth of a query (function words do not count) that are as good as all of it."""

STEEP = 8.0
"""Trust in words is the coverage to this power: .9 of a short question leaves less than half of it."""

LEAST = 0.0
"""Share of its weight that a words field keeps when it is not trusted at all."""

SURE, UNSURE = 1.2, 2.7
"""Times their base weight that vectors of texts count where words are trusted fully, and where they are not at all."""

SHORT = 50.0
"""Words per document below which pooled vectors count for more."""

MOST = 4.0
"""How many times more at the most."""


@dataclass(frozen=True, slots=True)
class Adaptive:
    """Query-aware fusion, the default of a search: what each field counts follows from the query.

    Parameters
    ----------
    weights
        By field name; they replace the fields' own weights before the query is looked at.
    least
        Share of its weight, 0 to 1, that a words field keeps when its words are not trusted at all.

    Raises
    ------
    InvalidInput
        A weight that is negative or not finite, weights that are all 0, or a share outside 0 to 1.

    Examples
    --------
    >>> from zipfian.fuse import gather
    >>> words = FieldList("words", np.array([7, 3]), np.array([4.0, 1.0]), n_scored=9, coverage=1.0)
    >>> dense = FieldList("dense", np.array([3, 7]), np.array([0.9, 0.2]), n_scored=9, weight=0.5, mean_words=80.0)
    >>> fused = Adaptive().fuse(gather([words, dense], lambda i, docs: np.zeros(len(docs))))
    >>> fused.docs.tolist(), fused.weights.tolist()  # every word asked for is there: words decide
    ([7, 3], [1.0, 0.6])
    """

    weights: Mapping[str, float] = dataclasses.field(default_factory=dict)
    least: float = LEAST

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", check_weights(self.weights))
        if isinstance(self.least, bool) or not isinstance(self.least, (int, float)) or not 0.0 <= self.least <= 1.0:
            raise InvalidInput(f"least must lie between 0 and 1, not {shown(self.least)}")

    def depth(self, k: int) -> int:
        """How many documents to ask of every field for `k` hits."""
        return max(k, POOL)

    def fuse(self, candidates: Candidates) -> Fused:
        """Rank the candidates."""
        unknown = [name for name in self.weights if name not in candidates.names]
        if unknown:
            raise InvalidInput(f"a weight for field {unknown[0]!r}, but the fields are: {', '.join(candidates.names)}")
        candidates = _blanked(candidates)
        normalised, ceiling, used = normalise(candidates, "z")
        base = np.array([self._base(field) for field in candidates.fields])
        trusted = [trust(field) for field in candidates.fields]
        words = max((t for t in trusted if t is not None), default=None)
        factors = np.array([self._factor(field, t, words) for field, t in zip(candidates.fields, trusted, strict=True)])
        found = np.array([numbers.get("deviation", 0.0) > 0.0 for numbers in used])
        weights = np.where(found, base * factors, 0.0)
        if not weights.any():  # only words that nobody trusts found something: better than nothing
            weights = np.where(found, base, 0.0)
        seen = {
            field.name: {
                "base": float(base[i]),
                "factor": float(factors[i]),
                "coverage": field.coverage,
                "trust": trusted[i],
                "mean_words": field.mean_words,
                "peak": _peak(field, used[i]),
                "found": bool(found[i]),
            }
            for i, field in enumerate(candidates.fields)
        }
        normalised, ceiling, scale = _filled(candidates, normalised, weights, ceiling)
        about = {**self.to_json(), "signals": seen}
        return combine(candidates, normalised, weights, ceiling, used, about, scale=scale)

    def _base(self, field: FieldList) -> float:
        return self.weights.get(field.name, field.weight)

    def _factor(self, field: FieldList, trusted: float | None, words: float | None) -> float:
        if trusted is not None:
            return self.least + (1.0 - self.least) * trusted
        if field.mean_words is None:
            return 1.0
        if not field.mean_words >= 0.0:
            raise InvalidInput(f"field {field.name!r}: {field.mean_words!r} words per document")
        short = min(MOST, max(1.0, SHORT / max(field.mean_words, 1.0)))
        return short if words is None else short * (UNSURE + (SURE - UNSURE) * words)

    def to_json(self) -> dict[str, Any]:
        """Plain settings; `method_from_json` reads them."""
        return {"method": "adaptive", "weights": dict(self.weights), "least": self.least}


def trust(field: FieldList) -> float | None:
    """How far the words of the query can be relied upon, 0 to 1; None for a field that does not say."""
    if field.coverage is None:
        return None
    if not 0.0 <= field.coverage <= 1.0:
        raise InvalidInput(
            f"the coverage of field {field.name!r} must lie between 0 and 1, not {shown(field.coverage)}"
        )
    return float(min(1.0, field.coverage * max(1.0, (field.query_words or 0) / ENOUGH)) ** STEEP)


def _blanked(candidates: Candidates) -> Candidates:
    """With no score where a document has nothing to read: fields of vectors say so, and fields of terms of the same
    source share it (to them, a document without a text is one without a match)."""
    scores = candidates.scores
    lacks = np.isnan(scores)
    if not lacks.any():
        return candidates
    out = scores.copy()
    for i, field in enumerate(candidates.fields):
        for j, other in enumerate(candidates.fields):
            if field.source is not None and field.source == other.source:
                out[lacks[:, j] & (candidates.ranks[:, i] == 0), i] = np.nan
    return replace(candidates, scores=out)


def _filled(candidates: Candidates, normalised: F64, weights: F64, ceiling: F64) -> tuple[F64, F64, F64 | None]:
    """0 where a field has no score, what the weights of the document's other fields are raised by, and what a document
    outside may then reach."""
    lacks = np.isnan(candidates.scores)
    most = max(field.n_scored for field in candidates.fields)
    used = ceiling[weights > 0.0]
    if len(used) and (lacks.any() or any(field.n_scored < most for field in candidates.fields)):
        ceiling = np.maximum(ceiling, used.max())
    if not lacks.any():
        return normalised, ceiling, None
    there = np.where(lacks, 0.0, weights).sum(axis=1)
    scale = np.where(there > 0.0, weights.sum() / np.where(there > 0.0, there, 1.0), 1.0)
    return np.where(lacks, 0.0, normalised), ceiling, scale


def _peak(field: FieldList, numbers: Mapping[str, float]) -> float:
    """How far the best document stands above the population, in deviations."""
    deviation = numbers.get("deviation", 0.0)
    return (float(field.scores[0]) - numbers["mean"]) / deviation if len(field.scores) and deviation > 0.0 else 0.0
