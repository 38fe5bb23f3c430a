"""A plan carried out: legs searched, fused, reranked, and every number kept that an explanation needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.collection.legquery import DenseQuery, LegQuery, Mask, leg_query
from zipfian.collection.plan import Plan
from zipfian.collection.question import Question
from zipfian.collection.results import LegHit
from zipfian.collection.view import View
from zipfian.errors import InvalidInput
from zipfian.explain.fusion import explain_fused, explain_reranked
from zipfian.fuse.candidates import Candidates, Fused, LegList, gather
from zipfian.rerank.adaptive_k import KChoice
from zipfian.rerank.dense import rerank_dense
from zipfian.rerank.result import Reranked
from zipfian.types import Explanation

Ints = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Outcome:
    """A ranking and its history. `fused` is None where one leg answered alone, `reranked` where nobody reranked."""

    docs: Ints
    scores: F64
    legs: tuple[str, ...]
    raw: F64
    ranks: Ints
    fused: Fused | None = None
    reranked: Reranked | None = None
    choice: KChoice | None = None
    """What adaptive reranking decided."""

    def report(self) -> dict[str, Any]:
        """What was chosen for this query, as plain values."""
        out: dict[str, Any] = {}
        if self.fused is not None:
            out["weights"] = dict(zip(self.fused.legs, self.fused.weights.tolist(), strict=True))
            out["proved"] = self.fused.proved
            if "signals" in self.fused.about:
                out["signals"] = self.fused.about["signals"]
        if self.reranked is not None:
            out["reranked"] = self.reranked.refined
        if self.choice is not None:
            out["choice"] = self.choice.to_json()
        return out

    def __len__(self) -> int:
        return len(self.docs)

    def leg_hits(self, i: int, judge: str | None) -> dict[str, LegHit]:
        """How each leg saw the i-th hit, and what it gave to the final score."""
        old = int(self.reranked.old_ranks[i]) - 1 if self.reranked is not None else i
        refined = self.reranked is not None and i < self.reranked.refined
        out: dict[str, LegHit] = {}
        for j, name in enumerate(self.legs):
            score = float(self.raw[old, j])
            rank = int(self.ranks[old, j]) or None
            if self.fused is None:
                out[name] = LegHit(rank, score, 0.0 if refined else score, None)
                continue
            share = 0.0 if refined else float(self.fused.shares[old, j])
            out[name] = LegHit(rank, score, share, float(self.fused.normalised[old, j]))
        if refined and self.reranked is not None and judge is not None:
            known = out.get(judge)
            cosine = float(self.reranked.signals[i, 0])
            out[judge] = LegHit(known.rank if known else None, cosine, float(self.scores[i]), None)
        return out

    def old_rank(self, i: int) -> int:
        """Rank of the i-th hit before reranking."""
        return int(self.reranked.old_ranks[i]) if self.reranked is not None else i + 1


class Run:
    """One question on one snapshot under one plan."""

    def __init__(self, view: View, question: Question, plan: Plan) -> None:
        self.view = view
        self.plan = plan
        question = question.asked_by(plan.query)
        self.queries: dict[str, LegQuery] = {
            name: leg_query(view, name, question, plan.scoring.get(name)) for name in plan.legs
        }
        self.judge: DenseQuery | None = None
        if plan.judge is not None:
            found = self.queries.get(plan.judge) or leg_query(view, plan.judge, question)
            if not isinstance(found, DenseQuery):
                raise InvalidInput(f"leg {plan.judge!r} cannot rerank: it is no leg of vectors")
            self.judge = found

    def settings(self) -> dict[str, Any]:
        """How each leg was asked; flat where there is only one."""
        each = {name: query.settings() for name, query in self.queries.items()}
        if len(each) == 1:
            return next(iter(each.values()))
        return {"legs": each}

    def search(self, k: int, mask: Mask | None) -> Outcome:
        """The k best documents."""
        first = self._first(max(k, self.plan.K) if self.judge is not None else k, mask)
        if self.judge is None:
            return _cut(first, k)
        K, choice = self.plan.K, None
        if self.plan.adaptive_k is not None:
            choice = self.plan.adaptive_k.choose(first.scores, k)
            K = choice.K
        if K == 0:
            return _cut(replace(first, choice=choice), k)
        cosines = self.judge.score(first.docs[:K])
        reranked = rerank_dense(first.docs, first.scores, cosines).top(k)
        return Outcome(
            reranked.docs, reranked.scores, first.legs, first.raw, first.ranks, first.fused, reranked, choice
        )

    def _first(self, k: int, mask: Mask | None) -> Outcome:
        if self.plan.fusion is None:
            (name,) = self.plan.legs
            docs, scores = self.queries[name].search(k, mask)
            ranks = np.arange(1, len(docs) + 1, dtype=np.int64).reshape(-1, 1)
            return Outcome(docs, scores, (name,), scores.reshape(-1, 1), ranks)
        depth = self.plan.fusion.depth(k)
        fused = self.plan.fusion.fuse(self._candidates(depth, mask)).top(k)
        return Outcome(fused.docs, fused.scores, fused.legs, fused.raw, fused.ranks, fused)

    def _candidates(self, depth: int, mask: Mask | None, also: Ints | None = None) -> Candidates:
        lists, queries = [], list(self.queries.values())
        for query in queries:
            docs, scores = query.search(depth, mask)
            lists.append(
                LegList(
                    query.name,
                    docs,
                    scores,
                    query.n_scored(mask),
                    query.leg.kind,
                    query.coverage(float(scores[0]) if len(scores) else 0.0),
                )
            )
        return gather(lists, lambda i, docs: queries[i].score(docs), also)

    def explain(self, outcome: Outcome, number: int) -> Explanation:
        """Why one of the outcome's documents has its score."""
        tree = self._coarse(outcome, number)
        return tree if outcome.reranked is None else explain_reranked(outcome.reranked, number, tree)

    def explain_any(self, number: int) -> Explanation:
        """Why any document has the score it has, found or not; one that would not be reranked keeps its fused score."""
        if self.plan.fusion is None and self.judge is None:
            return self.queries[self.plan.legs[0]].explain(number)
        outcome = self.search(max(1, self.plan.K), None)
        if number in outcome.docs:
            return self.explain(outcome, number)
        if self.plan.fusion is None:
            return self.queries[self.plan.legs[0]].explain(number)
        candidates = self._candidates(self.plan.fusion.depth(1), None, np.array([number], np.int64))
        fused = self.plan.fusion.fuse(candidates)
        return self._coarse(Outcome(fused.docs, fused.scores, fused.legs, fused.raw, fused.ranks, fused), number)

    def _coarse(self, outcome: Outcome, number: int) -> Explanation:
        trees = {name: self.queries[name].explain(number) for name in outcome.legs}
        return trees[outcome.legs[0]] if outcome.fused is None else explain_fused(outcome.fused, number, trees)


def _cut(outcome: Outcome, k: int) -> Outcome:
    if len(outcome) <= k:
        return outcome
    return replace(
        outcome, docs=outcome.docs[:k], scores=outcome.scores[:k], raw=outcome.raw[:k], ranks=outcome.ranks[:k]
    )
