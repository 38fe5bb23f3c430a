"""One search: what a caller wrote, checked, carried out on a snapshot, and made `Results` of."""

from __future__ import annotations

import dataclasses
import json
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from zipfian.collection.execute import Run
from zipfian.collection.plan import SearchPlan, make_plan
from zipfian.collection.protocol import ReadSide
from zipfian.collection.results import Found, Results
from zipfian.collection.searcher import Searcher
from zipfian.collection.settings import Settings
from zipfian.encode.picture_files import HASH_COLUMN
from zipfian.errors import InvalidInput, shown
from zipfian.fields.base import VectorField
from zipfian.fields.query import Query, Vector
from zipfian.fuse.ranking import Ranking
from zipfian.retrieve.filters import check_depth
from zipfian.retrieve.validate import check_offset
from zipfian.types import Explanation

PLANNED = ("fields", "method", "preset", "scoring", "rerank_depth", "ann")
"""Options of a search that its plan follows from."""

REMEMBERED = 64
"""Rankings kept. A query picture's patches take 0.7 MB, a text's word pieces some kilobytes."""

SMALL = 1 << 18
"""Documents below which a search of one field takes longer on two threads than on one: 0.19 and 0.26 ms in 100,000
documents of 16 terms, 0.42 and 0.32 in a million, on two processors."""

NOTHING: Mapping[str, Any] = {}

OTHERS = ("where", "offset", "query_encoder", "exact_match_bonus", "min_confidence", "exclude_self", "adjust")


@dataclass(frozen=True, slots=True)
class Request:
    """What is looked for, which of its hits are wanted, and how."""

    query: Query
    k: int
    offset: int = 0
    where: Mapping[str, Any] | None = None
    bonus: float = 0.0
    least: float = 0.0
    """Confidence that a hit must have to come back."""
    own: str | None = None
    """sha256 of the query picture's file, where the picture itself is not to come back."""
    how: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """What a caller said of the options that `make_plan` takes."""

    @classmethod
    def of(cls, query: Any, image: Any, k: Any, options: Mapping[str, Any]) -> Request:
        """From the arguments of `Collection.search`."""
        offset, k = check_offset(options.get("offset", 0), k)
        bonus = options.get("exact_match_bonus", 0.0)
        check_bonus(bonus)
        least = check_confidence(options.get("min_confidence", 0.0))
        how = {name: options[name] for name in PLANNED if options.get(name) is not None}
        asked = Query.of(query, image, options.get("query_encoder"), options.get("adjust"))
        own = asked.picture_sha256() if check_exclude(options.get("exclude_self", False)) else None
        return cls(asked, k, offset, options.get("where"), bonus, least, own, how)

    @property
    def depth(self) -> int:
        """Hits that must be found for the wanted ones to be among them."""
        return self.offset + self.k

    def allowed(self, settings: Settings) -> Mapping[str, Any] | None:
        """The filter that documents must pass: the caller's, and being another picture than the one asked with."""
        if self.own is None or HASH_COLUMN not in settings.columns:
            return self.where
        others = {"not": {HASH_COLUMN: self.own}}
        return others if self.where is None else {"and": [self.where, others]}

    def key(self) -> str | None:
        """Differs wherever the ranking could; None where telling costs more than searching."""
        query = self.query.key()
        if query is None:
            return None
        try:
            return _key([query, self.depth, self.where, self.bonus, self.own is not None, self.how])
        except (TypeError, ValueError):
            return None  # dates and the like in a filter: searched anew


def _settings(value: Any) -> Any:
    """A formula, a fusion or a chooser of K in a key."""
    if not hasattr(value, "to_json"):
        raise TypeError(f"no part of a key: {type(value).__name__}")
    return [type(value).__name__, value.to_json()]


_key = json.JSONEncoder(sort_keys=True, default=_settings).encode


class Answers(Protocol):
    """What an engine answers searches with: one state of a collection."""

    @property
    def settings(self) -> Settings:
        """Fields and columns."""

    def plan(self, request: Request) -> SearchPlan:
        """How a search will be carried out."""

    def run(self, request: Request, plan: SearchPlan | None = None) -> Results:
        """Carry it out, as planned before or now; called from several threads."""

    def gains_from_threads(self, plans: Sequence[SearchPlan]) -> bool:
        """Whether such searches are done sooner side by side."""

    def together(self, requests: Sequence[Request], plans: Sequence[SearchPlan]) -> AbstractContextManager[None]:
        """While this lasts, these searches are carried out: they may share work."""


