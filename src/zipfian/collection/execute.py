"""A plan carried out: fields searched, fused, reranked, explained."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from zipfian import deadline
from zipfian.collection.late import LateQuery
from zipfian.collection.plan import SearchPlan
from zipfian.collection.protocol import ReadSide
from zipfian.collection.results import EXACT
from zipfian.collection.retrievers import MakeRetriever, Retriever, VectorRetriever, make_retriever
from zipfian.errors import InvalidInput
from zipfian.explain.fusion import explain_fused, explain_reranked
from zipfian.explain.highlight import Snippet
from zipfian.fields.base import VectorField
from zipfian.fields.query import Query
from zipfian.fuse.candidates import Candidates, gather
from zipfian.fuse.confidence import confidences
from zipfian.fuse.ranking import Ints, Ranking
from zipfian.rerank.dense import rerank_dense
from zipfian.rerank.training_free import context_coherence, rerank_training_free
from zipfian.types import Explanation

SAME = 0.995
"""Cosine from which a candidate is taken for the query itself: a copy of it, or what hardly differs from one. Other
pictures of the same thing stay below .97 (Describable Textures), copies saved anew as JPEG of quality 90 above .94."""

COPIES = 10
"""Candidates that are looked at for copies of the query, which come first."""

BONUS_DEPTH = 100
"""Hits that are looked at for a text equal to the query."""


class Run:
    """One query on one snapshot under one plan; `make` asks a field of the engine that holds the snapshot."""

    def __init__(
        self, searcher: ReadSide, query: Query, plan: SearchPlan, make: MakeRetriever = make_retriever
    ) -> None:
        self.searcher = searcher
        self.plan = plan
        self._make = make
        self.query = query if plan.query_encoder is None else query.asked_by(plan.query_encoder)
        self.retrievers: dict[str, Retriever] = {}
        for name in plan.fields:
            deadline.check(f"asking field {name}")
            self.retrievers[name] = make(searcher, name, self.query, plan.scoring.get(name), plan.ann)
        self.reranker = self._vectors(plan.reranker)
        self.captions = self._vectors(plan.captions)

    def _vectors(self, name: str | None) -> VectorRetriever | None:
        if name is None:
            return None
        found = self.retrievers.get(name) or self._make(self.searcher, name, self.query, None, None)
        if not isinstance(found, VectorRetriever):
            raise InvalidInput(f"field {name!r} cannot rerank: it is no field of vectors")
        return found

    @cached_property
    def late(self) -> LateQuery | None:
        """The tokens that rerank, where the plan wants them."""
        name = self.plan.late
        if name is None:
            return None
        finds = self.retrievers.get(name) or self._make(self.searcher, name, self.query, None, None)
        return LateQuery(self.searcher, name, self.query, finds.passage)

    def settings(self) -> dict[str, Any]:
        """The plan, and how each field was asked; flat where there is only one."""
        each = {name: retriever.settings() for name, retriever in self.retrievers.items()}
        return {**self.plan.to_json(), **(next(iter(each.values())) if len(each) == 1 else {"fields": each})}

    def search(self, k: int, mask: Any, bonus: float = 0.0) -> Ranking:
        """The k best documents; `bonus` is added where a stored text is the query itself.

        `mask` is what the engine made of a filter, for its own fields.
        """
        if bonus:
            return self._with_bonus(self._search(max(k, BONUS_DEPTH), mask), k, bonus)
        return self._search(k, mask)

    def _search(self, k: int, mask: Any) -> Ranking:
        if self.plan.silent:
            return Ranking.of(self.plan.fields[0], np.empty(0, np.int64), np.empty(0, np.float64))
        first = self._first(max(k, self.plan.rerank_depth), mask)
        deadline.check("reranking")
        if self.late is not None and len(first):
            return self.late.rerank(first, self.plan.rerank_depth).top(k)
        if self.reranker is None:
            return first
        depth, choice = self.plan.rerank_depth, None
        if self.plan.adaptive_k is not None:
            others = first.scores[self._copies(self.reranker, first) :]
            chosen = self.plan.adaptive_k.choose(others, k, self.rarity(first))
            depth, choice = chosen.K, chosen.to_json()
        if depth == 0:
            best = np.arange(min(k, len(first)))
            return first.reordered(best, first.scores[best], {}, choice=choice)
        return replace(self._refine(self.reranker, first, depth).top(k), choice=choice)

    def _copies(self, reranker: VectorRetriever, first: Ranking) -> int:
        """How many of the first candidates are the query itself: how far those stand above the others says nothing."""
        same = reranker.score(first.docs[:COPIES]) >= SAME
        return len(same) if same.all() else int(same.argmin())

    def rarity(self, first: Ranking) -> float | None:
        """How much of the query's words, rare ones first, the best document has; None where no words were asked."""
        for column, name in zip(first.raw.T, first.fields, strict=True):
            if self.retrievers[name].field.lexical:
                return self.retrievers[name].coverage(float(np.nanmax(column, initial=0.0)))
        return None

    def _refine(self, reranker: VectorRetriever, first: Ranking, depth: int) -> Ranking:
        chosen = first.docs[:depth]
        cosines = reranker.score(chosen)
        if self.plan.variant is None:
            return rerank_dense(first, cosines, reranker.name)
        text = None if self.captions is None else self.captions.score(chosen)
        context = context_coherence(reranker.vectors(chosen))
        fields = (reranker.name, self.plan.captions, reranker.name)
        return rerank_training_free(first, cosines, text, context, variant=self.plan.variant, fields=fields)

    def _first(self, k: int, mask: Any) -> Ranking:
        if self.plan.fusion is None:
            (name,) = self.plan.fields
            deadline.check(f"searching field {name}")
            found = Ranking.of(name, *self.retrievers[name].search(max(k, 2), mask))  # a lead takes two
            return found if k > 1 else found.top(k)
        candidates = self._candidates(self.plan.fusion.depth(k), mask)
        return replace(self.plan.fusion.fuse(candidates).top(k), best=candidates.best)

    def confidences(self, ranking: Ranking) -> dict[int, float]:
        """How likely each of the ranking's documents is a right answer, by its number: what the fields of the first
        stage say. A second stage changes the order of documents, not how likely each is."""
        first, retrievers = ranking.first, [self.retrievers[name] for name in ranking.first.fields]
        wholes = [retriever.whole() for retriever in retrievers]
        found = confidences(first, wholes, [retriever.field.evidence for retriever in retrievers])
        return dict(zip(first.docs.tolist(), found.tolist(), strict=True))

    def _candidates(self, depth: int, mask: Any, also: Ints | None = None) -> Candidates:
        lists, retrievers = [], list(self.retrievers.values())
        for retriever in retrievers:
            deadline.check(f"searching field {retriever.name}")
            docs, scores = retriever.search(depth, mask)
            field = retriever.field
            whole_texts = isinstance(field, VectorField) and field.pooled and field.reads == "text"
            size = self.searcher.mean_words if whole_texts else None
            lists.append(
                Ranking.of(retriever.name, docs, scores, retriever.n_scored(mask), field.weight, size, field.reads)
            )
        words = next((i for i, retriever in enumerate(retrievers) if retriever.field.lexical), None)
        covered = None if words is None else (words, retrievers[words].covered)
        return gather(lists, lambda i, docs: retrievers[i].score(docs), also, covered)

    def _with_bonus(self, found: Ranking, k: int, bonus: float) -> Ranking:
        wanted = _plain(self.query.text or "")
        texts = (self.searcher.document(doc).text or "" for doc in found.docs.tolist())
        same = np.array([bool(wanted) and _plain(text) == wanted for text in texts], np.bool_)
        raised = found.scores + np.where(same, bonus, 0.0)
        order = np.argsort(-raised, kind="stable")[:k]
        return found.reordered(order, raised[order], {EXACT: np.where(same[order], bonus, np.nan)})

    def passage(self, number: int) -> tuple[int, int] | None:
        """Where the passage stands by which a field, the first that has passages, finds a document."""
        spans = (retriever.passage(number) for retriever in self.retrievers.values())
        return next((span for span in spans if span is not None), None)

    def explain(self, ranking: Ranking, number: int, places: bool = True) -> Explanation:
        """Why one of the ranking's documents has its score; without `places`, it is not read again."""
        if ranking.before is None:
            trees = {name: self.retrievers[name].explain(number, places) for name in ranking.fields}
            return trees[ranking.fields[0]] if ranking.fusion is None else explain_fused(ranking, number, trees)
        if ranking.reranking is not None:
            refined = ranking.rows[number] < ranking.reranking.refined  # then what the first stage saw is no part of it
            coarse = None if refined else self.explain(ranking.before, number, places)
            late = self.late
            return explain_reranked(ranking, number, coarse) if late is None else late.explain(ranking, number, coarse)
        tree = self.explain(ranking.before, number, places)
        bonus = float(ranking.shares[ranking.rows[number], -1]) if EXACT in ranking.fields else math.nan
        if math.isnan(bonus):
            return tree
        parts = (tree, Explanation(bonus, "its text is the query itself", kind="bonus"))
        return Explanation(tree.value + bonus, "with the bonus for an exact match", parts)

    def highlight(self, number: int, options: dict[str, Any]) -> list[Snippet]:
        """From the first field that knows places in the text: words before latent terms, as fields are ordered."""
        best: list[Snippet] = []
        for retriever in self.retrievers.values():
            best = retriever.highlight(number, options)
            if any(snippet.marks for snippet in best):
                return best
        return best

    def explain_any(self, number: int) -> Explanation:
        """Why any document has the score it has, found or not; one that would not be reranked keeps its first score."""
        if self.plan.fusion is not None or self.plan.reranks:
            found = self.search(max(1, self.plan.rerank_depth), None)
            if number in found.rows:
                return self.explain(found, number)
        if self.plan.fusion is None:
            return self.retrievers[self.plan.fields[0]].explain(number)
        also = np.array([number], np.int64)
        return self.explain(self.plan.fusion.fuse(self._candidates(self.plan.fusion.depth(1), None, also)), number)


def _plain(text: str) -> str:
    """A text without what people do not look at: case, and space around and between words."""
    return " ".join(text.casefold().split())
