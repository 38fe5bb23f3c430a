"""From a question to `Results`, on one view of a collection."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from zipfian.collection.hybrid import Run
from zipfian.collection.outcome import Outcome
from zipfian.collection.plan import Plan, make_plan
from zipfian.collection.protocol import ReadSide
from zipfian.collection.question import Question
from zipfian.collection.results import Hit, Results
from zipfian.collection.shortlists import Shortlists, key_of
from zipfian.collection.view import View
from zipfian.errors import InvalidInput, shown
from zipfian.explain.highlight import Snippet
from zipfian.retrieve.filters import check_depth
from zipfian.types import Explanation


def run(
    view: View, question: Question, plan: Plan, k: int, where: Mapping[str, Any] | None, bonus: float,
    shortlists: Shortlists[tuple[Run, Outcome]],
) -> Results:  # fmt: skip
    """Carry a plan out, or take its outcome from the snapshot's shortlists."""
    if isinstance(where, Mapping):
        check_depth(where)  # before the filter becomes part of a key
    start, encoded = time.perf_counter(), question.seconds[0]
    times: dict[str, float] = {}

    def search() -> tuple[Run, Outcome]:
        made = Run(view, question, plan)
        times["prepare"] = time.perf_counter() - start
        mask = view.mask(where)
        times["filter"] = time.perf_counter() - start - times["prepare"]
        return made, made.search(k, mask, bonus)

    (made, outcome), again = shortlists.get(key_of(question, plan, k, where, bonus), search)
    report = {"repeated": True} if again else {}
    return results(view, made, outcome, question, k, where, view.generation, report, start, encoded, times)


def results(
    view: ReadSide, made: Run, outcome: Outcome, question: Question, k: int, where: Mapping[str, Any] | None,
    generation: int, report: Mapping[str, Any], start: float, encoded: float, times: Mapping[str, float],
) -> Results:  # fmt: skip
    """What a search returns, from its outcome."""
    numbers = zip(outcome.docs.tolist(), outcome.scores.tolist(), view.ids_of(outcome.docs), strict=True)
    hits = tuple(
        Hit(
            doc_id, score, rank, outcome.legs_of(doc), doc, outcome.first_rank(doc), doc in outcome.exact,
            view.loader(doc),
        )
        for rank, (doc, score, doc_id) in enumerate(numbers, 1)
    )  # fmt: skip
    total = time.perf_counter() - start
    prepare, filtering = times.get("prepare", 0.0), times.get("filter", 0.0)
    settings = {**made.plan.to_json(), **made.settings(), **outcome.report(), "k": k, "where": where, **report}
    return Results(
        hits=hits,
        query=question.text if question.text is not None else question.terms,
        generation=generation,
        settings=settings,
        timings={
            "prepare": prepare,
            "encode": question.seconds[0] - encoded,
            "filter": filtering,
            "search": total - prepare - filtering,
            "total": total,
        },
        _explain=lambda doc: made.explain(outcome, doc),
        _highlight=lambda doc, options: _highlight(made, doc, options),
    )


def check_bonus(bonus: Any) -> None:
    """A usable reward for exact matches."""
    if (
        isinstance(bonus, bool)
        or not isinstance(bonus, int | float | np.number)
        or not 0.0 <= bonus <= sys.float_info.max
    ):
        raise InvalidInput(f"exact_match_bonus must be a number from 0, not {shown(bonus)}")


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
