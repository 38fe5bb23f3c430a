"""From a query to `Results`, on one searcher of a collection."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from zipfian.collection.asking import Asking
from zipfian.collection.execute import Run
from zipfian.collection.plan import SearchPlan, make_plan
from zipfian.collection.protocol import ReadSide
from zipfian.collection.query_cache import QueryCache, key_of
from zipfian.collection.results import EXACT, Hit, Results, fields_of
from zipfian.collection.searcher import Searcher
from zipfian.collection.settings import Settings
from zipfian.explain.highlight import Snippet
from zipfian.fields.query import Query
from zipfian.fuse.ranking import Ranking
from zipfian.retrieve.filters import check_depth
from zipfian.types import Explanation


class FolderAnswers:
    """Searches of one snapshot; what was asked before is taken from the query cache."""

    def __init__(self, searcher: Searcher, cache: QueryCache[tuple[Run, Ranking]]) -> None:
        self._searcher = searcher
        self._cache = cache

    @property
    def settings(self) -> Settings:
        """Fields and columns."""
        return self._searcher.settings

    def plan(self, asking: Asking) -> SearchPlan:
        """How a search will be carried out."""
        return make_plan(self.settings, asking.query, k=asking.depth, **asking.how)

    def run(self, asking: Asking, plan: SearchPlan) -> Results:
        """Carry it out."""
        searcher, query, where = self._searcher, asking.query, asking.where
        if isinstance(where, Mapping):
            check_depth(where)  # before the filter becomes part of a key
        start, encoded = time.perf_counter(), query.seconds[0]
        times: dict[str, float] = {}

        def search() -> tuple[Run, Ranking]:
            made = Run(searcher, query, plan)
            times["prepare"] = time.perf_counter() - start
            mask = searcher.mask(where)
            times["filter"] = time.perf_counter() - start - times["prepare"]
            return made, made.search(asking.depth, mask, asking.bonus)

        key = key_of(query, plan, asking.depth, where, asking.bonus)
        (made, ranking), again = self._cache.get(key, search)
        report = {"repeated": True} if again else {}
        return results(searcher, made, ranking, asking, searcher.generation, report, start, encoded, times)


def results(
    searcher: ReadSide, made: Run, ranking: Ranking, asking: Asking, generation: int, report: Mapping[str, Any],
    start: float, encoded: float, times: Mapping[str, float],
) -> Results:  # fmt: skip
    """What a search returns, from its ranking: the hits behind the offset."""
    query, offset = asking.query, asking.offset
    docs, scores, first = ranking.docs[offset:], ranking.scores[offset:], ranking.first
    hits = []
    for row, (doc, score, doc_id) in enumerate(zip(docs.tolist(), scores.tolist(), searcher.ids_of(docs), strict=True)):
        fields = fields_of(ranking, row + offset)
        rank, old = row + offset + 1, first.rows[doc] + 1
        hits.append(Hit(doc_id, score, rank, fields, doc, old, EXACT in fields, searcher.loader(doc)))
    total = time.perf_counter() - start
    prepare, filtering = times.get("prepare", 0.0), times.get("filter", 0.0)
    given = {"k": asking.k, "offset": offset, "where": asking.where}
    settings = {**made.plan.to_json(), **made.settings(), **ranking.report(), **given, **report}
    return Results(
        hits=tuple(hits),
        query=query.text if query.text is not None else query.terms,
        generation=generation,
        settings=settings,
        timings={
            "prepare": prepare,
            "encode": query.seconds[0] - encoded,
            "filter": filtering,
            "search": total - prepare - filtering,
            "total": total,
        },
        _explain=lambda doc: made.explain(ranking, doc),
        _highlight=lambda doc, options: _highlight(made, doc, options),
        _picture=searcher.settings.trust.picture,
        _passage=made.passage,
    )


def _highlight(made: Run, doc: int, options: dict[str, Any]) -> list[Snippet]:
    """From the first field that knows places in the text: words before latent terms, as fields are ordered."""
    best: list[Snippet] = []
    for retriever in made.retrievers.values():
        best = retriever.highlight(doc, options)
        if any(snippet.marks for snippet in best):
            return best
    return best


def explain_id(searcher: Searcher, query: Query, plan: SearchPlan, doc_id: str) -> Explanation:
    """A document's score for a query, whether it finds it or not."""
    return Run(searcher, query, plan).explain_any(searcher.number(doc_id))


__all__ = ["FolderAnswers", "explain_id", "make_plan", "results"]
