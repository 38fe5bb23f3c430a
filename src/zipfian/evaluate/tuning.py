"""Search for k1, b, phi and the weights of fields on any qrels, k-fold: nothing is tuned on what is reported.

The queries are dealt into folds by a seeded permutation. For each fold the setting that was best on the other folds is
measured on it; the mean over all queries is the tuned figure that may be reported. The setting returned for use is the
one that was best on all queries, and its own figure there is marked as what it is: fitted.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from zipfian.errors import InvalidInput
from zipfian.evaluate import measures
from zipfian.evaluate.datasets.base import Dataset
from zipfian.evaluate.methods import query_of
from zipfian.evaluate.results import finite
from zipfian.evaluate.significance import Comparison, paired
from zipfian.retrieve.scoring import BM25

K1 = (0.6, 0.9, 1.2, 1.5, 2.0, 4.0, 8.0, 16.0)
B = (0.0, 0.3, 0.5, 0.7, 0.75, 0.9, 1.0)
PHI = ("identity", "sqrt", "power:0.7")
STEP = 0.05
"""Of the weights: the hybrid paper's grid."""
SEED = 42

Setting = TypeVar("Setting", bound=Hashable)
PerQuery = Mapping[str, float]


@dataclass(frozen=True)
class Tuned:
    """What tuning found, and what it is worth on queries it did not see."""

    measure: str
    best: Any
    """Best on all queries: the setting to use."""
    fitted: float
    """Its figure on those same queries; never to be reported as a result."""
    default: Any
    default_value: float
    held_out: float
    """Mean over all queries, each measured with the setting chosen without its fold."""
    chosen: tuple[Any, ...]
    """The setting of each fold."""
    test: Comparison
    """Held-out tuned values against the default, paired over queries."""
    tried: int

    def to_json(self, describe: Callable[[Any], Any] = str) -> dict[str, Any]:
        """Plain JSON values."""
        out: dict[str, Any] = finite(
            {
                "measure": self.measure,
                "default": {"setting": describe(self.default), "value": self.default_value},
                "tuned": {"held_out": self.held_out, "settings": [describe(c) for c in self.chosen]},
                "best": {"setting": describe(self.best), "fitted": self.fitted},
                "difference": self.test.difference,
                "p": self.test.p,
                "cohens_d": self.test.cohens_d,
                "settings_tried": self.tried,
            }
        )
        return out


def folds_of(queries: Sequence[str], folds: int, seed: int = SEED) -> list[list[str]]:
    """Queries dealt into folds that share none."""
    if folds < 2:
        raise InvalidInput(f"tuning needs at least 2 folds, so that it is measured on unseen queries; not {folds}")
    if len(queries) < folds:
        raise InvalidInput(f"{len(queries)} queries cannot be dealt into {folds} folds")
    order = np.random.default_rng(seed).permutation(len(queries))
    return [[queries[i] for i in sorted(order[f::folds].tolist())] for f in range(folds)]


def cross_validate(
    measure: str, values: Mapping[Setting, PerQuery], default: Setting, folds: int = 5, seed: int = SEED
) -> Tuned:
    """From the per-query values of every setting to a tuned figure; ties go to the setting that came first."""
    if default not in values:
        raise InvalidInput(f"the default setting {default!r} must be among those tried")
    queries = list(values[default])
    parts = folds_of(queries, folds, seed)
    held_out: dict[str, float] = {}
    chosen = []
    for fold in parts:
        unseen = set(fold)
        seen = [q for q in queries if q not in unseen]
        best = max(values, key=lambda s: float(np.mean([values[s][q] for q in seen])))
        chosen.append(best)
        held_out |= {q: values[best][q] for q in fold}
    overall = max(values, key=lambda s: measures.mean(values[s]))
    ordered = {q: held_out[q] for q in queries}
    return Tuned(
        measure, overall, measures.mean(values[overall]), default, measures.mean(values[default]),
        measures.mean(ordered), tuple(chosen), paired(values[default], ordered), len(values),
    )  # fmt: skip


def bm25_grid(k1: Iterable[float] = K1, b: Iterable[float] = B, phi: Iterable[str] = PHI) -> list[BM25]:
    """Every combination."""
    grid = [BM25(k1=x, b=y, phi=z) for x, y, z in itertools.product(k1, b, phi)]
    if not grid:
        raise InvalidInput("the grid is empty: give at least one value each of k1, b and phi")
    return grid