class QueryCache:
    """The last few rankings of one snapshot, so that asking again costs no encoder and no search; for any thread."""

    def __init__(self, size: int = REMEMBERED) -> None:
        self._size = size
        self._kept: OrderedDict[str, tuple[Run, Ranking]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> tuple[Run, Ranking] | None:
        """What is kept under a key."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key]

    def put(self, key: str, made: Run, ranking: Ranking) -> None:
        """Keep a ranking; the one not asked for longest makes room."""
        with self._lock:
            self._kept[key] = (made, ranking)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)


class FolderAnswers:
    """Searches of one snapshot; what was asked before is taken from the query cache."""

    def __init__(self, searcher: Searcher) -> None:
        self.searcher = searcher
        self.settings = searcher.settings
        # kept beside the searcher, not in it: what refers to itself would keep a snapshot's files from being removed
        self._cache = QueryCache()

    def plan(self, request: Request) -> SearchPlan:
        """How a search will be carried out."""
        return make_plan(self.settings, request.query, request.depth, **request.how)

    def run(self, request: Request, plan: SearchPlan | None = None) -> Results:
        """Carry it out."""
        searcher = self.searcher
        if isinstance(request.where, Mapping):
            check_depth(request.where)  # before the filter becomes part of a key
        start, encoded = time.perf_counter(), request.query.seconds[0]
        key = request.key()
        known = None if key is None else self._cache.get(key)
        if known is not None:
            return results(searcher, *known, request, searcher.generation, start, encoded, {"repeated": True})
        made = Run(searcher, request.query, plan or self.plan(request))
        prepared = time.perf_counter()
        where = request.allowed(self.settings)
        mask = None if where is None else searcher.mask(where)
        filtered = time.perf_counter()
        ranking = made.search(request.depth, mask, request.bonus)
        if key is not None:
            self._cache.put(key, made, ranking)
        times = {"prepare": prepared - start, "filter": filtered - prepared}
        return results(searcher, made, ranking, request, searcher.generation, start, encoded, times=times)

    def gains_from_threads(self, plans: Sequence[SearchPlan]) -> bool:
        """Not where one field of a small collection answers: that is mostly Python, which one thread runs at a time."""
        return len(self.searcher) >= SMALL or any(len(plan.fields) > 1 or plan.reranks for plan in plans)

    @contextmanager
    def together(self, requests: Sequence[Request], plans: Sequence[SearchPlan]) -> Iterator[None]:
        """Scans of vectors are shared by searches without a filter."""
        vectors: dict[str, list[Vector]] = {}
        for request, plan in zip(requests, plans, strict=True):
            if plan.ann is None and not plan.silent and request.allowed(self.settings) is None:
                query = request.query if plan.query_encoder is None else request.query.asked_by(plan.query_encoder)
                for name in plan.fields:
                    field = self.settings.field(name)
                    if isinstance(field, VectorField):
                        vectors.setdefault(name, []).append(field.vector_of(query))
        with ExitStack() as held:
            for name, asked in vectors.items():
                dense = self.searcher.dense(name)
                held.enter_context(dense.expecting([vector for vector in asked if len(vector) == dense.dim]))
            yield

    def explain(self, query: Query, doc_id: str, how: Mapping[str, Any]) -> Explanation:
        """A document's score for a query, whether it finds it or not."""
        plan = make_plan(self.settings, query, **how)
        return Run(self.searcher, query, plan).explain_any(self.searcher.number(doc_id))


def results(
    searcher: ReadSide, made: Run, ranking: Ranking, request: Request, generation: int, start: float, encoded: float,
    report: Mapping[str, Any] = NOTHING, times: Mapping[str, float] = NOTHING,
) -> Results:  # fmt: skip
    """What a search returns, from its ranking: the hits behind the offset that are likely enough."""
    query, offset = request.query, request.offset
    ids = searcher.ids_of(ranking.docs[offset:])
    total = time.perf_counter() - start
    prepare, filtering = times.get("prepare", 0.0), times.get("filter", 0.0)
    given: dict[str, Any] = {"k": request.k, "offset": offset, "where": request.where}
    if request.least:
        given["min_confidence"] = request.least
    if request.own is not None:
        given["exclude_self"] = True
    return Results(
        query=query.text if query.text is not None else query.terms,
        generation=generation,
        timings={
            "prepare": prepare,
            "encode": query.seconds[0] - encoded,
            "filter": filtering,
            "search": total - prepare - filtering,
            "total": total,
        },
        _found=Found(ids, offset, ranking, searcher.document, lambda: made.confidences(ranking), request.least),
        _settings=lambda: {**made.settings(), **ranking.report(), **given, **report},
        _explain=lambda doc, places: made.explain(ranking, doc, places),
        _highlight=made.highlight,
        _picture=searcher.settings.trust.picture,
        _passage=made.passage,
    )


def check_bonus(bonus: Any) -> None:
    """A usable reward for exact matches."""
    if (
        isinstance(bonus, bool)
        or not isinstance(bonus, int | float | np.number)
        or not 0.0 <= bonus <= sys.float_info.max
    ):
        raise InvalidInput(f"exact_match_bonus must be a number from 0, not {shown(bonus)}")


def check_exclude(exclude: Any) -> bool:
    """Whether the query picture itself is left out."""
    if not isinstance(exclude, bool):
        raise InvalidInput(f"exclude_self is True or False, not {shown(exclude)}")
    return exclude


def check_confidence(least: Any) -> float:
    """A usable confidence to ask for."""
    if isinstance(least, bool) or not isinstance(least, int | float | np.number) or not 0.0 <= least <= 1.0:
        raise InvalidInput(f"min_confidence is a probability from 0 (every hit) to 1, not {shown(least)}")
    return float(least)
