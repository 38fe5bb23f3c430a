"""Methods over a dataset: rankings, measures, latency, what was read and what it costs on disk."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zipfian.evaluate import measures
from zipfian.evaluate.cost import COST_QUERIES, Touched, cost_of, summed
from zipfian.evaluate.datasets.base import Dataset
from zipfian.evaluate.methods import Kind, Method, check_fields, query_of, search
from zipfian.evaluate.queries import streamed
from zipfian.fields.base import Field

DEPTH = 1_000
"""Hits of a ranking unless a measure needs more."""
LATENCY_QUERIES = 100
LATENCY_K = 10

Ranked = dict[str, list[tuple[str, float]]]


@dataclass(frozen=True)
class MethodResult:
    """One method on one dataset."""

    method: str
    run: Ranked = dataclasses.field(repr=False)
    per_query: Mapping[str, Mapping[str, float]] = dataclasses.field(repr=False)
    """Measure -> query -> value."""
    values: Mapping[str, float]
    """Means over queries, and costs."""


def run_methods(
    collection: Any, methods: Sequence[Method], dataset: Dataset, keys: Sequence[str], *, depth: int = DEPTH,
    timed: bool = True, progress: Callable[[], None] | None = None, **options: Any,
) -> dict[str, MethodResult]:  # fmt: skip
    """Rank all queries with all methods, measure the rankings, then time a sample of the queries at k=10."""
    for method in methods:
        check_fields(collection, method, dataset.kind)
    depth = measures.depth_for(keys, depth)
    runs: dict[str, Ranked] = {method.name: {} for method in methods}
    touched: dict[str, list[Touched]] = {method.name: [] for method in methods}
    fields = _fields_of(collection, methods, dataset.kind)
    for i, (key, query) in enumerate(streamed(dataset, fields)):
        ignored = dataset.ignore.get(key, frozenset())
        for method in methods:
            most = depth if method.depth is None else min(depth, method.depth)
            k = min(most + len(ignored) if method.depth is None else most, dataset.n_docs)
            hits = search(collection, method, query, k, **options)
            runs[method.name][key] = [(h.id, float(h.score)) for h in hits if h.id not in ignored][:most]
            if i < COST_QUERIES:
                touched[method.name] += cost_of(collection, method, dataset.kind, query, hits)
        if progress is not None:
            progress()
    out: dict[str, MethodResult] = {}
    for method in methods:
        per_query = measures.evaluate(runs[method.name], dataset.qrels, keys)
        values = measures.means(per_query)
        if timed:
            values |= latency(collection, method, dataset, **options)
        values |= size(collection, method, dataset) | summed(touched[method.name])
        out[method.name] = MethodResult(method.name, runs[method.name], per_query, values)
    return out


def _fields_of(collection: Any, methods: Sequence[Method], kind: Kind) -> list[Field]:
    names = {field for method in methods for field in method.fields_for(kind)}
    return [field for name, field in collection.fields.items() if name in names and isinstance(field, Field)]


def latency(collection: Any, method: Method, dataset: Dataset, **options: Any) -> dict[str, float]:
    """Median milliseconds of one search at k=10, after a warm-up: end to end, and without the encoder if it is told."""
    *queries, first = list(dataset.queries.values())[: LATENCY_QUERIES + 1]
    k = min(LATENCY_K, dataset.n_docs)
    search(collection, method, query_of(first), k, **options)
    whole, bare = [], []
    for query in queries or [first]:  # each once, and afresh: a collection remembers repeated queries
        start = time.perf_counter()
        results = search(collection, method, query_of(query), k, **options)
        seconds = time.perf_counter() - start
        whole.append(seconds)
        encoding = getattr(results, "timings", {}).get("encode")
        if encoding is not None:
            bare.append(seconds - encoding)
    out = {"latency_ms": statistics.median(whole) * 1e3}
    if len(bare) == len(whole):
        out["search_ms"] = statistics.median(bare) * 1e3
    return out


def size(collection: Any, method: Method, dataset: Dataset) -> dict[str, float]:
    """Bytes on disk of the fields that a method reads."""
    if method.run is not None:
        return {"index_bytes": float(method.run.nbytes(collection))}
    stats = collection.stats()
    total = 0
    for field in method.fields_for(dataset.kind):
        row = stats["fields"][field]
        total += stats["fields"][row["postings_of"]]["bytes"] if "postings_of" in row else row["bytes"]
    return {"index_bytes": float(total)}
