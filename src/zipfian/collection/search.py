"""From a question to `Results`, on one view of a collection."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from zipfian.collection.legquery import LegQuery, leg_query
from zipfian.collection.question import Question
from zipfian.collection.results import Hit, LegHit, Results
from zipfian.collection.settings import Settings
from zipfian.collection.view import View
from zipfian.errors import InvalidInput
from zipfian.retrieve.scoring import Scoring
from zipfian.types import Explanation


def choose_leg(settings: Settings, question: Question, name: str | None) -> str:
    """The leg a question is for: the one named, or the first that can answer it."""
    if name is not None:
        settings.leg(name)
        return name
    fitting = [n for n, leg in settings.legs.items() if question.fits(leg)]
    if not fitting:
        raise InvalidInput(f"no leg of this collection takes {question.describe()}; it has: {', '.join(settings.legs)}")
    if question.terms is not None and len(fitting) > 1:
        raise InvalidInput(f"several legs take terms ({', '.join(fitting)}): name one with leg=")
    return fitting[0]


def prepare(view: View, question: Question, leg: str | None, scoring: Scoring | None) -> LegQuery:
    """The question for the leg it is meant for."""
    return leg_query(view, choose_leg(view.settings, question, leg), question, scoring)


def run(
    view: View, question: Question, k: int, where: Mapping[str, Any] | None, leg: str | None, scoring: Scoring | None
) -> Results:
    """Search one leg."""
    start = time.perf_counter()
    asked = prepare(view, question, leg, scoring)
    t_prepare = time.perf_counter()
    mask = view.mask(where)
    t_filter = time.perf_counter()
    docs, scores = asked.search(k, mask)
    hits = []
    for rank, (doc, score, doc_id) in enumerate(zip(docs.tolist(), scores.tolist(), view.ids_of(docs), strict=True), 1):
        hits.append(Hit(doc_id, score, rank, {asked.name: LegHit(rank, score, 1.0)}, doc, view.loader(doc)))
    end = time.perf_counter()
    return Results(
        hits=tuple(hits),
        query=question.text if question.text is not None else question.terms,
        generation=view.generation,
        settings={**asked.settings(), "k": k, "where": where},
        timings={
            "prepare": t_prepare - start,
            "filter": t_filter - t_prepare,
            "search": end - t_filter,
            "total": end - start,
        },
        _explain=asked.explain,
        _highlight=asked.highlight,
    )


def explain_id(view: View, question: Question, doc_id: str, leg: str | None, scoring: Scoring | None) -> Explanation:
    """A document's score for a question, whether it finds it or not."""
    return prepare(view, question, leg, scoring).explain(view.number(doc_id))
