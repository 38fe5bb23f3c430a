"""Engines that trade recall for speed: Seismic (blocks of a list under summaries) and kANNolo (a graph over documents).

Both rank by inner products, so they get finished BM25 scores, as bm25s does. What they skip is a setting of the search.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines.base import Engine
from benchmarks.truth import impacts
from benchmarks.workloads import Shape, Workload


class Approximate(Engine):
    """An engine with settings of a search; `choose` sets them before queries are asked."""

    settings: tuple[dict[str, Any], ...] = ()
    """From the fastest to the most careful."""
    module = ""
    """Its Python package; one that is not installed is found out before anything is built."""

    def __init__(self, shape: Shape, folder: Path) -> None:
        super().__init__(shape, folder)
        self.library = import_module(self.module)
        self.chosen = self.settings[-1]

    def choose(self, **settings: Any) -> None:
        self.chosen = settings


class Seismic(Approximate):
    """Lists in blocks of similar documents, each under a summary; only the heaviest terms of a query are followed.

    Settings of the build are its defaults, with room for four times the mean list at least.
    """

    module = "seismic"
    scores = "inner product of finished bm25 scores in 16 bits"
    settings = tuple(
        {"query_cut": cut, "heap_factor": factor}
        for cut, factor in ((3, 0.9), (5, 0.9), (8, 0.8), (16, 0.8), (32, 0.7), (60, 0.6), (60, 0.4))
    )

    def build(self, workload: Workload) -> None:
        self._text = self.library.get_seismic_string()
        dataset = self.library.SeismicDataset(self.shape.n_terms)
        arrays = workload.indices.astype(np.int64), impacts(workload, self.shape), workload.indptr.astype(np.int64)
        dataset.add_documents_by_id([str(i) for i in range(workload.n_docs)], *arrays)
        mean = len(workload.indices) // self.shape.n_terms
        self._index = self.library.SeismicIndex.build_from_dataset(
            dataset, n_postings=max(3_500, 4 * mean), num_threads=1
        )
        # Its queries are strings: made here, so that making them is not timed.
        self._queries = {}
        for i in range(len(workload.q_indptr) - 1):
            terms, weights = workload.query(i)
            self._queries[terms.tobytes()] = terms.astype(self._text), weights.astype(np.float32)

    def search(self, terms: Any, weights: Any, k: int) -> Any:
        found = self._index.search("", *self._queries[terms.tobytes()], k, **self.chosen)
        return [int(one[2]) for one in found]

    def nbytes(self) -> int:
        self._index.save(str(self.folder / "index"))
        return self.folder_bytes()


class Kannolo(Approximate):
    """A navigable graph over the documents (HNSW), vectors in 16 bits."""

    module = "kannolo"
    scores = "inner product of finished bm25 scores"
    settings = tuple({"ef_search": n} for n in (10, 20, 40, 80, 160, 320))

    def build(self, workload: Workload) -> None:
        arrays = workload.indices.astype(np.int32), impacts(workload, self.shape), workload.indptr.astype(np.int64)
        self._index = self.library.SparsePlainHNSW.build_from_arrays(*arrays, m=16, ef_construction=100)

    def search(self, terms: Any, weights: Any, k: int) -> Any:
        return self._index.search(terms, weights, k, **self.chosen)[1]

    def nbytes(self) -> int:
        return int(self._index.space_usage_bytes())
