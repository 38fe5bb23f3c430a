"""What a search came to, stage by stage, with every number an explanation needs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.collection.results import FieldHit
from zipfian.fuse.candidates import Fused
from zipfian.rerank.adaptive_k import KChoice
from zipfian.rerank.result import Reranked

Ints = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]

EXACT = "exact match"
"""Whose share the bonus for an exact match is; no field can have a name with a space in it."""


@dataclass(frozen=True, eq=False)
class FirstStage:
    """The ranking before anybody reranks: one field's own, or several fused."""

    docs: Ints
    scores: F64
    fields: tuple[str, ...]
    raw: F64
    """(documents, fields): exact scores; NaN where a field has none."""
    ranks: Ints
    """(documents, fields): place in the field's own list, 0 where it is not in it."""
    fused: Fused | None = None
    """None where one field answered alone."""

    @cached_property
    def rows(self) -> dict[int, int]:
        """Where each document stands."""
        return {doc: row for row, doc in enumerate(self.docs.tolist())}

    @cached_property
    def columns(self) -> list[tuple[str, list[float], list[int], list[float], list[float | None]]]:
        """Of each field, as plain numbers by row: name, exact scores, places, shares of the score, normalised ones."""
        raw, ranks, fused = self.raw.T.tolist(), self.ranks.T.tolist(), self.fused
        shares = raw if fused is None else fused.shares.T.tolist()
        scaled = [[None] * len(self.docs)] * len(self.fields) if fused is None else fused.normalised.T.tolist()
        return list(zip(self.fields, raw, ranks, shares, scaled, strict=True))


@dataclass(frozen=True, eq=False)
class Outcome:
    """The final ranking and how it came about."""

    docs: Ints
    scores: F64
    first: FirstStage
    reranked: Reranked | None = None
    givers: tuple[str | None, ...] = ()
    """For each part of a reranked score whose share it is: a field's, or `late` where tokens did it."""
    choice: KChoice | None = None
    """What adaptive reranking decided."""
    exact: Mapping[int, float] = dataclasses.field(default_factory=dict)
    """Documents whose text is the query itself, and what that added to their scores."""

    def __len__(self) -> int:
        return len(self.docs)

    def fields_of(self, doc: int) -> dict[str, FieldHit]:
        """How each field saw a hit, and what it gave to the final score: the shares add up to it."""
        first, row = self.first, self.first.rows[doc]
        refined = self._refined_rows.get(doc)
        out: dict[str, FieldHit] = {}
        for name, raw, ranks, shares, scaled in first.columns:
            out[name] = FieldHit(ranks[row] or None, raw[row], shares[row] if refined is None else 0.0, scaled[row])
        if refined is not None and self.reranked is not None:
            for name, share in self._given(self.reranked.parts[refined].tolist()).items():
                seen = out.get(name, FieldHit(None, share, 0.0))  # whoever only reranked gave its whole score
                out[name] = replace(seen, share=share)
        if doc in self.exact:
            out[EXACT] = FieldHit(None, self.exact[doc], self.exact[doc])
        return out

    def _given(self, parts: Sequence[float]) -> dict[str, float]:
        """Parts of a reranked score, added up by whose they are."""
        out: dict[str, float] = {}
        for name, part in zip(self.givers, parts[: len(self.givers)], strict=True):
            if name is not None:
                out[name] = out.get(name, 0.0) + part
        return out

    def first_rank(self, doc: int) -> int:
        """Rank before reranking."""
        return self.first.rows[doc] + 1

    @cached_property
    def _refined_rows(self) -> dict[int, int]:
        """Where each document that was refined stands among the reranked."""
        if self.reranked is None:
            return {}
        return {doc: row for row, doc in enumerate(self.reranked.docs[: self.reranked.refined].tolist())}

    def report(self) -> dict[str, Any]:
        """What was chosen for this query, as plain values."""
        out: dict[str, Any] = {}
        fused = self.first.fused
        if fused is not None:
            out["weights"] = dict(zip(fused.fields, fused.weights.tolist(), strict=True))
            out["proved"] = fused.proved
            if "signals" in fused.about:
                out["signals"] = fused.about["signals"]
        if self.reranked is not None:
            out["reranked"] = self.reranked.refined
            out |= {
                key: self.reranked.about[key] for key in ("without_tokens", "problem") if key in self.reranked.about
            }
        if self.choice is not None:
            out["choice"] = self.choice.to_json()
        return out
