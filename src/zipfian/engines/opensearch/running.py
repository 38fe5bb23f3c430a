"""Searches of several legs on a cluster: the embedded engine's own plans, fusion and reranking over our legs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from zipfian.collection.hybrid import Run
from zipfian.collection.outcome import Outcome
from zipfian.collection.plan import Plan, make_plan
from zipfian.collection.question import Question
from zipfian.collection.results import Results
from zipfian.collection.search import results
from zipfian.engines.opensearch.errors import EngineUnavailable
from zipfian.engines.opensearch.legquery import DenseQuery, leg_query
from zipfian.engines.opensearch.reader import PAUSES_S, Reader
from zipfian.errors import InvalidInput
from zipfian.fuse.methods import Method
from zipfian.types import Explanation


class ClusterRun(Run):
    """One question on one reader under one plan; everything but the legs themselves is the embedded engine's."""

    def __init__(self, reader: Reader, question: Question, plan: Plan) -> None:
        view: Any = reader  # numbers, ids and documents, as a view has them
        self.view = view
        self.plan = plan
        self.question = question.asked_by(plan.query)
        made: dict[str, Any] = {name: leg_query(reader, name, self.question) for name in plan.legs}
        self.queries = made
        self.judge: Any = None if plan.judge is None else DenseQuery(reader, plan.judge, self.question)
        self.captions: Any = None if plan.captions is None else DenseQuery(reader, plan.captions, self.question)


def cluster_plan(
    reader: Reader, question: Question, *, k: int = 1, leg: str | None = None, method: str | Method | None = None,
    preset: str | None = None, depth: int | None = None,
) -> Plan:  # fmt: skip
    """The plan of the embedded engine, less what a cluster cannot do.

    Legs of vectors do not search here; where a plan has them among others they are left out, and as judges of
    candidates they stay.
    """
    plan = make_plan(reader.settings, question, k=k, leg=leg, method=method, preset_name=preset, depth=depth)
    if plan.scoring:
        raise InvalidInput(
            f"method {plan.name!r} scores a leg by another formula than its own, and the formula is part of the index; "
            "use hybrid, rrf, linear or two-stage"
        )
    inverted = tuple(name for name in plan.legs if not reader.settings.leg(name).has_vectors)
    if not inverted:
        raise InvalidInput(
            f"legs of vectors ({', '.join(plan.legs)}) only rerank here: a cluster without a vector plugin cannot "
            "search them; give the collection an inverted leg"
        )
    if len(inverted) == len(plan.legs):
        return plan
    return replace(plan, legs=inverted, fusion=plan.fusion if len(inverted) > 1 else None)


def run(
    reader: Reader, question: Question, plan: Plan, k: int, where: Mapping[str, Any] | None, generation: int,
    bonus: float = 0.0,
) -> Results:  # fmt: skip
    """Carry a plan out; several requests see one point in time."""
    start, encoded = time.perf_counter(), question.seconds[0]
    made = ClusterRun(reader, question, plan)
    prepare = time.perf_counter() - start
    mask: Any = reader.mask(where)
    one = len(plan.legs) == 1 and plan.judge is None
    outcome = made.search(k, mask, bonus) if one else _pinned(reader, lambda: made.search(k, mask, bonus))
    return results(reader, made, outcome, question, k, where, generation, {}, start, encoded, {"prepare": prepare})


def _pinned(reader: Reader, search: Callable[[], Outcome]) -> Outcome:
    """All requests of a search in one point in time; a new one when a node took it along."""
    for pause in PAUSES_S:
        try:
            with reader.pinned():
                return search()
        except EngineUnavailable:
            time.sleep(pause)
    with reader.pinned():
        return search()


def explain_id(reader: Reader, question: Question, plan: Plan, doc_id: str) -> Explanation:
    """A document's score for a question, whether it finds it or not."""
    return ClusterRun(reader, question, plan).explain_any(reader.number(doc_id))
