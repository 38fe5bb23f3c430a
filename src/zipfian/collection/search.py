"""From a question to `Results`, on one view of a collection."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from zipfian.collection.hybrid import Run
from zipfian.collection.plan import Plan, make_plan
from zipfian.collection.question import Question
from zipfian.collection.results import Hit, Results
from zipfian.collection.view import View
from zipfian.explain.highlight import Snippet
from zipfian.types import Explanation


def run(view: View, question: Question, plan: Plan, k: int, where: Mapping[str, Any] | None) -> Results:
    """Carry a plan out."""
    start, encoded = time.perf_counter(), question.seconds[0]
    made = Run(view, question, plan)
    t_prepare = time.perf_counter()
    mask = view.mask(where)
    t_filter = time.perf_counter()
    outcome = made.search(k, mask)
    hits = []
    for i, (doc, score, doc_id) in enumerate(
        zip(outcome.docs.tolist(), outcome.scores.tolist(), view.ids_of(outcome.docs), strict=True)
    ):
        legs = outcome.leg_hits(i, plan.judge)
        hits.append(Hit(doc_id, score, i + 1, legs, doc, outcome.old_rank(i), view.loader(doc)))
    end = time.perf_counter()
    return Results(
        hits=tuple(hits),
        query=question.text if question.text is not None else question.terms,
        generation=view.generation,
        settings={**plan.to_json(), **made.settings(), **outcome.report(), "k": k, "where": where},
        timings={
            "prepare": t_prepare - start,
            "encode": question.seconds[0] - encoded,
            "filter": t_filter - t_prepare,
            "search": end - t_filter,
            "total": end - start,
        },
        _explain=lambda doc: made.explain(outcome, doc),
        _highlight=lambda doc, options: _highlight(made, doc, options),
    )


def _highlight(made: Run, doc: int, options: dict[str, Any]) -> list[Snippet]:
    """From the first leg that knows places in the text: words before latent terms, as legs are ordered."""
    best: list[Snippet] = []
    for query in made.queries.values():
        best = query.highlight(doc, options)
        if any(snippet.marks for snippet in best):
            return best
    return best


def explain_id(view: View, question: Question, plan: Plan, doc_id: str) -> Explanation:
    """A document's score for a question, whether it finds it or not."""
    return Run(view, question, plan).explain_any(view.number(doc_id))


__all__ = ["explain_id", "make_plan", "run"]
