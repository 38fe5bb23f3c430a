"""Searches on a cluster: the embedded engine's own plans, fusion and reranking over our fields."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from zipfian.collection.execute import Run
from zipfian.collection.plan import SearchPlan, make_plan
from zipfian.collection.results import Results
from zipfian.collection.search import Request, results
from zipfian.collection.settings import Settings
from zipfian.engines.opensearch.reader import PAUSES_S, Reader
from zipfian.engines.opensearch.retrievers import make_retriever, no_faiss, no_formula
from zipfian.errors import EngineUnavailable, InvalidInput
from zipfian.fields.query import Query
from zipfian.fuse.ranking import Ranking
from zipfian.types import Explanation


def cluster_plan(reader: Reader, query: Query, k: int = 1, **how: Any) -> SearchPlan:
    """The plan of the embedded engine, unless a cluster cannot carry it out."""
    plan = make_plan(reader.settings, query, k, **how)
    if plan.scoring:
        raise InvalidInput(
            f"method {plan.name!r} scores a field by another formula than its own, and the formula is part "
            "of the index; "
            "use hybrid, rrf, linear, two-stage or training-free"
        )
    return plan


class ClusterAnswers:
    """Searches of a cluster; `reader` gives a fresh read side, since a point in time belongs to one search."""

    def __init__(self, reader: Callable[[], Reader], generation: int) -> None:
        self._reader = reader
        self._generation = generation

    @property
    def settings(self) -> Settings:
        """Fields and fields."""
        return self._reader().settings

    def plan(self, request: Request) -> SearchPlan:
        """How a search will be carried out."""
        no_formula(request.how.get("scoring"))
        no_faiss(request.how.get("ann"))
        return cluster_plan(self._reader(), request.query, request.depth, **request.how)

    def gains_from_threads(self, plans: Sequence[SearchPlan]) -> bool:
        """Always: a search waits for the cluster most of its time."""
        return True

    def together(self, requests: Sequence[Request], plans: Sequence[SearchPlan]) -> AbstractContextManager[None]:
        """Each search asks the cluster for itself."""
        return nullcontext()

    def run(self, request: Request, plan: SearchPlan | None = None) -> Results:
        """Carry it out; several requests see one point in time."""
        reader, depth, bonus = self._reader(), request.depth, request.bonus
        start, encoded = time.perf_counter(), request.query.seconds[0]
        plan = plan or self.plan(request)
        made = Run(reader, request.query, plan, make_retriever)
        prepare = time.perf_counter() - start
        mask = reader.mask(request.allowed(reader.settings))
        one = len(plan.fields) == 1 and not plan.reranks and not reader.settings.field(plan.fields[0]).has_vectors
        ranking = made.search(depth, mask, bonus) if one else _pinned(reader, lambda: made.search(depth, mask, bonus))
        return results(reader, made, ranking, request, self._generation, start, encoded, times={"prepare": prepare})


def _pinned(reader: Reader, search: Callable[[], Ranking]) -> Ranking:
    """All requests of a search in one point in time; a new one when a node took it along."""
    for pause in PAUSES_S:
        try:
            with reader.pinned():
                return search()
        except EngineUnavailable:
            time.sleep(pause)
    with reader.pinned():
        return search()


def explain_id(reader: Reader, query: Query, plan: SearchPlan, doc_id: str) -> Explanation:
    """A document's score for a query, whether it finds it or not."""
    return Run(reader, query, plan, make_retriever).explain_any(reader.number(doc_id))
