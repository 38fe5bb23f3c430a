"""The right answers by brute force in float64, and how far an engine's answers are from them.

Scores follow the plain formula idf x tf / (tf + k1 (1 - b + b |d| / mean)), idf = ln(1 + (N - df + 0.5) / (df + 0.5)),
|d| the sum of a document's weights. Constant factors do not change a ranking.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.workloads import SHAPES, VERSION, Shape, Workload, data_folder

CHECKED = 100
"""Queries whose answers are checked."""

DEPTH = 200


class Truth:
    """Exact scores of any document for the first queries of a workload."""

    def __init__(self, name: str, workload: Workload) -> None:
        self._workload = workload
        self._shape = SHAPES[name]
        n = workload.n_docs
        self._rows = np.repeat(np.arange(n), np.diff(workload.indptr))
        df = np.bincount(workload.indices, minlength=self._shape.n_terms)
        self._idf = np.log1p((n - df + 0.5) / (df + 0.5))
        self._norm = _norms(workload, self._shape)
        self.best = self._load(name)

    def recall(self, query: int, ids: Any, k: int) -> float:
        """Share of the k best scores that the engine's documents reach; equal scores are interchangeable."""
        wanted = self.best[query][:k]
        wanted = wanted[wanted > 0]
        if not len(wanted):
            return float(len(ids) == 0)
        found = np.sort(self.scores(query, np.asarray(ids, np.int64)))[::-1][:k]
        hits = int(np.count_nonzero(found >= wanted[-1] * (1 - 1e-6)))
        return min(hits, len(wanted)) / len(wanted)

    def scores(self, query: int, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        w = self._workload
        terms, weights = w.query(query)
        out = np.zeros(len(ids))
        for i, d in enumerate(ids):
            part = slice(w.indptr[d], w.indptr[d + 1])
            _, mine, theirs = np.intersect1d(w.indices[part], terms, assume_unique=True, return_indices=True)
            tf = w.values[part][mine].astype(np.float64)
            out[i] = np.sum(weights[theirs].astype(np.float64) * self._idf[terms[theirs]] * tf / (tf + self._norm[d]))
        return out

    def _load(self, name: str) -> npt.NDArray[np.float64]:
        """The DEPTH best scores of every checked query, computed once per workload."""
        path = data_folder() / f"{name}-v{VERSION}" / f"truth-{CHECKED}.npy"
        if path.exists():
            kept: npt.NDArray[np.float64] = np.load(path)
            return kept
        best = np.array([self._best(i) for i in range(CHECKED)])
        part = Path(f"{path}.part.npy")
        np.save(part, best)
        part.replace(path)
        return best

    def _best(self, query: int) -> npt.NDArray[np.float64]:
        w = self._workload
        terms, weights = w.query(query)
        of_term = np.zeros(self._shape.n_terms)
        of_term[terms] = weights.astype(np.float64) * self._idf[terms]
        factor = of_term[w.indices]
        at = np.flatnonzero(factor)
        tf = w.values[at].astype(np.float64)
        part = factor[at] * tf / (tf + self._norm[self._rows[at]])
        # numpy's types know only of counts
        scores = np.bincount(self._rows[at], part, minlength=max(w.n_docs, DEPTH)).astype(np.float64, copy=False)
        return np.sort(np.partition(scores, len(scores) - DEPTH)[len(scores) - DEPTH :])[::-1]


def _norms(workload: Workload, shape: Shape) -> npt.NDArray[np.float64]:
    lengths = np.add.reduceat(workload.values.astype(np.float64), workload.indptr[:-1])
    out: npt.NDArray[np.float64] = shape.k1 * (1 - shape.b + shape.b * lengths / lengths.mean())
    return out


def impacts(workload: Workload, shape: Shape) -> npt.NDArray[np.float32]:
    """Finished BM25 scores of every posting, for engines that are given scores rather than frequencies."""
    n = workload.n_docs
    df = np.bincount(workload.indices, minlength=shape.n_terms)
    idf = np.log1p((n - df + 0.5) / (df + 0.5))
    norm = np.repeat(_norms(workload, shape), np.diff(workload.indptr))
    tf = workload.values.astype(np.float64)
    return (idf[workload.indices] * tf / (tf + norm)).astype(np.float32)
