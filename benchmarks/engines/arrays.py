"""Peers that hold finished scores in memory: bm25s with its numba backend, and a scipy matrix in columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.engines.base import Engine, Unsuitable
from benchmarks.truth import impacts
from benchmarks.workloads import Shape, Workload


def columns(workload: Workload, shape: Shape) -> Any:
    """Finished scores by term. Index arrays of different widths would be converted at every search."""
    data = impacts(workload, shape), workload.indices.astype(np.int32), workload.indptr.astype(np.int32)
    return sp.csr_matrix(data, shape=(workload.n_docs, shape.n_terms)).tocsc()


class ScipyCsc(Engine):
    """The columns of the query's terms times their weights, then argpartition."""

    scores = "bm25, finished float32 scores"

    def build(self, workload: Workload) -> None:
        self._matrix = columns(workload, self.shape)

    def search(self, terms: Any, weights: Any, k: int) -> Any:
        scores = self._matrix[:, terms] @ weights
        k = min(k, len(scores))
        best = np.argpartition(scores, len(scores) - k)[len(scores) - k :]
        return best[np.argsort(-scores[best])]

    def nbytes(self) -> int:
        m = self._matrix
        return int(m.data.nbytes + m.indices.nbytes + m.indptr.nbytes)


class Bm25s(Engine):
    """bm25s counts whole tokens when it indexes; real-valued weights go in as a finished score matrix instead."""

    scores = "bm25, finished float32 scores"

    def build(self, workload: Workload) -> None:
        import bm25s

        if not np.all(workload.q_weights == 1.0):
            raise Unsuitable("no query weights")
        matrix = columns(workload, self.shape)
        n = self.shape.n_terms
        self._model = bm25s.BM25(backend="numba")
        self._model.scores = {
            "data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "num_docs": workload.n_docs,
        }  # fmt: skip
        self._model.vocab_dict = {str(t): t for t in range(n)}
        self._model.unique_token_ids_set = set(range(n))
        self._model.nonoccurrence_array = None
        self._model.activate_numba_scorer()

    def search(self, terms: Any, weights: Any, k: int) -> Any:
        return self._model.retrieve([terms.tolist()], k=k, show_progress=False)[0][0]

    def nbytes(self) -> int:
        return sum(int(self._model.scores[name].nbytes) for name in ("data", "indices", "indptr"))
