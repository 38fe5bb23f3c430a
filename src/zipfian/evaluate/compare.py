"""From a dataset and method names to a report: what `zipfian eval` does."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zipfian.collection.languages import FIRST, meaning_fields
from zipfian.encode.base import Encoder
from zipfian.errors import InvalidInput
from zipfian.evaluate import measures
from zipfian.evaluate.build import built, grouped
from zipfian.evaluate.datasets.base import Dataset, Half, take_half
from zipfian.evaluate.datasets.captions import CaptionSet
from zipfian.evaluate.maxsim import MaxSimSearch
from zipfian.evaluate.methods import Method, check_texts, find
from zipfian.evaluate.protocols.captions import Task
from zipfian.evaluate.protocols.fair_loo import MIN_RUNS, SEED, LooSummary, fair_loo, summarise
from zipfian.evaluate.results import Report
from zipfian.evaluate.runner import DEPTH, MethodResult, run_methods

IMAGE_DEPTH = 200
"""Picture sets are ranked to the largest cutoff that is reported; `map` then is that of the first 200."""

LOO_MEASURES = ("r@10", "mrr")


@dataclass(frozen=True)
class Options:
    """How an evaluation is run, beside its dataset and methods."""

    measures: tuple[str, ...] | None = None
    half: Half = "all"
    depth: int | None = None
    work: Path | None = None
    baseline: str | None = None
    timed: bool = True
    search: Mapping[str, Any] | None = None
    """More keywords of `Collection.search`, for every method."""
    encoder: Encoder[Any] | None = None
    """Another text encoder for the dense field, and for `maxsim`, than the default one."""
    on_document: Callable[[int], None] | None = None
    on_query: Callable[[], None] | None = None


def default_measures(dataset: Dataset) -> tuple[str, ...]:
    """What is reported unless asked otherwise; LIMIT sets also have recall at 20 and 1000."""
    if dataset.kind == "text":
        limit = measures.LIMIT if dataset.name.lower().startswith("limit") else ()
        return tuple(dict.fromkeys((*measures.TEXT, *limit)))
    return measures.IMAGES if dataset.kind == "image" else measures.CAPTIONS


def spoken(method: Method, dataset: Dataset) -> Method:
    """A method with the fields that suit the language of a dataset's texts."""
    if not method.as_indexed or dataset.kind != "text":
        return method
    texts = [text for d in itertools.islice(dataset.documents(), FIRST) if (text := d.get("text"))]
    fields, _ = meaning_fields(texts)
    return replace(method, fields={**method.fields, "text": ("words", *fields)})


def compare(dataset: Dataset, names: Sequence[str], options: Options | None = None) -> Report:
    """Run methods on one dataset."""
    measures.check_installed()
    chosen = options or Options()
    methods = [spoken(method, dataset) for method in find(names, dataset.kind)]
    check_texts(methods, dataset)
    part = take_half(dataset, chosen.half)
    keys = chosen.measures or default_measures(dataset)
    depth = measures.depth_for(keys, chosen.depth or (DEPTH if dataset.kind == "text" else IMAGE_DEPTH))
    found: dict[str, MethodResult] = {}
    for fields, group in grouped(methods, dataset.kind):
        with built(dataset, fields, chosen.work, chosen.on_document, chosen.encoder) as collection:
            for method in group:
                if isinstance(method.run, MaxSimSearch):  # minutes of encoding: shown like indexing
                    method.run.prepare(collection, chosen.on_document)
            found |= run_all(collection, group, part, keys, depth, chosen)
    results = {method.name: found[method.name] for method in methods}
    settings: dict[str, Any] = {
        "half": chosen.half,
        "depth": depth,
        "search": dict(chosen.search or {}),
        "latency_k": 10,
    }
    if chosen.encoder is not None:
        settings["encoder"] = chosen.encoder.fingerprint
    return Report(
        dataset.name, dataset.kind, dataset.n_docs, len(part.queries), results, settings, dataset.notes, chosen.baseline
    )


