"""What does a stronger encoder bring? Vectors of gte-small beside those of MiniLM, alone and in the hybrid.

The set of fields `high-quality` is the default hybrid with gte-small's vectors in the place of MiniLM's. Even queries
of the collections that chose decide whether the weight of a field of vectors is right for it; what it brings is
measured on the odd ones, and on collections that had no part in any choice.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from statistics import fmean
from typing import Any

from experiments.base import Brief, Context, Made, Row, Table
from zipfian.encode import TextEncoder
from zipfian.evaluate.build import built
from zipfian.evaluate.compare import Options, compare, run_all
from zipfian.evaluate.datasets import load_beir, take_half
from zipfian.evaluate.datasets.base import Dataset, Half
from zipfian.evaluate.methods import find
from zipfian.evaluate.significance import Comparison, holm, paired
from zipfian.fields.named import SETS
from zipfian.fuse.adaptive import Adaptive

CHOSE = frozenset({"scifact", "cisi", "cacm", "xquad-en"})
"""Collections whose even queries choose; only their odd ones are measured."""

METHODS = ("words", "latent", "latent-table", "dense", "gte-small", "rrf", "hybrid", "high-quality")
PAIRS = (("high-quality", "hybrid"), ("high-quality", "rrf"), ("gte-small", "dense"))
"""What is tested against what."""
MEASURE = "ndcg@10"
DEPTH = 100
WEIGHTS = (0.25, 0.5, 0.75, 1.0, 1.5)
TEXTS = 64
ROUNDS = 5

ENCODERS: Mapping[str, tuple[str, ...]] = {
    "words": (),
    "gte-small": ("gte-small",),
    "high-quality": ("all-minilm-l6-v2", "gte-small"),
}
"""Encoders that read the documents; MiniLM alone for methods that are not named."""


def quality(context: Context) -> Made:
    """Every method on every collection, the stronger ones tested against those whose place they take."""
    rows: list[dict[str, Any]] = []
    tests: list[Comparison] = []
    for name, dataset in _sets(context).items():
        half: Half = "odd" if name in CHOSE else "all"
        options = Options(measures=(MEASURE,), half=half, work=context.work, timed=False, depth=DEPTH)
        report = compare(dataset, METHODS, options)
        found = {method: result.per_query[MEASURE] for method, result in report.results.items()}
        tests += [paired(found[against], found[method]) for method, against in PAIRS]
        about = {"dataset": name, "queries": report.n_queries, "half": half, "documents": report.n_docs}
        rows.append({**about, **{method: report.methods[method][MEASURE] for method in METHODS}})
    corrected = holm([test.p for test in tests])
    for i, row in enumerate(rows):
        for j, (method, against) in enumerate(PAIRS):
            test, at = f"{method} over {against}", i * len(PAIRS) + j
            row |= {test: tests[at].difference, f"{test} p": tests[at].p, f"{test} Holm p": corrected[at]}
    every = [*rows, *_means(rows)]
    tested = [f"{method} over {against}{part}" for method, against in PAIRS for part in ("", " Holm p")]
    notes = (
        "nDCG@10; half: odd where even queries chose; the difference of two methods, paired t-tests over the queries, "
        f"Holm's correction over all {len(tests)} comparisons of this table",
        "high-quality: the hybrid over words, latent terms of MiniLM and vectors of gte-small; hybrid and rrf have "
        "vectors of MiniLM",
    )
    brief = Brief(["dataset", "queries", *METHODS, *tested], every, "without the sizes and the uncorrected p")
    title = "Vectors of gte-small beside those of MiniLM"
    return Made("quality", title, list(every[0]), every, notes, brief=brief)


def weights(context: Context) -> Made:
    """The weight of gte-small's vectors in the hybrid, on even queries."""
    (usual,) = find(["high-quality"], "text")
    columns = {f"{weight:g}": Adaptive(weights={"gte-small": weight}) for weight in WEIGHTS}
    methods = [replace(usual, name=name, options={"method": fusion}) for name, fusion in columns.items()]
    rows: list[dict[str, Any]] = []
    for name, dataset in _sets(context).items():
        with built(dataset, SETS["high-quality"], context.work) as collection:
            part = take_half(dataset, "even")
            found = run_all(collection, methods, part, (MEASURE,), DEPTH, Options(timed=False))
        rows.append({"dataset": name, **{column: found[column].values[MEASURE] for column in columns}})
    rows.append({"dataset": "mean", **{column: fmean(row[column] for row in rows) for column in columns}})
    notes = ("nDCG@10 on queries with an even sha1; other fields of vectors of one language have 0.5",)
    return Made("quality-weights", "The weight of gte-small's vectors", ["dataset", *columns], rows, notes)


