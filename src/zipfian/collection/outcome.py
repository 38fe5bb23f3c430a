"""What a search came to, stage by stage, with every number an explanation needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.collection.results import LegHit
from zipfian.fuse.candidates import Fused
from zipfian.rerank.adaptive_k import KChoice
from zipfian.rerank.result import Reranked

Ints = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FirstStage:
    """The ranking before anybody reranks: one leg's own, or several fused."""

    docs: Ints
    scores: F64
    legs: tuple[str, ...]
    raw: F64
    """(documents, legs): exact scores; NaN where a leg has none."""
    ranks: Ints
    """(documents, legs): place in the leg's own list, 0 where it is not in it."""
    fused: Fused | None = None
    """None where one leg answered alone."""

    @cached_property
    def rows(self) -> dict[int, int]:
        """Where each document stands."""
        return {doc: row for row, doc in enumerate(self.docs.tolist())}


@dataclass(frozen=True, eq=False)
class Outcome:
    """The final ranking and how it came about."""

    docs: Ints
    scores: F64
    first: FirstStage
    reranked: Reranked | None = None
    judge: str | None = None
    """The leg that reranked."""
    choice: KChoice | None = None
    """What adaptive reranking decided."""
    exact: Mapping[int, float] = field(default_factory=dict)
    """Documents whose text is the query itself, and what that added to their scores."""

    def __len__(self) -> int:
        return len(self.docs)

    def legs_of(self, doc: int) -> dict[str, LegHit]:
        """How each leg saw a hit, and what it gave to the final score."""
        first, row = self.first, self.first.rows[doc]
        refined = self._refined_row(doc)
        out: dict[str, LegHit] = {}
        for j, name in enumerate(first.legs):
            score, rank = float(first.raw[row, j]), int(first.ranks[row, j]) or None
            share = score if first.fused is None else float(first.fused.shares[row, j])
            normalised = None if first.fused is None else float(first.fused.normalised[row, j])
            out[name] = LegHit(rank, score, share if refined is None else 0.0, normalised)
        if refined is not None and self.reranked is not None and self.judge is not None:
            known = out.get(self.judge)
            cosine, score = float(self.reranked.signals[refined, 0]), float(self.reranked.parts[refined, 0])
            out[self.judge] = LegHit(known.rank if known else None, cosine, score, known.normalised if known else None)
        return out

    def first_rank(self, doc: int) -> int:
        """Rank before reranking."""
        return self.first.rows[doc] + 1

    def _refined_row(self, doc: int) -> int | None:
        """Where a document stands among the reranked; None where it was not refined."""
        if self.reranked is None:
            return None
        row = int(np.flatnonzero(self.reranked.docs == doc)[0])
        return row if row < self.reranked.refined else None

    def report(self) -> dict[str, Any]:
        """What was chosen for this query, as plain values."""
        out: dict[str, Any] = {}
        fused = self.first.fused
        if fused is not None:
            out["weights"] = dict(zip(fused.legs, fused.weights.tolist(), strict=True))
            out["proved"] = fused.proved
            if "signals" in fused.about:
                out["signals"] = fused.about["signals"]
        if self.reranked is not None:
            out["reranked"] = self.reranked.refined
        if self.choice is not None:
            out["choice"] = self.choice.to_json()
        return out
