"""From a query to `Results`, on one view of a collection."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from zipfian.collection.items import check_terms
from zipfian.collection.results import Document, Hit, LegHit, Results
from zipfian.collection.settings import Leg, Settings
from zipfian.collection.view import View
from zipfian.errors import InvalidInput
from zipfian.explain.highlight import Snippet, highlight
from zipfian.explain.terms import explain_leg
from zipfian.retrieve.scoring import Scoring
from zipfian.retrieve.searcher import LegSearcher, Query
from zipfian.retrieve.statistics import Term
from zipfian.types import Explanation, Terms, Token


def choose_leg(settings: Settings, query: Any, name: str | None) -> str:
    """The leg a query is for: the one named, or the only one of the query's kind."""
    if not isinstance(query, (str, Terms, Mapping, tuple, list)):
        raise InvalidInput(
            f"a query is a text, Terms, (ids, weights) or a mapping id -> weight, not {type(query).__name__}"
        )
    kind = "words" if isinstance(query, str) else "terms"
    if name is not None:
        if settings.leg(name).kind != kind:
            raise InvalidInput(f"leg {name!r} takes {'a text' if kind == 'terms' else 'terms'}, not {query!r:.60}")
        return name
    fitting = [n for n, leg in settings.legs.items() if leg.kind == kind]
    if not fitting:
        asked = "a text" if kind == "words" else "ready-made terms"
        raise InvalidInput(f"no leg of this collection takes {asked}; it has: {', '.join(settings.legs)}")
    if kind == "terms" and len(fitting) > 1:
        raise InvalidInput(f"several legs take terms ({', '.join(fitting)}): name one with leg=")
    return fitting[0]


def query_terms(leg: Leg, query: Any) -> Mapping[str, float] | Mapping[int, float]:
    """The terms of a query and their weights, in the order in which a score is summed."""
    if isinstance(query, str):
        if not query or query.isspace():
            raise InvalidInput("the query is empty")
        return leg.vocabulary.query(query)
    terms = check_terms(query, leg.n_terms)
    if not len(terms):
        raise InvalidInput("the query has no terms")
    return dict(zip(terms.ids.tolist(), terms.weights.astype(np.float64).tolist(), strict=True))


def run(
    view: View, query: Any, k: int, where: Mapping[str, Any] | None, leg_name: str | None, scoring: Scoring | None
) -> Results:
    """Search one leg."""
    start = time.perf_counter()
    name = choose_leg(view.settings, query, leg_name)
    leg = view.settings.leg(name)
    searcher = view.searcher(name)
    prepared = searcher.prepare(query_terms(leg, query), scoring)
    t_prepare = time.perf_counter()
    mask = view.mask(where)
    t_filter = time.perf_counter()
    docs, scores = searcher.search(prepared, k, mask)
    hits = []
    for rank, (doc, score, doc_id) in enumerate(zip(docs.tolist(), scores.tolist(), view.ids_of(docs), strict=True), 1):
        hits.append(Hit(doc_id, score, rank, {name: LegHit(rank, score, 1.0)}, doc, _Loader(view, doc)))
    end = time.perf_counter()
    return Results(
        hits=tuple(hits),
        query=query,
        generation=view.generation,
        settings={"leg": name, "scoring": prepared.scoring.to_json(), "k": k, "where": where},
        timings={
            "prepare": t_prepare - start,
            "filter": t_filter - t_prepare,
            "search": end - t_filter,
            "total": end - start,
        },
        _explain=lambda doc: explain_document(view, searcher, leg, prepared, doc),
        _highlight=lambda doc, options: highlight_document(view, searcher, leg, prepared, doc, options),
    )


class _Loader:
    """Reads a document once, when somebody asks for it."""

    def __init__(self, view: View, doc: int) -> None:
        self._view = view
        self._doc = doc
        self._found: Document | None = None

    def __call__(self) -> Document:
        if self._found is None:
            self._found = load_document(self._view, self._doc)
        return self._found


def load_document(view: View, number: int) -> Document:
    """The stored fields of a document."""
    segment, doc = view.place(number)
    return Document(segment.docs.id(doc), segment.docs.text(doc), segment.docs.metadata(doc))


def explain_id(view: View, query: Any, doc_id: str, leg_name: str | None, scoring: Scoring | None) -> Explanation:
    """A document's score for a query, whether the query finds it or not."""
    name = choose_leg(view.settings, query, leg_name)
    leg, searcher = view.settings.leg(name), view.searcher(name)
    prepared = searcher.prepare(query_terms(leg, query), scoring)
    return explain_document(view, searcher, leg, prepared, view.number(doc_id))


def explain_document(view: View, searcher: LegSearcher, leg: Leg, query: Query, number: int) -> Explanation:
    """A document's score as a tree, with the places of the words in its text."""

    def places(terms: list[Term]) -> Mapping[Term, tuple[Mapping[str, Any], ...]]:
        text = load_document(view, number).text
        if leg.kind != "words" or not text:
            return {}
        found: dict[Term, list[Mapping[str, Any]]] = {}
        for token in _spans(leg, text, terms):
            place = {"start": token.start, "end": token.end, "text": text[token.start : token.end]}
            found.setdefault(token.term, []).append(place)
        return {term: tuple(rows) for term, rows in found.items()}

    return explain_leg(searcher, query, number, places)


def highlight_document(
    view: View, searcher: LegSearcher, leg: Leg, query: Query, number: int, options: dict[str, Any]
) -> list[Snippet]:
    """Passages of the stored text; words that gave more of the score are worth more."""
    text = load_document(view, number).text or ""
    if leg.kind != "words":
        return highlight(text, [], **options)
    parts, _ = searcher.contributions(query, number)
    worth = {str(t): float(v) for t, v in zip(query.terms, parts, strict=True) if v > 0.0}
    return highlight(text, _spans(leg, text, list(worth)), weights=worth, **options)


def _spans(leg: Leg, text: str, terms: list[Any]) -> list[Token]:
    return leg.vocabulary.spans(text, frozenset(map(str, terms)))
