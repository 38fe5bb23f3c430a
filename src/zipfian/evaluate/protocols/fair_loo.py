"""FAIR-LOO: repeated leave-one-caption-out with paired tests over the runs (Hybrid VL, section 4.4).

In run r, caption r of each picture of fold r is a query, and caption r is taken out of the text of every picture in the
gallery: no query can be found by being there, and no picture has more text than another. Folds are made from a seeded
permutation of the pictures and share none, so the runs are independent draws of queries over one gallery.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zipfian.errors import InvalidInput
from zipfian.evaluate.datasets.base import Dataset
from zipfian.evaluate.datasets.captions import CaptionSet
from zipfian.evaluate.protocols.captions import caption_id, joined, pictures_by_text
from zipfian.evaluate.results import finite
from zipfian.evaluate.significance import Comparison, holm, paired

MIN_RUNS = 5
SEED = 42


@dataclass(frozen=True)
class LooRun:
    """One run: which caption is left out, and the dataset it makes."""

    number: int
    caption: int
    dataset: Dataset


def fair_loo(captions: CaptionSet, runs: int = MIN_RUNS, seed: int = SEED) -> Iterator[LooRun]:
    """The runs, made one by one."""
    if runs < MIN_RUNS:
        raise InvalidInput(f"FAIR-LOO needs at least {MIN_RUNS} runs for its paired test, not {runs}")
    if len(captions.pictures) < runs:
        raise InvalidInput(f"{len(captions.pictures)} pictures cannot be dealt into {runs} folds")
    few = next((p for p in captions.pictures if len(p.captions) < 2), None)
    if few is not None:
        raise InvalidInput(f"{few.id}: leaving a caption out needs at least two, it has {len(few.captions)}")
    order = np.random.default_rng(seed).permutation(len(captions.pictures))
    fewest = min(len(p.captions) for p in captions.pictures)
    for run in range(runs):
        yield LooRun(run, run % fewest, _run(captions, run, run % fewest, order[run::runs].tolist()))


def _run(captions: CaptionSet, run: int, left_out: int, fold: Sequence[int]) -> Dataset:
    chosen = [captions.pictures[i] for i in sorted(fold)]
    queries = {caption_id(p, left_out): (p, p.captions[left_out]) for p in chosen}
    texts = {p.id: joined([c for i, c in enumerate(p.captions) if i != left_out]) for p in captions.pictures}
    note = f"run {run}: caption {left_out} asks and is in no picture's text"
    return pictures_by_text(captions, queries, texts, f"{captions.name}-{captions.split}-loo-{run}", note)


@dataclass(frozen=True)
class LooTest:
    """One method against another, p corrected for the number of methods (Holm)."""

    runs: Comparison
    p_runs: float
    queries: Comparison | None
    """Over all queries of all runs; None where only the runs' means are known."""
    p_queries: float


@dataclass(frozen=True)
class LooSummary:
    """Means and deviations over the runs, and every method against the reference."""

    measure: str
    reference: str
    values: Mapping[str, tuple[float, ...]]
    """Method -> one mean per run."""
    tests: Mapping[str, Comparison]
    """Over the runs; `against` corrects for their number."""
    per_query: Mapping[str, Mapping[str, float]] = dataclasses.field(default_factory=dict, repr=False)
    """Method -> query -> value: with five runs of a fifth of the pictures each, every picture once."""

    def against(self, other: str) -> dict[str, LooTest]:
        """Every method against one of them, over the runs and over the queries."""
        if other not in self.values:
            raise InvalidInput(f"no figures of {other!r}; there are: {', '.join(self.values)}")
        names = [name for name in self.values if name != other]
        runs = [paired(self.values[other], self.values[name]) for name in names]
        queries = [paired(self.per_query[other], self.per_query[name]) for name in names] if self.per_query else []
        by_run = holm([test.p for test in runs])
        by_query = holm([test.p for test in queries]) or [math.nan] * len(names)
        return {
            name: LooTest(runs[i], by_run[i], queries[i] if queries else None, by_query[i])
            for i, name in enumerate(names)
        }

    def mean(self, method: str) -> float:
        return float(np.mean(self.values[method]))

    def deviation(self, method: str) -> float:
        return float(np.std(self.values[method], ddof=1))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        methods = {
            name: {"mean": self.mean(name), "deviation": self.deviation(name), "runs": list(runs)}
            for name, runs in self.values.items()
        }
        tests = {name: _test_json(test) for name, test in self.against(self.reference).items()}
        out: dict[str, Any] = finite(
            {"measure": self.measure, "reference": self.reference, "methods": methods, "tests": tests}
        )
        return out


def _test_json(test: LooTest) -> dict[str, Any]:
    over = test.runs
    out: dict[str, Any] = {
        "difference": over.difference,
        "p": over.p,
        "p_holm": test.p_runs,
        "cohens_d": over.cohens_d,
        "runs": over.n,
    }
    if test.queries is not None:
        found = test.queries
        out["over_queries"] = {
            "difference": found.difference, "p": found.p, "p_holm": test.p_queries, "cohens_d": found.cohens_d,
            "queries": found.n,
        }  # fmt: skip
    return out


def summarise(
    measure: str, values: Mapping[str, Sequence[float]], reference: str | None = None,
    per_query: Mapping[str, Mapping[str, float]] | None = None,
) -> LooSummary:  # fmt: skip
    """Paired t-tests over the runs; without `reference`, against the best method."""
    if not values or len({len(runs) for runs in values.values()}) != 1:
        raise InvalidInput("every method needs one value per run")
    if reference is not None and reference not in values:
        raise InvalidInput(f"the reference {reference!r} is not among: {', '.join(values)}")
    chosen = reference or max(values, key=lambda name: float(np.mean(values[name])))
    tests = {name: paired(values[chosen], runs) for name, runs in values.items() if name != chosen}
    return LooSummary(measure, chosen, {name: tuple(runs) for name, runs in values.items()}, tests, per_query or {})