def tune_scoring(
    collection: Any, field: str, dataset: Dataset, grid: Sequence[BM25], *, measure: str = "ndcg@10", folds: int = 5,
    seed: int = SEED, progress: Callable[[], None] | None = None,
) -> Tuned:  # fmt: skip
    """k1, b and phi of one inverted field."""
    default = collection.searcher().settings.postings(field).scoring
    depth = measures.depth_for([measure], 100)
    values: dict[Any, PerQuery] = {}
    queries = {key: query_of(judged) for key, judged in dataset.queries.items()}  # one pass of the encoder for all
    for formula in dict.fromkeys([default, *sorted(grid, key=lambda s: str(s.phi))]):  # by phi: lengths are per phi
        run = {}
        for key in dataset.queries:
            ignored = dataset.ignore.get(key, frozenset())
            hits = collection.search(
                queries[key], k=min(depth + len(ignored), dataset.n_docs), fields=field, scoring=formula
            )
            run[key] = [(hit.id, hit.score) for hit in hits if hit.id not in ignored][:depth]
        values[formula] = measures.evaluate(run, dataset.qrels, [measure])[measure]
        if progress is not None:
            progress()
    return cross_validate(measure, values, default, folds, seed)


def weight_grid(n_fields: int, step: float = STEP) -> list[tuple[float, ...]]:
    """Every way to share 1 among the fields in steps; exact multiples, so that no weight is 0.15000000000000002."""
    parts = round(1 / step) if step > 0 else 0
    if parts < 1 or abs(parts * step - 1) > 1e-9:
        raise InvalidInput(f"the step of the weights must divide 1, such as 0.05 or 0.1; not {step!r}")
    if n_fields < 2:
        raise InvalidInput("weights need at least two fields")
    out = []
    for cut in itertools.combinations(range(parts + n_fields - 1), n_fields - 1):
        edges = (-1, *cut, parts + n_fields - 1)
        out.append(tuple((b - a - 1) / parts for a, b in itertools.pairwise(edges)))
    return out


Scores = Mapping[str, Mapping[str, Sequence[float]]]
"""Query -> document -> one normalised score per field."""


def tune_weights(
    scores: Scores, qrels: Mapping[str, Mapping[str, int]], fields: Sequence[str], *, measure: str = "ndcg@10",
    step: float = STEP, folds: int = 5, seed: int = SEED, progress: Callable[[], None] | None = None,
) -> Tuned:  # fmt: skip
    """Weights of a linear fusion whose fields' scores are given; the default is equal weights."""
    grid = weight_grid(len(fields), step)
    equal = tuple(1 / len(fields) for _ in fields)
    ids = {q: list(docs) for q, docs in scores.items()}
    arrays = {q: np.array([scores[q][d] for d in ids[q]], np.float64).reshape(len(ids[q]), len(fields)) for q in scores}
    depth = measures.depth_for([measure], 100)
    values: dict[tuple[float, ...], PerQuery] = {}
    for weights in dict.fromkeys([equal, *grid]):
        run = {}
        for query, matrix in arrays.items():
            total = matrix @ np.array(weights)
            best = np.argsort(-total, kind="stable")[:depth].tolist()
            run[query] = [(ids[query][i], float(total[i])) for i in best]
        values[weights] = measures.evaluate(run, qrels, [measure])[measure]
        if progress is not None:
            progress()
    return cross_validate(measure, values, equal, folds, seed)


def field_scores(
    collection: Any, fields: Sequence[str], dataset: Dataset, depth: int = 200
) -> dict[str, dict[str, Any]]:
    """Scores of every field for the union of their best documents, z-normalised over that union.

    Every candidate has its exact score in every field, never 0 because it missed a field's list.
    """
    out: dict[str, dict[str, Any]] = {}
    for key, judged in dataset.queries.items():
        query = query_of(judged)
        ignored = dataset.ignore.get(key, frozenset())
        found: dict[str, None] = {}
        for field in fields:
            hits = collection.search(query, k=min(depth, dataset.n_docs), fields=field)
            found |= {hit.id: None for hit in hits if hit.id not in ignored}
        union = list(found)
        columns = [np.nan_to_num(collection.score(field, query, union)) for field in fields] if union else []
        normal = [(c - c.mean()) / (c.std() or 1.0) for c in columns]
        out[key] = {doc: [float(c[i]) for c in normal] for i, doc in enumerate(union)}
    return out
