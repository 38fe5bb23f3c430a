"""Adaptive K: what reranking K candidates gains and costs, K fixed or chosen for every query.

Every query is searched once. The first stage's hits, the reranker's cosines and the relevance of both are kept, so each
setting only reorders numbers; latency is then taken from real searches of a sample.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.base import Brief, Context, Made, Table
from experiments.hybridvl.data import OTHERS, caption_set, loo_first, several
from experiments.plots import Plot
from zipfian.collection.execute import Run
from zipfian.collection.plan import SearchPlan
from zipfian.collection.retrievers import make_retriever
from zipfian.errors import InvalidInput
from zipfian.evaluate.build import built
from zipfian.evaluate.datasets import load_beir, load_class_folders, take_half
from zipfian.evaluate.datasets.base import Dataset
from zipfian.evaluate.methods import METHODS
from zipfian.evaluate.protocols import karpathy
from zipfian.evaluate.queries import streamed
from zipfian.fields.query import Query
from zipfian.fuse.adaptive import Adaptive
from zipfian.fuse.ranking import Ranking
from zipfian.rerank.adaptive_k import AdaptiveK
from zipfian.rerank.dense import rerank_dense
from zipfian.rerank.presets import PRESETS

POOL = 200
"""Candidates of the first stage; `map` is that of the first 200."""
SEEN = 100
"""Scores that adaptive K looks at: a shorter first stage would show it other deviations."""
FIXED = (0, 10, 20, 50, 100, 200)
MARGINS = (0.5, 1.0, 2.0, 3.0)
MOST = (50, 100, 200)
LEAST = 20
K = 10
"""Hits that are asked for."""
SAMPLE = 200
"""Queries that are timed."""

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A dataset, what finds candidates in it and what orders them."""

    label: str
    dataset: Dataset
    fields: tuple[str, ...]
    """Of the collection."""
    first: tuple[str, ...]
    reranker: str

    def plan(self, setting: int | AdaptiveK) -> SearchPlan:
        """The search under one setting."""
        fusion = Adaptive() if len(self.first) > 1 else None
        if setting == 0:
            return SearchPlan("first stage", self.first, fusion)
        plan = SearchPlan("two-stage", self.first, fusion, reranker=self.reranker)
        if isinstance(setting, int):
            return replace(plan, rerank_depth=setting)
        return replace(plan, rerank_depth=max(setting.most, SEEN), adaptive_k=setting)


@dataclass(frozen=True, eq=False)
class Kept:
    """One query: what every setting is made from."""

    scores: F64
    cosines: F64
    relevant: npt.NDArray[np.bool_]
    n_relevant: int
    rarity: float | None

    def depth(self, setting: int | AdaptiveK) -> int:
        """K for this query."""
        if isinstance(setting, int):
            return min(setting, len(self.scores))
        return min(setting.choose(self.scores, K, self.rarity).K, len(self.scores))

    def measured(self, depth: int) -> tuple[float, float]:
        """R@1 and average precision with the first `depth` candidates reranked."""
        order = np.arange(len(self.scores), dtype=np.int64)
        if depth:
            order = rerank_dense(Ranking.of("first", order, self.scores), self.cosines[:depth]).docs
        found = self.relevant[order]
        if not found.any():
            return 0.0, 0.0
        precision = np.cumsum(found) / np.arange(1, len(found) + 1)
        return float(found[0]), float(precision[found].sum()) / self.n_relevant


def settings() -> dict[str, int | AdaptiveK]:
    """By name: fixed ones, the shipped ones, and a grid around them."""
    out: dict[str, int | AdaptiveK] = {f"K={k}": k for k in FIXED}
    shipped = PRESETS["latency-first"]["image"].adaptive_k
    for least, most in [(LEAST, most) for most in MOST] + [(50, 200)]:
        for margin in MARGINS:
            chosen = AdaptiveK(least, most, margin)
            out[f"{least} to {most}, skip at {margin:g}" + (" (latency-first)" if chosen == shipped else "")] = chosen
    return out


def adaptive_k(context: Context) -> Made:
    """Quality and latency by mean K; fixed and adaptive settings judged on the even half of the queries."""
    rows: list[dict[str, Any]] = []
    chosen: dict[str, str] = {}
    for case in _cases(context):
        part = _rows(case, context)
        front = on_front([(row["mean K"], row["mAP even"]) for row in part])
        rows += [{**row, "front": "yes" if there else ""} for row, there in zip(part, front, strict=True)]
        chosen[case.label] = max(part, key=lambda row: (row["mAP even"], -row["mean K"]))["K"]
    if not rows:
        raise InvalidInput(
            f"the table {context.table} needs pets: give --data pets=PATH (or captions, images; scifact)"
        )
    measured = [f"{m}{half}" for m in ("R@1", "mAP") for half in (" even", " odd", "")]
    columns = ["case", "K", "mean K", "skipped", *measured, "p50_ms", "p95_ms", "front"]
    wanted = ("K=", "latency-first")
    adaptive = [row for row in rows if row["front"] or any(name in str(row["K"]) for name in wanted)]
    notes = (
        "case: what finds the candidates, then what orders the first K of them; cosine of pooled vectors throughout",
        "adaptive: K from the margin of the first hit, the flatness of the first ten and, where words are asked, their "
        "rarity; 'skip at' is the margin, in deviations of the first stage's scores, from which nothing is reranked",
        "front: no other setting of the case has a smaller mean K and at least its mAP on the even half; the odd half "
        "chose nothing",
        *(f"best mAP on the even half: {case}: {name}" for case, name in chosen.items()),
        f"p50_ms, p95_ms: a search of k={K}, from the query's terms and vectors on: without encoder and projection "
        f"onto terms; {SAMPLE} queries, settings interleaved",
        "where the reranker is better throughout (pictures), adaptive settings lie on the curve of the fixed ones "
        "and save work, not errors; where words settle some queries by themselves (other captions), leaving those "
        "alone costs nothing",
        "mAP of the first 200. Text is reranked here to show the loss: no preset does it",
    )
    brief = Brief(columns, adaptive, "fixed settings, the shipped one, and what is on the front")
    return Made("adaptive-k", "Adaptive K", columns, rows, notes, plots=_plots(rows), brief=brief)


