"""A plan carried out: fields searched, fused, reranked, explained."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from zipfian.collection.late import LateQuery
from zipfian.collection.outcome import FirstStage, Ints, Outcome
from zipfian.collection.plan import LATE, SearchPlan
from zipfian.collection.protocol import ReadSide
from zipfian.collection.retrievers import MakeQuery, Retriever, VectorRetriever, field_query
from zipfian.errors import InvalidInput
from zipfian.explain.fusion import explain_fused, explain_reranked
from zipfian.fields.base import VectorField
from zipfian.fields.query import Query
from zipfian.fuse.candidates import Candidates, FieldList, gather
from zipfian.rerank.dense import rerank_dense
from zipfian.rerank.result import Reranked
from zipfian.rerank.training_free import context_coherence, rerank_training_free
from zipfian.types import Explanation

BONUS_DEPTH = 100
"""Hits that are looked at for a text equal to the query."""


class Run:
    """One question on one snapshot under one plan; `make` asks a field of the engine that holds the snapshot."""

    def __init__(self, searcher: ReadSide, question: Query, plan: SearchPlan, make: MakeQuery = field_query) -> None:
        self.searcher = searcher
        self.plan = plan
        self.question = question.asked_by(plan.query_encoder)
        self.queries: dict[str, Retriever] = {
            name: make(searcher, name, self.question, plan.scoring.get(name), plan.ann) for name in plan.fields
        }
        self.reranker = self._vectors(plan.reranker, make)
        self.captions = self._vectors(plan.captions, make)

    def _vectors(self, name: str | None, make: MakeQuery) -> VectorRetriever | None:
        if name is None:
            return None
        found = self.queries.get(name) or make(self.searcher, name, self.question, None, None)
        if not isinstance(found, VectorRetriever):
            raise InvalidInput(f"field {name!r} cannot rerank: it is no field of vectors")
        return found

    @cached_property
    def late(self) -> LateQuery | None:
        """The tokens that rerank, where the plan wants them."""
        return None if self.plan.late is None else LateQuery(self.searcher, self.plan.late, self.question)

    def settings(self) -> dict[str, Any]:
        """How each field was asked; flat where there is only one."""
        each = {name: query.settings() for name, query in self.queries.items()}
        return next(iter(each.values())) if len(each) == 1 else {"fields": each}

    def search(self, k: int, mask: Any, bonus: float = 0.0) -> Outcome:
        """The k best documents; `bonus` is added where a stored text is the query itself.

        `mask` is what the engine made of a filter, for its own fields.
        """
        if bonus:
            return self._with_bonus(self._search(max(k, BONUS_DEPTH), mask), k, bonus)
        return self._search(k, mask)

    def _search(self, k: int, mask: Any) -> Outcome:
        first = self._first(max(k, self.plan.rerank_depth) if self.plan.reranks else k, mask)
        if self.late is not None and len(first.docs):
            reranked = self.late.rerank(first, self.plan.rerank_depth)
            return Outcome(reranked.docs[:k], reranked.scores[:k], first, reranked, (LATE,) * (len(reranked.names) - 1))
        if self.reranker is None:
            return Outcome(first.docs[:k], first.scores[:k], first)
        depth, choice = self.plan.rerank_depth, None
        if self.plan.adaptive_k is not None:
            choice = self.plan.adaptive_k.choose(first.scores, k, self.rarity(first))
            depth = choice.K
        if depth == 0:
            return Outcome(first.docs[:k], first.scores[:k], first, choice=choice)
        reranked = self._refine(self.reranker, first, depth)
        return Outcome(reranked.docs[:k], reranked.scores[:k], first, reranked, self._givers(self.reranker), choice)

    def rarity(self, first: FirstStage) -> float | None:
        """How much of the query's words, rare ones first, the best document has; None where no words were asked."""
        for column, name in zip(first.raw.T, first.fields, strict=True):
            if self.queries[name].field.lexical:
                return self.queries[name].coverage(float(np.nanmax(column, initial=0.0)))
        return None

    def _refine(self, reranker: VectorRetriever, first: FirstStage, depth: int) -> Reranked:
        chosen = first.docs[:depth]
        cosines = reranker.score(chosen)
        if self.plan.variant is None:
            return rerank_dense(first.docs, first.scores, cosines)
        text = None if self.captions is None else self.captions.score(chosen)
        context = context_coherence(reranker.vectors(chosen))
        return rerank_training_free(first.docs, first.scores, cosines, text, context, variant=self.plan.variant)

    def _givers(self, reranker: VectorRetriever) -> tuple[str | None, ...]:
        """The fields whose vectors a second stage's signals compare: one cosine, or cross, text and context."""
        return (reranker.name,) if self.plan.variant is None else (reranker.name, self.plan.captions, reranker.name)

    def _first(self, k: int, mask: Any) -> FirstStage:
        if self.plan.fusion is None:
            (name,) = self.plan.fields
            docs, scores = self.queries[name].search(k, mask)
            ranks = np.arange(1, len(docs) + 1, dtype=np.int64).reshape(-1, 1)
            return FirstStage(docs, scores, (name,), scores.reshape(-1, 1), ranks)
        fused = self.plan.fusion.fuse(self._candidates(self.plan.fusion.depth(k), mask)).top(k)
        return FirstStage(fused.docs, fused.scores, fused.fields, fused.raw, fused.ranks, fused)

    def _candidates(self, depth: int, mask: Any, also: Ints | None = None) -> Candidates:
        lists, queries = [], list(self.queries.values())
        for query in queries:
            docs, scores = query.search(depth, mask)
            field = query.field
            whole_texts = isinstance(field, VectorField) and field.pooled and field.reads == "text"
            size = self.searcher.mean_words if whole_texts else None
            lists.append(FieldList(query.name, docs, scores, query.n_scored(mask), field.weight, size, field.reads))
        words = next((i for i, query in enumerate(queries) if query.field.lexical), None)
        covered = None if words is None else (words, queries[words].covered)
        return gather(lists, lambda i, docs: queries[i].score(docs), also, covered)

    def _with_bonus(self, outcome: Outcome, k: int, bonus: float) -> Outcome:
        asked = _plain(self.question.text or "")
        same = [
            bool(asked) and _plain(self.searcher.document(doc).text or "") == asked for doc in outcome.docs.tolist()
        ]
        raised = outcome.scores + np.where(np.array(same, np.bool_), bonus, 0.0)
        order = np.argsort(-raised, kind="stable")[:k]
        exact = {int(outcome.docs[i]): bonus for i in order.tolist() if same[i]}
        return replace(outcome, docs=outcome.docs[order], scores=raised[order], exact=exact)

    def explain(self, outcome: Outcome, number: int) -> Explanation:
        """Why one of the outcome's documents has its score."""
        tree = self._first_tree(outcome.first, number)
        if outcome.reranked is not None:
            if self.late is None:
                tree = explain_reranked(outcome.reranked, number, tree, outcome.givers)
            else:
                tree = self.late.explain(outcome.reranked, number, tree)
        if number in outcome.exact:
            bonus = outcome.exact[number]
            parts = (tree, Explanation(bonus, "its text is the query itself", kind="bonus"))
            tree = Explanation(tree.value + bonus, "with the bonus for an exact match", parts)
        return tree

    def explain_any(self, number: int) -> Explanation:
        """Why any document has the score it has, found or not; one that would not be reranked keeps its first score."""
        if self.plan.fusion is not None or self.plan.reranks:
            outcome = self.search(max(1, self.plan.rerank_depth), None)
            if number in outcome.docs:
                return self.explain(outcome, number)
        if self.plan.fusion is None:
            return self.queries[self.plan.fields[0]].explain(number)
        candidates = self._candidates(self.plan.fusion.depth(1), None, np.array([number], np.int64))
        fused = self.plan.fusion.fuse(candidates)
        first = FirstStage(fused.docs, fused.scores, fused.fields, fused.raw, fused.ranks, fused)
        return self._first_tree(first, number)

    def _first_tree(self, first: FirstStage, number: int) -> Explanation:
        trees = {name: self.queries[name].explain(number) for name in first.fields}
        return trees[first.fields[0]] if first.fused is None else explain_fused(first.fused, number, trees)


def _plain(text: str) -> str:
    """A text without what people do not look at: case, and space around and between words."""
    return " ".join(text.casefold().split())