def run_all(
    collection: Any, methods: Sequence[Method], dataset: Dataset, keys: Sequence[str], depth: int, options: Options
) -> dict[str, MethodResult]:
    """The methods on an open collection."""
    return run_methods(
        collection, methods, dataset, keys, depth=depth, timed=options.timed, progress=options.on_query,
        **dict(options.search or {}),
    )  # fmt: skip


def compare_captions(task: Task, names: Sequence[str], options: Options | None = None) -> Report:
    """Both directions in one report: measures get the prefix `t2i_` or `i2t_`.

    A method that only takes texts as queries has no `i2t_` figures.
    """
    chosen = options or Options()
    methods = find(names, "caption")
    parts: dict[str, Report] = {}
    for direction, dataset in task.items():
        able = [m.name for m in methods if direction == "t2i" or not m.text_only]
        if able:
            base = chosen.baseline if chosen.baseline in able else None
            parts[direction] = compare(dataset, able, replace(chosen, baseline=base))
    merged: dict[str, MethodResult] = {}
    for name in (method.name for method in methods):
        per_query: dict[str, Mapping[str, float]] = {}
        values: dict[str, float] = {}
        run: dict[str, list[tuple[str, float]]] = {}
        for way, report in parts.items():
            if name not in report.results:
                continue
            result = report.results[name]
            per_query |= {f"{way}_{key}": found for key, found in result.per_query.items()}
            values |= {f"{way}_{key}": value for key, value in result.values.items()}
            run |= {f"{way}/{query}": ranking for query, ranking in result.run.items()}
        # the plain names of the contract: the slower direction, and what both galleries cost together
        for key, pick in (("latency_ms", max), ("index_bytes", sum)):
            costs = [r.results[name].values for r in parts.values() if name in r.results]
            found = [values_[key] for values_ in costs if key in values_]
            if found:
                values[key] = float(pick(found))
        merged[name] = MethodResult(name, run, per_query, values)
    first = next(iter(parts.values()))
    sizes = {way: {"documents": r.n_docs, "queries": r.n_queries} for way, r in parts.items()}
    return Report(
        first.dataset.removesuffix("-t2i"), "caption", sum(r.n_docs for r in parts.values()),
        sum(r.n_queries for r in parts.values()), merged,
        {**first.settings, "directions": sizes},
        tuple(dict.fromkeys(note for r in parts.values() for note in r.notes)), chosen.baseline,
    )  # fmt: skip


def compare_loo(
    captions: CaptionSet, names: Sequence[str], runs: int = MIN_RUNS, seed: int = SEED,
    reference: str | None = None, options: Options | None = None,
) -> dict[str, LooSummary]:  # fmt: skip
    """FAIR-LOO: measure -> summary over the runs. Without `reference`: the best method that uses a single field."""
    chosen = options or Options()
    methods = find(names, "caption")
    if reference is not None and reference not in names:
        raise InvalidInput(f"the reference {reference!r} is not among the methods: {', '.join(names)}")
    values: dict[str, dict[str, list[float]]] = {key: {name: [] for name in names} for key in LOO_MEASURES}
    per_query: dict[str, dict[str, dict[str, float]]] = {key: {name: {} for name in names} for key in LOO_MEASURES}
    for run in fair_loo(captions, runs, seed):
        report = compare(run.dataset, names, replace(chosen, measures=LOO_MEASURES, half="all", timed=False))
        for key in LOO_MEASURES:
            for name in names:
                values[key][name].append(report.methods[name][key])
                per_query[key][name] |= report.results[name].per_query[key]
    singles = [m.name for m in methods if m.single] or [m.name for m in methods]
    base = reference or max(singles, key=lambda name: sum(values[LOO_MEASURES[0]][name]))
    return {key: summarise(key, found, base, per_query[key]) for key, found in values.items()}
