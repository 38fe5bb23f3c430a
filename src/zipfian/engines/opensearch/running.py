"""Searches on a cluster: the embedded engine's own plans, fusion and reranking over our legs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from zipfian.collection.hybrid import Run
from zipfian.collection.outcome import Outcome
from zipfian.collection.plan import Plan, make_plan
from zipfian.collection.question import Question
from zipfian.collection.results import Results
from zipfian.collection.search import results
from zipfian.engines.opensearch.legquery import leg_query
from zipfian.engines.opensearch.reader import PAUSES_S, Reader
from zipfian.errors import EngineUnavailable, InvalidInput
from zipfian.types import Explanation


def cluster_plan(reader: Reader, question: Question, **how: Any) -> Plan:
    """The plan of the embedded engine, unless a cluster cannot carry it out."""
    plan = make_plan(reader.settings, question, **how)
    if plan.scoring:
        raise InvalidInput(
            f"method {plan.name!r} scores a leg by another formula than its own, and the formula is part of the index; "
            "use hybrid, rrf, linear, two-stage or training-free"
        )
    return plan


def run(
    reader: Reader, question: Question, plan: Plan, k: int, where: Mapping[str, Any] | None, generation: int,
    bonus: float = 0.0,
) -> Results:  # fmt: skip
    """Carry a plan out; several requests see one point in time."""
    start, encoded = time.perf_counter(), question.seconds[0]
    made = Run(reader, question, plan, leg_query)
    prepare = time.perf_counter() - start
    mask = reader.mask(where)
    one = len(plan.legs) == 1 and not plan.reranks and not reader.settings.leg(plan.legs[0]).has_vectors
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
    return Run(reader, question, plan, leg_query).explain_any(reader.number(doc_id))
