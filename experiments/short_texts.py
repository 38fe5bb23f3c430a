"""How many terms does a short text need? Latent terms of `k` of each token, and of more where that gives too few.

A tweet of 17 tokens has 50 latent terms at three of each token, where an abstract has 250: it says less than it could.
`k_least` takes more of each token, up to those of the training, until there are so many. Even queries choose; what it
brings is measured on the odd ones, and on collections that had no part in the choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from experiments.base import Context, Made, Row, Table
from experiments.fresh import fresh
from experiments.quality import CHOSE
from zipfian.evaluate.compare import Options, run_all
from zipfian.evaluate.datasets import load_beir, take_half
from zipfian.evaluate.datasets.base import Dataset, Half
from zipfian.evaluate.methods import find
from zipfian.evaluate.runner import MethodResult
from zipfian.evaluate.significance import Comparison, holm, paired
from zipfian.fields import Dense, Latent, Words

LEAST = (None, 60, 100, 150, 200, 250)
CHOSEN = 150
METHODS = ("latent", "hybrid")
MEASURE = "ndcg@10"
DEPTH = 100
K = 3
"""Terms of each token, of short texts and of long ones."""


def trial(dataset: Dataset, least: int | None, halves: Sequence[Half]) -> tuple[list[dict[str, MethodResult]], float]:
    """Latent terms alone and the hybrid with them, on some halves of the queries; and the postings of a document."""
    fields = {"words": Words(), "latent": Latent(k=K, k_least=least), "dense": Dense("text")}
    with fresh(dataset, fields) as collection:
        methods, options = find(METHODS, "text"), Options(timed=False)
        found = [run_all(collection, methods, take_half(dataset, half), (MEASURE,), DEPTH, options) for half in halves]
        postings = collection.stats()["fields"]["latent"]["postings"] / dataset.n_docs
    return found, postings


def short_texts(context: Context) -> Made:
    """Each number of terms on even halves; the chosen one tested against none on what did not choose."""
    if not context.data:
        context.path("scifact")
    rows: list[dict[str, Any]] = []
    tests: list[Comparison] = []
    for name, path in context.data.items():
        dataset = load_beir(path)
        chose = name in CHOSE
        measured: dict[int | None, dict[str, MethodResult]] = {}
        for least in LEAST if chose else (None, CHOSEN):
            found, postings = trial(dataset, least, ("even", "odd") if chose else ("all",))
            measured[least] = found[-1]
            row = {"dataset": name, "least": least or "none", "postings": postings}
            for part, half in zip(found, ("even", "odd") if chose else ("all",), strict=True):
                row |= {f"{method}, {half}": part[method].values[MEASURE] for method in METHODS}
            rows.append(row)
        for method in METHODS:
            before, after = (measured[least][method].per_query[MEASURE] for least in (None, CHOSEN))
            tests.append(paired(before, after))
    corrected = iter(holm([test.p for test in tests]))
    told = iter(tests)
    for row in rows:
        if row["least"] == CHOSEN:
            for method in METHODS:
                row |= {f"{method}: gain": next(told).difference, f"{method}: Holm p": next(corrected)}
    rows += _means(rows)
    notes = (
        f"nDCG@10; least: terms of a document wanted at least ({K} to 8 of a token), {CHOSEN} chosen on even queries",
        "gain: over none, on odd queries of those that chose and all of the others; paired t-tests, Holm's correction "
        f"over all {len(tests)}",
    )
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return Made("short-texts", "Short texts with more terms of each token", columns, rows, notes)


def _means(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Of the even queries, by which the number was chosen."""
    out = []
    for least in ("none", *LEAST[1:]):
        part = [row for row in rows if row["least"] == least and "latent, even" in row]
        if part:
            means = {f"{method}, even": fmean(row[f"{method}, even"] for row in part) for method in METHODS}
            out.append({"dataset": "mean, even", "least": least, **means})
    return out


TABLES = (
    Table(
        "short-texts", "latent terms of short texts: more of each token until there are enough",
        ("scifact", "cisi", "cacm", "xquad-en", "checkthat2020", "..."), short_texts,
    ),
)  # fmt: skip
