"""The default hybrid: z-scores added with fixed weights, and a reward for a document that has the words asked for.

- *How decided a field is*: z-scores over a field's best POOL documents. A field in which two documents stand far above
  the rest speaks with z of 5 to 10, one in which the best hardly differ with 2; no further weight is needed.
- *Whether a field found anything*: a field without a match, or whose best documents all score alike, has weight 0.
- *How short the documents are*: one pooled vector blurs a long text and holds a short one whole, while a short text has
  few terms to share. Below SHORT words on average the weight of vectors of texts grows in proportion, up to MOST times.
- *Which documents have the words of the query*: a document that holds nearly all of them, rare ones first, where the
  other candidates do not, is what was looked for, whatever the other fields make of it. They see the drift of a text;
  of one sentence in a long document they see nothing. So the share of the query's idf that each candidate covers is
  compared with that of the FROM-th best, and the lead over it, in deviations and FARTHEST at most, is rewarded, COVERED
  times over and in proportion to the share covered to the power of WHOLE: half of the words are worth a sixteenth of
  all of them. Where many documents have what was asked, nobody leads, and the other fields decide among them.

A picture and words asked for *together* mean "like this picture, and as the words say": a sum would give the best of
either to whoever has nothing of the other. So each field's z-score becomes the logarithm of its logistic before it is
weighed: above the average it hardly grows, below it falls as fast as ever, and adding logarithms multiplies chances. On
pairs made of captions (table `together`: a picture, and a word that some of its 50 nearest have and it has not; half of
the pairs to choose by) that puts such a picture first for .155 of the other half, a sum for .108, the picture alone for
.024, the words alone for .033. The product of both sides' chances (.152) does not come apart by field, and the lesser
of their z-scores (.136) is worse.

A document that has nothing a field could read (a picture without a caption, a text in another language than the
encoder's) is judged by the fields that can read it: their weights are raised until they make up for the others.

Where the constants come from: sentences hidden in documents of 100 to 5,000 words and asked for in three ways, SciFact,
CISI, CACM, XQuAD in six languages and DRCD; queries with an even sha1, the worst first. Needles had to be found as by
words alone; of the settings that did, the best mean of the English collections was taken. The grid is flat there. SHORT
and MOST are older and were settled looking at all queries of CISI, CACM, LIMIT-small and captions of Flickr8k.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from zipfian.errors import InvalidInput, shown
from zipfian.fuse.candidates import Candidates, check_weights, combine
from zipfian.fuse.normalise import POOL, normalise
from zipfian.fuse.ranking import F64, Ranking, Voice

COVERED = 8.0
"""What a deviation of the lead is worth, where all words are covered."""

FROM = 10
"""A lead is counted from the share that the candidate of this place has."""

FARTHEST = 5.0
"""Deviations of a lead that count: it decides with fewer, and more would only say how alike the others are."""

WHOLE = 4.0
"""The power of the share covered: rewards are for documents that have nearly all that was asked."""

SHORT = 50.0
"""Words per document below which pooled vectors count for more."""

MOST = 4.0
"""How many times more at the most."""


@dataclass(frozen=True, slots=True)
class Adaptive:
    """Query-aware fusion, the default of a search: fields are added, and words that are all there are rewarded.

    Parameters
    ----------
    weights
        By field name; they replace the fields' own.
    together
        Whether a document must please every field: for a picture and words at once.

    Raises
    ------
    InvalidInput
        A weight that is negative or not finite, or weights that are all 0.

    Examples
    --------
    >>> from zipfian.fuse import gather
    >>> words = Ranking.of("words", np.array([7, 3]), np.array([4.0, 1.0]), n_scored=9)
    >>> dense = Ranking.of("dense", np.array([3, 7]), np.array([0.9, 0.2]), n_scored=9, weight=0.5, mean_words=80.0)
    >>> fused = Adaptive().fuse(gather([words, dense], lambda i, docs: np.zeros(len(docs))))
    >>> fused.docs.tolist(), fused.fusion.weights.tolist()
    ([7, 3], [1.0, 0.5])
    """

    weights: Mapping[str, float] = dataclasses.field(default_factory=dict)
    together: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", check_weights(self.weights))
        if not isinstance(self.together, bool):
            raise InvalidInput(f"together is True or False, not {shown(self.together)}")

    def depth(self, k: int) -> int:
        """How many documents to ask of every field for `k` hits."""
        return max(k, POOL)

    def fuse(self, candidates: Candidates) -> Ranking:
        """Rank the candidates."""
        unknown = [name for name in self.weights if name not in candidates.names]
        if unknown:
            raise InvalidInput(f"a weight for field {unknown[0]!r}, but the fields are: {', '.join(candidates.names)}")
        candidates = _blanked(candidates)
        normalised, ceiling, used = normalise(candidates, "z")
        if self.together:
            normalised, ceiling = _agreeing(normalised), _agreeing(ceiling)
        voices = list(zip(candidates.names, candidates.voices, strict=True))
        base = np.array([self.weights.get(name, voice.weight) for name, voice in voices])
        factors = np.array([_short(name, voice) for name, voice in voices])
        found = np.array([numbers.get("deviation", 0.0) > 0.0 for numbers in used])
        weights = np.where(found, base * factors, 0.0)
        seen = {
            name: {
                "base": float(base[i]), "factor": float(factors[i]), "mean_words": voice.mean_words,
                "peak": _peak(candidates.fields[i], used[i]), "found": bool(found[i]),
            }
            for i, (name, voice) in enumerate(voices)
        }  # fmt: skip
        normalised, ceiling, scale = _filled(candidates, normalised, weights, ceiling)
        about = {**self.to_json(), "signals": seen}
        covered = None if candidates.cover is None else np.clip(candidates.cover(candidates.docs), 0.0, 1.0)
        reward, most = rewards(candidates, covered, float(weights[candidates.lexical]))
        return combine(
            candidates, normalised, weights, ceiling, used, about, scale=scale, reward=reward, covered=covered,
            reward_ceiling=most,
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """Plain settings; `method_from_json` reads them."""
        return {"method": "adaptive", "weights": dict(self.weights)} | ({"together": True} if self.together else {})


def rewards(candidates: Candidates, covered: F64 | None, weight: float) -> tuple[F64 | None, float]:
    """What each candidate gets for the words of the query that it has and the others have not, and what any could get.

    None where no words were asked, or no candidate stands out. `covered` are the shares of the words that each has,
    None where none were asked; `weight` is that of the field of words.
    """
    if covered is None:
        return None, 0.0
    among = ((candidates.ranks > 0) & (candidates.ranks <= POOL)).any(axis=1)
    if not among.any():
        return None, 0.0
    shares = np.sort(covered[among])[::-1]
    base, deviation = float(shares[min(FROM, len(shares)) - 1]), float(shares.std())
    if deviation <= 1e-9:
        return None, 0.0
    worth = COVERED * weight
    out = worth * np.clip((covered - base) / deviation, 0.0, FARTHEST) * covered**WHOLE
    return (out if out.any() else None), worth * min((1.0 - base) / deviation, FARTHEST)


def _agreeing(z: F64) -> F64:
    """The logarithm of the logistic function: little is gained above the average, and much lost below it."""
    out: F64 = -np.logaddexp(0.0, -z)
    return out


def _short(name: str, voice: Voice) -> float:
    """How many times more a field of pooled vectors counts because its texts are short."""
    if voice.mean_words is None:
        return 1.0
    if not voice.mean_words >= 0.0:
        raise InvalidInput(f"field {name!r}: {voice.mean_words!r} words per document")
    return min(MOST, max(1.0, SHORT / max(voice.mean_words, 1.0)))


def _blanked(candidates: Candidates) -> Candidates:
    """With no score where a document has nothing to read: fields of vectors say so, and fields of terms of the same
    source share it (to them, a document without a text is one without a match)."""
    scores = candidates.scores
    lacks = np.isnan(scores)
    if not lacks.any():
        return candidates
    out = scores.copy()
    for i, voice in enumerate(candidates.voices):
        for j, other in enumerate(candidates.voices):
            if voice.source is not None and voice.source == other.source:
                out[lacks[:, j] & (candidates.ranks[:, i] == 0), i] = np.nan
    return replace(candidates, scores=out)


def _filled(candidates: Candidates, normalised: F64, weights: F64, ceiling: F64) -> tuple[F64, F64, F64 | None]:
    """0 where a field has no score, what the weights of the document's other fields are raised by, and what a document
    outside may then reach."""
    lacks = np.isnan(candidates.scores)
    most = max(voice.n_scored for voice in candidates.voices)
    used = ceiling[weights > 0.0]
    if len(used) and (lacks.any() or any(voice.n_scored < most for voice in candidates.voices)):
        ceiling = np.maximum(ceiling, used.max())
    if not lacks.any():
        return normalised, ceiling, None
    there = np.where(lacks, 0.0, weights).sum(axis=1)
    scale = np.where(there > 0.0, weights.sum() / np.where(there > 0.0, there, 1.0), 1.0)
    return np.where(lacks, 0.0, normalised), ceiling, scale


def _peak(field: Ranking, numbers: Mapping[str, float]) -> float:
    """How far the best document stands above the population, in deviations."""
    deviation = numbers.get("deviation", 0.0)
    return (float(field.scores[0]) - numbers["mean"]) / deviation if len(field.scores) and deviation > 0.0 else 0.0
