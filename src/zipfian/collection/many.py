"""Many searches answered together: encoders see their queries at once, scans of vectors and some threads are shared."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import Context, copy_context
from itertools import chain
from typing import Any

from zipfian import deadline, limits
from zipfian.collection.plan import SearchPlan
from zipfian.collection.results import Results
from zipfian.collection.search import OTHERS, PLANNED, Answers, Request
from zipfian.collection.settings import Settings
from zipfian.encode.session import available_threads
from zipfian.errors import InvalidInput, LimitExceeded, shown
from zipfian.fields.query import Query, encode_together
from zipfian.retrieve.validate import check_k

AT_ONCE = 64
"""Queries encoded together: 50 MB of patches where they are pictures."""

TURNS = 4
"""Parts that each worker's share of those is cut into, so that none waits long for another with slow queries."""


def requests(queries: Any, images: Any, k: Any, options: Mapping[str, Any]) -> list[Request]:
    """The arguments of `Collection.search_many` as searches."""
    for name in options:
        if name not in PLANNED and name not in OTHERS:
            known = ", ".join((*OTHERS, *PLANNED))
            raise InvalidInput(f"search_many has no option {shown(name)}; options of a search are {known}")
    most = limits.MAX_BATCH_HITS // check_k(k)
    return [Request.of(query, image, k, options) for query, image in _pairs(queries, images, most)]


def _pairs(queries: Any, images: Any, most: int) -> Iterator[tuple[Any, Any]]:
    """Texts and pictures, side by side where both are given."""
    texts, pictures = _listed("queries", queries, most), _listed("images", images, most)
    if texts is None and pictures is None:
        raise InvalidInput("nothing to look for: give queries, pictures (images=) or as many of both")
    if texts is not None and pictures is not None and len(texts) != len(pictures):
        raise InvalidInput(f"{len(texts)} queries and {len(pictures)} images: each query goes with one picture")
    n = len(texts if texts is not None else pictures or ())
    yield from zip(texts or [None] * n, pictures or [None] * n, strict=True)


def _listed(name: str, given: Any, most: int) -> list[Any] | None:
    if given is None:
        return None
    if isinstance(given, str | bytes | Mapping | os.PathLike) or not isinstance(given, Iterable):
        raise InvalidInput(f"{name} must be a sequence, not {shown(given)}; put a single one into a list")
    out: list[Any] = []
    for one in given:
        if len(out) >= most:
            raise LimitExceeded(f"more than {most:,} {name} at this k; the limit is {limits.MAX_BATCH_HITS:,} hits")
        out.append(one)
    return out


def answer_all(answers: Answers, wanted: Sequence[Request], threads: int | None) -> list[Results]:
    """Answers in order: an encoder sees many queries at once, and the searches share some threads."""
    check_threads(threads)
    plans = [answers.plan(request) for request in wanted]
    most = threads or (available_threads() if answers.gains_from_threads(plans) else 1)
    workers = max(1, min(most, len(wanted)))
    out: list[Results] = []
    with ThreadPoolExecutor(workers) if workers > 1 else nullcontext() as pool:
        for start in range(0, len(wanted), AT_ONCE):
            some, theirs = wanted[start : start + AT_ONCE], plans[start : start + AT_ONCE]
            deadline.check("encoding more queries")
            _encode(answers.settings, some, theirs)
            with answers.together(some, theirs):
                out += _side_by_side(pool, workers, answers, list(zip(some, theirs, strict=True)))
    return out


def _side_by_side(
    pool: ThreadPoolExecutor | None, workers: int, answers: Answers, asked: Sequence[tuple[Request, SearchPlan]]
) -> Iterator[Results]:
    """Answers in order. A worker is handed some searches at a time: handing one over takes as long as a small one."""
    if pool is None:
        return (answers.run(*one) for one in asked)
    size = -(-len(asked) // (workers * TURNS))
    parts = [asked[start : start + size] for start in range(0, len(asked), size)]
    contexts = [copy_context() for _ in parts]  # a thread knows nothing of its caller's deadline otherwise

    def run(context: Context, part: Sequence[tuple[Request, SearchPlan]]) -> list[Results]:
        return [context.run(answers.run, *one) for one in part]

    return chain.from_iterable(pool.map(run, contexts, parts))


def _encode(settings: Settings, some: Sequence[Request], plans: Sequence[SearchPlan]) -> None:
    """The passes that the plans' fields will ask for, one for all queries with the same fields."""
    groups: dict[tuple[str, ...], list[Query]] = {}
    for request, plan in zip(some, plans, strict=True):
        query = request.query.asked_by(plan.query_encoder)
        if query.vector is not None or query.terms is not None:
            continue
        names = (*plan.fields, *filter(None, (plan.reranker, plan.captions, plan.late)))
        needed = (n for n in names if settings.field(n).needs(query) is not None)
        groups.setdefault(tuple(dict.fromkeys(needed)), []).append(query)
    for names, queries in groups.items():
        encode_together(queries, [settings.field(n) for n in names])


def check_threads(threads: Any) -> None:
    """A usable number of threads; None leaves it to the machine."""
    if threads is None:
        return
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= limits.MAX_SEARCH_THREADS:
        raise InvalidInput(
            f"threads must be a whole number from 1 to {limits.MAX_SEARCH_THREADS}, not {shown(threads)}"
        )
