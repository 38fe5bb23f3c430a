"""Documents in order of their scores, and what each field had to do with it: what every stage of a search gives.

One field's list, several fields fused, and what a second stage made of either are the same thing to whoever reads hits
and explanations. What only some of them have hangs on a ranking as a part of its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Voice:
    """What a fusion has to know of the field whose list it is given.

    Examples
    --------
    >>> Ranking.of("words", np.array([7, 3]), np.array([4.0, 1.0]), n_scored=9).voice
    Voice(n_scored=9, weight=1.0, mean_words=None, source=None)
    """

    n_scored: int
    """Documents the field has a score for under this filter. A field of terms scores every document (0.0 where no term
    is shared); a field of vectors those that have one."""
    weight: float = 1.0
    """What it counts in `Adaptive` before the query is looked at; the field's own (`Field.weight`)."""
    mean_words: float | None = None
    """Words of the texts that a field of pooled vectors stands for, on average, if they are texts."""
    source: str | None = None
    """What of a document it reads, `text` or `image`: where one field finds nothing to read, none of it does."""


@dataclass(frozen=True, slots=True, eq=False)
class Fusion:
    """How several fields became one ranking; rows are those of the ranking.

    Examples
    --------
    >>> from zipfian.fuse import Linear, gather
    >>> a, b = (Ranking.of(name, np.array([7]), np.array([4.0]), n_scored=9) for name in "ab")
    >>> candidates = gather([a, b], lambda i, docs: np.full(len(docs), 0.5))
    >>> Linear({"b": 2.0}, "none").fuse(candidates).fusion.weights.tolist()
    [1.0, 2.0]
    """

    weights: F64
    """(fields,): the weights of this query."""
    proved: int
    """So many of the first hits are certain: no document outside the candidates could score above them."""
    populations: tuple[Mapping[str, float], ...] = ()
    """For each field what its scores were normalised by: mean and deviation, or low and high."""
    about: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Method and settings, and the signals that set the weights."""
    scale: F64 | None = None
    """(documents,): what the weights are multiplied by, where a document is judged by some of the fields only."""
    reward: F64 | None = None
    """(documents,): what a document got for having the words of the query; part of the share of field `lexical`."""
    covered: F64 | None = None
    """(documents,): the share of the words it has."""
    lexical: int = 0
    """The field, by place, whose share the reward is."""

    def top(self, k: int) -> Fusion:
        """Of the first k documents."""
        scale, reward, covered = (None if a is None else a[:k] for a in (self.scale, self.reward, self.covered))
        return replace(self, proved=min(self.proved, k), scale=scale, reward=reward, covered=covered)


@dataclass(frozen=True, slots=True, eq=False)
class Reranking:
    """What a second stage found; rows are those of the ranking, which may have been cut since.

    Examples
    --------
    >>> from zipfian.rerank import rerank_dense
    >>> first = Ranking.of("words", np.array([4, 9, 2]), np.array([3.0, 2.0, 1.0]))
    >>> found = rerank_dense(first, np.array([0.1, 0.8])).reranking
    >>> found.refined, found.old_ranks.tolist(), found.names
    (2, [2, 1, 3], ('cosine', 'coarse'))
    """

    refined: int
    """So many of the first hits have a refined score; the others keep the one they had, which is of another kind."""
    old_ranks: Ints
    """Rank before, from 1."""
    parts: F64
    """(documents, parts): added from left to right they give the score to the last bit; the last one is `coarse`."""
    names: tuple[str, ...]
    """Of the parts."""
    fields: tuple[str | None, ...]
    """Of the parts but the last one: the field that each comes from; None where there is no such field."""
    weights: F64
    """(documents, parts): what each signal was multiplied by; NaN where the signal was not there."""
    signals: F64
    """(documents, parts): the numbers behind the parts; NaN where there was none."""
    about: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Which reranker, and its settings."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """Documents, best first, and where every score came from.

    Examples
    --------
    >>> from zipfian.fuse import Linear, gather
    >>> a = Ranking.of("a", np.array([7]), np.array([4.0]), n_scored=9)
    >>> b = Ranking.of("b", np.array([3]), np.array([0.9]), n_scored=9)
    >>> fused = Linear(normalise="none").fuse(gather([a, b], lambda i, docs: np.full(len(docs), 0.5)))
    >>> fused.docs.tolist(), fused.scores.tolist(), fused.shares.tolist()
    ([7, 3], [4.5, 1.4], [[4.0, 0.5], [0.5, 0.9]])
    """

    docs: Ints
    """Document numbers, best first."""
    scores: F64
    """What they are ranked by."""
    fields: tuple[str, ...]
    """Names of the fields that had a part in it."""
    raw: F64
    """(documents, fields): the fields' own, exact scores; NaN where a field has none."""
    ranks: Ints
    """(documents, fields): place in the field's own list, from 1; 0 where it is not in the list."""
    shares: F64
    """(documents, fields): parts of the score, in its own unit; together they are the score. Those of a fusion, added
    from left to right, give it to the last bit. They may be negative where a document is worse in a field than that
    field's population, and are NaN where a field was not asked: a second stage looks at the first documents only."""
    normalised: F64 | None = None
    """(documents, fields): the fields' scores on the scale they were fused on, NaN where they had no part in that;
    None where one field answered alone."""
    voice: Voice | None = None
    """Of one field's list that is to be fused."""
    fusion: Fusion | None = None
    """Where several fields were fused."""
    reranking: Reranking | None = None
    """Where a second stage reordered it."""
    before: Ranking | None = None
    """What a later stage was given."""
    choice: Mapping[str, Any] | None = None
    """How many candidates were reranked, and why so many, where that followed from the query."""
    best: tuple[F64, ...] | None = None
    """For each field the two best scores of its list, or fewer where it found fewer; None where a later stage or a
    fusion made the ranking, until whoever has the lists says it."""

    @classmethod
    def of(
        cls, field: str, docs: Ints, scores: F64, n_scored: int | None = None, weight: float = 1.0,
        mean_words: float | None = None, source: str | None = None,
    ) -> Ranking:  # fmt: skip
        """What one `field` found: `docs`, best first, with their `scores`.

        With `n_scored` it can be fused; `weight`, `mean_words` and `source` are then as in `Voice`.
        """
        own = scores.reshape(-1, 1)
        ranks = np.arange(1, len(docs) + 1, dtype=np.int64).reshape(-1, 1)
        voice = None if n_scored is None else Voice(n_scored, weight, mean_words, source)
        return cls(docs, scores, (field,), own, ranks, own, voice=voice, best=(scores[:2],))

    def __len__(self) -> int:
        return len(self.docs)

    def top(self, k: int) -> Ranking:
        """The first k."""
        if k >= len(self.docs):
            return self
        return replace(
            self, docs=self.docs[:k], scores=self.scores[:k], raw=self.raw[:k], ranks=self.ranks[:k],
            shares=self.shares[:k], normalised=None if self.normalised is None else self.normalised[:k],
            fusion=None if self.fusion is None else self.fusion.top(k),
        )  # fmt: skip

    def reordered(self, order: Ints, scores: F64, shares: Mapping[str, F64], **made: Any) -> Ranking:
        """What a later stage made of it: other scores, and what fields gave to them, both in the new order.

        Fields that `shares` does not name keep what they gave. A field that was not there before scored what it gave.
        """
        fields = (*self.fields, *(name for name in shares if name not in self.fields))
        more = len(fields) - len(self.fields)
        parts, raw = (np.hstack([a[order], np.full((len(order), more), np.nan)]) for a in (self.shares, self.raw))
        for name, share in shares.items():
            column = fields.index(name)
            parts[:, column] = share
            if column >= len(self.fields):
                raw[:, column] = share
        ranks = np.hstack([self.ranks[order], np.zeros((len(order), more), np.int64)])
        scaled = self.normalised
        if scaled is not None:
            scaled = np.hstack([scaled[order], np.full((len(order), more), np.nan)])
        return Ranking(self.docs[order], scores, fields, raw, ranks, parts, scaled, before=self, **made)

    @property
    def first(self) -> Ranking:
        """The ranking before any later stage."""
        return self if self.before is None else self.before.first

    @cached_property
    def rows(self) -> dict[int, int]:
        """Where each document stands."""
        return {doc: row for row, doc in enumerate(self.docs.tolist())}

    @cached_property
    def columns(self) -> list[tuple[str, list[float], list[int], list[float], list[float] | None]]:
        """Of each field, as plain numbers by row: name, exact scores, places, shares of the score, normalised ones."""
        scaled = [None] * len(self.fields) if self.normalised is None else self.normalised.T.tolist()
        numbers = self.raw.T.tolist(), self.ranks.T.tolist(), self.shares.T.tolist(), scaled
        return list(zip(self.fields, *numbers, strict=True))

    def report(self) -> dict[str, Any]:
        """What was chosen for this query, as plain values."""
        out: dict[str, Any] = {} if self.before is None else self.before.report()
        if self.fusion is not None:
            out["weights"] = dict(zip(self.fields, self.fusion.weights.tolist(), strict=True))
            out["proved"] = self.fusion.proved
            if "signals" in self.fusion.about:
                out["signals"] = self.fusion.about["signals"]
        if self.reranking is not None:
            about = self.reranking.about
            out["reranked"] = self.reranking.refined
            out |= {key: about[key] for key in ("without_tokens", "problem") if key in about}
        if self.choice is not None:
            out["choice"] = self.choice
        return out
