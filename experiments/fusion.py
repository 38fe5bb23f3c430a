"""Does the default hybrid earn its place? Against plain reciprocal rank fusion and the best single field, and by seed.

Collections whose queries took part in choosing a constant stand apart from those that did not: only the latter say what
a user may expect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.base import Brief, Context, Made, Row, Table
from experiments.fresh import fresh
from zipfian.evaluate.compare import Options, compare, run_all
from zipfian.evaluate.datasets import load_beir
from zipfian.evaluate.datasets.base import Dataset
from zipfian.evaluate.methods import find
from zipfian.evaluate.runner import MethodResult
from zipfian.evaluate.significance import Comparison, holm, paired
from zipfian.fields import Dense, Latent, Words

CHOSE = frozenset({"scifact", "cisi", "cacm", "limit-small"})
"""Collections on which settings of the shipped vocabulary, its scoring or the fusion were chosen (`fuse/adaptive.py`,
card of `text-16k`)."""

TINY = "limit-small"
"""46 documents made to defeat single vectors. What it says about a fusion outweighs all other collections together in a
mean, and is about no collection that people search: means leave it out."""

FIELDS = ("words", "latent", "dense")
METHODS = ("words", "latent", "latent-table", "dense", "rrf", "hybrid")
MEASURE = "ndcg@10"
SEED = "sae-"
SEEDED = ("latent", "rrf", "hybrid")
DEPTH = 100

TESTS = (
    "paired t-test over the queries of each collection; Holm's correction over all comparisons of this table, two "
    "for each collection. The best field is the one of words, latent and dense that is best on these very queries: "
    "harder to beat than a field chosen beforehand"
)


def fusion(context: Context) -> Made:
    """Every field, plain fusion and the hybrid; the hybrid tested against the best field and against plain fusion."""
    rows: list[dict[str, Any]] = []
    tests: list[Comparison] = []
    for name, path in _sets(context).items():
        options = Options(measures=(MEASURE,), work=context.work, timed=False, depth=DEPTH)
        report = compare(load_beir(path), METHODS, options)
        best = max(FIELDS, key=lambda field: report.methods[field][MEASURE])
        for against in (best, "rrf"):
            tests.append(_tested(report.results, against))
        rows.append(
            {
                "dataset": name,
                "chose": name in CHOSE,
                "documents": report.n_docs,
                "queries": report.n_queries,
                **{method: report.methods[method][MEASURE] for method in METHODS},
                "best field": best,
            }
        )
    corrected = holm([test.p for test in tests])
    for i, row in enumerate(rows):
        for word, at in (("field", 2 * i), ("rrf", 2 * i + 1)):
            row[f"over {word}"] = tests[at].difference
            row[f"over {word} p"] = tests[at].p
            row[f"over {word} Holm p"] = corrected[at]
    tested = ["over field", "over field Holm p", "over rrf", "over rrf Holm p"]
    shown = ["dataset", "queries", *METHODS, "best field", *tested]
    every = [*rows, *_means(rows)]
    brief = Brief(shown, every, "without the sizes and the uncorrected p")
    chose = ", ".join(row["dataset"] for row in rows if row["chose"])
    apart = ", ".join(row["dataset"] for row in rows if not row["chose"])
    notes = (
        f"nDCG@10; over field, over rrf: the hybrid's difference from the best field and from `rrf`; {TESTS}",
        f"chose the settings: {chose or 'none'}; had no part in any choice: {apart or 'none'}. No mean includes "
        "LIMIT-small (46 documents)",
    )
    title = "The hybrid against plain fusion and the best field"
    return Made("fusion", title, list(every[0]), every, notes, brief=brief)


def seeds(context: Context) -> Made:
    """Other training seeds of the vocabulary in the place of the shipped one: what of a figure is luck."""
    given = context.all(SEED)
    if not given:
        context.path(f"{SEED}1")
    makers: dict[str, Any] = {"shipped": "text-16k", **{f"seed {name}": path for name, path in given.items()}}
    rows: list[dict[str, Any]] = []
    for name, path in _sets(context).items():
        dataset = load_beir(path)
        _encoded(dataset, makers)
        found = {maker: _measured(dataset, vocabulary) for maker, vocabulary in makers.items()}
        for method in SEEDED:
            values = {maker: methods[method].values[MEASURE] for maker, methods in found.items()}
            rows.append({"dataset": name, "chose": name in CHOSE, "method": method, **values, **_spread(values)})
    for method in SEEDED:
        part = [r for r in rows if r["method"] == method and r["dataset"] != TINY]
        values = {maker: fmean(r[maker] for r in part) for maker in makers} if part else {}
        if values:
            rows.append({"dataset": f"mean without {TINY}", "method": method, **values, **_spread(values)})
    notes = (
        "nDCG@10 with vocabularies trained alike from other random seeds, settings of use as shipped; encoder, "
        "documents and the other fields are the same, so `words` and `dense` do not vary",
    )
    return Made("seeds", "Training seeds of the text vocabulary", list(rows[0]), rows, notes)


def _sets(context: Context) -> dict[str, Path]:
    found = {name: path for name, path in context.data.items() if not name.startswith(SEED)}
    if not found:
        context.path("scifact")
    return found


def _tested(results: Mapping[str, MethodResult], against: str) -> Comparison:
    return paired(results[against].per_query[MEASURE], results["hybrid"].per_query[MEASURE])


def _means(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Means over collections, each counting the same, without LIMIT-small."""
    real = [row for row in rows if row["dataset"] != TINY]
    parts = {
        "mean, chose": [r for r in real if r["chose"]],
        "mean, no part in any choice": [r for r in real if not r["chose"]],
    }
    return [
        {"dataset": name, **{method: fmean(r[method] for r in part) for method in METHODS}}
        for name, part in parts.items()
        if part
    ]


def _encoded(dataset: Dataset, makers: Mapping[str, Any]) -> None:
    """One pass of the encoder for all vocabularies, which stays in the encode cache; else each would cost its own."""
    fields = {f"latent-{i}": Latent(vocabulary) for i, vocabulary in enumerate(makers.values())}
    with fresh(dataset, {**fields, "dense": Dense("text")}):
        pass


def _measured(dataset: Dataset, vocabulary: Any) -> dict[str, MethodResult]:
    fields = {"words": Words(), "latent": Latent(vocabulary), "dense": Dense("text")}
    with fresh(dataset, fields) as collection:
        return run_all(collection, find(SEEDED, "text"), dataset, (MEASURE,), DEPTH, Options(timed=False))


def _spread(values: Mapping[str, float]) -> dict[str, float]:
    return {"mean": fmean(values.values()), "least": min(values.values()), "most": max(values.values())}


TABLES = (
    Table("fusion", "the hybrid against RRF and the best field, Holm over all", ("scifact", "nfcorpus", "..."), fusion),
    Table("seeds", "latent, RRF and hybrid by training seed", ("sae-1", "sae-2", "scifact", "..."), seeds),
)