def cost(context: Context) -> Made:
    """What each method takes: room on disk, postings read, milliseconds of a search, and encoding."""
    rows: list[dict[str, Any]] = []
    for name, dataset in _sets(context).items():
        report = compare(dataset, METHODS, Options(measures=(MEASURE,), work=context.work, depth=DEPTH))
        speed = rates([text for item in islice(dataset.documents(), TEXTS) if (text := item.get("text"))])
        for method in METHODS:
            values = report.results[method].values
            rows.append(
                {
                    "dataset": name,
                    "method": method,
                    "bytes a document": values["index_bytes"] / report.n_docs,
                    "postings read": values.get("postings"),
                    "latency_ms": values["latency_ms"],
                    "search_ms": values.get("search_ms"),
                    "tokens/s": _together(speed, ENCODERS.get(method, ("all-minilm-l6-v2",))),
                }
            )
    notes = (
        "latency_ms: the median of a search at k=10, encoder included; search_ms: without it",
        "tokens/s: of documents through all encoders that the method needs, in a second of one processor's time; the "
        f"best of {ROUNDS} rounds over the first {TEXTS} texts, encoders by turns",
    )
    return Made("quality-cost", "What gte-small's vectors cost", list(rows[0]), rows, notes)


def rates(texts: Sequence[str]) -> dict[str, float]:
    """Tokens of each text encoder in a second of one processor: the best of some rounds, in which they take turns."""
    encoders = {name: TextEncoder(model=name, threads=1) for name in ENCODERS["high-quality"]}
    least = dict.fromkeys(encoders, float("inf"))
    tokens = sum(next(iter(encoders.values())).count_tokens(texts))
    for turn in range(ROUNDS + 1):
        for name, encoder in encoders.items():
            start = time.process_time()
            encoder.encode_documents(texts)
            if turn:  # the first loads the weights
                least[name] = min(least[name], time.process_time() - start)
    return {name: tokens / seconds for name, seconds in least.items()}


def _together(speed: Mapping[str, float], encoders: Sequence[str]) -> float | None:
    """One after the other; None where there are none."""
    return 1 / sum(1 / speed[name] for name in encoders) if encoders else None


def _sets(context: Context) -> dict[str, Dataset]:
    if not context.data:
        context.path("scifact")
    return {name: load_beir(path) for name, path in context.data.items()}


def _means(rows: Sequence[Row]) -> list[dict[str, Any]]:
    parts = {
        "mean, odd halves of those that chose": [row for row in rows if row["dataset"] in CHOSE],
        "mean, no part in any choice": [row for row in rows if row["dataset"] not in CHOSE],
    }
    differences = [f"{method} over {against}" for method, against in PAIRS]
    return [
        {"dataset": name, **{column: fmean(row[column] for row in part) for column in (*METHODS, *differences)}}
        for name, part in parts.items()
        if part
    ]


_DATA = ("scifact", "cisi", "cacm", "xquad-en", "nfcorpus", "...")
TABLES = (
    Table("quality", "vectors of gte-small and MiniLM, alone and in the hybrid, Holm over all", _DATA, quality),
    Table("quality-weights", "the weight of gte-small's vectors, even queries", _DATA[:4], weights),
    Table("quality-cost", "bytes, postings, milliseconds and tokens a second of the same", ("cacm", "..."), cost),
)