def on_front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Of (cost, value): whether nothing costs less and is worth at least as much, or costs the same and is better."""
    return [
        not any((c < cost and v >= value) or (c == cost and v > value) for c, v in points) for cost, value in points
    ]


def _cases(context: Context) -> Iterator[Case]:
    if "pets" in context.data:
        dataset = load_class_folders(context.path("pets"))
        yield Case("pictures: visual, dense", dataset, ("visual", "dense"), ("visual",), "dense")
    if "captions" in context.data:
        captions = caption_set(context)
        fields = METHODS["hybrid"].fields_for("caption")
        label = "text to picture: translated, aligned"
        yield Case(label, karpathy(captions)["t2i"], fields, ("translated",), "aligned")
        if several(captions):
            dataset = loo_first(captions)[OTHERS]
            yield Case("other captions: words, dense", dataset, ("aligned", "words", "dense"), ("words",), "dense")
    if "scifact" in context.data:
        fields = METHODS["hybrid"].fields_for("text")
        dataset = load_beir(context.path("scifact"))
        yield Case("texts: words + latent, dense", dataset, fields, ("words", "latent"), "dense")


def _rows(case: Case, context: Context) -> list[dict[str, Any]]:
    with built(case.dataset, case.fields, context.work) as collection:
        kept, sample = search_once(collection, case)
        names = settings()
        seconds = seconds_of(collection.searcher(), case, sample, list(names.values()))
    even = set(take_half(case.dataset, "even").queries)
    halves = {" even": [q in even for q in kept], " odd": [q not in even for q in kept], "": [True] * len(kept)}
    out = []
    for i, (name, setting) in enumerate(names.items()):
        depths = np.array([one.depth(setting) for one in kept.values()])
        values = np.array([one.measured(int(depth)) for one, depth in zip(kept.values(), depths, strict=True)])
        row: dict[str, Any] = {"case": case.label, "K": name, "mean K": float(depths.mean())}
        row["skipped"] = float(np.mean(depths == 0))
        for column, measure in enumerate(("R@1", "mAP")):
            row |= {f"{measure}{half}": float(values[mask, column].mean()) for half, mask in halves.items()}
        p50, p95 = np.percentile(seconds[i], [50, 95]) * 1e3
        out.append({**row, "p50_ms": float(p50), "p95_ms": float(p95)})
    return out


def search_once(collection: Any, case: Case) -> tuple[dict[str, Kept], list[Query]]:
    """Every query once, and the first ones again as they are, with their encoders' passes."""
    searcher = collection.searcher()
    fields = [collection.fields[name] for name in (*case.first, case.reranker)]
    plan = case.plan(0)
    kept: dict[str, Kept] = {}
    sample: list[Query] = []
    for key, question in streamed(case.dataset, fields):
        run = Run(searcher, question, plan)
        first = run.search(POOL + len(case.dataset.ignore.get(key, ())), None).first
        ids = searcher.ids_of(first.docs)
        allowed = np.array([i not in case.dataset.ignore.get(key, ()) for i in ids], np.bool_)
        docs, scores = first.docs[allowed][:POOL], first.scores[allowed][:POOL]
        grades: Mapping[str, int] = case.dataset.qrels[key]
        relevant = np.array([grades.get(i, 0) > 0 for i, ok in zip(ids, allowed, strict=True) if ok][:POOL], np.bool_)
        cosines = make_retriever(searcher, case.reranker, question).score(docs)
        wanted = sum(grade > 0 for grade in grades.values())
        kept[key] = Kept(scores, cosines, relevant, wanted, run.rarity(first))
        if len(sample) < SAMPLE:
            sample.append(question)
    return kept, sample


def seconds_of(searcher: Any, case: Case, sample: Sequence[Query], chosen: Sequence[int | AdaptiveK]) -> F64:
    """Seconds by setting and query. Settings take turns, so that what disturbs the machine disturbs all alike."""
    plans = [case.plan(setting) for setting in chosen]
    out = np.zeros((len(plans), len(sample)))
    for j, question in enumerate(sample):
        for i, plan in enumerate(plans):
            start = time.perf_counter()
            Run(searcher, question, plan).search(min(K, len(searcher)), None)
            out[i, j] = time.perf_counter() - start
    return out


def _plots(rows: Sequence[Mapping[str, Any]]) -> dict[str, Plot]:
    plots = {}
    for number, case in enumerate(dict.fromkeys(row["case"] for row in rows), 1):
        part = sorted((row for row in rows if row["case"] == case), key=lambda row: row["mean K"])
        for x, name in (("mean K", "k"), ("p50_ms", "ms")):
            series = {
                kind: sorted((r[x], r["mAP"]) for r in part if str(r["K"]).startswith("K=") == (kind == "fixed K"))
                for kind in ("fixed K", "adaptive K")
            }
            label = {"k": "mean K", "ms": "ms a query (p50)"}[name]
            plots[f"adaptive-k-{number}-{name}"] = Plot(case, label, "mAP", series, loose=("adaptive K",))
    return plots


TABLES = (Table("adaptive-k", "K fixed or chosen for every query", ("pets", "captions", "scifact"), adaptive_k),)
